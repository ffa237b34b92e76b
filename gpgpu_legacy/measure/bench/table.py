"""Benchmarks as tables: results, ratios to the peers of the same run, and two runs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpgpu_legacy.measure.bench.record import Bench, Comparison, Result, Skipped, SpeedUp
from gpgpu_legacy.measure.notes import (
    UNSTEADY,
    is_unsteady,
    milliseconds,
    not_run_caption,
    run_notes,
    runs_of,
)
from gpgpu_legacy.measure.platform import settings_in_words
from gpgpu_legacy.present.grid import Entry, Grid, Numeral

_TIMED = {
    False: "computing alone",
    True: "whole calls: from matrices in memory to a product there",
}


# One run -----------------------------------------------------------------------------------------


def bench_grids(bench: Bench) -> list[Grid]:
    """The results, their ratios to the peers, and what was not run; each only if it has rows."""
    grids = (_results_grid(bench), _ratios_grid(bench.results), _not_run_grid(bench))
    return [grid for grid in grids if grid.rows]


def _results_grid(bench: Bench) -> Grid:
    heads = (
        "n", "method", "executor", "b", "accumulate", "ms", "fastest", "slowest", "runs", "GFLOPS",
        "largest error",
    )  # fmt: skip
    rows = tuple(_row(result) for result in bench.results)
    what = "Whole calls for products" if bench.whole else "Products"
    caption = f"{what} of n×n matrices on {bench.device}{settings_in_words(bench.settings)}."
    return Grid("bench", caption, heads, rows, tuple(_notes(bench)))


def _row(result: Result) -> tuple[Entry, ...]:
    fastest, slowest = result.spread
    error = result.max_relative_error
    return (
        result.size,
        _name(result),
        result.executor,
        result.block,
        result.accumulate,
        milliseconds(result.seconds),
        milliseconds(fastest),
        milliseconds(slowest),
        runs_of(result, result.runs),
        result.gflops,
        None if error is None else Numeral(f"{error:.2g}"),
    )


def _notes(bench: Bench) -> list[str]:
    notes = [
        f"Times are medians of runs in turn, of {_TIMED[bench.whole]}. Errors are relative to the "
        "largest element of the product in float64.",
        f"Driver: {bench.driver}.",
        *run_notes(bench),
    ]
    unsteady = _sizes(bench.results, is_unsteady)
    if unsteady:
        notes.append(
            f"At n = {unsteady} some runs took over {UNSTEADY:g} times as long as others of the "
            "same kind: the machine was busy, and ratios may be wrong."
        )
    sampled = _sizes(bench.results, lambda result: result.rows_checked < result.size)
    if sampled:
        notes.append(f"At n = {sampled} the error is that of rows chosen at random.")
    return notes


def _sizes(results: Iterable[Result], holds: Callable[[Result], bool]) -> str:
    """The sizes of the results for which something holds, as a list in words."""
    return ", ".join(map(str, sorted({result.size for result in results if holds(result)})))


def _name(result: Result | Skipped | SpeedUp) -> str:
    return f"{result.method} of {result.of}" if result.of else result.method


def _ratios_grid(results: Sequence[Result]) -> Grid:
    """Each method's GFLOPS over those of every peer at its size; no rows without peers."""
    peers = list(dict.fromkeys(result.method for result in results if result.peer))
    own = [result for result in results if peers and not result.peer]
    rows = tuple(
        (
            result.size,
            result.method,
            result.executor,
            result.block,
            *(_ratio(result, _peer_of(result, peer, results)) for peer in peers),
        )
        for result in own
    )
    heads = ("n", "method", "executor", "b", *(f": {peer}" for peer in peers))
    notes = (
        "Above 1 the method is faster. The driver's own ARB_fragment_program is of the same method "
        "and block.",
    )
    caption = "How many times as fast as its peers, in the same run."
    return Grid("bench-ratios", caption, heads, rows, notes)


def _peer_of(result: Result, peer: str, results: Sequence[Result]) -> Result | None:
    for other in results:
        is_general = other.of is None
        if (other.method, other.size) == (peer, result.size) and (
            is_general or (other.of, other.block) == (result.method, result.block)
        ):
            return other
    return None


def _ratio(result: Result, peer: Result | None) -> Numeral | None:
    if peer is None or result.seconds <= 0.0:
        return None
    return Numeral(f"{peer.seconds / result.seconds:.3g}")


def _not_run_grid(bench: Bench) -> Grid:
    """A row for each entrant and reason, with all sizes that it applies to."""
    sizes: dict[tuple[Entry, ...], list[int]] = {}
    for entry in bench.not_run:
        key = (_name(entry), entry.executor, entry.block, entry.reason)
        sizes.setdefault(key, []).append(entry.size)
    rows = tuple((", ".join(map(str, of_key)), *key) for key, of_key in sizes.items())
    heads = ("n", "method", "executor", "b", "why")
    return Grid("bench-not-run", not_run_caption(bench.budget_s), heads, rows)


# Two runs ----------------------------------------------------------------------------------------


def compare_grid(compared: Comparison) -> Grid:
    """The ratios of two benchmarks as a table."""
    rows = tuple(
        (
            speed_up.size,
            _name(speed_up),
            speed_up.executor,
            speed_up.block,
            speed_up.accumulate,
            milliseconds(speed_up.old_seconds),
            milliseconds(speed_up.new_seconds),
            Numeral(f"{speed_up.ratio:.3g}"),
        )
        for speed_up in compared.ratios
    )
    notes = ["New / old is of GFLOPS: above 1 the new run is faster."]
    for name, alone in (("old", compared.only_old), ("new", compared.only_new)):
        if alone:
            results = "1 result is" if alone == 1 else f"{alone} results are"
            notes.append(f"{results} in the {name} run alone.")
    heads = ("n", "method", "executor", "b", "accumulate", "old, ms", "new, ms", "new / old")
    caption = "Two runs on one device and driver."
    return Grid("bench-compared", caption, heads, rows, tuple(notes))


def why_not_comparable(compared: Comparison) -> str:
    """In what the two machines differ, in a line."""
    parts = [f"{d.what} {d.old!r} then, {d.new!r} now" for d in compared.differences]
    return f"the two runs cannot be compared: {'; '.join(parts)}"
