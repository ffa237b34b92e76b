"""A plan through caches: one simulation, or a sweep of them.

A sweep is every combination of plans, caches and orders of accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.api.cache_plot import ORDER, draw_sweep, text_of, varying_of
from gpgpu_legacy.cache.access import Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.recorded import Replay
from gpgpu_legacy.cache.simulate import (
    HeatMap,
    LevelTally,
    Progress,
    RegionTally,
    Simulated,
    cache_run,
    heat_map,
    plan_trace,
)
from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError, described
from gpgpu_legacy.measure.timing import Budget, BudgetSpentError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import replay
from gpgpu_legacy.present.grid import Grid, Numeral, Result, not_run_grids, plain
from gpgpu_legacy.serial import as_record

DEFAULT_CACHE = "8K,4way,64B"

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
QUADS = "The four fragments of a quad make each access in turn."
IN_FLIGHT = (
    "With several {units} in flight, that many start together and make each access in turn; the "
    "next ones start when all are done."
)
_WRITES = (
    "Writes do not allocate: a write that misses leaves the cache as it is, and every write goes "
    "through to memory.",
    "Writes allocate: a write that misses fetches its line, and a dirty line is written back to "
    "memory when it is evicted, or at the end.",
)


# Results ------------------------------------------------------------------------------------------


class Traced(Result, kw_only=True):
    """A plan whose accesses are traced, and the order of the accesses.

    raster, layout, in_flight: None for kernels, which have none. cache: the first level.
    """

    plan: str
    parameters: dict[str, Plain]
    raster: str | None
    layout: str | None
    quads: bool
    in_flight: int | None
    cache: str

    @property
    def varied(self) -> dict[str, Plain]:
        """The properties that a sweep may vary, by the headings of its columns."""
        return {
            "plan": self.plan,
            **self.parameters,
            "cache": self.through,
            "raster order": f"{self.raster} in quads" if self.quads else self.raster,
            "layout": self.layout,
            "in flight": self.in_flight,
        }

    @property
    def through(self) -> str:
        """The cache in words."""
        return self.cache

    def title(self, varying: Sequence[str] = ()) -> str:
        """The case in words.

        varying: the properties to leave out.
        """
        known = {name: value for name, value in self.varied.items() if name not in varying}
        fixed = {name: value for name, value in known.items() if name in self.parameters}
        plan = titled(self.plan, fixed) if "plan" in known else "several plans"
        words = (text_of(n, known[n]) for n in ("cache", *ORDER) if known.get(n) not in {None, 1})
        return ", ".join([plan, *words])

    @property
    def conventions(self) -> str:
        """The conventions about the order of accesses."""
        if self.raster is None:
            return KERNEL_CONVENTIONS
        units = "quads" if self.quads else "fragments"
        in_flight = IN_FLIGHT.format(units=units) if self.in_flight != 1 else ""
        return " ".join(filter(None, [CONVENTIONS, QUADS if self.quads else "", in_flight]))


class CacheRun(Traced, kw_only=True):
    """One plan through one cache.

    iterations: those of all steps; iterations_simulated: those that were simulated;
    iterations_repeated: those that are proven to repeat others. regions: the accesses of each
    texture or buffer. allocate: whether a write that misses fills a line. seconds: the time to
    trace the accesses and to simulate them. of_inputs: whether lookups depend on data, so that the
    numbers hold for the inputs of one run.
    """

    second_level: str | None
    per_texture: bool
    allocate: bool
    seed: int
    accesses: int
    hits: int
    misses: int
    hit_ratio: float
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int
    levels: tuple[LevelTally, ...]
    regions: tuple[RegionTally, ...]
    iterations: int
    iterations_simulated: int
    iterations_repeated: int
    of_inputs: bool
    seconds: float

    @property
    def through(self) -> str:
        """The cache, or both levels, in words."""
        second = f", then {self.second_level} for all" if self.second_level else ""
        return f"{self.cache}{' for each texture' * self.per_texture}{second}"

    @public
    def plot(self, path: Path | str) -> None:
        """Raise InputError: a plot is of a sweep, and in a single run nothing varies.

        path: a .png, .svg or .pdf.
        """
        CacheSweep(runs=(self,)).plot(path)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The accesses by texture, with remarks below them.

        whole: whether to state the conventions, too.
        """
        what = "array" if self.raster is None else "texture"
        heads = (
            what, "reads", "hit, %", "writes", "hit, %", "bytes requested", "from memory",
            "to memory",
        )  # fmt: skip
        _, *numbers = zip(*map(astuple, self.regions), strict=True)
        total = RegionTally("in all", *map(sum, numbers))
        rows = tuple(
            (
                tally.name,
                tally.reads,
                _percent(tally.read_hits, tally.reads),
                tally.writes,
                _percent(tally.write_hits, tally.writes),
                tally.bytes_requested,
                tally.bytes_from_memory,
                tally.bytes_to_memory,
            )
            for tally in (*self.regions, total)
            if tally.accesses
        )
        notes = tuple(self._notes(whole=whole))
        return [Grid("cache", f"Through a cache: {self.title()}.", heads, rows, notes)]

    def _notes(self, *, whole: bool) -> Iterator[str]:
        if not self.accesses:
            yield "There are no accesses."
            return
        yield (
            f"{plain(self.accesses)} accesses, reads and writes together: {plain(self.hits)} hits "
            f"and {plain(self.misses)} misses, a hit ratio of {100 * self.hit_ratio:.4g} %."
        )
        yield (
            f"{plain(self.bytes_requested)} bytes requested, {plain(self.bytes_from_memory)} from "
            f"memory ({100 * self.bytes_from_memory / self.bytes_requested:.3g} % of them), "
            f"{plain(self.bytes_to_memory)} to memory."
        )
        for number, level in enumerate(self.levels[1:], 2):
            yield f"Level {number}: {plain(level.hits)} hits and {plain(level.misses)} misses."
        if whole:
            yield from (_WRITES[self.allocate], self.conventions)
        if self.of_inputs:
            yield _OF_INPUTS
        if self.iterations_repeated:
            yield (
                f"Of {plain(self.iterations)} iterations {plain(self.iterations_simulated)} were "
                f"simulated. {plain(self.iterations_repeated)} repeat others: {_PROVEN}"
            )
        yield (
            f"The simulation took {self.seconds:.2f} s, "
            f"{self.accesses / self.seconds / 1e6:,.3g} million accesses a second."
        )


