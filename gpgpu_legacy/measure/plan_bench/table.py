"""Benchmarks of plans as tables: who took how long on which plan, and what was not run."""

from __future__ import annotations

from gpgpu_legacy.measure.notes import (
    UNSTEADY,
    is_unsteady,
    milliseconds,
    not_run_caption,
    run_notes,
    runs_of,
)
from gpgpu_legacy.measure.plan_bench.record import PlanBench, PlanResult
from gpgpu_legacy.measure.platform import settings_in_words
from gpgpu_legacy.present.grid import Entry, Grid, Numeral


def plan_bench_grids(bench: PlanBench) -> list[Grid]:
    """The times and errors, the ratios to the peers, and what was not run; each if it has rows."""
    grids = (_times_grid(bench), _ratios_grid(bench), _not_run_grid(bench))
    return [grid for grid in grids if grid.rows]


def _times_grid(bench: PlanBench) -> Grid:
    several = len(bench.cases) > 1
    has_function = any(result.is_reference for result in bench.results)
    has_peer = any(result.max_peer_difference is not None for result in bench.results)
    heads = ["case"] if several else []
    heads += ["executor", "ms", "over fastest"]
    heads += ["over function", "error"] if has_function else []
    heads += ["difference", *["from the peer"] * has_peer]
    heads += ["runs", "fastest", "slowest", "prepare, ms", "transfers, ms"]
    rows = tuple(_row(result, several, has_function, has_peer) for result in bench.results)
    return Grid("plan-bench", _caption(bench), tuple(heads), rows, tuple(_notes(bench)))


def _caption(bench: PlanBench) -> str:
    names = ", ".join(dict.fromkeys(case.plan for case in bench.cases))
    passes = {case.passes for case in bench.cases}
    count = passes.pop() if len(passes) == 1 else None
    words = "" if count is None else f", {count} pass{'es' * (count != 1)}"
    return f"{names}{words}, on {bench.device}{settings_in_words(bench.settings)}."


def _row(
    result: PlanResult, several: bool, has_function: bool, has_peer: bool
) -> tuple[Entry, ...]:
    fastest, slowest = result.spread
    up_s, back_s = result.upload_s, result.readback_s
    row: list[Entry] = [result.case] if several else []
    row += [f"{result.executor}()" if result.is_reference else result.executor]
    row += [milliseconds(result.seconds), _short(result.over_fastest, 3)]
    if has_function:
        row += [_short(result.over_reference, 3), _short(result.max_error, 2)]
    row += [_short(result.max_difference, 2)]
    row += [_short(result.max_peer_difference, 2)] * has_peer
    row += [
        runs_of(result, len(result.samples)),
        milliseconds(fastest),
        milliseconds(slowest),
        milliseconds(result.prepare_s),
        milliseconds(None if up_s is None or back_s is None else up_s + back_s),
    ]
    return tuple(row)


def _notes(bench: PlanBench) -> list[str]:
    machine = "exact " * bench.exact + bench.arithmetic
    notes = [
        "Times are medians of runs in turn, of the passes alone; fastest and slowest are single "
        f"runs. Arithmetic: {machine}. Driver: {bench.driver}.",
        "“Over” divides by the time of the fastest executor, or of the reference function: above 1 "
        "is slower.",
    ]
    if any(result.is_reference for result in bench.results):
        notes.append(
            "The reference function has a name with (). It computes on float64 arrays in memory. "
            "Errors are the largest difference from its results, over their largest magnitude."
        )
    notes.append(
        "Differences are the largest from the results of the reference machine, over their largest "
        "magnitude; 0 is bit for bit."
    )
    if any(result.max_peer_difference is not None for result in bench.results):
        notes.append("Differences from the peer are the same, from the results of the first peer.")
    notes += run_notes(bench)
    unsteady = [result for result in bench.results if is_unsteady(result)]
    if unsteady:
        names = ", ".join(dict.fromkeys(result.executor for result in unsteady))
        notes.append(
            f"Some runs of {names} took over {UNSTEADY:g} times as long as others: the machine "
            "was busy, and ratios may be wrong."
        )
    return notes


def _ratios_grid(bench: PlanBench) -> Grid:
    """How many times as fast as each peer the executors are; no rows without peers."""
    peers = list(dict.fromkeys(r.executor for r in bench.results if r.is_peer))
    own = [r for r in bench.results if peers and not r.is_peer and not r.is_reference]
    seconds = {(r.case, r.executor): r.seconds for r in bench.results if r.is_peer}
    several = len(bench.cases) > 1
    rows = tuple(
        (
            *([result.case] if several else []),
            result.executor,
            *(_over(seconds.get((result.case, peer)), result.seconds) for peer in peers),
        )
        for result in own
    )
    heads = (*(["case"] if several else []), "executor", *(f": {peer}" for peer in peers))
    caption = "How many times as fast as its peers, in the same run."
    return Grid("plan-bench-ratios", caption, heads, rows, ("Above 1 the executor is faster.",))


def _over(peer_s: float | None, seconds: float) -> Numeral | None:
    return None if peer_s is None or seconds <= 0.0 else _short(peer_s / seconds, 3)


def _short(number: float | None, digits: int) -> Numeral | None:
    return None if number is None else Numeral(f"{number:.{digits}g}")


def _not_run_grid(bench: PlanBench) -> Grid:
    """A row for each executor and reason, with all cases that it applies to."""
    cases: dict[tuple[str, str], list[str]] = {}
    for entry in bench.not_run:
        cases.setdefault((entry.executor, entry.reason), []).append(entry.case)
    several = len(bench.cases) > 1
    rows = tuple(
        (*([", ".join(labels)] if several else []), executor, reason)
        for (executor, reason), labels in cases.items()
    )
    heads = ("case", "executor", "why") if several else ("executor", "why")
    return Grid("plan-bench-not-run", not_run_caption(bench.budget_s), heads, rows)
