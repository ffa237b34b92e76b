"""The time models as tables: what they predict, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.studies.host_anomaly.anchors import Anchor
from gpgpu_legacy.studies.host_anomaly.cells import digits, listed, span
from gpgpu_legacy.studies.host_anomaly.model import Anomaly
from gpgpu_legacy.studies.host_anomaly.penalties import ANCHOR, Penalties, Support
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES


def fit_grids(anomalies: Sequence[Anomaly]) -> list[Grid]:
    """The penalties of all cases; what the first case's rest on; and other anchors for them."""
    first = anomalies[0]
    grids = [_models(anomalies)]
    if first.support is not None:
        grids.append(_support(first, first.support))
    if first.anchors:
        grids.append(_anchors(first))
    return grids


def _models(anomalies: Sequence[Anomaly]) -> Grid:
    sizes = tuple(
        dict.fromkeys(outlier.size for anomaly in anomalies for outlier in anomaly.outliers)
    )
    parts = ("predicted +ns", "misses", "needed")
    heads = (
        "machine, paging, policy",
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
        f"of the fit, from {ANCHOR} up.",
    )
    rows = tuple(_model_row(anomaly, sizes) for anomaly in anomalies)
    return Grid("anomaly-models", "The time models.", heads, rows, notes)


def _model_row(anomaly: Anomaly, sizes: Sequence[int]) -> tuple[Entry, ...]:
    at = {outlier.size: outlier for outlier in anomaly.outliers}
    cells: list[Entry] = []
    for size in sizes:
        outlier = at[size]
        cells += [
            digits(outlier.predicted_extra_ns, 1),
            digits(outlier.misses, 3),
            digits(outlier.needed_misses, 3),
        ]
    penalties = anomaly.penalties
    error = None if penalties is None else anomaly.largest_error(penalties)
    return (anomaly.name, *_costs(penalties), *cells, None if error is None else f"{error:+.1%}")


def _costs(penalties: Penalties | None) -> tuple[Entry, Entry, Entry]:
    if penalties is None:
        return None, None, None
    return (
        digits(penalties.base_ns, 2),
        digits(penalties.dtlb_ns, 2),
        digits(penalties.miss_ns, 2),
    )


def _support(anomaly: Anomaly, rests_on: Support) -> Grid:
    heads = ("n", "published, ns", "fitted, ns", "leverage", "from the others, ns")
    rows = tuple(
        (
            size.size,
            digits(size.published_ns, 2),
            digits(size.fitted_ns, 2),
            digits(size.leverage, 3),
            digits(size.left_out_ns, 2),
        )
        for size in rests_on.sizes
    )
    points = "; ".join(map(listed, rests_on.points))
    freedom = rests_on.degrees_of_freedom
    verdict = (
        "The fit is saturated: it shows that there are such penalties, and tests nothing."
        if rests_on.is_saturated
        else "So many points test the model."
    )
    notes = (
        f"{len(rests_on.sizes)} sizes have {len(rests_on.points)} different numbers of misses "
        f"({points}), and {rests_on.parameters} penalties are fitted: "
        f"{freedom} degrees of freedom. {verdict} What remains of the times of sizes with the same "
        "misses is scatter.",
        "Leverage: by how much the fitted time follows the published one. At 1 the fit passes "
        "through the point whatever its time. From the others: predicted without this size, where "
        "the other sizes determine all penalties.",
        f"Fits to one size of each point have {_ranges(rests_on)}.",
        f"Predictions are the times of the {len(anomaly.predictions)} sizes here that took no part "
        "and have published times.",
    )
    caption = f"What the fit rests on: {anomaly.name}."
    return Grid("anomaly-fit", caption, heads, rows, notes)


def _ranges(rests_on: Support) -> str:
    parts = (
        ("base", rests_on.base_range_ns, ""),
        ("", rests_on.dtlb_range_ns, " a DTLB miss"),
        ("", rests_on.miss_range_ns, " a miss"),
    )
    known = [(name, span(values, 2), of) for name, values, of in parts]
    return ", ".join(f"{name} {cell.text} ns{of}".strip() for name, cell, of in known if cell)


def _anchors(anomaly: Anomaly) -> Grid:
    heads = (
        "anchor",
        "stride, bytes",
        "steps prefetched",
        "misses of level 1",
        "of the DTLB",
        "published, ns",
        "base, ns",
        "per DTLB miss, ns",
        "per miss, ns",
        "largest error elsewhere",
    )
    reach = anomaly.host.prefetch_stride_bytes.value
    rows = tuple(_anchor_row(anomaly, anchor) for anchor in anomaly.anchors)
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
    caption = f"Other anchors of the fit: {anomaly.name}."
    return Grid("anomaly-anchors", caption, heads, rows, notes)


def _anchor_row(anomaly: Anomaly, anchor: Anchor) -> tuple[Entry, ...]:
    error = anomaly.largest_error(anchor.penalties)
    costs = (*_costs(anchor.penalties), None if error is None else f"{error:+.1%}")
    if anchor.simulated is None:
        return ("none", None, None, None, None, None, *costs)
    size = anchor.simulated.size
    return (
        size,
        size * WORD_BYTES,
        f"{anchor.prefetchable:.0%}",
        digits(anchor.simulated.l1_misses, 3),
        digits(anchor.simulated.dtlb_misses, 3),
        digits(anchor.published_ns, 2),
        *costs,
    )
