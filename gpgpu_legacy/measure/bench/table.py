"""Benchmarks as tables: results, ratios to the peers of the same run, and two runs compared.

All of it is made from the JSON of a run (measure/bench/model.py), new or recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import read_json
from gpgpu_legacy.measure.tuned import Kept
from gpgpu_legacy.present.grid import Entry, Grid, Numeral

Result = dict[str, Any]
"""One of a run's `results`."""

_MS = 1e3
_UNSTEADY = 4.0
_NEEDED = ("method", "executor", "size", "block", "seconds", "gflops", "max_relative_error")
_NUMBERS = ("seconds", "size")


def read_results(path: Path) -> dict[str, Any]:
    """A recorded run; InputError, in one line, for a file that is none."""
    data = read_json(path, "results")
    for name in ("device", "driver"):
        if not isinstance(data.get(name), str):
            raise InputError(f"{path} holds no recorded benchmark; it has no {name!r}")
    results = data["results"]
    if not isinstance(results, list) or not all(isinstance(each, dict) for each in results):
        raise InputError(f"{path} holds no recorded benchmark; its results are no list of them")
    for number, each in enumerate(results):
        missing = [name for name in _NEEDED if name not in each]
        if missing:
            raise InputError(f"{path}: result {number} has no {missing[0]!r}")
        for name in _NUMBERS:
            if not isinstance(each[name], int | float) or not each[name] > 0:
                raise InputError(f"{path}: the {name} of result {number} is {each[name]!r}")
    return data


# One run -----------------------------------------------------------------------------------------


def bench_grids(data: dict[str, Any]) -> list[Grid]:
    """The results, their ratios to the peers, and what was not run, where there is any of it."""
    results, not_run = data["results"], data.get("not_run", [])
    grids = []
    if results:
        grids.append(_results_grid(data, results))
    ratios = _ratios_grid(results)
    if ratios is not None:
        grids.append(ratios)
    if not_run:
        grids.append(_not_run_grid(data, not_run))
    return grids


def _results_grid(data: dict[str, Any], results: Sequence[Result]) -> Grid:
    heads = (
        "n", "method", "executor", "b", "accumulate", "ms", "fastest", "slowest", "runs", "GFLOPS",
        "largest error",
    )  # fmt: skip
    rows = []
    for each in results:
        spread = each.get("spread") or (None, None)
        error = each["max_relative_error"]
        rows.append(
            (
                each["size"],
                _name(each),
                each["executor"],
                each["block"],
                each.get("accumulate"),
                _milliseconds(each["seconds"]),
                _milliseconds(spread[0]),
                _milliseconds(spread[1]),
                each.get("runs"),
                each["gflops"],
                None if error is None else Numeral(f"{error:.2g}"),
            )
        )
    caption = f"Products of n×n matrices on {data['device']}."
    notes = [
        "Times are medians of runs in turns, of computing alone. Errors are "
        "relative to the largest element of the product in float64.",
        f"Driver: {data['driver']}.",
    ]
    unsteady = sorted({each["size"] for each in results if _is_unsteady(each)})
    if unsteady:
        sizes = ", ".join(map(str, unsteady))
        notes.append(
            f"At n = {sizes} some runs took over {_UNSTEADY:g} times as long as others of the same "
            "kind: the machine was busy, and ratios may say little."
        )
    sampled = sorted({each["size"] for each in results if _is_sampled(each)})
    if sampled:
        sizes = ", ".join(map(str, sampled))
        notes.append(f"At n = {sizes} the error is of rows taken at random.")
    return Grid("bench", caption, heads, tuple(rows), tuple(notes))


def _is_unsteady(each: Result) -> bool:
    fastest, slowest = each.get("spread") or (0.0, 0.0)
    return bool(slowest > _UNSTEADY * fastest)


def _is_sampled(each: Result) -> bool:
    return bool(each.get("rows_checked", each["size"]) < each["size"])


def _name(each: Result) -> str:
    return f"{each['method']} of {each['of']}" if each.get("of") else str(each["method"])


def _milliseconds(seconds: float | None) -> Numeral | None:
    return None if seconds is None else Numeral(f"{_MS * seconds:.4g}")


def _ratios_grid(results: Sequence[Result]) -> Grid | None:
    """Each method's GFLOPS over those of every peer at the same size; None where there are none."""
    peers = list(dict.fromkeys(each["method"] for each in results if each.get("peer")))
    own = [each for each in results if not each.get("peer")]
    if not peers or not own:
        return None
    rows = tuple(
        (
            each["size"],
            each["method"],
            each["executor"],
            each["block"],
            *(_ratio(each, _peer_of(each, peer, results)) for peer in peers),
        )
        for each in own
    )
    heads = ("n", "method", "executor", "b", *(f": {peer}" for peer in peers))
    notes = (
        "Above 1 the method is faster. The driver's own ARB_fragment_program is of the same method "
        "and block.",
    )
    caption = "How many times as fast as its peers, in the same run."
    return Grid("bench-ratios", caption, heads, rows, notes)


