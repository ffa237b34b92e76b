"""Plans through a cache: one, or every combination of sizes, blocks, caches and orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Generic, TypeVar

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.cache.access import DEFAULT_ACCESS, Access
from gpgpu_legacy.cache.caches import Cache, Memory
from gpgpu_legacy.cache.distances import Distances, stack_distances
from gpgpu_legacy.cache.heat_map import HeatMap, heat_map
from gpgpu_legacy.cache.layout import LINEAR, parse_layout
from gpgpu_legacy.cache.raster import SCAN, parse_raster
from gpgpu_legacy.cache.run import cache_run, plan_trace
from gpgpu_legacy.cache.simulate import Result
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.plan.plan import Plan

_ONE = Shape(1, 1, 1)


@dataclass(frozen=True, slots=True)
class Product:
    """A product by a method. options: all filled in."""

    method: Method
    shape: Shape
    options: Options

    @property
    def name(self) -> str:
        """The method's name."""
        return self.method.name

    @property
    def title(self) -> str:
        """The product in words."""
        options = self.options
        chosen = [
            "" if options.block is None else f"b = {options.block}",
            "" if options.tile is None else f"T = {options.tile}",
            "" if options.accumulate is None else options.accumulate.value,
            options.texture_format or "",
        ]
        size = f"n = {self._size}" if self.shape.is_square else f"{self._size}"
        return ", ".join([self.name, size, *filter(None, chosen)])

    @property
    def sizes(self) -> Mapping[str, int | float | str | None]:
        """What a sweep may vary, by the heads of its columns."""
        tile = {} if self.options.tile is None else {"T": self.options.tile}
        return {"n": self._size, "b": self.options.block, **tile}

    @property
    def _size(self) -> int | str:
        shape = self.shape
        return shape.n if shape.is_square else f"{shape.m}×{shape.l} by {shape.l}×{shape.n}"

    def plan(self) -> Plan:
        """The plan of the product."""
        return self.method.plan(self.shape, self.options)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of a recipe. parameters: that it was built with."""

    built: Plan
    parameters: tuple[tuple[str, int | float | str | bool | None], ...] = ()

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.built.name

    @property
    def title(self) -> str:
        """The plan in words."""
        return ", ".join([self.name, *(f"{name} = {value}" for name, value in self.parameters)])

    @property
    def sizes(self) -> Mapping[str, int | float | str | None]:
        """What a sweep may vary, by the heads of its columns."""
        return dict(self.parameters)

    def plan(self) -> Plan:
        """The plan."""
        return self.built


@dataclass(frozen=True, slots=True)
class Case:
    """A plan in a memory.

    of_kernels: whether the plan dispatches kernels, which have no raster order, layout, quads or
    fragments in flight to choose.
    """

    subject: Product | Planned
    memory: Memory
    access: Access = DEFAULT_ACCESS
    of_kernels: bool = False

    def __str__(self) -> str:
        """The case in a few words."""
        given = self.subject.sizes.items()
        sizes = ", ".join(f"{name} = {value}" for name, value in given if value is not None)
        order = "" if self.of_kernels else f", {self.access}"
        return f"{sizes or self.subject.name}, {self.memory.levels[0]}{order}"


@dataclass(frozen=True, slots=True)
class Run:
    """A case that was simulated. seconds: of making the accesses and of simulating them."""

    case: Case
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The stack distances of a plan's accesses: every fully associative cache at once."""

    case: Case
    distances: Distances
    seconds: float


@dataclass(frozen=True, slots=True)
class NotRun:
    """A case without a result, and why."""

    case: Case
    reason: str


R = TypeVar("R", Run, Curve)


@dataclass(frozen=True, slots=True)
class Sweep(Generic[R]):
    """The cases of a sweep: those that were simulated, and the others."""

    runs: tuple[R, ...]
    not_run: tuple[NotRun, ...]

    @property
    def cases(self) -> list[Case]:
        """All cases."""
        return [run.case for run in self.runs] + [missing.case for missing in self.not_run]

    @property
    def only(self) -> R | None:
        """The run, if the sweep is a single case that was simulated."""
        return self.runs[0] if len(self.runs) == 1 and not self.not_run else None


@dataclass(frozen=True, slots=True)
class Orders:
    """Raster orders and texture layouts to combine, as they are spelled.

    Without any, scan order and linear textures. quads: rasterise 2×2 quads. in_flight: numbers of
    fragments, or quads, in flight, to combine with them; without any, 1.
    """

    rasters: Sequence[str] = ()
    layouts: Sequence[str] = ()
    quads: bool = False
    in_flight: Sequence[int] = ()


Progress = Callable[[Case], Callable[[float], None] | None]
"""Called with each case; returns what its simulation calls with the fraction done, if any."""


