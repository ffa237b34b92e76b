"""GLSL's lookups (8.7), named after the texture, what is done to the coordinates, and the level."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from gpgpu_legacy.isa.program import Span, TextureTarget
from gpgpu_legacy.languages.glsl.words import SAMPLERS
from gpgpu_legacy.languages.shading.expressions import described
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import Graph, Vector
from gpgpu_legacy.languages.shading.types import SamplerType

_NAME = re.compile(
    r"(texture|shadow)(1D|2D|3D|Cube|2DRect)?(Proj)?(Lod|Grad)?(Offset)?(?:ARB|EXT)?"
)
_BASE = -1000.0
"""A bias with which every lookup reads the base level: OpenGL limits it."""


class Lookups:
    """Evaluates lookups on a graph. size: gives the extents of a unit's texture, in texels."""

    def __init__(self, graph: Graph, size: Callable[[int], Vector]) -> None:
        self._graph, self._size = graph, size

    def call(self, name: str, values: list[Vector], at: Span) -> Vector | None:
        """The result of a lookup's call; None if the name is no lookup's."""
        if name in ("texelFetch", "texelFetchOffset", "textureSize"):
            unit, target = self._texture(name, values[0], at)
            if name == "textureSize":
                return self._extents(unit, target).of("int")
            place = sum((v.of("float") for v in values[3:]), values[1].of("float")) + 0.5
            if target is not TextureTarget.RECT:
                place = place / self._extents(unit, target)
            return self._graph.look_up(unit, target, place)
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        kind, shape, is_projected, level, moves = match.groups()
        unit, target = self._texture(name, values[0], at)
        expected = f"sampler{shape or ''}{'Shadow' if kind == 'shadow' else ''}"
        if shape and SAMPLERS[expected] is not target:
            raise Fault(f"{name} is given {described(values[0])}", f"expected {expected}", at)
        width = target.coordinates
        widths = {width + 1, 4} if is_projected else {width}
        least = 2 + bool(moves) + {None: 0, "Lod": 1, "Grad": 2}[level]
        most = max(least, 3 + bool(moves))
        slopes = [v.of("float") for v in values[2:4]] if level == "Grad" else []
        fits = all(len(slope) == target.kind.coordinates for slope in slopes)
        if not least <= len(values) <= most or len(values[1]) not in widths or not fits:
            given = ", ".join(map(described, values[1:]))
            problem = f"{name} is given {given or 'nothing'}"
            raise Fault(problem, f"expected {min(widths)} coordinates", at)
        place, others = values[1], values[2 + len(slopes) :]
        bias: Vector | None = None
        biased = "TXB"
        if level == "Lod":
            bias = others.pop(0).of("float")
            if bias.constant == (0.0,):
                bias = self._graph.numbers(_BASE)
            else:
                biased = "TXL"
        plain = place[:width]
        if is_projected and (level or others):
            plain = plain / place[-1]
        if moves:
            step = others.pop(0).of("float")
            plain = plain + (
                step if target is TextureTarget.RECT else step / self._extents(unit, target)
            )
        bias = others.pop() if others else bias
        mnemonic = biased if bias else "TXP" if is_projected and not moves else "TEX"
        if slopes:
            mnemonic = "TXD"
        last = slopes or [bias or place[-1]]
        texel = self._graph.look_up(unit, target, self._graph.join(plain, *last), mnemonic)
        return texel[:1] if target.is_shadow and kind == "texture" else texel

    def _extents(self, unit: int, target: TextureTarget) -> Vector:
        count = 2 if target is TextureTarget.CUBE else target.kind.coordinates
        return self._size(unit)[:count]

    def _texture(self, name: str, image: Vector, at: Span) -> tuple[int, TextureTarget]:
        """The unit and the target of a sampler."""
        kind = image.type
        if not isinstance(kind, SamplerType) or kind.target is None:
            raise Fault(f"{name} is given {described(image)}", "expected a sampler", at)
        return cast(int, self._graph.keys[image.literals[0] >> 1]), kind.target
