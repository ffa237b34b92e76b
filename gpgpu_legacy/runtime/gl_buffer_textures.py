"""Buffer textures: storage buffers that a shader reads by texelFetch, bound to texture units.

moderngl has none, so these call OpenGL themselves. The context must be current for every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import byref, c_uint
from functools import partial

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Texture
from gpgpu_legacy.runtime.egl import functions
from gpgpu_legacy.runtime.gl import GlContext
from gpgpu_legacy.runtime.gl_dispatch import Bind, GlBuffer
from gpgpu_legacy.runtime.gl_headers import GL

_FORMATS = {1: GL.R32F, 4: GL.RGBA32F}

_NAMES = ("glGenTextures", "glDeleteTextures", "glActiveTexture", "glBindTexture", "glTexBuffer")


class BufferTextures:
    """Buffer textures of a plan's storage buffers, each made when it is first asked for."""

    def __init__(self, textures: Iterable[Texture], buffers: Mapping[str, GlBuffer]) -> None:
        """buffers: of these textures, by name. The caller calls `release`."""
        self._gl = functions(_NAMES)
        self._channels = {texture.name: texture.format.channels for texture in textures}
        self._buffers, self._made = buffers, dict[str, int]()

    def binder(self, name: str) -> Bind:
        """The function that binds a texture to a unit."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return partial(self._bind, self._made[name])

    def release(self) -> None:
        """Release all of them."""
        for number in self._made.values():
            self._gl.glDeleteTextures(1, byref(c_uint(number)))
        self._made.clear()

    def _make(self, name: str) -> int:
        number = c_uint()
        self._gl.glGenTextures(1, byref(number))
        self._gl.glBindTexture(GL.TEXTURE_BUFFER, number)
        texel = _FORMATS[self._channels[name]]
        self._gl.glTexBuffer(GL.TEXTURE_BUFFER, texel, self._buffers[name].glo)
        return number.value

    def _bind(self, number: int, unit: int) -> None:
        self._gl.glActiveTexture(GL.TEXTURE0 + unit)
        self._gl.glBindTexture(GL.TEXTURE_BUFFER, number)


def can_be_fetched(plan: Plan, context: GlContext) -> bool:
    """Whether all textures of a plan can be buffer textures, as large as they are."""
    most = int(context.info["GL_MAX_TEXTURE_BUFFER_SIZE"])
    return context.is_of_egl and all(t.extent.rows * t.extent.width <= most for t in plan.textures)
