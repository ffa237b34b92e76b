"""The ceilings of this machine, measured: a profile for each executor, which predict/ reads.

Each ceiling has a plan that does one thing: multiply-adds, dot products, lookups as a product makes
them, fills, blends, copies, passes of one fragment, transfers. The plan is made longer until a run
takes long enough to be measured. Then all plans of an executor run in turn, round by round; a rate
is the median of its rounds. Its range ends at the fastest round, which bounds use: disturbances
only make a run slower.

An executor that computes tiles of fragments (lower/groups/shape.py) stages only shared texels. So
its lookups are measured with fragments that look up their own texels; shared memory has a plan that
reads it most of the time; and the rectangles have enough tiles to occupy the whole chip. The number
of such tiles is the rate of all tiles over the rate of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

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
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_writable, make_folder, write_text
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.measure.engine import Contender
from gpgpu_legacy.measure.timing import Budget, OtherWork, Rounds, busy_notes
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import ComputePass, Plan
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Format, Texture
from gpgpu_legacy.present.grid import Grid, Numeral, Result
from gpgpu_legacy.runtime.executor import Executor, available, find_executor
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.prepared import F32, Prepared
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
_SHORT_PASSES = 16  # passes of one fragment in an iteration


Build = Callable[[PlanBuilder, int], object]
"""Adds a number of iterations to a plan."""


@frozen
class CeilingTask:
    """The measurement of one ceiling.

    name: of its field in the profile. build: the plan, of a number of iterations. work: of an
    iteration, in the unit of the rate. part: the field of Timings that is measured. slowness: the
    ceiling is seconds over work, not work over seconds. of_tiles: only executors that compute tiles
    have this ceiling.
    """

    name: str
    build: Build
    work: float
    part: str = "compute_s"
    most_iterations: int = MOST_ITERATIONS
    slowness: bool = False
    of_tiles: bool = False

    def plan(self, iterations: int) -> Plan:
        """The plan with that many iterations."""
        p = PlanBuilder(f"calibrate-{self.name}")
        self.build(p, iterations)
        return p.plan()


def tasks(*, tiled: bool) -> Iterator[CeilingTask]:
    """The measurements of all ceilings; arithmetic has two.

    tiled: for an executor that computes tiles of fragments.
    """
    sides, most = (TILED_SIDE, _LONG) if tiled else (SIDE, MOST_ITERATIONS)
    side = sides[RGBA32F]
    dots = load_program("calibration/transform.fp.j2", steps=STEPS)
    adds = load_program("calibration/multiply_adds.fp.j2", steps=STEPS)
    step_gflop = 8 * STEPS / 1e9  # of a fragment

    def drawn(name: str, side: int, work: float, program: Program, **given: Any) -> CeilingTask:
        return CeilingTask(name, partial(_draws, side=side, program=program, **given), work)

    def walk(name: str, side: int, most: int, *, advances: bool) -> CeilingTask:
        """A walk whose multiply-adds take most of the time."""
        build = partial(_lookups, texels=RGBA32F, side=side, multiply_adds=MANY, advances=advances)
        work = MANY * step_gflop * side**2
        return CeilingTask(name, build, work, most_iterations=most, of_tiles=name == TILES)

    pixels = {0: Texels(width=1, height=1)}
    local = {0: 0.5, 1: 0.25}
    small = SIDE[RGBA32F]
    peak = 4 * step_gflop * small**2
    yield drawn(ARITHMETIC, small, peak, adds, texcoords=pixels, local=local)
    yield walk(ARITHMETIC, side, most, advances=not tiled)
    yield walk(TILES, TILE.tile[0], _LONG, advances=False)
    local = dict.fromkeys(range(4), 0.25)
    yield drawn("dots_g_per_s", side, step_gflop * side**2, dots, texcoords=pixels, local=local)
    for bits, texels in _SIZES.items():
        yield CeilingTask(
            f"lookups_{bits}_bits_g_per_s",
            partial(
                _lookups, texels=texels, side=sides[texels], advances=not tiled, shared=not tiled
            ),
            2 * STEPS * sides[texels] ** 2 / 1e9,
            most_iterations=most,
        )
    yield CeilingTask(
        "shared_memory_gb_per_s",
        partial(_columns, side=side),
        RGBA32F.texel_bytes * STEPS * side**2 / TILE.rows / 1e9,
        most_iterations=_LONG,
        of_tiles=True,
    )
    fill: dict[str, Any] = {"program": load_program("calibration/fill.fp"), "local": {0: 0.25}}
    for kind, blend in (("fills", None), ("blends", ADD)):
        for bits, texels in _SIZES.items():
            name, side = f"{kind}_{bits}_bits_g_per_s", SIDE[texels]
            yield drawn(name, side, side**2 / 1e9, **fill, texels=texels, blend=blend)
    copy = load_program("calibration/copy.fp")
    for name, side in (("memory_gb_per_s", COPY_SIDE), ("cached_gb_per_s", CACHED_SIDE)):
        yield drawn(name, side, 2 * side**2 * RGBA32F.texel_bytes / 1e9, copy, reads=True)
    passes = partial(_draws, side=1, times=_SHORT_PASSES, **fill)
    yield CeilingTask("pass_us", passes, _SHORT_PASSES / 1e6, slowness=True)
    run = partial(_draws, side=1, **fill)
    yield CeilingTask("run_us", run, 1 / 1e6, most_iterations=1, slowness=True)
    transfer_gb = TRANSFER_SIDE**2 * R32F.texel_bytes / 1e9
    yield CeilingTask("upload_gb_per_s", _transfers, 2 * transfer_gb, "upload_s", 1)
    yield CeilingTask("readback_gb_per_s", _transfers, transfer_gb, "readback_s", 1)


_SIZES = {32: R32F, 128: RGBA32F}
"""The texel formats whose rates profiles have, by their bits."""


def _texture(p: PlanBuilder, name: str, texels: Format, width: int, height: int) -> Texture:
    return p.texture(name, width, height, format=texels.name, initial=0.25)


def _draws(
    p: PlanBuilder,
    iterations: int,
    *,
    program: Program,
    side: int,
    texels: Format = RGBA32F,
    times: int = 1,
    reads: bool = False,
    **given: Any,
) -> None:
    """Passes of one program.

    times: passes in an iteration. reads: whether the program reads a texture, as a copy does. The
    passes are not in a Repeat, so that each is executed by itself.
    """
    textures = {0: _texture(p, "A", texels, side, side)} if reads else {}
    screen = _texture(p, "C", texels, side, side)
    for _ in range(times * iterations):
        p.draw(program, textures, into=screen, **given)


def _lookups(
    p: PlanBuilder,
    iterations: int,
    texels: Format,
    side: int,
    multiply_adds: int = 1,
    *,
    advances: bool,
    shared: bool = True,
) -> None:
    """A walk along A's rows and B's columns, one stretch in each pass; the framebuffer sums.

    multiply_adds: for each pair of lookups. advances: an iteration continues where the one before
    it ended, instead of starting again. shared: fragments of a row, or of a column, look up the
    same texels.
    """
    length = 0 if shared else side
    along = STEPS * (MOST_ITERATIONS if advances else 1) + length
    a, b = _texture(p, "A", texels, along, side), _texture(p, "B", texels, side, along)
    screen = _texture(p, "C", texels, side, side)
    program = load_program(
        "calibration/lookups.fp.j2",
        steps=STEPS,
        mask=".r" if texels.channels == 1 else "",
        multiply_adds=multiply_adds,
    )
    with p.repeat(iterations) as i:
        # (k, i) and (j, k) at the fragment's centre; (k + j, i) and (j, k + i) if nothing is shared
        k = (STEPS if advances else 0) * i + (0.5 if shared else 0.0)
        texcoords = {0: Texels(x=k, width=length), 1: Texels(y=k, height=length)}
        local = {0: (1, 0, 0, 1)}
        p.draw(program, {0: a, 1: b}, into=screen, texcoords=texcoords, local=local, blend="add")


def _columns(p: PlanBuilder, iterations: int, side: int) -> None:
    """Sums of texels that the fragments of a column share; every iteration reads the same ones."""
    a, screen = _texture(p, "A", RGBA32F, side, STEPS), _texture(p, "C", RGBA32F, side, side)
    program = load_program("calibration/columns.fp.j2", steps=STEPS)
    texcoords, local = {0: Texels(y=0.5, height=0)}, {0: (0, 1, 0, 0)}
    with p.repeat(iterations):
        p.draw(program, {0: a}, into=screen, texcoords=texcoords, local=local, blend="add")


def _transfers(p: PlanBuilder, _: int) -> None:
    """Two matrices up and one back, as for a product; the number of iterations changes nothing."""
    for name in "AB":
        p.input(name, TRANSFER_SIDE, TRANSFER_SIDE)
    c = p.texture("C", TRANSFER_SIDE, TRANSFER_SIDE)
    p.draw(load_program("calibration/fill.fp"), into=c, local={0: 0.25})
    p.output("C", c)


# Ceilings ----------------------------------------------------------------------------------------

RUNS, RUN_S = 7, 0.05
T = TypeVar("T")
_RATES = ("_per_s", "_gflops")
_OPERATIONS_OF_RATE = {ARITHMETIC: 1, "lookups_32_bits_g_per_s": 1, "lookups_128_bits_g_per_s": 4}


class Ceiling(Record):
    """A rate in the unit of the profile's field.

    median, lowest, highest: of the measured runs. first_run: whether the only run is a first run,
    because the budget ended before any that is measured.
    """

    median: float
    lowest: float
    highest: float
    runs: int
    first_run: bool = False


class Calibration(Record):
    """An executor's ceilings by their field in the profile. file: where the profile was written.

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
) -> Calibration:
    """Measure an executor's ceilings.

    runs: rounds, in each of which every plan runs once. run_s: seconds that a run should take at
    least. budget: None means no limit; every plan runs at least once. Its `tell` is called for each
    of `count_steps` steps.
    """
    rounds, limit = Rounds(runs), budget or Budget()
    tiled = executor.capabilities.stages_texels
    other_work, measured = OtherWork(), list[_OpenTask]()
    with ExitStack() as held:
        for task in tasks(tiled=tiled):
            if tiled or not task.of_tiles:
                measured.append(_prepared(executor, task, run_s, limit, held))
            limit.tell(f"{executor.name}: {task.name}")
        for number in range(rounds.count):
            for opened in measured:
                opened.sample()
            limit.tell(f"{executor.name}: round {number + 1} of {runs}")
    return Calibration(
        executor=executor.name,
        device=executor.device(),
        ceilings=_ceilings(measured),
        busy_share=other_work.share(),
    )


