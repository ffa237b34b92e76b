"""Prepared plans of `gl-arbfp`: plans on the driver's own ARB_fragment_program.

Nothing is translated. The driver gets the text of each program, and a pass is what it was in 2003:
a quad with texture coordinates at its corners, drawn into a framebuffer. Textures have the targets
that the program names, and state vectors are OpenGL's own materials, lights and matrices. Texture
environments are the driver's own fixed function. So the driver shows independently of this package
what a program means, and how fast it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.lower.values import F64, NO_PARAMETER, given_corners, over_iterations
from gpgpu_legacy.plan.framebuffer import AlphaTest
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    FragmentPass,
    ParameterValue,
    Plan,
    StateValue,
)
from gpgpu_legacy.runtime.gl.arb_programs import (
    POSITION,
    LoadedProgram,
    load,
    load_vertex_program,
    vertex_attribute,
)
from gpgpu_legacy.runtime.gl.bound import Bound
from gpgpu_legacy.runtime.gl.compatibility import Context
from gpgpu_legacy.runtime.gl.drawn import DrawnPrepared, Paint
from gpgpu_legacy.runtime.gl.environments import Environments
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.state import MatrixRow, Setter, matrix_row, setter
from gpgpu_legacy.runtime.gl.values import Rows, in_iteration, single
from gpgpu_legacy.runtime.machine import Machine

# The vertices in a plan's order of corners: a fan of two triangles, split as plans define it, from
# corner (0, 0) to (W, H).
_CORNERS = np.array([(-1, -1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 1), (-1, 1, 0, 1)], np.float32)
_FIRST_CORNER: int = _CORNERS.ctypes.data
_CORNER_OFFSETS = tuple(range(0, _CORNERS.nbytes, _CORNERS.strides[0]))

_STATE_BITS = GL.LIGHTING_BIT | GL.FOG_BIT | GL.TEXTURE_BIT | GL.VIEWPORT_BIT | GL.ENABLE_BIT
"""The state that a draw can change."""

Numbered = tuple[tuple[int, Rows], ...]
"""Parameters or vertex attributes by their numbers, with their values."""


class BoundProgram(Bound):
    """The bound objects, with the fragment program and its parameters."""

    def forget(self) -> None:
        """See Bound."""
        super().forget()
        self._program = 0
        self._alpha_test: AlphaTest | bool | None = False
        self._locals: dict[tuple[int, int], int] = {}
        self._env: dict[int, int] = {}

    def program(self, number: int) -> None:
        """Bind a fragment program."""
        if number != self._program:
            self.gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, number)
            self._program = number

    def alpha_test(self, test: AlphaTest | None) -> None:
        """Set the alpha test."""
        if test != self._alpha_test:
            self._alpha_test = test
            (self.gl.glEnable if test else self.gl.glDisable)(GL.ALPHA_TEST)
            if test is not None:
                self.gl.glAlphaFunc(getattr(GL, test.comparison.name), test.reference)

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


class State(NamedTuple):
    """A vector of OpenGL's state. values: (n, 4), or (1, 4) where all iterations have the same."""

    binding: str
    set: Setter
    values: F64
    matrix_row: MatrixRow | None


def draw_quad(gl: SimpleNamespace, attributes: Numbered, iteration: int) -> None:
    """Draw the viewport's rectangle with the attributes that an iteration has at its corners."""
    vertex = gl.glVertexAttrib4fv
    addresses = [(number, rows.address(iteration)) for number, rows in attributes]
    gl.glBegin(GL.TRIANGLE_FAN)
    for offset in _CORNER_OFFSETS:
        for number, address in addresses:
            vertex(number, address + offset)
        vertex(POSITION, _FIRST_CORNER + offset)
    gl.glEnd()


