"""Products through a cache: one, or every combination of sizes, blocks, caches and orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.cache.access import DEFAULT_ACCESS, Access
from gpgpu_legacy.cache.caches import Cache, Memory
from gpgpu_legacy.cache.distances import Distances, stack_distances
from gpgpu_legacy.cache.heat_map import HeatMap, heat_map
from gpgpu_legacy.cache.layout import LINEAR, parse_layout
from gpgpu_legacy.cache.raster import SCAN, parse_raster
from gpgpu_legacy.cache.run import cache_run, dispatches, plan_trace
from gpgpu_legacy.cache.simulate import Result
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan

_ONE = Shape(1, 1, 1)


@dataclass(frozen=True, slots=True)
class Ask:
    """A product in a memory.

    options: all filled in. of_kernels: whether the plan dispatches kernels, which have no raster
    order, layout or quads to choose.
    """

    method: Method
    shape: Shape
    options: Options
    memory: Memory
    access: Access = DEFAULT_ACCESS
    of_kernels: bool = False

    def plan(self) -> Plan:
        """The plan of the product."""
        return self.method.plan(self.shape, self.options)

    def __str__(self) -> str:
        """The product in a few words."""
        size = f"{self.shape.m}×{self.shape.l}×{self.shape.n}"
        block = "" if self.options.block is None else f", b = {self.options.block}"
        order = "" if self.of_kernels else f", {self.access.raster.name}, {self.access.layout.name}"
        return f"{size}{block}, {self.memory.levels[0]}{order}"


@dataclass(frozen=True, slots=True)
class Run:
    """What a product came to. seconds: of making the accesses and of simulating them."""

    ask: Ask
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The stack distances of a product's accesses: every fully associative cache at once."""

    ask: Ask
    distances: Distances
    seconds: float


@dataclass(frozen=True, slots=True)
class NotRun:
    """A product without a result, and why."""

    ask: Ask
    reason: str


def asks(
    method: Method,
    shapes: Iterable[Shape],
    options: Iterable[Options],
    memories: Iterable[Memory],
    *,
    rasters: Sequence[str] = (),
    layouts: Sequence[str] = (),
    quads: bool = False,
) -> list[Ask]:
    """Every combination, each once, the memories of one product in a row.

    rasters, layouts: without any, scan lines and linear textures. Raises InputError for what there
    is not and for what cannot be followed, before anything is simulated.
    """
    chosen = [method.options(each) for each in options]
    orders = [parse_raster(text) for text in rasters] or [SCAN]
    places = [parse_layout(text) for text in layouts] or [LINEAR]
    accesses = [Access(place, order, quads) for order, place in product(orders, places)]
    known = list(memories)
    of_kernels = dispatches(method.plan(_ONE, chosen[0]))
    if of_kernels and (quads or rasters or layouts):
        raise InputError(
            f"{method.name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout; leave --raster, --quads and --layout out"
        )
    lines = dict.fromkeys(memory.levels[0].line_bytes for memory in known)
    for option, line_bytes in product(chosen, lines):
        plan_trace(method.plan(_ONE, option), line_bytes)
    combined = product(shapes, chosen, accesses, known)
    return list(
        dict.fromkeys(
            Ask(method, shape, option, memory, access, of_kernels)
            for shape, option, access, memory in combined
        )
    )


def run_all(
    wanted: Iterable[Ask],
    *,
    every_pass: bool = False,
    budget_s: float | None = None,
    progress: Callable[[Ask], Callable[[float], None] | None] = lambda _: None,
) -> Iterator[Run | NotRun]:
    """Simulate one after another, as far as the seconds go; the last one may be cut short.

    progress: called with each product, it gives what its simulation calls.
    """
    started = perf_counter()
    for ask in wanted:
        began = perf_counter()
        left = None if budget_s is None else budget_s - (began - started)
        if left is not None and left <= 0.0:
            yield NotRun(ask, "the budget was spent")
            continue
        result = cache_run(
            ask.plan(),
            ask.memory,
            ask.access,
            every_pass=every_pass,
            budget_s=left,
            progress=progress(ask),
        )
        yield Run(ask, result, perf_counter() - began)


def all_curves(
    wanted: Iterable[Ask],
    *,
    budget_s: float | None = None,
    progress: Callable[[Ask], Callable[[float], None] | None] = lambda _: None,
) -> Iterator[Curve | NotRun]:
    """The curves of products, as far as the seconds go; of a memory its line alone counts."""
    started = perf_counter()
    for ask in {replace(ask, memory=_line_alone(ask.memory)): ask for ask in wanted}.values():
        began = perf_counter()
        if budget_s is not None and began - started >= budget_s:
            yield NotRun(ask, "the budget was spent")
            continue
        trace = plan_trace(ask.plan(), ask.memory.levels[0].line_bytes, ask.access)
        end = None if budget_s is None else started + budget_s
        try:
            found = stack_distances(trace, progress=_until(end, progress(ask)))
        except _BudgetSpentError:
            yield NotRun(ask, "the budget was spent before its end")
        else:
            yield Curve(ask, found, perf_counter() - began)


class _BudgetSpentError(Exception):
    """The time is over in the middle of a curve, of which no part is of use."""


def _until(
    end: float | None, progress: Callable[[float], None] | None
) -> Callable[[float], None] | None:
    """A progress that ends what reports to it when the time is over."""
    if end is None:
        return progress

    def report(done: float) -> None:
        if done < 1.0 and perf_counter() >= end:
            raise _BudgetSpentError
        if progress is not None:
            progress(done)

    return report


def _line_alone(memory: Memory) -> Memory:
    """A cache of one line, as long as this memory's."""
    line_bytes = memory.levels[0].line_bytes
    return Memory((Cache(line_bytes, 1, line_bytes),))


def mapped_run(
    ask: Ask,
    texture: str | None = None,
    *,
    budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Run, HeatMap]:
    """A run with where its reads hit: by fragment, or by the texel of a texture."""
    began = perf_counter()
    result, found = heat_map(
        ask.plan(),
        ask.memory,
        ask.access,
        texture=texture,
        budget_s=budget_s,
        progress=progress,
    )
    return Run(ask, result, perf_counter() - began), found
