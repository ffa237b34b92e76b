"""Matrices to textures and back on the device, where the host would have to shuffle elements.

A matrix crosses the bus as it lies in memory, by way of a kept buffer, and where it is not a
texture's texels as they lie, into a kept texture of single floats: the sheet. One draw an input
moves its elements from there to where its packing has them; one draw an output moves texels to the
sheet. Elements lie on the sheet row after row without gaps, so that a matrix of any
shape fits that has not too many of them.

Storage buffers need no sheet; see runtime/gl_matrices.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Input, Matrix, Output, Rect
from gpgpu_legacy.runtime.gl import GlContext, ModernglContext
from gpgpu_legacy.runtime.gl_draws import Bound, Draw, Target, Viewport, viewport
from gpgpu_legacy.runtime.gl_shader import UniformTable, drawing_shader
from gpgpu_legacy.runtime.gl_transfer_shaders import (
    PACK_FRAGMENT_SHADER,
    UNPACK_FRAGMENT_SHADER,
    packing_uniforms,
)
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import is_the_matrix, overlap

_Transfer = TypeVar("_Transfer", Input, Output)

_LEAST_WIDTH = 4096  # of a sheet, in elements
_FLOAT_BYTES = 4
_MOST_ELEMENTS = 1 << 30  # which an int counts, with room for what the last row lacks


@dataclass(frozen=True, slots=True)
class Drawable:
    """A texture of a plan that can be drawn to: moderngl's texture and framebuffer, its format."""

    texture: Any
    framebuffer: Any
    format: Format

    @property
    def holds_floats(self) -> bool:
        """Whether its channels are float32, which a move does not change."""
        return self.format.numeric is Numeric.FLOAT and self.format.bits_per_channel == 32


