"""Sizes that follow the inputs: finds the parameters whose plan fits the given arrays.

No declaration links parameters to sizes: the family is built with other values, and the shapes of
its inputs show the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.pipeline.builder import PlanBuilder

Shapes = Mapping[str, tuple[int, ...]]

_Side = tuple[str, int]
"""An axis of an input."""


@dataclass
class SizeSearch:
    """The sizes of an algorithm for inputs of these shapes, in addition to the given parameters."""

    algorithm: Algorithm
    given: dict[str, Any]
    shapes: Shapes

    def settings(self) -> dict[str, Any]:
        """What is given, and sizes; where none fit all arrays, those that some of them ask for."""
        start = self.algorithm.builder(**self.given)
        found: dict[str, dict[_Side, int]] = {}
        for name, parameter in self.algorithm.parameters.items():
            if name in self.given or int not in parameter.kinds:
                continue
            for size in sorted({*self.sides().values()}, reverse=True):
                if (tried := self.built(self.given | {name: size})) is not None:
                    found[name] = self.solved(start, tried, start.parameters[name], size)
                    break
            for size in dict.fromkeys(found.get(name, {}).values()):
                settings = self.given | {name: size}
                if (tried := self.built(settings)) is not None and self.fits(tried):
                    return settings
        sizes: dict[str, int] = {}
        for side in self.sides():
            movers = [name for name, solved in found.items() if side in solved]
            if movers:  # of several, the one that moves least else: rows before rows and columns
                name = min(movers, key=lambda mover: len(found[mover]))
                sizes.setdefault(name, found[name][side])
        return self.given | sizes

    def built(self, settings: dict[str, Any]) -> PlanBuilder | None:
        """The builder for these settings; None if the family refuses them."""
        try:
            return self.algorithm.builder(**settings)
        except GpgpuLegacyError:
            return None

    def fits(self, built: PlanBuilder) -> bool:
        return all(built.operands[name].array_shape == s for name, s in self.shapes.items())

    def sides(self) -> dict[_Side, int]:
        """The sizes of the arrays, axis by axis."""
        return {
            (n, axis): size for n, shape in self.shapes.items() for axis, size in enumerate(shape)
        }

    def solved(
        self, start: PlanBuilder, tried: PlanBuilder, now: object, size: int
    ) -> dict[_Side, int]:
        """For each axis that a parameter changes, the value that gives the axis the wanted size.

        It is `now` at the start, and `size` when it was tried; the axis grows linearly with it.
        """
        values = {}
        for (name, axis), wanted in self.sides().items():
            shapes = [built.operands[name].array_shape for built in (start, tried)]
            if any(axis >= len(shape) for shape in shapes):
                continue
            before, after = (shape[axis] for shape in shapes)
            if before != after:
                steps = (size - now) / (after - before) if isinstance(now, int) else 1.0
                values[name, axis] = round(size + (wanted - after) * steps)
        return values