def count_steps(runs: int = RUNS) -> int:
    """The number of progress reports of `calibrate`."""
    return len([*tasks(tiled=False)]) + runs


def calibrate_all(
    executors: Sequence[Executor],
    runs: int,
    budget: Budget,
    path: Path | None = None,
) -> Calibrations:
    """Measure executors, and write their profiles where `find_profile` looks.

    path: where to write the profile of a single executor instead. Raises InputError before
    measuring if a profile cannot be written, or if there is a path for several executors.
    """
    if path is not None and len(executors) != 1:
        raise InputError("--output holds one profile; name one executor with --executor")
    folder = calibrated_folder()
    paths = [path or folder / f"{calibrated_name(executor.name)}.toml" for executor in executors]
    for to in paths:
        make_folder(to.parent)
        check_writable(to)
    profiles = []
    for number, (executor, to) in enumerate(zip(executors, paths, strict=True)):
        share = budget.share(len(executors) - number)
        measured = calibrate(executor, runs=runs, budget=share)
        write_text(to, toml_text(profile_of(executor, measured)))
        profiles.append(with_fields(measured, file=str(to)))
    return Calibrations(profiles=tuple(profiles))


# Measuring -------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class _OpenTask(Contender):
    """A task whose plan is prepared. iterations: of the plan. first_s: seconds of its first run."""

    task: CeilingTask
    iterations: int
    first_s: float = 0.0

    def rates(self) -> list[float]:
        """The rate of each measured run, or of the first run if there is none."""
        amount = self.task.work * self.iterations
        rates = [amount / seconds for seconds in self.samples or [self.first_s]]
        return [1.0 / rate for rate in rates] if self.task.slowness else rates


