"""Matrices to textures and back by drawing, so that the host need not rearrange elements.

A matrix crosses the bus as it lies in memory, through a buffer. If its layout is not that of the
texture, it goes to a texture of single floats, the sheet. One draw for each input moves elements
from the sheet to where its packing has them; one draw for each output moves texels to the sheet.
Elements lie on the sheet row after row without gaps, so that a matrix of any shape fits.

Storage buffers need no sheet; see runtime/gl_matrices.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix, Rect, Transfer
from gpgpu_legacy.runtime.gl import GlContext, ModernglContext
from gpgpu_legacy.runtime.gl_draws import Bound, Draw, Target
from gpgpu_legacy.runtime.gl_shader import UniformTable, drawing_shader
from gpgpu_legacy.runtime.gl_staging import staging_for
from gpgpu_legacy.runtime.gl_transfer_shaders import (
    PACK_FRAGMENT_SHADER,
    UNPACK_FRAGMENT_SHADER,
    packing_uniforms,
)
from gpgpu_legacy.runtime.gl_values import Viewport, viewport
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import has_matrix_layout, overlap

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
        """Whether its channels are float32, so that a draw keeps their bits."""
        return self.format.numeric is Numeric.FLOAT and self.format.bits_per_channel == 32


class Sheet:
    """The texture and the buffer through which matrices are transferred."""

    def __init__(self, shared: GlContext, elements: int, largest: int) -> None:
        """elements: of the largest matrix. largest: width and height of the device's textures."""
        context: ModernglContext = shared.handle
        self.width = _LEAST_WIDTH
        while self.rows(elements) > largest:
            self.width *= 2
        size = (self.width, self.rows(elements))
        self.texture = context.texture(size, 1, dtype="f4", alignment=1)
        self.texture.filter = (context.NEAREST, context.NEAREST)
        self.framebuffer = context.framebuffer([self.texture])
        bytes_ = size[0] * size[1] * _FLOAT_BYTES
        self.buffer = shared.buffer(bytes_)
        self.staging = staging_for(shared, bytes_, to_device=True)

    @staticmethod
    def has_room(matrix: Matrix, largest: int) -> bool:
        """Whether a matrix fits on the sheet of a device. largest: as for Sheet."""
        elements = matrix.rows * matrix.columns
        return largest >= _LEAST_WIDTH and elements <= min(_MOST_ELEMENTS, largest * largest // 2)

    def rows(self, elements: int) -> int:
        """The rows of the sheet that this many elements take."""
        return -(-elements // self.width)

    def part(self, matrix: Matrix) -> Viewport:
        """The rectangle that a matrix takes."""
        return (0, 0, self.width, self.rows(matrix.rows * matrix.columns))

    def send(self, matrix: Matrix, values: F32) -> None:
        """Write a matrix to the sheet."""
        self.send_to(self.texture, self.part(matrix), values)

    def clear(self, matrix: Matrix) -> None:
        """Write zeros to the sheet. This may bind another framebuffer."""
        self.framebuffer.clear(0.0, 0.0, 0.0, 0.0, viewport=self.part(matrix))

    def fetch(self, matrix: Matrix) -> F32:
        """Read a matrix from the sheet."""
        return self.fetch_from(self.framebuffer, self.part(matrix), matrix)

    def send_to(self, texture: Any, place: Viewport, values: F32) -> None:
        """Write a matrix to a rectangle of a texture of the same layout."""
        self.staging.send(values, self.buffer)
        texture.write(self.buffer, viewport=place, alignment=1)

    def fetch_from(self, framebuffer: Any, place: Viewport, matrix: Matrix) -> F32:
        """Read a matrix from the beginning of a rectangle of single floats."""
        framebuffer.read_into(self.buffer, place, components=1, alignment=1, dtype="f4")
        values = np.empty((matrix.rows, matrix.columns), np.float32)
        self.staging.fetch(values, self.buffer)
        return values

    def release(self) -> None:
        """Release everything; the context is current."""
        for resource in (self.staging, self.buffer, self.framebuffer, self.texture):
            resource.release()


class DeviceTransfers:
    """The inputs and outputs of a plan that the device packs and unpacks.

    inputs, outputs: those of the plan that the device takes; the host takes the others.
    """

    def __init__(
        self, context: GlContext, bound: Bound, plan: Plan, textures: Mapping[str, Drawable]
    ) -> None:
        """textures: those of the plan, by name. Nothing is allocated yet."""
        self._context, self._bound, self._textures = context, bound, textures
        self._largest = int(context.info["GL_MAX_TEXTURE_SIZE"])
        matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        self._matrices = {n: m for n, m in matrices.items() if Sheet.has_room(m, self._largest)}
        self.inputs = [] if _overlapping(plan.inputs) else self._movable(plan.inputs)
        movable = frozenset(self._movable(plan.outputs))
        on_the_host = {output.matrix for output in plan.outputs if output not in movable}
        self.outputs = [output for output in plan.outputs if output.matrix not in on_the_host]
        self._sheet: Sheet | None = None
        self._uniforms = UniformTable()
        self._packs: dict[Transfer, Draw] = {}
        self._unpacks: dict[Transfer, Draw] = {}

    def _movable(self, transfers: Iterable[Transfer]) -> list[Transfer]:
        return [
            transfer
            for transfer in transfers
            if transfer.matrix in self._matrices and self._textures[transfer.texture].holds_floats
        ]

    def make(self) -> Sheet | None:
        """Allocate the sheet and record the draws; None if the device takes nothing."""
        used = {i.matrix for i in self.inputs} | {o.matrix for o in self.outputs}
        if not used:
            return None
        elements = max(m.rows * m.columns for n, m in self._matrices.items() if n in used)
        sheet = self._sheet = Sheet(self._context, elements, self._largest)
        for input_ in self.inputs:
            if not has_matrix_layout(input_, self._matrices[input_.matrix]):
                target = Target(self._textures[input_.texture].framebuffer, viewport(input_.rect))
                self._packs[input_] = self._record(
                    PACK_FRAGMENT_SHADER, input_, sheet.texture, target
                )
        for output in self.outputs:
            matrix, region = self._matrices[output.matrix], output.region
            is_last = output == [o for o in self.outputs if o.matrix == output.matrix][-1]
            if is_last and has_matrix_layout(output, matrix):
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
        transfer: Transfer,
        source: Any,
        target: Target,
    ) -> Draw:
        assert self._sheet is not None
        shader = drawing_shader(self._context, text, "the transfers", lambda: text)
        values = packing_uniforms(self._matrices[transfer.matrix], transfer)
        values["shift"] = np.array([self._sheet.width.bit_length() - 1], np.int32)
        uniforms = self._uniforms.add(shader, values)
        return Draw(self._bound, shader, uniforms, [(0, source)], target)

    def send(self, operands: Mapping[str, F32]) -> None:
        """Send the operands of its inputs, and move them to the textures."""
        if self._sheet is None:
            return
        self._uniforms.begin()
        self._bound.forget()
        on_sheet = None
        for input_ in self.inputs:
            matrix, values = self._matrices[input_.matrix], operands[input_.matrix]
            if input_ not in self._packs:
                texture = self._textures[input_.texture].texture
                self._sheet.send_to(texture, viewport(input_.rect), values)
                continue
            if on_sheet != input_.matrix:
                self._sheet.send(matrix, values)
                on_sheet = input_.matrix
            self._packs[input_](0)

    def fetch(self) -> dict[str, F32]:
        """The results of its outputs, by name; zero where no output covers them."""
        results: dict[str, F32] = {}
        if self._sheet is None:
            return results
        self._uniforms.begin()
        for name in dict.fromkeys(output.matrix for output in self.outputs):
            outputs = [output for output in self.outputs if output.matrix == name]
            results[name] = self._fetched(self._sheet, self._matrices[name], outputs)
        return results

    def _fetched(self, sheet: Sheet, matrix: Matrix, outputs: Sequence[Transfer]) -> F32:
        """A result of these outputs."""
        last = outputs[-1]
        if last not in self._unpacks:
            framebuffer = self._textures[last.texture].framebuffer
            return sheet.fetch_from(framebuffer, viewport(last.rect), matrix)
        sheet.clear(matrix)
        self._bound.forget()
        for output in outputs:
            self._unpacks[output](0)
        return sheet.fetch(matrix)


def _overlapping(inputs: Sequence[Transfer]) -> bool:
    """Whether the order of the inputs matters."""
    by_texture: dict[str, list[Rect]] = {}
    for input_ in inputs:
        by_texture.setdefault(input_.texture, []).append(input_.rect)
    return any(overlap(a, b) for rects in by_texture.values() for a, b in combinations(rects, 2))
