"""C's library, as far as programs of the time use it: what library.c leaves to Python.

printf's and scanf's formats come first.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from math import copysign, isfinite, isnan
from pathlib import Path
from pkgutil import get_data
from struct import pack
from sys import byteorder
from typing import Any

import numpy as np

from gpgpu_legacy.api.host.memory import HostError, ProgramMemory
from gpgpu_legacy.api.host.values import rounder
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.files import open_data
from gpgpu_legacy.languages.c.literals import rounded_once
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Item

MOST_WIDTH = 1 << 16
"""The most characters of a field of printf, and of its precision."""

_PRINTED = re.compile(
    r"%([-+ #0]*)(\*|\d{0,9})(?:\.(\*|\d{0,9}))?(hh|ll|[hlLqjzt]?)(.?)", re.DOTALL
)
_BITS = {"hh": 8, "h": 16, "": 32}


def taken(arguments: Iterator[Any]) -> Any:
    """The next argument of a format."""
    for value in arguments:
        return value
    raise HostError("the format needs more arguments than are given")


def printed(form: bytes, arguments: Iterator[Any], memory: ProgramMemory, most: int) -> bytes:
    """The text of printf's format and arguments. Raises HostError for more than `most` bytes."""
    room = most - len(form)

    def within(match: re.Match[str]) -> str:
        nonlocal room
        text = one(match)
        room -= len(text)
        if room < 0:
            raise HostError(f"the program prints more than {most} bytes")
        return text

    def one(match: re.Match[str]) -> str:  # noqa: PLR0912
        flags, width, precision, size, kind = match.groups()
        if kind == "%":
            return kind
        if width == "*":
            number = taken(arguments)
            flags, width = flags + "-" * (number < 0), str(abs(number))
        if precision == "*":
            precision = taken(arguments)
        digits = -1 if precision is None else int(precision or 0)
        if max(int(width or 0), digits) > MOST_WIDTH:
            raise HostError(f"the format has a field wider than {MOST_WIDTH} characters")
        if not kind or kind not in "diouxXeEfFgGscp":
            raise HostError(f"%{kind} in a format is not supported")
        value, whole = taken(arguments), f"%{flags}{width}s"
        plus = "+" if "+" in flags else " " * (" " in flags)
        if kind in "diouxX":
            bits = _BITS.get(size, 64)
            value = int(value if isfinite(value) else 0) & (1 << bits) - 1
            sign = ""
            if kind in "di":
                value -= value >> bits - 1 << bits
                sign = "-" if value < 0 else plus
            text = f"{abs(value):{kind if kind in 'oxX' else 'd'}}" if value or digits else ""
            text = text.rjust(digits, "0")
            if "#" in flags and kind in "xX" and value:
                sign = f"0{kind}"
            elif "#" in flags and kind == "o" and text[:1] != "0":
                text = f"0{text}"
            if "0" in flags and "-" not in flags and digits < 0:
                text = text.rjust(int(width or 0) - len(sign), "0")
            return whole % (sign + text)
        if kind in "eEfFgG" and not isfinite(value):
            sign = "-" if copysign(1, value) < 0 else plus
            text = sign + ("nan" if isnan(value) else "inf")
            return whole % (text.upper() if kind.isupper() else text)
        if kind == "s":
            value = memory.string(value, digits if digits >= 0 else most + 1).decode("latin-1")
        elif kind == "c":
            value = chr(int(value) & 255)
        elif kind == "p":
            return whole % (f"{value:#x}" if value else "(nil)")
        return str(f"%{flags}{width}{f'.{digits}' * (digits >= 0)}{kind}" % value)

    return _PRINTED.sub(within, form.decode("latin-1")).encode("latin-1")


class Source:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.is_ended = data, 0, False

    def take(self, count: int) -> bytes:
        """The next bytes, fewer at the end."""
        data = self.data[self.at : self.at + count]
        self.at += len(data)
        self.is_ended |= len(data) < count
        return data


