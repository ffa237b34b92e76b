"""The inputs of the functions that recompute claims: a paper, facts of chips and hosts, our plans.

The functions read everything through an `Inputs`. So an input can be changed to see which verdicts
turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.hosts import (
    Capability,
    Host,
    Processor,
    find_capability,
    find_host,
    find_processor,
)
from gpgpu_legacy.chips.profile import Fact, Profile, find_profile
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.papers.published.papers import MeasuredCell, Paper, Series
from gpgpu_legacy.papers.published.schema import Change, PlanChange, Scalar
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan, Repeat
from gpgpu_legacy.plan.textures import FORMATS, Rect
from gpgpu_legacy.serial import Record, with_fields


@frozen
class Rounded:
    """A number computed from printed ones, with the bounds that their rounding leaves it."""

    value: float
    low: float
    high: float

    def __truediv__(self, under: Rounded | float) -> Rounded:
        """The quotient; unbounded above where `under` may be 0."""
        under = under if isinstance(under, Rounded) else Rounded(under, under, under)
        return Rounded(
            self.value / under.value if under.value else math.inf,
            self.low / under.high,
            self.high / under.low if under.low else math.inf,
        )

    def __mul__(self, times: float) -> Rounded:
        """The number and its bounds, times another."""
        return Rounded(self.value * times, self.low * times, self.high * times)

    def __rtruediv__(self, over: float) -> Rounded:
        """An exact number over this one."""
        return Rounded(over, over, over) / self


Value = bool | int | float | str | tuple[float, ...] | Rounded | None


@frozen
class Product:
    """An n×n product by a method, as the paper has it; change: of its plan.

    dynamic: with shared arrays whose size a launch sets. beta: if given, a C is added.
    sample: if given, the product has only as many rows and columns, each element a sum of n terms.
    """

    method: str
    size: int
    block: int | None = None
    accumulate: str = Accumulate.COPY.value
    texture_format: str | None = None
    dynamic: bool = False
    as_printed: bool = False
    beta: float | None = None
    sample: int | None = None
    change: PlanChange | None = None

    @property
    def builder(self) -> PlanBuilder:
        """The builder of its plan, without the change, from those fields that the method has."""
        method, outer = find_product(self.method), self.sample or self.size
        own = {name: getattr(self, name, None) for name in method.parameters}
        given = {name: value for name, value in own.items() if value is not None}
        return method.builder(**given, m=outer, l=self.size, n=outer)

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return _plan(self)

    @property
    def counts(self) -> Counts:
        """The counts of its plan."""
        return _counts(self)

    @property
    def moved_bytes(self) -> int:
        """The bytes of its uploads and its read-back."""
        return self.counts.upload_bytes + self.counts.readback_bytes


@cache
def _plan(product: Product) -> Plan:
    plan = product.builder.plan()
    return plan if product.change is None else _changed(plan, product.change)


@cache
def _counts(product: Product) -> Counts:
    return count_plan(product.plan)


_Owner = TypeVar("_Owner", bound=Record)
_Facts = TypeVar("_Facts", Profile, Host, Processor, Capability)


@frozen
class Inputs:
    """Everything that a derivation reads.

    change: of the plan of every product, or of a printed value. facts: replacements for values of
    profiles, hosts, processors and compute capabilities, by name and fact.
    """

    paper: Paper
    change: Change = Change()
    facts: Mapping[tuple[str, str], Scalar] = field(default_factory=dict)

    def _with_facts(self, known: _Facts) -> _Facts:
        """A record of facts, with the replacements for them."""
        for (name, fact), value in self.facts.items():
            if name == known.name:
                known = _with_fact(known, fact, value)
        return known

    def profile(self, chip: str) -> Profile:
        """A chip's profile."""
        return self._with_facts(find_profile(chip))

    def host(self, machine: str) -> Host:
        """A host."""
        return self._with_facts(find_host(machine))

    def processor(self, processor: str) -> Processor:
        """A processor's record."""
        return self._with_facts(find_processor(processor))

    def capability(self, capability: str) -> Capability:
        """A compute capability."""
        return self._with_facts(find_capability(capability))

    def fact(self, name: str, fact: str) -> Fact[float]:
        """A fact of a profile, such as `hardware.memory_mib`, of a capability or of a processor.

        Raises LookupError if it is not known.
        """
        if "." in fact:
            find: Callable[[str], Record] = self.profile
        else:
            find = self.capability if name.startswith("compute-") else self.processor
        known: Fact[float] | None = attrgetter(fact)(find(name))
        if known is None:
            raise LookupError(f"{name} has no {fact}")
        return known

    def product(self, method: str, size: int, block: int | None = None, **fields: Any) -> Product:
        """A product by a method. fields: the others of Product."""
        return Product(method, size, block, **fields, change=self.change.plan)

    # What the paper prints

    def number(self, claim: str) -> float:
        """The number that a claim is about."""
        published, changed = self.paper.claim(claim).published, self.change.claim
        if changed is not None and changed.id == claim:
            published = changed.published.value
        assert isinstance(published, int | float)
        return published

    def series(self, table: str, series: str) -> Series:
        """A column of a table of measurements."""
        column, change = self.paper.measurements(table).find(series), self.change.cell
        if change is None or (change.table, change.series) != (table, series):
            return column
        cells = (
            with_fields(cell, value=cell.value * change.times)
            if cell.size == change.size and change.block in {None, cell.block}
            else cell
            for cell in column.cells
        )
        return with_fields(column, cells=tuple(cells))

    def cells(self, table: str, series: str) -> tuple[MeasuredCell, ...]:
        """The numbers of a column."""
        return self.series(table, series).cells

    def cell(self, table: str, series: str, size: int, block: int | None = None) -> Rounded:
        """A printed number, with the bounds of its rounding."""
        printed = self.series(table, series).at(size, block)
        if printed is None:
            raise KeyError(f"{self.paper.id} has no cell {table}/{series}/{size}")
        half = printed.step / 2
        return Rounded(printed.value, max(printed.value - half, 0.0), printed.value + half)

    def speed_ups(self, table: str, over: str, under: str) -> dict[int, Rounded]:
        """The quotients of two columns, by size, where both have a time above 0."""
        timed = [self.steps(table, series) for series in (over, under)]
        return {
            size: self.cell(table, over, size) / self.cell(table, under, size)
            for size in sorted(timed[0].keys() & timed[1])
        }

    def steps(self, table: str, series: str) -> dict[int, float]:
        """Nanoseconds for each of the n³ steps, by size."""
        cells = (cell for cell in self.cells(table, series) if cell.value > 0)
        return {cell.size: 1e6 * cell.value / cell.size**3 for cell in cells}


