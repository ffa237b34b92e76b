"""Textures as storage buffers: float32 channels, row after row; read, cleared and copied.

A texture of 8 or 16 bits holds the numbers that its format would, as float32.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from gpgpu_legacy.errors import NoDeviceRoomError
from gpgpu_legacy.interp.numeric import Stored, decode, encode, slices
from gpgpu_legacy.lower.fused.content import UnsupportedError
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import CopyPass, Plan
from gpgpu_legacy.plan.textures import Rect, constant_rect, full_rect
from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.limits import size_bytes
from gpgpu_legacy.runtime.gl.prepared import Call
from gpgpu_legacy.runtime.gl.shader import (
    SIDE,
    Bind,
    UniformTable,
    computing_shader,
    texel_dispatch,
)
from gpgpu_legacy.runtime.gl.sharing import GlName
from gpgpu_legacy.runtime.gl.staging import DriverStaging, mapped_staging
from gpgpu_legacy.runtime.gl.values import byte_rows, clear_values, of_iteration
from gpgpu_legacy.runtime.prepared import F32

_FLOAT_BYTES = 4
_FEW_BYTES = 1 << 10
_TEXELS = {1: (GL.R32F, GL.RED), 2: (GL.RG32F, GL.RG), 4: (GL.RGBA32F, GL.RGBA)}

_COPY = f"""#version 430 core
layout(local_size_x = {SIDE}, local_size_y = {SIDE}) in;
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

_FILL = f"""#version 430 core
layout(local_size_x = {SIDE}, local_size_y = {SIDE}) in;
layout(std430, binding = 0) restrict writeonly buffer Target {{ int to[]; }};
uniform ivec2 size;
uniform ivec4 texel;  // the channels' bits
uniform int channels;
void main() {{
    ivec2 place = ivec2(gl_GlobalInvocationID.xy);
    if (place.x >= size.x || place.y >= size.y) return;
    int start = (place.y * size.x + place.x) * channels;
    for (int c = 0; c < channels; c++) to[start + c] = texel[c];
}}
"""


Buffers = tuple[GlBuffer, GlBuffer]
"""A source and a target."""


def buffers_bytes(plan: Plan) -> int:
    """Bytes of all TextureBuffers of a plan."""
    return sum(map(size_bytes, plan.textures))