class Sheet:
    """The texture and the buffer through which matrices come and go; nobody else's."""

    def __init__(self, context: ModernglContext, elements: int, largest: int) -> None:
        """elements: of the largest matrix. largest: width and height of the device's textures."""
        self.width = _LEAST_WIDTH
        while self.rows(elements) > largest:
            self.width *= 2
        size = (self.width, self.rows(elements))
        self.texture = context.texture(size, 1, dtype="f4", alignment=1)
        self.texture.filter = (context.NEAREST, context.NEAREST)
        self.framebuffer = context.framebuffer([self.texture])
        self.buffer = context.buffer(reserve=size[0] * size[1] * _FLOAT_BYTES, dynamic=True)

    @staticmethod
    def has_room(matrix: Matrix, largest: int) -> bool:
        """Whether a matrix fits on a sheet of a device with textures so large."""
        elements = matrix.rows * matrix.columns
        return largest >= _LEAST_WIDTH and elements <= min(_MOST_ELEMENTS, largest * largest // 2)

    def rows(self, elements: int) -> int:
        """Rows of the sheet that so many elements take."""
        return -(-elements // self.width)

    def part(self, matrix: Matrix) -> Viewport:
        """The rectangle that a matrix takes."""
        return (0, 0, self.width, self.rows(matrix.rows * matrix.columns))

    def send(self, matrix: Matrix, values: F32) -> None:
        """Lay a matrix on it."""
        self.buffer.write(values)
        self.texture.write(self.buffer, viewport=self.part(matrix), alignment=1)

    def clear(self, matrix: Matrix) -> None:
        """Lay zeros on it. Which framebuffer is bound then is not known."""
        self.framebuffer.clear(0.0, 0.0, 0.0, 0.0, viewport=self.part(matrix))

    def fetch(self, matrix: Matrix) -> F32:
        """The matrix that lies on it."""
        return self.fetch_from(self.framebuffer, self.part(matrix), matrix)

    def send_to(self, texture: Any, place: Viewport, values: F32) -> None:
        """Send a matrix to a rectangle of another texture, whose texels it is."""
        self.buffer.write(values)
        texture.write(self.buffer, viewport=place, alignment=1)

    def fetch_from(self, framebuffer: Any, place: Viewport, matrix: Matrix) -> F32:
        """A matrix that begins a rectangle of single floats, or is it."""
        framebuffer.read_into(self.buffer, place, components=1, alignment=1, dtype="f4")
        values = np.empty((matrix.rows, matrix.columns), np.float32)
        self.buffer.read_into(values, values.nbytes)
        return values

    def release(self) -> None:
        """Give everything back; the context is current."""
        for made in (self.buffer, self.framebuffer, self.texture):
            made.release()


class DeviceTransfers:
    """The inputs and results of a plan that the device packs and unpacks.

    inputs: those of the plan that it takes; outputs likewise. The others are the host's.
    """

    def __init__(
        self, context: GlContext, bound: Bound, plan: Plan, textures: Mapping[str, Drawable]
    ) -> None:
        """textures: those of the plan, by name. Nothing is made on the device yet."""
        self._context, self._bound, self._textures = context, bound, textures
        self._largest = int(context.info["GL_MAX_TEXTURE_SIZE"])
        matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        self._matrices = {n: m for n, m in matrices.items() if Sheet.has_room(m, self._largest)}
        self.inputs = [] if _overlapping(plan.inputs) else self._movable(plan.inputs)
        movable = frozenset(self._movable(plan.outputs))
        on_the_host = {each.matrix for each in plan.outputs if each not in movable}
        self.outputs = [each for each in plan.outputs if each.matrix not in on_the_host]
        self._sheet: Sheet | None = None
        self._uniforms = UniformTable()
        self._packs: dict[Input, Draw] = {}
        self._unpacks: dict[Output, Draw] = {}

    def _movable(self, transfers: Iterable[_Transfer]) -> list[_Transfer]:
        return [
            each
            for each in transfers
            if each.matrix in self._matrices and self._textures[each.texture].holds_floats
        ]

    def make(self) -> Sheet | None:
        """Make the sheet and record the draws; None where there is nothing to do."""
        used = {each.matrix for each in self.inputs} | {each.matrix for each in self.outputs}
        if not used:
            return None
        elements = max(m.rows * m.columns for n, m in self._matrices.items() if n in used)
        sheet = self._sheet = Sheet(self._context.handle, elements, self._largest)
        for each in self.inputs:
            if not is_the_matrix(each, self._matrices[each.matrix]):
                target = Target(self._textures[each.texture].framebuffer, viewport(each.rect))
                self._packs[each] = self._record(PACK_FRAGMENT_SHADER, each, sheet.texture, target)
        for output in self.outputs:
            matrix, region = self._matrices[output.matrix], output.region
            is_last = output == [o for o in self.outputs if o.matrix == output.matrix][-1]
            if is_last and is_the_matrix(output, matrix):
                continue
            first = region.row * matrix.columns // sheet.width
            last = ((region.row + region.rows) * matrix.columns - 1) // sheet.width
            target = Target(sheet.framebuffer, (0, first, sheet.width, last - first + 1))
            source = self._textures[output.texture].texture
            self._unpacks[output] = self._record(UNPACK_FRAGMENT_SHADER, output, source, target)
        self._uniforms.settle()
        self._uniforms.begin()
        for move in (*self._packs.values(), *self._unpacks.values()):
            move.warm_up()
        return sheet

    def _record(
        self,
        text: str,
        each: Input | Output,
        source: Any,
        target: Target,
    ) -> Draw:
        assert self._sheet is not None
        shader = drawing_shader(self._context, text, "the transfers", lambda: text)
        values = packing_uniforms(self._matrices[each.matrix], each)
        values["shift"] = np.array([self._sheet.width.bit_length() - 1], np.int32)
        uniforms = self._uniforms.add(shader, values)
        return Draw(self._bound, shader, uniforms, [(0, source)], target)

    def send(self, operands: Mapping[str, F32]) -> None:
        """Send the operands that are its own, and move them to the textures."""
        if self._sheet is None:
            return
        self._uniforms.begin()
        self._bound.forget()
        lies_there = None
        for each in self.inputs:
            matrix, values = self._matrices[each.matrix], operands[each.matrix]
            if each not in self._packs:
                texture = self._textures[each.texture].texture
                self._sheet.send_to(texture, viewport(each.rect), values)
                continue
            if lies_there != each.matrix:
                self._sheet.send(matrix, values)
                lies_there = each.matrix
            self._packs[each](0)

    def fetch(self) -> dict[str, F32]:
        """The results that are its own, by name; zero where no output covers them."""
        results: dict[str, F32] = {}
        if self._sheet is None:
            return results
        self._uniforms.begin()
        for name in dict.fromkeys(each.matrix for each in self.outputs):
            outputs = [each for each in self.outputs if each.matrix == name]
            results[name] = self._fetched(self._sheet, self._matrices[name], outputs)
        return results

    def _fetched(self, sheet: Sheet, matrix: Matrix, outputs: Sequence[Output]) -> F32:
        """A result of these outputs."""
        last = outputs[-1]
        if last not in self._unpacks:
            framebuffer = self._textures[last.texture].framebuffer
            return sheet.fetch_from(framebuffer, viewport(last.rect), matrix)
        sheet.clear(matrix)
        self._bound.forget()
        for each in outputs:
            self._unpacks[each](0)
        return sheet.fetch(matrix)


def _overlapping(inputs: Sequence[Input]) -> bool:
    """Whether the order of the inputs matters."""
    by_texture: dict[str, list[Rect]] = {}
    for each in inputs:
        by_texture.setdefault(each.texture, []).append(each.rect)
    return any(overlap(a, b) for rects in by_texture.values() for a, b in combinations(rects, 2))