class StatefulQuad:
    """Draws a quad in a pass's state, and restores OpenGL's initial state."""

    def __init__(
        self,
        gl: SimpleNamespace,
        attributes: Numbered,
        state: Iterable[State],
        environments: Environments | None,
        check: Callable[[str], object],
    ) -> None:
        """environments: draw instead of a program.

        check: raises PlanError, naming its argument, if OpenGL failed; of the first draw.
        """
        self._gl, self._attributes, self._environments = gl, attributes, environments
        # Setting a light transforms it by the modelview matrix, so matrices are set last.
        self._state = sorted(state, key=lambda state: state.matrix_row is not None)
        self._check: Callable[[str], object] | None = check

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        gl = self._gl
        gl.glPushAttrib(_STATE_BITS)
        try:
            if self._environments is not None:
                self._environments.set(gl)
            for state in self._state:
                x, y, z, w = in_iteration(state.values, iteration)
                value: Vec4 = (x, y, z, w)
                state.set(gl, value)
                if self._check is not None:
                    self._check(f"{state.binding} = {value}")
            self._check = None
            draw_quad(gl, self._attributes, iteration)
        finally:
            for state in self._state:
                if state.matrix_row is not None:
                    state.matrix_row.reset(gl)
            gl.glPopAttrib()
            if self._environments is not None:
                self._environments.reset(gl)


class GlArbfpPrepared(DrawnPrepared[Context]):
    """A plan's textures, framebuffers, samplers, programs and draws."""

    flat = False
    _bound: BoundProgram

    def __init__(self, context: Context, plan: Plan, machine: Machine) -> None:
        """See GlPrepared."""
        self._vertex_program: LoadedProgram | None = None
        self._interned: dict[tuple[int, bytes], Rows] = {}
        super().__init__(context, BoundProgram(context.gl), plan, machine)

    def _record_draw(self, pass_: FragmentPass, count: int) -> Paint:
        bound = self._bound
        program = load(self.context, pass_.program)
        locals_ = self._parameters(program.locals, pass_.locals, count)
        env = self._parameters(program.env, pass_.env, count)
        attributes = self._attributes(program, pass_, count)
        state = [self._state(state, count) for state in pass_.state]
        environments = program if isinstance(program, Environments) else None
        quad = (
            StatefulQuad(bound.gl, attributes, state, environments, self._surfaces.check)
            if state or environments
            else None
        )

        def paint(iteration: int) -> None:
            if isinstance(program, LoadedProgram):
                bound.program(program.number)
            bound.alpha_test(pass_.alpha_test)
            for index, rows in locals_:
                bound.local(index, rows.address(iteration))
            for index, rows in env:
                bound.env(index, rows.address(iteration))
            if quad is not None:
                quad(iteration)
            else:
                draw_quad(bound.gl, attributes, iteration)

        return paint

    def _rows(self, values: F64) -> Rows:
        """Values (n, …) as OpenGL reads them, the same object for the same bits."""
        rounded = single(values)
        key = (len(rounded), rounded.tobytes())
        return self._interned.setdefault(key, Rows(rounded))

    def _parameters(
        self, indices: Iterable[int], parameters: Iterable[ParameterValue], count: int
    ) -> Numbered:
        """The parameters that a program reads, with a pass's values for them, else 0."""
        values: dict[int, NumberVec4] = {
            parameter.index: parameter.value for parameter in parameters
        }
        return tuple(
            (index, self._rows(over_iterations(values.get(index, NO_PARAMETER), count)))
            for index in indices
        )

    def _attributes(
        self, program: LoadedProgram | Environments, pass_: FragmentPass, count: int
    ) -> Numbered:
        """The vertex attributes that a pass needs, with their corner values."""
        corner_values = given_corners(pass_)
        attributes = []
        for attribute in program.attributes:
            corners = corner_values.get(attribute) or (ATTRIBUTE_DEFAULTS[attribute.kind],) * 4
            numbers = [number for corner in corners for number in corner]
            rows = self._rows(over_iterations(numbers, count))
            attributes.append((vertex_attribute(attribute), rows))
        return tuple(attributes)

    def _state(self, state: StateValue, count: int) -> State:
        set_value = setter(state.binding)
        if set_value is None:
            raise PlanError(
                f"plan {self.plan.name}: gl-arbfp cannot set {state.binding}, which OpenGL derives "
                "from other state or does not have; give the state that it derives from"
            )
        values = over_iterations(state.value, count)
        return State(state.binding, set_value, values, matrix_row(state.binding))

    def _begin(self, *, observed: bool) -> None:
        gl = self.context.gl
        self._bound.forget()
        self._vertex_program = load_vertex_program(self.context)
        gl.glBindProgramARB(GL.VERTEX_PROGRAM, self._vertex_program.number)
        gl.glEnable(GL.VERTEX_PROGRAM)
        gl.glEnable(GL.FRAGMENT_PROGRAM)

    def _forget(self) -> None:
        super()._forget()
        self._vertex_program = None