def _prepared(
    executor: Executor, task: CeilingTask, run_s: float, limit: Budget, held: ExitStack
) -> _OpenTask:
    """A task whose run is long enough to measure, after its first run. held: closes it."""
    iterations = 1
    while True:
        plan = task.plan(iterations)
        machine = Machine(tuning=Tuning(group=TILE) if task.of_tiles else None)
        with ExitStack() as own:
            prepared = own.enter_context(executor.prepare(plan, machine))
            run = partial(_seconds, prepared, sample_inputs(plan, {}), task.part)
            opened = _OpenTask(run, limit, task=task, iterations=iterations)
            opened.first_s = opened.once()
            is_long = opened.first_s >= run_s or iterations >= task.most_iterations
            longer = max(2 * iterations, int(1.5 * iterations * run_s / opened.first_s))
            longer = min(task.most_iterations, longer)
            if is_long or limit.refusal(opened.wall_s * longer / iterations) is not None:
                held.push(own.pop_all())
                return opened
        iterations = longer


def _seconds(prepared: Prepared, operands: dict[str, F32], part: str) -> float:
    """The seconds of a part of a run."""
    return max(float(getattr(prepared.run(operands).timings, part)), 1e-9)


def _ceilings(measured: Sequence[_OpenTask]) -> dict[str, Ceiling]:
    """The ceilings by field.

    The peak of arithmetic is the highest rate of any program. The walks for lookups count, too:
    they multiply and add once for two lookups, which is two operations in each channel. The number
    of tiles computed at once is the peak over the rate of one tile.
    """
    peaks = [
        ([factor * rate for rate in one.rates()], not one.samples)
        for one in measured
        if (factor := _OPERATIONS_OF_RATE.get(one.task.name))
    ]
    peak, is_first = max(peaks, key=lambda one: median(one[0]))
    ceilings = {ARITHMETIC: _ceiling(peak, is_first)}
    for one in measured:
        name, rates = one.task.name, one.rates()
        if name == TILES:
            rates = [median(peak) / rate for rate in rates]
        if name != ARITHMETIC:
            ceilings[name] = _ceiling(rates, not one.samples)
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
    """The median and, for a rate, the highest run, since a bound must hold for it, too."""
    value, highest = (float(f"{number:.4g}") for number in (ceiling.median, ceiling.highest))
    is_range = name.endswith(_RATES) and highest > value
    note = f"median of {ceiling.runs} runs, {ceiling.lowest:.3g} to {ceiling.highest:.3g}"
    if ceiling.first_run:
        note = "a first run; the budget ended before a measured one"
    return Fact(value, MEASURED, Confidence.HIGH, note, highest if is_range else None)


def _measured(value: T, note: str = "") -> Fact[T]:
    return Fact(value, MEASURED, Confidence.HIGH, note)
