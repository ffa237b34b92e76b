"""A Brook program from its file to its output."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from traceback import walk_tb
from types import CodeType
from typing import Any

from gpgpu_legacy.api.run import execute, with_machine
from gpgpu_legacy.errors import AssemblyError, GpgpuLegacyError, InputError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.host import memory, values
from gpgpu_legacy.host.functions import Compiler
from gpgpu_legacy.host.library import library
from gpgpu_legacy.host.memory import OPERATIONS, HostError, Memory
from gpgpu_legacy.host.streams import WRITTEN, Recorder, Streams
from gpgpu_legacy.host.values import FUNCTIONS, rounder
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.languages.brook.kernels import Kernels
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import BEFORE
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.runtime.machine import Machine

MOST_STEPS = 200_000_000
"""The most rounds of loops and calls of functions together; a goto counts as ten."""

MOST_NESTED = 5000
"""The most calls of functions inside one another."""


class BrookRun(Result):
    """A run of a program: what it printed, its exit status, and the number of kernel calls."""

    program: str
    stdout: str
    stderr: str
    status: int
    calls: int

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """None: what it printed is the answer."""
        return []


def run_brook(
    path: Path | str,
    *arguments: str,
    executor: str = AUTO,
    machine: Machine | None = None,
    stdin: Callable[[], bytes] = bytes,
    out: Callable[[int, bytes], object] | None = None,
    recorder: Recorder | None = None,
    **how: Any,
) -> BrookRun:
    """Run a Brook program, FILE.br, with these arguments.

    Its kernels run on the executor; machine, how: as for `run`. It reads files of its own folder
    and no others, and writes none. Its clock stands still. stdin: gives what it reads from there.
    out: is given what it prints, as it comes, with 1 for stdout and 2 for stderr. recorder: is told
    of each kernel call.

    Raises AssemblyError for a text with faults, and InputError, with file, line and column, for a
    program that fails.
    """
    path, (machine, _) = Path(path), with_machine(machine, how)
    unit = parse(read_text(path), str(path), folder=path.parent)
    printed: tuple[list[bytes], list[bytes]] = ([], [])

    def show(stream: int, data: bytes) -> None:
        printed[stream - 1].append(data)
        if out is not None:
            out(stream, data)

    def run(plan: Plan, given: dict[str, F32]) -> dict[str, F32]:
        return dict(execute(plan, given, executor, machine)[1].outputs)

    objects, kernels = Memory(), Kernels(unit)
    streams = Streams(objects, kernels, run, show, recorder)
    functions = library(objects, path.parent, show, stdin)
    written = {
        name: [p.role in WRITTEN for p in kernels.find(name).parameters]
        for name in kernels.functions
    }
    compiled = Compiler(unit, objects, written)
    if "main" not in compiled.functions:
        raise InputError(f"{path} has no function main; its kernels alone make no program")
    names: dict[str, Any] = {
        **FUNCTIONS, **objects.views, **streams.names(), "single": rounder(),
        "steps": repeat(None, MOST_STEPS),
        **{f"{name}_": function for name, function in functions.items()},
        **{name: getattr(objects, name) for name in OPERATIONS.split()},
        "function": objects.functions.__getitem__,
    }  # fmt: skip
    texts = [objects.literal(text.encode()) for text in (path.name, *arguments)]
    table = objects.new(8 * len(texts) + 8)
    for number, text in enumerate(texts):
        objects.put("Q", text, table + 8 * number)
    taken = len(compiled.functions["main"].parameters)
    status = _ran(compiled, names, (len(texts), table, 0)[:taken])
    stdout, stderr = (b"".join(parts).decode("utf-8", "replace") for parts in printed)
    return BrookRun(
        program=str(path), stdout=stdout, stderr=stderr, status=status, calls=streams.calls
    )


def _ran(compiled: Compiler, names: dict[str, Any], given: tuple[int, ...]) -> int:
    """Run a compiled program; returns its status."""
    unit, limit = compiled.unit, sys.getrecursionlimit()
    try:
        lines = "\n".join(line for line, _ in compiled.lines)
        code: CodeType = compile(lines, f"<{unit.name}>", "exec")
    except (SyntaxError, MemoryError, RecursionError):
        raise InputError(f"{unit.name} is nested too deeply; write flatter statements") from None
    try:
        sys.setrecursionlimit(limit + MOST_NESTED)
        exec(code, names)
        return int(names["main_"](*given)) & 255
    except SystemExit as done:
        return int(done.code or 0)
    except AssemblyError:
        raise
    except Exception as error:
        at, file = None, ""
        for frame, line in walk_tb(error.__traceback__):
            file = frame.f_code.co_filename
            if file == code.co_filename:
                place = compiled.lines[line - 1][1]
                at = at if place.file == BEFORE else place
        said = ""
        if isinstance(error, HostError | GpgpuLegacyError):
            said = str(error).removeprefix(f"{unit.name}: ")
        elif file in {code.co_filename, memory.__file__, values.__file__}:
            said = next((said for what, said in _said() if re.match(what, repr(error))), "")
        if at is None or not said:
            raise
        raise InputError(f"{unit.name}:{at.line}:{at.column}: {said}") from None
    finally:
        sys.setrecursionlimit(limit)


def _said() -> Iterator[tuple[str, str]]:
    """What Python refuses, in the words of C."""
    yield r"KeyError\(0\)", "a null pointer is read or written"
    yield "KeyError", "the pointer leads to no object: it was freed, or never set"
    yield "IndexError", "this reads or writes outside of an object"
    yield "TypeError.*read-only", "this writes to a string literal; copy it to an array first"
    yield "StopIteration", f"the program takes more than {MOST_STEPS} steps; does each loop end?"
    yield "RecursionError", f"more than {MOST_NESTED} calls are nested; does each recursion end?"
    yield ".*(Name|Local)Error", "a variable is read that was jumped over where it is set"
    yield "ZeroDivisionError", "this divides an integer by zero"
