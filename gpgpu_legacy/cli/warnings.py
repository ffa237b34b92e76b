"""Warnings of the package on the command line: each once, in a line on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpgpu_legacy.errors import GpgpuLegacyWarning, printable

PACKAGE = str(Path(__file__).resolve().parent.parent)


@contextmanager
def plain_warnings(*, others: bool = False) -> Iterator[None]:
    """Print the package's warnings while the block runs.

    others: whether Python's and the libraries' are shown, too, as Python shows them.

    A warning about a user's file, such as a recipe, names the file and the line.
    """
    seen = set[str]()
    with warnings.catch_warnings():
        if not others:
            warnings.simplefilter("ignore")
        warnings.simplefilter("always", GpgpuLegacyWarning)
        shown = warnings.showwarning

        def show(message: Any, category: Any, filename: str, lineno: int, *more: Any) -> None:
            if not issubclass(category, GpgpuLegacyWarning):
                shown(message, category, filename, lineno, *more)
                return
            where = "" if filename.startswith(PACKAGE) else f"{filename}:{lineno}: "
            text = f"gpgpu-legacy: warning: {printable(where + str(message))}"
            if text not in seen:
                seen.add(text)
                print(text, file=sys.stderr)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
