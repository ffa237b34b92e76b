"""One fragment followed through its program, instruction by instruction.

The reference machine runs the program on the fragment's row of the rectangle, and a listener looks
into its registers before and after each instruction. The machine does what it does unwatched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np

from gpgpu_legacy.api.drawing import Drawing
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.machine import Bound, Machine, _inputs, run_fragment_pass
from gpgpu_legacy.interp.numeric import F32, Storage
from gpgpu_legacy.interp.sampler import Planes, sample
from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.ir import Instruction, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import Filter, FragmentPass, Pass, Texture, TextureKind, constant_rect
from gpgpu_legacy.runtime import executor
from gpgpu_legacy.runtime.host import PassByPass, Textures


@dataclass(frozen=True, slots=True)
class Texel:
    """The texel that a lookup read: column x, row y, and a 3D texture's slice or a cube's face.

    linear: the lookup mixed it with its neighbours; it is the one nearest to the coordinate.
    """

    unit: int
    target: TextureKind
    x: int
    y: int
    layer: int
    linear: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """A source operand as the text has it, and its value after swizzle and sign."""

    text: str
    value: Vec4


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction carried out on one fragment.

    number: from 1. line: of the source text. destination: as the text has it, empty for KIL.
    result: the components written, None for the others; empty for KIL. discards: whether it is a
    KIL that discarded the fragment.
    """

    number: int
    line: int
    text: str
    operands: tuple[Operand, ...]
    destination: str
    result: tuple[float | None, ...]
    texel: Texel | None = None
    discards: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A fragment's way through its program, up to its end or to the KIL that discarded it.

    fog: the OPTION that then applies fog to the colour, or empty. pixels: what the rectangle holds
    there afterwards, a colour for each target.
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
    """Follow the fragment of column x and row y (row 0 is the bottom) on the reference machine.

    Raises InputError where the rectangle has no such fragment.
    """
    rect = constant_rect(drawing.draw.rect)
    if not (0 <= x < rect.width and 0 <= y < rect.height):
        raise InputError(
            f"there is no fragment {x},{y} in {rect.width}×{rect.height}; x and y count from 0 at "
            "the lower left"
        )
    steps: list[Step] = []

    def carry_out(each: Pass, textures: Textures) -> None:
        assert isinstance(each, FragmentPass)
        bound = {b.unit: Bound(textures[b.texture], b.sampler) for b in each.bindings}
        with np.errstate(all="ignore"):
            watched = _Watched(each, bound, arithmetic, (x, y))
            watched.run(each.program)
        steps.extend(watched.steps)
        run_fragment_pass(each, textures, arithmetic)

    with PassByPass(drawing.plan, executor.Machine(arithmetic=arithmetic), carry_out) as prepared:
        outputs = prepared.run(drawing.operands).outputs
    pixels = tuple(_vector(outputs[t.name][y, 4 * x : 4 * x + 4]) for t in drawing.targets)
    fog = drawing.program.fog
    return Trace(x, y, tuple(steps), fog.value if fog else "", pixels)


class _Watched(Machine):
    """The reference machine on one row of fragments, with a listener to one of them."""

    def __init__(
        self,
        each: FragmentPass,
        textures: Mapping[int, Bound],
        arithmetic: Arithmetic,
        fragment: tuple[int, int],
    ) -> None:
        super().__init__(_inputs(each, fragment[1], 1), textures, arithmetic)
        self._width, self._x = constant_rect(each.rect).width, fragment[0]
        self._over = False
        self._texel: Texel | None = None
        self.steps: list[Step] = []

    def _execute(self, instruction: Instruction) -> None:
        if self._over:
            return
        operands = self._operands(instruction)
        self._texel = None
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
            discards=self._over,
        )
        self.steps.append(step)

    def _sample(self, row: Opcode, instruction: Instruction) -> Planes:
        """The lookup, and which texel it read: the one that a texture of places gives instead."""
        assert instruction.texture is not None
        unit = instruction.texture.unit
        bound = self._textures[unit]
        coordinates = [self._fetch(instruction.srcs[0], c, as_interpolated=True) for c in range(4)]
        s, t, r, _ = row.evaluate(coordinates)
        nearest = replace(bound.sampler, filter=Filter.NEAREST)
        found = sample(_places(bound.storage.texture), nearest, s, t, r)
        column, texel_row, layer = (int(self._here(plane)) for plane in found[:3])
        is_linear = bound.sampler.filter is Filter.LINEAR
        kind = bound.storage.texture.kind
        self._texel = Texel(unit, kind, column, texel_row, layer, is_linear)
        return super()._sample(row, instruction)

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


@cache
def _places(texture: Texture) -> Storage:
    """A texture of the same shape in which every texel is its own column, row and layer."""
    storage = Storage(Texture(texture.name, texture.kind, texture.extent, RGBA32F))
    rows, columns = np.indices((texture.extent.rows, texture.extent.width), np.float32)
    layers, rows = np.divmod(rows, np.float32(texture.extent.height))
    whole = slice(None), slice(None)
    for channel, values in enumerate((columns, rows, layers)):
        storage.write(channel, whole, cast("F32", values))
    return storage


def _split(instruction: Instruction) -> list[str]:
    """The operands of an instruction's text; no comma within braces parts them."""
    operands = print_instruction(instruction).partition(" ")[2].removesuffix(";")
    return re.split(r", (?![^{]*\})", operands)


def _operand_texts(instruction: Instruction) -> list[str]:
    """The texts of the sources; SWZ's has its selectors with it."""
    texts = _split(instruction)[instruction.dst is not None :]
    count = len(instruction.srcs)
    if instruction.texture is not None:
        return texts[:count]
    return [*texts[: count - 1], ", ".join(texts[count - 1 :])]
