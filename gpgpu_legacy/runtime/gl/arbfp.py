"""Prepared plans of `gl-arbfp`: plans on the driver's own ARB_fragment_program.

Nothing is translated. The driver gets the text of each program, and a pass is what it was in 2003:
a quad with texture coordinates at its corners, drawn into a framebuffer. Textures have the targets
that the program names, and state vectors are OpenGL's own materials, lights and matrices. Texture
environments are the driver's own fixed function. So the driver shows independently of this package
what a program means, and how fast it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from math import acos, degrees
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.combiners import Combiner, CombinerMode
from gpgpu_legacy.isa.program import (
    AttributeKind,
    FixedFunction,
    ParameterSpace,
    Program,
    TextureUnit,
    Vec4,
)
from gpgpu_legacy.isa.state import parse_vector
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.lower.values import NO_PARAMETER, over_iterations
from gpgpu_legacy.plan.framebuffer import AlphaTest
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import FragmentPass, ParameterValue, Plan, StateValue
from gpgpu_legacy.plan.textures import TextureKind
from gpgpu_legacy.runtime.gl.compatibility import Context
from gpgpu_legacy.runtime.gl.drawn import TARGETS, Bound, DrawnPrepared, Paint
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import GlName
from gpgpu_legacy.runtime.gl.values import byte_rows, of_iteration, single
from gpgpu_legacy.runtime.machine import Machine

# Texture environments ----------------------------------------------------------------------------


_INTEGERS = ("glTexEnvi", GL.TEXTURE_ENV)


def environment_calls(
    context: Context, program: Program, state: FixedFunction
) -> list[tuple[Any, ...]]:
    """The calls of OpenGL that set the driver's own texture environments: (function, *arguments).

    The driver then draws by them, and not by the program that stands for them. Raises PlanError if
    the driver has fewer units.
    """
    last = state.units[-1].number
    require_unit(context, last, f"{program.name or 'the state'} enables TEXTURE{last}")
    return [
        ("glDisable", GL.FRAGMENT_PROGRAM),
        ("glClampColor", GL.CLAMP_FRAGMENT_COLOR, int(state.clamped)),
        *(call for unit in state.units for call in _calls(unit)),
    ]


def require_unit(context: Context, number: int, use: str) -> None:
    """Raise PlanError if the driver lacks that unit of the fixed function. use: in words.

    NVIDIA's drivers have 4, Mesa's 8: fewer than the texture images that programs look up.
    """
    most = context.integer(GL.MAX_TEXTURE_UNITS)
    if number >= most:
        raise PlanError(
            f"{use}, and {context.renderer} has {most} texture environments "
            "(GL_MAX_TEXTURE_UNITS); choose another executor, which has them all"
        )


def _calls(unit: TextureUnit) -> Iterator[tuple[Any, ...]]:
    """The calls that set a unit."""
    yield "glActiveTexture", GL.TEXTURE0 + unit.number
    yield "glEnable", TARGETS[TextureKind(unit.target.value)].name
    yield *_INTEGERS, GL.TEXTURE_ENV_MODE, getattr(GL, unit.mode.name)
    if unit.mode is CombinerMode.COMBINE:
        for part, combiner in (("RGB", unit.rgb), ("ALPHA", unit.alpha)):
            yield from _combine(part, combiner)
    if unit.color is not None:
        yield "glTexEnvfv", GL.TEXTURE_ENV, GL.TEXTURE_ENV_COLOR, unit.color


def _combine(part: str, combiner: Combiner) -> Iterator[tuple[Any, ...]]:
    yield *_INTEGERS, getattr(GL, f"COMBINE_{part}"), getattr(GL, combiner.function.name)
    yield "glTexEnvf", GL.TEXTURE_ENV, getattr(GL, f"{part}_SCALE"), float(combiner.scale)
    for index, argument in enumerate(combiner.arguments):
        unit = argument.source.value
        name = GL.TEXTURE0 + unit if isinstance(unit, int) else getattr(GL, unit)
        yield *_INTEGERS, getattr(GL, f"SOURCE0_{part}") + index, name
        operand = getattr(GL, argument.operand.name)
        yield *_INTEGERS, getattr(GL, f"OPERAND0_{part}") + index, operand


# Programs ----------------------------------------------------------------------------------------


# The generic vertex attribute of each attribute of the fragment. The numbers are those of the
# conventional attributes, because some drivers have one set for both.
POSITION = 0
_ATTRIBUTES = {
    AttributeKind.COLOR: 3,
    AttributeKind.SECONDARY_COLOR: 4,
    AttributeKind.FOGCOORD: 5,
    AttributeKind.TEXCOORD: 8,  # set 0, then the others
}
_TEXCOORD_SETS = 8

# This program passes vertices through unchanged. Fixed-function vertices would be transformed by
# matrices, which belong to fragment programs here, and lose the alpha of the secondary colour.
_VERTEX_PROGRAM = "\n".join(
    [
        "!!ARBvp1.0",
        f"MOV result.position, vertex.attrib[{POSITION}];",
        f"MOV result.color, vertex.attrib[{_ATTRIBUTES[AttributeKind.COLOR]}];",
        f"MOV result.color.secondary, vertex.attrib[{_ATTRIBUTES[AttributeKind.SECONDARY_COLOR]}];",
        f"MOV result.fogcoord, vertex.attrib[{_ATTRIBUTES[AttributeKind.FOGCOORD]}];",
        *(
            f"MOV result.texcoord[{n}], vertex.attrib[{_ATTRIBUTES[AttributeKind.TEXCOORD] + n}];"
            for n in range(_TEXCOORD_SETS)
        ),
        "END",
    ]
)


class LoadedProgram:
    """A program that the driver holds. It is deleted with the last reference to this."""

    def __init__(self, context: Context, stage: int, text: str, who: str) -> None:
        """Load the text; PlanError, which names `who`, if the driver refuses it."""
        gl = context.gl
        name = GlName.generated(gl, "ProgramsARB")
        encoded = text.encode("ascii")
        gl.glBindProgramARB(stage, name.number)
        gl.glProgramStringARB(stage, GL.PROGRAM_FORMAT_ASCII, len(encoded), encoded)
        position = context.integer(GL.PROGRAM_ERROR_POSITION)
        if position != -1:
            name.release()
            gl.glGetError()
            message = gl.glGetString(GL.PROGRAM_ERROR_STRING).decode("ascii", "replace")
            raise PlanError(
                f"{context.renderer} refuses {who} at position {position}: "
                f"{' '.join(message.split())}"
            )
        context.release_with(self, [name])
        self.number = name.number


def load(context: Context, program: Program) -> LoadedProgram:
    """A fragment program, loaded once as long as it is in use.

    Raises PlanError if the driver refuses it, or has fewer texture environments than it reads.
    """
    who = f"program {program.name or 'without a name'}"
    for binding in program.state_bindings:
        names, indices = parse_vector(binding)
        if names[0] == "texenv" and indices:
            require_unit(context, indices[0], f"{who} reads {binding}")
    return context.program(
        program,
        lambda: LoadedProgram(context, GL.FRAGMENT_PROGRAM, disassemble(program), who),
    )


def load_vertex_program(context: Context) -> LoadedProgram:
    """The program that passes vertices through."""
    return context.program(
        _VERTEX_PROGRAM,
        lambda: LoadedProgram(context, GL.VERTEX_PROGRAM, _VERTEX_PROGRAM, "the vertex program"),
    )


# State -------------------------------------------------------------------------------------------


Setter = Callable[[SimpleNamespace, Vec4], object]
"""Gives a vector of OpenGL's state its value."""

