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

_LOST = {errno.ENOSPC, errno.EIO, errno.EBADF}


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


def why_output_is_lost(error: OSError) -> str:
    """What keeps stdout from being written, as a full disk does; the error again if it is not that.

    What stdout still holds is dropped.
    """
    if error.errno not in _LOST or error.filename is not None:
        raise error
    drop_output()
    return f"standard output cannot be written: {error.strerror}"


def drop_output() -> None:
    """Send what stdout still holds to nowhere, so that the interpreter's exit does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
