"""The recorded passes of gl-raster: draws and clears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.runtime.gl import ModernglContext
from gpgpu_legacy.runtime.gl_shader import DrawingShader, Uniforms
from gpgpu_legacy.runtime.gl_values import Viewport, in_iteration
from gpgpu_legacy.runtime.prepared import F32


class Bound:
    """What is known to be bound and set on the context, so that nothing is done twice."""

    def __init__(self, context: ModernglContext) -> None:
        """Nothing is known of the context yet."""
        self._context = context
        self._textures: dict[int, Any] = {}
        self._framebuffer: Any = None
        self._viewport: Viewport | None = None
        self._adds: bool | None = None

    def forget(self) -> None:
        """Forget all: others have used the context."""
        self._textures.clear()
        self._framebuffer = self._viewport = self._adds = None

    def look_up(self, unit: int, texture: Any) -> None:
        """Bind a texture to a unit."""
        if self._textures.get(unit) is not texture:
            texture.use(unit)
            self._textures[unit] = texture

    def aim(self, framebuffer: Any, place: Viewport, *, adds: bool) -> None:
        """Set the rectangle of a framebuffer to draw to, and whether draws are added to it."""
        if framebuffer is not self._framebuffer or place != self._viewport:
            framebuffer.viewport = place
            framebuffer.use()
            self._framebuffer, self._viewport = framebuffer, place
        if adds is not self._adds:
            context = self._context
            if adds:
                context.blend_func = context.ONE, context.ONE
            context.enable_only(context.BLEND if adds else context.NOTHING)
            self._adds = adds

    def clear(self, framebuffer: Any, value: Sequence[float]) -> None:
        """Set all texels of a framebuffer."""
        framebuffer.clear(*value)
        self._framebuffer = None


@dataclass(frozen=True, slots=True)
class Target:
    """The rectangle of a framebuffer that a draw writes. adds: blend by addition."""

    framebuffer: Any
    where: Viewport
    adds: bool = False


class Draw:
    """A recorded draw of a rectangle; call it with the iteration."""

    __slots__ = ("_adds", "_bound", "_framebuffer", "_shader", "_textures", "_uniforms", "_where")

    def __init__(
        self,
        bound: Bound,
        shader: DrawingShader,
        uniforms: Uniforms,
        textures: Sequence[tuple[int, Any]],
        target: Target,
    ) -> None:
        """textures: with their units."""
        self._bound, self._shader, self._uniforms = bound, shader, uniforms
        self._textures = [(unit, texture.mglo) for unit, texture in textures]
        self._framebuffer = target.framebuffer.mglo
        self._where, self._adds = target.where, target.adds

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        bound = self._bound
        for unit, texture in self._textures:
            bound.look_up(unit, texture)
        self._uniforms.set(iteration)
        bound.aim(self._framebuffer, self._where, adds=self._adds)
        self._shader.render()

    def warm_up(self) -> None:
        """Draw one fragment if the shader has not drawn yet, with blending or without it.

        Drivers finish compiling at a shader's first draw, and a run's time excludes compiling.
        """
        if self._adds in self._shader.warm:
            return
        self._shader.warm.add(self._adds)
        whole, self._where = self._where, (*self._where[:2], 1, 1)
        self(0)
        self._where = whole


class Clear:
    """A recorded clear of a whole texture; call it with the iteration."""

    __slots__ = ("_bound", "_framebuffer", "_values")

    def __init__(self, bound: Bound, framebuffer: Any, values: F32) -> None:
        """values: (n, 4), or (1, 4) where all iterations have the same."""
        self._bound, self._framebuffer, self._values = bound, framebuffer, values

    def __call__(self, iteration: int) -> None:
        """Clear the texture to the value of that iteration."""
        self._bound.clear(self._framebuffer, in_iteration(self._values, iteration))


def copy_offset(source: Rect, target: Rect) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """The offset from the target's texels to the source's, x and y."""
    return np.array([(source.x - target.x, source.y - target.y)], np.int32)
