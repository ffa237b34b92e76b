"""The command line, `gpgpu-legacy`.

A call imports only the file of the command that it runs; `--help` imports them all.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
import sys
import traceback
from collections.abc import Sequence
from copy import copy
from errno import EPIPE
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from gpgpu_legacy.cli.commands import COMMANDS
from gpgpu_legacy.cli.completion import PROGRAM, asked_words, with_shell_found
from gpgpu_legacy.cli.conversion import convert_plainly
from gpgpu_legacy.cli.shared import app as _app
from gpgpu_legacy.cli.streams import (
    BROKEN_PIPE,
    drop_output,
    is_of_output,
    output_is_lost,
    prepare_streams,
)
from gpgpu_legacy.cli.usage import usage_message, without_negations
from gpgpu_legacy.cli.warnings import plain_warnings
from gpgpu_legacy.errors import GpgpuLegacyError, is_of_opengl, printable, reason_of

if TYPE_CHECKING:
    from gpgpu_legacy.cli.shared import app as app


FAILED = 2
"""The exit code of an error that the user can mend."""

INTERNAL = 70
"""The exit code of a fault of our own, which sysexits.h calls EX_SOFTWARE."""

INTERRUPTED = 130
"""What a command returns, and exits with, when the user interrupts it."""

DEBUG = "--debug"


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_commands([])
    return _app


def main() -> None:
    """Run the command line; an error is one line and exit code 2, or 70 for a fault of ours."""
    prepare_streams()
    words, debug = without_debug(sys.argv[1:])
    try:
        status = _run(words or ["--help"], debug=debug)
        sys.stdout.flush()
    except OSError as error:  # of stdout
        drop_output()
        status = BROKEN_PIPE if error.errno == EPIPE else _failed(output_is_lost(error))
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
            return _call(words)
    except SystemExit as stopped:
        return stopped.code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        if is_of_output(error):
            raise
        return _reported(error)


def _reported(error: Exception) -> int:
    """Print what is wrong in one line, or a line for each fault of a program; the exit code."""
    if hasattr(error, "format_message"):  # which what the option parser raises has
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


def _call(words: Sequence[str]) -> Any:
    """Call a command; its exit code."""
    words = with_shell_found(words, os.environ)
    asked = asked_words(os.environ)
    import_commands(words if asked is None else asked)
    registered = len(_app.registered_commands) + len(_app.registered_groups)
    lists_commands = asked is None and words[:1] == ["--help"]
    command = _command_of(_app, registered, lists_commands)
    if asked is None and words and words[0] in COMMANDS:
        convert_plainly(command)
        chosen = _chosen(command, words)
        convert_plainly(chosen)
        is_bare_group = hasattr(chosen, "commands") and len(words) == 1
        words = [*without_negations(chosen, words), *["--help"] * is_bare_group]
    _collect_again()
    return command.main(list(words), prog_name=PROGRAM, standalone_mode=False)


def _collect_again() -> None:
    """Collect garbage from now on, if the program began without; what is imported is left alone."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _chosen(command: Any, words: Sequence[str]) -> Any:
    """The command that the words begin with, which may be one of a group."""
    chosen = command.commands[words[0]]
    verbs = getattr(chosen, "commands", {})
    return verbs.get(words[1], chosen) if len(words) > 1 else chosen


def import_commands(words: Sequence[str]) -> None:
    """Register the command that the words of a call begin with; all of them without one."""
    chosen = COMMANDS.get(words[0]) if words else None
    for module in [chosen] if chosen else sorted(set(COMMANDS.values())):
        import_module(f"{__name__}.{module}")


@functools.cache
def _command_of(app: typer.Typer, _registered: int, lists_commands: bool) -> Any:
    """The parser of the commands; it is built anew when more of them are registered.

    lists_commands: it only lists them, so that it does without their options, which take long.
    """
    return typer.main.get_command(_without_options(app) if lists_commands else app)


def _without_options(app: typer.Typer) -> typer.Typer:
    """The application with the names and the help of its commands, which have no options."""
    listed = copy(app)
    listed.registered_commands = []
    for info in app.registered_commands:
        assert info.callback is not None
        bare = copy(info)
        bare.name = info.name or info.callback.__name__.replace("_", "-")
        bare.help = info.help or inspect.getdoc(info.callback)
        bare.callback = _do_nothing
        listed.registered_commands.append(bare)
    listed.registered_groups = [copy(group) for group in app.registered_groups]
    for group in listed.registered_groups:
        assert group.typer_instance is not None
        group.typer_instance = copy(group.typer_instance)
        group.typer_instance.registered_commands = []
    return listed


def _do_nothing() -> None:
    pass


def _failed(message: str, code: int = FAILED) -> int:
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    return code
