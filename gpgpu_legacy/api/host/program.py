"""A Brook program from its file to its output, and its kernel calls as one plan."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path
from traceback import walk_tb
from types import CodeType
from typing import Any

from gpgpu_legacy.api.host import library
from gpgpu_legacy.api.host.functions import Compiler
from gpgpu_legacy.api.host.memory import OPERATIONS, HostError, ProgramMemory, in_words
from gpgpu_legacy.api.host.streams import WRITTEN, Recorder, StreamData, Streams, arguments_of, uses
from gpgpu_legacy.api.host.values import FUNCTIONS, CFunction, rounder
from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.api.run import Request, with_machine
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import AssemblyError, GpgpuLegacyError, InputError, hint
from gpgpu_legacy.files import read_text
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.brook.kernels import BrookKernel, Kernels
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import BEFORE
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.pipeline.storage import Stream
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.runtime.machine import Machine

MOST_STEPS = 200_000_000
"""The most trips of loops and calls of functions together; a goto counts as ten."""

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
        """No tables: the output of the program is the answer."""
        return []


@public
def run_brook(
    path: Path | str,
    *arguments: str,
    executor: str = AUTO,
    machine: Machine | None = None,
    stdin: Callable[[], bytes] = bytes,
    out: Callable[[int, bytes], object] | None = None,
    recorder: Recorder | None = None,
    profile: str = "",
    **how: Any,
) -> BrookRun:
    """Run a Brook program with its arguments.

    The program reads files of its own folder only, and writes none. Its clock stands still.

    path: FILE.br. arguments: those of its main, as texts. executor: what its kernels run on.
    machine, how: a Machine, or its fields by themselves, as for a pipeline's `run`. stdin: returns
    the bytes of standard input. out: is called with 1 for stdout or 2 for stderr, and with the
    bytes that the program prints, as they come. recorder: is called with each kernel call. profile:
    what kernels are compiled for; see `call`.

    Raises AssemblyError for a text with faults, and InputError, with file, line and column, for a
    program that fails.
    """
    path, (machine, others) = Path(path), with_machine(machine, how)
    for name in others:
        raise InputError(f"run_brook takes no {name}; {hint(name, Machine.__dataclass_fields__)}")
    unit = parse(read_text(path), str(path), CompilerOptions(folder=path.parent))
    printed = bytearray(), bytearray()

    def show(stream: int, data: bytes) -> None:
        printed[stream - 1].extend(data)
        if sum(map(len, printed)) > library.MOST_OUTPUT:
            raise HostError(f"the program prints more than {library.MOST_OUTPUT} bytes")
        if out is not None:
            out(stream, data)

    def run(plan: Plan, given: dict[str, F32]) -> dict[str, F32]:
        return dict(Request(plan, given, executor, machine).run()[1].outputs)

    objects, kernels = ProgramMemory(), Kernels(unit, profile)
    streams = Streams(objects, kernels, run, show, recorder)
    functions = library.library(objects, path.parent, show, stdin)
    written = {
        name: [p.role in WRITTEN for p in kernels.find(name).parameters]
        for name in kernels.functions
    }
    compiled = Compiler(unit, objects, written)
    compiled.compile()
    if compiled.main is None:
        raise InputError(f"{path} has no function main; its kernels alone make no program")
    names: dict[str, Any] = {
        **FUNCTIONS, **objects.views, **streams.names(), "single": rounder(),
        "steps": repeat(None, MOST_STEPS),
        **{f"{name}_": function for name, function in functions.items()},
        **{name: getattr(objects, name) for name in OPERATIONS.split()},
    }  # fmt: skip
    texts = [objects.literal(os.fsencode(text)) for text in (path.name, *arguments)]
    table = objects.new(8 * len(texts) + 8)
    for number, text in enumerate(texts):
        objects.put("Q", text, table + 8 * number)
    status = _ran(compiled, names, (len(texts), table, 0))
    stdout, stderr = (text.decode("utf-8", "replace") for text in printed)
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
        assert compiled.main
        assert isinstance(compiled.main.type, CFunction)
        taken = len(compiled.main.type.parameters)
        return int(names[compiled.main.code](*given[:taken])) & 255
    except SystemExit as done:
        return int(done.code or 0)
    except (AssemblyError, MemoryError, OSError):
        raise
    except Exception as error:
        raise _placed(error, compiled, code) from error
    finally:
        sys.setrecursionlimit(limit)


def _placed(error: Exception, compiled: Compiler, code: CodeType) -> Exception:
    """The error with its place in the program. An executor's unexpected error stays as it is."""
    at, files, texts = Span(1, 1), set[str](), compiled.unit.texts
    for frame, line in walk_tb(error.__traceback__):
        files.add(frame.f_code.co_filename)
        if frame.f_code.co_filename == code.co_filename:
            place = compiled.lines[line - 1][1]
            at = at if place.file == BEFORE else place
    if Request.run.__code__.co_filename in files and not isinstance(error, GpgpuLegacyError):
        return error
    limits = {
        StopIteration: f"the program takes more than {MOST_STEPS} steps; does each loop end?",
        RecursionError: f"more than {MOST_NESTED} calls are nested; does each recursion end?",
    }
    said = limits.get(type(error)) or in_words(error).removeprefix(f"{texts.name}: ")
    return InputError(f"{texts.file(at)}:{at.line}:{at.column}: {said}")


MOST_CALLS = 4096
"""The most calls that are recorded."""


class CallRecorder:
    """Records kernel calls in a pipeline. A stream that C has written to becomes a new one.

    inputs: by name. written: the streams that kernels wrote, by name.
    """

    def __init__(self, name: str) -> None:
        self.pipeline, self.inputs = Pipeline(name), dict[str, F32]()
        self.written: dict[str, Stream] = {}
        self._streams: dict[StreamData, Stream] = {}
        self._values: dict[StreamData, bytes] = {}
        self._names, self._calls = Counter[str](), 0

    def __call__(self, kernel: BrookKernel, arguments: Sequence[Any]) -> Callable[[], None]:
        """Add a call, before it runs; returns a function that notes what it wrote."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise HostError(f"the program calls kernels more than {MOST_CALLS} times; record less")
        read, written = uses(kernel, arguments)
        for data in read | written:
            is_given = data in read and data.values.tobytes() != self._values.get(data)
            if is_given or data not in self._streams:
                self._names[data.name] += 1
                number = self._names[data.name]
                name = data.name if number == 1 else f"{data.name}-{number}"
                self._streams[data] = self.pipeline.stream(
                    name, data.type, data.extents, given=is_given
                )
            if is_given:
                shape = self.pipeline.operands[name].array_shape
                self.inputs[name] = data.values.reshape(shape).copy()
                self._values[data] = data.values.tobytes()
        self.pipeline.call(kernel, *arguments_of(kernel, arguments, self._streams))
        self.written |= {self._streams[data].name: self._streams[data] for data in written}

        def done() -> None:
            self._values |= {data: data.values.tobytes() for data in written}

        return done


def recorded(path: str, *arguments: str, profile: str = "") -> tuple[Pipeline, dict[str, F32]]:
    """Run a program for its kernel calls: returns them as a pipeline, and its inputs."""
    recorder = CallRecorder(Path(path).stem)
    run_brook(path, *arguments, recorder=recorder, profile=profile)
    if not recorder.written:
        raise InputError(f"{path} calls no kernel with these arguments, so it has no plan")
    for name, stream in recorder.written.items():
        recorder.pipeline.output(name, stream)
    return recorder.pipeline, recorder.inputs