_ATTENUATION = (
    GL.CONSTANT_ATTENUATION,
    GL.LINEAR_ATTENUATION,
    GL.QUADRATIC_ATTENUATION,
    GL.SPOT_EXPONENT,
)


def _set_attenuation(light: int, gl: SimpleNamespace, value: Vec4) -> None:
    for name, number in zip(_ATTENUATION, value, strict=True):
        gl.glLightf(light, name, number)


def _set_spot(light: int, gl: SimpleNamespace, value: Vec4) -> None:
    """OpenGL takes the cutoff as an angle in degrees, the state vector has its cosine."""
    cosine = min(1.0, max(-1.0, value[3]))
    gl.glLightfv(light, GL.SPOT_DIRECTION, value)
    gl.glLightf(light, GL.SPOT_CUTOFF, degrees(acos(cosine)))


def _set_texture_environment(unit: int, gl: SimpleNamespace, value: Vec4) -> None:
    gl.glActiveTexture(GL.TEXTURE0 + unit)
    gl.glTexEnvfv(GL.TEXTURE_ENV, GL.TEXTURE_ENV_COLOR, value)


def _set_fog(gl: SimpleNamespace, value: Vec4) -> None:
    """OpenGL itself computes the fourth of the parameters, 1 / (end - start)."""
    for name, number in zip((GL.FOG_DENSITY, GL.FOG_START, GL.FOG_END), value, strict=False):
        gl.glFogf(name, number)


def _set_depth_range(gl: SimpleNamespace, value: Vec4) -> None:
    """OpenGL itself computes the third component, far - near."""
    near, far = value[:2]
    if not (0.0 <= near <= 1.0 and 0.0 <= far <= 1.0):
        raise PlanError(
            f"state.depth.range = ({near}, {far}): OpenGL clamps both to [0, 1]; give them so"
        )
    gl.glDepthRange(near, far)


