"""A run of a plan: its outputs, times, counts, and errors against a reference; or step by step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.api.prepared import prepared
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.decorators import block, frozen
from gpgpu_legacy.errors import (
    InputError,
    PlanError,
    UnknownNameError,
    as_positive,
    described,
    warn,
)
from gpgpu_legacy.isa.arithmetic import F32, find_arithmetic
from gpgpu_legacy.isa.execute import BLOCK, Event, Tally, undefined_for_some
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.measure.timing import as_repeat, giga_rate, median_timings
from gpgpu_legacy.measure.tuned import as_tuned
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import (
    OutputError,
    as_operands,
    expected,
    operands_of,
    output_error,
    worst,
)
from gpgpu_legacy.plan.expand import settled
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import Plan, Until
from gpgpu_legacy.predict import auto
from gpgpu_legacy.present.grid import Entry, Grid, Result, plain
from gpgpu_legacy.runtime.executor import AUTO, Executor, reference
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Device, Machine
from gpgpu_legacy.runtime.prepared import (
    Ended,
    Observer,
    Prepared,
    RunResult,
    Timings,
    in_shape,
)
from gpgpu_legacy.serial import Record

# Branches ----------------------------------------------------------------------------------------


class Branching(Record):
    """The instructions and tests that fragments of a program executed, in all of its passes.

    instructions: executed by all fragments. in_quads, in_blocks: the same on a chip that branches
    for a quad, or a block of 32×32, as a whole: each fragment executes what any of them executes.
    tests: those of IF and BRK. taken: the tests that held. divergent_quads, divergent_blocks: the
    percentage of quads, and of blocks, in which a test held for some of the fragments that executed
    it, and not for all.
    """

    program: str
    fragments: int
    instructions: int
    in_quads: int
    in_blocks: int
    tests: int
    taken: int
    divergent_quads: float
    divergent_blocks: float


def branching_of(tally: Tally | None) -> tuple[Branching, ...]:
    """A record for each program with branches that a run executed; empty without a tally."""
    counted: dict[Program, Counter[Event | str]] = defaultdict(Counter)
    for (program, number, event), count in (tally or {}).items():
        if program.branches:
            counted[program][event] += count
            if event is Event.EXECUTED:
                is_test = program.instructions[number].mnemonic in ("IF", "BRK")
                counted[program].update(fragments=count * (not number), tests=count * is_test)
    return tuple(
        Branching(
            program=program.name,
            fragments=total["fragments"],
            instructions=total[Event.EXECUTED],
            in_quads=total[Event.IN_QUADS],
            in_blocks=total[Event.IN_BLOCKS],
            tests=total["tests"],
            taken=total[Event.TAKEN],
            divergent_quads=_percent(total[Event.DIVERGENT_QUADS], total[Event.QUADS]),
            divergent_blocks=_percent(total[Event.DIVERGENT_BLOCKS], total[Event.BLOCKS]),
        )
        for program, total in counted.items()
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def branching_grids(branching: tuple[Branching, ...]) -> list[Grid]:
    """The table of branching, in a list; an empty list if no program branched."""
    blocks = f"{BLOCK}×{BLOCK} blocks"
    numbers = "program", "fragments", "instructions", "each", "in quads", f"in {blocks}"
    heads = (*numbers, "tests", "held", "divergent quads", f"divergent {blocks}")
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            one.program,
            one.fragments,
            one.instructions,
            *(n / max(one.fragments, 1) for n in (one.instructions, one.in_quads, one.in_blocks)),
            one.tests,
            one.taken,
            f"{one.divergent_quads:.1f} %",
            f"{one.divergent_blocks:.1f} %",
        )
        for one in branching
    )
    return [Grid("branching", "What fragments executed", heads, rows)] if rows else []


# Runs --------------------------------------------------------------------------------------------


class OutputRange(Record, kw_only=False):
    """The shape and range of an output. min, max: None unless all values are finite."""

    shape: tuple[int, ...]
    min: float | None
    max: float | None


class _Ranges(Mapping[str, OutputRange]):
    """The ranges of outputs by name, each found when it is first asked for."""

    def __init__(self, outputs: Mapping[str, F32]) -> None:
        self._outputs, self._known = outputs, dict[str, OutputRange]()

    def __getitem__(self, name: str) -> OutputRange:
        if name not in self._known:
            values = self._outputs[name]
            ends = [float(end) for end in (values.min(), values.max())] if values.size else [np.nan]
            shown = ends if np.isfinite(ends).all() else (None, None)
            self._known[name] = OutputRange(values.shape, *shown)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


class Run(Result, dict=True):
    """The outputs of a plan, with times, counts and errors.

    plan: its name. parameters: of the plan. executor: its name. device: in words. choice: the
    reason for the executor; empty if it was named. arithmetic: the name of the format that
    operations were rounded to. seconds: the time to prepare the plan, almost 0 if it was prepared
    already (api/prepared.py); the other phases are medians over all measured runs. operations: of
    the pipeline. gflops: operations over the seconds of computing, in 10⁹/s. gigabytes_per_s: bytes
    requested over the same seconds, in 10⁹ bytes/s. counts: of the plan, the same on any executor;
    None if they depend on data. ranges: the shape and range of each output. errors: the error of
    each output against the reference function; None if not requested, or without a reference.
    loops: how each loop with a condition ended, in the order in which they began; the counts are
    those of these iterations. branching: what fragments executed in programs with branches, if the
    reference machine ran. branches: whether a program branches, so that the counts are bounds and
    gigabytes_per_s is None.

    An output is `run["x"]`, or an attribute, `run.x`; `outputs` has all of them.
    """

    plan: str
    parameters: Mapping[str, Plain]
    executor: str
    device: str
    choice: str
    arithmetic: str
    seconds: Timings
    operations: int | None
    gflops: float | None
    gigabytes_per_s: float | None
    counts: Counts | None
    ranges: Mapping[str, OutputRange]
    errors: tuple[OutputError, ...] | None = None
    loops: tuple[Ended, ...] = ()
    branching: tuple[Branching, ...] = ()
    branches: bool = False

    def __repr__(self) -> str:
        outputs = ", ".join(
            f"{name} {'×'.join(map(str, one.shape))}" for name, one in self.outputs.items()
        )
        rate = f", {self.gflops:.4g} GFLOPS" if self.gflops else ""
        return (
            f"<Run {self.plan}: {outputs} from {self.executor} ({self.device}), "
            f"{1e3 * self.seconds.compute_s:.4g} ms{rate}>"
        )

    @property
    def outputs(self) -> Mapping[str, F32]:
        """The outputs by name, float32, in the shapes of the plan's results."""
        outputs: Mapping[str, F32] = self.__dict__["outputs"]
        return outputs

    arrays = outputs

    @property
    def inputs(self) -> Mapping[str, F32]:
        """The inputs by name, float32, in the shapes of the plan's operands."""
        inputs: Mapping[str, F32] = self.__dict__["inputs"]
        return inputs

    def __getattr__(self, name: str) -> F32:
        """An output by its name."""
        return _output(self.outputs, name, "run")

    __getitem__ = __getattr__

    @property
    def iterations(self) -> int | tuple[int, ...] | None:
        """The iterations of its loop with a condition, a tuple for several loops, or None."""
        numbers = tuple(loop.iterations for loop in self.loops)
        return numbers if len(numbers) > 1 else next(iter(numbers), None)

    @property
    def max_error(self) -> float | None:
        """The largest error of an output; NaN if a NaN or an infinity is involved."""
        return None if self.errors is None else worst(self.errors)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Its outputs, times and counts. whole: as tables, with all counts."""
        shown = [self._outputs(() if whole else (self._took(), self._cost()))]
        shown += branching_grids(self.branching)
        if whole:
            shown.append(Grid("seconds", "Times", ("part", "ms"), tuple(self._parts().items())))
            counted = [] if self.counts is None else [f.name for f in fields(Counts)]
            rows = ((name.replace("_", " "), getattr(self.counts, name)) for name in counted)
            kept = tuple(row for row in rows if row[1])
            shown.append(Grid("counts", "Counted", ("what", "number"), kept))
        return shown

    def _outputs(self, more: tuple[str, ...]) -> Grid:
        errors = {
            one.output: (one.error, None if one.at is None else str([*one.at]))
            for one in self.errors or ()
        }
        heads = ("output", "shape", "min", "max", *(("error", "at") if errors else ()))
        rows = tuple(
            (name, " × ".join(map(str, one.shape)), one.min, one.max, *errors.get(name, ()))
            for name, one in self.ranges.items()
        )
        notes = [f"Run by {self.executor} on {self.device}, in {self.arithmetic}.", *more]
        if self.loops:
            ran = ", ".join(map(str, [loop.iterations for loop in self.loops][:_MOST_LOOPS]))
            notes.append(f"Iterations of the loop that ends by its condition: {ran}.")
        if self.errors:
            kinds = " or ".join(dict.fromkeys(one.kind.value for one in self.errors))
            notes.append(f"The error is the largest against the reference function, {kinds}.")
        return Grid("outputs", titled(self.plan, self.parameters), heads, rows, tuple(notes))

    def _parts(self) -> dict[str, float]:
        """The times in ms."""
        return {what: 1e3 * getattr(self.seconds, name) for name, what in _PARTS.items()}

    def _took(self) -> str:
        rates = ((self.gflops, "GFLOPS"), (self.gigabytes_per_s, "GB/s requested"))
        times = ", ".join(f"{ms:.4g} ms to {name}" for name, ms in self._parts().items())
        paces = ", ".join(f"{rate:.4g} {unit}" for rate, unit in rates if rate is not None)
        return f"It took {times}{': ' * bool(paces)}{paces}."

    def _cost(self) -> str:
        if self.counts is None:
            return "Its cost depends on the data."
        counts = ((words, getattr(self.counts, name)) for name, words in _DECIDING.items())
        counted = ", ".join(f"{words} {plain(n)}" for words, n in counts if n) or "nothing"
        return f"Counted{' at most' * self.branches}: {counted}."


def _output(outputs: Mapping[str, F32], name: str, what: str) -> F32:
    if name not in outputs:
        names = ", ".join(outputs) or "none yet"
        raise UnknownNameError(f"this {what} has no output {name}; its outputs are {names}")
    return outputs[name]


_MOST_LOOPS = 8  # whose iterations a table shows

_PARTS = {
    "prepare_s": "prepare",
    "upload_s": "upload",
    "compute_s": "compute",
    "readback_s": "read back",
}

_DECIDING = {
    "passes": "passes",
    "draws": "draws",
    "fragments": "fragments",
    "dispatches": "dispatches",
    "invocations": "invocations",
    "arithmetic": "arithmetic instructions",
    "lookup": "lookups",
    "bytes_requested": "bytes requested",
    "copy_bytes": "bytes copied",
}
"""The counts that a run shows in short, in words."""


class How(TypedDict, total=False):
    """The options of all verbs that run a plan.

    executor: its name; `auto` takes the one that should finish first. machine: how it computes.
    seed: of samples, where no inputs are given.
    """

    executor: str
    machine: Machine | None
    seed: int


@frozen
class Request:
    """A plan, its operands (float32 by name), and the executor and machine that run it."""

    plan: Plan
    operands: dict[str, F32]
    executor: str
    machine: Machine

    @classmethod
    def of(
        cls,
        p: PlanBuilder,
        inputs: Mapping[str, ArrayLike] | None,
        executor: str = AUTO,
        machine: Machine | None = None,
        seed: int = 0,
    ) -> Self:
        """The request to run a pipeline on inputs, or on samples without any; see How."""
        plan = p.plan()
        operands = operands_of(p, plan, inputs, seed)
        return cls(plan, operands, executor, machine or DEFAULT_MACHINE)

    def run(
        self,
        *,
        repeat: int = 1,
        observer: Observer | None = None,
        progress: Callable[[], object] | None = None,
    ) -> tuple[Executor, RunResult]:
        """Run it: returns the executor, the outputs in their shapes, and the times.

        The times are the medians of all measured runs; see `run`.
        """
        report, repeat, plan = progress or (lambda: None), as_repeat(repeat), self.plan
        executors = auto.executors_for(self.executor, plan, self.machine)(repeat)
        with prepared(plan, executors, self.machine) as (chosen, ready):
            report()
            result = ready.run(self.operands, observer if repeat == 1 else None)
            report()
            if repeat > 1:
                timings = []
                for _ in range(repeat):
                    result = ready.run(self.operands)
                    timings.append(result.timings)
                    report()
                if observer is not None:
                    result = ready.run(self.operands, observer)
                    report()
                result = replace(result, timings=median_timings(timings))
        return chosen, replace(result, outputs=in_shape(plan, result.outputs))

    def iterations(self) -> tuple[int, ...]:
        """Run it; returns the iterations of its loops with a condition, in the order they begin."""
        _, result = self.run()
        return tuple(one.iterations for one in result.untils)

    def settled(self) -> Request:
        """The request with fixed iterations: those that its loops with a condition run.

        If there are such loops, the plan is run once to find them.
        """
        if not any(isinstance(step, Until) for step in self.plan.steps):
            return self
        return replace(self, plan=settled(self.plan, self.iterations()))

    def warn_of_undefined(self, result: RunResult) -> None:
        """Warn of each instruction whose result was undefined in some fragments of a run.

        The reference machine counts them as it runs. After a run on another executor, it runs a
        small plan once more to count them; for a large plan, it warns only if an output is not
        finite. The plan may have no Until.
        """
        plan, tally, counter = self.plan, result.tally, reference()
        programs = [program for program in plan.programs() if undefined_for_some(program)]
        if not programs:
            return
        if (
            tally is None
            and plan.texture_bytes <= MOST_BYTES
            and counter.pace(Device.HOST).run_s(auto.task_of(plan)) <= MOST_S
        ):
            tally = counter.run(plan, self.operands, replace(self.machine, exact=False)).tally
        if tally is None and all(np.isfinite(values).all() for values in result.outputs.values()):
            return
        for program in programs:
            for number, instruction in undefined_for_some(program):
                met = "not counted" if tally is None else tally[program, number, Event.UNDEFINED]
                row, at = instruction.opcode, instruction.span
                if met and row.undefined:
                    warn(
                        f"{at.file or program.name}:{at.line}:{at.column}: {row.mnemonic} of "
                        f"{row.undefined.sources} is undefined in the specification, so that a GPU "
                        f"of the time may draw something else; fragments with it: {met}"
                    )


MOST_S, MOST_BYTES = 0.1, 64 << 20
"""The most time, and bytes of textures, of a run that only counts undefined results."""


def run(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    repeat: int = 1,
    observer: Observer | None = None,
    check: bool = False,
    progress: Callable[[], object] | None = None,
    **how: Unpack[How],
) -> Run:
    """Run a plan on arrays by name, in the shapes of its operands; they become float32.

    inputs: the arrays; samples without any. repeat: the number of runs of the prepared plan for the
    medians of its times; if it exceeds 1, one unmeasured run comes first. observer: called after
    each pass. Observed passes are not fused, so if there are several runs the observer gets one of
    its own, which is not measured. check: whether to compare the outputs with the reference
    function. progress: called when the plan is prepared and after each run; see `steps_of`. how:
    see How; `auto` takes what `gpgpu-legacy tune` has found, or else chooses as in predict/auto.py.

    Raises InputError for arrays that do not fit, PlanError if the executor cannot run the plan, and
    ExecutorUnavailableError if the executor cannot run on this machine.
    """
    asked = how.get("executor", AUTO)
    if observer is None:
        p, how["executor"], how["machine"] = as_tuned(
            p, asked, how.get("machine") or DEFAULT_MACHINE
        )
    request = Request.of(p, inputs, **how)
    plan, machine = request.plan, request.machine
    reference, errors = p.reference if check else None, None
    if reference is not None:
        given, outputs = (sum(m.size_bytes for m in ms) for ms in (plan.operands, plan.results))
        require_memory(
            2 * (given + 3 * outputs),  # wanted, a difference, and what the function computes with
            f"the outputs of {plan.name} in float64 to compare with",
            "leave the comparison out (--no-check)",
        )
    chosen, result = request.run(repeat=repeat, observer=observer, progress=progress)
    choice = "This is the way that `tune` has found here." if request.executor != asked else ""
    if request.executor == AUTO:
        choice = auto.ranking(plan, machine).reason
    if reference is not None:
        wanted = expected(plan, reference, request.operands)
        errors = tuple(output_error(name, result.outputs[name], wanted[name]) for name in wanted)
    loops = result.untils
    if most := [loop.iterations for loop in loops if not loop.reached]:
        warn(
            f"a loop of {plan.name} ended after all of its {most[0]} iterations, and its condition "
            "does not hold; allow more by at_most, or a larger number by below"
        )
    ran = settled(plan, [loop.iterations for loop in loops])
    replace(request, plan=ran).warn_of_undefined(result)
    try:
        counts = count_plan(ran)
    except PlanError:  # of a kernel that branches on what it loads
        counts = None
    compute_s, branches = result.timings.compute_s, plan.branches
    requested = counts.bytes_requested if counts and not branches else None
    done = Run(
        plan=plan.name,
        parameters=p.parameters,
        executor=chosen.name,
        device=chosen.device(),
        choice=choice,
        arithmetic=machine.arithmetic.name,
        seconds=result.timings,
        operations=p.operations,
        gflops=giga_rate(p.operations, compute_s),
        gigabytes_per_s=giga_rate(requested, compute_s),
        counts=counts,
        ranges=_Ranges(result.outputs),
        errors=errors,
        loops=loops,
        branching=branching_of(result.tally),
        branches=branches,
    )
    done.__dict__.update(inputs=request.operands, outputs=result.outputs)
    return done


def steps_of(repeat: int) -> int:
    """The number of progress reports: one when the plan is prepared, and one after each run."""
    return 1 + repeat + (repeat > 1)


def with_machine(
    machine: Machine | None, keywords: Mapping[str, Any]
) -> tuple[Machine, dict[str, Any]]:
    """The machine with the fields that are among the keywords, and the other keywords."""
    others = dict(keywords)
    given = {name: others.pop(name) for name in Machine.__dataclass_fields__ if name in others}
    if not isinstance(machine, Machine | None):
        raise InputError(f"machine is {described(machine)}; give a Machine(exact=True) or other")
    if "arithmetic" in given:
        given["arithmetic"] = find_arithmetic(given["arithmetic"])
    return replace(machine or DEFAULT_MACHINE, **given), others


def as_it_ran(
    p: PlanBuilder, inputs: Mapping[str, ArrayLike] | None = None, seed: int = 0
) -> PlanBuilder:
    """The pipeline with the iterations that its loops with a condition run on these inputs."""
    if not p.has_loops or p.iterations is not None:
        return p
    ran = copy(p)
    ran.iterations = Request.of(p, inputs, seed=seed).iterations()
    return ran


# Steps -------------------------------------------------------------------------------------------


_RUNS = 1000
"""The number of runs that `auto` chooses for: many, since the plan stays prepared."""


@dataclass(eq=False, repr=False)
class OpenPlan:
    """A plan that is run step by step; `Pipeline.open` makes it.

    steps: the number of steps so far. outputs: by name, after the last step; none before the first.
    """

    _plan: Plan
    _ready: Prepared
    _given: Mapping[str, F32]  # the inputs of the first step
    steps: int = 0
    outputs: dict[str, F32] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<State {self._plan.name} after {self.steps} steps>"

    def __getitem__(self, name: str) -> F32:
        """An output by its name, after the last step."""
        return _output(self.outputs, name, "state")

    def step(self, count: int = 1, **inputs: ArrayLike) -> dict[str, F32]:
        """Run the plan `count` times more; returns the outputs.

        inputs: by name. They replace what their textures hold before the first of these runs.
        Raises InputError for inputs that do not fit.
        """
        times = as_positive("count", count)
        given = as_operands(self._plan, inputs, some=True)
        if self.steps == 0:
            given = {**self._given, **given}
        result = self._ready.run(given, resume=self.steps > 0, times=times)
        self.steps += times
        self.outputs = in_shape(self._plan, result.outputs)
        return self.outputs


@block
def opened(
    p: PlanBuilder, inputs: Mapping[str, ArrayLike] | None = None, **how: Unpack[How]
) -> Generator[OpenPlan, None, None]:
    """Prepare a plan, and keep its textures from step to step until the block ends.

    inputs, how: as for `run`.
    """
    request = Request.of(p, inputs, **how)
    executors = auto.executors_for(request.executor, request.plan, request.machine)(_RUNS)
    with prepared(request.plan, executors, request.machine) as (_, ready):
        yield OpenPlan(request.plan, ready, request.operands)
