"""The host's anomaly as tables and as a figure: misses, and times predicted and published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.published.tables import MeasuredTable
from gpgpu_legacy.studies.host_anomaly.model import METHOD, Anomaly, Spike

_PAPER = "dobravec-bulic-2017"
_TABLE = "section-3-2"


# What the paper has --------------------------------------------------------------------------


def published_times() -> dict[int, float]:
    """The host's published times by size, in ms: from Section 3.2, then from the tables."""
    paper = find_paper(_PAPER)
    tables = sorted(paper.measured, key=lambda table: not table.id.endswith(_TABLE))
    found: dict[int, float] = {}
    for table in tables:
        for series in table.series:
            if series.method == METHOD:
                for cell in series.cells:
                    found.setdefault(cell.size, cell.value)
    return found


def published_sizes() -> tuple[int, ...]:
    """The sizes around the anomaly, of Section 3.2."""
    table: MeasuredTable = find_paper(_PAPER).measurements(_TABLE)
    return tuple(size for size, _ in table.rows)


# Tables --------------------------------------------------------------------------------------


def anomaly_grids(found: Sequence[Anomaly]) -> list[Grid]:
    """The first machine and paging size by size, all of them beside one another, and the paging."""
    first = found[0]
    grids = [_sizes(first), _side_by_side(found), _models(found)]
    if first.spikes:
        grids.append(_paging(first))
    return grids


def _name(each: Anomaly) -> str:
    return f"{each.host.name}, {each.paging}"


def _digits(value: float | None, places: int) -> Numeral | None:
    return None if value is None else Numeral(f"{value:.{places}f}")


def _sizes(each: Anomaly) -> Grid:
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
        "spike",
    )
    rows = tuple(
        (
            row.size,
            _digits(row.found.misses, 4),
            _digits(row.found.walk_misses, 4),
            _digits(row.found.l1_misses, 4),
            _digits(row.found.dtlb_misses, 4),
            _digits(row.predicted_ns, 2),
            _digits(row.published_ns, 2),
            _digits(row.predicted_ms, 0),
            _digits(row.published_ms, 0),
            "fitted" if row.is_fitted else "predicted",
            "yes" if row.spike_predicted else None,
        )
        for row in each.rows
    )
    counted = max(row.found.rows for row in each.rows)
    notes = (
        "An inner iteration is one of the n³ of MulH. Misses are lines from memory for each, those "
        f"that page walks need among them; counted over {counted} rows of C after warming up. A "
        "spike is predicted where they are more than twice what it takes to read each line of B "
        "once for all the columns in it.",
        _model_note(each),
        "The base has a line from level 2 in it; where columns of B stay in level 1, at some sizes "
        "below 480, the predicted time is a little too long.",
    )
    caption = f"MulH on {each.host.title}, pages {each.paging}."
    return Grid("anomaly", caption, heads, rows, notes)


def _model_note(each: Anomaly) -> str:
    prices = each.prices
    if prices is None:
        return "No times are published at the sizes that prices are fitted to."
    sizes = ", ".join(map(str, prices.sizes))
    parts = [f"{prices.base_ns:.2f} ns"]
    if prices.dtlb_ns is not None:
        parts.append(f"{prices.dtlb_ns:.2f} ns a DTLB miss")
    if prices.miss_ns is not None:
        parts.append(f"{prices.miss_ns:.2f} ns a miss")
    model = f"Time of an iteration: {' + '.join(parts)}, fitted to the published times at n = "
    if prices.miss_ns is None:
        return (
            f"{model}{sizes}. There the misses are the same, so that no price of a miss can be "
            "had: what stands out is left unexplained, and a spike has no predicted time."
        )
    return f"{model}{sizes} alone."


def _side_by_side(found: Sequence[Anomaly]) -> Grid:
    """A row for each size, of which there are many; a column for each machine and paging."""
    heads = ("n", *(_name(each) for each in found), "published, ns")
    rows = [
        (
            same[0].size,
            *(_digits(row.found.misses, 4) for row in same),
            _digits(same[0].published_ns, 2),
        )
        for same in zip(*(each.rows for each in found), strict=True)
    ]
    notes = ("off-colour:f is perfect colouring but for a fraction f of the pages.",)
    caption = "Misses an inner iteration, by machine and paging."
    return Grid("anomaly-misses", caption, heads, tuple(rows), notes)


