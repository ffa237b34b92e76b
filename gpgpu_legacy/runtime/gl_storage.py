"""Textures as storage buffers: float32 channels, row after row; filled, copied and read on the GPU.

A matrix travels as it lies in memory, in one piece through a kept buffer, and a compute shader
moves its elements to where the plan's packing has them: the host copies nothing. Elements are moved
as bits. What a format of 8 or 16 bits would store is rounded by the host, texture by texture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import Stored, decode, encode, slices
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    Input,
    Matrix,
    Output,
    Plan,
    Rect,
    constant_rect,
)
from gpgpu_legacy.runtime.executor import F32
from gpgpu_legacy.runtime.gl import GlContext, ModernglContext
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, GlBuffer
from gpgpu_legacy.runtime.gl_limits import size_bytes
from gpgpu_legacy.runtime.gl_shader import Shader, UniformTable, Values
from gpgpu_legacy.runtime.gl_transfers import (
    PACK_COMPUTE_SHADER,
    UNPACK_COMPUTE_SHADER,
    packing_uniforms,
)
from gpgpu_legacy.runtime.gl_values import over_iterations, single
from gpgpu_legacy.runtime.transfers import HostInput, is_the_matrix, undefined_textures

_SIDE = 16  # of the work groups of the shaders here
_FLOAT_BYTES, _FLOAT_BITS = 4, 32

F64 = NDArray[np.float64]

_HEAD = f"""#version 430 core
layout(local_size_x = {_SIDE}, local_size_y = {_SIDE}) in;
"""

_CLEAR = f"""{_HEAD}
layout(std430, binding = 0) restrict writeonly buffer Texture {{ float texels[]; }};
uniform vec4 value;
uniform ivec2 size;
uniform int channels;
void main() {{
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (texel.x >= size.x || texel.y >= size.y) return;
    int first = (texel.y * size.x + texel.x) * channels;
    for (int c = 0; c < channels; c++) texels[first + c] = value[c];
}}
"""

_COPY = f"""{_HEAD}
layout(std430, binding = 0) restrict readonly buffer Source {{ uint from[]; }};
layout(std430, binding = 1) restrict writeonly buffer Target {{ uint to[]; }};
uniform ivec2 there, here, size;  // corners of the two rectangles, in texels
uniform ivec2 widths;             // of the source and of the target
uniform int channels;
void main() {{
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (texel.x >= size.x || texel.y >= size.y) return;
    int a = ((there.y + texel.y) * widths.x + there.x + texel.x) * channels;
    int b = ((here.y + texel.y) * widths.y + here.x + texel.x) * channels;
    for (int c = 0; c < channels; c++) to[b + c] = from[a + c];
}}
"""

_SHADERS = (_CLEAR, _COPY, PACK_COMPUTE_SHADER, UNPACK_COMPUTE_SHADER)


class TextureBuffers:
    """The storage buffers of a plan's textures, and those through which matrices travel.

    The context is current for all that is done here.
    """

    def __init__(self, context: GlContext, plan: Plan) -> None:
        """Allocate what the plan needs; `buffers` and `release` are the caller's to use."""
        self.context, self.plan = context, plan
        self._gl: ModernglContext = context.handle
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers = {
            name: self._gl.buffer(reserve=size_bytes(texture))
            for name, texture in self.textures.items()
        }
        self._matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        sizes = (_FLOAT_BYTES * m.rows * m.columns for m in self._matrices.values())
        largest = max(sizes, default=0)
        whole = max((buffer.size for buffer in self.buffers.values()), default=0)
        # A driver places a buffer by how it is used: the host uses the one, and shaders the other.
        self._staging = self._gl.buffer(reserve=max(largest, whole, _FLOAT_BYTES), dynamic=True)
        self._matrix = self._gl.buffer(reserve=max(largest, _FLOAT_BYTES))
        self._shaders = {text: self._compiled(text) for text in _SHADERS}
        undefined = undefined_textures(plan)
        self._cleared_first = [
            t for t in plan.textures if t.initial is not None or t.name in undefined
        ]
        self._uniforms = UniformTable()
        self._packs: dict[Input, Dispatch] = {}
        self._unpacks: dict[Output, Dispatch] = {}
        self._on_the_host: dict[Input, HostInput] = {}
        self._record_transfers()

    def release(self) -> None:
        """Give all buffers back."""
        for buffer in (*self.buffers.values(), self._staging, self._matrix):
            buffer.release()

    def _compiled(self, text: str) -> Shader:
        def make() -> Shader:
            return Shader(self.context, self.context.compile("a transfer", compute_shader=text))

        return self.context.program(text, make)

    # Matrices ------------------------------------------------------------------------------

    def _record_transfers(self) -> None:
        """Make ready what moves elements between the travelling matrix and textures."""
        for each in self.plan.inputs:
            if self.textures[each.texture].format.bits_per_channel != _FLOAT_BITS:
                self._on_the_host[each] = HostInput(self.plan, each)
            elif not self._is_in_one_piece(each):
                size = (each.rect.width, each.rect.height)
                self._packs[each] = self._record_transfer(PACK_COMPUTE_SHADER, each, size)
        for output in self.plan.outputs:
            if not self._is_in_one_piece(output):
                size = (output.region.columns, output.region.rows)
                self._unpacks[output] = self._record_transfer(UNPACK_COMPUTE_SHADER, output, size)
        self._uniforms.settle()

    def _is_in_one_piece(self, each: Input | Output) -> bool:
        """Whether a texture's buffer holds what the matrix does, element by element."""
        extent = self.textures[each.texture].extent
        is_whole = each.rect == Rect(0, 0, extent.width, extent.rows)
        return is_whole and is_the_matrix(each, self._matrices[each.matrix])

    def _record_transfer(self, text: str, each: Input | Output, size: tuple[int, int]) -> Dispatch:
        shader, texture = self._shaders[text], self.textures[each.texture]
        values = packing_uniforms(self._matrices[each.matrix], each)
        values |= _whole_numbers(width=(texture.extent.width,))
        return Dispatch(
            self.context,
            shader,
            self._uniforms.add(shader, values),
            (self._matrix, self.buffers[each.texture]),
            _groups(*size),
        )

    def send(self, operands: Mapping[str, F32]) -> None:
        """Clear what a run may see and has not written, and send the operands."""
        for texture in self._cleared_first:
            self.clear(texture.name, texture.initial or (0.0, 0.0, 0.0, 0.0))
        self._uniforms.begin()
        travelling = None
        for each in self.plan.inputs:
            matrix = operands[each.matrix]
            if each in self._on_the_host:
                self._write(each, self._on_the_host[each].stored(matrix))
                continue
            if each not in self._packs:
                self._stage(matrix, self.buffers[each.texture])
                continue
            if travelling != each.matrix:
                self._stage(matrix, self._matrix)
                travelling = each.matrix
            self._packs[each](0)
        self._gl.memory_barrier()

    def _stage(self, values: F32, target: GlBuffer) -> None:
        self._staging.write(values)
        self._gl.copy_buffer(target, self._staging, values.nbytes)

    def _write(self, each: Input, stored: Stored) -> None:
        """Put texels that the host has rounded into a rectangle of a texture."""
        texture, rect = self.textures[each.texture], each.rect
        texels = decode(stored, texture.format)
        if rect.area < texture.extent.width * texture.extent.rows:
            whole = self.read(each.texture)
            whole[slices(rect)] = texels
            texels = whole
        self._stage(np.ascontiguousarray(texels, np.float32), self.buffers[each.texture])

    def results(self) -> dict[str, F32]:
        """The matrices that the plan makes, by name; zero where no output covers them."""
        results: dict[str, F32] = {}
        self._uniforms.begin()
        for matrix in self.plan.results:
            outputs = [each for each in self.plan.outputs if each.matrix == matrix.name]
            if not outputs:
                results[matrix.name] = np.zeros((matrix.rows, matrix.columns), np.float32)
                continue
            results[matrix.name] = np.empty((matrix.rows, matrix.columns), np.float32)
            source = self._collected(matrix, outputs)
            self._fetch(results[matrix.name], source)
        return results

    def _collected(self, matrix: Matrix, outputs: Sequence[Output]) -> GlBuffer:
        """The buffer that holds a result."""
        if outputs[-1] not in self._unpacks:
            return self.buffers[outputs[-1].texture]
        self._set_all(self._matrix, (matrix.columns, matrix.rows), np.zeros(1, np.float32))
        for each in outputs:
            if each in self._unpacks:
                self._unpacks[each](0)
            else:
                self._gl.memory_barrier()
                size = _FLOAT_BYTES * matrix.rows * matrix.columns
                self._gl.copy_buffer(self._matrix, self.buffers[each.texture], size)
        return self._matrix

    def _fetch(self, values: F32, source: GlBuffer) -> None:
        """Fill an array from the beginning of a buffer."""
        self._gl.memory_barrier()
        self._gl.copy_buffer(self._staging, source, values.nbytes)
        self._staging.read_into(values, values.nbytes)

    def read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        extent, channels = self.textures[name].extent, self.textures[name].format.channels
        texels = np.empty((extent.rows, extent.width, channels), np.float32)
        self._fetch(texels, self.buffers[name])
        return texels

    def clear(self, name: str, value: Vec4) -> None:
        """Set all texels to a value, rounded to the texture's format."""
        extent = self.textures[name].extent
        texels = self._rounded(name, np.array([value], np.float64))
        self._set_all(self.buffers[name], (extent.width, extent.rows), texels[0])

    def _rounded(self, name: str, values: F64) -> F32:
        """Values (n, 4) as a texture stores their channels: (n, channels)."""
        texture = self.textures[name]
        channels = single(values[:, : texture.format.channels])
        return decode(encode(channels, texture.format), texture.format)

    def _set_all(self, buffer: GlBuffer, size: tuple[int, int], texel: F32) -> None:
        """Set all texels of a buffer of so many; texel: its channels."""
        shader = self._shaders[_CLEAR]
        for name, values in _cleared(size, texel[None]).items():
            shader.set(name, values[0])
        buffer.bind_to_storage_buffer(0)
        self._gl.memory_barrier()
        shader.program.run(*_groups(*size), 1)
        self._gl.memory_barrier()

    # Passes --------------------------------------------------------------------------------

    def record_clear(self, pass_: ClearPass, count: int, uniforms: UniformTable) -> Dispatch:
        """A clear made ready; `count` iterations of it."""
        extent = self.textures[pass_.target].extent
        size = (extent.width, extent.rows)
        texels = self._rounded(pass_.target, over_iterations(pass_.value, count))
        shader = self._shaders[_CLEAR]
        return Dispatch(
            self.context,
            shader,
            uniforms.add(shader, _cleared(size, texels)),
            (self.buffers[pass_.target],),
            _groups(*size),
        )

    def record_copy(self, pass_: CopyPass, uniforms: UniformTable) -> Callable[[int], object]:
        """A copy made ready; one of whole rows of both textures goes in one piece."""
        there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
        source, target = self.buffers[pass_.source], self.buffers[pass_.target]
        channels = self.textures[pass_.source].format.channels
        widths = tuple(self.textures[n].extent.width for n in (pass_.source, pass_.target))
        if widths == (there.width, there.width):
            row = channels * _FLOAT_BYTES * there.width
            barrier, copy = self._gl.memory_barrier, self._gl.copy_buffer
            sizes = (row * there.height, row * there.y, row * here.y)

            def call(_: int) -> None:
                barrier()
                copy(target, source, *sizes)

            return call
        shader = self._shaders[_COPY]
        values = _whole_numbers(
            there=(there.x, there.y), here=(here.x, here.y), size=(here.width, here.height),
            widths=widths, channels=(channels,),
        )  # fmt: skip
        groups = _groups(here.width, here.height)
        return Dispatch(
            self.context, shader, uniforms.add(shader, values), (source, target), groups
        )


def _cleared(size: tuple[int, int], texels: F32) -> dict[str, Values]:
    """The uniforms of clears; texels: (n, channels)."""
    values = np.zeros((len(texels), 4), np.float32)
    values[:, : texels.shape[1]] = texels
    return {"value": values, **_whole_numbers(channels=(texels.shape[1],), size=size)}


def _groups(width: int, height: int) -> tuple[int, int]:
    return -(-width // _SIDE), -(-height // _SIDE)


def _whole_numbers(**numbers: tuple[int, ...]) -> dict[str, Values]:
    return {name: np.array([values], np.int32) for name, values in numbers.items()}
