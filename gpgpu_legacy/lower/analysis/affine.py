"""Finds lookup coordinates that are affine in the fragment's position and the iteration.

A program is executed on forms instead of numbers. A form is a Symbol: operations that keep it
affine give a form, and all others UNKNOWN. So the analysis knows no opcode by name. A pass runs
only the instructions that its coordinates depend on (liveness.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache
from math import lcm
from operator import add, mul
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.execute import Components, Domain, execute, execute_instruction
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    DestinationRegister,
    Instruction,
    Parameter,
    ParameterSpace,
    Register,
    Temporary,
    TextureSource,
)
from gpgpu_legacy.lower.analysis.liveness import coordinate_components
from gpgpu_legacy.plan.interpolation import PLANAR_TOLERANCE
from gpgpu_legacy.plan.numbers import Affine, Number, Table
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass
from gpgpu_legacy.plan.textures import constant_rect


class Unknown(Symbol):
    """An unknown value; operations on it return it."""

    __slots__ = ()

    def operate(self, name: str, operands: tuple[Any, ...]) -> Unknown:
        return self


UNKNOWN = Unknown()


@frozen
class IterationSpace:
    """The ranges of a form: the rectangle's width and height, and iterations of the pass.

    rounds: whether forms that float32 rounds count as known, too, with a bound on the error.
    """

    width: int = 1
    height: int = 1
    iterations: int = 1
    rounds: bool = False

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """The length of the range of each part of a form; 1 for the constant."""
        return 1, self.width, self.height, self.iterations


@frozen
class Linear(Symbol):
    """constant + x·(fragment x) + y·(fragment y) + iteration·(iteration of the Repeat), exactly.

    Fragment x and y count from 0.5 at the lower left of the target rectangle. The arithmetic here
    is exact, so an operation gives UNKNOWN if float32 could not hold the result everywhere in the
    ranges: a program's own arithmetic would round it. If the ranges allow rounding, it gives the
    exact form, and `error` bounds the distance of the program's own value.
    """

    constant: Fraction
    x: Fraction = Fraction(0)
    y: Fraction = Fraction(0)
    iteration: Fraction = Fraction(0)
    ranges: IterationSpace = field(default=IterationSpace(), compare=False)
    error: Fraction = field(default=Fraction(0), compare=False)

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """The constant, and the coefficients of x, y and iteration."""
        return self.constant, self.x, self.y, self.iteration

    @property
    def largest(self) -> Fraction:
        """A bound on the form's magnitude in the ranges."""
        return sum(map(mul, map(abs, self.parts), self.ranges.extents), Fraction(0))

    @property
    def is_constant(self) -> bool:
        """Whether the form is the same in every fragment of every iteration."""
        return not any(self.parts[1:])

    @property
    def fits_float32(self) -> bool:
        """Whether float32 holds every value in the ranges: as at most 2²⁴ steps of a power of 2."""
        steps = 2 * lcm(*(part.denominator for part in self.parts))  # 2: fragments lie at halves
        if steps.bit_count() != 1:
            return False
        # In integers, which are several times as fast as fractions.
        in_steps = (abs(part.numerator) * (steps // part.denominator) for part in self.parts)
        most: int = sum(map(mul, in_steps, self.ranges.extents))
        return most <= 2**24

    def operate(self, name: str, operands: tuple[Any, ...]) -> Any:
        """The result as a form, if the operation keeps forms affine; otherwise UNKNOWN."""
        known = all(isinstance(operand, Linear) for operand in operands)
        return _KEPT[name](*operands) if known and name in _KEPT else UNKNOWN

    def moved(self, x: Fraction, y: Fraction, more: Fraction = Fraction(0)) -> Linear:
        """The form that has the value of fragment (x, y), plus `more`, at the first fragment."""
        return replace(self, constant=self.constant + self.x * x + self.y * y + more)

    def scaled(self, factor: Fraction) -> Value:
        """The form times a number; UNKNOWN if float32 rounds it and the ranges forbid that."""
        constant, x, y, iteration = (part * factor for part in self.parts)
        error = self.error * abs(factor)
        return _if_it_fits(Linear(constant, x, y, iteration, self.ranges, error))


Value = Linear | Unknown


def _sum(a: Linear, b: Linear) -> Value:
    constant, x, y, iteration = map(add, a.parts, b.parts)
    return _if_it_fits(Linear(constant, x, y, iteration, a.ranges, a.error + b.error))


def _product(a: Linear, b: Linear) -> Value:
    if not b.is_constant:
        return _product(b, a) if a.is_constant else UNKNOWN
    product = a.scaled(b.constant)
    if isinstance(product, Linear) and b.error:
        return replace(product, error=product.error + (a.largest + a.error) * b.error)
    return product


def _quotient(a: Linear, b: Linear) -> Value:
    if not b.is_constant or not b.constant or b.error:
        return UNKNOWN
    return a.scaled(1 / b.constant)


_KEPT: Mapping[str, Callable[..., Value]] = {
    "add": _sum,
    "subtract": lambda a, b: a + -b,
    "multiply": _product,
    "divide": _quotient,
    "negative": lambda a: a.scaled(Fraction(-1)),
}


_ROUNDING = Fraction(1, 2**23)
"""Twice the relative error of rounding to float32."""

_LEAST = Fraction(1, 2**126)
"""The least normal number: a result that is smaller may become 0."""

_PLANE_ROUNDINGS = 4
"""Roundings of an attribute: of its base and its slopes, and of two sums."""


def _if_it_fits(form: Linear) -> Value:
    if not form.error and form.fits_float32:
        return form
    return _rounded(form) if form.ranges.rounds else UNKNOWN


def _rounded(form: Linear, times: int = 1) -> Linear:
    """A form that the program's arithmetic rounds that many times."""
    off = form.error + times * (_ROUNDING * (form.largest + form.error) + _LEAST)
    return replace(form, error=off)


@lru_cache(maxsize=64)
def lookup_coordinates(
    pass_: FragmentPass, iterations: int = 1, *, rounds: bool = False
) -> tuple[tuple[Value, Value], ...]:
    """The coordinates (s, t) of each lookup of a pass, in program order.

    pass_: as its plan writes it; Affine numbers become the `iteration` part of the forms.
    iterations: the number of times that the plan runs it. rounds: whether to return forms that
    float32 rounds, too, with their error. The coordinates of a program with branches are unknown.
    """
    if pass_.program.branches:
        return ((UNKNOWN, UNKNOWN),) * len(pass_.program.lookup_units)
    forms = _Forms(pass_, iterations, rounds=rounds)
    execute(pass_.program, forms)
    return tuple(forms.coordinates)


@frozen
class TexelForm:
    """constant + x·(fragment x) + y·(fragment y) + iteration·(iteration), in whole texels.

    Fragments count from 0 at the rectangle's lower left.
    """

    constant: int
    x: int = 0
    y: int = 0
    iteration: int = 0

    @property
    def slopes(self) -> tuple[int, int, int]:
        """The coefficients of x, y and iteration."""
        return self.x, self.y, self.iteration


def chosen_texels(value: Value) -> TexelForm | None:
    """The texels that a coordinate selects; None unless it lies on a texel centre everywhere.

    A centre is half a texel from the nearest edge, so scaling and rounding on the way cannot make
    the lookup read another texel.
    """
    if not isinstance(value, Linear):
        return None
    texels, off = _near(value, 1)
    return None if off or value.parts[1:] != tuple(map(Fraction, texels.slopes)) else texels


def nearest_texels(value: Value, factor: int = 1) -> TexelForm | None:
    """The texels that a coordinate selects; None unless it lies near a texel centre everywhere.

    factor: the texels in a coordinate of 1. Near is less than a quarter of a texel, including the
    rounding errors of the program and of a lookup; so every implementation reads the same texel.
    """
    if not isinstance(value, Linear):
        return None
    texels, off = _near(value, factor)
    # A fraction may exceed its coordinate, but not 1.
    rounded = _rounded(value, _LOOKUP_ROUNDINGS).error + _LOOKUP_ROUNDINGS * _ROUNDING
    return texels if off + rounded * factor < Fraction(1, 4) else None


def _near(value: Linear, factor: int) -> tuple[TexelForm, Fraction]:
    """The texels nearest to a coordinate, and its greatest distance from their centres."""
    first = (value.constant + (value.x + value.y) / 2) * factor
    form = TexelForm(
        round(first - Fraction(1, 2)), *(round(slope * factor) for slope in value.parts[1:])
    )
    off = abs(first - form.constant - Fraction(1, 2))
    lengths = value.ranges.extents[1:]
    for slope, steps, length in zip(value.parts[1:], form.slopes, lengths, strict=True):
        off += abs(slope * factor - steps) * (length - 1)
    return form, off


_LOOKUP_ROUNDINGS = 3
"""Roundings of a coordinate: of its fraction, and of the product with the texture's size."""


class _Forms(Domain[Value]):
    """The domain of forms: a pass gives them to its program, and texels are unknown.

    coordinates: s and t of each lookup so far.
    """

    def __init__(self, pass_: FragmentPass, iterations: int, *, rounds: bool) -> None:
        """As for lookup_coordinates."""
        program, self._rect = pass_.program, constant_rect(pass_.rect)
        self._live = coordinate_components(program, (True,) * len(program.lookup_units))
        self.coordinates: list[tuple[Value, Value]] = []
        self._temporaries: dict[tuple[str, int], Value] = {}
        self._ranges = IterationSpace(self._rect.width, self._rect.height, iterations, rounds)
        self._parameters, self._corners = pass_.parameters, pass_.corners

    def step(self, number: int, instruction: Instruction) -> None:
        if self._live[number]:
            execute_instruction(instruction, self, self._live[number])

    def constant(self, number: float) -> Value:
        return _form(number, self._ranges)

    def read(self, register: Register, components: Components, *, coordinate: bool) -> Value:
        (component,) = components
        match register:
            case Temporary(name):
                return self._temporaries.get((name, component), self.constant(0.0))
            case Attribute():
                return self._attribute(register, component)
            case Parameter(space=ParameterSpace.CONSTANT, value=vector):
                return self.constant(vector[component])
            case Parameter(space=ParameterSpace.LOCAL | ParameterSpace.ENV):
                given = self._parameters.get(register.text, (0.0, 0.0, 0.0, 0.0))
                return _form(given[component], self._ranges)
        return UNKNOWN

    def store(self, register: DestinationRegister, components: Components, value: Value) -> None:
        (component,) = components
        if isinstance(register, Temporary):
            self._temporaries[register.name, component] = value

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, Value]:
        s, t, *_ = coordinates
        self.coordinates.append((s, t))
        return {(c,): UNKNOWN for c in components}

    def discard(self, condition: Value) -> None:
        """Do nothing: no coordinate depends on a discard."""

    def saturated(self, _: Value) -> Value:
        return UNKNOWN

    def in_quad(self, fetched: Callable[[], Value]) -> Sequence[Value]:
        return [UNKNOWN] * 3

    def rounded(self, value: Any) -> Value:
        """A form as it is; a number of the opcode's own as a form."""
        is_number = not isinstance(value, Symbol)
        return self.constant(float(value)) if is_number else value

    def _attribute(self, attribute: Attribute, component: int) -> Value:
        if attribute.kind is AttributeKind.TEXCOORD:
            corners = self._corners.get(attribute)
            if corners is None:
                return self.constant(ATTRIBUTE_DEFAULTS[attribute.kind][component])
            origin, right, far, top = (corner[component] for corner in corners)
            return _plane(origin, right, far, top, self._ranges)
        if attribute.kind is AttributeKind.POSITION and component < 2:
            x, y = Fraction(component == 0), Fraction(component == 1)
            first = (self._rect.x, self._rect.y)[component]
            return Linear(Fraction(first), x, y, ranges=self._ranges)
        return UNKNOWN


@lru_cache(maxsize=1024)
def _form(number: Number, ranges: IterationSpace) -> Value:
    """A number as a form; UNKNOWN for a Table, or if it is not finite or does not fit float32."""
    if isinstance(number, Table):
        return UNKNOWN
    base, step = (number.base, number.step) if isinstance(number, Affine) else (number, 0.0)
    try:
        form = Linear(Fraction(base), iteration=Fraction(step), ranges=ranges)
    except (ValueError, OverflowError):
        return UNKNOWN
    return _if_it_fits(form)


@lru_cache(maxsize=1024)
def _plane(
    origin: Number, right: Number, far: Number, top: Number, ranges: IterationSpace
) -> Value:
    """A texture coordinate as a form, from its corner values; many passes have the same ones."""
    a, b, c, d = (_form(number, ranges) for number in (origin, right, far, top))
    along, up = b - a, d - a
    if not (isinstance(a, Linear) and isinstance(along, Linear) and isinstance(up, Linear)):
        return UNKNOWN
    if along.iteration or up.iteration:
        return UNKNOWN  # a slope that changes from pass to pass is not affine
    if not _is_flat(c, b + up, ranges):
        return UNKNOWN  # two triangles, each with a plane of its own
    x, y = along.constant / ranges.width, up.constant / ranges.height
    plane = Linear(a.constant, x, y, a.iteration, ranges)
    if plane.fits_float32 or not ranges.rounds:
        return _if_it_fits(plane)
    return _rounded(plane, _PLANE_ROUNDINGS)


def _is_flat(far: Value, expected: Value, ranges: IterationSpace) -> bool:
    """Whether the corner that is opposite the origin lies in the plane of the others."""
    if far == expected or not ranges.rounds:
        return far == expected
    if not isinstance(far, Linear) or not isinstance(expected, Linear):
        return False
    # Well within the tolerance of plan/interpolation.py.
    off = abs(far.constant - expected.constant)
    return far.iteration == expected.iteration and off <= Fraction(PLANAR_TOLERANCE) / 4
