"""The ceilings of this machine, measured: a profile for each executor, which predict/ reads.

Each ceiling has a plan that does one thing: multiply-adds, dot products, lookups as a product makes
them, fills, blends, copies, passes of one fragment, transfers. The plan is made longer until a run
takes long enough to be measured. Then all plans of an executor run in turn, round by round; a rate
is the median of its rounds, and its range ends at the fastest: whatever disturbs a run makes it
slower, so bounds take that end.

An executor that computes tiles of fragments (lower/groups/shape.py) stages only shared texels. So
its lookups are measured with fragments that look up their own texels; shared memory has a plan that
reads it most of the time; and the rectangles have enough tiles to occupy the whole chip. The number
of such tiles is the rate of all tiles over the rate of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np

from gpgpu_legacy.chips.profile import (
    MEASURED,
    Confidence,
    Fact,
    Hardware,
    Profile,
    ProfileKind,
    Programs,
    calibrated_folder,
    calibrated_name,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.files import check_writable, make_folder, write_text
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.measure.timing import Budget, OtherWork, Rounds, busy_notes, take_rounds
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.plan import ComputePass, Plan
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Format, Texture
from gpgpu_legacy.present.grid import Grid, Numeral, Result
from gpgpu_legacy.runtime.executor import Executor, available, find_executor
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.prepared import F32, Prepared, Timings
from gpgpu_legacy.serial import Record, Recorded, provenance, toml_text, with_fields

# Plans -------------------------------------------------------------------------------------------


ARITHMETIC, TILES = "fragment_peak_gflops", "tiles_at_once"
SIDE = {R32F: 1024, RGBA32F: 512}  # the textures of a product of 1024×1024 matrices
TILED_SIDE = {R32F: 2048, RGBA32F: 1024}  # 256 tiles
COPY_SIDE, TRANSFER_SIDE = 2048, 1024
CACHED_SIDE = 1024  # of two textures that a large cache holds: CACHED_MIB together
CACHED_MIB = 2 * CACHED_SIDE**2 * RGBA32F.texel_bytes >> 20
TILE = GroupShape()  # for fragments of four channels
STEPS = 32  # of a program's loop, which is unrolled
MANY = 8  # multiply-adds for two lookups, four times those of the multichannel product
MOST_ITERATIONS = 64
_LONG = 4096  # most iterations where all of them look up the same texels
_SHORT_PASSES = 16  # passes of one fragment in an iteration, since none can be shorter


Build = Callable[[PlanBuilder, int], object]
"""Adds a number of iterations to a plan."""


@frozen
class CeilingTask:
    """The measurement of one ceiling.

    name: of its field in the profile. build: the plan, of a number of iterations. work: of an
    iteration, in the unit of the rate. seconds: which of the times is measured. slowness: the
    ceiling is seconds over work, not work over seconds. of_tiles: only executors that compute tiles
    have this ceiling.
    """

    name: str
    build: Build
    work: float
    seconds: Callable[[Timings], float] = lambda timings: timings.compute_s
    most_iterations: int = MOST_ITERATIONS
    slowness: bool = False
    of_tiles: bool = False

    def plan(self, iterations: int) -> Plan:
        """The plan with that many iterations."""
        p = PlanBuilder(f"calibrate-{self.name}")
        self.build(p, iterations)
        return p.plan()


def tasks(*, tiled: bool) -> tuple[CeilingTask, ...]:
    """Every ceiling, by the name of its field in the profile; arithmetic in two ways."""
    sides, most = (TILED_SIDE, _LONG) if tiled else (SIDE, MOST_ITERATIONS)
    side = sides[RGBA32F]
    transfer_gb = TRANSFER_SIDE**2 * R32F.texel_bytes / 1e9
    step_gflop = 8 * STEPS / 1e9  # of a fragment
    columns_gb = RGBA32F.texel_bytes * STEPS * side**2 / TILE.rows / 1e9
    dots = load_program("calibration/transform.fp.j2", steps=STEPS)
    adds = load_program("calibration/multiply_adds.fp.j2", steps=STEPS)
    peak = partial(_arithmetic, program=adds, side=SIDE[RGBA32F], local={0: 0.5, 1: 0.25})
    transforms = partial(_arithmetic, program=dots, side=side, local=dict.fromkeys(range(4), 0.25))
    columns = partial(_columns, side=side)

    def walk(name: str, side: int, tiled: bool, most: int) -> CeilingTask:
        """A walk whose multiply-adds take most of the time."""
        build = partial(_lookups, texels=RGBA32F, side=side, walk=_Walk(MANY, advances=not tiled))
        work = MANY * step_gflop * side**2
        return CeilingTask(name, build, work, most_iterations=most, of_tiles=name == TILES)

    def lookups(bits: int, texels: Format) -> CeilingTask:
        apart = _Walk(advances=not tiled, shared=not tiled)
        build = partial(_lookups, texels=texels, side=sides[texels], walk=apart)
        work = 2 * STEPS * sides[texels] ** 2 / 1e9
        return CeilingTask(f"lookups_{bits}_bits_g_per_s", build, work, most_iterations=most)

    def copies(name: str, side: int) -> CeilingTask:
        work = 2 * side**2 * RGBA32F.texel_bytes / 1e9
        return CeilingTask(name, partial(_copies, side=side), work)

    return (
        CeilingTask(ARITHMETIC, peak, 4 * step_gflop * SIDE[RGBA32F] ** 2),
        walk(ARITHMETIC, side, tiled, most),
        walk(TILES, TILE.tile[0], tiled=True, most=_LONG),
        CeilingTask("dots_g_per_s", transforms, step_gflop * side**2),
        *(lookups(bits, texels) for bits, texels in _SIZES.items()),
        CeilingTask(
            "shared_memory_gb_per_s", columns, columns_gb, most_iterations=_LONG, of_tiles=True
        ),
        *(
            CeilingTask(
                f"{kind}_{bits}_bits_g_per_s",
                partial(_fills, side=SIDE[texels], texels=texels, blend=blend),
                SIDE[texels] ** 2 / 1e9,
            )
            for kind, blend in (("fills", None), ("blends", ADD))
            for bits, texels in _SIZES.items()
        ),
        copies("memory_gb_per_s", COPY_SIDE),
        copies("cached_gb_per_s", CACHED_SIDE),
        CeilingTask("pass_us", _short_passes, _SHORT_PASSES / 1e6, slowness=True),
        CeilingTask("run_us", partial(_fills, side=1), 1 / 1e6, most_iterations=1, slowness=True),
        CeilingTask("upload_gb_per_s", _transfers, 2 * transfer_gb, lambda t: t.upload_s, 1),
        CeilingTask("readback_gb_per_s", _transfers, transfer_gb, lambda t: t.readback_s, 1),
    )


_SIZES = {32: R32F, 128: RGBA32F}
"""The texels whose rates profiles have, by their bits."""


def _texture(p: PlanBuilder, name: str, texels: Format, width: int, height: int) -> Texture:
    return p.texture(name, width, height, format=texels.name, initial=0.25)


def _arithmetic(
    p: PlanBuilder, iterations: int, program: Program, side: int, local: dict[int, float]
) -> None:
    """Passes of arithmetic. They are not in a Repeat, so that each is executed by itself."""
    screen = _texture(p, "C", RGBA32F, side, side)
    for _ in range(iterations):
        p.draw(program, into=screen, texcoords={0: Texels(width=1, height=1)}, local=local)


@frozen
class _Walk:
    """How fragments look up texels along rows and columns.

    multiply_adds: for each pair of lookups. advances: an iteration continues where the one before
    it ended, instead of starting again. shared: fragments of a row, or of a column, look up the
    same texels.
    """

    multiply_adds: int = 1
    advances: bool = True
    shared: bool = True


def _lookups(p: PlanBuilder, iterations: int, texels: Format, side: int, walk: _Walk) -> None:
    """A walk along A's rows and B's columns, one stretch in each pass; the framebuffer sums."""
    along = STEPS * (MOST_ITERATIONS if walk.advances else 1) + (0 if walk.shared else side)
    a, b = _texture(p, "A", texels, along, side), _texture(p, "B", texels, side, along)
    screen = _texture(p, "C", texels, side, side)
    program = load_program(
        "calibration/lookups.fp.j2",
        steps=STEPS,
        mask=".r" if texels.channels == 1 else "",
        multiply_adds=walk.multiply_adds,
    )
    with p.repeat(iterations) as i:
        # (k, i) and (j, k) at the fragment's centre; (k + j, i) and (j, k + i) if nothing is shared
        k = (STEPS if walk.advances else 0) * i + (0.5 if walk.shared else 0.0)
        length = 0 if walk.shared else side
        texcoords = {0: Texels(x=k, width=length), 1: Texels(y=k, height=length)}
        local = {0: (1, 0, 0, 1)}
        p.draw(program, {0: a, 1: b}, into=screen, texcoords=texcoords, local=local, blend="add")


def _columns(p: PlanBuilder, iterations: int, side: int) -> None:
    """Sums of texels that columns of fragments share; every iteration reads the same ones."""
    a, screen = _texture(p, "A", RGBA32F, side, STEPS), _texture(p, "C", RGBA32F, side, side)
    program = load_program("calibration/columns.fp.j2", steps=STEPS)
    texcoords, local = {0: Texels(y=0.5, height=0)}, {0: (0, 1, 0, 0)}
    with p.repeat(iterations):
        p.draw(program, {0: a}, into=screen, texcoords=texcoords, local=local, blend="add")


def _fills(
    p: PlanBuilder,
    iterations: int,
    side: int,
    texels: Format = RGBA32F,
    blend: Blend | None = None,
) -> None:
    target = _texture(p, "C", texels, side, side)
    for _ in range(iterations):
        p.draw(load_program("calibration/fill.fp"), into=target, local={0: 0.25}, blend=blend)


def _copies(p: PlanBuilder, iterations: int, side: int) -> None:
    """Copies that are drawn, one texture to another; each is executed by itself."""
    a, screen = (_texture(p, name, RGBA32F, side, side) for name in ("A", "C"))
    program = load_program("calibration/copy.fp")
    for _ in range(iterations):
        p.draw(program, {0: a}, into=screen)


def _short_passes(p: PlanBuilder, iterations: int) -> None:
    """Passes of one fragment."""
    _fills(p, _SHORT_PASSES * iterations, side=1)


def _transfers(p: PlanBuilder, _: int) -> None:
    """Two matrices up and one back, as for a product; the number of iterations changes nothing."""
    for name in "AB":
        p.input(name, TRANSFER_SIDE, TRANSFER_SIDE)
    c = p.texture("C", TRANSFER_SIDE, TRANSFER_SIDE)
    p.draw(load_program("calibration/fill.fp"), into=c, local={0: 0.25})
    p.output("C", c)


# Ceilings ----------------------------------------------------------------------------------------
#
# The ceilings of this machine, measured: a profile for each executor, which predict/ reads.
#
# Each ceiling has a plan that does one thing: multiply-adds, dot products, lookups as a product
# makes them, fills, blends, copies, passes of one fragment, transfers. The plan is made longer
# until a run takes long enough to be measured. Then all plans of an executor run in turn, round by
# round; a rate is the median of its rounds, and its range ends at the fastest: whatever disturbs a
# run makes it slower, so bounds take that end.
#
# An executor that computes tiles of fragments (lower/groups/shape.py) stages only shared texels.
# So its lookups are measured with fragments that look up their own texels; shared memory has a
# plan that reads it most of the time; and the rectangles have enough tiles to occupy the whole
# chip. The number of such tiles is the rate of all tiles over the rate of one.


RUNS, RUN_S = 7, 0.05
T = TypeVar("T")
_RATES = ("_per_s", "_gflops")
_OPERATIONS_OF_RATE = {ARITHMETIC: 1, "lookups_32_bits_g_per_s": 1, "lookups_128_bits_g_per_s": 4}


class Ceiling(Record):
    """A rate in the unit of the profile's field.

    median, lowest, highest: of the measured runs. first_run: whether the only run is one that would
    not have been measured otherwise, because the budget ended.
    """

    median: float
    lowest: float
    highest: float
    runs: int
    first_run: bool = False


class Calibration(Record):
    """An executor's ceilings by their field in the profile. file: that the profile was written to.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1.
    """

    executor: str
    device: str
    ceilings: dict[str, Ceiling]
    busy_share: float | None
    file: str | None = None

    @property
    def name(self) -> str:
        """The name of its profile."""
        return calibrated_name(self.executor)

    @property
    def title(self) -> str:
        """The title of its profile."""
        return f"{self.device}, by {self.executor}"

    def grid(self) -> Grid:
        """The measured ceilings."""
        rows = tuple(
            (name, c.median, c.lowest, c.highest, Numeral("first") if c.first_run else c.runs)
            for name, c in self.ceilings.items()
        )
        heads = ("ceiling", "median", "lowest", "highest", "runs")
        notes = (*([f"Kept in {self.file}."] if self.file else []), *busy_notes(self.busy_share))
        return Grid("calibration", f"{self.name}: {self.title}.", heads, rows, notes)


class Calibrations(Result):
    """The measured ceilings of several executors."""

    profiles: tuple[Calibration, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The ceilings of each."""
        return [profile.grid() for profile in self.profiles]


