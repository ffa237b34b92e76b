"""The GL objects of gl-arbfp: textures of every target, framebuffers and samplers.

They belong to the context of runtime/gl_arbfp_context.py, which must be current.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_uint
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpgpu_legacy.errors import NoDeviceRoomError, PlanError
from gpgpu_legacy.plan.formats import R16F, R32F, RGBA8, RGBA16F, RGBA32F, UNORM8, Format
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, Texture, TextureKind, Wrap
from gpgpu_legacy.runtime.gl_arbfp_context import Context
from gpgpu_legacy.runtime.gl_arbfp_programs import Name, generate
from gpgpu_legacy.runtime.gl_headers import GL
from gpgpu_legacy.runtime.gl_sharing import Releasable


@dataclass(frozen=True, slots=True)
class Texels:
    """A texel format in GL's constants: as a texture stores it, and as it is transferred."""

    internal: int
    layout: int
    component: int
    dtype: np.dtype[Any]


_FLOAT32, _UINT8 = np.dtype(np.float32), np.dtype(np.uint8)

# Half-precision numbers are transferred as float32, which holds each of them.
TEXELS: Mapping[Format, Texels] = {
    R16F: Texels(GL.R16F, GL.RED, GL.FLOAT, _FLOAT32),
    RGBA16F: Texels(GL.RGBA16F, GL.RGBA, GL.FLOAT, _FLOAT32),
    R32F: Texels(GL.R32F, GL.RED, GL.FLOAT, _FLOAT32),
    RGBA32F: Texels(GL.RGBA32F, GL.RGBA, GL.FLOAT, _FLOAT32),
    UNORM8: Texels(GL.R8, GL.RED, GL.UNSIGNED_BYTE, _UINT8),
    RGBA8: Texels(GL.RGBA8, GL.RGBA, GL.UNSIGNED_BYTE, _UINT8),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A texture target in GL's constants.

    dimensions: the digit in the names of its functions. limit: the state variable of the largest
    size. faces: the target of the first of a cube map's six images.
    """

    name: int
    dimensions: int
    limit: int
    noun: str
    faces: int | None = None

    def images(self, depth: int) -> Sequence[int]:
        """The targets of its images: that of each face, or the one."""
        return (self.name,) if self.faces is None else range(self.faces, self.faces + depth)

    def image(self, layer: int) -> int:
        """The target of the image that has this layer."""
        return self.name if self.faces is None else self.faces + layer

    def leading(self, x: int, y: int, layer: int) -> tuple[int, ...]:
        """As many of three offsets or sizes as its functions take."""
        return (x, y, layer)[: self.dimensions]


TARGETS = {
    TextureKind.RECT: Target(
        GL.TEXTURE_RECTANGLE, 2, GL.MAX_RECTANGLE_TEXTURE_SIZE, "rectangle texture"
    ),
    TextureKind.T1D: Target(GL.TEXTURE_1D, 1, GL.MAX_TEXTURE_SIZE, "1D texture"),
    TextureKind.T2D: Target(GL.TEXTURE_2D, 2, GL.MAX_TEXTURE_SIZE, "2D texture"),
    TextureKind.T3D: Target(GL.TEXTURE_3D, 3, GL.MAX_3D_TEXTURE_SIZE, "3D texture"),
    TextureKind.CUBE: Target(
        *(GL.TEXTURE_CUBE_MAP, 2, GL.MAX_CUBE_MAP_TEXTURE_SIZE, "cube map"),
        faces=GL.TEXTURE_CUBE_MAP_POSITIVE_X,
    ),
}

_FILTERS = {Filter.NEAREST: GL.NEAREST, Filter.LINEAR: GL.LINEAR}
_WRAPS = {
    Wrap.CLAMP_TO_EDGE: GL.CLAMP_TO_EDGE,
    Wrap.CLAMP: GL.CLAMP,
    Wrap.REPEAT: GL.REPEAT,
}

Surface = tuple[str, int]
"""A texture by name, and one of its layers."""


class Objects:
    """Textures, framebuffers and samplers of a plan."""

    def __init__(self, context: Context, plan: Plan, objects: list[Releasable]) -> None:
        """objects: the list that owns what is allocated here; its holder releases it."""
        self.context, self.plan, self._objects = context, plan, objects
        self.gl: SimpleNamespace = context.handle
        self.described = {texture.name: texture for texture in plan.textures}
        self._textures: dict[str, int] = {}
        self._framebuffers: dict[tuple[Surface, ...], int] = {}
        self._samplers: dict[Sampler, int] = {}

    def _make(self, generator: Any, deleter: Any) -> int:
        name = Name(generate(generator), deleter)
        self._objects.append(name)
        return name.number

    def check(self, what: str) -> None:
        """Raise PlanError if GL has reported an error since the last check."""
        error = self.gl.glGetError()
        if error == GL.NO_ERROR:
            return
        refused = (
            f"plan {self.plan.name}: {self.context.renderer} refuses {what} (GL error {error:#x})"
        )
        if error == GL.OUT_OF_MEMORY:
            raise NoDeviceRoomError(f"{refused}; plan with a smaller largest texture")
        raise PlanError(refused)

    def require_room(self, texture: Texture) -> None:
        """Raise PlanError if the texture is too large for the driver, or has another format."""
        extent, target = texture.extent, TARGETS[texture.kind]
        largest = self.context.integer(target.limit)
        if max(target.leading(extent.width, extent.height, extent.depth)) > largest:
            raise PlanError(
                f"texture {texture.name} is {_size(texture)}, but the largest {target.noun} of "
                f"{self.context.renderer} is {largest}; plan with largest_texture {largest} or less"
            )
        if texture.format not in TEXELS:
            known = ", ".join(texel_format.name for texel_format in TEXELS)
            raise PlanError(
                f"texture {texture.name} is {texture.format.name}; gl-arbfp has {known}"
            )

    def require_draw_buffers(self, targets: Sequence[str]) -> None:
        """Raise PlanError if the driver draws to fewer textures at once."""
        most = self.context.integer(GL.MAX_DRAW_BUFFERS)
        if len(targets) > most:
            raise PlanError(
                f"plan {self.plan.name}: a pass draws to {len(targets)} textures, but "
                f"{self.context.renderer} can draw to {most} at once; use more passes"
            )

    def make_texture(self, texture: Texture) -> None:
        """Allocate a texture, and check that it can be drawn to."""
        gl, extent, target = self.gl, texture.extent, TARGETS[texture.kind]
        texels = TEXELS[texture.format]
        self._textures[texture.name] = self._make(gl.glGenTextures, gl.glDeleteTextures)
        gl.glActiveTexture(GL.TEXTURE0)
        gl.glBindTexture(target.name, self._textures[texture.name])
        allocate = getattr(gl, f"glTexImage{target.dimensions}D")
        sizes = target.leading(extent.width, extent.height, extent.depth)
        for image in target.images(extent.depth):
            allocate(image, 0, texels.internal, *sizes, 0, texels.layout, texels.component, None)
        self.check(f"texture {texture.name} of {_size(texture)} texels")
        self.framebuffer((texture.name, 0))

    def texture(self, name: str) -> tuple[int, int]:
        """A texture's target and its number."""
        return TARGETS[self.described[name].kind].name, self._textures[name]

    def framebuffer(self, *surfaces: Surface) -> int:
        """The framebuffer whose colour n is surface n."""
        if surfaces in self._framebuffers:
            return self._framebuffers[surfaces]
        gl = self.gl
        number = self._make(gl.glGenFramebuffers, gl.glDeleteFramebuffers)
        gl.glBindFramebuffer(GL.FRAMEBUFFER, number)
        attachments = [GL.COLOR_ATTACHMENT0 + n for n in range(len(surfaces))]
        for attachment, (name, layer) in zip(attachments, surfaces, strict=True):
            target = TARGETS[self.described[name].kind]
            attach = getattr(gl, f"glFramebufferTexture{target.dimensions}D")
            slices = (layer,) if target.dimensions == 3 else ()
            attach(
                *(GL.FRAMEBUFFER, attachment, target.image(layer)),
                *(self._textures[name], 0, *slices),
            )
        gl.glDrawBuffers(len(surfaces), (c_uint * len(surfaces))(*attachments))
        if gl.glCheckFramebufferStatus(GL.FRAMEBUFFER) != GL.FRAMEBUFFER_COMPLETE:
            textures = [self.described[name] for name, _ in surfaces]
            described = (f"a {TARGETS[t.kind].noun} of {t.format.name}" for t in textures)
            raise PlanError(
                f"{self.context.renderer} cannot draw to {' and '.join(t.name for t in textures)}, "
                f"{' and '.join(described)}"
            )
        self._framebuffers[surfaces] = number
        return number

    def sampler(self, texture: str, sampler: Sampler) -> int:
        """A sampler for a texture; those of cube maps always clamp to the edge."""
        if self.described[texture].kind is TextureKind.CUBE:
            sampler = Sampler(sampler.filter)
        if sampler not in self._samplers:
            gl = self.gl
            number = self._samplers[sampler] = self._make(gl.glGenSamplers, gl.glDeleteSamplers)
            for parameter, value in (
                (GL.TEXTURE_MIN_FILTER, _FILTERS[sampler.filter]),
                (GL.TEXTURE_MAG_FILTER, _FILTERS[sampler.filter]),
                (GL.TEXTURE_WRAP_S, _WRAPS[sampler.wrap_s]),
                (GL.TEXTURE_WRAP_T, _WRAPS[sampler.wrap_t]),
                (GL.TEXTURE_WRAP_R, _WRAPS[sampler.wrap_r]),
            ):
                gl.glSamplerParameteri(number, parameter, value)
        return self._samplers[sampler]


def _size(texture: Texture) -> str:
    extent = texture.extent
    size = f"{extent.width} by {extent.height}"
    return f"{size} by {extent.depth}" if texture.kind is TextureKind.T3D else size


def layers_of(rect: Rect, height: int) -> Iterator[tuple[int, Rect, slice]]:
    """The parts of a rectangle of a texture's rows, one for each layer of `height` rows.

    Yields the layer, the part in it, and the slice of the rectangle's rows.
    """
    for layer in range(rect.y // height, (rect.y + rect.height - 1) // height + 1):
        first = max(rect.y, layer * height)
        last = min(rect.y + rect.height, (layer + 1) * height)
        part = Rect(rect.x, first - layer * height, rect.width, last - first)
        yield layer, part, slice(first - rect.y, last - rect.y)
