"""The basis of all measuring: a budget of seconds, rounds, others' work, and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from statistics import median
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, as_positive
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.serial import fields_of

if TYPE_CHECKING:
    import psutil


# Budgets -----------------------------------------------------------------------------------------


Clock = Callable[[], float]
"""Gives the time, in seconds since some moment."""


GRACE_S = 1.0
"""Seconds beyond a budget that are not reported: started work is finished, closed and written."""


class BudgetSpentError(InputError):
    """Raised in the middle of work that is useless unless complete, such as a simulation."""


def _to_nobody(_: str) -> None:
    """Ignore a step. It is no lambda, since budgets are sent to other processes."""


class Budget:
    """Seconds that start when the budget is created, and a function to call after each step.

    Everything counts: preparing, uploading, computing, checking and closing.
    """

    def __init__(
        self,
        seconds: float = inf,
        clock: Clock = perf_counter,
        tell: Callable[[str], object] = _to_nobody,
    ) -> None:
        """Start now.

        seconds: 0 or more; infinity means no limit. clock: gives the time in seconds. tell: called
        with a description of each step that is done. Raises InputError for other seconds.
        """
        if not seconds >= 0.0:
            raise InputError(f"the budget is {seconds}; give a number of seconds, 0 or more")
        self.seconds, self.clock, self.tell = seconds, clock, tell
        self._started = clock()

    @property
    def spent_s(self) -> float:
        """Seconds since the budget was created."""
        return self.clock() - self._started

    @property
    def left_s(self) -> float:
        """Seconds until it ends; negative once it has ended."""
        return self.seconds - self.spent_s

    @property
    def overrun(self) -> str | None:
        """A line that says by how much it was exceeded; None if by no more than GRACE_S."""
        over_s = -self.left_s
        if over_s <= GRACE_S:
            return None
        return (
            f"the budget of {self.seconds:g} s was exceeded by {over_s:.1f} s; a step that has "
            "begun cannot always be stopped"
        )

    def refusal(self, expected_s: float = 0.0) -> str | None:
        """Why a run of an expected length in seconds does not start; None if it may."""
        left_s = self.left_s
        if left_s <= 0.0:
            return "the budget was spent"
        if expected_s > left_s:
            return (
                f"a run would take up to {expected_s:.3g} s, and {left_s:.3g} s of the budget "
                "were left"
            )
        return None

    def share(self, parts: int) -> Budget:
        """A budget of an equal part of the time that is left, for the first of `parts` tasks."""
        return Budget(max(0.0, self.left_s) / parts, self.clock, self.tell)

    def until_spent(
        self, progress: Callable[[float], object] = lambda _: None
    ) -> Callable[[float], None]:
        """A progress function that raises BudgetSpentError if the budget is spent before the end.

        progress: also called with the fraction done.
        """

        def report(done: float) -> None:
            if done < 1.0 and self.left_s <= 0.0:
                raise BudgetSpentError("the budget was spent")
            progress(done)

        return report


# Rounds ------------------------------------------------------------------------------------------


MOST_ROUNDS = 10_000
"""The most rounds of a measurement: medians of more are no better, and each costs time even after
the budget is spent.
"""

MOST_RUNS = 1_000_000
"""The most runs of one plan for a median of its times, all of which are kept."""


@frozen
class Rounds:
    """The rules for the number of measurements.

    count: the number of rounds. round_s, most_runs: a job that takes less than `round_s` seconds is
    run several times in a round, up to `most_runs` times; a single short run would measure how fast
    threads and clocks wake up. longest_s: a job that takes this many seconds or more has no rounds;
    its first run is its result.
    """

    count: int = 5
    round_s: float = 0.05
    most_runs: int = 10
    longest_s: float = inf

    def __post_init__(self) -> None:
        """Raise InputError for fewer rounds than one, and for more than MOST_ROUNDS."""
        if not 1 <= self.count <= MOST_ROUNDS:
            raise InputError(f"--repeat is {self.count}; it must be from 1 to {MOST_ROUNDS}")

    def runs(self, seconds: float) -> int:
        """The number of runs in a round for a job of that many seconds."""
        return max(1, min(self.most_runs, int(self.round_s / max(seconds, 1e-9))))


DEFAULT_ROUNDS = Rounds()

_LOOK_S, _MOST_LOOKS = 0.005, 40


def wait_for_rest() -> None:
    """Wait until the threads of this process rest, or for 40 looks of 5 ms.

    The threads of a BLAS look for more work for 30 to 130 ms after a product. They occupy the
    processors that the next contender needs: native code takes up to six times as long meanwhile.
    """
    for _ in range(_MOST_LOOKS):
        before = process_time()
        sleep(_LOOK_S)
        if process_time() - before < _LOOK_S / 2:
            return


WARM_S = 0.02


def warm_up(sample: Callable[[], float]) -> None:
    """Run something for 20 ms, or ten times: processors that rested are slow at first.

    On a server's two cores a product of 512×512 takes 1.5 times as long after a pause of 50 ms.
    """
    taken_s = 0.0
    for _ in range(DEFAULT_ROUNDS.most_runs):
        taken_s += sample()
        if taken_s >= WARM_S:
            return


def as_repeat(repeat: object) -> int:
    """The number of runs for the medians of a plan's times; InputError unless 1 to MOST_RUNS."""
    number = as_positive("repeat", repeat)
    if number > MOST_RUNS:
        raise InputError(f"repeat is {number}; it must be at most {MOST_RUNS}")
    return number


