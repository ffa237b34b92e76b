"""The passes of a prepared plan as calls of gl-arbfp's OpenGL, settled beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.lower.values import F64
from gpgpu_legacy.runtime.gl_arbfp_programs import POSITION, LoadedProgram
from gpgpu_legacy.runtime.gl_headers import GL
from gpgpu_legacy.runtime.gl_state import Setter, matrix_row
from gpgpu_legacy.runtime.gl_values import in_iteration
from gpgpu_legacy.runtime.prepared import F32

Viewport = tuple[int, int, int, int]
Check = Callable[[str], None]

# Where the vertices lie, in a plan's order of corners: a fan of two triangles, split as the plan
# says, from corner (0, 0) to (W, H).
_CORNERS = np.array([(-1, -1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 1), (-1, 1, 0, 1)], np.float32)
_FIRST_CORNER: int = _CORNERS.ctypes.data
_CORNER_OFFSETS = tuple(range(0, _CORNERS.nbytes, _CORNERS.strides[0]))


class Rows:
    """Values of each iteration, one row where all are the same; OpenGL reads them by address."""

    __slots__ = ("_address", "_stride", "_values")

    def __init__(self, values: F32) -> None:
        """values: (n, …), in one piece."""
        self._values = values
        self._address = values.ctypes.data
        self._stride = values.nbytes // len(values) if len(values) > 1 else 0

    def address(self, iteration: int) -> int:
        """Where the row of an iteration begins."""
        return self._address + iteration * self._stride


class State:
    """A vector of OpenGL's state, and its values."""

    def __init__(self, binding: str, set_value: Setter, values: F64) -> None:
        """values: (n, 4), one row where all iterations have the same."""
        self.binding, self._set, self._values = binding, set_value, values
        self.matrix_row = matrix_row(binding)

    def set(self, gl: SimpleNamespace, iteration: int) -> Vec4:
        """Set it to the value of that iteration, which is returned."""
        x, y, z, w = in_iteration(self._values, iteration)
        self._set(gl, (x, y, z, w))
        return (x, y, z, w)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a draw goes: a rectangle of a framebuffer; added to what is there, or in its place."""

    framebuffer: int
    viewport: Viewport
    adds: bool


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a pass tells OpenGL besides what it binds: parameters, corner values, state."""

    locals: tuple[tuple[int, Rows], ...]
    env: tuple[tuple[int, Rows], ...]
    carried: tuple[tuple[int, Rows], ...]
    state: tuple[State, ...]


class Bound:
    """What is bound on the context, as far as it is known: nothing is bound twice."""

    def __init__(self, gl: SimpleNamespace) -> None:
        """Of a context of which nothing is known."""
        self.gl = gl
        self.forget()

    def forget(self) -> None:
        """Others have used the context."""
        self._program = self._framebuffer = 0
        self._adds: bool | None = None
        self._viewport: Viewport | None = None
        self._textures: dict[tuple[int, int], int] = {}
        self._samplers: dict[int, int] = {}
        self._locals: dict[tuple[int, int], int] = {}
        self._env: dict[int, int] = {}

    def aim(self, framebuffer: int) -> None:
        """Let what is drawn, cleared or read next be of a framebuffer."""
        if framebuffer != self._framebuffer:
            self.gl.glBindFramebuffer(GL.FRAMEBUFFER, framebuffer)
            self._framebuffer = framebuffer

    def texture(self, unit: int, target: int, number: int) -> None:
        """Bind a texture to a unit, which becomes the active one."""
        self.gl.glActiveTexture(GL.TEXTURE0 + unit)
        self.gl.glBindTexture(target, number)
        self._textures[unit, target] = number

    def look_up(self, unit: int, target: int, number: int, sampler: int) -> None:
        """Have a program find a texture at a unit, by a sampler."""
        if self._textures.get((unit, target)) != number:
            self.texture(unit, target, number)
        if self._samplers.get(unit) != sampler:
            self.gl.glBindSampler(unit, sampler)
            self._samplers[unit] = sampler

    def program(self, number: int) -> None:
        """Draw with a fragment program."""
        if number != self._program:
            self.gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, number)
            self._program = number

    def local(self, index: int, address: int) -> None:
        """Set a local parameter of the program that is bound."""
        if self._locals.get((self._program, index)) != address:
            self.gl.glProgramLocalParameter4fvARB(GL.FRAGMENT_PROGRAM, index, address)
            self._locals[self._program, index] = address

    def env(self, index: int, address: int) -> None:
        """Set a parameter that all programs share."""
        if self._env.get(index) != address:
            self.gl.glProgramEnvParameter4fvARB(GL.FRAGMENT_PROGRAM, index, address)
            self._env[index] = address

    def draw_to(self, viewport: Viewport, *, adds: bool) -> None:
        """Draw to a rectangle, adding to what is there or not."""
        if adds is not self._adds:
            (self.gl.glEnable if adds else self.gl.glDisable)(GL.BLEND)
            self._adds = adds
        if viewport != self._viewport:
            self.gl.glViewport(*viewport)
            self._viewport = viewport