def _peer_of(each: Result, peer: str, results: Sequence[Result]) -> Result | None:
    for other in results:
        of_it = other.get("of") is None or (
            (other["of"], other["block"]) == (each["method"], each["block"])
        )
        if other["method"] == peer and other["size"] == each["size"] and of_it:
            return other
    return None


def _ratio(each: Result, peer: Result | None) -> Numeral | None:
    if peer is None or each["seconds"] <= 0.0:
        return None
    return Numeral(f"{peer['seconds'] / each['seconds']:.3g}")


def _not_run_grid(data: dict[str, Any], not_run: Sequence[Result]) -> Grid:
    """A row for each entrant and reason, with all the sizes that it stands for."""
    sizes: dict[tuple[Entry, ...], list[int]] = {}
    for each in not_run:
        key = (_name(each), each["executor"], each["block"], each["reason"])
        sizes.setdefault(key, []).append(each["size"])
    rows = tuple((", ".join(map(str, found)), *key) for key, found in sizes.items())
    budget = data.get("budget_s")
    caption = "Not run." if budget is None else f"Not run; the budget was {budget:g} s."
    return Grid("bench-not-run", caption, ("n", "method", "executor", "b", "why"), rows)


# Two runs ----------------------------------------------------------------------------------------


def compare(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """GFLOPS of two runs and their ratios, new over old, for what both have.

    `comparable` is whether device and driver agree; there are no ratios where they do not.
    """
    differences = [
        {"what": what, "old": old[what], "new": new[what]}
        for what in ("device", "driver")
        if old[what] != new[what]
    ]
    before = {_key(each): each for each in old["results"]}
    ratios: list[dict[str, Any]] = []
    for each in [] if differences else new["results"]:
        other = before.get(_key(each))
        if other is not None:
            ratios.append(
                {
                    **{name: each.get(name) for name in _KEY},
                    "old_seconds": other["seconds"],
                    "new_seconds": each["seconds"],
                    "ratio": other["seconds"] / each["seconds"],
                }
            )
    after = {_key(each) for each in new["results"]}
    return {
        "comparable": not differences,
        "differences": differences,
        "ratios": ratios,
        "only_old": sum(key not in after for key in before),
        "only_new": sum(key not in before for key in after),
    }


_KEY = ("method", "of", "executor", "size", "block", "accumulate")


def _key(each: Result) -> tuple[Any, ...]:
    return tuple(each.get(name) for name in _KEY)


def compare_grid(compared: dict[str, Any]) -> Grid:
    """The ratios as a table."""
    rows: list[tuple[Entry, ...]] = [
        (
            each["size"],
            _name(each),
            each["executor"],
            each["block"],
            each["accumulate"],
            _milliseconds(each["old_seconds"]),
            _milliseconds(each["new_seconds"]),
            Numeral(f"{each['ratio']:.3g}"),
        )
        for each in compared["ratios"]
    ]
    notes = ["New / old is of GFLOPS: above 1 the new run is faster."]
    for name in ("old", "new"):
        alone = compared[f"only_{name}"]
        if alone:
            results = "1 result is" if alone == 1 else f"{alone} results are"
            notes.append(f"{results} in the {name} run alone.")
    heads = ("n", "method", "executor", "b", "accumulate", "old, ms", "new, ms", "new / old")
    return Grid(
        "bench-compared", "Two runs on one device and driver.", heads, tuple(rows), tuple(notes)
    )


def why_not_comparable(compared: dict[str, Any]) -> str:
    """What differs, in a line."""
    parts = [f"{d['what']} {d['old']!r} then, {d['new']!r} now" for d in compared["differences"]]
    return f"the two runs say nothing about one another: {'; '.join(parts)}"


# What tuning has found ---------------------------------------------------------------------------


def kept_grid(kept: Sequence[Kept], device: str) -> Grid:
    """The ways that are kept for a device."""
    heads = ("method", "fastest way found", "n", "ms", "by default, ms", "gain", "tried", "on")
    rows = tuple(
        (
            each.method,
            str(each.way),
            each.size,
            _milliseconds(each.seconds),
            _milliseconds(each.default_seconds),
            Numeral(f"{each.default_seconds / each.seconds:.3g}"),
            each.trials,
            each.date,
        )
        for each in kept
    )
    notes = ("`--executor auto` takes these ways; GPGPU_LEGACY_TUNING=off switches that off.",)
    return Grid("tuned", f"Tuned on {device}.", heads, rows, notes)
