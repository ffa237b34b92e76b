"""The host's anomaly, as it is shown, written and drawn: sizes, outliers, and time models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.host_anomaly.cases import Case
from gpgpu_legacy.studies.host_anomaly.outliers import Row, needed_misses
from gpgpu_legacy.studies.host_anomaly.penalties import ANCHOR, Anchor, Penalties, Support
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES


class Outlier(Record):
    """A size whose published time is an outlier, beside the neighbouring sizes (their means).

    All numbers are per iteration: times in ns, misses of level 2 and of the DTLB.
    extra_ns: of the published time, beyond that beside it. predicted_extra_ns: the penalty of the
    extra misses. needed_misses: how many misses would explain the published time.
    misses_without_walks: with page walks that load nothing. dtlb_miss_would_cost_ns: the DTLB miss
    penalty that would explain it, which puts the paper's own explanation, paging, to the test; None
    where there are no more DTLB misses. extra_relative, extra_misses_relative: over those of the
    outlier with the longest extra time; the latter is None where that has no extra misses.
    of_memory: the part of the machine's that A, B and C take.
    """

    size: int
    beside: tuple[int, ...]
    published_ns_beside: float
    extra_ns: float
    extra_relative: float
    misses_beside: float
    misses_without_walks: float
    extra_misses_relative: float | None
    predicted_extra_ns: float | None
    needed_misses: float | None
    dtlb_misses_beside: float
    dtlb_miss_would_cost_ns: float | None
    matrices_bytes: int
    of_memory: float


class Model(Record):
    """One case. hits, missed, false_alarms: outliers simulated, against those published.

    ways: those of level 2 that a column fills exactly at the published outliers. penalties,
    support: None where no times are published to fit. anchors: the fit with other anchors.
    """

    case: Case
    rows: tuple[Row, ...]
    hits: int
    missed: int
    false_alarms: int
    ways: tuple[int, int] | None
    outliers: tuple[Outlier, ...]
    penalties: Penalties | None
    support: Support | None
    anchors: tuple[Anchor, ...]

    @property
    def published(self) -> list[Row]:
        """The sizes that have published times."""
        return [row for row in self.rows if row.published_ns is not None]

    def row(self, size: int) -> Row:
        """A size."""
        return next(row for row in self.rows if row.size == size)

    def largest_error(self, penalties: Penalties) -> float | None:
        """Of the times that these penalties predict, relative to the published ones.

        At sizes from the anchor up that are neither outliers nor part of the fit.
        """
        errors = [
            penalties.iteration_ns(row) / row.published_ns - 1
            for row in self.rows
            if row.published_ns
            and row.size >= ANCHOR
            and row.size not in penalties.sizes
            and not row.is_published_outlier
        ]
        return max(errors, key=abs) if errors else None


class Anomaly(Result):
    """Why the published host is slow at n = 1024 and 1536, case by case; the first in full."""

    models: tuple[Model, ...]

    def __repr__(self) -> str:
        first = self.models[0]
        return f"<anomaly: {first.case.name}: {_counted(first)}, and {len(self.models) - 1} others>"

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Outliers, without any fit, and the time models. whole: all misses and times, what the
        models rest on, and what speaks against paging.
        """
        first = self.models[0]
        outliers = [_outliers(self._machines())] * bool(first.published)
        cases = [_cases(self.models), _times(self.models)]
        if not whole:
            return [*outliers, *cases]
        rest = [_sizes(first), _misses(self.models)]
        if first.support is not None:
            rest.append(_support(first, first.support))
        if first.anchors:
            rest.append(_anchors(first))
        if first.outliers:
            rest.append(_paging(first))
        return [*outliers, *cases, *rest]

    def _machines(self) -> list[Model]:
        """The first case of each machine."""
        firsts: dict[str, Model] = {}
        for model in self.models:
            firsts.setdefault(model.case.machine, model)
        return list(firsts.values())

    def plot(self, path: Path) -> None:
        """Draw misses and times by size, of the first case."""
        from gpgpu_legacy.studies.host_anomaly.plot import draw_anomaly

        draw_anomaly(self.models, path)


def _digits(value: float | None, places: int = 2) -> Numeral | None:
    return None if value is None else Numeral(f"{value:.{places}f}")


def _mark(is_outlier: bool) -> str | None:
    return "yes" if is_outlier else None


