"""One fragment traced through its program, instruction by instruction.

The reference machine runs the program on the fragment's row of the rectangle, and a trace records
its registers before and after each instruction. Tracing changes nothing that the machine computes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from gpgpu_legacy.api.drawing import Drawing
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.machine import Bound, Machine, inputs_of, run_fragment_pass
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.interp.sampler import Planes, sample
from gpgpu_legacy.isa.arithmetic import F32, FP32, Arithmetic
from gpgpu_legacy.isa.ir import Instruction, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import FragmentPass, Pass
from gpgpu_legacy.plan.textures import Filter, Texture, TextureKind, constant_rect
from gpgpu_legacy.runtime import machine
from gpgpu_legacy.runtime.host import PassByPass, Textures


@dataclass(frozen=True, slots=True)
class Texel:
    """The texel that a lookup read.

    unit: the texture image unit; None for a texel that a pass copies. target: the kind of texture.
    x, y: its column and row. layer: the slice of a 3D texture, or the face of a cube. linear:
    whether the lookup interpolated between this texel, the nearest one, and its neighbours.
    """

    unit: int | None
    target: TextureKind
    x: int
    y: int
    layer: int
    linear: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """A source operand: its text, and its value after swizzle and sign."""

    text: str
    value: Vec4


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction executed on one fragment.

    number: from 1. line: of the source text. text: the instruction in canonical form. destination:
    its text, empty for KIL. result: the components that were written, None for the others; empty
    for KIL. texel: the one that a lookup read. sampled: what the lookup gave, whatever the write
    mask. discards: whether a KIL discarded the fragment.
    """

    number: int
    line: int
    text: str
    operands: tuple[Operand, ...]
    destination: str
    result: tuple[float | None, ...]
    texel: Texel | None = None
    sampled: Vec4 | None = None
    discards: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """What a program executed for a fragment, up to its end or the KIL that discarded it.

    x, y: the fragment's column and row. fog: the OPTION that then applies fog to the colour, or
    empty. pixels: the colours of the targets at the fragment afterwards.
    """

    x: int
    y: int
    steps: tuple[Step, ...]
    fog: str
    pixels: tuple[Vec4, ...]

    @property
    def discarded(self) -> bool:
        """Whether a KIL discarded the fragment."""
        return any(step.discards for step in self.steps)


def trace(drawing: Drawing, x: int, y: int, arithmetic: Arithmetic = FP32) -> Trace:
    """Trace the fragment of column x and row y on the reference machine. Row 0 is the bottom.

    Raises InputError if the rectangle has no such fragment.
    """
    rect = constant_rect(drawing.draw.rect)
    if not (0 <= x < rect.width and 0 <= y < rect.height):
        raise InputError(
            f"there is no fragment {x},{y} in {rect.width}×{rect.height}; x and y count from 0 at "
            "the lower left"
        )
    steps: list[Step] = []

    def execute(pass_: Pass, textures: Textures) -> None:
        assert isinstance(pass_, FragmentPass)
        steps.extend(trace_fragment(pass_, textures, (x, y), arithmetic))
        run_fragment_pass(pass_, textures, arithmetic)

    with PassByPass(drawing.plan, machine.Machine(arithmetic=arithmetic), execute) as prepared:
        outputs = prepared.run(drawing.operands).outputs
    pixels = tuple(_vector(outputs[t.name][y, 4 * x : 4 * x + 4]) for t in drawing.targets)
    fog = drawing.program.fog
    return Trace(x, y, tuple(steps), fog.value if fog else "", pixels)


def trace_fragment(
    pass_: FragmentPass, textures: Textures, fragment: tuple[int, int], arithmetic: Arithmetic
) -> tuple[Step, ...]:
    """What a pass of an expanded plan executes for one fragment; nothing is written to a texture.

    fragment: its column and row in the pass's rectangle.
    """
    bound = {b.unit: Bound(textures[b.texture], b.sampler) for b in pass_.bindings}
    with np.errstate(all="ignore"):
        traced = _TracedMachine(pass_, bound, arithmetic, fragment)
        traced.run(pass_.program)
    return tuple(traced.steps)


