"""Outliers simulated and published, as tables: the part of the study without any fit."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.studies.host_anomaly.cells import digits, listed
from gpgpu_legacy.studies.host_anomaly.evidence import Evidence, needed_misses
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, first_of_each_machine


def evidence_grids(anomalies: Sequence[Anomaly]) -> list[Grid]:
    """Size by size for the first case of each machine, then the count of each case."""
    if not anomalies[0].evidence.calls:
        return []
    return [_by_size(first_of_each_machine(anomalies)), _by_case(anomalies)]


def _by_size(machines: Sequence[Anomaly]) -> Grid:
    heads = ["n"]
    for one in machines:
        heads += [f"{one.host.name}: lines a set", "misses", "outlier"]
    heads += ["published, ns", "times those beside", "outlier"]
    rows = []
    for calls in zip(*(one.evidence.calls for one in machines), strict=True):
        cells: list[Entry] = [calls[0].size]
        for call in calls:
            cells += [call.lines_a_set, digits(call.misses, 4), _mark(call.is_simulated)]
        cells += [
            digits(calls[0].published_ns, 2),
            digits(calls[0].beside, 2),
            _mark(calls[0].is_published),
        ]
        rows.append(tuple(cells))
    first = machines[0]
    needed = needed_misses(first.case.hierarchy.l2.line_bytes)
    notes = (
        *(f"{one.name}: {_counted(one.evidence)}. {one.host.about}" for one in machines),
        "Misses are simulated, per iteration; nothing is fitted to a time. A simulated outlier has "
        f"more than twice the {needed:g} misses that it takes to read each line of B once for all "
        "the columns in it; a published one takes more than 1.2 times the time per iteration of "
        f"the sizes beside it. Neither limit matters: {_margins(first.evidence)}.",
        "Lines a set: the most lines of a column of B in one set of level 2, with perfect page "
        f"colouring. {_ways(first)}",
    )
    caption = "Outliers simulated and published."
    return Grid("anomaly-outliers", caption, tuple(heads), tuple(rows), notes)


def _mark(is_outlier: bool) -> str | None:
    return "yes" if is_outlier else None


def _counted(found: Evidence) -> str:
    published = found.hits + found.misses
    return (
        f"of {published} published outliers {found.hits} simulated, and {found.false_alarms} at "
        f"the other {len(found.calls) - published} sizes"
    )


def _margins(found: Evidence) -> str:
    """The gaps between outliers and other sizes, of the misses and of the times."""
    parts = []
    outliers = [call.misses for call in found.calls if call.is_simulated]
    others = [call.misses for call in found.calls if not call.is_simulated]
    if outliers and others:
        parts.append(f"the misses are {max(others):.3f} at most, or {min(outliers):.3f} at least")
    slow = [call.beside for call in found.calls if call.beside and call.is_published]
    rest = [call.beside for call in found.calls if call.beside and not call.is_published]
    if slow and rest:
        parts.append(f"the times {max(rest):.2f} times those beside, or {min(slow):.2f}")
    return ", ".join(parts) or "there is nothing to divide"


def _ways(anomaly: Anomaly) -> str:
    ways = anomaly.evidence.ways
    if ways is None:
        return "No number of ways is filled at the published outliers and at no other size."
    return (
        f"A column fills all ways at the published outliers, and at no other size, if there are "
        f"{ways[0]} to {ways[1]} of them: it is this that the sizes alone decide, for "
        f"{anomaly.case.hierarchy.l2.sets} sets. How far a full set overflows at 1536 decides the "
        "rest, and depends on the paging."
    )


def _by_case(anomalies: Sequence[Anomaly]) -> Grid:
    outliers = anomalies[0].outliers
    heads = (
        "machine, paging, policy",
        "outliers simulated",
        "missed",
        "false alarms",
        *(f"{outlier.size}: misses" for outlier in outliers),
        *(f"{outlier.size}: extra" for outlier in outliers),
    )
    rows = tuple(_case_row(anomaly) for anomaly in anomalies)
    published = ", ".join(
        f"{anomalies[0].extra_time(outlier):.2f} at {outlier.size}" for outlier in outliers
    )
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


def _case_row(anomaly: Anomaly) -> tuple[Entry, ...]:
    calls = anomaly.evidence.calls
    return (
        anomaly.name,
        listed(tuple(call.size for call in calls if call.is_simulated)) or None,
        anomaly.evidence.misses,
        anomaly.evidence.false_alarms,
        *(digits(outlier.misses, 4) for outlier in anomaly.outliers),
        *(digits(anomaly.extra_misses(outlier), 2) for outlier in anomaly.outliers),
    )