_READ = re.compile(rb"(\s+)|%(\*?)(\d{0,8})(hh|ll|[hlLqjzt]?)(\[\^?\]?[^]]*\]|.)|(.)", re.DOTALL)
_FLOAT = rb"(?i)[+-]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
_PATTERNS = {
    **dict.fromkeys(b"du", rb"[+-]?\d+"), **dict.fromkeys(b"feEgG", _FLOAT),
    **dict.fromkeys(b"xX", rb"[+-]?(?:0[xX](?=[0-9a-fA-F]))?[0-9a-fA-F]+"),
    ord("i"): rb"[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|\d+)", ord("o"): rb"[+-]?[0-7]+",
    ord("s"): rb"\S+",
}  # fmt: skip
_BASES = {"d": 10, "u": 10, "o": 8, "x": 16, "X": 16}


def scanned(source: Source, form: bytes) -> Iterator[bytes]:
    """The fields that scanf's format reads, in the bytes that memory holds."""
    for space, skipped, width, size, kind, plain in _READ.findall(form):
        if space or plain or kind[:1] not in {b"c", b"["}:
            while source.data[source.at : source.at + 1].isspace():
                source.at += 1
        if space:
            continue
        pattern = re.escape(plain or b"%") if plain or kind == b"%" else _PATTERNS.get(kind[0])
        if kind[:1] in {b"c", b"["}:
            some = re.sub(rb"([\\[&~|])", rb"\\\1", kind[1:])
            pattern = b"(?s:.){%b}" % (width or b"1") if kind == b"c" else b"[" + some + b"+"
        if pattern is None:
            raise HostError(f"%{kind.decode('latin-1')} in a format is not supported")
        end = source.at + int(width) if width else len(source.data)
        match = re.compile(pattern).match(source.data, source.at, end)
        if match is None:
            source.is_ended |= source.at >= len(source.data)
            return
        text, source.at = match[0], match.end()
        if skipped or plain or kind == b"%":
            continue
        if kind[:1] in {b"c", b"[", b"s"}:
            yield text if kind == b"c" else text + b"\0"
        else:
            yield _number(text.decode(), kind.decode(), size.decode())


def _number(text: str, kind: str, size: str) -> bytes:
    """The bytes of a number; an integer that is too large becomes the largest, as in strtol."""
    if kind in "feEgG":
        return pack("=d", float(text)) if size else pack("=f", rounder()(rounded_once(text)))
    is_negative, digits = text[0] == "-", text.lstrip("+-").lower()
    base = _BASES.get(kind) or (16 if "x" in digits else 8 if digits[0] == "0" else 10)
    most = (1 << 63) - (not is_negative) if kind in "di" else (1 << 64) - 1
    number = min(int(digits.lstrip("0x")[:40] or "0", base), most)
    bits = _BITS.get(size, 64)
    whole = (-number if is_negative else number) & (1 << bits) - 1
    return whole.to_bytes(bits // 8, byteorder)


MOST_OUTPUT = 1 << 26
"""The most bytes that a program may print."""

MOST_INPUT = 1 << 26
"""The most bytes of a file that a program reads, and of its standard input."""

STDIN, STDOUT, STDERR = ((1 << 64) - n for n in (1, 2, 3))  # addresses without an object

_MATH = (
    "sin cos tan asin acos atan sinh cosh tanh exp log log10 log2 sqrt cbrt fabs floor ceil rint "
    "trunc atan2 fmod pow fmax fmin hypot ldexp"
)


@cache
def library_text() -> tuple[Item, ...]:
    """The items of library.c: declarations of all functions, and the bodies of some."""
    return parse("", "", before=(get_data(__package__, "library.c") or b"").decode()).items


_AS_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
}  # fmt: skip


def _as_c(name: str, rounded: Callable[[float], float]) -> Callable[..., float]:
    """A function of Python's math, or NumPy's where math lacks it or refuses a value."""
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
    """The functions that library.c leaves to Python, by name.

    folder: the program may read its files. out: is called with 1 for stdout or 2 for stderr, and
    the bytes that the program prints. stdin: returns all of standard input.
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
