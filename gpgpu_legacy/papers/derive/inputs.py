"""What the functions that recompute claims read: a paper, facts of chips and hosts, and our plans.

They read through an `Inputs`, so that an input can be changed to see which verdicts turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.capabilities import Capability, find_capability
from gpgpu_legacy.chips.hosts import Host, find_host
from gpgpu_legacy.chips.processors import Processor, find_processor
from gpgpu_legacy.chips.profile import Fact, Profile, find_profile
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.papers.derive.changed_plans import PlanOrProgramChange, changed
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Scalar
from gpgpu_legacy.serial import with_fields


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
        """What builds its plan, without the change."""
        return find_product(self.method).builder(**self.parameters)

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return _plan(self)

    @property
    def counts(self) -> Counts:
        """The counts of its plan."""
        return _counts(self)


_Facts = TypeVar("_Facts", Host, Processor, Capability)


@cache
def _plan(product: Product) -> Plan:
    plan = product.builder.plan()
    return plan if product.change is None else changed(plan, product.change)


@cache
def _counts(product: Product) -> Counts:
    return count_plan(product.plan)


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a derivation reads.

    facts: values in place of those of profiles, hosts, processors and compute capabilities, by name
    and fact. change: of the plan of every product.
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

    def fact(self, chip: str, name: str) -> Fact[float]:
        """A fact of a chip's profile, such as `hardware.memory_mib`; LookupError without it."""
        section, _, at = name.partition(".")
        found: Fact[float] | None = getattr(getattr(self.profile(chip), section), at)
        if found is None:
            raise LookupError(f"{chip} has no {name}")
        return found

    def host(self, name: str) -> Host:
        """A host."""
        return self._with_facts(find_host(name))

    def processor(self, name: str) -> Processor:
        """A processor's record."""
        return self._with_facts(find_processor(name))

    def capability(self, name: str) -> Capability:
        """A compute capability."""
        return self._with_facts(find_capability(name))

    def _with_facts(self, known: _Facts) -> _Facts:
        for (name, fact), value in self.facts.items():
            if name == known.name:
                known = with_fields(known, **{fact: with_fields(getattr(known, fact), value=value)})
        return known

    def product(
        self, method: str, size: int, block: int | None = None, *, dynamic: bool = False
    ) -> Product:
        """A product by a method, with the framebuffer's copy; dynamic: of its shared arrays."""
        return Product(method, size, block, change=self.change, dynamic=dynamic)

    def printed(self, method: str, size: int) -> Product:
        """A product by a method's listing as it is printed."""
        return replace(self.product(method, size), as_printed=True)
