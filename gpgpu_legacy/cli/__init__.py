"""The command line, `gpgpu-legacy`.

A call imports only the file of the command that it runs; `--help` imports them all.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from errno import EPIPE
from typing import Any

import click

from gpgpu_legacy.cli.commands import INTERRUPTED
from gpgpu_legacy.cli.completion import PROGRAM
from gpgpu_legacy.cli.shared import app
from gpgpu_legacy.cli.streams import BROKEN_PIPE, drop_output, is_of_output, prepare_streams
from gpgpu_legacy.cli.usage import usage_message
from gpgpu_legacy.cli.warnings import plain_warnings
from gpgpu_legacy.errors import GpgpuLegacyError, is_of_opengl, printable, reason_of

__all__ = ["app", "main"]

FAILED = 2
"""The exit code of an error that the user can mend."""

INTERNAL = 70
"""The exit code of a fault of our own, which sysexits.h calls EX_SOFTWARE."""

DEBUG = "--debug"


def main() -> None:
    """Run the command line; an error is one line and exit code 2, or 70 for a fault of ours."""
    prepare_streams()
    words, debug = without_debug(sys.argv[1:])
    try:
        status = _run(words, debug=debug)
        sys.stdout.flush()
    except OSError as error:  # of stdout
        drop_output()
        said = f"standard output cannot be written: {reason_of(error)}"
        status = BROKEN_PIPE if error.errno == EPIPE else _failed(said)
    if status == INTERRUPTED:
        print("gpgpu-legacy: interrupted", file=sys.stderr)
    sys.exit(status)


def without_debug(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words of a call without `--debug`, and whether it is among them."""
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != DEBUG]
    return [*options, *words[end:]], len(options) < end


def _run(words: Sequence[str], *, debug: bool = False) -> Any:
    """Run a command; its exit code. Raises OSError where stdout cannot be written."""
    try:
        with plain_warnings(others=debug):
            return app.main(list(words), prog_name=PROGRAM, standalone_mode=False)
    except SystemExit as stopped:
        return stopped.code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        if is_of_output(error):
            raise
        return _reported(error)


def _reported(error: Exception) -> int:
    """Print what is wrong in one line, or a line for each fault of a program; the exit code."""
    if isinstance(error, click.ClickException):
        return _failed(usage_message(error))
    code, said = FAILED, printable(" ".join(str(error).split()))
    if isinstance(error, GpgpuLegacyError):
        said = str(error)
    elif isinstance(error, MemoryError):
        why = f" ({said})" if said else ""
        said = f"this machine has too little memory for that{why}; try smaller sizes"
    elif isinstance(error, RecursionError):
        said = "what was given is nested too deeply; give something flatter"
    elif isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        said = printable(f"{where}{reason_of(error)}")
    elif is_of_opengl(error):
        said = f"OpenGL failed: {said}; try a smaller size, or another executor (see doctor)"
    else:
        said = f"{type(error).__name__}: {said}; this is a fault of gpgpu_legacy"
        said += f": run it again with {DEBUG}, and report what that shows"
        code = INTERNAL
    return _failed(said, code)


def _failed(message: str, code: int = FAILED) -> int:
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    return code
