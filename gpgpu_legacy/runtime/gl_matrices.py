"""Matrices to storage buffers of textures and back.

On a GPU a matrix travels as it lies in memory, and a compute shader moves its elements to where the
plan's packing has them: the host copies nothing. Elements are moved as bits. A software renderer
packs more slowly so than NumPy does, and what a format of 8 or 16 bits would store is rounded by
the host in any case: there the host packs, texture by texture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpgpu_legacy.interp.numeric import decode, slices, unpack
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Input, Matrix, Output, Rect
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, GlBuffer
from gpgpu_legacy.runtime.gl_shader import UniformTable
from gpgpu_legacy.runtime.gl_storage import TextureBuffers, groups_over, whole_numbers
from gpgpu_legacy.runtime.gl_transfer_shaders import (
    PACK_COMPUTE_SHADER,
    UNPACK_COMPUTE_SHADER,
    packing_uniforms,
)
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import HostInput, cleared_first, is_the_matrix

_FLOAT_BYTES, _FLOAT_BITS = 4, 32


class Matrices:
    """The operands and results of a plan; the context is current for all that is done here."""

    def __init__(self, storage: TextureBuffers, plan: Plan, *, packs_on_device: bool) -> None:
        """packs_on_device: whether elements are moved by compute shaders, where they can be."""
        self._storage, self._plan, self._packs_on_device = storage, plan, packs_on_device
        self._matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        self._cleared_first = {
            name: storage.cleared_to(name, value) for name, value in cleared_first(plan).items()
        }
        self._uniforms = UniformTable()
        self._packs: dict[Input, Dispatch] = {}
        self._unpacks: dict[Output, Dispatch] = {}
        self._packed_by_host: dict[Input, HostInput] = {}
        self._unpacked_by_host: dict[Output, F32] = {}
        self._travelling: GlBuffer | None = None
        if packs_on_device:
            sizes = (_FLOAT_BYTES * m.rows * m.columns for m in self._matrices.values())
            largest = max(sizes, default=_FLOAT_BYTES)
            self._travelling = storage.context.handle.buffer(reserve=max(largest, _FLOAT_BYTES))
        self._make_ready()

    def release(self) -> None:
        """Give back what was allocated."""
        if self._travelling is not None:
            self._travelling.release()

    def _make_ready(self) -> None:
        textures = self._storage.textures
        for each in self._plan.inputs:
            texture = textures[each.texture]
            rounds = texture.format.bits_per_channel != _FLOAT_BITS
            if not rounds and self._is_in_one_piece(each):
                continue
            if rounds or not self._packs_on_device:
                self._packed_by_host[each] = HostInput(self._plan, each)
            else:
                size = (each.rect.width, each.rect.height)
                self._packs[each] = self._record(PACK_COMPUTE_SHADER, each, size)
        for output in self._plan.outputs:
            if self._is_in_one_piece(output):
                continue
            if self._packs_on_device:
                size = (output.region.columns, output.region.rows)
                self._unpacks[output] = self._record(UNPACK_COMPUTE_SHADER, output, size)
            else:
                texture = textures[output.texture]
                shape = (texture.extent.rows, texture.extent.width, texture.format.channels)
                self._unpacked_by_host[output] = np.empty(shape, np.float32)
        self._uniforms.settle()

    def _is_in_one_piece(self, each: Input | Output) -> bool:
        """Whether a texture's buffer holds what the matrix does, element by element."""
        extent = self._storage.textures[each.texture].extent
        is_whole = each.rect == Rect(0, 0, extent.width, extent.rows)
        return is_whole and is_the_matrix(each, self._matrices[each.matrix])

    def _record(self, text: str, each: Input | Output, size: tuple[int, int]) -> Dispatch:
        storage = self._storage
        shader = storage.shader(text)
        values = packing_uniforms(self._matrices[each.matrix], each)
        values |= whole_numbers(width=(storage.textures[each.texture].extent.width,))
        return Dispatch(
            storage.context,
            shader,
            self._uniforms.add(shader, values),
            (self._travelling, storage.buffers[each.texture]),
            groups_over(*size),
        )

    def send(self, operands: Mapping[str, F32]) -> None:
        """Clear what a run may see and has not written, and send the operands."""
        storage = self._storage
        for name, texels in self._cleared_first.items():
            storage.clear(name, texels[0])
        self._uniforms.begin()
        travelling = None
        for each in self._plan.inputs:
            matrix = operands[each.matrix]
            if each in self._packed_by_host:
                self._write(each, matrix)
            elif each in self._packs:
                if travelling != each.matrix:
                    storage.send(matrix, self._travelling)
                    travelling = each.matrix
                self._packs[each](0)
            else:
                storage.send(matrix, storage.buffers[each.texture])
        storage.context.handle.memory_barrier()

    def _write(self, each: Input, matrix: F32) -> None:
        """Put what the host has packed into a rectangle of a texture."""
        storage, rect = self._storage, each.rect
        texture = storage.textures[each.texture]
        texels = decode(self._packed_by_host[each].stored(matrix), texture.format)
        if rect.area < texture.extent.width * texture.extent.rows:
            whole = storage.read(each.texture)
            whole[slices(rect)] = texels
            texels = whole
        storage.send(np.ascontiguousarray(texels, np.float32), storage.buffers[each.texture])

    def results(self) -> dict[str, F32]:
        """The matrices that the plan makes, by name; zero where no output covers them."""
        self._uniforms.begin()
        return {matrix.name: self._result(matrix) for matrix in self._plan.results}

    def _result(self, matrix: Matrix) -> F32:
        outputs = [each for each in self._plan.outputs if each.matrix == matrix.name]
        shape = (matrix.rows, matrix.columns)
        if outputs and self._is_in_one_piece(outputs[-1]):
            result = np.empty(shape, np.float32)
            self._storage.fetch(result, self._storage.buffers[outputs[-1].texture])
        elif outputs and self._packs_on_device:
            result = np.empty(shape, np.float32)
            self._collect(matrix, outputs)
            self._storage.fetch(result, self._travelling)
        else:
            result = np.zeros(shape, np.float32)
            for each in outputs:
                self._unpack(each, result)
        return result

    def _collect(self, matrix: Matrix, outputs: Sequence[Output]) -> None:
        """Bring a result together in the travelling buffer."""
        storage, size = self._storage, (matrix.columns, matrix.rows)
        storage.set_all(self._travelling, size, np.zeros(1, np.float32))
        for each in outputs:
            if each in self._unpacks:
                self._unpacks[each](0)
            else:
                storage.context.handle.memory_barrier()
                bytes_ = _FLOAT_BYTES * matrix.rows * matrix.columns
                source = storage.buffers[each.texture]
                storage.context.handle.copy_buffer(self._travelling, source, bytes_)

    def _unpack(self, each: Output, result: F32) -> None:
        """Put an output's elements into its result, on the host."""
        source = self._storage.buffers[each.texture]
        if each not in self._unpacked_by_host:
            self._storage.fetch(result, source)
            return
        texels = self._unpacked_by_host[each]
        self._storage.fetch(texels, source)
        unpack(texels[slices(each.rect)], result, each.region, each.packing)
