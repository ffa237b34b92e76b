"""What is known to be set on a context, so that nothing is set twice: by draws, clears and copies.

The context must be current for every method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpgpu_legacy.plan.framebuffer import Blend, Equation
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.values import Viewport


class Target(NamedTuple):
    """What is drawn to: the rectangle of a framebuffer."""

    framebuffer: int
    viewport: Viewport


class Operations(NamedTuple):
    """What happens to fragments: their blend, the channels that are written, and the scissor."""

    blend: Blend | None = None
    mask: str = "rgba"
    scissor: Viewport | None = None


Sampled = tuple[int, int, int, int, tuple[int, int]]
"""A texture unit, and the target, texture and sampler that it has, and the levels that it reads."""


class Bound:
    """The objects known to be bound on the context, so that nothing is bound twice."""

    def __init__(self, gl: Any) -> None:
        """gl: OpenGL's functions. Nothing is known of the context yet."""
        self.gl = gl
        self._levels: dict[int, tuple[int, int]] = {}
        self.forget()

    def forget(self) -> None:
        """Forget all: others have used the context."""
        self._framebuffer = 0
        self._operations: Operations | None = None
        self._viewport: Viewport | None = None
        self._textures: dict[tuple[int, int], int] = {}
        self._samplers: dict[int, int] = {}

    def aim(self, framebuffer: int) -> None:
        """Bind the framebuffer that is drawn to, cleared or read next."""
        if framebuffer != self._framebuffer:
            self.gl.glBindFramebuffer(GL.FRAMEBUFFER, framebuffer)
            self._framebuffer = framebuffer

    def texture(self, unit: int, target: int, number: int) -> None:
        """Bind a texture to a unit, which becomes the active one."""
        self.gl.glActiveTexture(GL.TEXTURE0 + unit)
        self.gl.glBindTexture(target, number)
        self._textures[unit, target] = number

    def look_up(self, sampled: Sampled) -> None:
        """Bind a texture and a sampler to a unit."""
        unit, target, number, sampler, levels = sampled
        if self._textures.get((unit, target)) != number:
            self.texture(unit, target, number)
        if self._samplers.get(unit) != sampler:
            self.gl.glBindSampler(unit, sampler)
            self._samplers[unit] = sampler
        if self._levels.get(number, (0, 0)) != levels:
            self.texture(unit, target, number)
            self.gl.glTexParameteri(target, GL.TEXTURE_BASE_LEVEL, levels[0])
            self.gl.glTexParameteri(target, GL.TEXTURE_MAX_LEVEL, levels[1])
            self._levels[number] = levels

    def operate(self, operations: Operations) -> None:
        """Set what happens to fragments; clears obey the mask and the scissor, too."""
        if operations == self._operations:
            return
        self._operations, gl = operations, self.gl
        blend, mask, scissor = operations
        for capability, on in ((GL.BLEND, blend), (GL.SCISSOR_TEST, scissor)):
            (gl.glEnable if on else gl.glDisable)(capability)
        gl.glColorMask(*(channel in mask for channel in "rgba"))
        if scissor is not None:
            gl.glScissor(*scissor)
        if blend is not None:
            weighs = blend.equation not in (Equation.MIN, Equation.MAX)
            gl.glBlendEquation(getattr(GL, "FUNC_" * weighs + blend.equation.name))
            gl.glBlendFunc(*(getattr(GL, f.name) for f in (blend.source, blend.destination)))
            gl.glBlendColor(*blend.constant)

    def draw_to(self, target: Target, operations: Operations) -> None:
        """Set what is drawn to, and what happens to fragments."""
        framebuffer, viewport = target
        self.aim(framebuffer)
        self.operate(operations)
        if viewport != self._viewport:
            self.gl.glViewport(*viewport)
            self._viewport = viewport