def product_cases(
    method: Method,
    shapes: Iterable[Shape],
    options: Iterable[Options],
    memories: Iterable[Memory],
    orders: Orders,
) -> list[Case]:
    """Every combination, each once, the memories of one product one after another.

    Raises InputError for unknown spellings and for plans whose accesses cannot be traced, before
    anything is simulated.
    """
    chosen = [method.options(option) for option in options]
    known = list(memories)
    of_kernels = method.plan(_ONE, chosen[0]).dispatches
    accesses = _accesses(method.name, orders, of_kernels=of_kernels)
    lines = dict.fromkeys(memory.levels[0].line_bytes for memory in known)
    for option, line_bytes in product(chosen, lines):
        plan_trace(method.plan(_ONE, option), line_bytes)
    combined = product(shapes, chosen, accesses, known)
    return list(
        dict.fromkeys(
            Case(Product(method, shape, option), memory, access, of_kernels)
            for shape, option, access, memory in combined
        )
    )


def plan_cases(planned: Planned, memories: Iterable[Memory], orders: Orders) -> list[Case]:
    """Every combination for a plan; raises InputError for unknown spellings."""
    of_kernels = planned.built.dispatches
    accesses = _accesses(planned.name, orders, of_kernels=of_kernels)
    return list(
        dict.fromkeys(
            Case(planned, memory, access, of_kernels)
            for access, memory in product(accesses, list(memories))
        )
    )


def _accesses(name: str, orders: Orders, *, of_kernels: bool) -> list[Access]:
    if of_kernels and (orders.quads or orders.rasters or orders.layouts or orders.in_flight):
        raise InputError(
            f"{name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout, and no fragments in flight; leave --raster, --quads, --in-flight and "
            "--layout out"
        )
    rasters = [parse_raster(text) for text in orders.rasters] or [SCAN]
    layouts = [parse_layout(text) for text in orders.layouts] or [LINEAR]
    return [
        Access(layout, raster, orders.quads, in_flight)
        for raster, layout, in_flight in product(rasters, layouts, orders.in_flight or (1,))
    ]


def run_sweep(
    wanted: Iterable[Case],
    budget: Budget,
    *,
    every_pass: bool = False,
    progress: Progress = lambda _: None,
) -> Sweep[Run]:
    """Simulate one case after another, as far as the budget goes; the last may be cut short."""

    def run(case: Case) -> Run:
        began = budget.spent_s
        result = cache_run(
            case.subject.plan(),
            case.memory,
            case.access,
            every_pass=every_pass,
            budget_s=budget.left_s,
            progress=progress(case),
        )
        return Run(case, result, budget.spent_s - began)

    return _each(wanted, budget, run)


def run_curves(
    wanted: Iterable[Case], budget: Budget, *, progress: Progress = lambda _: None
) -> Sweep[Curve]:
    """The curves of plans, as far as the budget goes; only the line size of a memory matters."""

    def run(case: Case) -> Curve | NotRun:
        began = budget.spent_s
        trace = plan_trace(case.subject.plan(), case.memory.levels[0].line_bytes, case.access)
        try:
            distances = stack_distances(trace, progress=_until(budget, progress(case)))
        except _BudgetSpentError:
            return NotRun(case, "the budget was spent before the end")
        return Curve(case, distances, budget.spent_s - began)

    different = {replace(case, memory=_line_alone(case.memory)): case for case in wanted}
    return _each(different.values(), budget, run)


def _each(wanted: Iterable[Case], budget: Budget, run: Callable[[Case], R | NotRun]) -> Sweep[R]:
    """The outcomes of cases, of which the budget may refuse some."""
    runs, not_run = [], []
    for case in wanted:
        refusal = budget.refusal()
        outcome = run(case) if refusal is None else NotRun(case, refusal)
        if isinstance(outcome, NotRun):
            not_run.append(outcome)
        else:
            runs.append(outcome)
    return Sweep(tuple(runs), tuple(not_run))


class _BudgetSpentError(Exception):
    """The budget is spent in the middle of a curve, and a part of a curve is of no use."""


def _until(budget: Budget, progress: Callable[[float], None] | None) -> Callable[[float], None]:
    """A progress that stops what reports to it once the budget is spent."""

    def report(done: float) -> None:
        if done < 1.0 and budget.is_over:
            raise _BudgetSpentError
        if progress is not None:
            progress(done)

    return report


def _line_alone(memory: Memory) -> Memory:
    """A cache of one line, as long as this memory's."""
    line_bytes = memory.levels[0].line_bytes
    return Memory((Cache(line_bytes, 1, line_bytes),))


def mapped_run(
    case: Case,
    texture: str | None = None,
    *,
    budget: Budget | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Run, HeatMap]:
    """A run with where its reads hit: by fragment, or by the texel of a texture."""
    budget = budget or Budget(inf)
    began = budget.spent_s
    result, heat = heat_map(
        case.subject.plan(),
        case.memory,
        case.access,
        texture=texture,
        budget_s=budget.left_s,
        progress=progress,
    )
    return Run(case, result, budget.spent_s - began), heat
