"""The host's anomaly as tables: misses, and times predicted and published."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, Outlier


def anomaly_grids(anomalies: Sequence[Anomaly]) -> list[Grid]:
    """The first machine and paging size by size, all of them side by side, and the paging."""
    first = anomalies[0]
    grids = [_sizes(first), _side_by_side(anomalies), _models(anomalies)]
    if first.outliers:
        grids.append(_paging(first))
    return grids


def _digits(value: float | None, places: int) -> Numeral | None:
    return None if value is None else Numeral(f"{value:.{places}f}")


def _sizes(anomaly: Anomaly) -> Grid:
    heads = (
        "n",
        "misses",
        "of page walks",
        "of level 1",
        "of the DTLB",
        "predicted, ns",
        "published, ns",
        "predicted, ms",
        "published, ms",
        "time is",
        "outlier",
    )
    rows = tuple(
        (
            row.size,
            _digits(row.simulated.misses, 4),
            _digits(row.simulated.walk_misses, 4),
            _digits(row.simulated.l1_misses, 4),
            _digits(row.simulated.dtlb_misses, 4),
            _digits(row.predicted_ns, 2),
            _digits(row.published_ns, 2),
            _digits(row.predicted_ms, 0),
            _digits(row.published_ms, 0),
            "fitted" if row.is_fitted else "predicted",
            "yes" if row.outlier_predicted else None,
        )
        for row in anomaly.rows
    )
    counted = max(row.simulated.rows for row in anomaly.rows)
    notes = (
        "An iteration is one of the n³ inner ones of MulH. Misses are lines from memory per "
        f"iteration, those of page walks included, counted over {counted} rows of C after warming "
        "up. An outlier is predicted where they are more than twice what it takes to read each "
        "line of B once for all the columns in it.",
        _model_note(anomaly),
        "The base time includes a line from level 2. At some sizes below 480 columns of B stay in "
        "level 1, and the predicted time is slightly too long.",
    )
    caption = f"MulH on {anomaly.host.title}, pages {anomaly.paging}."
    return Grid("anomaly", caption, heads, rows, notes)


def _model_note(anomaly: Anomaly) -> str:
    penalties = anomaly.penalties
    if penalties is None:
        return "No times are published at the sizes of the fit, so there are no miss penalties."
    sizes = ", ".join(map(str, penalties.sizes))
    parts = [f"{penalties.base_ns:.2f} ns"]
    if penalties.dtlb_ns is not None:
        parts.append(f"{penalties.dtlb_ns:.2f} ns a DTLB miss")
    if penalties.miss_ns is not None:
        parts.append(f"{penalties.miss_ns:.2f} ns a miss")
    model = f"Time of an iteration: {' + '.join(parts)}, fitted to the published times at n = "
    if penalties.miss_ns is None:
        return (
            f"{model}{sizes}. The misses at these sizes are the same, so no miss penalty can be "
            "fitted: published outliers stay unexplained, and predicted outliers have no time."
        )
    return f"{model}{sizes} alone."


def _side_by_side(anomalies: Sequence[Anomaly]) -> Grid:
    """A row for each size, a column for each machine and paging."""
    heads = ("n", *(anomaly.name for anomaly in anomalies), "published, ns")
    rows = [
        (
            same_size[0].size,
            *(_digits(row.simulated.misses, 4) for row in same_size),
            _digits(same_size[0].published_ns, 2),
        )
        for same_size in zip(*(anomaly.rows for anomaly in anomalies), strict=True)
    ]
    notes = ("miscoloured:f is perfect page colouring except for a fraction f of the pages.",)
    caption = "Misses per iteration, by machine and paging."
    return Grid("anomaly-misses", caption, heads, tuple(rows), notes)


def _models(anomalies: Sequence[Anomaly]) -> Grid:
    sizes = tuple(
        dict.fromkeys(outlier.size for anomaly in anomalies for outlier in anomaly.outliers)
    )
    parts = ("predicted +ns", "misses", "needed")
    heads = (
        "machine, paging",
        "base, ns",
        "per DTLB miss, ns",
        "per miss, ns",
        *(f"{size}: {part}" for size in sizes for part in parts),
        "largest error elsewhere",
    )
    extras = ", ".join(
        f"+{outlier.published_extra_ns:.1f} ns at {outlier.size}"
        for outlier in anomalies[0].outliers
    )
    notes = (
        f"Published, relative to the sizes beside it: {extras}. Needed: the misses that would "
        "explain this with the fitted miss penalty."
        if extras
        else "No published time among these sizes is an outlier.",
        "Largest error elsewhere: of predicted times at sizes that are neither outliers nor part "
        "of the fit.",
    )
    rows = tuple(_model_row(anomaly, sizes) for anomaly in anomalies)
    return Grid("anomaly-models", "The time models.", heads, rows, notes)


def _model_row(anomaly: Anomaly, sizes: Sequence[int]) -> tuple[Entry, ...]:
    at = {outlier.size: outlier for outlier in anomaly.outliers}
    cells: list[Entry] = []
    for size in sizes:
        outlier = at[size]
        cells += [
            _digits(outlier.predicted_extra_ns, 1),
            _digits(outlier.misses, 3),
            _digits(outlier.needed_misses, 3),
        ]
    fitted = anomaly.penalties
    penalties = (None,) * 3 if fitted is None else (fitted.base_ns, fitted.dtlb_ns, fitted.miss_ns)
    return (
        anomaly.name,
        *(_digits(penalty, 2) for penalty in penalties),
        *cells,
        _largest_error(anomaly),
    )


def _largest_error(anomaly: Anomaly) -> str | None:
    outliers = {outlier.size for outlier in anomaly.outliers}
    errors = [
        row.predicted_ms / row.published_ms - 1
        for row in anomaly.rows
        if row.predicted_ms is not None and row.published_ms
        if not row.is_fitted and row.size not in outliers
    ]
    return f"{max(errors, key=abs):+.1%}" if errors else None


def _paging(anomaly: Anomaly) -> Grid:
    heads = (
        "n",
        "ns",
        "ns beside",
        "DTLB misses",
        "beside",
        "a DTLB miss would cost, ns",
        "misses",
        "of page walks",
        "without walks",
        "A, B and C, MiB",
        "of memory",
    )
    rows = tuple(_paging_row(outlier) for outlier in anomaly.outliers)
    notes = (
        "The paper suspects paging. But the matrices take a small part of memory, so nothing is "
        "swapped, and the DTLB misses about once per iteration at these sizes and at those beside "
        "them alike. Where no cost of a DTLB miss is given, there are no more DTLB misses than "
        "beside it, and no DTLB miss penalty explains the time.",
        "Without walks: the misses where page walks load nothing. Page walks add lines of the page "
        "table to sets that a column of B already fills; at the sizes beside these, where the sets "
        "have room, they add no misses.",
        "Beside: the means of "
        + "; ".join(f"{', '.join(map(str, o.beside))} for {o.size}" for o in anomaly.outliers)
        + ".",
    )
    caption = (
        f"The paper's own explanation, paging, on {anomaly.host.name}, pages {anomaly.paging}."
    )
    return Grid("anomaly-paging", caption, heads, rows, notes)


def _paging_row(outlier: Outlier) -> tuple[Entry, ...]:
    return (
        outlier.size,
        _digits(outlier.published_ns, 2),
        _digits(outlier.published_ns_beside, 2),
        _digits(outlier.dtlb_misses, 4),
        _digits(outlier.dtlb_misses_beside, 4),
        _digits(outlier.dtlb_miss_would_cost_ns, 0),
        _digits(outlier.misses, 4),
        _digits(outlier.walk_misses, 4),
        _digits(outlier.misses_without_walks, 4),
        _digits(outlier.matrices_bytes / 2**20, 1),
        Numeral(f"{outlier.matrices_bytes / outlier.memory_bytes:.1%}"),
    )
