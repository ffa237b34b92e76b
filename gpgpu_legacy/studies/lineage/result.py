"""A lineage: every method's result, and the ceilings of the same measurement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from gpgpu_legacy.bounded import Line, Meta, NotNegative, Positive, Share, Size, Spread, Whole
from gpgpu_legacy.measure.bench import Setting
from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.result import RecordedResult, Result
from gpgpu_legacy.serial import Record

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

    lacked: what hardware of its year lacked. parameters: that its plan was built with.
    multiply_adds_per_byte: of the bytes that its instructions ask for, before any cache.
    arithmetic: instructions. seconds: the median of `runs` samples, of computing alone; None where
    it was not run, for the `reason`. ceiling: the name of the ceiling of the machine that it ran
    on. fraction_of_ceiling: of GFLOPS; None where the ceiling was disturbed.
    """

    year: Year
    plan: Line
    source: Line
    lacked: Line
    parameters: dict[Line, Setting]
    executor: Line
    device: Line
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


class Lineage(RecordedResult, kw_only=True):
    """Every method on n×n matrices, n being the size, in the order of history.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1.
    """

    WHAT = "a lineage that `gpgpu-legacy study lineage --output` recorded"

    size: Size
    ceilings: Annotated[tuple[Ceiling, ...], Meta(max_length=MOST_STEPS)]
    steps: Annotated[tuple[Step, ...], Meta(max_length=MOST_STEPS)]
    busy_share: Share | None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A row for each method, in the order of history. whole: with what its hardware lacked."""
        heads = ("year", "method", "from", "multiply-adds / byte", "GFLOPS here", "of the ceiling",
                 "executor", *["what it lacked then"] * whole)  # fmt: skip
        rows = tuple(
            (
                str(step.year),
                step.plan,
                step.source,
                step.multiply_adds_per_byte,
                step.gflops,
                _percent(step.fraction_of_ceiling),
                step.executor,
                *[step.lacked] * whole,
            )
            for step in self.steps
        )
        size = f"{self.size}×{self.size}"
        caption = f"The product of two {size} matrices by every method, in the order of history."
        return [Grid("lineage", caption, heads, rows, tuple(self._notes()))]

    def plot(self, path: Path) -> None:
        """Draw GFLOPS by method."""
        Lineages(lineages=(self,)).plot(path)

    def _notes(self) -> Iterator[str]:
        for ceiling in self.ceilings:
            yield f"Ceiling: {ceiling.name} on {ceiling.device}, {ceiling.gflops:.4g} GFLOPS."
        devices = dict.fromkeys(f"{step.executor}: {step.device}" for step in self.steps)
        yield f"Ran on {'; '.join(devices)}."
        yield "Multiply-adds a byte are of the bytes that instructions ask for, before any cache."
        for ceiling in self.ceilings:
            if ceiling.disturbed:
                yield (
                    f"{ceiling.name} was disturbed: methods were faster, so no part of it is given."
                )
        for step in self.steps:
            if step.reason:
                yield f"{step.plan} was not run: {step.reason}."
        yield from busy_notes(self.busy_share)


def _percent(fraction: float | None) -> str | None:
    return None if fraction is None else f"{100 * fraction:.3g} %"


class Lineages(Result):
    """Lineages of several devices or sizes, side by side."""

    lineages: tuple[Lineage, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The table of each."""
        return [grid for lineage in self.lineages for grid in lineage.grids(whole=whole)]

    def plot(self, path: Path) -> None:
        """Draw GFLOPS by method, a panel a lineage."""
        from gpgpu_legacy.studies.lineage.plot import draw_lineages

        draw_lineages(self.lineages, path)
