"""Warnings of the package on the command line: each once, in a line on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

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

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, GpgpuLegacyWarning):
                shown(message, category, filename, lineno, file, line)
                return
            where = "" if filename.startswith(PACKAGE) else f"{_short(filename)}:{lineno}: "
            text = f"gpgpu-legacy: warning: {printable(where + str(message))}"
            if text not in seen:
                seen.add(text)
                print(text, file=sys.stderr)

        warnings.showwarning = show
        yield


def _short(filename: str) -> str:
    """The path from the current folder, where it is below it."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
