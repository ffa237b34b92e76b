"""C's library, as far as programs of the time use it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import numpy as np

from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.files import open_data
from gpgpu_legacy.host.memory import HostError, Memory
from gpgpu_legacy.host.text import Source, printed, scanned
from gpgpu_legacy.host.types import BY_CODE, VOID, Pointer, Type

MOST_OUTPUT = MOST_INPUT = 1 << 26
"""The most bytes that a program may print, and that a file which it reads may have."""

STDIN, STDOUT, STDERR = (n << 61 for n in (1, 2, 3))  # addresses without an object

CONSTANTS: dict[str, tuple[Type, float]] = {
    name: (BY_CODE[code], (float if code in "fd" else int)(number))
    for name, code, number in re.findall(
        r"(\w+) (\w) ([^,]+)",
        "EOF i -1, RAND_MAX i 2147483647, EXIT_SUCCESS i 0, EXIT_FAILURE i 1, true i 1, false i 0, "
        "CLOCKS_PER_SEC q 1000000, INT_MAX i 2147483647, INT_MIN i -2147483648, "
        "UINT_MAX I 4294967295, FLT_MAX f 3.40282347e38, FLT_MIN f 1.17549435e-38, "
        "FLT_EPSILON f 1.1920929e-7, DBL_MAX d 1.7976931348623157e308, "
        "DBL_EPSILON d 2.220446049250313e-16, M_PI d 3.141592653589793, HUGE_VAL d inf, "
        "INFINITY f inf, NAN f nan",
    )
} | {
    name: (Pointer(VOID), address)
    for name, address in (("NULL", 0), ("stdin", STDIN), ("stdout", STDOUT), ("stderr", STDERR))
}

_MATH = {
    f"{name}{end}": (name, codes.replace("d", end or "d"))
    for codes, names in (
        ("dd", "sin cos tan asin acos atan sinh cosh tanh exp log log10 log2 sqrt cbrt fabs floor "
         "ceil rint trunc round"), ("ddd", "atan2 fmod pow fmax fmin hypot"), ("ddi", "ldexp"),
    )
    for name in names.split()
    for end in ("", "f")
}  # fmt: skip
SIGNATURES = {name: codes for name, (_, codes) in _MATH.items()} | dict(
    re.findall(
        r"(\w+):(\S+)",
        "isnan:id isinf:id isfinite:id finite:id abs:ii labs:qq printf:is. fprintf:iPs. "
        "sprintf:iPs. puts:is putchar:ii fputc:iiP putc:iiP fputs:isP fflush:iP scanf:is. "
        "fscanf:iPs. sscanf:iss. fopen:Pss fclose:iP feof:iP fgets:PPiP fread:QPQQP "
        "fwrite:QPQQP getchar:i fgetc:iP getc:iP malloc:PQ calloc:PQQ realloc:PPQ free:vP "
        "brmalloc:PQ brfree:vP memcpy:PPPQ memset:PPiQ strlen:Qs strcmp:iss strncmp:issQ "
        "strcpy:PPs strncpy:PPsQ strcat:PPs strchr:PPi strdup:Ps memmove:PPPQ memcmp:iPPQ "
        "toupper:ii tolower:ii isalpha:ii isdigit:ii isalnum:ii isspace:ii isupper:ii "
        "islower:ii atoi:is atof:ds rand:i srand:vI time:qP gettimeofday:iPP clock:q "
        "GetTimeMillis:d exit:vi assert:vi qsort:vPQQF streamRead:vSP streamWrite:vSP "
        "streamPrint:vS. streamSwap:vSS streamSize:4S streamScatterOp:vSSSn "
        "streamGatherOp:vSSSn",
    )
)
"""The functions with the codes of their results and of their arguments.

