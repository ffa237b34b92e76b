"""One fragment traced through its program, instruction by instruction.

The reference machine runs the program on the fragment's row of the rectangle, and a trace records
its registers before and after each instruction. Tracing changes nothing that the machine computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from gpgpu_legacy.api.drawing import Drawing
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.machine import Bound, Machine, inputs_of, run_fragment_pass
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.interp.sampler import sample
from gpgpu_legacy.isa.arithmetic import F32, FP32, Arithmetic
from gpgpu_legacy.isa.execute import ALL, execute_instruction, vector
from gpgpu_legacy.isa.ir import Instruction, Program, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.languages.arb.printer import operand_texts, print_instruction
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import FragmentPass, Pass
from gpgpu_legacy.plan.textures import Filter, Texture, TextureKind, constant_rect
from gpgpu_legacy.runtime import machine
from gpgpu_legacy.runtime.host import PassByPass, Textures


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Operand:
    """A source operand: its text, and its value after swizzle and sign."""

    text: str
    value: Vec4


@dataclass(frozen=True)
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


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        end = "discarded" if self.discarded else f"pixels {', '.join(map(str, self.pixels))}"
        return f"<Trace of fragment {self.x},{self.y}: {len(self.steps)} instructions, {end}>"

    def _repr_html_(self) -> str:
        """Every instruction with its operands and its result, for a notebook."""
        from gpgpu_legacy.api.trace_table import trace_as_text
        from gpgpu_legacy.present.html import lines_html

        return lines_html(trace_as_text(self))

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
    x, y = fragment
    bound = {b.unit: Bound(textures[b.texture], b.sampler) for b in pass_.bindings}
    machine = Machine(inputs_of(pass_, y, 1), bound, arithmetic)
    traced = _Traced(machine, bound, constant_rect(pass_.rect).width, x)
    with np.errstate(all="ignore"):
        return tuple(traced.steps(pass_.program))


@dataclass(frozen=True)
class _Traced:
    """The reference machine on one row of fragments, and the one that is observed.

    width: of the row. x: the fragment's column.
    """

    machine: Machine
    textures: Mapping[int, Bound]
    width: int
    x: int

    def steps(self, program: Program) -> Iterator[Step]:
        """Every instruction that the fragment executes."""
        for number, instruction in enumerate(program.instructions, 1):
            step = self._step(number, instruction)
            yield step
            if step.discards:
                return

    def _step(self, number: int, instruction: Instruction) -> Step:
        """Execute an instruction, between a look at what it reads and one at what it wrote."""
        texts, row = operand_texts(instruction), OPCODES[instruction.mnemonic]
        is_lookup = row.form is Form.SAMPLE
        sources = [vector(src, self.machine, coordinate=is_lookup) for src in instruction.srcs]
        operands = zip(texts.sources, map(self._values, sources), strict=True)
        texel, sampled = None, None
        if is_lookup:
            coordinates = row.evaluate(*sources)
            texel = self._texel(instruction, coordinates)
            found = self.machine.look_up(instruction, coordinates, ALL)
            sampled = self._values([found[(c,)] for c in ALL])
        execute_instruction(instruction, self.machine)
        alive = self.machine.alive
        return Step(
            number=number,
            line=instruction.span.line,
            text=print_instruction(instruction),
            operands=tuple(Operand(text, value) for text, value in operands),
            destination=texts.destination,
            result=self._written(instruction),
            texel=texel,
            sampled=sampled,
            discards=alive is not None and not bool(self._here(alive)),
        )

    def _texel(self, instruction: Instruction, coordinates: Sequence[F32]) -> Texel:
        """The texel that a lookup reads: looked up in a texture of coordinates."""
        assert instruction.texture is not None
        unit = instruction.texture.unit
        bound = self.textures[unit]
        nearest = replace(bound.sampler, filter=Filter.NEAREST)
        planes = sample(_coordinates(bound.storage.texture), nearest, *coordinates[:3])
        column, row, layer = (int(self._here(plane)) for plane in planes[:3])
        is_linear = bound.sampler.filter is Filter.LINEAR
        return Texel(unit, bound.storage.texture.kind, column, row, layer, is_linear)

    def _written(self, instruction: Instruction) -> tuple[float | None, ...]:
        dst = instruction.dst
        if dst is None:
            return ()
        values = self._values(self.machine.register(dst.register))
        return tuple(values[c] if dst.mask[c] else None for c in ALL)

    def _values(self, planes: Sequence[F32]) -> Vec4:
        return _vector([self._here(plane) for plane in planes])

    def _here(self, plane: Any) -> Any:
        """The value of a plane at the fragment."""
        return np.broadcast_to(plane, (1, self.width))[0, self.x]


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
