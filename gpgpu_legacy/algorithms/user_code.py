"""User code: a recipe's file, or the module of another package's algorithm.

It is Python, and is executed. Its errors become one line with the place, and its output goes to
stderr, since stdout belongs to the command.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from gpgpu_legacy.errors import AssemblyError, GpgpuLegacyError, InputError
from gpgpu_legacy.files import read_text_bytes

MOST_BYTES = 1 << 24
"""The most bytes that a recipe's file may have."""


@contextmanager
def running(file: Path | None) -> Iterator[None]:
    """Run code of that file in the block; None is our own code, which is not guarded.

    Raises InputError, with the place in the file, for any error of the code. An interrupt passes
    through, and the error of a program keeps its place in the program.
    """
    if file is None:
        yield
        return
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (KeyboardInterrupt, AssemblyError):
        raise
    except BaseException as error:  # including SystemExit, and the user's own classes
        raise InputError(_in_file(error, file)) from None


def guarded(function: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """The function, wrapped in `running`."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with running(file):
            return function(*arguments, **keywords)

    return call


def module_of(file: Path) -> ModuleType:
    """Execute a Python file, as Python does a script; nothing is written beside it."""
    text, path = read_text_bytes(file, MOST_BYTES), file.resolve()
    module = ModuleType(f"recipe_{file.stem}")
    module.__file__ = str(path)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[module.__name__] = module
    with running(file):
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


def _in_file(error: BaseException, file: Path) -> str:
    """An error in one line, after the place in the file that it comes from."""
    if isinstance(error, SyntaxError):
        where = f"{file}:{error.lineno}" if error.lineno else str(file)
        return f"{where}: {error.msg}; mend the recipe's Python"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file.resolve()]
    where = f"{file}:{lines[-1]}" if lines else str(file)
    return f"{where}: {error if isinstance(error, GpgpuLegacyError) else in_one_line(error)}"


def in_one_line(error: BaseException) -> str:
    """The message of an error, after its class if that is not ours."""
    text = " ".join(str(error).split())
    if isinstance(error, InputError):
        return text
    return f"{type(error).__name__}{': ' * bool(text)}{text}"