P is a pointer, F a function, s a string, v nothing; a dot stands for any more. Of Brook's
functions, S is a stream, 4 a float4, n the name of a reduction.
"""

_AS_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
}  # fmt: skip
_KINDS = ("isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower")


class Random:
    """glibc's rand: an additive feedback of 31 numbers."""

    def seed(self, seed: int) -> None:
        """Begin again, as srand."""
        numbers = [(seed or 1) - (seed >> 31 << 32)]
        for _ in range(30):
            numbers.append(16807 * numbers[-1] % 2147483647)
        self._numbers = numbers[3:] + numbers[:3]
        for _ in range(310):
            self()

    def __call__(self) -> int:
        numbers = self._numbers
        numbers.append(numbers.pop(0) + numbers[27] & 0xFFFFFFFF)
        return numbers[-1] >> 1


def _as_c(name: str) -> Callable[..., float]:
    """A function of Python's math, or NumPy's for what that lacks or refuses."""
    other = getattr(np, _AS_NUMPY.get(name, name))
    own = other if name in {"floor", "ceil", "trunc"} else getattr(math, name, other)

    def call(*given: float) -> float:
        try:
            return float(own(*given))
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(other(*given))

    return call


def _rounded(x: float) -> float:
    """Halves away from zero."""
    return float(Decimal(x).to_integral_value(ROUND_HALF_UP))


def _compared(a: bytes, b: bytes, size: int | None = None) -> int:
    return (a[:size] > b[:size]) - (a[:size] < b[:size])


def _first(text: bytes, form: bytes) -> Any:
    return next((value for _, value in scanned(Source(text), form)), 0)


