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
from gpgpu_legacy.files import check_writable, make_folder, write_text
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.calibration.plans import (
    ARITHMETIC,
    CACHED_MIB,
    TILE,
    TILES,
    CeilingTask,
    tasks,
)
from gpgpu_legacy.measure.other_work import OtherWork, busy_notes
from gpgpu_legacy.measure.rounds import Rounds, take_rounds
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.present.grid import Grid, Numeral, Result
from gpgpu_legacy.runtime.executor import Executor, available, find_executor
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.prepared import F32, Prepared
from gpgpu_legacy.serial import Record, Recorded, provenance, toml_text, with_fields

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