def calibratable(names: Sequence[str] = ()) -> list[Executor]:
    """The executors to calibrate: those named, or all that work here but the reference machine."""
    if names:
        return [find_executor(name) for name in dict.fromkeys(names)]
    return [executor for executor in available() if not executor.capabilities.is_reference]


def calibrate(
    executor: Executor,
    *,
    runs: int = RUNS,
    run_s: float = RUN_S,
    budget: Budget | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Calibration:
    """Measure an executor's ceilings.

    runs: rounds, in each of which every plan runs once. run_s: seconds that a run should take at
    least. budget: no limit without; every plan is run once in any case. progress: called with a
    description, `count_steps` times.
    """
    rounds, limit = Rounds(runs), budget or Budget(inf)
    tiled = executor.capabilities.stages_texels
    other_work, trials = OtherWork(), list[_Trial]()

    def after_round(number: int) -> Sequence[_Trial]:
        progress(f"{executor.name}: round {number + 1} of {runs}")
        return [] if limit.is_over else trials

    with ExitStack() as held:
        for task in tasks(tiled=tiled):
            if tiled or not task.of_tiles:
                trials.append(_prepare(executor, task, run_s, limit, held))
            progress(f"{executor.name}: {task.name}")
        take_rounds(trials, lambda trial: trial.sample(limit), rounds.count, after_round)
    return Calibration(
        executor=executor.name,
        device=executor.device(),
        ceilings=_ceilings(trials),
        busy_share=other_work.share(),
    )


def count_steps(runs: int = RUNS) -> int:
    """The number of progress reports of `calibrate`."""
    return len(tasks(tiled=False)) + runs


def check_kept(executors: Sequence[Executor]) -> None:
    """Raise InputError if profiles of these executors could not be kept, before measuring."""
    for executor in executors:
        path = _kept_path(calibrated_name(executor.name))
        make_folder(path.parent)
        check_writable(path)


def write_calibration(
    executor: Executor, calibration: Calibration, path: Path | None = None
) -> Calibration:
    """Write the profile, by default where `find_profile` looks; the calibration with its file.

    Raises InputError if it cannot be written.
    """
    to = path or _kept_path(calibration.name)
    make_folder(to.parent)
    write_text(to, toml_text(profile_of(executor, calibration)))
    return with_fields(calibration, file=str(to))


def _kept_path(name: str) -> Path:
    """The file of the profile of that name."""
    return calibrated_folder() / f"{name}.toml"


# Measuring -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Trial:
    """A task whose plan is prepared.

    iterations: how long the plan is. first_s: seconds of its first run. wall_s: what its last run
    took, transfers included. samples: seconds of its measured runs.
    """

    task: CeilingTask
    iterations: int
    prepared: Prepared
    operands: dict[str, F32]
    first_s: float = 0.0
    wall_s: float = 0.0
    samples: list[float] = field(default_factory=list)

    def run(self, limit: Budget) -> float:
        """The seconds of a run that the task is about."""
        started = limit.clock()
        seconds = self.task.seconds(self.prepared.run(self.operands).timings)
        self.wall_s = limit.clock() - started
        return max(seconds, 1e-9)

    def sample(self, limit: Budget) -> None:
        """One measured run, if it fits."""
        if limit.refusal(self.wall_s) is None:
            self.samples.append(self.run(limit))

    def rates(self) -> list[float]:
        """The work over the seconds of each run, or of the first one."""
        amount, times = self.task.work * self.iterations, self.samples or [self.first_s]
        return [time / amount if self.task.slowness else amount / time for time in times]


def _prepare(
    executor: Executor, task: CeilingTask, run_s: float, limit: Budget, held: ExitStack
) -> _Trial:
    """A task whose run is as long as it should be, after its first run; `held` closes it."""
    iterations = 1
    while True:
        with ExitStack() as own:
            trial = _open(executor, task, iterations, own)
            trial.first_s = trial.run(limit)
            is_long = trial.first_s >= run_s or iterations >= task.most_iterations
            longer = max(2 * iterations, int(1.5 * iterations * run_s / trial.first_s))
            longer = min(task.most_iterations, longer)
            if is_long or limit.refusal(trial.wall_s * longer / iterations) is not None:
                held.push(own.pop_all())
                return trial
        iterations = longer


def _open(executor: Executor, task: CeilingTask, iterations: int, held: ExitStack) -> _Trial:
    plan = task.plan(iterations)
    generator = np.random.default_rng(0)
    operands = {
        matrix.name: generator.random((matrix.rows, matrix.columns), np.float32) - np.float32(0.5)
        for matrix in plan.operands
    }
    machine = Machine(tuning=Tuning(group=TILE) if task.of_tiles else None)
    return _Trial(task, iterations, held.enter_context(executor.prepare(plan, machine)), operands)


def _ceilings(trials: Sequence[_Trial]) -> dict[str, Ceiling]:
    """The ceilings by field. The peak of arithmetic is the highest rate of any of the programs.

    The walks multiply and add, too: once for two lookups, two operations in each channel. How many
    tiles are computed at once is the peak over the rate of one tile.
    """
    measured = [(trial.task.name, trial.rates(), not trial.samples) for trial in trials]
    peaks = [
        ([factor * rate for rate in rates], is_first)
        for name, rates, is_first in measured
        if (factor := _OPERATIONS_OF_RATE.get(name))
    ]
    peak, is_first = max(peaks, key=lambda one: median(one[0]))
    ceilings = {ARITHMETIC: _ceiling(peak, is_first)}
    for name, rates, is_first in measured:
        own = [median(peak) / rate for rate in rates] if name == TILES else rates
        if name != ARITHMETIC:
            ceilings[name] = _ceiling(own, is_first)
    return ceilings


def _ceiling(rates: Sequence[float], is_first: bool) -> Ceiling:
    return Ceiling(
        median=median(rates),
        lowest=min(rates),
        highest=max(rates),
        runs=len(rates),
        first_run=is_first,
    )


# The profile -----------------------------------------------------------------------------------


def profile_of(executor: Executor, calibration: Calibration) -> Profile:
    """The ceilings and the executor's capabilities as the profile of a chip."""
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    note = f"Calibrated on {day}; each rate is that of a plan that does one thing alone."
    rates: dict[str, Any] = {
        name: _fact(name, ceiling) for name, ceiling in calibration.ceilings.items()
    }
    return Profile(
        name=calibration.name,
        title=calibration.title,
        kind=ProfileKind.CHIP,
        notes=(note, *busy_notes(calibration.busy_share)),
        executor=executor.name,
        provenance=Recorded(**provenance()),
        hardware=Hardware(
            **rates,
            cached_mib=_measured(CACHED_MIB, "the textures that cached_gb_per_s was measured on"),
            chains_passes=_measured(
                executor.capabilities.fuses_passes, "whether the passes of a Repeat are fused"
            ),
            stages_lookups=_measured(
                executor.capabilities.stages_texels,
                "whether tiles stage the texels that fragments share",
            ),
            writes_overlap=_measured(
                executor.is_hardware(), "whether fragments are written while others are computed"
            ),
        ),
        programs=Programs(
            arb_fragment_program=_measured(True),
            kernels=_measured(ComputePass in executor.capabilities.passes),
        ),
    )


def _fact(name: str, ceiling: Ceiling) -> Fact[float]:
    """The median and, of a rate, the highest run: a bound has to hold for the fastest, too."""
    value, highest = (float(f"{number:.4g}") for number in (ceiling.median, ceiling.highest))
    is_range = name.endswith(_RATES) and highest > value
    up_to = highest if is_range else None
    return Fact(value, MEASURED, Confidence.HIGH, _spread(ceiling), up_to)


def _spread(ceiling: Ceiling) -> str:
    if ceiling.first_run:
        return "a first run; the budget ended before a measured one"
    return f"median of {ceiling.runs} runs, {ceiling.lowest:.3g} to {ceiling.highest:.3g}"


def _measured(value: T, note: str = "") -> Fact[T]:
    return Fact(value, MEASURED, Confidence.HIGH, note)