def library(  # noqa: PLR0915
    memory: Memory,
    folder: Path,
    out: Callable[[int, bytes], object],
    stdin: Callable[[], bytes],
) -> dict[str, Callable[..., Any]]:
    """The functions by name.

    folder: that of the files which the program may read. out: takes what it prints, with 1 for
    stdout, 2 for stderr.
    """
    files: dict[int, Source] = {}
    left = MOST_OUTPUT
    random = Random()
    random.seed(1)

    def show(stream: int, data: bytes) -> int:
        nonlocal left
        left -= len(data)
        if stream not in {STDOUT, STDERR}:
            raise HostError("a program may print to stdout and stderr alone, not to files")
        if left < 0:
            raise HostError(f"the program prints more than {MOST_OUTPUT} bytes")
        out(1 + (stream == STDERR), data)
        return len(data)

    def text(form: bytes, given: tuple[Any, ...]) -> bytes:
        return printed(form, iter(given), memory.string)

    def source(stream: int) -> Source:
        if stream == STDIN and stream not in files:
            files[stream] = Source(stdin())
        if stream not in files:
            raise HostError("this is no open file")
        return files[stream]

    def opened(name: bytes, mode: bytes) -> int:
        path = folder / name.decode("latin-1")
        if mode not in {b"r", b"rb", b"rt"}:
            raise HostError(f"{path.name} is opened for writing; a program may only read files")
        try:
            if not path.resolve().is_relative_to(folder.resolve()):
                raise HostError(
                    f"{path} is not in the program's folder, the only one that it reads"
                )
            with open_data(path) as file:
                data = file.read(MOST_INPUT + 1)
        except (GpgpuLegacyError, OSError):
            return 0
        if len(data) > MOST_INPUT:
            raise HostError(f"{path.name} has more than {MOST_INPUT} bytes")
        handle = memory.new(1)
        files[handle] = Source(data)
        return handle

    def line(to: int, size: int, stream: int) -> int:
        data = source(stream).line(size - 1)
        if data:
            memory.write(to, data + b"\0")
        return to if data else 0

    def character(stream: int = STDIN) -> int:
        return next(iter(source(stream).take(1)), -1)

    def scan(from_: Source, form: bytes, *pointers: int) -> int:
        done, unused = 0, iter(pointers)
        for code, value in scanned(from_, form):
            to = next(unused, None)
            if to is None:
                raise HostError("the format needs more arguments than are given")
            memory.put(code, value, to) if code else memory.write(to, value)
            done += 1
        return done if done or not from_.is_ended else -1

    def copied(to: int, data: bytes) -> int:
        memory.write(to, data)
        return to

    def found(at: int, wanted: int) -> int:
        place = (memory.string(at) + b"\0").find(wanted & 255)
        return at + place if place >= 0 else 0

    def leave(status: int) -> None:
        raise SystemExit(status & 255)

    def insist(holds: int) -> None:
        if not holds:
            raise HostError("the assertion does not hold")

    def sort(base: int, count: int, size: int, compare: Callable[..., int]) -> None:
        copy = memory.new(count * size)
        memory.write(copy, memory.read(base, count * size))
        places = sorted(range(copy, copy + count * size, size), key=cmp_to_key(compare))
        memory.write(base, b"".join(memory.read(at, size) for at in places))
        memory.drop(copy)

    put, span, string = memory.write, memory.span, memory.string
    return {spelled: _as_c(name) for spelled, (name, _) in _MATH.items()} | {
        kind: lambda c, kind=kind: getattr(bytes([c & 255]), kind)() for kind in _KINDS
    } | {
        "isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite,
        "finite": math.isfinite, "round": _rounded, "roundf": _rounded, "abs": abs, "labs": abs,
        "printf": lambda form, *given: show(STDOUT, text(form, given)),
        "fprintf": lambda to, form, *given: show(to, text(form, given)),
        "sprintf": lambda to, form, *given: len(put(to, text(form, given) + b"\0")) - 1,
        "puts": lambda line: show(STDOUT, line + b"\n"),
        **dict.fromkeys(
            ("putchar", "fputc", "putc"),
            lambda c, to=STDOUT: show(to, bytes([c & 255])) and c & 255,
        ),
        "fputs": lambda line, to: show(to, line), "fflush": lambda to: 0,
        "scanf": lambda form, *to: scan(source(STDIN), form, *to),
        "fscanf": lambda file, form, *to: scan(source(file), form, *to),
        "sscanf": lambda line, form, *to: scan(Source(line), form, *to),
        "fopen": opened, "fclose": lambda file: files.pop(file, 0) and 0,
        "feof": lambda file: source(file).is_ended, "fgets": line,
        "fread": lambda to, size, n, file: len(put(to, source(file).take(size * n))) // (size or 1),
        "fwrite": lambda at, size, n, to: show(to, memory.read(at, size * n)) // (size or 1),
        "getchar": character, "fgetc": character, "getc": character,
        "malloc": memory.new, "calloc": lambda n, size: memory.new(n * size),
        "realloc": memory.resized, "free": memory.drop,
        "brmalloc": memory.new, "brfree": memory.drop,
        **dict.fromkeys(("memcpy", "memmove"), lambda to, at, n: copied(to, memory.read(at, n))),
        "memcmp": lambda a, b, n: _compared(memory.read(a, n), memory.read(b, n)),
        "strdup": lambda s: copied(memory.new(len(s) + 1), s + b"\0"),
        "toupper": lambda c: c - 32 * (97 <= c <= 122),
        "tolower": lambda c: c + 32 * (65 <= c <= 90),
        "memset": lambda to, c, n: copied(to, bytes([c & 255]) * len(span(to, n))),
        "strlen": len, "strcmp": _compared, "strncmp": _compared,
        "strcpy": lambda to, s: copied(to, s + b"\0"),
        "strncpy": lambda to, s, n: copied(to, s[:n].ljust(n, b"\0")),
        "strcat": lambda to, s: copied(to, string(to) + s + b"\0"),
        "strchr": found,
        "atoi": lambda s: (_first(s, b"%d") + (1 << 31) & (1 << 32) - 1) - (1 << 31),
        "atof": lambda s: float(_first(s, b"%lf")), "rand": random,
        "srand": random.seed, "time": lambda to: to and put(to, bytes(8)) and 0,
        "gettimeofday": lambda to, zone: put(to, bytes(16)) and 0, "clock": int,
        "GetTimeMillis": float, "exit": leave,
        "assert": insist, "qsort": sort,
    }  # fmt: skip
