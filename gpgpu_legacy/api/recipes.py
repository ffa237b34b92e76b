"""Names that are about to go: what an algorithm builds, as plan verbs called it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.parameters import Parameter, Plain
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.pipeline.reference import Reference
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.plan.plan import Plan


@dataclass(frozen=True)
class Built:
    plan: Plan
    parameters: Mapping[str, Plain]
    settings: frozenset[str] = frozenset()
    reference: Reference | None = None
    samples: Mapping[str, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    algorithm: Algorithm

    @property
    def name(self) -> str:
        return self.algorithm.name

    @property
    def parameters(self) -> dict[str, Parameter]:
        return self.algorithm.parameters

    def build(self, settings: Mapping[str, object] | None = None) -> Built:
        p = self.algorithm.builder(**(settings or {}))
        return Built(p.plan(), p.parameters, frozenset(settings or {}), p.reference, p.samples)


def caption(built: Built) -> str:
    """The plan's name, its sizes, and the parameters that were given."""
    shown = ", ".join(
        f"{name} = {value}"
        for name, value in built.parameters.items()
        if name in built.settings or type(value) is int
    )
    return f"{built.plan.name}{': ' * bool(shown)}{shown}"


def find_recipe(what: str) -> Recipe:
    return Recipe(find_algorithm(what))
