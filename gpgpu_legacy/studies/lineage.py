"""A lineage: a benchmark of every method, shown in the order of history, beside its ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.api.command.frame import Kept, answers
from gpgpu_legacy.api.command.words import AnyTime, ExecutorName, Seed
from gpgpu_legacy.api.command.words import Size as SizeWords
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.measure.bench import Attempt, Bench, Timed
from gpgpu_legacy.measure.benchmark import Benchmark, tuned
from gpgpu_legacy.measure.peers import TITLES
from gpgpu_legacy.measure.timing import Rounds, busy_notes
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.present.plot import (
    COLOURS,
    INK,
    WIDTH,
    check_count,
    lines_of,
    new_figure,
    plain_number,
    save_figure,
    style_axes,
)
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.serial import Line, PositiveInt, Recorded, Size, as_record, read_recorded

R = TypeVar("R", bound=Attempt)

QUICK_S = 2.0  # a job that takes longer is run once
ROUNDS = Rounds(3, round_s=0.25, most_runs=50, longest_s=QUICK_S)


def benchmark_of(n: int, seed: int = 0, executor: str = AUTO) -> Benchmark:
    """Every method on random n×n matrices, in turn with the libraries that are their ceilings.

    executor: the one to run all methods on; `auto` chooses for each. Raises InputError for one that
    cannot run a method.
    """
    cases = [tuned(method.builder(n=n), executor) for method in products()]
    return Benchmark(cases, rounds=ROUNDS, seed=seed)


class Lineage(Bench):
    """Every method on n×n matrices, and the libraries that are their ceilings.

    A ceiling comes from the fastest sample: disturbances make a run slower, so this sample is
    closest to what the library can do; on a busy machine the median may be a tenth of it.
    """

    WHAT = "a lineage that `gpgpu-legacy study lineage --output` recorded"

    @property
    def steps(self) -> list[Timed]:
        """The methods' results, in the order of history."""
        return _in_order(result for result in self.results if result.is_own)

    @property
    def libraries(self) -> list[Timed]:
        """The libraries' results."""
        return [result for result in self.results if result.plan is None]

    @property
    def size(self) -> str:
        """n, as text."""
        return str(next((run.parameters.get("n") for run in (*self.results, *self.not_run)), "?"))

    def ceiling_of(self, step: Timed) -> Timed | None:
        """The library on a result's device, else the first one; None if there is none."""
        for library in self.libraries:
            if str(library.device).partition(",")[0] in str(step.device):
                return library
        return next(iter(self.libraries), None)

    def fraction(self, step: Timed) -> float | None:
        """A result's rate over its ceiling's; None if either is unknown."""
        library = self.ceiling_of(step)
        if library is None or step.gflops is None:
            return None
        return step.gflops / rate_of(library)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A row for each method. whole: with what its hardware lacked."""
        heads = ("year", "method", "from", "multiply-adds / byte from memory", "GFLOPS here",
                 "of the ceiling", "executor", *["what it lacked then"] * whole)  # fmt: skip
        rows = []
        for run in _in_order([*self.steps, *(skipped for skipped in self.not_run if skipped.plan)]):
            method, gflops, fraction = method_of(run), None, None
            if isinstance(run, Timed):
                gflops, fraction = run.gflops, self.fraction(run)
            row = (
                str(method.year),
                method.name,
                method.source,
                of_memory().per_byte(method.name),
                gflops,
                None if fraction is None else f"{100 * fraction:.3g} %",
                run.executor,
                method.lacked,
            )
            rows.append(row[: len(heads)])
        size = f"{self.size}×{self.size}"
        caption = f"The product of two {size} matrices by every method, in the order of history."
        return [Grid("lineage", caption, heads, tuple(rows), tuple(self._remarks()))]

    def _remarks(self) -> Iterator[str]:
        for library in self.libraries:
            rate = f"{rate_of(library):.4g} GFLOPS"
            yield f"Ceiling: {title_of(library)} on {library.device}, {rate}."
        yield f"Ran on {'; '.join(dict.fromkeys(f'{s.executor}: {s.device}' for s in self.steps))}."
        yield f"Bytes from memory: {of_memory()}"
        for skipped in self.not_run:
            yield f"{skipped.plan or skipped.executor} was not run: {skipped.reason}."
        yield from busy_notes(self.busy_share)

    def plot(self, path: Path | str) -> None:
        """Draw GFLOPS by method."""
        _draw([self], path)


def rate_of(library: Timed) -> float:
    """The GFLOPS of a library's fastest sample."""
    fastest_s = library.spread[0]
    return (library.gflops or 0.0) * (library.seconds / fastest_s if fastest_s else 1.0)