class _TracedMachine(Machine):
    """The reference machine on one row of fragments, which records one of them."""

    def __init__(
        self,
        pass_: FragmentPass,
        textures: Mapping[int, Bound],
        arithmetic: Arithmetic,
        fragment: tuple[int, int],
    ) -> None:
        super().__init__(inputs_of(pass_, fragment[1], 1), textures, arithmetic)
        self._width, self._x = constant_rect(pass_.rect).width, fragment[0]
        self._over = False
        self._texel: Texel | None = None
        self._sampled: Vec4 | None = None
        self.steps: list[Step] = []

    def _execute(self, instruction: Instruction) -> None:
        if self._over:
            return
        operands = self._operands(instruction)
        self._texel = self._sampled = None
        super()._execute(instruction)
        destination, result = self._written(instruction)
        self._over = self.alive is not None and not bool(self._here(self.alive))
        step = Step(
            number=len(self.steps) + 1,
            line=instruction.span.line,
            text=print_instruction(instruction),
            operands=operands,
            destination=destination,
            result=result,
            texel=self._texel,
            sampled=self._sampled,
            discards=self._over,
        )
        self.steps.append(step)

    def _sample(self, row: Opcode, instruction: Instruction) -> Planes:
        """The lookup, and the texel that it read: looked up in a texture of coordinates."""
        assert instruction.texture is not None
        unit = instruction.texture.unit
        bound = self._textures[unit]
        coordinates = [self._fetch(instruction.srcs[0], c, as_interpolated=True) for c in range(4)]
        s, t, r, _ = row.evaluate(coordinates)
        nearest = replace(bound.sampler, filter=Filter.NEAREST)
        planes = sample(_coordinates(bound.storage.texture), nearest, s, t, r)
        column, texel_row, layer = (int(self._here(plane)) for plane in planes[:3])
        is_linear = bound.sampler.filter is Filter.LINEAR
        kind = bound.storage.texture.kind
        self._texel = Texel(unit, kind, column, texel_row, layer, is_linear)
        sampled = super()._sample(row, instruction)
        self._sampled = _vector([self._here(plane) for plane in sampled])
        return sampled

    def _operands(self, instruction: Instruction) -> tuple[Operand, ...]:
        as_interpolated = OPCODES[instruction.mnemonic].form is Form.SAMPLE
        values = [
            _vector(
                [self._here(self._fetch(src, c, as_interpolated=as_interpolated)) for c in range(4)]
            )
            for src in instruction.srcs
        ]
        texts = _operand_texts(instruction)
        return tuple(Operand(text, value) for text, value in zip(texts, values, strict=True))

    def _written(self, instruction: Instruction) -> tuple[str, tuple[float | None, ...]]:
        dst = instruction.dst
        if dst is None:
            return "", ()
        planes = self._destination(dst)
        values = [float(self._here(planes[c])) if dst.mask[c] else None for c in range(4)]
        return _split(instruction)[0], tuple(values)

    def _here(self, plane: Any) -> Any:
        """The value of a plane at the fragment."""
        return np.broadcast_to(plane, (1, self._width))[0, self._x]


def _vector(values: Any) -> Vec4:
    return cast("Vec4", tuple(float(value) for value in values))


@lru_cache(maxsize=8)
def _coordinates(texture: Texture) -> Storage:
    """A texture of the same shape in which every texel holds its own column, row and layer."""
    storage = Storage(Texture(texture.name, texture.kind, texture.extent, RGBA32F))
    rows, columns = np.indices((texture.extent.rows, texture.extent.width), np.float32)
    layers, rows = np.divmod(rows, np.float32(texture.extent.height))
    whole = slice(None), slice(None)
    for channel, values in enumerate((columns, rows, layers)):
        storage.write(channel, whole, cast("F32", values))
    return storage


def _split(instruction: Instruction) -> list[str]:
    """The operands in an instruction's text; commas within braces belong to an operand."""
    operands = print_instruction(instruction).partition(" ")[2].removesuffix(";")
    return re.split(r", (?![^{]*\})", operands)


def _operand_texts(instruction: Instruction) -> list[str]:
    """The texts of the sources; the selectors of SWZ belong to its source."""
    texts = _split(instruction)[instruction.dst is not None :]
    count = len(instruction.srcs)
    if instruction.texture is not None:
        return texts[:count]
    return [*texts[: count - 1], ", ".join(texts[count - 1 :])]