_OF_INPUTS = "Lookups depend on data: these are of a run, and other inputs may have other numbers."
_PROVEN = (
    "cache and accesses are proven to be the same but for a shift of addresses, so their counts "
    "are multiplied. --every-pass simulates them too."
)


class Unsimulated(Traced, kw_only=True):
    """A case without a result, and the reason."""

    reason: str


class CacheSweep(Result):
    """Plans through caches: every combination."""

    runs: tuple[CacheRun, ...]
    not_run: tuple[Unsimulated, ...] = ()

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A row for each run, with a column for what varies; then the cases not run."""
        runs, grids = self.runs, list[Grid]()
        if runs:
            varying = varying_of([run.varied for run in runs])
            heads = (
                *varying, "accesses", "hit, %", "bytes requested", "from memory",
                "from / requested", *(("to memory", "iterations", "simulated") if whole else ()),
            )  # fmt: skip
            rows = tuple(
                (
                    *(run.varied.get(name) for name in varying),
                    run.accesses,
                    _percent(run.hits, run.accesses),
                    (requested := run.bytes_requested),
                    run.bytes_from_memory,
                    Numeral(f"{run.bytes_from_memory / requested:.4g}") if requested else None,
                    *((run.bytes_to_memory, run.iterations, run.iterations_simulated)[: 3 * whole]),
                )
                for run in runs
            )
            caption = f"Through caches: {runs[0].title(varying)}."
            grids.append(Grid("cache", caption, heads, rows, tuple(self._notes(whole=whole))))
        return [*grids, *not_run_grids((one.title(), one.reason) for one in self.not_run)]

    def _notes(self, *, whole: bool) -> Iterator[str]:
        first = self.runs[0]
        if first.second_level:
            yield "Hits are those of level 1."
        if whole:
            in_flight = max(self.runs, key=lambda run: run.in_flight or 1)
            yield from (_WRITES[first.allocate], in_flight.conventions)
            if any(run.of_inputs for run in self.runs):
                yield _OF_INPUTS
            if any(run.iterations_repeated for run in self.runs):
                yield f"Iterations that were not simulated repeat others: {_PROVEN}"

    @public
    def plot(self, path: Path | str) -> None:
        """Draw bytes from memory and hit ratios over the varying property.

        path: a .png, .svg or .pdf. Raises InputError if nothing varies, or nothing was run.
        """
        wanted = (*self.runs, *self.not_run)
        results = [(run.bytes_from_memory, run.hit_ratio) for run in self.runs]
        draw_sweep([one.varied for one in wanted], results, wanted[0].title, path)


def _percent(part: int, whole: int) -> Numeral | None:
    return Numeral(f"{100 * part / whole:.4g}") if whole else None


# Cases --------------------------------------------------------------------------------------------


@frozen
class Simulation:
    """A plan with a memory and an order of accesses. inputs: samples if None."""

    builder: PlanBuilder
    memory: Memory
    access: Access
    inputs: Mapping[str, Any] | None = field(compare=False, repr=False)

    def __str__(self) -> str:
        title = titled(self.builder.name, self.builder.parameters)
        return f"{title}, {self.memory.levels[0]}, {self.access}"

    @property
    def line_bytes(self) -> int:
        """The line size of the first level."""
        return self.memory.levels[0].line_bytes

    @property
    def replay(self) -> Replay:
        """A function that runs the plan."""
        return partial(replay, self.builder, inputs=self.inputs)

    def fields(self) -> dict[str, Any]:
        """The fields of a result that identify the case."""
        access = self.access
        order: dict[str, Any] = {
            "raster": access.raster.name,
            "layout": access.layout.name,
            "in_flight": access.in_flight,
        }
        if self.builder.plan().dispatches:
            order = dict.fromkeys(order)
        return {
            "plan": self.builder.name,
            "parameters": dict(self.builder.parameters),
            "quads": access.quads,
            "cache": str(self.memory.levels[0]),
            **order,
        }

    def run(self, progress: Progress, *, every_pass: bool) -> CacheRun:
        """Simulate the case.

        every_pass: whether to simulate iterations that provably repeat others, too.
        """
        began, plan = perf_counter(), self.builder.plan()
        result = cache_run(
            plan, self.memory, self.access, self.replay, every_pass=every_pass, progress=progress
        )
        return self.ran(result, began)

    def not_run(self, reason: str) -> Unsimulated:
        """The case without a result."""
        return Unsimulated(**self.fields(), reason=reason)

    def ran(self, result: Simulated, began: float) -> CacheRun:
        """The record of a simulation. began: its start, by perf_counter."""
        second = next(map(str, self.memory.levels[1:]), None)
        seconds = perf_counter() - began
        return as_record(
            CacheRun, result, self.memory, **self.fields(), second_level=second, seconds=seconds
        )


def simulation(
    p: PlanBuilder,
    cache: str = DEFAULT_CACHE,
    *,
    inputs: Mapping[str, Any] | None = None,
    second_level: str | None = None,
    per_texture: bool = False,
    writes: str = "no-allocate",
    seed: int = 0,
    **order: Any,
) -> Simulation:
    """Make a case of the options of CacheKeywords. Raises InputError for unknown spellings."""
    if writes not in ("allocate", "no-allocate"):
        raise InputError(f"writes is {described(writes)}; give allocate or no-allocate")
    levels = tuple(parse_cache(text) for text in (cache, second_level) if text)
    memory = Memory(levels, per_texture, writes == "allocate", seed)
    return Simulation(p, memory, parse_access(**order), inputs)


def distinct(cases: Iterable[Simulation]) -> list[Simulation]:
    """The cases, each once.

    Raises InputError before any simulation if there are several and one cannot be traced.
    """
    each_once = list(dict.fromkeys(cases))
    different = {(case.builder, case.line_bytes): case for case in each_once}
    if len(different) > 1:
        for case in different.values():
            plan_trace(case.builder.plan(), case.line_bytes, case.access, case.replay)
    return each_once


# Simulating ---------------------------------------------------------------------------------------

Watch = Callable[[Simulation], Progress]
"""Called with each case; returns the progress function of its simulation."""


def cache_plan(
    p: PlanBuilder, cache: str = DEFAULT_CACHE, *, every_pass: bool = False, **how: Any
) -> CacheRun:
    """A plan's lookups and writes through a simulated cache: hits, misses, bytes from memory.

    cache: size, ways, line and policy. how: see CacheKeywords. Raises InputError for unknown
    spellings, and for kernels whose accesses depend on data.
    """
    return simulation(p, cache, **how).run(lambda _: None, every_pass=every_pass)


def cache_sweep(
    cases: Iterable[Simulation], budget: Budget, watch: Watch, *, every_pass: bool
) -> CacheSweep | CacheRun:
    """Simulate one case after another, as far as the budget goes.

    Returns the run alone if there is a single case and it was simulated.
    """
    runs, not_run = list[CacheRun](), list[Unsimulated]()
    for case in cases:
        progress = budget.until_spent(watch(case))
        try:
            progress(0.0)
            runs.append(case.run(progress, every_pass=every_pass))
        except BudgetSpentError as spent:
            not_run.append(case.not_run(str(spent)))
    if len(runs) == 1 and not not_run:
        return runs[0]
    return CacheSweep(runs=tuple(runs), not_run=tuple(not_run))


def cache_map(case: Simulation, progress: Progress) -> tuple[CacheRun, HeatMap]:
    """Simulate a case; returns the run, and the heat map of where its reads hit."""
    began, plan = perf_counter(), case.builder.plan()
    result, heat = heat_map(plan, case.memory, case.access, case.replay, progress=progress)
    return case.ran(result, began), heat
