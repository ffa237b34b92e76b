"""The recorded passes of gl-arbfp, as calls of OpenGL."""

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
from gpgpu_legacy.runtime.gl_values import Viewport, in_iteration
from gpgpu_legacy.runtime.prepared import F32

Check = Callable[[str], None]

# The vertices in a plan's order of corners: a fan of two triangles, split as plans define it, from
# corner (0, 0) to (W, H).
_CORNERS = np.array([(-1, -1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 1), (-1, 1, 0, 1)], np.float32)
_FIRST_CORNER: int = _CORNERS.ctypes.data
_CORNER_OFFSETS = tuple(range(0, _CORNERS.nbytes, _CORNERS.strides[0]))


class Rows:
    """A row of values for each iteration, or one for all; OpenGL reads rows by address."""

    __slots__ = ("_address", "_stride", "_values")

    def __init__(self, values: F32) -> None:
        """values: (n, …), contiguous."""
        self._values = values
        self._address = values.ctypes.data
        self._stride = values.nbytes // len(values) if len(values) > 1 else 0

    def address(self, iteration: int) -> int:
        """The address of the row of an iteration."""
        return self._address + iteration * self._stride


class State:
    """A vector of OpenGL's state, and its values."""

    def __init__(self, binding: str, set_value: Setter, values: F64) -> None:
        """values: (n, 4), or (1, 4) where all iterations have the same."""
        self.binding, self._set, self._values = binding, set_value, values
        self.matrix_row = matrix_row(binding)

    def set(self, gl: SimpleNamespace, iteration: int) -> Vec4:
        """Set it to the value of that iteration, which is returned."""
        x, y, z, w = in_iteration(self._values, iteration)
        self._set(gl, (x, y, z, w))
        return (x, y, z, w)


@dataclass(frozen=True, slots=True)
class Target:
    """The rectangle of a framebuffer that a draw writes. adds: blend by addition."""

    framebuffer: int
    viewport: Viewport
    adds: bool


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a pass: parameters, attributes at the corners, state."""

    locals: tuple[tuple[int, Rows], ...]
    env: tuple[tuple[int, Rows], ...]
    attributes: tuple[tuple[int, Rows], ...]
    state: tuple[State, ...]


class Bound:
    """What is known to be bound on the context, so that nothing is bound twice."""

    def __init__(self, gl: SimpleNamespace) -> None:
        """Nothing is known of the context yet."""
        self.gl = gl
        self.forget()

    def forget(self) -> None:
        """Forget all: others have used the context."""
        self._program = self._framebuffer = 0
        self._adds: bool | None = None
        self._viewport: Viewport | None = None
        self._textures: dict[tuple[int, int], int] = {}
        self._samplers: dict[int, int] = {}
        self._locals: dict[tuple[int, int], int] = {}
        self._env: dict[int, int] = {}

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

    def look_up(self, unit: int, target: int, number: int, sampler: int) -> None:
        """Bind a texture and a sampler to a unit."""
        if self._textures.get((unit, target)) != number:
            self.texture(unit, target, number)
        if self._samplers.get(unit) != sampler:
            self.gl.glBindSampler(unit, sampler)
            self._samplers[unit] = sampler

    def program(self, number: int) -> None:
        """Bind a fragment program."""
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
        """Set the rectangle to draw to, and whether draws are added to it."""
        if adds is not self._adds:
            (self.gl.glEnable if adds else self.gl.glDisable)(GL.BLEND)
            self._adds = adds
        if viewport != self._viewport:
            self.gl.glViewport(*viewport)
            self._viewport = viewport


class Clear:
    """A recorded clear of a whole texture; call it with the iteration."""

    def __init__(self, bound: Bound, framebuffers: Sequence[int], values: F32) -> None:
        """framebuffers: of all layers. values: (n, 4), or (1, 4) where all are the same."""
        self._bound, self._framebuffers, self._values = bound, framebuffers, values

    def __call__(self, iteration: int) -> None:
        """Clear the texture to the value of that iteration."""
        gl = self._bound.gl
        gl.glClearColor(*in_iteration(self._values, iteration))
        for framebuffer in self._framebuffers:
            self._bound.aim(framebuffer)
            gl.glClear(GL.COLOR_BUFFER_BIT)


class Draw:
    """A recorded draw of a rectangle; call it with the iteration."""

    def __init__(
        self,
        bound: Bound,
        program: LoadedProgram,
        textures: tuple[tuple[int, int, int, int], ...],
        target: Target,
        numbers: Numbers,
    ) -> None:
        """textures: the unit, target, number and sampler of each."""
        self._bound, self._program, self._textures = bound, program, textures
        self._target, self._numbers = target, numbers
        # Setting a light transforms it by the modelview matrix, so matrices are set last.
        self._state = sorted(numbers.state, key=lambda state: state.matrix_row is not None)

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        self._draw(iteration, self._target.viewport)

    def warm_up(self, check: Check) -> None:
        """Draw one fragment. check: raises PlanError, naming its argument, if OpenGL failed."""
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
        gl, attributes = self._bound.gl, self._numbers.attributes
        vertex = gl.glVertexAttrib4fv
        addresses = [(number, rows.address(iteration)) for number, rows in attributes]
        gl.glBegin(GL.TRIANGLE_FAN)
        for offset in _CORNER_OFFSETS:
            for number, address in addresses:
                vertex(number, address + offset)
            vertex(POSITION, _FIRST_CORNER + offset)
        gl.glEnd()

    def _quad_in_its_state(self, iteration: int, check: Check | None) -> None:
        """Draw with the pass's state, and restore OpenGL's initial state."""
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
