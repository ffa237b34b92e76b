"""Names that are about to go: an algorithm as products used to be called."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan


@dataclass(frozen=True)
class Method:
    algorithm: Algorithm

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.algorithm, name)

    @property
    def paper(self) -> str:
        return self.algorithm.source

    @cached_property
    def refuses(self) -> frozenset[str]:
        free = {"adds", "beta", "alpha", "texture_format"}
        return frozenset(f.name for f in fields(Options)) - free - self.algorithm.parameters.keys()

    @cached_property
    def formats(self) -> tuple[str, ...]:
        if "texture_format" in self.algorithm.parameters:
            return tuple(self.algorithm.parameters["texture_format"].choices)
        plan = self.algorithm.plan(n=1)
        return (plan.texture(plan.outputs[0].texture).format.name,)

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        block = self.algorithm.parameters.get("block")
        return tuple(block.choices.values()) if block else ()

    @cached_property
    def defaults(self) -> Options:
        known = {
            name: one.default
            for name, one in self.algorithm.parameters.items()
            if name in {f.name for f in fields(Options)} and name not in {"alpha", "beta"}
        }
        return Options(**{"texture_format": self.formats[0], **known})  # type: ignore[arg-type]

    def options(self, given: Options) -> Options:
        for name in sorted(self.refuses):
            if getattr(given, name) not in (getattr(Options(), name), getattr(self.defaults, name)):
                raise InputError(f"{self.name} takes no --{name.replace('_', '-')}; leave it out")
        if given.texture_format not in (None, *self.formats):
            raise InputError(f"{self.name} cannot use the texture format {given.texture_format}")
        missing = {
            f.name: getattr(self.defaults, f.name)
            for f in fields(given)
            if getattr(given, f.name) is None
        }
        full = replace(given, **missing)
        self.builder(Shape(1, 1, 1), full)
        return full

    def plan(self, shape: Any, options: Options | None = None) -> Plan:
        return self.builder(shape, options).plan()

    def builder(self, shape: Any, options: Options | None = None) -> PlanBuilder:
        for name in self.refuses:
            if options and getattr(options, name) not in (
                getattr(Options(), name),
                getattr(self.defaults, name),
            ):
                raise InputError(f"{self.name} takes no --{name.replace('_', '-')}; leave it out")
        if options and options.texture_format not in (None, *self.formats):
            raise InputError(f"{self.name} cannot use the texture format {options.texture_format}")
        given = (options or Options()).given()
        adds = given.pop("adds", False)
        if adds:
            given.setdefault("beta", 0.0)
        elif given.pop("beta", None):
            raise InputError("beta is set but there is no C to scale; give C, or leave beta out")
        if "texture_format" not in self.algorithm.parameters:
            given.pop("texture_format", None)
        given = {n: v for n, v in given.items() if n in self.algorithm.parameters}
        return self.algorithm.builder(m=shape.m, l=shape.l, n=shape.n, **given)
