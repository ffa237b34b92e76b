"""The standard streams: what they cannot encode, and what becomes of them while a command runs."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

from gpgpu_legacy.present.plain import REPLACE

BROKEN_PIPE = 1
"""The exit code where the reader of stdout is gone, as Python's documentation has it."""


def prepare_streams() -> None:
    """Make stdout and stderr take any text: what their encoding lacks is spelled plainly.

    A stream that was closed before the program started takes text, too, and drops it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=REPLACE)


def is_of_output(error: Exception) -> bool:
    """Whether stdout cannot be written: its disk or a quota is full, or its reader is gone."""
    # an error of a file has the file's name
    lost = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return isinstance(error, OSError) and error.filename is None and error.errno in lost


def drop_output() -> None:
    """Send what stdout still holds to nowhere, so that the interpreter's exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
