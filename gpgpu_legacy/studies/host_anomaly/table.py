"""The host's anomaly as tables: first the outliers, then misses and times."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.host_anomaly.cells import digits, listed
from gpgpu_legacy.studies.host_anomaly.evidence_table import evidence_grids
from gpgpu_legacy.studies.host_anomaly.fit_table import fit_grids
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, Outlier


def anomaly_grids(anomalies: Sequence[Anomaly]) -> list[Grid]:
    """Outliers, without any fit; then misses and times, what these rest on, and the paging.

    The first case is shown size by size, all of them side by side.
    """
    first = anomalies[0]
    grids = [
        *evidence_grids(anomalies),
        _sizes(first),
        _side_by_side(anomalies),
        *fit_grids(anomalies),
    ]
    if first.outliers:
        grids.append(_paging(first))
    return grids


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
            digits(row.misses, 4),
            digits(row.walk_misses, 4),
            digits(row.l1_misses, 4),
            digits(row.dtlb_misses, 4),
            digits(row.predicted_ns, 2),
            digits(row.published_ns, 2),
            digits(row.predicted_ms, 0),
            digits(row.published_ms, 0),
            "fitted" if row.is_fitted else "predicted",
            "yes" if row.outlier_predicted else None,
        )
        for row in anomaly.rows
    )
    counted = max(row.rows for row in anomaly.rows)
    notes = (
        "An iteration is one of the n³ inner ones of MulH. Misses are lines from memory per "
        f"iteration, those of page walks included, counted over {counted} rows of C after warming "
        "up. An outlier is predicted where they are more than twice what it takes to read each "
        "line of B once for all the columns in it.",
        _model_note(anomaly),
        "The base time includes a line from level 2. At some sizes below 480 columns of B stay in "
        "level 1, and the predicted time is slightly too long.",
    )
    caption = f"MulH on {anomaly.host.title}, pages {anomaly.case.paging}."
    return Grid("anomaly", caption, heads, rows, notes)


def _model_note(anomaly: Anomaly) -> str:
    penalties = anomaly.penalties
    if penalties is None:
        return "No times are published at the sizes of the fit, so there are no miss penalties."
    sizes = listed(penalties.sizes)
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
    return f"{model}{sizes} alone; what it rests on is a table of its own."


def _side_by_side(anomalies: Sequence[Anomaly]) -> Grid:
    """A row for each size, a column for each case."""
    heads = ("n", *(anomaly.name for anomaly in anomalies), "published, ns")
    rows = [
        (
            same_size[0].size,
            *(digits(row.misses, 4) for row in same_size),
            digits(same_size[0].published_ns, 2),
        )
        for same_size in zip(*(anomaly.rows for anomaly in anomalies), strict=True)
    ]
    caption = "Misses per iteration, case by case."
    return Grid("anomaly-misses", caption, heads, tuple(rows))


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
        + "; ".join(f"{listed(o.beside)} for {o.size}" for o in anomaly.outliers)
        + ".",
    )
    caption = (
        f"The paper's own explanation, paging, on {anomaly.host.name}, pages {anomaly.case.paging}."
    )
    return Grid("anomaly-paging", caption, heads, rows, notes)


def _paging_row(outlier: Outlier) -> tuple[Entry, ...]:
    return (
        outlier.size,
        digits(outlier.published_ns, 2),
        digits(outlier.published_ns_beside, 2),
        digits(outlier.dtlb_misses, 4),
        digits(outlier.dtlb_misses_beside, 4),
        digits(outlier.dtlb_miss_would_cost_ns, 0),
        digits(outlier.misses, 4),
        digits(outlier.walk_misses, 4),
        digits(outlier.misses_without_walks, 4),
        digits(outlier.matrices_bytes / 2**20, 1),
        Numeral(f"{outlier.matrices_bytes / outlier.memory_bytes:.1%}"),
    )