def listed(sizes: Sequence[int]) -> str:
    """Sizes in a sentence."""
    return ", ".join(map(str, sizes))


# Outliers, without any fit ----------------------------------------------------------------------


def _outliers(machines: Sequence[Model]) -> Grid:
    """Size by size for the first case of each machine."""
    heads = ["n"]
    for model in machines:
        heads += [f"{model.case.machine}: lines a set", "misses", "outlier"]
    heads += ["published, ns", "times those beside", "outlier"]
    rows = []
    for alike in zip(*(model.published for model in machines), strict=True):
        row, cells = alike[0], list[Entry]([alike[0].size])
        for one in alike:
            cells += [one.lines_a_set, _digits(one.misses, 4), _mark(one.is_outlier)]
        beside = (_digits(row.times_beside), _mark(row.is_published_outlier))
        rows.append((*cells, _digits(row.published_ns), *beside))
    first = machines[0]
    needed = needed_misses(first.case.hierarchy.l2.line_bytes)
    notes = (
        *(f"{m.case.name}: {_counted(m)}. {m.case.host.about}" for m in machines),
        "Misses are simulated, per iteration; nothing is fitted to a time. A simulated outlier has "
        f"more than twice the {needed:g} misses that it takes to read each line of B once for all "
        "the columns in it; a published one takes more than 1.2 times the time per iteration of "
        f"the sizes beside it. Neither limit matters: {_margins(first.published)}.",
        "Lines a set: the most lines of a column of B in one set of level 2, with perfect page "
        f"colouring. {_ways(first)}",
    )
    caption = "Outliers simulated and published."
    return Grid("anomaly-outliers", caption, tuple(heads), tuple(rows), notes)


def _counted(model: Model) -> str:
    published = model.hits + model.missed
    return (
        f"of {published} published outliers {model.hits} simulated, and {model.false_alarms} at "
        f"the other {len(model.published) - published} sizes"
    )


def _margins(rows: Sequence[Row]) -> str:
    """The gaps between outliers and other sizes, of the misses and of the times."""
    parts = []
    outliers = [row.misses for row in rows if row.is_outlier]
    others = [row.misses for row in rows if not row.is_outlier]
    if outliers and others:
        parts.append(f"the misses are {max(others):.3f} at most, or {min(outliers):.3f} at least")
    slow = [row.times_beside for row in rows if row.times_beside and row.is_published_outlier]
    rest = [row.times_beside for row in rows if row.times_beside and not row.is_published_outlier]
    if slow and rest:
        parts.append(f"the times {max(rest):.2f} times those beside, or {min(slow):.2f}")
    return ", ".join(parts) or "there is nothing to divide"


