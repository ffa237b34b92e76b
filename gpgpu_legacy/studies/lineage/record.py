"""What a lineage records: every method's result, and the ceilings of the same measurement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.bounded import Line, Meta, NotNegative, Positive, Share, Size, Spread, Whole
from gpgpu_legacy.serial import Record, Recorded, read_recorded

MOST_STEPS = 100
"""Methods of a lineage, several times as many as there are: each is a plan in a roofline."""

Year = Annotated[int, Meta(ge=0, le=9999)]


class Ceiling(Record):
    """What a library on the device reaches on the same product, in the same measurement.

    gflops: of its fastest sample. Whatever disturbs a run makes it slower, so this one tells best
    what the library can do; on a busy machine the median may be a tenth of it. disturbed: a method
    was faster while other processes took much of the machine, so no part of this ceiling is given.
    """

    name: Line
    device: Line
    gflops: Positive
    disturbed: bool


class Step(Record):
    """A method's place in the lineage.

    lacked: what hardware of its year lacked. multiply_adds_per_byte: of the bytes that its
    instructions ask for, before any cache. arithmetic: instructions. seconds: the median of `runs`
    samples, of computing alone; None where it was not run, for the `reason`. ceiling: the name of
    the ceiling of the machine that it ran on. fraction_of_ceiling: of GFLOPS; None where the
    ceiling was disturbed.
    """

    year: Year
    method: Line
    paper: Line
    lacked: Line
    executor: Line
    device: Line
    block: Size | None
    accumulate: Accumulate | None
    multiply_adds_per_byte: NotNegative
    bytes_requested: Whole
    arithmetic: Whole
    seconds: Positive | None
    spread: Spread | None
    runs: Whole | None
    first_run: bool
    reason: Line | None
    gflops: Positive | None
    ceiling: Line
    fraction_of_ceiling: NotNegative | None


class Lineage(Recorded, kw_only=True):
    """Every method on n×n matrices, n being the size, in the order of history.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1.
    """

    WHAT = "a lineage that `gpgpu-legacy lineage --output` recorded"

    size: Size
    ceilings: Annotated[tuple[Ceiling, ...], Meta(max_length=MOST_STEPS)]
    steps: Annotated[tuple[Step, ...], Meta(max_length=MOST_STEPS)]
    busy_share: Share | None


def read_lineage(path: Path) -> Lineage:
    """A recorded lineage; InputError, in one line, for a file that holds none."""
    return read_recorded(path, Lineage)