@lru_cache(maxsize=1024)
def setter(binding: str) -> Setter | None:  # noqa: PLR0911 - a row for each
    """The setter of a state vector, by its canonical name; None if OpenGL cannot set it."""
    if (row := matrix_row(binding)) is not None:
        return row.set
    match parse_vector(binding):
        case ("material", face, name), _:
            which, parameter = getattr(GL, face.upper()), getattr(GL, name.upper())
            return lambda gl, value: gl.glMaterialfv(which, parameter, value)
        case ("light", "ambient" | "diffuse" | "specular" | "position" as name), (light,):
            which, parameter = GL.LIGHT0 + light, getattr(GL, name.upper())
            return lambda gl, value: gl.glLightfv(which, parameter, value)
        case ("light", "attenuation"), (light,):
            return partial(_set_attenuation, GL.LIGHT0 + light)
        case ("light", "spot", "direction"), (light,):
            return partial(_set_spot, GL.LIGHT0 + light)
        case ("lightmodel", "ambient"), _:
            return lambda gl, value: gl.glLightModelfv(GL.LIGHT_MODEL_AMBIENT, value)
        case ("texenv", "color"), (unit,):
            return partial(_set_texture_environment, unit)
        case ("fog", "color"), _:
            return lambda gl, value: gl.glFogfv(GL.FOG_COLOR, value)
        case ("fog", "params"), _:
            return _set_fog
        case ("depth", "range"), _:
            return _set_depth_range
    return None


# Matrices ----------------------------------------------------------------------------------------


@frozen
class MatrixRow:
    """A row of one of OpenGL's matrices. unit: the texture unit whose matrix it is, or 0."""

    mode: int
    unit: int
    row: int

    def set(self, gl: SimpleNamespace, value: Vec4) -> None:
        """Set the row; the other rows stay as they are."""
        self._choose(gl)
        columns = np.zeros(16, np.float32)  # not all drivers give the transposed matrix
        gl.glGetFloatv(GL.CURRENT_MATRIX, columns)
        columns[self.row :: 4] = single(np.array(value))
        gl.glLoadMatrixf(columns)

    def reset(self, gl: SimpleNamespace) -> None:
        """Make the whole matrix the identity again."""
        self._choose(gl)
        gl.glLoadIdentity()

    def _choose(self, gl: SimpleNamespace) -> None:
        """Make the matrix the current one."""
        gl.glActiveTexture(GL.TEXTURE0 + self.unit)
        gl.glMatrixMode(self.mode)


@lru_cache(maxsize=1024)
def matrix_row(binding: str) -> MatrixRow | None:
    """The row of a matrix that a state vector is; None if it is no row, or cannot be set."""
    match parse_vector(binding):
        case ("matrix", "modelview", "row"), (0, row):
            return MatrixRow(GL.MODELVIEW, 0, row)
        case ("matrix", "projection", "row"), (row,):
            return MatrixRow(GL.PROJECTION, 0, row)
        case ("matrix", "texture", "row"), (unit, row):
            return MatrixRow(GL.TEXTURE, unit, row)
        case ("matrix", "program", "row"), (number, row):
            return MatrixRow(GL.MATRIX0 + number, 0, row)
    return None


# Prepared plans ----------------------------------------------------------------------------------


# The vertices in a plan's order of corners: a fan of two triangles, split as plans define it, from
# corner (0, 0) to (W, H).
_CORNERS = byte_rows(np.array([(-1, -1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 1), (-1, 1, 0, 1)]))

_STATE_BITS = GL.LIGHTING_BIT | GL.FOG_BIT | GL.TEXTURE_BIT | GL.VIEWPORT_BIT | GL.ENABLE_BIT
"""The state that a draw can change."""

Parameters = list[tuple[int, list[bytes]]]
"""Parameters by their numbers, with a vector for each iteration, or one for all."""

Attributes = list[tuple[int, list[list[bytes]]]]
"""Vertex attributes likewise, with a vector for each corner."""


class BoundProgram(Bound):
    """The known state, with the fragment program and its parameters."""

    def program(self, number: int) -> None:
        """Bind a fragment program."""
        if self.changes("program", number):
            self.gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, number)

    def alpha_test(self, test: AlphaTest | None) -> None:
        """Set the alpha test."""
        if self.changes("alpha test", test):
            (self.gl.glEnable if test else self.gl.glDisable)(GL.ALPHA_TEST)
            if test is not None:
                self.gl.glAlphaFunc(getattr(GL, test.comparison.name), test.reference)

    def local(self, program: int, index: int, vector: bytes) -> None:
        """Set a local parameter of the program, which is bound."""
        if self.changes(("local", program, index), vector):
            self.gl.glProgramLocalParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)

    def env(self, index: int, vector: bytes) -> None:
        """Set a parameter that all programs share."""
        if self.changes(("env", index), vector):
            self.gl.glProgramEnvParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)


