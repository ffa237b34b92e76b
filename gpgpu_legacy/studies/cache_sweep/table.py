"""Plans through caches as tables: one run, a sweep, miss-ratio curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from gpgpu_legacy.cache.distances import Distances
from gpgpu_legacy.cache.heat_map import HeatMap
from gpgpu_legacy.cache.simulate import Result, Tally
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.cache_sweep.model import Case, Curve, NotRun, Run, Sweep

CONVENTIONS = (
    "Fragments come one after another in raster order. Each makes its lookups in program order, "
    "then its write (a blended write is a read, then a write). A copy reads, then writes each "
    "texel, row by row. Clears, uploads and initial values make no accesses. Textures are stored "
    "one after another in the plan's order, each aligned to 4 KiB, row 0 first. The cache is cold "
    "when the run begins and keeps its contents from pass to pass."
)
KERNEL_CONVENTIONS = (
    "Work groups come one after another, and the invocations of each make every access in turn; "
    "masked invocations make none. Buffers, then shared arrays, are stored one after another, each "
    "aligned to 4 KiB. The cache is cold when the run begins and keeps its contents from dispatch "
    "to dispatch."
)
_QUADS = "The four fragments of a quad make each access in turn."
IN_FLIGHT = (
    "Where several {units} are in flight, so many start together and make each access in turn; the "
    "next ones start when all are done."
)
_WRITES = {
    False: "Writes do not allocate: a write that misses leaves the cache as it is, and every write "
    "goes through to memory.",
    True: "Writes allocate: a write that misses fetches its line, and a dirty line is written back "
    "to memory when it is evicted, or at the end.",
}


# One run -----------------------------------------------------------------------------------------


def run_grids(run: Run) -> list[Grid]:
    """A run as a table by texture, with remarks below it."""
    result = run.result
    what = "array" if run.case.of_kernels else "texture"
    heads = (
        what, "reads", "hit, %", "writes", "hit, %", "bytes requested", "from memory", "to memory",
    )  # fmt: skip
    rows = [_tally_row(tally) for tally in result.regions if tally.accesses]
    total = _tally_row(_sum(result.regions))
    caption = f"{run.case.subject.title}, {_through(run.case)}."
    return [Grid("cache", caption, heads, (*rows, total), tuple(_notes(run)))]


def _sum(tallies: Sequence[Tally]) -> Tally:
    _, *names = (field.name for field in fields(Tally))
    return Tally("in all", *(sum(getattr(tally, name) for tally in tallies) for name in names))


def _tally_row(tally: Tally) -> tuple[Entry, ...]:
    return (
        tally.name,
        tally.reads,
        _percent(tally.read_hits, tally.reads),
        tally.writes,
        _percent(tally.write_hits, tally.writes),
        tally.bytes_requested,
        tally.bytes_from_memory,
        tally.bytes_to_memory,
    )


def _percent(part: int, whole: int) -> Numeral | None:
    return Numeral(f"{100 * part / whole:.4g}") if whole else None


def _through(case: Case) -> str:
    raster, layout = case.access.raster.name, case.access.layout.name
    where = "" if case.of_kernels else f"; raster order {raster}, texture layout {layout}"
    if case.access.in_flight > 1:
        where += f", {case.access.in_flight} {_units(case)} in flight"
    private = " for each texture" if case.memory.per_texture else ""
    levels = [str(level) for level in case.memory.levels]
    second = f", then {levels[1]} for all" if len(levels) > 1 else ""
    return f"through {levels[0]}{private}{second}{where}"


def _notes(run: Run) -> Iterable[str]:
    case, result = run.case, run.result
    if not result.accesses:
        yield "There are no accesses."
        return
    yield (
        f"{result.accesses:,} accesses, reads and writes together: {result.hits:,} hits and "
        f"{result.misses:,} misses, a hit ratio of {100 * result.hit_ratio:.4g} %."
    )
    yield (
        f"{result.bytes_requested:,} bytes requested, {result.bytes_from_memory:,} from memory "
        f"({100 * result.bytes_from_memory / result.bytes_requested:.3g} % of them), "
        f"{result.bytes_to_memory:,} to memory."
    )
    for number, level in enumerate(result.levels[1:], 2):
        yield f"Level {number}: {level.hits:,} hits and {level.misses:,} misses."
    yield _WRITES[case.memory.allocate]
    yield _conventions([case])
    yield from _iterations(result)
    yield (
        f"The simulation took {run.seconds:.2f} s, "
        f"{result.accesses / run.seconds / 1e6:,.3g} million accesses a second."
    )


def _units(case: Case) -> str:
    """What is in flight."""
    return "quads" if case.access.quads else "fragments"


def _any_in_flight(cases: Iterable[Case]) -> bool:
    return any(case.access.in_flight > 1 for case in cases)


def _conventions(cases: Sequence[Case]) -> str:
    """Those of cases that differ in sizes, caches and accesses only."""
    first = cases[0]
    if first.of_kernels:
        return KERNEL_CONVENTIONS
    sentences = [
        CONVENTIONS,
        _QUADS if first.access.quads else "",
        IN_FLIGHT.format(units=_units(first)) if _any_in_flight(cases) else "",
    ]
    return " ".join(filter(None, sentences))


def _iterations(result: Result) -> Iterable[str]:
    if result.iterations_repeated:
        yield (
            f"Of {result.iterations:,} iterations {result.iterations_simulated:,} were simulated. "
            f"{result.iterations_repeated:,} repeat others: cache and accesses are proven to be "
            "the same but for a shift of addresses, so their counts are multiplied. --every-pass "
            "simulates them too."
        )
    if result.iterations_left_out:
        yield (
            f"The budget left out {result.iterations_left_out:,} of {result.iterations:,} "
            "iterations. No number here includes the "
            f"{result.accesses_left_out:,} accesses left out."
        )


def heat_map_caption(run: Run, heat: HeatMap) -> str:
    """What a heat map shows, for the text above it."""
    left_out = "" if run.result.exact else " The budget left out a part of the run."
    return (
        f"Reads that hit, of {heat.of}, row 0 lowest: {run.case.subject.title}, "
        f"{_through(run.case)}. {heat.all_hits:,} of {heat.all_reads:,} reads hit.{left_out} "
        "Grey: no reads."
    )


# Sweeps ------------------------------------------------------------------------------------------


def sweep_grids(sweep: Sweep[Run]) -> list[Grid]:
    """One row per run, and what was not run; a single case is shown by texture."""
    if sweep.only is not None:
        return run_grids(sweep.only)
    runs, grids = sweep.runs, []
    if runs:
        in_flight = _any_in_flight(run.case for run in runs)
        heads = (
            *runs[0].case.subject.sizes, "cache", "raster order", "layout",
            *(["in flight"] if in_flight else []), "accesses", "hit, %", "bytes requested",
            "from memory", "to memory", "from / requested", "iterations", "simulated",
        )  # fmt: skip
        first = runs[0].case
        caption = f"{first.subject.name} through caches."
        rows = tuple(_sweep_row(run, in_flight=in_flight) for run in runs)
        grids.append(Grid("cache", caption, heads, rows, tuple(_sweep_notes(runs))))
    return grids + _not_run_grids(sweep.not_run)


def _not_run_grids(not_run: Sequence[NotRun]) -> list[Grid]:
    rows = tuple((str(missing.case), missing.reason) for missing in not_run)
    return [Grid("not-run", "Not run.", ("what", "why"), rows)] if rows else []


def _sweep_row(run: Run, *, in_flight: bool) -> tuple[Entry, ...]:
    case, result = run.case, run.result
    requested = result.bytes_requested
    return (
        *case.subject.sizes.values(),
        str(case.memory.levels[0]),
        None if case.of_kernels else case.access.raster.name,
        None if case.of_kernels else case.access.layout.name,
        *([case.access.in_flight] if in_flight else []),
        result.accesses,
        _percent(result.hits, result.accesses),
        requested,
        result.bytes_from_memory,
        result.bytes_to_memory,
        Numeral(f"{result.bytes_from_memory / requested:.4g}") if requested else None,
        result.iterations,
        result.iterations_simulated,
    )


def _sweep_notes(runs: Sequence[Run]) -> Iterable[str]:
    first = runs[0].case
    yield _WRITES[first.memory.allocate]
    if len(first.memory.levels) > 1:
        yield f"Level 2 is {first.memory.levels[1]}; hits are those of level 1."
    yield _conventions([run.case for run in runs])
    if any(run.result.iterations_repeated for run in runs):
        yield (
            "Iterations that were not simulated repeat others: cache and accesses are proven to be "
            "the same but for a shift of addresses. --every-pass simulates them too."
        )
    for run in runs:
        if run.result.iterations_left_out:
            yield (
                f"{run.case}: the budget left out {run.result.iterations_left_out:,} of "
                f"{run.result.iterations:,} iterations; no number here includes the "
                f"{run.result.accesses_left_out:,} accesses left out."
            )


# Curves ------------------------------------------------------------------------------------------


def curve_grids(curves: Sweep[Curve]) -> list[Grid]:
    """Miss ratios of fully associative LRU caches, at sizes that are powers of two."""
    return [_curve_grid(curve) for curve in curves.runs] + _not_run_grids(curves.not_run)


def _curve_grid(curve: Curve) -> Grid:
    distances, line_bytes = curve.distances, curve.distances.line_bytes
    rows = tuple(
        (lines * line_bytes, lines, misses, misses / max(1, distances.accesses))
        for lines, misses in _at_powers(curve.distances)
    )
    where = "" if curve.case.of_kernels else f", raster order {curve.case.access}"
    caption = f"{curve.case.subject.title}{where}: misses of every fully associative LRU cache."
    notes = (
        f"{distances.accesses:,} accesses to lines of {line_bytes} bytes; {distances.cold:,} of "
        "them are the first to their line and miss in a cache of any size. All sizes come from one "
        "pass over the accesses (stack distances). Writes fill lines, as with --writes allocate.",
        _conventions([curve.case]),
    )
    return Grid("curve", caption, ("bytes", "lines", "misses", "miss ratio"), rows, notes)


def _at_powers(distances: Distances) -> Iterator[tuple[int, int]]:
    """Lines, and their misses, at powers of two up to the first that holds all lines."""
    lines, misses = 1, distances.misses(1)
    yield lines, misses
    while misses > distances.cold:
        lines *= 2
        misses = distances.misses(lines)
        yield lines, misses
