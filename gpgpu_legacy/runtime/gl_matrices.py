"""Matrices to storage buffers of textures and back.

On a GPU a matrix is transferred as it lies in memory, and a compute shader moves its elements to
where the plan's packing has them: the host copies nothing. The shader moves elements as bits. The
host packs, texture by texture, for a software renderer, where NumPy is faster, and for formats of 8
or 16 bits, which the host rounds in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpgpu_legacy.interp.numeric import decode, slices, unpack
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix, Transfer, full_rect
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, GlBuffer
from gpgpu_legacy.runtime.gl_shader import UniformTable
from gpgpu_legacy.runtime.gl_staging import touched
from gpgpu_legacy.runtime.gl_storage import TextureBuffers, groups_over, whole_numbers
from gpgpu_legacy.runtime.gl_transfer_shaders import (
    PACK_COMPUTE_SHADER,
    UNPACK_COMPUTE_SHADER,
    packing_uniforms,
)
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import HostInput, cleared_first, has_matrix_layout
from gpgpu_legacy.runtime.workers import Started

_FLOAT_BYTES, _FLOAT_BITS = 4, 32


class Matrices:
    """The operands and results of a plan. The context must be current for every method."""

    def __init__(self, storage: TextureBuffers, plan: Plan, *, packs_on_device: bool) -> None:
        """packs_on_device: whether compute shaders move elements, where they can."""
        self._storage, self._plan, self._packs_on_device = storage, plan, packs_on_device
        self._matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        self._cleared_first = {
            name: storage.cleared_to(name, value) for name, value in cleared_first(plan).items()
        }
        self._uniforms = UniformTable()
        self._packs: dict[Transfer, Dispatch] = {}
        self._unpacks: dict[Transfer, Dispatch] = {}
        self._packed_by_host: dict[Transfer, HostInput] = {}
        self._unpacked_by_host: dict[Transfer, F32] = {}
        self._expected: dict[str, tuple[F32, list[Started]]] = {}
        self._transfer_buffer: GlBuffer | None = None
        if packs_on_device:
            sizes = (_FLOAT_BYTES * m.rows * m.columns for m in self._matrices.values())
            largest = max(sizes, default=_FLOAT_BYTES)
            self._transfer_buffer = storage.context.buffer(max(largest, _FLOAT_BYTES))
        self._make_ready()

    def release(self) -> None:
        """Release what was allocated."""
        if self._transfer_buffer is not None:
            self._transfer_buffer.release()

    def _make_ready(self) -> None:
        textures = self._storage.textures
        for input_ in self._plan.inputs:
            texture = textures[input_.texture]
            rounds = texture.format.bits_per_channel != _FLOAT_BITS
            if not rounds and self._is_contiguous(input_):
                continue
            if rounds or not self._packs_on_device:
                self._packed_by_host[input_] = HostInput(self._plan, input_)
            else:
                size = (input_.rect.width, input_.rect.height)
                self._packs[input_] = self._record(PACK_COMPUTE_SHADER, input_, size)
        for output in self._plan.outputs:
            if self._is_contiguous(output):
                continue
            if self._packs_on_device:
                size = (output.region.columns, output.region.rows)
                self._unpacks[output] = self._record(UNPACK_COMPUTE_SHADER, output, size)
            else:
                texture = textures[output.texture]
                shape = (texture.extent.rows, texture.extent.width, texture.format.channels)
                self._unpacked_by_host[output] = np.empty(shape, np.float32)
        self._uniforms.settle()

    def _is_contiguous(self, transfer: Transfer) -> bool:
        """Whether a texture's buffer has the layout of the matrix."""
        is_whole = transfer.rect == full_rect(self._storage.textures[transfer.texture])
        return is_whole and has_matrix_layout(transfer, self._matrices[transfer.matrix])

    def _record(self, text: str, transfer: Transfer, size: tuple[int, int]) -> Dispatch:
        storage = self._storage
        shader = storage.shader(text)
        values = packing_uniforms(self._matrices[transfer.matrix], transfer)
        values |= whole_numbers(width=(storage.textures[transfer.texture].extent.width,))
        return Dispatch(
            storage.context,
            shader,
            self._uniforms.add(shader, values),
            (self._transfer_buffer, storage.buffers[transfer.texture]),
            groups_over(*size),
        )

    def send(self, operands: Mapping[str, F32]) -> None:
        """Clear the texels that a run may read before it writes them; send the operands."""
        storage = self._storage
        for name, texels in self._cleared_first.items():
            storage.clear(name, texels[0])
        self._uniforms.begin()
        in_buffer = None
        for input_ in self._plan.inputs:
            matrix = operands[input_.matrix]
            if input_ in self._packed_by_host:
                self._write(input_, matrix)
            elif input_ in self._packs:
                if in_buffer != input_.matrix:
                    storage.send(matrix, self._transfer_buffer)
                    in_buffer = input_.matrix
                self._packs[input_](0)
            else:
                storage.send(matrix, storage.buffers[input_.texture])
        storage.context.handle.memory_barrier()

    def _write(self, input_: Transfer, matrix: F32) -> None:
        """Send what the host has packed to a rectangle of a texture."""
        storage, rect = self._storage, input_.rect
        texture = storage.textures[input_.texture]
        texels = decode(self._packed_by_host[input_].stored(matrix), texture.format)
        if rect.area < texture.extent.width * texture.extent.rows:
            whole = storage.read(input_.texture)
            whole[slices(rect)] = texels
            texels = whole
        storage.send(np.ascontiguousarray(texels, np.float32), storage.buffers[input_.texture])

    def expect_results(self) -> None:
        """Begin to allocate the results of this run: threads of the host do, and nobody waits."""
        if not self._packs_on_device:
            return
        for matrix in self._plan.results:
            values = np.empty((matrix.rows, matrix.columns), np.float32)
            self._expected[matrix.name] = (values, touched(values))

    def _allocated(self, matrix: Matrix) -> F32:
        """An array for a result."""
        if matrix.name not in self._expected:
            return np.empty((matrix.rows, matrix.columns), np.float32)
        values, touching = self._expected.pop(matrix.name)
        for touch in touching:
            touch.finish()
        return values

    def results(self) -> dict[str, F32]:
        """The matrices that the plan computes, by name; zero where no output covers them."""
        self._uniforms.begin()
        return {matrix.name: self._result(matrix) for matrix in self._plan.results}

    def _result(self, matrix: Matrix) -> F32:
        outputs = [output for output in self._plan.outputs if output.matrix == matrix.name]
        if outputs and self._is_contiguous(outputs[-1]):
            result = self._allocated(matrix)
            self._storage.fetch(result, self._storage.buffers[outputs[-1].texture])
        elif outputs and self._packs_on_device:
            result = self._allocated(matrix)
            self._collect(matrix, outputs)
            self._storage.fetch(result, self._transfer_buffer)
        else:
            result = np.zeros((matrix.rows, matrix.columns), np.float32)
            for output in outputs:
                self._unpack(output, result)
        return result

    def _collect(self, matrix: Matrix, outputs: Sequence[Transfer]) -> None:
        """Collect a result in the transfer buffer."""
        storage, size = self._storage, (matrix.columns, matrix.rows)
        storage.set_all(self._transfer_buffer, size, np.zeros(1, np.float32))
        for output in outputs:
            if output in self._unpacks:
                self._unpacks[output](0)
            else:
                storage.context.handle.memory_barrier()
                bytes_ = _FLOAT_BYTES * matrix.rows * matrix.columns
                source = storage.buffers[output.texture]
                storage.context.handle.copy_buffer(self._transfer_buffer, source, bytes_)

    def _unpack(self, output: Transfer, result: F32) -> None:
        """Put an output's elements into its result, on the host."""
        source = self._storage.buffers[output.texture]
        if output not in self._unpacked_by_host:
            self._storage.fetch(result, source)
            return
        texels = self._unpacked_by_host[output]
        self._storage.fetch(texels, source)
        unpack(texels[slices(output.rect)], result, output.region, output.packing)
