"""The ceilings of this machine, measured: a profile of it for predict/model.py, one an executor.

Each ceiling has a plan that does one thing: multiply-adds, dot products, lookups as a product makes
them, fills, blends, copies, passes of one fragment, transfers. It is made longer until a run takes
long enough to be measured, prepared, run once without being measured, and then several times; the
rate is the median's.

An executor that computes tiles of fragments (lower/workgroups.py) stages what they share, and
nothing else. So its lookups are measured where every fragment has its own; what it stages has a
plan that reads shared memory most of the time; and the rectangles have tiles for the whole chip.
How many that takes is the rate of them all over the rate of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile

import numpy as np

from gpgpu_legacy.chips.profile import (
    Profile,
    calibrated_folder,
    calibrated_name,
    read_profile,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.calibration.plans import ARITHMETIC, TILES, Task, tasks
from gpgpu_legacy.plan.plan import (
    ComputePass,
)
from gpgpu_legacy.runtime.executor import F32, Executor, Prepared
from gpgpu_legacy.runtime.registry import available, find_executor

RUNS, RUN_S = 7, 0.05
_OPERATIONS_A_LOOKUP = (("lookups_32_bits_g_per_s", 1), ("lookups_128_bits_g_per_s", 4))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rate in the profile's unit: the median, and the slowest and fastest run's."""

    name: str
    value: float
    lowest: float
    highest: float
    runs: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """An executor's ceilings, and its profile: as text, and read back from it."""

    executor: str
    device: str
    ceilings: tuple[Ceiling, ...]
    text: str
    profile: Profile


def calibratable(names: Sequence[str] = ()) -> list[Executor]:
    """The executors to calibrate: those named, or all that work here but the reference machine."""
    if names:
        return [find_executor(name) for name in dict.fromkeys(names)]
    return [each for each in available() if not each.capabilities.is_reference]


def calibrate(
    executor: Executor,
    *,
    runs: int = RUNS,
    run_s: float = RUN_S,
    progress: Callable[[str], None] | None = None,
) -> Calibration:
    """Measure an executor's ceilings.

    runs: how many are measured for each. run_s: seconds that a run should take at least.
    """
    if runs < 1:
        raise InputError(f"--repeat is {runs}; it must be at least 1")
    tell, tiled = progress or (lambda _: None), _computes_tiles(executor)
    trials = []
    with ExitStack() as held:
        for task in tasks(tiled=tiled):
            if tiled or not task.of_tiles:
                trials.append(_ready(executor, task, run_s, held))
            tell(f"{executor.name}: {task.name}")
        for number in range(runs):  # in rounds: what slows the machine down meets all of them
            for trial in trials:
                trial.times.append(trial.run())
            tell(f"{executor.name}: round {number + 1} of {runs}")
    found = _ceilings(trials)
    device = executor.device()
    text = _profile_text(executor, device, found)
    profile = read_profile(text, calibrated_name(executor.name))
    return Calibration(executor.name, device, tuple(found), text, profile)


def _computes_tiles(executor: Executor) -> bool:
    """Whether fragments are computed in tiles by work groups, which stage what they share."""
    return "group" in executor.capabilities.tuning


def count_steps(runs: int = RUNS) -> int:
    """How often `calibrate` reports progress."""
    return len(tasks(tiled=False)) + runs


def write_calibration(made: Calibration, path: Path | None = None) -> Path:
    """Write the profile, by default where `find_profile` looks; gives the file's path.

    The file takes the place of the one before in one step. InputError where it cannot be written.
    """
    to = path or calibrated_folder() / f"{made.profile.name}.toml"
    try:
        if path is None:
            to.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=to.parent, prefix=".profile-", delete=False
        ) as file:
            file.write(made.text)
        Path(file.name).replace(to)
    except OSError as error:
        raise InputError(f"{to} cannot be written: {error.strerror or error}") from None
    return to


