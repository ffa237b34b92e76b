"""What the option parser objects to, in one line that says how to mend the call."""

from __future__ import annotations

import click

from gpgpu_legacy.cli.completion import PROGRAM
from gpgpu_legacy.errors import printable


def usage_message(error: click.ClickException) -> str:
    """An error of the option parser in one line: what is wrong, and where the help is."""
    context = getattr(error, "ctx", None)
    command = PROGRAM if context is None else context.command_path
    problem = " ".join(error.format_message().split()).rstrip(".")
    return printable(f"{problem[:1].lower()}{problem[1:]}; see `{command} --help`")