class Clear:
    """All texels of a texture set to a value; called with the iteration."""

    def __init__(self, bound: Bound, framebuffers: Sequence[int], values: F32) -> None:
        """framebuffers: of all layers. values: (n, 4), one row where all iterations are alike."""
        self._bound, self._framebuffers, self._values = bound, framebuffers, values

    def __call__(self, iteration: int) -> None:
        """Clear it to the value of that iteration."""
        gl = self._bound.gl
        gl.glClearColor(*in_iteration(self._values, iteration))
        for framebuffer in self._framebuffers:
            self._bound.aim(framebuffer)
            gl.glClear(GL.COLOR_BUFFER_BIT)


class Draw:
    """A rectangle drawn with a program; called with the iteration."""

    def __init__(
        self,
        bound: Bound,
        program: LoadedProgram,
        textures: tuple[tuple[int, int, int, int], ...],
        target: Target,
        numbers: Numbers,
    ) -> None:
        """textures: unit, target, number and sampler of each."""
        self._bound, self._program, self._textures = bound, program, textures
        self._target, self._numbers = target, numbers
        # Lights are transformed by the modelview matrix of the time when they are set.
        self._state = sorted(numbers.state, key=lambda state: state.matrix_row is not None)

    def __call__(self, iteration: int) -> None:
        """Draw it as it is in that iteration."""
        self._draw(iteration, self._target.viewport)

    def warm_up(self, check: Check) -> None:
        """Draw one fragment. check: raises PlanError where OpenGL finds a fault, naming what."""
        x, y, _, _ = self._target.viewport
        self._draw(0, (x, y, 1, 1), check)

    def _draw(self, iteration: int, viewport: Viewport, check: Check | None = None) -> None:
        bound, numbers = self._bound, self._numbers
        bound.program(self._program.number)
        for index, rows in numbers.locals:
            bound.local(index, rows.address(iteration))
        for index, rows in numbers.env:
            bound.env(index, rows.address(iteration))
        for unit, target, number, sampler in self._textures:
            bound.look_up(unit, target, number, sampler)
        bound.aim(self._target.framebuffer)
        bound.draw_to(viewport, adds=self._target.adds)
        if self._state:
            self._quad_in_its_state(iteration, check)
        else:
            self._quad(iteration)

    def _quad(self, iteration: int) -> None:
        gl = self._bound.gl
        vertex = gl.glVertexAttrib4fv
        carried = [(number, rows.address(iteration)) for number, rows in self._numbers.carried]
        gl.glBegin(GL.TRIANGLE_FAN)
        for offset in _CORNER_OFFSETS:
            for number, address in carried:
                vertex(number, address + offset)
            vertex(POSITION, _FIRST_CORNER + offset)
        gl.glEnd()

    def _quad_in_its_state(self, iteration: int, check: Check | None) -> None:
        """Draw the quad in its state; afterwards OpenGL's state has its initial values again."""
        gl = self._bound.gl
        gl.glPushAttrib(GL.LIGHTING_BIT | GL.FOG_BIT | GL.TEXTURE_BIT | GL.VIEWPORT_BIT)
        try:
            for state in self._state:
                value = state.set(gl, iteration)
                if check is not None:
                    check(f"{state.binding} = {value}")
            self._quad(iteration)
        finally:
            for state in self._state:
                if state.matrix_row is not None:
                    state.matrix_row.reset(gl)
            gl.glPopAttrib()