def _with_fact(owner: _Owner, fact: str, value: Scalar) -> _Owner:
    """A record with another value of a fact, which may be one of a record in it."""
    name, _, rest = fact.partition(".")
    old = getattr(owner, name)
    new = _with_fact(old, rest, value) if rest else with_fields(old, value=value, up_to=None)
    return with_fields(owner, **{name: new})


# Plans with a change, to see which verdicts it turns ----------------------------------------------


def _changed(plan: Plan, change: PlanChange) -> Plan:
    """The plan with a change; the same plan if it has nothing to change."""

    def changed(pass_: Pass) -> Pass:
        if isinstance(pass_, ComputePass) and change.text:
            text = pass_.kernel.text.replace(change.text, change.becomes)
            return replace(pass_, kernel=parse_kernel(text, pass_.kernel.name))
        if not isinstance(pass_, FragmentPass):
            return pass_
        program, rect = pass_.program, pass_.rect
        places = [n for n, i in enumerate(program.instructions) if i.mnemonic == change.instruction]
        lost = places if change.every else places[-1:]
        kept = tuple(i for n, i in enumerate(program.instructions) if n not in lost)
        if isinstance(rect, Rect):
            rect = replace(rect, height=rect.height - change.rows)
        return replace(pass_, program=replace(program, instructions=kept), rect=rect)

    textures = tuple(
        replace(texture, format=FORMATS[change.becomes])
        if texture.format.name == change.texture_format
        else texture
        for texture in plan.textures
    )
    return replace(each_pass(plan, changed, change.iterations), textures=textures)


def each_pass(plan: Plan, change: Callable[[Pass], Pass], fewer: int = 0) -> Plan:
    """The plan with each of its passes changed, and fewer iterations of each Repeat."""
    steps = tuple(
        Repeat(step.count - fewer, tuple(map(change, step.body)))
        if isinstance(step, Repeat)
        else change(step)
        for step in plan.steps_at_most
    )
    return replace(plan, steps=steps)