class TextureBuffers:
    """The storage buffers of a plan's textures. The context must be current for every method."""

    def __init__(self, context: GlContext, plan: Plan, *, on_device: bool) -> None:
        """Allocate the buffers of a plan; the caller may use `buffers`, and calls `release`.

        on_device: the buffers are in the memory of a device.
        """
        self.context = context
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers: dict[str, GlBuffer] = {}
        self._twins: dict[str, GlBuffer] = {}
        self._fetched: dict[str, GlName] = {}
        self._staging = mapped_staging(context) if on_device else DriverStaging(context)
        try:
            for name, texture in self.textures.items():
                self.buffers[name] = context.buffer(size_bytes(texture))
        except NoDeviceRoomError:
            self.release()
            raise

    def release(self) -> None:
        """Release all buffers."""
        for some in (self._fetched, self._twins, self.buffers):
            for resource in some.values():
                resource.release()
        if "counter" in vars(self):
            self.counter.release()

    @cached_property
    def counter(self) -> GlBuffer:
        """A buffer of one integer."""
        return self.context.buffer(4)

    def twin(self, name: str) -> GlBuffer:
        """A second buffer of a texture. Raises UnsupportedError if there is no room for it."""
        if name not in self._twins:
            try:
                self._twins[name] = self.context.buffer(self.buffers[name].size)
            except NoDeviceRoomError as error:
                raise UnsupportedError("no room for a second buffer") from error
        return self._twins[name]

    # To and from the host ------------------------------------------------------------------

    def write(self, name: str, rect: Rect, stored: Stored) -> None:
        """Set a rectangle to texels (height, width, channels), as its format stores them."""
        texture = self.textures[name]
        texels = decode(stored, texture.format)
        if rect != full_rect(texture):
            whole = self._texels(name)
            whole[slices(rect)] = texels
            texels = whole
        self._staging.send(np.ascontiguousarray(texels, np.float32), self.buffers[name])

    def read(self, name: str, rect: Rect, stored: Stored) -> None:
        """Fill a contiguous array of such texels from a rectangle."""
        texture = self.textures[name]
        if rect == full_rect(texture) and stored.dtype == np.float32:
            is_few = stored.nbytes <= _FEW_BYTES  # to stage so few takes longer than to copy them
            staging = DriverStaging(self.context) if is_few else self._staging
            staging.fetch(stored.view(np.float32), self.buffers[name])
        else:
            stored[...] = encode(self._texels(name)[slices(rect)], texture.format)

    def _texels(self, name: str) -> F32:
        extent, channels = self.textures[name].extent, self.textures[name].format.channels
        texels = np.empty((extent.rows, extent.width, channels), np.float32)
        self._staging.fetch(texels, self.buffers[name])
        return texels

    def texture_binder(self, name: str) -> Bind:
        """The function that binds a texture's buffer to a texture unit, for texelFetch.

        moderngl has no buffer textures.
        """
        gl = self.context.gl
        if name not in self._fetched:
            texture = self._fetched[name] = GlName.generated(gl, "Textures")
            gl.glBindTexture(GL.TEXTURE_BUFFER, texture.number)
            internal, _ = _TEXELS[self.textures[name].format.channels]
            gl.glTexBuffer(GL.TEXTURE_BUFFER, internal, self.buffers[name].glo)
        number = self._fetched[name].number

        def bind(unit: int) -> None:
            gl.glActiveTexture(GL.TEXTURE0 + unit)
            gl.glBindTexture(GL.TEXTURE_BUFFER, number)

        return bind

    # Passes --------------------------------------------------------------------------------

    def clear(self, name: str, value: NumberVec4, count: int = 1) -> Call:
        """A recorded clear of a texture, for `count` iterations.

        On a GPU a shader does it, because NVIDIA's own fill of 64 MB takes 2 ms.
        """
        gl, texture_format = self.context.gl, self.textures[name].format
        values = clear_values(value, texture_format, count)
        if self.context.is_hardware:
            return self._fill(name, values)
        rows = byte_rows(values)
        barrier, buffer = self.context.barrier, self.buffers[name].glo
        internal, layout = _TEXELS[texture_format.channels]
        fill = partial(gl.glClearBufferData, GL.COPY_WRITE_BUFFER, internal, layout, GL.FLOAT)

        def call(iteration: int) -> None:
            barrier()
            gl.glBindBuffer(GL.COPY_WRITE_BUFFER, buffer)
            fill(of_iteration(rows, iteration))

        return call

    def _fill(self, name: str, values: F32) -> Call:
        """A recorded clear by a shader. values: (n, 4)."""
        texture, uniforms = self.textures[name], UniformTable()
        size = (texture.extent.width, texture.extent.rows)
        shader = computing_shader(self.context, "a clear", _FILL)
        channels = texture.format.channels
        rows = {"size": [size], "texel": values.view(np.int32), "channels": [channels]}
        dispatch = texel_dispatch(
            self.context, shader, (uniforms, rows), (self.buffers[name],), size
        )

        def call(iteration: int) -> None:
            uniforms.begin()
            dispatch(iteration)

        return call

    def copy_all(self, name: str, buffers: Buffers, uniforms: UniformTable) -> Call:
        """A recorded copy of a whole texture's texels from one buffer to another."""
        rect = full_rect(self.textures[name])
        return self.copy(CopyPass(name, rect, name, rect), uniforms, buffers)

    def copy(self, pass_: CopyPass, uniforms: UniformTable, buffers: Buffers | None = None) -> Call:
        """A recorded copy, between these buffers or between those of the textures.

        Where OpenGL runs on the CPU, it copies whole rows of both at once. On a GPU, a shader is
        much faster.
        """
        names = pass_.source, pass_.target
        there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
        source, target = buffers = buffers or (self.buffers[names[0]], self.buffers[names[1]])
        widths = tuple(self.textures[name].extent.width for name in names)
        channels = self.textures[names[0]].format.channels
        if widths == (there.width, there.width) and not self.context.is_hardware:
            row = channels * _FLOAT_BYTES * there.width
            barrier, copy = self.context.barrier, self.context.handle.copy_buffer
            sizes = (row * there.height, row * there.y, row * here.y)

            def call(_: int) -> None:
                barrier()
                copy(target, source, *sizes)

            return call

        shader = computing_shader(self.context, "a copy", _COPY)
        size = (here.width, here.height)
        rows = {
            "there": [(there.x, there.y)],
            "here": [(here.x, here.y)],
            "size": [size],
            "widths": [widths],
            "channels": [channels],
        }
        return texel_dispatch(self.context, shader, (uniforms, rows), buffers, size)
