"""The engine of all measuring, on a clock that only runs, preparations and closings move on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pytest

from gpgpu_legacy.measure import timing as other_work
from gpgpu_legacy.measure import timing as rounds
from gpgpu_legacy.measure.engine import Measured, MeasuredJob, Ready, measure
from gpgpu_legacy.measure.timing import Budget, OtherWork, Rounds, busy_warning

TWO_ROUNDS = Rounds(2)
share = OtherWork.share  # which conftest.py replaces
Seconds = Callable[[int], float] | Iterator[float]


@dataclass
class World:
    """A clock, and what was opened, run and closed on it."""

    now: float = 0.0

    def __post_init__(self) -> None:
        self.runs: list[tuple[str, int]] = []
        self.open: list[tuple[str, int]] = []
        self.most_open = 0

    def __call__(self) -> float:
        return self.now

    def job(
        self,
        name: str,
        size: int,
        seconds: Seconds = lambda _: 1.0,
        *,
        opening_s: float = 0.0,
        upload_s: float = 0.0,
        check_s: float = 0.0,
        expected_s: float = 0.0,
    ) -> MeasuredJob:
        """A job whose run takes what it is told to; its check gives the size."""

        @contextmanager
        def opened() -> Iterator[Ready]:
            def run() -> float:
                self.runs.append((name, size))
                compute_s = seconds(size) if callable(seconds) else next(seconds)
                self.now += upload_s + compute_s
                return compute_s

            def check() -> int:
                self.now += check_s
                return size

            self.now += opening_s
            self.open.append((name, size))
            self.most_open = max(self.most_open, len(self.open))
            try:
                yield Ready(run, check)
            finally:
                self.open.remove((name, size))

        return MeasuredJob(name, size, name, opened, lambda: expected_s)


def key(entry: Any) -> tuple[str, int]:
    return entry.job.series, entry.job.size


def results(measured: Measured) -> list[tuple[str, int]]:
    return [key(outcome) for outcome in measured.outcomes]


# Rounds and the budget ---------------------------------------------------------------------------


def test_jobs_of_a_size_take_rounds_in_turn_smallest_size_first() -> None:
    world = World()
    jobs = [world.job(name, size) for size in (16, 8) for name in ("one", "two")]
    measured = measure(jobs, Budget(1e9, world), TWO_ROUNDS)
    first = [("one", 8), ("one", 8), ("two", 8), ("two", 8)]
    assert world.runs == [*first, *[("one", 8), ("two", 8)] * 2, *[("one", 16), ("two", 16)] * 3]
    assert results(measured) == [("one", 16), ("two", 16), ("one", 8), ("two", 8)]
    assert [outcome.checked for outcome in measured.outcomes] == [16, 16, 8, 8]
    assert measured.spent_s == world.now
    assert world.open == []


@pytest.mark.parametrize("what", ["opening_s", "upload_s", "check_s"])
def test_the_budget_counts_all_that_a_job_takes(what: str) -> None:
    """Computing takes next to nothing here; everything else grows slowly."""
    world = World()
    jobs = [world.job("one", n, lambda _: 1e-6, **{what: 4.0}) for n in (64, 128, 256, 512)]
    measured = measure(jobs, Budget(20.0, world), Rounds(1, most_runs=1))
    assert world.now <= 20.0
    assert measured.outcomes
    assert measured.not_run
    assert all("of the budget were left" in entry.reason for entry in measured.not_run)


def test_a_job_whose_rounds_do_not_fit_has_its_first_run_for_a_result() -> None:
    world = World()
    measured = measure([world.job("one", 8, repeat(4.0))], Budget(5.0, world), TWO_ROUNDS)
    [outcome] = measured.outcomes
    assert (outcome.samples, outcome.is_first_run) == ((4.0,), True)
    assert world.now == 4.0


def test_the_cheapest_of_a_size_goes_first_and_results_keep_their_order() -> None:
    world = World()
    slow, quick = (world.job(name, 128, expected_s=s) for name, s in (("slow", 2), ("quick", 1)))
    measured = measure([slow, quick], Budget(1e9, world), TWO_ROUNDS)
    assert world.runs[:4] == [("quick", 128)] * 2 + [("slow", 128)] * 2
    assert results(measured) == [("slow", 128), ("quick", 128)]


def test_a_job_that_says_it_will_outlast_the_budget_is_not_begun() -> None:
    world = World()
    jobs = [world.job("long", 8, expected_s=9.0), world.job("short", 8)]
    measured = measure(jobs, Budget(8.0, world), Rounds(1, most_runs=1))
    assert results(measured) == [("short", 8)]
    assert [run for run in world.runs if run[0] == "long"] == []


def test_it_never_ends_empty() -> None:
    world = World()
    jobs = [world.job("one", 8), world.job("two", 16)]
    measured = measure(jobs, Budget(0.0, world), TWO_ROUNDS)
    assert world.runs == [("one", 8)]
    assert [outcome.is_first_run for outcome in measured.outcomes] == [True]
    assert [(key(entry), entry.reason) for entry in measured.not_run] == [
        (("two", 16), "the budget was spent")
    ]
    assert world.open == []


# The order by cost -------------------------------------------------------------------------------


def test_a_first_run_that_loads_libraries_does_not_stand_for_its_series() -> None:
    world = World()
    seconds = iter([5.0, 0.01, *[0.1] * 20])
    jobs = [world.job("one", size, seconds) for size in (64, 256)]
    measured = measure(jobs, Budget(30.0, world), Rounds(1, most_runs=1))
    assert world.runs[:4] == [("one", 64)] * 3 + [("one", 256)]
    assert results(measured) == [("one", 64), ("one", 256)]


# Errors, room and interrupts ---------------------------------------------------------------------


def test_an_error_in_a_round_leaves_the_other_jobs_alone() -> None:
    world = World()
    bad = world.job("bad", 8, iter([1.0, 1.0]))
    half = world.job("half", 8, iter([1.0, 1.0, 2.0]))
    measured = measure([bad, half, world.job("good", 8)], Budget(1e9, world), TWO_ROUNDS)
    assert results(measured) == [("half", 8), ("good", 8)]
    assert measured.outcomes[0].samples == (2.0,)
    assert [(entry.reason, entry.is_refused) for entry in measured.not_run] == [
        ("StopIteration", True)
    ]
    assert world.open == []


def test_results_come_as_they_are_measured_and_an_interrupt_leaves_them() -> None:
    world = World()
    seen: list[Measured] = []

    def seconds(size: int) -> float:
        if len(world.runs) == 8:
            raise KeyboardInterrupt
        return 1.0

    jobs = [world.job(name, size, seconds) for size in (8, 16) for name in ("one", "two")]
    with pytest.raises(KeyboardInterrupt):
        measure(jobs, Budget(1e9, world), Rounds(1), results=seen.append)
    assert results(seen[0]) == [("one", 8)]
    assert results(seen[1]) == [("one", 8), ("two", 8)]
    assert results(seen[-1]) == [("one", 8), ("two", 8), ("one", 16)]
    assert seen[-1].outcomes[-1].is_first_run
    assert world.open == []


# The parts ---------------------------------------------------------------------------------------


def test_other_processes_are_those_beside_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([100.0, 101.5])
    monkeypatch.setattr(other_work, "_others_s", lambda: next(seconds))
    monkeypatch.setattr(other_work, "perf_counter", iter([0.0, 3.0]).__next__)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert share(OtherWork()) == 0.25


def test_a_busy_machine_is_warned_of_in_one_line() -> None:
    assert busy_warning(None) is None
    assert busy_warning(0.05) is None
    warning = busy_warning(0.375)
    assert warning is not None
    assert "38 %" in warning
    assert "\n" not in warning


@pytest.mark.parametrize(
    ("busy_s", "looks"),
    [([0.0], 1), ([0.005, 0.01, 0.004, 0.0], 4), ([0.005] * 100, 40)],
    ids=["at rest", "a BLAS that spins", "a thread that never rests"],
)
def test_waiting_for_threads_to_rest(
    busy_s: list[float], looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: CPU seconds that the process spends during each look of 5 ms."""
    spent, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        spent[0] += busy_s[len(slept)]
        slept.append(seconds)

    monkeypatch.setattr(rounds, "process_time", lambda: spent[0])
    monkeypatch.setattr(rounds, "sleep", sleep)
    rounds.wait_for_rest()
    assert slept == [0.005] * looks
