"""Textures as storage buffers: float32 channels, row after row; read, cleared and copied.

A texture of 8 or 16 bits holds the numbers that its format would, as float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gpgpu_legacy.errors import NoDeviceRoomError
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, Plan
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.runtime.gl import GlContext, ModernglContext
from gpgpu_legacy.runtime.gl_buffer_textures import BufferTextures
from gpgpu_legacy.runtime.gl_dispatch import Bind, Dispatch, GlBuffer
from gpgpu_legacy.runtime.gl_limits import size_bytes
from gpgpu_legacy.runtime.gl_shader import Shader, UniformTable, Values
from gpgpu_legacy.runtime.gl_staging import staging_for
from gpgpu_legacy.runtime.gl_values import clear_values
from gpgpu_legacy.runtime.prepared import F32

_SIDE = 16  # of the work groups of the shaders here
_FLOAT_BYTES, _FLOAT_BITS = 4, 32

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


def buffers_bytes(plan: Plan) -> int:
    """Bytes of all TextureBuffers of a plan, with the staging buffer."""
    sizes = [size_bytes(texture) for texture in plan.textures]
    return sum(sizes) + _staging_bytes(plan, sizes)


def _staging_bytes(plan: Plan, sizes: Iterable[int]) -> int:
    """Bytes of the largest texture or matrix. sizes: of the textures' buffers."""
    matrices = (_FLOAT_BYTES * m.rows * m.columns for m in (*plan.operands, *plan.results))
    return max(*sizes, *matrices, _FLOAT_BYTES)


class TextureBuffers:
    """The storage buffers of a plan's textures; `send` and `fetch` are those of Staging.

    The context must be current for every method.
    """

    def __init__(self, context: GlContext, plan: Plan, *, on_device: bool) -> None:
        """Allocate the buffers of a plan; the caller may use `buffers`, and calls `release`.

        on_device: the buffers are in the memory of a device.
        """
        self.context = context
        self._gl: ModernglContext = context.handle
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers: dict[str, GlBuffer] = {}
        try:
            for name, texture in self.textures.items():
                self.buffers[name] = context.buffer(size_bytes(texture))
        except NoDeviceRoomError:
            for buffer in self.buffers.values():
                buffer.release()
            raise
        self._textures: BufferTextures | None = None
        staging_bytes = _staging_bytes(plan, (buffer.size for buffer in self.buffers.values()))
        self._staging = staging_for(context, staging_bytes, to_device=on_device)
        self.send, self.fetch = self._staging.send, self._staging.fetch

    def release(self) -> None:
        """Release all buffers."""
        if self._textures is not None:
            self._textures.release()
        for buffer in (*self.buffers.values(), self._staging):
            buffer.release()

    def texture_binder(self, name: str) -> Bind:
        """The function that binds a texture's buffer to a texture unit, for texelFetch."""
        if self._textures is None:
            self._textures = BufferTextures(self.textures.values(), self.buffers)
        return self._textures.binder(name)

    def shader(self, text: str) -> Shader:
        """A compute shader of transfers, by its text."""

        def make() -> Shader:
            return Shader(self.context, self.context.compile("a transfer", compute_shader=text))

        return self.context.program(text, make)

    # To and from the host ------------------------------------------------------------------

    def read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        extent, channels = self.textures[name].extent, self.textures[name].format.channels
        texels = np.empty((extent.rows, extent.width, channels), np.float32)
        self.fetch(texels, self.buffers[name])
        return texels

    def clear(self, name: str, texel: F32) -> None:
        """Set all texels to one, given by its channels."""
        extent = self.textures[name].extent
        self.set_all(self.buffers[name], (extent.width, extent.rows), texel)

    def cleared_to(self, name: str, value: NumberVec4, count: int = 1) -> F32:
        """The texels that clears set a texture to, rounded to its format: (n, channels)."""
        texel_format = self.textures[name].format
        return clear_values(value, texel_format, count)[:, : texel_format.channels]

    def set_all(self, buffer: GlBuffer, size: tuple[int, int], texel: F32) -> None:
        """Set all texels of a buffer of that width and height; texel: the channels."""
        if not self.context.is_hardware:
            self.send(np.tile(texel, size[0] * size[1]), buffer)
            return
        shader = self.shader(_CLEAR)
        for name, values in _cleared(size, texel[None]).items():
            shader.set(name, values[0])
        self.context.bound.bind(0, buffer.mglo)
        self._gl.memory_barrier()
        shader.program.run(*groups_over(*size), 1)
        self._gl.memory_barrier()

    # Passes --------------------------------------------------------------------------------

    def record_clear(self, pass_: ClearPass, count: int, uniforms: UniformTable) -> Dispatch:
        """A recorded clear, for `count` iterations."""
        extent = self.textures[pass_.target].extent
        size = (extent.width, extent.rows)
        texels = self.cleared_to(pass_.target, pass_.value, count)
        shader = self.shader(_CLEAR)
        return Dispatch(
            self.context,
            shader,
            uniforms.add(shader, _cleared(size, texels)),
            (self.buffers[pass_.target],),
            groups_over(*size),
        )

    def record_copy(self, pass_: CopyPass, uniforms: UniformTable) -> Callable[[int], object]:
        """A recorded copy; whole rows of both textures are copied at once."""
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
        shader = self.shader(_COPY)
        values = whole_numbers(
            there=(there.x, there.y), here=(here.x, here.y), size=(here.width, here.height),
            widths=widths, channels=(channels,),
        )  # fmt: skip
        groups = groups_over(here.width, here.height)
        return Dispatch(
            self.context, shader, uniforms.add(shader, values), (source, target), groups
        )


def _cleared(size: tuple[int, int], texels: F32) -> dict[str, Values]:
    """The uniforms of clears; texels: (n, channels)."""
    values = np.zeros((len(texels), 4), np.float32)
    values[:, : texels.shape[1]] = texels
    return {"value": values, **whole_numbers(channels=(texels.shape[1],), size=size)}


def groups_over(width: int, height: int) -> tuple[int, int]:
    return -(-width // _SIDE), -(-height // _SIDE)


def whole_numbers(**numbers: tuple[int, ...]) -> dict[str, Values]:
    return {name: np.array([values], np.int32) for name, values in numbers.items()}
