"""C's library, as far as programs of the time use it: what library.c leaves to Python."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pkgutil import get_data
from typing import Any

import numpy as np

from gpgpu_legacy.api.host.memory import HostError, ProgramMemory
from gpgpu_legacy.api.host.text import Source, printed, scanned, taken
from gpgpu_legacy.api.host.values import rounder
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.files import open_data
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Item

MOST_OUTPUT = 1 << 26
"""The most bytes that a program may print."""

MOST_INPUT = 1 << 26
"""The most bytes that a file which a program reads, or its standard input, may have."""

STDIN, STDOUT, STDERR = ((1 << 64) - n for n in (1, 2, 3))  # addresses without an object

_MATH = (
    "sin cos tan asin acos atan sinh cosh tanh exp log log10 log2 sqrt cbrt fabs floor ceil rint "
    "trunc atan2 fmod pow fmax fmin hypot ldexp"
)


@cache
def library_text() -> tuple[Item, ...]:
    """What library.c declares: all functions, of which some have bodies."""
    return parse("", "", before=(get_data(__package__, "library.c") or b"").decode()).items


_AS_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
}  # fmt: skip


def _as_c(name: str, rounded: Callable[[float], float]) -> Callable[..., float]:
    """A function of Python's math, or NumPy's for what that lacks or refuses."""
    other = getattr(np, _AS_NUMPY.get(name, name))
    own = other if name in {"floor", "ceil", "trunc"} else getattr(math, name, other)

    def call(*given: float) -> float:
        try:
            return rounded(own(*given))
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return rounded(other(*given))

    return call


def library(  # noqa: PLR0915
    memory: ProgramMemory,
    folder: Path,
    out: Callable[[int, bytes], object],
    stdin: Callable[[], bytes],
) -> dict[str, Callable[..., Any]]:
    """The functions by name.

    folder: that of the files which the program may read. out: takes what it prints, with 1 for
    stdout, 2 for stderr.
    """
    files: dict[int, Source] = {}
    put, read, string = memory.write, memory.read, memory.string

    def show(stream: int, data: bytes) -> int:
        if stream not in {STDOUT, STDERR}:
            raise HostError("a program may print to stdout and stderr alone, not to files")
        out(1 + (stream == STDERR), data)
        return len(data)

    def text(form: int, given: tuple[Any, ...]) -> bytes:
        return printed(string(form, MOST_OUTPUT), iter(given), memory, MOST_OUTPUT)

    def checked(name: str, data: bytes) -> Source:
        if len(data) > MOST_INPUT:
            raise HostError(f"{name} has more than {MOST_INPUT} bytes")
        return Source(data)

    def keep(stream: int, name: str, data: bytes) -> int:
        files[stream] = checked(name, data)
        memory.take(len(data))
        return stream

    def source(stream: int) -> Source:
        if stream == STDIN and stream not in files:
            keep(stream, "standard input", stdin())
        if stream not in files:
            raise HostError("this is no open file")
        return files[stream]

    def opened(name: int, mode: int) -> int:
        path = folder / os.fsdecode(string(name))
        if string(mode) not in {b"r", b"rb", b"rt"}:
            raise HostError(f"{path.name} is opened for writing; a program may only read files")
        try:
            if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
                raise HostError(
                    f"{path} is not in the program's folder, the only one that it reads"
                )
            with open_data(path) as file:
                data = file.read(MOST_INPUT + 1)
        except (GpgpuLegacyError, OSError):
            return 0
        return keep(memory.new(0), path.name, data)

    def closed(stream: int) -> int:
        if stream in files:
            memory.give(len(files.pop(stream).data))
        return 0

    def fill(to: int, size: int, count: int, stream: int) -> int:
        data = source(stream).take(size * count)
        put(data, to)
        return len(data) // (size or 1)

    def print_to(to: int, form: int, *given: Any) -> int:
        data = text(form, given)
        put(data + b"\0", to)
        return len(data)

    def scan(from_: Source, form: int, *pointers: int) -> int:
        done, unused = 0, iter(pointers)
        for value in scanned(from_, string(form)):
            put(value, taken(unused))
            done += 1
        return done if done or not from_.is_ended else -1

    def compared(a: int, b: int, size: int) -> int:
        memory.span(a, size), memory.span(b, size)
        for at in range(0, size, 1 << 16):
            x, y = (read(one + at, min(size - at, 1 << 16)) for one in (a, b))
            if x != y:
                return 1 if x > y else -1
        return 0

    def leave(status: int) -> None:
        raise SystemExit(status & 255)

    def insist(holds: int) -> None:
        if not holds:
            raise HostError("the assertion does not hold")

    return {
        f"{name}{end}": _as_c(name, rounder() if end else float)
        for name in _MATH.split()
        for end in ("", "f")
    } | {
        "printf": lambda form, *given: show(STDOUT, text(form, given)),
        "fprintf": lambda to, form, *given: show(to, text(form, given)),
        "sprintf": print_to,
        "fputc": lambda c, to: show(to, bytes([c & 255])) and c & 255,
        "scanf": lambda form, *to: scan(source(STDIN), form, *to),
        "fscanf": lambda file, form, *to: scan(source(file), form, *to),
        "sscanf": lambda line, form, *to: scan(
            checked("the string", string(line, MOST_INPUT + 1)), form, *to
        ),
        "fopen": opened, "fclose": closed,
        "feof": lambda file: source(file).is_ended,
        "fread": fill,
        "fwrite": lambda at, size, n, to: show(
            to, read(at, min(size * n, MOST_OUTPUT + 1))
        ) // (size or 1),
        "fgetc": lambda file: next(iter(source(file).take(1)), -1),
        "malloc": memory.new, "realloc": memory.resized, "free": memory.drop,
        **dict.fromkeys(("memcpy", "memmove"), lambda to, at, n: memory.copy(at, n, to)),
        "memset": memory.fill,
        "memcmp": compared,
        "strlen": memory.length,
        "exit": leave, "assert": insist,
    }  # fmt: skip
