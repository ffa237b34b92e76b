"""A benchmark: who took how long on what, as it is recorded and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.timing import busy_notes
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, RecordedResult
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    check_count,
    height_for_labels,
    label_lines,
    new_figure,
    plain_number,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.serial import (
    LARGEST,
    LARGEST_COUNT,
    Limit,
    Line,
    Meta,
    NotNegative,
    Positive,
    Record,
    Several,
    Share,
    Spread,
    Whole,
)

Setting = (
    Line
    | Annotated[int, Meta(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]
    | Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
    | bool
    | None
)
"""The value of a parameter."""

FAR = 0.01
"""A result with a larger error is called wrong; errors of half precision are smaller."""

MOST_LINES = 100
"""The most lines of a plot, each with its name beside it."""

_MS = 1e3
_DECADE = 10  # values that span less stand on an axis from 0

UNSTEADY = 4.0
"""A run that takes more than this many times as long as another of its kind was disturbed."""


class Attempt(Record):
    """The identity of a result.

    case: of all participants, such as `n = 512`. plan: the one run, or replaced; None for a
    library, which can replace any product. parameters: of the plan; for a library, the sizes.
    executor: its name, or the peer's or the function's.
    """

    case: Line
    plan: Line | None
    parameters: dict[Line, Setting]
    executor: Line


class Timed(Attempt):
    """An executor on a plan, a peer of the plan's, or its reference function, and its times.

    is_reference: whether it is the function, which has float64 numbers and no preparation or
    transfers. is_peer: whether executors are measured against it: a program of today's, or an
    executor that runs the driver's own. seconds: the median of `samples`, which are times of
    computing alone or of whole calls. spread: seconds of the fastest and the slowest sample. runs:
    how many samples there are. first_run: whether the only sample is a first run, because the
    budget ended before any that is measured. gflops: the plan's operations over the seconds; None
    where nobody says how many there are. prepare_s: the first preparation. upload_s, readback_s:
    medians. max_error: the largest difference from the reference function, over its largest
    magnitude; of rows_checked rows of a product, where it was not of whole outputs. max_difference:
    the same from the reference machine; 0 where all bits agree. max_peer_difference: the same from
    the first peer that is no executor. None where there is nothing to compare with, or where an
    infinity or a NaN takes part.
    """

    is_reference: bool
    is_peer: bool
    device: Line | None
    seconds: Positive
    spread: Spread
    runs: Whole
    first_run: bool
    samples: tuple[NotNegative, ...]
    gflops: NotNegative | None
    prepare_s: NotNegative | None
    upload_s: NotNegative | None
    readback_s: NotNegative | None
    max_error: Limit | None
    rows_checked: Whole | None
    max_difference: Limit | None
    max_peer_difference: Limit | None

    @property
    def name(self) -> str:
        """The name of the participant for people."""
        return f"{self.executor}()" if self.is_reference else self.executor

    @property
    def is_own(self) -> bool:
        """Whether it is measured against others."""
        return not (self.is_peer or self.is_reference)

    @property
    def whole_s(self) -> float | None:
        """Seconds with the transfers, if these were timed apart."""
        up_s, back_s = self.upload_s, self.readback_s
        return None if up_s is None or back_s is None else up_s + self.seconds + back_s


class Skipped(Attempt):
    """Somebody without a result, and why."""

    reason: Line


class _BenchLine(NamedTuple):
    """What the results of a line in a plot share. family: chooses the colour."""

    is_own: bool
    family: str
    executor: str
    label: str


class Bench(RecordedResult, kw_only=True):
    """A benchmark, and what makes it reproducible.

    device: of the machine; results have their own. versions: of Python and the packages that times
    depend on. settings: what else they depend on; see measure/timing.py. whole: whether times are
    those of whole calls, from inputs in memory to outputs there. arithmetic, exact: of the machine
    that plans ran on. repeat: rounds. budget_s, spent_s: seconds; budget_s is None without a limit.
    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1.
    """

    WHAT = "a benchmark that `gpgpu-legacy bench --output` recorded"

    device: Line
    versions: dict[Line, Line]
    settings: dict[Line, Line]
    whole: bool
    arithmetic: Line
    exact: bool
    seed: Whole
    repeat: Whole
    budget_s: Limit | None
    spent_s: NotNegative | None
    busy_share: Share | None
    results: Several[Timed]
    not_run: Several[Skipped]

    @property
    def plans(self) -> tuple[str, ...]:
        """The names of the plans."""
        return tuple(dict.fromkeys(r.plan for r in (*self.results, *self.not_run) if r.plan))

    @property
    def where(self) -> str:
        """The machine in words."""
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.device}{f' ({settings})' * bool(settings)}"

    def peers_of(self, result: Timed) -> dict[str, Timed]:
        """By name, the peers that computed the same in place of the same plan, or of any.

        result: one of an executor.
        """
        return {
            peer.executor: peer
            for peer in self.results
            if peer.is_peer
            and peer.case == result.case
            and (
                peer.plan is None
                or (peer.plan, peer.parameters) == (result.plan, result.parameters)
            )
        }

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The times, the ratios to the peers, and what was not run; each if it has rows.

        whole: whether to leave nothing out.
        """
        grids = (self._times(whole), self._ratios(), self._left_out())
        return [grid for grid in grids if grid.rows]

    @public
    def plot(self, path: Path | str) -> None:
        """Draw GFLOPS, or the times if a plan has none, over the cases.

        path: a .png, .svg or .pdf. Each line has its name at its end; its colour shows the plan if
        there are several, its marks the executor. A bar is from the fastest to the slowest run.
        Peers and reference functions are dashed. Raises InputError if there is nothing to draw.
        """
        if not self.results:
            raise InputError("nothing was measured, so there is nothing to plot; see the table")
        count = len(self._lines())
        check_count(count, MOST_LINES, "lines")
        has_rates = all(result.gflops for result in self.results)
        figure = new_figure(height_inches=height_for_labels(count))
        axes = figure.subplots()
        style_axes(axes)
        axis, places = self._places()
        self._draw(axes, places, has_rates=has_rates)
        label_lines(axes)
        low, high = axes.dataLim.intervaly
        if high > _DECADE * low:
            axes.set_yscale("log")
            set_plain_numbers(axes)
        else:
            axes.set_ylim(0, 1.05 * high)
            axes.yaxis.set_major_formatter(plain_number)
        if isinstance(axis, str):
            set_powers_of_two(axes, sorted({*places.values()}))
            axes.set_xlabel(axis)
        else:
            axes.set_xticks(range(len(axis)), axis)
        time = ("whole call", "whole calls") if self.whole else ("compute time", "the passes alone")
        axes.set_ylabel(f"GFLOPS over the {time[0]}" if has_rates else f"ms, {time[1]}")
        said = [] if has_rates else ["Medians; a bar is from the fastest run to the slowest one."]
        save_figure(figure, path, ", ".join(self.plans), self.where, *said)

    def _draw(self, axes: Any, places: Mapping[str, int], *, has_rates: bool) -> None:
        """Draw the lines. places: of the cases on the x axis."""
        lines = self._lines()
        colours = dict(zip(dict.fromkeys(line.family for line in lines), cycle(COLOURS)))
        marks = dict(zip(dict.fromkeys(line.executor for line in lines), cycle(MARKS)))
        for line in sorted(lines, key=lambda line: not line.is_own) if has_rates else lines:
            results = sorted(lines[line], key=lambda result: places[result.case])
            below = [_MS * (result.seconds - result.spread[0]) for result in results]
            above = [_MS * (result.spread[1] - result.seconds) for result in results]
            drawn = axes.errorbar(
                [places[result.case] for result in results],
                [(r.gflops or 0.0) if has_rates else _MS * r.seconds for r in results],
                yerr=None if has_rates else [below, above],
                marker=marks[line.executor],
                linestyle="-" if line.is_own else "--",
                color=colours[line.family],
                linewidth=1.8 if line.is_own else 1.3,
                elinewidth=0.8,
                capsize=2.0,
                markersize=5.0,
                markerfacecolor=None if line.is_own or not has_rates else "white",
                label=line.label,
            )
            drawn.lines[0].set_label(line.label)

    def _lines(self) -> dict[_BenchLine, list[Timed]]:
        """A line for each participant."""
        several, names = len(self.plans) > 1, varying(self.results)
        lines: dict[_BenchLine, list[Timed]] = {}
        for result in self.results:
            plan = result.plan if several else None
            label = result.name
            if plan:
                label = f"{plan}, {label}" if result.is_own else f"{label} of {plan}"
            given = result.parameters
            label += "".join(f", {name} = {given[name]}" for name in names if name in given)
            line = _BenchLine(result.is_own, plan or result.executor, result.executor, label)
            lines.setdefault(line, []).append(result)
        return lines

    def _places(self) -> tuple[str | tuple[str, ...], dict[str, int]]:
        """The x axis, and the position of each case on it.

        The axis is the parameter that tells cases apart, or the cases if there is none.
        """
        cases = {result.case: result.parameters for result in reversed(self.results)}
        for name in next(iter(cases.values())) if len(cases) > 1 else ():
            values = {case: parameters.get(name) for case, parameters in cases.items()}
            places = {c: value for c, value in values.items() if type(value) is int and value > 0}
            if len(set(places.values())) == len(cases):
                return name, places
        labels = tuple(reversed(cases))
        return labels, {case: number for number, case in enumerate(labels)}

    def _times(self, whole: bool) -> Grid:
        columns: list[_Column] = [
            *_who(self.results),
            ("executor", lambda r: r.name),
            ("ms", lambda r: _ms(r.seconds)),
            ("with transfers", lambda r: _ms(r.whole_s)),
            ("GFLOPS", lambda r: r.gflops),
            ("error", lambda r: r.max_error),
            ("difference", lambda r: r.max_difference),
            ("from the peer", lambda r: r.max_peer_difference),
            ("runs", lambda r: Numeral("first") if r.first_run else r.runs),
        ]
        if whole:
            columns += [
                ("fastest", lambda r: _ms(r.spread[0])),
                ("slowest", lambda r: _ms(r.spread[1])),
                ("prepare, ms", lambda r: _ms(r.prepare_s)),
            ]
        cases = dict.fromkeys(r.case for r in self.results)
        one = f", {next(iter(cases))}" if len(cases) == 1 and self.plans != (*cases,) else ""
        caption = f"{', '.join(self.plans)}{one}, on {self.where}."
        return _grid("bench", caption, columns, self.results, tuple(self._notes(whole)))

    def _notes(self, whole: bool) -> Iterator[str]:
        timed = "whole calls, from inputs in memory to outputs there" if self.whole else "computing"
        machine = "exact " * self.exact + self.arithmetic
        yield f"Times are medians of runs in turn, of {timed}. Driver: {self.driver}."
        if whole:
            yield f"Fastest and slowest are single runs. Arithmetic: {machine}."
        if any(r.is_reference for r in self.results):
            yield "The reference function has a name with (). It computes on float64 in memory."
        if any(r.max_error is not None for r in self.results):
            yield "Errors are from float64, relative to the largest magnitude."
        if any(r.max_difference is not None for r in self.results):
            yield "Differences are from the reference machine; 0 is bit for bit."
        if self.wrong:
            far = "; ".join(f"{r.name} at {r.case}" for r in self.wrong)
            yield (
                f"The errors of {far} are over {100 * FAR:g} %: unless its textures hold no more, "
                "such a result is wrong, and its time says nothing."
            )
        sampled = dict.fromkeys(r.case for r in self.results if r.rows_checked)
        if sampled:
            yield f"At {'; '.join(sampled)} the error is that of rows chosen at random."
        if any(r.first_run for r in self.results):
            yield (
                "“First” is a first run: the budget ended before a measured one. Loading and "
                "clocks that wake up may be in its time."
            )
        unsteady = dict.fromkeys(
            r.name for r in self.results if r.spread[1] > UNSTEADY * r.spread[0]
        )
        if unsteady:
            yield (
                f"Some runs of {', '.join(unsteady)} took over {UNSTEADY:g} times as long as "
                "others: the machine was busy, and ratios may be wrong."
            )
        yield from busy_notes(self.busy_share)

    @property
    def wrong(self) -> tuple[Timed, ...]:
        """The results that are too far from the reference function."""
        return tuple(r for r in self.results if (r.max_error or 0.0) > FAR)

    def _ratios(self) -> Grid:
        """The speed of the executors relative to each peer; no rows without peers."""
        peers = dict.fromkeys(r.executor for r in self.results if r.is_peer)
        own = [r for r in self.results if peers and r.is_own]

        def ratio(name: str, result: Timed) -> float | None:
            peer = self.peers_of(result).get(name)
            return peer.seconds / result.seconds if peer and result.seconds else None

        columns: list[_Column] = [
            *_who(self.results),
            ("executor", lambda r: r.executor),
            *((f": {name}", partial(ratio, name)) for name in peers),
        ]
        caption = "How many times as fast as its peers, in the same run."
        return _grid("bench-ratios", caption, columns, own, ("Above 1 the executor is faster.",))

    def _left_out(self) -> Grid:
        """A row for each executor and reason, with all plans and cases that it applies to."""
        runs: dict[tuple[str, str], list[Skipped]] = {}
        for one in self.not_run:
            runs.setdefault((one.executor, one.reason), []).append(one)
        rows = tuple(
            (
                executor,
                ", ".join(dict.fromkeys(one.plan for one in of if one.plan)) or None,
                "; ".join(dict.fromkeys(one.case for one in of)),
                reason,
            )
            for (executor, reason), of in runs.items()
        )
        budget = "" if self.budget_s is None else f"; the budget was {self.budget_s:g} s"
        heads = ("executor", "plan", "case", "why")
        return Grid("bench-not-run", f"Not run{budget}.", heads, rows)


