"""The command line, `gpgpu-legacy`.

A call imports only the file of the command that it runs.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from gpgpu_legacy.api.command.frame import ANYWHERE, app
from gpgpu_legacy.api.command.options import PROGRAM
from gpgpu_legacy.errors import (
    GpgpuLegacyError,
    GpgpuLegacyWarning,
    InputError,
    is_of_opengl,
    printable,
    reason_of,
)

FAILED = 2
"""The exit code of a user's error."""

INTERNAL = 70
"""The exit code of a fault of our own, which sysexits.h calls EX_SOFTWARE."""

INTERRUPTED = 130
"""The exit code if the user interrupts a command."""

BROKEN_PIPE = 1
"""The exit code if the reader of stdout is gone, as Python's documentation recommends."""

OF_OUTPUT = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of stdout: no reader, a full disk or quota. An error of a file has the file's name."""

FEW = 9
"""The values of a missing option are listed if there are fewer than these."""

PACKAGE = str(Path(__file__).resolve().parent.parent)


def main() -> None:
    """Run the command line; an error is one line and exit code 2, or 70 for a fault of ours.

    `--debug`, `--lenient`, `--mathematics` and `--profile` may stand anywhere.
    """
    prepare_streams()
    words, asked, given = list[str](), dict[str, Any](), iter(sys.argv[1:])
    for word in given:
        option, is_set, value = word.partition("=")
        placeholder, _ = ANYWHERE.get(option, ("", ""))
        if word == "--":  # words of a program follow
            words += [word, *given]
        elif option not in ANYWHERE or (is_set and not placeholder):
            words.append(word)
        elif placeholder:
            asked[option[2:]] = value if is_set else next(given, "")
        else:
            asked[option[2:]] = True
    debug = asked.pop("debug", False)
    try:
        for name, value in asked.items():
            if value is not True and (not value or value.startswith("-")):
                raise InputError(f"--{name} has no value; give --{name} {ANYWHERE['--' + name][0]}")
        with plain_warnings(others=debug):
            status = app.main(words, prog_name=PROGRAM, standalone_mode=False, obj=asked)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        print("gpgpu-legacy: interrupted", file=sys.stderr)
        status = INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        status, said = reported(error)
        if said:
            print(f"gpgpu-legacy: {said}", file=sys.stderr)
    sys.exit(status)


def reported(error: Exception) -> tuple[int, str]:
    """The exit code and the message: one line, or a line for each fault of a program."""
    if isinstance(error, OSError) and error.filename is None and error.errno in OF_OUTPUT:
        # discard the rest of stdout, so that the interpreter's exit does not complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            return BROKEN_PIPE, ""
        return FAILED, f"standard output cannot be written: {reason_of(error)}"
    said = printable(" ".join(str(error).split()))
    match error:
        case GpgpuLegacyError():
            return FAILED, str(error)
        case click.ClickException():
            context = getattr(error, "ctx", None)
            command = PROGRAM if context is None else context.command_path
            problem = " ".join(error.format_message().split()).rstrip(".")
            if isinstance(error, click.NoSuchOption):
                name = error.option_name.lstrip("-")
                known = [p.lstrip("-") for p in error.possibilities or ()]  # click counts dashes
                near = [f"--{other}" for other in get_close_matches(name, known)]
                problem = f"no such option --{name}"
                problem += f", did you mean {' or '.join(near)}?" if near else "."
                problem += f" A parameter has no dashes: {name.replace('-', '_')}=…"
            elif isinstance(error, click.MissingParameter) and error.param and context:
                offered = [item.value for item in error.param.shell_complete(context, "")]
                if any(offered) and len(offered) < FEW:
                    problem += f", choose from {', '.join(offered)}"
            said = printable(f"{problem[:1].lower()}{problem[1:]}; see `{command} --help`")
        case MemoryError():
            why = f" ({said})" if said else ""
            said = f"this machine has too little memory for that{why}; try smaller sizes"
        case RecursionError():
            said = "the input is nested too deeply; give a flatter one"
        case OSError():
            where = "" if error.filename is None else f"{error.filename}: "
            said = printable(f"{where}{reason_of(error)}")
        case _ if is_of_opengl(error):
            said = f"OpenGL failed: {said}; try a smaller size, or another executor (see doctor)"
        case _:
            said = f"{type(error).__name__}: {said}; this is a fault of gpgpu_legacy"
            return INTERNAL, said + ": run it again with --debug, and report what that shows"
    return FAILED, said


# The standard streams --------------------------------------------------------------------------


def prepare_streams() -> None:
    """Make stdout and stderr take any text, with a ? for what their encoding lacks.

    A stream that was closed before the program started takes text, too, and drops it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


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