def _models(found: Sequence[Anomaly]) -> Grid:
    sizes = tuple(dict.fromkeys(spike.size for each in found for spike in each.spikes))
    parts = ("predicted +ns", "misses", "asked for")
    heads = (
        "machine, paging",
        "base, ns",
        "a DTLB miss, ns",
        "a miss, ns",
        *(f"{size}: {part}" for size in sizes for part in parts),
        "largest error elsewhere",
    )
    rows = []
    for each in found:
        at = {spike.size: spike for spike in each.spikes}
        spikes: list[Entry] = []
        for size in sizes:
            spike = at[size]
            extra = _digits(spike.predicted_extra_ns, 1)
            spikes += [extra, _digits(spike.misses, 3), _digits(spike.asked_misses, 3)]
        prices = each.prices
        numbers = (
            (None, None, None)
            if prices is None
            else (prices.base_ns, prices.dtlb_ns, prices.miss_ns)
        )
        error = _largest_error(each)
        rows.append((_name(each), *(_digits(each, 2) for each in numbers), *spikes, error))
    extras = ", ".join(
        f"+{spike.published_extra_ns:.1f} ns at {spike.size}" for spike in found[0].spikes
    )
    notes = (
        f"Published, beside the sizes next to it: {extras}. Asked for: the misses that would make "
        "it up at that price."
        if extras
        else "No published time among these sizes stands out.",
        "Largest error elsewhere: of predicted times of sizes at which nothing "
        "stands out and to which nothing was fitted.",
    )
    return Grid("anomaly-models", "The time models.", heads, tuple(rows), notes)


def _largest_error(each: Anomaly) -> str | None:
    spikes = {spike.size for spike in each.spikes}
    errors = [
        row.predicted_ms / row.published_ms - 1
        for row in each.rows
        if row.predicted_ms is not None and row.published_ms
        if not row.is_fitted and row.size not in spikes
    ]
    return f"{max(errors, key=abs):+.1%}" if errors else None


def _paging(each: Anomaly) -> Grid:
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
    rows = tuple(_paging_row(spike) for spike in each.spikes)
    notes = (
        "The paper puts it down to paging. The matrices take a small part of memory, so nothing is "
        "swapped; the DTLB misses about once an iteration at these sizes and beside them alike. "
        "Where no cost of a DTLB miss stands, there are no more of them than beside it, and no "
        "price of one explains the time.",
        "Without walks: the misses where page walks load nothing. What they add are lines of the "
        "page table that take places in sets that a column of B fills; beside these sizes, where "
        "there is room, they add nothing.",
        "Beside: the means of "
        + "; ".join(f"{', '.join(map(str, s.beside))} for {s.size}" for s in each.spikes)
        + ".",
    )
    caption = f"The paper's own explanation, paging, on {each.host.name}, pages {each.paging}."
    return Grid("anomaly-paging", caption, heads, rows, notes)


def _paging_row(spike: Spike) -> tuple[Entry, ...]:
    return (
        spike.size,
        _digits(spike.published_ns, 2),
        _digits(spike.published_ns_beside, 2),
        _digits(spike.dtlb_misses, 4),
        _digits(spike.dtlb_misses_beside, 4),
        _digits(spike.dtlb_miss_would_cost_ns, 0),
        _digits(spike.misses, 4),
        _digits(spike.walk_misses, 4),
        _digits(spike.misses_without_walks, 4),
        _digits(spike.matrices_bytes / 2**20, 1),
        Numeral(f"{spike.matrices_bytes / spike.memory_bytes:.1%}"),
    )


def anomaly_json(found: Sequence[Anomaly]) -> dict[str, Any]:
    """The first machine and paging, and under `models` all of them."""
    models = [each.as_json() for each in found]
    return {**models[0], "models": models}


# The figure ----------------------------------------------------------------------------------