def _ways(model: Model) -> str:
    if model.ways is None:
        return "No number of ways is filled at the published outliers and at no other size."
    return (
        f"A column fills all ways at the published outliers, and at no other size, if there are "
        f"{model.ways[0]} to {model.ways[1]} of them: it is this that the sizes alone decide, for "
        f"{model.case.hierarchy.l2.sets} sets. How far a full set overflows at 1536 decides the "
        "rest, and depends on the paging."
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
            listed([row.size for row in model.published if row.is_outlier]) or None,
            model.missed,
            model.false_alarms,
            *(_digits(model.row(outlier.size).misses, 4) for outlier in model.outliers),
            *(_digits(outlier.extra_misses_relative) for outlier in model.outliers),
        )
        for model in models
    )
    published = ", ".join(f"{one.extra_relative:.2f} at {one.size}" for one in outliers)
    notes = (
        f"Extra: misses beyond those beside it, over those of the slowest outlier. Published is "
        f"{published} of that outlier's extra time, which is the same if each miss costs the same: "
        "so there is no penalty in it."
        if outliers
        else "No published time among these sizes is an outlier.",
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
    parts = ("predicted +ns", "needed misses")
    heads = (
        "machine, paging, policy",
        *_COSTS,
        *(f"{outlier.size}: {part}" for outlier in outliers for part in parts),
        "largest error elsewhere",
    )
    rows = []
    for model in models:
        cells: list[Entry] = []
        for outlier in model.outliers:
            cells += [
                _digits(outlier.predicted_extra_ns, 1),
                _digits(outlier.needed_misses, 3),
            ]
        *costs, error = _costs(model, model.penalties)
        rows.append((model.case.name, *costs, *cells, error))
    extras = ", ".join(f"+{outlier.extra_ns:.1f} ns at {outlier.size}" for outlier in outliers)
    notes = (
        f"Published, relative to the sizes beside it: {extras}. Needed: the misses that would "
        "explain this with the fitted miss penalty."
        if extras
        else "No published time among these sizes is an outlier.",
        "Largest error elsewhere: of predicted times at sizes that are neither outliers nor part "
        f"of the fit, from {ANCHOR} up.",
    )
    return Grid("anomaly-models", "The time models.", heads, tuple(rows), notes)


_COSTS = ("base, ns", "per DTLB miss, ns", "per miss, ns")


def _costs(model: Model, penalties: Penalties | None) -> tuple[Entry, ...]:
    """What _COSTS heads, and the largest error elsewhere."""
    if penalties is None:
        return (None,) * 4
    error = model.largest_error(penalties)
    costs = map(_digits, (penalties.base_ns, penalties.dtlb_ns, penalties.miss_ns))
    return (*costs, None if error is None else f"{error:+.1%}")


def _sizes(model: Model) -> Grid:
    heads = ("n", "misses", "of page walks", "of level 1", "of the DTLB", "predicted, ns",
             "published, ns", "predicted, ms", "published, ms", "time is", "outlier")  # fmt: skip
    rows = tuple(
        (
            row.size,
            *(
                _digits(misses, 4)
                for misses in (row.misses, row.walk_misses, row.l1_misses, row.dtlb_misses)
            ),
            _digits(row.predicted_ns),
            _digits(row.published_ns),
            _digits(row.predicted_ms, 0),
            _digits(row.published_ms, 0),
            "fitted" if row.is_fitted else "predicted",
            _mark(row.is_outlier),
        )
        for row in model.rows
    )
    notes = (
        "An iteration is one of the n³ inner ones of MulH. Misses are lines from memory per "
        f"iteration, those of page walks included, counted over {model.rows[0].rows} rows of C "
        "after warming up.",
        _model_note(model.penalties),
        "The base time includes a line from level 2. At some sizes below 480 columns of B stay in "
        "level 1, and the predicted time is slightly too long.",
    )
    caption = f"MulH on {model.case.host.title}, pages {model.case.paging}."
    return Grid("anomaly", caption, heads, rows, notes)


def _model_note(penalties: Penalties | None) -> str:
    if penalties is None:
        return "No times are published at the sizes of the fit, so there are no miss penalties."
    parts = [f"{penalties.base_ns:.2f} ns"]
    if penalties.dtlb_ns is not None:
        parts.append(f"{penalties.dtlb_ns:.2f} ns a DTLB miss")
    if penalties.miss_ns is not None:
        parts.append(f"{penalties.miss_ns:.2f} ns a miss")
    rest = (
        "The misses at these sizes are the same, so no miss penalty can be fitted: published "
        "outliers stay unexplained, and predicted outliers have no time."
        if penalties.miss_ns is None
        else "What it rests on is a table of its own."
    )
    return (
        f"Time of an iteration: {' + '.join(parts)}, fitted to the published times at n = "
        f"{listed(penalties.sizes)} alone. {rest}"
    )


def _misses(models: Sequence[Model]) -> Grid:
    """A row for each size, a column for each case."""
    heads = ("n", *(model.case.name for model in models))
    rows = tuple(
        (alike[0].size, *(_digits(row.misses, 4) for row in alike))
        for alike in zip(*(model.rows for model in models), strict=True)
    )
    return Grid("anomaly-misses", "Misses per iteration, case by case.", heads, rows)


# What they rest on ------------------------------------------------------------------------------


def _support(model: Model, support: Support) -> Grid:
    heads = ("n", "published, ns", "fitted, ns", "leverage", "from the others, ns")
    rows = tuple(
        (
            size.size,
            _digits(size.published_ns),
            _digits(size.fitted_ns),
            _digits(size.leverage, 3),
            _digits(size.left_out_ns),
        )
        for size in support.sizes
    )
    verdict = (
        "So many points test the model."
        if support.degrees_of_freedom > 0
        else "The fit is saturated: it shows that there are such penalties, and tests nothing."
    )
    predicted = sum(not row.is_fitted for row in model.published)
    notes = (
        f"{len(support.sizes)} sizes have {len(support.points)} different numbers of misses "
        f"({'; '.join(map(listed, support.points))}), and {support.parameters} penalties are "
        f"fitted: {support.degrees_of_freedom} degrees of freedom. {verdict} What remains of the "
        "times of sizes with the same misses is scatter.",
        "Leverage: by how much the fitted time follows the published one. At 1 the fit passes "
        "through the point whatever its time. From the others: predicted without this size, where "
        "the other sizes determine all penalties.",
        f"Fits to one size of each point have {_ranges(support)}.",
        f"Predictions are the times of the {predicted} sizes here that took no part and have "
        "published times.",
    )
    caption = f"What the fit rests on: {model.case.name}."
    return Grid("anomaly-fit", caption, heads, rows, notes)


def _ranges(support: Support) -> str:
    parts = []
    for name, values, of in (
        ("base ", support.base_range_ns, ""),
        ("", support.dtlb_range_ns, " a DTLB miss"),
        ("", support.miss_range_ns, " a miss"),
    ):
        if values is not None:
            low, high = (f"{value:.2f}" for value in values)
            parts.append(f"{name}{low if low == high else f'{low} to {high}'} ns{of}")
    return ", ".join(parts)


def _anchors(model: Model) -> Grid:
    heads = ("anchor", "stride, bytes", "steps prefetched", "misses of level 1", "of the DTLB",
             "published, ns", *_COSTS, "largest error elsewhere")  # fmt: skip
    reach = model.case.host.prefetch_stride_bytes.value
    rows = []
    for anchor in model.anchors:
        own: tuple[Entry, ...] = ("none", *(None,) * 5)
        if anchor.size is not None:
            row = model.row(anchor.size)
            own = (
                anchor.size,
                anchor.size * WORD_BYTES,
                f"{anchor.prefetchable:.0%}",
                _digits(row.l1_misses, 3),
                _digits(row.dtlb_misses, 3),
                _digits(row.published_ns),
            )
        rows.append((*own, *_costs(model, anchor.penalties)))
    notes = (
        f"The fit with each smaller size in place of its {ANCHOR}, and without any. The miss "
        "penalty hardly changes, for it rests on 1024 and its neighbours. The base and the DTLB "
        "penalty rest on the anchor alone.",
        "Steps prefetched: the part of the steps down a column that a prefetcher with a reach of "
        f"{reach} bytes could follow within a page. It is not simulated. A column fits the DTLB up "
        f"to the size up to which a step of 4n bytes is within {reach}, n = {reach // WORD_BYTES}: "
        "what the fit calls the penalty of a DTLB miss may include what prefetching saves below, "
        "and no published time tells them apart.",
    )
    caption = f"Other anchors of the fit: {model.case.name}."
    return Grid("anomaly-anchors", caption, heads, tuple(rows), notes)


def _paging(model: Model) -> Grid:
    heads = ("n", "ns", "ns beside", "DTLB misses", "beside", "a DTLB miss would cost, ns",
             "misses", "of page walks", "without walks", "A, B and C, MiB",
             "of memory")  # fmt: skip
    rows = []
    for outlier in model.outliers:
        row = model.row(outlier.size)
        rows.append((
            row.size,
            _digits(row.published_ns),
            _digits(outlier.published_ns_beside),
            _digits(row.dtlb_misses, 4),
            _digits(outlier.dtlb_misses_beside, 4),
            _digits(outlier.dtlb_miss_would_cost_ns, 0),
            _digits(row.misses, 4),
            _digits(row.walk_misses, 4),
            _digits(outlier.misses_without_walks, 4),
            _digits(outlier.matrices_bytes / 2**20, 1),
            Numeral(f"{outlier.of_memory:.1%}"),
        ))  # fmt: skip
    notes = (
        "The paper suspects paging. But the matrices take a small part of memory, so nothing is "
        "swapped, and the DTLB misses about once per iteration at these sizes and at those beside "
        "them alike. Where no cost of a DTLB miss is given, there are no more DTLB misses than "
        "beside it, and no DTLB miss penalty explains the time.",
        "Without walks: the misses where page walks load nothing. Page walks add lines of the page "
        "table to sets that a column of B already fills; at the sizes beside these, where the sets "
        "have room, they add no misses.",
        "Beside: the means of "
        + "; ".join(f"{listed(o.beside)} for {o.size}" for o in model.outliers)
        + ".",
    )
    caption = (
        f"The paper's own explanation, paging, on {model.case.machine}, pages {model.case.paging}."
    )
    return Grid("anomaly-paging", caption, heads, tuple(rows), notes)