# Measuring -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Trial:
    """A task with its plan, so many turns long, prepared, and the seconds of its runs."""

    task: Task
    turns: int
    prepared: Prepared
    operands: dict[str, F32]
    times: list[float] = field(default_factory=list)

    def run(self) -> float:
        """The seconds of a run that the task is about."""
        return max(self.task.seconds(self.prepared.run(self.operands).timings), 1e-9)

    def ceiling(self) -> Ceiling:
        amount = self.task.work * self.turns
        rates = [t / amount if self.task.slowness else amount / t for t in self.times]
        return Ceiling(self.task.name, median(rates), min(rates), max(rates), len(rates))


def _ceilings(trials: Sequence[_Trial]) -> list[Ceiling]:
    """One of each name. The peak of arithmetic is the most that any of the programs got.

    The walks multiply and add too, once for two lookups, 2 operations on each channel. How many
    tiles are computed at once is the peak over the rate of one tile.
    """
    measured = [trial.ceiling() for trial in trials]
    peaks = [each for each in measured if each.name == ARITHMETIC]
    alone = [each for each in measured if each.name == TILES]
    others = [each for each in measured if each.name not in (ARITHMETIC, TILES)]
    peaks += [
        Ceiling(ARITHMETIC, c * each.value, c * each.lowest, c * each.highest, each.runs)
        for each in others
        for name, c in _OPERATIONS_A_LOOKUP
        if each.name == name
    ]
    peak = max(peaks, key=lambda peak: peak.value)
    tiles = [
        Ceiling(TILES, peak.value / c.value, peak.value / c.highest, peak.value / c.lowest, c.runs)
        for c in alone
    ]
    return [peak, *others, *tiles]


def _ready(executor: Executor, task: Task, run_s: float, held: ExitStack) -> _Trial:
    """A task as long as a run should be, once run; `held` closes it."""
    turns = 1
    while True:
        with ExitStack() as own:
            trial = _trial(executor, task, turns, own)
            taken = trial.run()
            if taken >= run_s or turns >= task.most_turns:
                held.push(own.pop_all())
                return trial
        longer = max(2 * turns, int(1.5 * turns * run_s / taken))
        turns = min(task.most_turns, longer)


def _trial(executor: Executor, task: Task, turns: int, held: ExitStack) -> _Trial:
    plan = task.build(turns)
    generator = np.random.default_rng(0)
    operands = {
        m.name: generator.random((m.rows, m.columns), np.float32) - np.float32(0.5)
        for m in plan.operands
    }
    return _Trial(task, turns, held.enter_context(executor.prepare(plan)), operands)


# The profile -----------------------------------------------------------------------------------


def _profile_text(executor: Executor, device: str, found: Sequence[Ceiling]) -> str:
    """The profile as a file, in the form of those that the package has."""
    chains = executor.capabilities.fuses_passes
    kernels = ComputePass in executor.capabilities.passes
    lines = [
        f"name = {_quoted(calibrated_name(executor.name))}",
        f"title = {_quoted(f'{device}, by {executor.name}')}",
        'kind = "chip"',
        f"notes = [{_quoted(f'Calibrated on {datetime.now(UTC):%Y-%m-%d}; a rate is of a plan that does one thing alone.')}]",  # noqa: E501
        "",
        "[hardware]",
        *(_fact(each.name, f"{each.value:.4g}", _spread(each)) for each in found),
        _fact("chains_passes", str(chains).lower(), "whether a Repeat is carried out in one go"),
        _fact(
            "stages_lookups",
            str(_computes_tiles(executor)).lower(),
            "whether tiles stage what their fragments share",
        ),
        _fact(
            "writes_overlap",
            str(executor.is_hardware()).lower(),
            "whether fragments are written while others are computed",
        ),
        "",
        "[programs]",
        _fact("arb_fragment_program", "true"),
        _fact("kernels", str(kernels).lower()),
        "",
    ]
    return "\n".join(lines)


def _spread(each: Ceiling) -> str:
    return f"median of {each.runs} runs, {each.lowest:.3g} to {each.highest:.3g}"


def _fact(name: str, value: str, note: str = "") -> str:
    more = f", note = {_quoted(note)}" if note else ""
    return f'{name} = {{ value = {value}, source = "measured", confidence = "high"{more} }}'


def _quoted(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False)
