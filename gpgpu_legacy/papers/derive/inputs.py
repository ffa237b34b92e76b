"""The inputs of the functions that recompute claims: a paper, facts of chips and hosts, our plans.

They read through an `Inputs`, so that an input can be changed to see which verdicts turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
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
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.papers.published.papers import MeasuredCell, Paper
from gpgpu_legacy.papers.published.schema import PlanChange, ProgramChange, Scalar
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan, Repeat
from gpgpu_legacy.plan.textures import FORMATS, Rect
from gpgpu_legacy.serial import with_fields


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Product:
    """An n×n product by a method, as the paper has it; change: of its plan.

    dynamic: with shared arrays whose size a launch sets. beta: where it is not 0, a C is added.
    sample: if given, the product has only as many rows and columns, each element a sum of n terms.
    """

    method: str
    size: int
    block: int | None = None
    as_printed: bool = False
    accumulate: Accumulate | None = Accumulate.COPY
    texture_format: str | None = None
    change: PlanOrProgramChange | None = None
    dynamic: bool = False
    beta: float = 0.0
    sample: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The method's parameters; blocks and the framebuffer's copy only where it has them."""
        known = find_product(self.method).parameters
        outer = self.sample or self.size
        given = {
            "block": self.block if "block" in known else None,
            "accumulate": self.accumulate if "accumulate" in known else None,
            "texture_format": self.texture_format,
            "as_printed": self.as_printed or None,
            "dynamic": self.dynamic or None,
            "beta": self.beta or None,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        return {"m": outer, "l": self.size, "n": outer, **chosen}

    @property
    def builder(self) -> PlanBuilder:
        """The builder of its plan, without the change."""
        return find_product(self.method).builder(**self.parameters)

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return _plan(self)

    @property
    def counts(self) -> Counts:
        """The counts of its plan."""
        return _counts(self)

    @property
    def unblended(self) -> Plan:
        """The plan whose passes write without reading the framebuffer."""
        return _each_pass(
            self.plan,
            lambda pass_: replace(pass_, blend=None) if isinstance(pass_, FragmentPass) else pass_,
        )

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


_Facts = TypeVar("_Facts", Host, Processor, Capability)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a derivation reads. facts: replacements for values of profiles, hosts,
    processors and compute capabilities, by name and fact. change: of the plan of every product.
    """

    paper: Paper
    facts: Mapping[tuple[str, str], Scalar] = field(default_factory=dict)
    change: PlanOrProgramChange | None = None

    def profile(self, chip: str) -> Profile:
        """A chip's profile."""
        profile = find_profile(chip)
        for (name, fact), value in self.facts.items():
            if name == profile.name:
                section, _, at = fact.partition(".")
                facts = getattr(profile, section)
                changed = with_fields(getattr(facts, at), value=value, up_to=None)
                facts = with_fields(facts, **{at: changed})
                profile = with_fields(profile, **{section: facts})
        return profile

    def fact(self, name: str, fact: str) -> Fact[float]:
        """A fact of a profile, such as `hardware.memory_mib`, of a capability or of a processor.

        LookupError without it.
        """
        section, _, at = fact.rpartition(".")
        if section:
            owner = getattr(self.profile(name), section)
        else:
            owner = (self.capability if name.startswith("compute-") else self.processor)(name)
        known: Fact[float] | None = getattr(owner, at)
        if known is None:
            raise LookupError(f"{name} has no {fact}")
        return known

    def host(self, machine: str) -> Host:
        """A host."""
        return self._with_facts(find_host(machine))

    def processor(self, processor: str) -> Processor:
        """A processor's record."""
        return self._with_facts(find_processor(processor))

    def capability(self, capability: str) -> Capability:
        """A compute capability."""
        return self._with_facts(find_capability(capability))

    def _with_facts(self, known: _Facts) -> _Facts:
        for (name, fact), value in self.facts.items():
            if name == known.name:
                known = with_fields(known, **{fact: with_fields(getattr(known, fact), value=value)})
        return known

    def product(
        self,
        method: str,
        size: int,
        block: int | None = None,
        *,
        accumulate: str = Accumulate.COPY.value,
        texture_format: str | None = None,
        dynamic: bool = False,
        as_printed: bool = False,
    ) -> Product:
        """A product by a method, with the framebuffer's copy; dynamic: of its shared arrays."""
        return Product(
            method,
            size,
            block,
            accumulate=Accumulate(accumulate),
            texture_format=texture_format,
            change=self.change,
            dynamic=dynamic,
            as_printed=as_printed,
        )

    # What the paper prints

    def number(self, claim: str) -> float:
        """The number that a claim is about."""
        published = self.paper.claim(claim).published
        assert isinstance(published, int | float)
        return published

    def cells(self, table: str, series: str) -> tuple[MeasuredCell, ...]:
        """A column of a table of measurements."""
        return self.paper.measurements(table).find(series).cells

    def cell(self, table: str, series: str, size: int, block: int | None = None) -> Rounded:
        """A printed number, with the bounds of its rounding."""
        printed = self.paper.measurements(table).find(series).at(size, block)
        if printed is None:
            raise KeyError(f"{self.paper.id} has no cell {table}/{series}/{size}")
        half = printed.step / 2
        return Rounded(printed.value, max(printed.value - half, 0.0), printed.value + half)

    def speed_ups(self, table: str, over: str, under: str) -> dict[int, Rounded]:
        """The quotients of two columns, by size, where both have a time above 0."""
        timed = [{c.size for c in self.cells(table, s) if c.value > 0} for s in (over, under)]
        return {
            size: self.cell(table, over, size) / self.cell(table, under, size)
            for size in sorted(set.intersection(*timed))
        }

    def steps(self, table: str, series: str) -> dict[int, float]:
        """Nanoseconds for each of the n³ steps, by size."""
        cells = (cell for cell in self.cells(table, series) if cell.value > 0)
        return {cell.size: 1e6 * cell.value / cell.size**3 for cell in cells}


# Plans with a change, to see which verdicts it turns ----------------------------------------------

PlanOrProgramChange = PlanChange | ProgramChange


def _changed(plan: Plan, change: PlanOrProgramChange) -> Plan:
    """The plan with a change; the same plan if it has nothing to change."""
    if isinstance(change, ProgramChange):
        return _each_pass(plan, lambda pass_: _with_program(pass_, change))
    plan = _each_pass(plan, lambda pass_: _with_fewer_rows(pass_, change.rows), change.iterations)
    if not change.texture_format:
        return plan
    new = FORMATS[change.becomes]
    textures = tuple(
        replace(texture, format=new) if texture.format.name == change.texture_format else texture
        for texture in plan.textures
    )
    return replace(plan, textures=textures)


def _each_pass(plan: Plan, change: Callable[[Pass], Pass], fewer: int = 0) -> Plan:
    """The plan with each of its passes changed, and fewer iterations of each Repeat."""
    steps = tuple(
        Repeat(step.count - fewer, tuple(map(change, step.body)))
        if isinstance(step, Repeat)
        else change(step)
        for step in plan.steps_at_most
    )
    return replace(plan, steps=steps)


def _with_fewer_rows(pass_: Pass, rows: int) -> Pass:
    if not isinstance(pass_, FragmentPass) or not isinstance(pass_.rect, Rect):
        return pass_
    return replace(pass_, rect=replace(pass_.rect, height=pass_.rect.height - rows))


def _with_program(pass_: Pass, change: ProgramChange) -> Pass:
    if isinstance(pass_, FragmentPass) and change.instruction:
        return replace(pass_, program=_without(pass_.program, change))
    if isinstance(pass_, ComputePass) and change.text:
        text = pass_.kernel.text.replace(change.text, change.becomes)
        return replace(pass_, kernel=parse_kernel(text, pass_.kernel.name))
    return pass_


def _without(program: Program, change: ProgramChange) -> Program:
    """The program without an instruction, its last or every one."""
    places = [n for n, i in enumerate(program.instructions) if i.mnemonic == change.instruction]
    lost = set(places if change.every else places[-1:])
    kept = tuple(i for n, i in enumerate(program.instructions) if n not in lost)
    return replace(program, instructions=kept)
