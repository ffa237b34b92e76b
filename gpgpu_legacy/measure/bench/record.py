"""What a benchmark records: results, what was not run, and two benchmarks compared."""

from __future__ import annotations

from pathlib import Path

from gpgpu_legacy.bounded import (
    Limit,
    Line,
    NotNegative,
    Positive,
    Several,
    Share,
    Size,
    Spread,
    Whole,
)
from gpgpu_legacy.serial import Record, Recorded, as_record, read_recorded


class Result(Record):
    """A method on an executor, or a peer, at one size.

    of: for a peer that runs a method of ours on another executor, that method. seconds: the median
    of `samples`, of computing alone or, in a benchmark of whole calls, of those. spread: seconds of
    the fastest and the slowest sample. runs: how many samples there are. first_run: whether the
    only sample is a first run, because the budget ended before any that is measured. gflops: 2n³
    over the seconds; None where they are 0. max_relative_error: the largest |C - C64| over the
    largest |C64|; None where it is not a number. rows_checked: how many rows of the product were
    compared.
    """

    method: Line
    of: Line | None
    peer: bool
    executor: Line
    device: Line | None
    size: Size
    block: Size | None
    accumulate: Line | None
    seconds: Positive
    spread: Spread
    runs: Whole
    first_run: bool
    samples: tuple[NotNegative, ...]
    gflops: NotNegative | None
    max_relative_error: NotNegative | None
    rows_checked: Whole


class Run(Record):
    """What was run at a size; the fields are those of a Result."""

    method: Line
    of: Line | None
    executor: Line
    size: Size
    block: Size | None
    accumulate: Line | None


class Skipped(Run):
    """An entrant without a result at a size, and why."""

    reason: Line


class Bench(Recorded, kw_only=True):
    """A benchmark, and what makes it reproducible.

    device: of the machine; results have their own. versions: of Python and the packages that times
    depend on. settings: what else they depend on; see measure/platform.py. whole: whether times are
    those of whole calls, from matrices in memory to a product there. repeat: rounds. budget_s,
    spent_s: seconds. busy_share: the part of the processors' time that other processes took
    meanwhile, from 0 to 1.
    """

    WHAT = "a benchmark that `gpgpu-legacy bench --output` recorded"

    device: Line
    driver: Line
    versions: dict[Line, Line]
    settings: dict[Line, Line]
    whole: bool
    seed: Whole
    repeat: Whole
    budget_s: Limit | None
    spent_s: NotNegative
    busy_share: Share | None
    results: Several[Result]
    not_run: Several[Skipped]


def read_bench(path: Path) -> Bench:
    """A recorded benchmark; InputError, in one line, for a file that holds none."""
    return read_recorded(path, Bench)


# Two benchmarks ----------------------------------------------------------------------------------


class Difference(Record):
    """A difference between the machines, or in what is timed: times cannot be compared."""

    what: str
    old: str
    new: str


class SpeedUp(Run):
    """A result that both benchmarks have. ratio: of GFLOPS, new over old."""

    old_seconds: float
    new_seconds: float
    ratio: float


class Comparison(Record):
    """A comparison of two benchmarks.

    comparable: whether device, driver and what is timed agree; there are no ratios where they do
    not. only_old, only_new: how many results only one of them has.
    """

    comparable: bool
    differences: tuple[Difference, ...]
    ratios: tuple[SpeedUp, ...]
    only_old: int
    only_new: int


def compare(old: Bench, new: Bench) -> Comparison:
    """GFLOPS of two benchmarks and their ratios, for what both have."""
    differences = [
        Difference(what=what, old=before, new=after)
        for what, before, after in (
            ("device", old.device, new.device),
            ("driver", old.driver, new.driver),
            ("timed", _timed(old), _timed(new)),
        )
        if before != after
    ]  # fmt: skip
    earlier, later = ({as_record(Run, r): r for r in bench.results} for bench in (old, new))
    both = [] if differences else [run for run in later if run in earlier]
    return Comparison(
        comparable=not differences,
        differences=tuple(differences),
        ratios=tuple(_speed_up(earlier[run], later[run]) for run in both),
        only_old=len(earlier.keys() - later.keys()),
        only_new=len(later.keys() - earlier.keys()),
    )


def _timed(bench: Bench) -> str:
    return "whole calls" if bench.whole else "computing alone"


def _speed_up(old: Result, new: Result) -> SpeedUp:
    return as_record(
        SpeedUp,
        new,
        old_seconds=old.seconds,
        new_seconds=new.seconds,
        ratio=old.seconds / new.seconds,
    )