_Column = tuple[str, Callable[[Any], Entry]]
"""A head, and a function that gives the entry for an Attempt."""


def varying(runs: Iterable[Attempt]) -> tuple[str, ...]:
    """The parameters that differ among runs of one case by one plan."""
    settings: dict[tuple[str, str | None, str], set[Setting]] = {}
    for run in runs:
        for name, value in run.parameters.items():
            settings.setdefault((run.case, run.plan, name), set()).add(value)
    return tuple(dict.fromkeys(key[2] for key, values in settings.items() if len(values) > 1))


def _who(runs: Sequence[Attempt]) -> Iterator[_Column]:
    """The columns that identify a row, without those alike in all rows."""
    if len({run.case for run in runs}) > 1:
        yield "case", lambda run: run.case
    if len({run.plan for run in runs} - {None}) > 1:
        yield "plan", lambda run: run.plan
    for name in varying(runs):
        yield name, lambda run, name=name: run.parameters.get(name)  # type: ignore[misc]


def _grid(
    id_: str,
    caption: str,
    columns: Iterable[_Column],
    runs: Sequence[Attempt],
    notes: tuple[str, ...],
) -> Grid:
    """A row for each run; of the columns, those with an entry."""
    cells = {head: [entry(run) for run in runs] for head, entry in columns}
    shown = {head: column for head, column in cells.items() if any(c is not None for c in column)}
    return Grid(id_, caption, tuple(shown), tuple(zip(*shown.values(), strict=True)), notes)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else _MS * seconds
