"""The rule of texture lookups, written once for numbers and for expressions (GL 1.5, 3.8.6-3.8.9).

Along each axis a coordinate becomes one tap (nearest) or two (linear): a texel index, a weight, and
whether the texel is inside the texture. The filtered value is the sum over the taps in the order of
GL's equations (3.24) and (3.25), with s fastest:
((1 - α)(1 - β))·τ00 + (α(1 - β))·τ10 + ((1 - α)β)·τ01 + (αβ)·τ11. All arithmetic is float32, an
operation at a time, so that all domains get the same bits; hardware may use fewer. A NaN coordinate
reads texel 0.

The four fragments of a quad share one level of detail. It comes from the differences between the
fragment in the quad's even column and row and those to its right and above it. It is half the
logarithm of ρ², computed by sums and products: for ρ² = 2^e·(1 + f) the logarithm is
e + f + f·(1 - f)·q(f), at most 7·10⁻⁶ off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from itertools import product
from math import log2
from operator import add, mul
from typing import Any

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import TextureTarget
from gpgpu_legacy.plan.textures import Extent, Filter, Format, Numeric, Sampler, TextureKind, Wrap

V = Any
"""A value of a domain, with Python's operators and NumPy's functions: an array or an expression."""

MOST_BIAS = 16.0
"""GL's MAX_TEXTURE_LOD_BIAS: the sum of the biases is clamped to it, to either side."""
LEAST_RHO2, MOST_RHO2 = 2.0**-32, 2.0**31
"""The range that ρ² is clamped to; NaN becomes the least."""
LOG2_FACTORS = (
    0.44265943876446345,
    -0.2767283339680995,
    0.18486223190712386,
    -0.09838761602519322,
    0.026273050647848722,
)
"""The coefficients of the polynomial q, the constant one first."""


@cache
def coordinate_count(kind: TextureKind) -> int:
    """The number of coordinates, among s, t and r, that a lookup in a kind of texture reads."""
    return TextureTarget(kind.value).coordinates


def parameter_count(kind: TextureKind, sampler: Sampler) -> int:
    """The number of coordinates that a lookup reads, including an r that is compared."""
    return 3 if sampler.compare else coordinate_count(kind)


def border_of(sampler: Sampler, texel_format: Format) -> tuple[float, ...]:
    """The border colour as a texel of that format stores it."""
    border = [sampler.border[place] for place in texel_format.places]
    if texel_format.numeric is Numeric.UNORM:
        border = [min(max(value, 0.0), 1.0) for value in border]
    return tuple(border)


@frozen
class TextureLevel:
    """A level of a texture: its sizes along s, t and r, and its first row."""

    sizes: tuple[V, ...]
    first_row: V


@lru_cache(maxsize=256)
def level_of(extent: Extent, kind: TextureKind, number: int) -> TextureLevel:
    """The level of a texture by its number."""
    level = extent.level(number, kind)
    return TextureLevel((level.width, level.height, level.depth), extent.first_row(number))


@frozen
class _Tap:
    """A texel along an axis. weight: None for 1. inside: None if it is always inside."""

    index: V
    weight: V | None
    inside: V | None


@frozen
class _Face:
    """A face of a cube map: its number, its major axis, and whether that is negative there."""

    number: V
    on_z: V
    on_y: V
    negative: V


def sloping(kind: TextureKind, place: Sequence[V], slopes: Sequence[Sequence[V]]) -> list[list[V]]:
    """Three points that have the level of detail of a place with given derivatives.

    slopes: the derivatives along x and along y.
    """
    count = coordinate_count(kind)
    own = [*place[:count]] if kind is TextureKind.CUBE else [0.0] * count
    return [own, *([*map(add, own, slope)] for slope in slopes)]


