"""A process that asks the GL driver whether programs load: run by test_accept.py.

Programs come on standard input, each after its length in four bytes, the least significant first.
"""

from __future__ import annotations

import struct
import sys
from ctypes import byref, c_uint

from gpgpu_legacy.runtime.gl import compatibility
from gpgpu_legacy.runtime.gl.headers import GL


def serve() -> None:
    """Answer each program on standard input with 1 where the driver loads it, else with 0."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    with compatibility.context().current() as gl:
        while size := source.read(4):
            text = source.read(struct.unpack("<I", size)[0])
            program = c_uint()
            gl.glGenProgramsARB(1, byref(program))
            gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, program)
            gl.glProgramStringARB(GL.FRAGMENT_PROGRAM, GL.PROGRAM_FORMAT_ASCII, len(text), text)
            sink.write(b"1" if gl.glGetError() == GL.NO_ERROR else b"0")
            sink.flush()
            gl.glDeleteProgramsARB(1, byref(program))


if __name__ == "__main__":
    serve()
