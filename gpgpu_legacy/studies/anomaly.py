"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The simulated processor follows the loop of the paper's Listing 1 access by access. Its misses show
the sizes with outliers, without using any time (host_misses.py). This holds if level 2 has 3 MB, a
size that was chosen by these outliers. The misses are then turned into times, and compared with the
published ones. An iteration takes a base time, and a penalty for each miss:

    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, per iteration)

The penalties, none below 0, are fitted by least squares to the published times at FIT_SIZES and to
no others; the times at all other sizes are predictions. If the misses are the same at all sizes of
the fit, no miss penalty can be fitted; outliers are then left out of the fit. The base time
includes everything else: the arithmetic, and a line from level 2.

Sizes with the same misses are one point for such a fit, however many they are. With as many points
as penalties the fit is saturated: it passes through the points, whatever their times, and shows
nothing about the model. `Support` says what a fit rests on.

The DTLB penalty rests on one size, the anchor, at which the DTLB holds a column of B. There, a step
down a column is also short enough for a stride prefetcher of the time; at the other sizes of the
fit it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import Argument
from gpgpu_legacy.api.command.words import Seed, split
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.host_misses import (
    METHOD,
    ROWS,
    WORD_BYTES,
    HostCase,
    HostMisses,
    HostRow,
    check_size,
    find_outliers,
    find_ways,
    make_cases,
    make_rows,
    needed_misses,
    published_times,
    simulate_host,
)
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.present.plot import (
    COLOURS,
    GREY,
    INK,
    SOFT,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.serial import Record, with_fields

ANCHOR = 480
"""The size of the fit at which the DTLB holds a column of B."""


class Penalties(Record):
    """The fitted time model.

    dtlb_ns, miss_ns: the penalty of a DTLB miss, and of a line from memory; None if the sizes of
    the fit do not determine it. sizes: those of the fit.
    """

    base_ns: float
    dtlb_ns: float | None
    miss_ns: float | None
    sizes: tuple[int, ...]

    def iteration_ns(self, simulated: HostMisses) -> float:
        """The time of an iteration with these misses."""
        dtlb_ns, miss_ns = self.dtlb_ns or 0.0, self.miss_ns or 0.0
        return self.base_ns + dtlb_ns * simulated.dtlb_misses + miss_ns * simulated.misses


class Support(Record):
    """The independent points that a fit rests on.

    points: the sizes of the fit, those with the same misses together. degrees_of_freedom: points
    that are left to test the model with. miss_range_ns: the least and the greatest miss penalty of
    fits to one size of each point; None if no such fit determines it.
    """

    points: tuple[tuple[int, ...], ...]
    degrees_of_freedom: int
    miss_range_ns: tuple[float, float] | None


class Outlier(Record):
    """A size whose published time is an outlier, compared with the sizes beside it.

    All numbers are per iteration: times in ns, misses of level 2. extra_ns: the published time less
    the mean of the times beside it. misses_beside: the mean of the misses beside it.
    extra_relative, extra_misses_relative: the extra time and misses over those of the outlier with
    the longest extra time; the latter is None if that outlier has no extra misses.
    """

    size: int
    beside: tuple[int, ...]
    extra_ns: float
    extra_relative: float
    misses_beside: float
    extra_misses_relative: float | None


class Model(Record):
    """One case. hits, missed, false_alarms: outliers simulated, against those published.

    ways: the fewest and the most ways of level 2 that a column fills at the published outliers and
    at no other size; None if no number does. penalties, support: None if no times are published to
    fit.
    """

    case: HostCase
    rows: tuple[HostRow, ...]
    hits: int
    missed: int
    false_alarms: int
    ways: tuple[int, int] | None
    outliers: tuple[Outlier, ...]
    penalties: Penalties | None
    support: Support | None

    @property
    def published(self) -> list[HostRow]:
        """The sizes that have published times."""
        return [row for row in self.rows if row.published_ns is not None]

    @property
    def outlying(self) -> list[tuple[HostRow, Outlier]]:
        """Each outlier with its row."""
        at = {row.size: row for row in self.rows}
        return [(at[outlier.size], outlier) for outlier in self.outliers]

    @property
    def largest_error(self) -> float | None:
        """The largest error of the predicted times, relative to the published ones.

        Only sizes from the anchor up count that are neither outliers nor part of the fit; None if
        there are none.
        """
        errors = [
            self.penalties.iteration_ns(row) / row.published_ns - 1
            for row in self.rows
            if self.penalties
            and row.published_ns
            and row.size >= ANCHOR
            and row.size not in self.penalties.sizes
            and not row.is_published_outlier
        ]
        return max(errors, key=abs, default=None)


class Anomaly(Result):
    """An explanation of the published host's slowness at n = 1024 and 1536, if level 2 has 3 MB.

    models: one for each case; the first is shown in full.
    """

    models: tuple[Model, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The outliers, the cases and the time models; whole: all sizes of the first case, too."""
        first = self.models[0]
        outliers = [_outlier_grid(self.models)] if first.published else []
        sizes = [_sizes(first)] if whole else []
        return [*outliers, _cases(self.models), _times(self.models), *sizes]

    def plot(self, path: Path) -> None:
        """Draw misses over n, and below them the published and the predicted times.

        Only the first case is drawn. The published outliers are named, and sizes are evenly spaced.
        """
        model, *others = self.models
        rows, figure = model.rows, new_figure(height_inches=_HEIGHT)
        misses, times = figure.subplots(2, 1, sharex=True)
        for axes in (misses, times):
            style_axes(axes)
        for row, outlier in model.outlying:
            place = rows.index(row)
            published = f"n = {row.size}:\n{row.published_ns:.3g} ns published"
            if row.predicted_ns is not None:
                how = "fitted" if row.is_fitted else "predicted"
                published += f",\n{row.predicted_ns:.3g} {how}"
            simulated = (
                f"n = {row.size}:\n{row.misses:.3g} misses,\n{outlier.misses_beside:.2g} beside it"
            )
            slowest = max(row.published_ns or 0.0, row.predicted_ns or 0.0)
            for axes, height, text, colour in (
                (misses, row.misses, simulated, INK),
                (times, slowest, published, _PUBLISHED),
            ):
                axes.axvspan(place - 0.4, place + 0.4, color=_PUBLISHED, alpha=0.1, linewidth=0)
                axes.annotate(
                    text, (place, height), (0, 5), textcoords="offset points", fontsize=_SMALL,
                    color=colour, ha="center", va="bottom",
                )  # fmt: skip
        misses.plot([row.misses for row in rows], "o-", color=_MODEL, linewidth=1.4, markersize=4.5)
        limit = 2 * needed_misses(model.case.hierarchy.l2.line_bytes)
        misses.axhline(limit, color=GREY, linewidth=0.9, linestyle=":")
        misses.annotate(
            "an outlier is above this", (0, limit), (0, 3), textcoords="offset points",
            fontsize=_SMALL, color=SOFT, va="bottom",
        )  # fmt: skip
        misses.set_ylim(0, _ROOM * max(row.misses for row in rows))
        misses.set_ylabel("misses of level 2 an iteration")
        times_ns = np.array([(row.predicted_ns, row.published_ns) for row in rows], float)
        predicted, published_ns = times_ns.T
        times.plot(predicted, "o--", color=_MODEL, linewidth=1.2, markersize=4.5, label="predicted")
        times.plot(published_ns, "s", color=_PUBLISHED, markersize=6.0, label="published")
        times.set_ylim(0, _ROOM * (np.nanmax(times_ns) if np.isfinite(times_ns).any() else 1.0))
        times.set_ylabel("ns an iteration")
        times.legend(loc="upper left", frameon=False, fontsize=9.5)
        times.set_xticks(range(len(rows)), [str(row.size) for row in rows], rotation=60)
        times.set_xlabel("n of the n×n matrices, evenly spaced")
        figure.align_ylabels()
        more = f" The tables have {len(others)} other cases." if others else ""
        jumps = separated([outlier.size for outlier in model.outliers]) or "no size"
        simulated = separated([row.size for row in rows if row.is_outlier]) or "no size"
        save_figure(
            figure,
            path,
            "MulH of Dobravec & Bulić 2017 on the host",
            f"One model, {model.case.name}, on {model.case.host.title}.{more}",
            f"The published times jump at {jumps}; the simulated misses at {simulated}, on "
            "condition that level 2 is of this size.",
        )


def separated(sizes: Sequence[int]) -> str:
    """Sizes as text, separated by commas."""
    return ", ".join(map(str, sizes))


# Outliers, without any fit ----------------------------------------------------------------------


def _outlier_grid(models: Sequence[Model]) -> Grid:
    """The outliers, size by size, for the first case of each machine."""
    machines = list({model.case.machine: model for model in reversed(models)}.values())[::-1]
    heads = ["n"]
    for model in machines:
        heads += [f"{model.case.machine}: lines a set", "misses", "outlier"]
    rows = tuple(
        (
            alike[0].size,
            *(e for one in alike for e in (one.lines_a_set, one.misses, one.is_outlier or None)),
            alike[0].published_ns,
            alike[0].times_beside,
            alike[0].is_published_outlier or None,
        )
        for alike in zip(*(model.published for model in machines), strict=True)
    )
    first = machines[0]
    needed = needed_misses(first.case.hierarchy.l2.line_bytes)
    ways = "No number of ways is filled at the published outliers and at no other size."
    if first.ways is not None:
        ways = (
            f"A column fills all ways at the published outliers, and at no other size, if there "
            f"are {first.ways[0]} to {first.ways[1]} of them: it is this that the sizes alone "
            f"decide, for {first.case.hierarchy.l2.sets} sets. How far a full set overflows at "
            "1536 decides the rest, and depends on the paging."
        )
    notes = (
        *(f"{m.case.name}: {_counted(m)}. {m.case.host.about}" for m in machines),
        "This explains the outliers on condition that level 2 has 3 MB, a size that the outliers "
        "themselves chose: the machine that fits the paper's description best is listed with 6 MB. "
        "Rivals are untested: strides of nearly whole pages, which may fall into the same banks of "
        "DRAM, and the time of page walks.",
        "Misses are simulated, per iteration; nothing is fitted to a time. A simulated outlier has "
        f"more than twice the {needed:g} misses that it takes to read each line of B once for all "
        "the columns in it; a published one takes more than 1.2 times the time per iteration of "
        "the sizes beside it.",
        "Lines a set: the most lines of a column of B in one set of level 2, with perfect page "
        f"colouring. {ways}",
    )
    heads += ["published, ns", "times those beside", "outlier"]
    caption = "Outliers simulated and published."
    return Grid("anomaly-outliers", caption, tuple(heads), rows, notes)


def _counted(model: Model) -> str:
    published = model.hits + model.missed
    return (
        f"of {published} published outliers {model.hits} simulated, and {model.false_alarms} at "
        f"the other {len(model.published) - published} sizes"
    )


def _cases(models: Sequence[Model]) -> Grid:
    outliers = models[0].outliers
    heads = (
        "machine, paging, policy",
        "outliers simulated",
        "missed",
        "false alarms",
        *(f"{outlier.size}: misses" for outlier in outliers),
        *(f"{outlier.size}: extra" for outlier in outliers),
    )
    rows = tuple(
        (
            model.case.name,
            separated([row.size for row in model.published if row.is_outlier]) or None,
            model.missed,
            model.false_alarms,
            *(row.misses for row, _ in model.outlying),
            *(outlier.extra_misses_relative for outlier in model.outliers),
        )
        for model in models
    )
    published = ", ".join(f"{one.extra_relative:.2f} at {one.size}" for one in outliers)
    notes = (
        f"Extra: misses beyond those beside it, over those of the slowest outlier. Published is "
        f"{published} of that outlier's extra time, which is the same if each miss costs the same: "
        "so there is no penalty in it."
        if outliers
        else _NO_OUTLIER,
        "Coloured is perfect page colouring; miscoloured:f, except for a fraction f of the pages; "
        "random, no colouring at all. xnu colours pages as OS X 10.9 does, by when they are first "
        "touched (read in xnu-2422.115.4); xnu@N if the matrices begin at page N of the 512 that a "
        "page of the page table describes, which is not known.",
        "Replacement is LRU unless it says plru or random-plru: 3 trees of 4 or 8 ways, of which "
        "the least recently used or a random one gives a line. What 12 ways have is not known. "
        "Abel and Reineke (ISPASS 2014; only its beginning could be read) found tree pseudo-LRU in "
        "a Core 2 with 8 ways, other behaviour in those with 16 and 24, and two pseudo-LRUs that "
        "draw random numbers; their nanoBench simulates one that draws one of 3 trees.",
    )
    return Grid("anomaly-evidence", "Outliers, case by case.", heads, rows, notes)


# Time models ------------------------------------------------------------------------------------


def _times(models: Sequence[Model]) -> Grid:
    outliers = models[0].outliers
    heads = (
        "machine, paging, policy",
        "base, ns",
        "per DTLB miss, ns",
        "per miss, ns",
        "largest error elsewhere",
    )
    rows = tuple(
        (
            model.case.name,
            *(getattr(model.penalties, name, None) for name in ("base_ns", "dtlb_ns", "miss_ns")),
            None if model.largest_error is None else f"{model.largest_error:+.1%}",
        )
        for model in models
    )
    extras = ", ".join(f"+{outlier.extra_ns:.1f} ns at {outlier.size}" for outlier in outliers)
    notes = (
        f"Published, relative to the sizes beside it: {extras}." if extras else _NO_OUTLIER,
        "Largest error elsewhere: of predicted times at sizes that are neither outliers nor part "
        f"of the fit, from {ANCHOR} up.",
    )
    return Grid("anomaly-models", "The time models.", heads, rows, notes)


_NO_OUTLIER = "No published time among these sizes is an outlier."


def _sizes(model: Model) -> Grid:
    heads = ("n", "misses", "of page walks", "of level 1", "of the DTLB", "predicted, ns",
             "published, ns", "time is", "outlier")  # fmt: skip
    rows = tuple(
        (
            row.size,
            row.misses,
            row.walk_misses,
            row.l1_misses,
            row.dtlb_misses,
            row.predicted_ns,
            row.published_ns,
            "fitted" if row.is_fitted else "predicted",
            row.is_outlier or None,
        )
        for row in model.rows
    )
    times = "No times are published at the sizes of the fit, so there are no miss penalties."
    if model.penalties is not None:
        times = f"Fitted to the published times at n = {separated(model.penalties.sizes)} alone."
        if model.penalties.miss_ns is None:
            times += (
                " The misses at these sizes are the same, so no miss penalty can be fitted: "
                "published outliers stay unexplained, and predicted outliers have no time."
            )
    if model.support is not None:
        points, freedom = model.support.points, model.support.degrees_of_freedom
        times += (
            f" These have {len(points)} different numbers of misses "
            f"({'; '.join(map(separated, points))}): {freedom} degrees of freedom. "
        ) + (
            "So many points test the model."
            if freedom > 0
            else "The fit is saturated: it shows that there are such penalties, and tests nothing."
        )
        if model.support.miss_range_ns is not None:
            low, high = model.support.miss_range_ns
            times += f" With one size of each, the penalty of a miss is {low:.2f} to {high:.2f} ns."
    notes = (
        "An iteration is one of the n³ inner ones of MulH. Misses are lines from memory per "
        f"iteration, those of page walks included, counted over {ROWS} rows of C "
        "after warming up.",
        times,
        "The base time includes a line from level 2. At some sizes below 480 columns of B stay in "
        "level 1, and the predicted time is slightly too long.",
        "The paper suspects paging. Nothing is swapped: A, B and C take "
        f"{3 * WORD_BYTES * model.rows[-1].size ** 2 / model.case.hierarchy.memory_bytes:.1%} of "
        "memory at most. The DTLB misses about once per iteration at the outliers and at the sizes "
        "beside them alike; what a page walk costs beyond its loads is not simulated.",
    )
    caption = f"MulH on {model.case.host.title}, pages {model.case.paging}."
    return Grid("anomaly", caption, heads, rows, notes)


# The picture ------------------------------------------------------------------------------------

_HEIGHT = 6.0  # inches
_SMALL = 9.0  # points
_PUBLISHED, _MODEL = COLOURS[2], COLOURS[1]
_ROOM = 1.32  # above the highest mark, for words


FIT_SIZES = (ANCHOR, 992, 1008, 1024, 1040, 1056)
"""n = 1024, the largest outlier, its neighbours, and the anchor."""

_SAME_MISSES = 0.05  # per iteration: sizes that differ by less are one point


UNPUBLISHED_SIZES = (768, 1280, 2048)
"""Further sizes, for which no times are published."""


def sizes_for(wanted: Sequence[int]) -> list[int]:
    """The sizes to simulate: those wanted, those of the fit, and those beside an outlier.

    wanted: if empty, all sizes with published times, and UNPUBLISHED_SIZES.
    """
    published = published_times()
    outliers = find_outliers(published)
    sizes = {*(wanted or (*published, *UNPUBLISHED_SIZES)), *FIT_SIZES}
    return sorted(sizes.union(*(outliers.get(size, ()) for size in sizes)))


def anomaly(
    cases: Sequence[HostCase],
    sizes: Sequence[int],
    progress: Callable[[str], object] = lambda _: None,
) -> Anomaly:
    """Misses, predicted and published times at some sizes, for each case.

    progress: called with each size that is done. Sizes are simulated in parallel on all cores, the
    slowest first. Raises InputError for a size that cannot be simulated.
    """
    wanted = sorted({*sizes}, reverse=True)
    for size in wanted:
        check_size(size)
    hosts = [(case.hierarchy, case.pages) for case in cases]
    simulated = []
    with ThreadPoolExecutor() as pool:
        for misses in pool.map(partial(simulate_host, cases=hosts), wanted):
            simulated.append(misses)
            progress(f"n = {misses[0].size}")
    return Anomaly(models=tuple(map(_model, cases, zip(*simulated, strict=True))))


def _model(case: HostCase, misses: Sequence[HostMisses]) -> Model:
    published = published_times()
    rows = make_rows(misses, published, case.hierarchy.l2)
    known = [row for row in rows if row.published_ns is not None]
    fitted = [row for row in known if row.size in FIT_SIZES]
    penalties = fit(fitted) if fitted else None
    return Model(
        case=case,
        rows=tuple(
            with_fields(
                row, predicted_ns=penalties.iteration_ns(row), is_fitted=row.size in penalties.sizes
            )
            if penalties and (penalties.miss_ns is not None or not row.is_outlier)
            else row
            for row in rows
        ),
        hits=sum(row.is_outlier and row.is_published_outlier for row in known),
        missed=sum(not row.is_outlier and row.is_published_outlier for row in known),
        false_alarms=sum(row.is_outlier and not row.is_published_outlier for row in known),
        ways=find_ways(rows),
        outliers=tuple(_outliers(rows, find_outliers(published))),
        penalties=penalties,
        support=support(penalties, rows) if penalties else None,
    )


def _outliers(
    rows: Sequence[HostRow], outliers: Mapping[int, tuple[int, ...]]
) -> Iterator[Outlier]:
    """The published outliers that are simulated with all their neighbours."""
    at = {row.size: row for row in rows}
    found = []
    for size, beside in sorted(outliers.items()):
        if {size, *beside} <= at.keys():
            ns, *ns_beside = (at[n].published_ns or 0.0 for n in (size, *beside))
            misses = mean(at[n].misses for n in beside)
            found.append((size, beside, ns - mean(ns_beside), misses, at[size].misses - misses))
    _, _, most_ns, _, most_misses = max(found, key=lambda one: one[2], default=(0,) * 5)
    for size, beside, extra_ns, misses, extra_misses in found:
        yield Outlier(
            size=size,
            beside=beside,
            extra_ns=extra_ns,
            extra_relative=extra_ns / most_ns,
            misses_beside=misses,
            extra_misses_relative=extra_misses / most_misses if most_misses > 0.0 else None,
        )


# The fit ------------------------------------------------------------------------------------------


def fit(rows: Sequence[HostRow]) -> Penalties:
    """The penalties, by least squares on the published times of these sizes.

    No penalty is below 0: of all fits to some of the columns, this is the best without a negative
    one.
    """
    has_misses = _differ([row.misses for row in rows])
    if not has_misses:
        rows = [row for row in rows if not row.is_published_outlier]
    has_walks = _differ([row.dtlb_misses for row in rows])
    columns = np.array([[1.0, has_walks * r.dtlb_misses, has_misses * r.misses] for r in rows])
    times = np.array([row.published_ns for row in rows])
    fits = (
        np.linalg.lstsq(columns * used, times, rcond=None)[0] * used
        for used in product((0.0, 1.0), repeat=3)
    )
    base, walk, miss = min(
        (one.tolist() for one in fits if (one >= 0).all()),
        key=lambda one: float(np.linalg.norm(columns @ one - times)),
    )
    return Penalties(
        base_ns=base,
        dtlb_ns=walk if has_walks else None,
        miss_ns=miss if has_misses else None,
        sizes=tuple(row.size for row in rows),
    )


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


def support(penalties: Penalties, rows: Sequence[HostRow]) -> Support:
    """What the penalties rest on. rows: these include all sizes of the fit."""
    points: list[list[HostRow]] = []
    for row in (row for row in rows if row.size in penalties.sizes):
        for point in points:
            one = point[0]
            if not (
                _differ([row.misses, one.misses]) or _differ([row.dtlb_misses, one.dtlb_misses])
            ):
                point.append(row)
                break
        else:
            points.append([row])
    fits = (fit(chosen) for chosen in product(*points))
    known = [one.miss_ns for one in fits if one.miss_ns is not None]
    return Support(
        points=tuple(tuple(row.size for row in point) for point in points),
        degrees_of_freedom=len(points)
        - 1
        - sum(n is not None for n in (penalties.dtlb_ns, penalties.miss_ns)),
        miss_range_ns=(min(known), max(known)) if known else None,
    )


# The command --------------------------------------------------------------------------------------


@answers("study anomaly", plot="Plot times and misses by size.")
def anomaly_command(
    *,
    words: Annotated[
        tuple[str, ...],
        Argument("[n=N,…]", "Sizes (default: all with published times, 768, 1280, 2048)."),
    ] = (),
    machine: Annotated[
        tuple[str, ...],
        "NAME",
        "One or several of core2-3mb, core2-6mb (default: all); the first is shown in full.",
    ] = (),
    paging: Annotated[
        tuple[str, ...],
        "PAGING",
        "How pages are mapped to frames: coloured, random, miscoloured:F with F the "
        "fraction of miscoloured pages, or as OS X does: xnu, xnu@N with N the first page of "
        "512, xnu:F with F pages for others per page (default: coloured miscoloured:0.01 random "
        "xnu); the first is shown in full.",
    ] = (),
    policy: Annotated[
        tuple[str, ...],
        "POLICY",
        "How level 2 replaces lines: lru, plru, random-plru, fifo, random (default: lru; for the "
        "first machine plru and random-plru, too, with xnu).",
    ] = (),
    seed: Seed = 0,
    report: Report,
) -> Anomaly:
    """Explain why the host of Dobravec & Bulić is slow at n = 1024 and 1536, if level 2 has 3 MB.

    The host's loop is simulated with the caches, the DTLB and the pages of its processor. First
    come the sizes at which the simulation has outliers beside those that were published: for that
    nothing is fitted to a time, but the outliers chose the size of level 2. Then miss penalties are
    fitted to the published times at n = 1024 and its neighbours; they predict the times at all
    other sizes, which are shown beside the published ones.
    """
    whats, given = split(words)
    if whats or given.keys() - {"n"}:
        raise InputError("the host's product has only a size; write n=512,1024")
    cases = make_cases(machine, paging, policy, seed)
    method, texts = find_product(METHOD), given["n"].split(",") if given else ()
    sizes = sizes_for([method.settings({"n": text.strip()})["n"] for text in texts])
    with report.progress("simulating", len(sizes)) as step:
        return anomaly(cases, sizes, progress=step)
