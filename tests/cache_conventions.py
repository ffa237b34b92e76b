"""The conventions of traces, written a second time: where texels lie, and who reads them when.

Nothing here is shared with the package but plans. The scalar machine runs each fragment to find the
texels that it looks up. Layouts and raster orders are written from their descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scalar_machine import LOOKUPS, F, _Fragment, taps
from strategies import Scene

from gpgpu_legacy.cache.access import NO_ACCESS, AccessTrace, Chunk, PassTrace
from gpgpu_legacy.isa.program import Instruction
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan, state_values
from gpgpu_legacy.plan.textures import Texture, TextureKind

Place = tuple[int, int]
Access = tuple[int, bool, int]
"""The number of the texture, whether it is written, the address in bytes."""


# Layouts -----------------------------------------------------------------------------------------


def power_of_2(size: int) -> int:
    power = 1
    while power < size:
        power *= 2
    return power


@lru_cache(maxsize=1 << 14)
def number_of(layout: str, size: Place, place: Place) -> int:
    """The number of texels before this one, in a texture of that size."""
    (width, height), (x, y) = size, place
    if layout == "linear":
        return y * width + x
    if layout == "morton":
        return morton_number(power_of_2(width), power_of_2(height), x, y)
    if layout == "6d":
        large = number_of("32x32", size, (x - x % 32, y - y % 32))
        return large + number_of("4x4", (32, 32), (x % 32, y % 32))
    block = tuple(map(int, layout.split("x")))
    blocks_in_a_row = (width + block[0] - 1) // block[0]
    before = (y // block[1]) * blocks_in_a_row + x // block[0]
    return before * block[0] * block[1] + (y % block[1]) * block[0] + x % block[0]


def morton_number(width: int, height: int, x: int, y: int) -> int:
    """The place in Morton order, by halving; only the longer side is halved at first."""
    if width == height == 1:
        return 0
    if width > height:
        half = width // 2
        return x // half * (half * height) + morton_number(half, height, x % half, y)
    if height > width:
        half = height // 2
        return y // half * (half * width) + morton_number(width, half, x, y % half)
    half = width // 2
    quarter = 2 * (y // half) + x // half
    return quarter * half * half + morton_number(half, half, x % half, y % half)


def texels_of(layout: str, size: Place) -> int:
    """The number of texels that a texture takes, padding included."""
    width, height = size
    if layout == "linear":
        return width * height
    if layout == "morton":
        return power_of_2(width) * power_of_2(height)
    block = (32, 32) if layout == "6d" else tuple(map(int, layout.split("x")))
    return -(-width // block[0]) * block[0] * -(-height // block[1]) * block[1]


# Raster orders -----------------------------------------------------------------------------------


def order_of(raster: str, width: int, height: int) -> list[Place]:
    """The fragments of a rectangle in order; or its quads, with tiles measured in quads."""
    everywhere = [(x, y) for y in range(height) for x in range(width)]
    if raster == "scan":
        return everywhere
    if raster == "morton":
        side = power_of_2(max(width, height))
        return sorted(everywhere, key=lambda place: morton_number(side, side, *place))
    if raster == "hilbert":
        inside = set(everywhere)
        return [each for each in hilbert(power_of_2(max(width, height))) if each in inside]
    w, h = (int(side) for side in raster.removeprefix("tiled:").split("x"))
    return sorted(everywhere, key=lambda place: (place[1] // h, place[0] // w, place[1], place[0]))


def hilbert(side: int) -> list[Place]:
    if side == 1:
        return [(0, 0)]
    half, inner = side // 2, hilbert(side // 2)
    return [
        *((y, x) for x, y in inner),
        *((x, y + half) for x, y in inner),
        *((x + half, y + half) for x, y in inner),
        *((side - 1 - y, half - 1 - x) for x, y in inner),
    ]


def order_of_quads(raster: str, width: int, height: int) -> list[list[Place]]:
    """The fragments of each quad that lie in the rectangle, quad by quad."""
    if raster.startswith("tiled:"):
        w, h = (int(side) // 2 for side in raster.removeprefix("tiled:").split("x"))
        raster = f"tiled:{w}x{h}"
    quads = order_of(raster, (width + 1) // 2, (height + 1) // 2)
    fours = [[(2 * x, 2 * y), (2 * x + 1, 2 * y), (2 * x, 2 * y + 1), (2 * x + 1, 2 * y + 1)]
             for x, y in quads]  # fmt: skip
    return [[(x, y) for x, y in four if x < width and y < height] for four in fours]


# Accesses ----------------------------------------------------------------------------------------


class Looking(_Fragment):
    """A fragment that notes the texels that it looks up, gets NaN from them, and does not die."""

    def __init__(self, each: FragmentPass, textures: dict[int, Texture], place: Place) -> None:
        rect, samplers = each.rect, {b.unit: b.sampler for b in each.bindings}
        scene = Scene(
            text="",
            size=(rect.width, rect.height),
            rect=rect,
            textures={},
            texcoords=each.texcoords,
            local={p.index: constant_vector(p.value) for p in each.locals},
            env={p.index: constant_vector(p.value) for p in each.env},
            attributes=each.attributes,
            state={"state.texenv[1].color": (0.0, 0.0, 0.0, 0.0), **state_values(each)},
        )
        super().__init__(each.program, scene, *place)
        self.units, self.samplers = textures, samplers
        self.found: list[tuple[str, Place] | None] = []

    def execute(self, instruction: Instruction) -> None:
        if instruction.mnemonic == "KIL":
            return
        if instruction.texture is None:
            super().execute(instruction)
            return
        [source] = instruction.srcs
        s, t, _ = LOOKUPS[instruction.mnemonic](self.load(source))
        texture = self.units[instruction.texture.unit]
        sampler, extent = self.samplers[instruction.texture.unit], texture.extent
        normalised = texture.kind is not TextureKind.RECT
        across = taps(s, extent.width, F(extent.width if normalised else 1),
                      sampler.wrap_s, sampler.filter)  # fmt: skip
        up = taps(t, extent.height, F(extent.height if normalised else 1),
                  sampler.wrap_t, sampler.filter)  # fmt: skip
        if texture.kind is TextureKind.T1D:
            up = [(0, F(1))]
        self.found += [
            None if x is None or y is None else (texture.name, (x, y))
            for y, _ in up
            for x, _ in across
        ]
        assert instruction.dst is not None
        destination = self.destination(instruction.dst)
        for c in instruction.dst.components:
            destination[c] = F(np.nan)


class Addresses:
    """The address space of a plan in a layout."""

    def __init__(self, plan: Plan, layout: str) -> None:
        self.layout, self.number, self.base = layout, dict[str, int](), dict[str, int]()
        self.textures = {texture.name: texture for texture in plan.textures}
        address = 0
        for number, each in enumerate(plan.textures):
            self.number[each.name], self.base[each.name] = number, address
            size = (each.extent.width, each.extent.rows)
            address += texels_of(layout, size) * each.format.texel_bytes
            address = (address + 4095) // 4096 * 4096

    def access(self, name: str, place: Place, *, writes: bool) -> Access:
        each = self.textures[name]
        texels = number_of(self.layout, (each.extent.width, each.extent.rows), place)
        return self.number[name], writes, self.base[name] + texels * each.format.texel_bytes


Lookups = dict[Place, list[tuple[str, Place] | None]]
"""The textures and texels that each fragment of a pass looks up; None for the border."""


@lru_cache(maxsize=16)
def lookups_of(plan: Plan) -> list[tuple[Pass, Lookups]]:
    """The passes of the expanded plan, with their lookups.

    Lookups are the same in any layout and raster order.
    """
    textures = {texture.name: texture for texture in plan.textures}
    return [(each, lookups_of_pass(each, textures)) for each in passes(plan)]


def lookups_of_pass(each: Pass, textures: dict[str, Texture]) -> Lookups:
    found: Lookups = {}
    if isinstance(each, FragmentPass):
        bound = {b.unit: textures[b.texture] for b in each.bindings}
        for place in product(range(each.rect.width), range(each.rect.height)):
            looking = Looking(each, bound, place)
            looking.run()
            found[place] = looking.found
    return found


def of_fragment(
    each: FragmentPass, looked_up: Lookups, space: Addresses, place: Place
) -> list[Access | None]:
    own = (each.drawn.x + place[0], each.drawn.y + place[1])
    looked = looked_up[own[0] - each.rect.x, own[1] - each.rect.y]
    found = [one and space.access(*one, writes=False) for one in looked]
    for target in each.targets:
        if each.blend is not None:
            found.append(space.access(target, own, writes=False))
        found.append(space.access(target, own, writes=True))
    return found


def of_pass(
    each: Pass, looked_up: Lookups, space: Addresses, raster: str, *, quads: bool, in_flight: int
) -> list[Access]:
    if isinstance(each, CopyPass):
        a, b = each.source_rect, each.target_rect
        return [
            access
            for y in range(a.height)
            for x in range(a.width)
            for access in (
                space.access(each.source, (a.x + x, a.y + y), writes=False),
                space.access(each.target, (b.x + x, b.y + y), writes=True),
            )
        ]
    if not isinstance(each, FragmentPass):
        return []
    width, height = each.drawn.width, each.drawn.height
    together = [[place] for place in order_of(raster, width, height)]
    if quads:
        together = order_of_quads(raster, width, height)
    found: list[Access] = []
    while together:
        places = [place for group in together[:in_flight] for place in group]
        del together[:in_flight]
        fragments = [of_fragment(each, looked_up, space, place) for place in places]
        found += [access for turn in zip(*fragments, strict=True) for access in turn if access]
    return found


def accesses_of(
    plan: Plan, layout: str, raster: str, *, quads: bool, in_flight: int = 1
) -> list[list[Access]]:
    """The accesses of each pass of the expanded plan, without passes that make none."""
    space = Addresses(plan, layout)
    found = (
        of_pass(each, looked_up, space, raster, quads=quads, in_flight=in_flight)
        for each, looked_up in lookups_of(plan)
    )
    return [each for each in found if each]


# Traces written out ------------------------------------------------------------------------------


def in_order(chunk: Chunk, values: NDArray[np.int64] | None = None) -> Iterator[tuple[int, int]]:
    """The line, or another value, and the kind of each access of a chunk."""
    table = chunk.lines if values is None else values
    kinds = chunk.kinds.tolist()
    rows = zip(chunk.lines.tolist(), table.tolist(), chunk.times.tolist(), strict=True)
    for lines, row, times in rows:
        for _ in range(times):
            for line, value, kind in zip(lines, row, kinds, strict=True):
                if line != NO_ACCESS:
                    yield value, kind


def written_out(pass_: PassTrace) -> list[Access]:
    """The accesses of a pass, with lines in place of addresses."""
    return [
        (kind // 2, kind % 2 == 1, line)
        for chunk in pass_.chunks()
        for line, kind in in_order(chunk)
    ]


def pass_traces(trace: AccessTrace) -> Iterator[PassTrace]:
    for step in trace.steps:
        for iteration in range(step.count):
            yield from step.passes(iteration)
