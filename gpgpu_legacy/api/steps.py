"""One fragment of a pass, instruction by instruction.

The reference machine runs the program on the fragment's row of the rectangle. Its registers are
read before and after each instruction, without an effect on the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpgpu_legacy.interp.machine import FragmentMachine, band_of, inputs_of
from gpgpu_legacy.interp.numeric import Storage, sample
from gpgpu_legacy.isa.arithmetic import F32, Arithmetic
from gpgpu_legacy.isa.execute import ALL, execute, vector
from gpgpu_legacy.isa.program import Instruction
from gpgpu_legacy.languages.arb.printer import operand_texts, print_instruction
from gpgpu_legacy.languages.texenv.stages import stages
from gpgpu_legacy.plan.framebuffer import Writes
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.plan.textures import (
    RGBA32F,
    Filter,
    Format,
    Texture,
    TextureKind,
    level_rect,
)
from gpgpu_legacy.runtime.host import Textures
from gpgpu_legacy.serial import Record, Spelled, with_fields

Value = tuple[Spelled, ...]
"""The channels of a texel, or the components of a vector."""


class TracedTexel(Record):
    """The texel that a lookup or a copy read.

    unit: the texture image unit; None for a copy. target: the kind of texture. x, y: its column and
    row. layer: the slice of a 3D texture, or the face of a cube. level: of a mipmap. linear:
    whether the sampler interpolates between this texel, the nearest one, and its neighbours.
    """

    unit: int | None
    target: TextureKind
    x: int
    y: int
    layer: int
    level: int
    linear: bool

    def __str__(self) -> str:
        """Its column, row, layer and level, as in `(3, 4)` and `(3, 4) of face -x of level 1`."""
        layer = f", {self.layer}" if self.target is TextureKind.T3D else ""
        row = "" if self.target is TextureKind.T1D else f", {self.y}{layer}"
        is_cube = self.target is TextureKind.CUBE
        face = f" of face {_FACES[self.layer % len(_FACES)]}" if is_cube else ""
        return f"({self.x}{row}){face}" + f" of level {self.level}" * bool(self.level)


_FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


class TracedOperand(Record):
    """A source operand: its text, and its value after swizzle and sign."""

    text: str
    value: Value


class TracedInstruction(Record):
    """One instruction executed on one fragment.

    number: its position in the program, from 1. line: its line in the source text. state: that of
    the texture environment of which it computes a part. instruction: its text in canonical form.
    operands: the condition codes that it tests, if any, then the sources. destination: its text;
    None for KIL and branches. result: the components that were written, None for the others; None
    for KIL and branches. texel: the one that a lookup read. sampled: the lookup's result before the
    write mask. discards: whether a KIL discarded the fragment.
    """

    number: int
    line: int
    state: str
    instruction: str
    operands: tuple[TracedOperand, ...]
    destination: str | None
    result: tuple[Spelled | None, ...] | None = None
    texel: TracedTexel | None = None
    sampled: Value | None = None
    discards: bool = False


Steps = tuple[TracedInstruction, ...]
"""The instructions that a fragment executes, in order."""


def trace_fragment(
    pass_: FragmentPass,
    textures: Textures,
    fragment: tuple[int, int],
    arithmetic: Arithmetic,
    target: Format = RGBA32F,
) -> tuple[Steps, bool]:
    """Execute one fragment of a pass of an expanded plan, without writing it.

    Returns the instructions that it executes, and whether it survives KIL and the alpha test. The
    instructions end with the program, or with the KIL that discards the fragment. fragment: its
    column and row in the pass's rectangle. target: the format whose alpha is tested.
    """
    x, y = fragment
    bound = {b.unit: (textures[b.texture], b.sampler) for b in pass_.bindings}
    band = band_of(pass_, y, 1)
    place = (y - band.start, x - band.left)
    side = band.sides[int(band.is_above[place]) % len(band.sides)]
    traced = _Traced(*inputs_of(pass_, band, side), bound, arithmetic)
    traced.shape, traced.place, traced.states = band.shape, place, stages(pass_.program)
    traced.steps = []
    with np.errstate(all="ignore"):
        execute(pass_.program, traced)
        traced.test_alpha(pass_.alpha_test, target)
    return tuple(traced.steps), not traced.is_elsewhere()


def as_value(values: Any) -> Value:
    """Numbers in the form of a trace."""
    return tuple(Spelled(value) for value in values)


class _Traced(FragmentMachine):
    """The reference machine on a band of fragments, one of which is observed.

    shape: the band's. place: the fragment's row and column in the band. states: those of texture
    environments, by line. steps: the instructions that the fragment executed.
    """

    shape: tuple[int, int]
    place: tuple[int, int]
    states: Mapping[int, str]
    steps: list[TracedInstruction]

    def reach(self, number: int, instruction: Instruction) -> None:
        """Record an instruction that the fragment executes, with its operands."""
        super().reach(number, instruction)
        if self.is_elsewhere():
            return
        texts, texture, line = (
            operand_texts(instruction),
            instruction.texture,
            instruction.span.line,
        )
        sources = [vector(src, self, coordinate=bool(texture)) for src in instruction.srcs]
        tested = [] if instruction.test is None else [vector(instruction.test.src, self)]
        values = map(self._values, [*tested, *sources])
        operands = zip(filter(None, (texts.test, *texts.sources)), values, strict=True)
        texel = sampled = None
        if texture:
            coordinates = instruction.opcode.evaluate(*sources)
            texel = self._texel(texture.unit, coordinates)
            planes = self.look_up(texture, coordinates, ALL)
            sampled = self._values([planes[(c,)] for c in ALL])
        self.steps.append(
            TracedInstruction(
                number=number + 1,
                line=line,
                state="" if texture else self.states.get(line, ""),
                instruction=print_instruction(instruction),
                operands=tuple(TracedOperand(text=text, value=value) for text, value in operands),
                destination=texts.destination or None,
                texel=texel,
                sampled=sampled,
            )
        )

    def step(self, number: int, instruction: Instruction) -> None:
        """Execute an instruction, and record its result."""
        before = len(self.steps)
        super().step(number, instruction)
        if len(self.steps) > before:
            dead = not self._here(self.alive)
            result = self._written(instruction)
            self.steps[-1] = with_fields(self.steps[-1], result=result, discards=dead)

    def is_elsewhere(self) -> bool:
        """Whether the fragment is dead, on the other side of a branch, or out of the loop."""
        return not (self._here(self.alive) and self._here(self.active))

    def _texel(self, unit: int, coordinates: Sequence[F32]) -> TracedTexel:
        """The texel that a lookup reads, found by the same lookup in a texture of coordinates."""
        storage, sampler = self._textures[unit]
        planes = sample(_coordinates(storage.texture), sampler.to_the_nearest, *coordinates)
        column, row, layer, level = (int(self._here(plane)) for plane in planes)
        return TracedTexel(
            unit=unit,
            target=storage.texture.kind,
            x=column,
            y=row,
            layer=layer,
            level=level,
            linear=Filter.LINEAR in sampler.filters,
        )

    def _written(self, instruction: Instruction) -> tuple[Spelled | None, ...] | None:
        if instruction.register is None:
            return None
        values = self._values(self.registers[instruction.register])
        return tuple(values[c] if c in instruction.components else None for c in ALL)

    def _values(self, planes: Sequence[F32]) -> Value:
        return as_value(self._here(plane) for plane in planes)

    def _here(self, plane: Any) -> Any:
        """The value of a plane at the fragment."""
        return np.broadcast_to(plane, self.shape)[self.place]


@lru_cache(maxsize=8)
def _coordinates(texture: Texture) -> Storage:
    """A texture of the same shape whose texels hold their own columns, rows, layers and levels."""
    storage = Storage(Texture(texture.name, texture.kind, texture.extent, RGBA32F))
    for level in range(texture.extent.levels):
        rect, size = level_rect(texture, level), texture.extent.level(level, texture.kind)
        rows, columns = np.indices((rect.height, rect.width), np.float32)
        layers, rows = np.divmod(rows, np.float32(size.height))
        there = slice(rect.y, rect.y + rect.height), slice(rect.width)
        storage.draw(there, (columns, rows, layers, np.full_like(rows, level)), Writes())
    return storage