def giga_rate(count: int | None, seconds: float) -> float | None:
    """The rate of a number in a time, in 10⁹/s; None if either is 0."""
    return 1e-9 * count / seconds if count and seconds > 0.0 else None


def median_timings(timings: Sequence[Timings]) -> Timings:
    """The median of each part of several runs' times."""
    parts = zip(*(fields_of(one).values() for one in timings), strict=True)
    return Timings(*map(median, parts))


# Other work --------------------------------------------------------------------------------------
#
# The processor time that other processes use during a measurement.
#
# The processes that this one has started, such as a browser, count as its own.


BUSY_SHARE = 0.1
"""A measurement warns from this share on.

A run on all cores then takes at least 1 / (1 - 0.1) = 1.11 times as long. On an idle machine the
medians of two measurements differ by less, a few per cent; an idle desktop uses 1 to 3 %.
"""

SHORTEST_S = 0.5
"""Systems count processor time in hundredths of a second: too coarse for anything shorter."""


class OtherWork:
    """Measures the processor time of other processes from its creation on."""

    def __init__(self) -> None:
        """Start now."""
        self._started, self._before = perf_counter(), _others_s()

    def share(self) -> float | None:
        """The part of all cores' time that other processes have used since the start, from 0 to 1.

        None if too little time has passed to tell, or if the system does not tell.
        """
        elapsed, after = perf_counter() - self._started, _others_s()
        if self._before is None or after is None or elapsed < SHORTEST_S:
            return None
        share = (after - self._before) / (elapsed * (os.cpu_count() or 1))
        return min(1.0, max(0.0, share))


def busy_warning(share: float | None) -> str | None:
    """A warning in one line if other processes used much of the machine; else None."""
    if share is None or share < BUSY_SHARE:
        return None
    return (
        f"other processes used {100 * share:.0f} % of the processor time during the measurement; "
        "times are too long and ratios may be wrong; measure again when the machine is idle"
    )


def busy_notes(share: float | None) -> tuple[str, ...]:
    """The same warning as notes of a table: one, or none."""
    warning = busy_warning(share)
    return () if warning is None else (f"{warning[:1].upper()}{warning[1:]}.",)


def _others_s() -> float | None:
    """Seconds of processor time that the machine spent on neither this process nor its descendants.

    None on a system that does not show them, such as a sandbox without /proc.
    """
    import psutil

    try:
        times, own = psutil.cpu_times(), psutil.Process()
        family = [own, *own.children(recursive=True)]
        own_s = sum(map(_used_s, family))
    except (OSError, RuntimeError, psutil.Error):
        return None
    kinds = ("user", "nice", "system", "irq", "softirq", "steal")
    return float(sum(getattr(times, kind, 0.0) for kind in kinds) - own_s)


def _used_s(process: psutil.Process) -> float:
    """Seconds of processor time of a process and its ended children; 0 if the process has ended."""
    import psutil

    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    kinds = ("user", "system", "children_user", "children_system")
    return float(sum(getattr(times, kind, 0.0) for kind in kinds))


# The machine -------------------------------------------------------------------------------------


_PACKAGES = (
    "gpgpu-legacy", "numpy", "moderngl", "llvmlite", "numba", "torch", "cupy", "cupy-cuda11x",
    "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip

_VARIABLES = (
    "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LP_NUM_THREADS",
    "LP_NATIVE_VECTOR_WIDTH", "CUPY_TF32", "GPGPU_LEGACY_AVX512",
)  # fmt: skip


@frozen
class Platform:
    """A machine's devices in words, and the driver of its OpenGL."""

    device: str
    driver: str


@cache
def this_platform() -> Platform:
    """The machine that this runs on. Makes the process's OpenGL context, if possible."""
    from gpgpu_legacy.runtime.gl import core

    try:
        ctx = core.context()
    except ExecutorUnavailableError:
        return Platform(processor(), "no OpenGL")
    renderer, gl_version = str(ctx.info["GL_RENDERER"]), str(ctx.info["GL_VERSION"])
    if ctx.is_hardware:
        return Platform(f"{renderer}; {processor()}", f"OpenGL {gl_version}")
    return Platform(processor(), f"OpenGL {gl_version}, {renderer}")


def versions() -> dict[str, str]:
    """The versions of Python, of packages that times depend on, and of NumPy's BLAS."""
    from importlib.metadata import PackageNotFoundError, version

    import numpy as np

    named = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            named[name] = version(name)
        except PackageNotFoundError:
            continue
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    named["blas"] = f"{blas.get('name')} {blas.get('version')}"
    return named


def settings() -> dict[str, str]:
    """The environment variables that choose instructions or threads, ours and the libraries'."""
    return {name: " ".join(os.environ[name].split()) for name in _VARIABLES if name in os.environ}