def title_of(library: Timed) -> str:
    """The name of a library for people."""
    return TITLES.get(library.executor, library.executor)


def method_of(run: Attempt) -> Algorithm:
    """The method that was run."""
    return find_product(str(run.plan))


def _in_order(runs: Iterable[R]) -> list[R]:
    """Runs in the order of history."""
    return sorted(runs, key=lambda run: products().index(method_of(run)))


class Lineages(Result):
    """Lineages of several devices or sizes, side by side."""

    lineages: tuple[Lineage, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The table of each."""
        return [grid for lineage in self.lineages for grid in lineage.grids(whole=whole)]

    def plot(self, path: Path | str) -> None:
        """Draw GFLOPS by method, a panel a lineage."""
        _draw(self.lineages, path)


# The lineage in a few sentences ----------------------------------------------------------------


def story() -> list[str]:
    """The story of the methods, in paragraphs whose numbers come from the recorded simulation.

    `code` is in backticks.
    """
    memory = of_memory()
    best = {
        year: max(memory.per_byte(m.name) for m in products() if m.year == year)
        for year in (2001, 2003, 2006, 2018)
    }
    shared = sorted(memory.per_byte(m.name) for m in products() if _shared(m.plan(n=1)))
    return [
        f"At n = {memory.size}, through a cache of {memory.cache}, the methods do "
        f"{best[2001]:.2f} multiply-adds per byte from memory in 2001, {best[2003]:.2f} in 2003, "
        f"{best[2006]:.2f} in 2006, whose tiles suit a cache, and {shared[0]:.0f} to "
        f"{shared[-1]:.0f} where shared memory holds a tile. `dobravec-bulic-global` does "
        f"{memory.per_byte('dobravec-bulic-global'):.2f}, with no shared memory: a cache that "
        "holds the workgroup's texels serves its loads as well.",
        "The browser frameworks of 2018 resemble the scheme of 2003: they pack 2×2 elements into "
        "an RGBA texel and use the same swizzled multiply-adds, but in one pass over the whole "
        f"sum (`packed-2x2`). Through this cache, that is {best[2018]:.2f} per byte.",
    ]


class LineageMemory(Recorded, kw_only=True):
    """What each method fetches for n×n matrices, n = size, through one cache.

    from_memory: bytes by method. Shared arrays are on the chip, and are left out.
    """

    WHAT = "what benchmarks/from_memory.py recorded"

    size: Size
    cache: Line
    from_memory: dict[Line, PositiveInt]

    def per_byte(self, method: str) -> float:
        """Multiply-adds for each byte from memory."""
        return self.size**3 / self.from_memory[method]

    def __str__(self) -> str:
        """The conditions of the simulation."""
        return (
            f"at n = {self.size}, simulated through one cache ({self.cache}), with one fragment or "
            "work-item after another; shared arrays are on the chip."
        )


@cache
def of_memory() -> LineageMemory:
    """The recorded simulation of all methods."""
    return read_recorded(recorded_file("from-memory.json"), LineageMemory)


def bytes_from_memory(case: tuple[str, int, str]) -> int:
    """The bytes from memory of a method, at a size, through a cache."""
    method, size, through = case
    plan = find_product(method).plan(n=size)
    tallies = cache_run(plan, Memory((parse_cache(through),))).regions
    return sum(one.bytes_from_memory for one in tallies if one.name not in _shared(plan))


def _shared(plan: Plan) -> set[str]:
    """The names of the shared arrays of a plan's kernels."""
    return {array.name for kernel in plan.kernels() for array in kernel.shared}


# The picture ------------------------------------------------------------------------------------

MOST_PANELS = 3
"""Lineages side by side; with more, the numbers would be too small to read."""

_ROW, _FRAME = 0.34, 1.0  # inches of a row, and of all else
_SMALL = 9.0  # points
_LIBRARY_MARK = "D"
_ROOM = 2.0  # beyond the slowest and the fastest, as a factor
_NAMES = 2.0  # inches
_RATE_POINTS, _TIMES_POINTS = 42, 90  # where two columns of numbers end, right of the axes
_TICKS = 6  # at most, of all panels


def _draw(lineages: Sequence[Lineage], path: Path | str) -> None:
    """Draw GFLOPS by method, a panel a lineage, on one logarithmic axis: PNG, SVG or PDF.

    The origin of bars, 1×, is the oldest method with times in each lineage. Rates and multiples
    stand beside the bars, and the libraries of the same measurement below the methods.

    Raises InputError if nothing was measured, for more than MOST_PANELS, or if the file cannot be
    written.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator

    shown = [[step for step in lineage.steps if step.gflops] for lineage in lineages]
    if not all(shown):
        raise InputError("no method has GFLOPS, so there is nothing to draw; see the table")
    check_count(len(lineages), MOST_PANELS, "lineages")
    steps = [step for one in shown for step in one]
    libraries = [library for lineage in lineages for library in lineage.libraries]
    names = {
        method.name: f"{method.name}  {method.year}" for method in map(method_of, _in_order(steps))
    }
    rows = [*names, *dict.fromkeys(map(title_of, libraries))]
    colours = dict(zip(dict.fromkeys(step.executor for step in steps), COLOURS[1:], strict=False))
    figure = new_figure(height_inches=_ROW * len(rows) + _FRAME)
    panels = figure.subplots(1, len(lineages), sharex=True, sharey=True, squeeze=False)[0]
    width = (WIDTH - _NAMES) / len(lineages) - 0.2
    for axes, lineage, own in zip(panels, lineages, shown, strict=True):
        axes.yaxis.update_units(rows)
        style_axes(axes)
        axes.set_xscale("log")
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        origin = own[0].gflops or 0.0
        axes.axvline(origin, color=INK, linewidth=0.9)
        marks = [(str(s.plan), s.gflops or 0.0, "o", colours[s.executor], 7.0) for s in own]
        for name, rate, _, colour, _ in marks:
            axes.plot([origin, rate], [name] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        marks += [
            (title_of(one), rate_of(one), _LIBRARY_MARK, INK, 6.0) for one in lineage.libraries
        ]
        for name, rate, mark, colour, size in marks:
            axes.plot(rate, name, mark, color=colour, markersize=size, clip_on=False)
            numbers = (_digits(rate), _RATE_POINTS), (_multiple(rate / origin), _TIMES_POINTS)
            for text, offset in numbers:  # right of the axes, away from lines
                axes.annotate(
                    text, (1.0, name), (offset, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", fontsize=_SMALL, color=INK, annotation_clip=False,
                    ha="right", va="center",
                )  # fmt: skip
        devices = "; ".join(dict.fromkeys(str(step.device) for step in own))
        title = lines_of(f"n = {lineage.size} on {devices}", width, _SMALL)
        axes.set_title("\n".join(title), loc="left", fontsize=_SMALL, color=INK)
    first = panels[0]
    first.set_yticks(range(len(rows)), [names.get(row, row) for row in rows], color=INK)
    first.set_ylim(len(rows) - 0.4, -0.6)
    rates = [step.gflops or 0.0 for step in steps] + [rate_of(library) for library in libraries]
    first.set_xlim(min(rates) / _ROOM, max(rates) * _ROOM)
    first.xaxis.set_major_locator(LogLocator(numticks=_TICKS // len(lineages)))
    first.xaxis.set_major_formatter(plain_number)
    first.xaxis.set_minor_locator(NullLocator())
    figure.supxlabel("GFLOPS (2n³ over the compute time), logarithmic", fontsize=10, color=INK)
    origins = dict.fromkeys(str(own[0].plan) for own in shown)
    key = [
        Line2D([], [], color=colour, marker="o", linewidth=5, markersize=7, label=executor)
        for executor, colour in colours.items()
    ]
    library = Line2D([], [], color=INK, marker=_LIBRARY_MARK, linestyle="", label="a library")
    save_figure(
        figure,
        path,
        "Matrix products by every method, in the order of history",
        f"GFLOPS, and how many times those of {' or '.join(origins)} on the same device: the line "
        "at 1×, from which the bars begin.",
        key=[*key, library],
    )


def _multiple(ratio: float) -> str:
    """A multiple of the origin; below 0.1 as a fraction, such as 1/25."""
    return f"{_digits(ratio)}×" if ratio >= 0.1 else f"1/{1 / ratio:,.0f}"


def _digits(value: float) -> str:
    """Three digits, with no power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# The command --------------------------------------------------------------------------------------


@answers("study lineage", plot="Draw GFLOPS by method.")
def lineage_command(
    *,
    size: SizeWords,
    seed: Seed = 0,
    executor: ExecutorName = "auto",
    budget: AnyTime = None,
    beside: Annotated[
        tuple[Path, ...], "JSON", "Show several recorded results side by side; run nothing."
    ] = (),
    report: Kept,
) -> Lineage | Lineages:
    """Run every method on this machine, in the order of history.

    All methods run in turn, round by round, together with the libraries that are their ceilings.
    """
    if recorded := report.read(Lineage):
        return recorded
    if beside:
        return Lineages(lineages=tuple(read_recorded(path, Lineage) for path in beside))
    benchmark = benchmark_of(size.n, seed, executor)
    with report.work("lineage", benchmark.steps, budget) as within:
        return as_record(Lineage, benchmark.measure(within, report.save))