@dataclass(eq=False)
class Sampling(ABC):
    """Lookups in a texture through a sampler, on the values of a domain.

    extent: of the texture; None if the domain's levels know the sizes.
    """

    kind: TextureKind
    sampler: Sampler
    extent: Extent | None

    # The domain

    @abstractmethod
    def border(self) -> V:
        """The border colour, as a texel."""

    def let(self, _name: str, value: V) -> V:
        """The value, for which a domain that emits code may introduce that name."""
        return value

    @abstractmethod
    def limited(self, name: str, value: V, low: V, high: V) -> V:
        """The value clamped to a range; a NaN becomes the lower end."""

    @abstractmethod
    def to_int(self, value: V) -> V:
        """A whole number as an index."""

    @abstractmethod
    def to_float(self, size: V, more: float = 0.0) -> V:
        """A size as a float, plus a number."""

    @abstractmethod
    def fetched(self, name: str, column: V, row: V, first_row: V) -> V:
        """The texel at a column and a row. first_row: added to the row."""

    @abstractmethod
    def in_levels(self, filter_: Filter, numbers: V, place: Sequence[V]) -> V:
        """The texel in levels that may differ from fragment to fragment."""

    # Levels

    def detailed(self, place: Sequence[V], lod: V, bias: V) -> V:
        """The texel in the levels that the level of detail chooses."""
        assert self.extent is not None, "the extent of a texture with levels is known"
        let, sampler, filter_ = self.let, self.sampler, self.sampler.filter
        levels = sampler.levels_read(self.extent, self.kind)
        first, last = float(levels[0]), float(len(levels) - 1)
        biases = self.limited("biases", bias + sampler.bias, -MOST_BIAS, MOST_BIAS)
        lod = self.limited("level", lod + biases, sampler.min_lod, sampler.max_lod)
        above = self.limited("above", lod, 0.0, last)
        if filter_.between is Filter.LINEAR:
            whole = let("whole", np.floor(above))
            part = let("fraction", above - whole)
            near = let("near", self.in_levels(filter_.within, whole + first, place))
            after = np.where(whole < last, whole + (first + 1.0), whole + first)
            far = let("far", self.in_levels(filter_.within, after, place))
            texel = np.where(part > 0.0, let("mixed", (1.0 - part) * near + part * far), near)
        else:
            whole = first - 1.0 - np.floor(-0.5 - above)
            texel = self.in_levels(filter_.within, let("whole", whole), place)
        if filter_.within is sampler.magnifying:
            return texel
        larger = self.in_levels(sampler.magnifying, first, place)
        return np.where(lod > sampler.switch, let("smaller", texel), let("larger", larger))

    def first_row(self, slice_: V, level: TextureLevel) -> V:
        """The number that `fetched` adds to the row in a slice of a level."""
        return slice_ * level.sizes[1] + level.first_row

    def level_of_detail(self, points: Sequence[Sequence[V]]) -> V:
        """λ without biases, from the coordinates in the fragments (0, 0), (1, 0) and (0, 1)."""
        assert self.extent is not None, "the extent of a texture with levels is known"
        let, names = self.let, ("own", "right", "up")
        if self.kind is TextureKind.CUBE:
            face = self.face(*points[0])
            named = zip(names, points, strict=True)
            points = [self.on_face(face, name, *point) for name, point in named]
        sizes = map(float, level_of(self.extent, self.kind, self.sampler.base_level).sizes)
        scales = (1.0, 1.0) if self.kind is TextureKind.RECT else tuple(sizes)
        squares = []
        for name, there in zip(names[1:], points[1:], strict=True):
            axes = enumerate(zip(points[0], there, scales, strict=False))
            moves = [let(f"{name}{n}", (b - a) * size) for n, (a, b, size) in axes]
            squares.append(let(f"{name}_squared", reduce(add, [move * move for move in moves])))
        along, across = squares
        longer = let("longer", np.where(along > across, along, across))
        rest = self.limited("rho2", longer, LEAST_RHO2, MOST_RHO2)
        rest, exponent = let("scaled", rest * (1.0 / LEAST_RHO2)), np.float32(log2(LEAST_RHO2))
        for bits in (32, 16, 8, 4, 2, 1):
            is_large = let(f"large{bits}", rest >= 2.0**bits)
            rest = let(f"rest{bits}", np.where(is_large, rest * 2.0**-bits, rest))
            more = np.where(is_large, exponent + np.float32(bits), exponent)
            exponent = let(f"exponent{bits}", more)
        rest = let("rest", rest - 1.0)
        factor = rest * LOG2_FACTORS[-1]
        for coefficient in LOG2_FACTORS[-2:0:-1]:
            factor = (factor + coefficient) * rest
        curve = let("curve", (rest * (1.0 - rest)) * (factor + LOG2_FACTORS[0]))
        return (exponent + (rest + curve)) * 0.5

    def in_level(self, filter_: Filter, level: TextureLevel, place: Sequence[V]) -> V:
        """The filtered texel in one level, or the filtered results of its comparison."""
        compare, reference = self.sampler.compare, None
        if compare:
            reference = self.limited("reference", place[2], 0.0, 1.0)
            less, equal, greater = map(np.float32, compare.results)
            place = place[: coordinate_count(self.kind)]
        wraps, layer, sizes = self.sampler.wraps, 0, level.sizes
        if self.kind is TextureKind.CUBE:
            face = self.face(*place)
            layer, place = self.to_int(face.number), self.on_face(face, "own", *place)
            wraps = (Wrap.CLAMP_TO_EDGE,) * 3
        linear = filter_ is Filter.LINEAR
        along = zip("ijk", place, sizes, wraps, strict=False)
        axes = [self._taps(*axis, linear=linear) for axis in along]
        total = None
        for n, reversed_taps in enumerate(product(*reversed(axes))):
            taps = reversed_taps[::-1]
            indices: list[V] = [tap.index for tap in taps]
            column, row, slice_ = indices + [0, layer][len(indices) - 1 :]
            inside = [tap.inside for tap in taps if tap.inside is not None]
            weights = [tap.weight for tap in taps if tap.weight is not None]
            texel = self.fetched(f"texel{n}", column, row, self.first_row(slice_, level))
            if inside:
                bordered = np.where(reduce(np.bitwise_and, inside), texel, self.border())
                texel = self.let(f"bordered{n}", bordered)
            if compare:
                others = np.where(reference > texel, greater, equal)
                texel = self.let(f"compared{n}", np.where(reference < texel, less, others))
            if weights:
                texel = reduce(mul, weights) * texel
                texel = self.let(f"sum{n}", texel if total is None else total + texel)
            total = texel
        return total

    # Coordinates

    def _taps(self, name: str, coordinate: V, size: V, wrap: Wrap, *, linear: bool) -> list[_Tap]:
        """The texels that a coordinate selects along an axis."""
        let, beyond = self.let, wrap is Wrap.CLAMP_TO_BORDER

        def tap(index: V, weight: V = None, *, low: bool = True, high: bool = True) -> _Tap:
            """A texel that may lie before the first one (low) or after the last one (high)."""
            last, inside = size + -1, []
            if wrap is Wrap.REPEAT:
                index = np.where(index < 0, last, index) if low else index
                index = np.where(index > last, 0, index) if high else index
                return _Tap(index, weight, None)
            if wrap.has_border:
                inside += [index >= 0] if low else []
                inside += [index <= last] if high else []
            index = np.maximum(index, 0) if low else index
            index = np.minimum(index, last) if high else index
            return _Tap(index, weight, reduce(np.bitwise_and, inside) if inside else None)

        if wrap is Wrap.REPEAT:
            coordinate = coordinate - np.floor(coordinate)
        elif wrap is Wrap.MIRRORED_REPEAT:
            there = let(f"{name}_pair", coordinate - np.floor(coordinate * 0.5) * 2.0)
            coordinate = np.where(there > 1.0, 2.0 - there, there)
        normalised = self.kind is not TextureKind.RECT
        u = let(f"{name}_texels", coordinate * self.to_float(size) if normalised else coordinate)
        if linear or beyond:
            u = let(f"{name}_number", np.where(np.isnan(u), 0.5, u))
        if not linear:
            most = self.to_float(size, beyond - 1.0)
            at = self.limited(name, let(f"{name}_floor", np.floor(u)), -float(beyond), most)
            return [tap(let(name, self.to_int(at)), low=beyond, high=beyond)]
        if wrap.margin is not None:
            u = self.limited(f"{name}_inside", u, wrap.margin, self.to_float(size, -wrap.margin))
        floor = let(f"{name}_low", np.floor(u - 0.5))
        weight = let(f"{name}_weight1", (u - 0.5) - floor)
        other = let(f"{name}_weight0", 1.0 - weight)
        first = let(f"{name}0", self.to_int(floor))
        second = let(f"{name}1", first + 1)
        return [tap(first, other, high=beyond), tap(second, weight, low=beyond)]

    def face(self, x: V, y: V, z: V) -> _Face:
        """The face of a cube map that a direction selects (GL 1.5, table 3.19).

        GL does not say which axis is major if magnitudes are equal. Here z wins over y, and y
        over x.
        """
        let = self.let
        along = zip("xyz", (x, y, z), strict=True)
        along_x, along_y, along_z = (let(f"along_{n}", np.absolute(v)) for n, v in along)
        on_z = let("on_z", np.bitwise_and(along_z >= along_x, along_z >= along_y))
        on_y = let("on_y", np.bitwise_and(np.logical_not(on_z), along_y >= along_x))
        negative = let("negative", np.where(on_z, z, np.where(on_y, y, x)) < 0.0)
        pair = let("pair", np.where(on_z, 4.0, np.where(on_y, 2.0, 0.0)))
        number = let("face", np.where(negative, pair + 1.0, pair))
        return _Face(number, on_z, on_y, negative)

    def on_face(self, face: _Face, name: str, x: V, y: V, z: V) -> list[V]:
        """The coordinates s and t of a direction on a face, by table 3.19's sc, tc and ma."""
        let, on_z, on_y, negative = self.let, face.on_z, face.on_y, face.negative
        major = let(f"{name}_major", np.where(on_z, z, np.where(on_y, y, x)))
        ma = let(f"{name}_ma", np.absolute(major))
        side = np.where(on_z, np.where(negative, -x, x), np.where(negative, z, -z))
        sc = let(f"{name}_sc", np.where(on_y, x, side))
        tc = let(f"{name}_tc", np.where(on_y, np.where(negative, -z, z), -y))
        return [let(f"{name}_on_{n}", (c / ma + 1.0) * 0.5) for n, c in (("s", sc), ("t", tc))]