class State(NamedTuple):
    """A vector of OpenGL's state. values: of each iteration, or one for all."""

    binding: str
    set: Setter
    values: list[list[float]]
    matrix_row: MatrixRow | None


def draw_quad(gl: SimpleNamespace, attributes: Attributes, iteration: int) -> None:
    """Draw the viewport's rectangle with the attributes that an iteration has at its corners."""
    vertex = gl.glVertexAttrib4fv
    now = [(number, of_iteration(rows, iteration)) for number, rows in attributes]
    gl.glBegin(GL.TRIANGLE_FAN)
    for corner, position in enumerate(_CORNERS):
        for number, corners in now:
            vertex(number, corners[corner])
        vertex(POSITION, position)
    gl.glEnd()


class StatefulQuad:
    """Draws a quad in a pass's state, and restores OpenGL's initial state."""

    def __init__(
        self,
        gl: SimpleNamespace,
        attributes: Attributes,
        state: Iterable[State],
        calls: Sequence[tuple[Any, ...]],
        check: Callable[[str], object],
    ) -> None:
        """calls: set texture environments, which draw instead of a program.

        check: raises PlanError, naming its argument, if OpenGL failed; the first draw calls it.
        """
        self._gl, self._attributes, self._calls = gl, attributes, calls
        # Setting a light transforms it by the modelview matrix, so matrices are set last.
        self._state = sorted(state, key=lambda state: state.matrix_row is not None)
        self._check: Callable[[str], object] | None = check

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        gl = self._gl
        gl.glPushAttrib(_STATE_BITS)
        try:
            for function, *arguments in self._calls:
                getattr(gl, function)(*arguments)
            for state in self._state:
                x, y, z, w = of_iteration(state.values, iteration)
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
            # ENABLE_BIT has this state, but Mesa keeps it with the colour buffer.
            gl.glClampColor(GL.CLAMP_FRAGMENT_COLOR, GL.FIXED_ONLY)


def _parameters(
    space: ParameterSpace,
    program: Program,
    parameters: Iterable[ParameterValue],
    count: int,
) -> Parameters:
    """The parameters that a program reads, with a pass's values for them, else 0."""
    values: dict[int, NumberVec4] = {p.index: p.value for p in parameters}
    return [
        (index, byte_rows(over_iterations(values.get(index, NO_PARAMETER), count)))
        for index in program.parameter_indices(space)
    ]


def _attributes(pass_: FragmentPass, count: int) -> Attributes:
    """The vertex attributes that a pass needs, with their corner values."""
    attributes = []
    for attribute, corners in pass_.interpolated.items():
        numbers = [number for corner in corners for number in corner]
        number = _ATTRIBUTES[attribute.kind] + attribute.index
        rows = over_iterations(numbers, count).reshape(-1, len(corners), 4)
        attributes.append((number, [byte_rows(row) for row in rows]))
    return attributes


class GlArbfpPrepared(DrawnPrepared[Context]):
    """A plan's textures, framebuffers, samplers, programs and draws."""

    flat = False
    _bound: BoundProgram

    def __init__(self, context: Context, plan: Plan, machine: Machine) -> None:
        """See GlPrepared."""
        self._vertex_program: LoadedProgram | None = None
        super().__init__(context, BoundProgram(context.gl), plan, machine)

    def _record_draw(self, pass_: FragmentPass, count: int) -> Paint:
        bound, program = self._bound, pass_.program
        loaded = None if program.state else load(self.context, program)
        calls = environment_calls(self.context, program, program.state) if program.state else []
        locals_ = _parameters(ParameterSpace.LOCAL, program, pass_.locals, count)
        env = _parameters(ParameterSpace.ENV, program, pass_.env, count)
        attributes = _attributes(pass_, count)
        draw: Paint = partial(draw_quad, bound.gl, attributes)
        if pass_.state or calls:
            state = [self._state(state, count) for state in pass_.state]
            draw = StatefulQuad(bound.gl, attributes, state, calls, self._surfaces.check)

        def paint(iteration: int) -> None:
            bound.alpha_test(pass_.alpha_test)
            if loaded is not None:
                bound.program(loaded.number)
                for index, rows in locals_:
                    bound.local(loaded.number, index, of_iteration(rows, iteration))
                for index, rows in env:
                    bound.env(index, of_iteration(rows, iteration))
            draw(iteration)

        return paint

    def _state(self, state: StateValue, count: int) -> State:
        set_value = setter(state.binding)
        if set_value is None:
            raise PlanError(
                f"plan {self.plan.name}: gl-arbfp cannot set {state.binding}, which OpenGL derives "
                "from other state or does not have; give the state that it derives from"
            )
        values: list[list[float]] = over_iterations(state.value, count).tolist()
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
