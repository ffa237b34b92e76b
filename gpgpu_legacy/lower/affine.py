"""Which lookup coordinates are affine in the fragment's position and the pass's iteration.

A program is run once on forms in place of numbers: the opcodes' own meanings (isa/opcodes.py) are
written with operators, and a Form has the operators that keep it affine. Whatever else is done to
a form makes it UNKNOWN. So the analysis knows no opcode by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
    Selector,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Affine,
    FragmentPass,
    Number,
    NumberVec4,
    Table,
    constant_rect,
)

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Domain:
    """Over what a form ranges: the rectangle's width and height, and iterations of the pass."""

    width: int = 1
    height: int = 1
    iterations: int = 1

    def __or__(self, other: Domain) -> Domain:
        """What holds both."""
        return Domain(
            max(self.width, other.width),
            max(self.height, other.height),
            max(self.iterations, other.iterations),
        )


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + x·(fragment x) + y·(fragment y) + iteration·(iteration of the Repeat), exactly.

    Fragment x and y count from 0.5 at the lower left of the target rectangle. The arithmetic here
    is exact, so an operation gives UNKNOWN where float32 could not hold the result everywhere in
    the domain: a program's own arithmetic would round it.
    """

    constant: Fraction
    x: Fraction = Fraction(0)
    y: Fraction = Fraction(0)
    iteration: Fraction = Fraction(0)
    domain: Domain = field(default=Domain(), compare=False)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same in every fragment of every iteration."""
        return not (self.x or self.y or self.iteration)

    @property
    def fits_float32(self) -> bool:
        """Whether every value in the domain is a whole number of steps, fewer than 2²⁴."""
        coefficients = (self.constant, self.x, self.y, self.iteration)
        steps = 2 * lcm(*(c.denominator for c in coefficients))  # 2: fragments lie at halves
        most = (
            abs(self.constant)
            + abs(self.x) * self.domain.width
            + abs(self.y) * self.domain.height
            + abs(self.iteration) * self.domain.iterations
        )
        return steps.bit_count() == 1 and most * steps <= 2**24

    def at(self, x: int, y: int) -> Fraction:
        """The first iteration's value at a point of the rectangle, from its lower left corner."""
        return self.constant + self.x * x + self.y * y

    def __add__(self, other: Value) -> Value:
        if not isinstance(other, Linear):
            return UNKNOWN
        return _if_it_fits(
            Linear(
                self.constant + other.constant,
                self.x + other.x,
                self.y + other.y,
                self.iteration + other.iteration,
                self.domain | other.domain,
            )
        )

    def __neg__(self) -> Value:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: Value) -> Value:
        return self + (-other)

    def __mul__(self, other: Value) -> Value:
        if isinstance(other, Linear):
            if other.is_constant:
                return self.scaled(other.constant)
            if self.is_constant:
                return other.scaled(self.constant)
        return UNKNOWN

    def __truediv__(self, other: Value) -> Value:
        if isinstance(other, Linear) and other.is_constant and other.constant:
            return self.scaled(1 / other.constant)
        return UNKNOWN

    def scaled(self, factor: Fraction) -> Value:
        """The form times a number."""
        return _if_it_fits(
            Linear(
                self.constant * factor,
                self.x * factor,
                self.y * factor,
                self.iteration * factor,
                self.domain,
            )
        )


def _if_it_fits(form: Linear) -> Value:
    return form if form.fits_float32 else UNKNOWN


class Unknown:
    """A value of which nothing is known; operations on it give it back."""

    def __add__(self, _: Value) -> Unknown:
        return self

    def __sub__(self, _: Value) -> Unknown:
        return self

    def __mul__(self, _: Value) -> Unknown:
        return self

    def __truediv__(self, _: Value) -> Unknown:
        return self

    def __neg__(self) -> Unknown:
        return self


Value = Linear | Unknown
UNKNOWN = Unknown()


def lookup_coordinates(each: FragmentPass, iterations: int = 1) -> tuple[tuple[Value, Value], ...]:
    """The coordinates (s, t) of each lookup of a pass, in program order.

    each: a pass as its plan writes it; Affine numbers become the `iteration` part of the forms.
    iterations: how often the plan carries it out.
    """
    run = _Run(each, iterations)
    return tuple(
        coordinates
        for instruction in each.program.instructions
        if (coordinates := run.execute(instruction)) is not None
    )


def texel_centred(value: Value) -> bool:
    """Whether a coordinate lies on a texel's centre in every fragment of every iteration.

    A centre is half a texel away from where the lookup would change, so the coordinate can be
    scaled and rounded on the way without reading another texel.
    """
    if not isinstance(value, Linear):
        return False
    at_first_fragment = value.constant + _HALF * (value.x + value.y)
    steps = (value.x, value.y, value.iteration)
    return at_first_fragment % 1 == _HALF and all(step.denominator == 1 for step in steps)


class _Run:
    """One program on forms."""

    def __init__(self, each: FragmentPass, iterations: int) -> None:
        self.domain = Domain(
            constant_rect(each.rect).width, constant_rect(each.rect).height, iterations
        )
        self.temporaries = {name: _zeros() for name in each.program.temporaries}
        self.local = {p.index: p.value for p in each.locals}
        self.env = {p.index: p.value for p in each.env}
        self.texcoords = {t.set: _planes(t.corners, self.domain) for t in each.texcoords}
        self.origin = (constant_rect(each.rect).x, constant_rect(each.rect).y)

    def execute(self, instruction: Instruction) -> tuple[Value, Value] | None:
        """Carry out one instruction; the coordinates where it is a lookup."""
        row, dst = OPCODES[instruction.mnemonic], instruction.dst
        if row.form is Form.SAMPLE:
            s, t, *_ = self.evaluate(row, [self.vector(src) for src in instruction.srcs])
            coordinates = (s, t)
        else:
            coordinates = None
        if dst is not None and isinstance(dst.register, Temporary):
            register = self.temporaries[dst.register.name]
            for component, value in self.result(row, instruction, dst.components).items():
                register[component] = UNKNOWN if instruction.saturate else value
        return coordinates

    def result(
        self, row: Opcode, instruction: Instruction, components: tuple[int, ...]
    ) -> dict[int, Value]:
        """The components of a result as forms; a texel is unknown."""
        match row.form:
            case Form.COMPONENTWISE:
                return {
                    c: self.evaluate(row, [self.fetch(src, c) for src in instruction.srcs])[0]
                    for c in components
                }
            case Form.SCALAR:
                [value, *_] = self.evaluate(row, [self.fetch(src, 0) for src in instruction.srcs])
                return dict.fromkeys(components, value)
            case Form.VECTOR:
                vector = self.evaluate(row, [self.vector(src) for src in instruction.srcs])
                return {c: vector[c] for c in components}
        return dict.fromkeys(components, UNKNOWN)

    def evaluate(self, row: Opcode, sources: Sequence[Any]) -> tuple[Value, ...]:
        """The opcode's meaning on forms; what it cannot do to a form makes all of it unknown."""
        try:
            made = row.evaluate(*sources)
        except TypeError:
            made = UNKNOWN
        values = made if isinstance(made, tuple | list) else (made,) * 4
        return tuple(self.as_form(value) for value in values)

    def as_form(self, value: Any) -> Value:
        """What an opcode gave: a form, or a number of its own."""
        if isinstance(value, np.floating):
            return _form(float(value), self.domain)
        return value if isinstance(value, Linear) else UNKNOWN

    def vector(self, src: Src) -> list[Value]:
        return [self.fetch(src, c) for c in range(4)]

    def fetch(self, src: Src, component: int) -> Value:
        selector = src.swizzle[component]
        value: Value
        if selector in (Selector.ZERO, Selector.ONE):
            value = Linear(Fraction(selector is Selector.ONE))
        else:
            value = self.read(src.register, selector.value)
        return -value if src.negate[component] else value

    def read(self, register: SourceRegister, component: int) -> Value:
        if isinstance(register, Temporary):
            return self.temporaries[register.name][component]
        if isinstance(register, Attribute):
            return self.attribute(register, component)
        return self.parameter(register, component)

    def attribute(self, attribute: Attribute, component: int) -> Value:
        if attribute.kind is AttributeKind.TEXCOORD:
            default = ATTRIBUTE_DEFAULTS[attribute.kind][component]
            planes = self.texcoords.get(attribute.index)
            return _form(default, self.domain) if planes is None else planes[component]
        if attribute.kind is AttributeKind.POSITION and component < 2:
            x, y = Fraction(component == 0), Fraction(component == 1)
            return Linear(Fraction(self.origin[component]), x, y, domain=self.domain)
        return UNKNOWN

    def parameter(self, parameter: Parameter, component: int) -> Value:
        if parameter.space is ParameterSpace.CONSTANT:
            return _form(parameter.value[component], self.domain)
        if parameter.space is ParameterSpace.STATE:
            return UNKNOWN
        values = self.local if parameter.space is ParameterSpace.LOCAL else self.env
        vector: NumberVec4 = values.get(parameter.index, (0.0, 0.0, 0.0, 0.0))
        return _form(vector[component], self.domain)


def _zeros() -> list[Value]:
    return [Linear(Fraction(0)) for _ in range(4)]


def _form(number: Number, domain: Domain) -> Value:
    """A number as a form; unknown where it is not finite or float32 rounds it."""
    if isinstance(number, Table):
        return UNKNOWN
    base, step = (number.base, number.step) if isinstance(number, Affine) else (number, 0.0)
    try:
        form = Linear(Fraction(base), iteration=Fraction(step), domain=domain)
    except (ValueError, OverflowError):
        return UNKNOWN
    return _if_it_fits(form)


def _planes(corners: tuple[NumberVec4, ...], domain: Domain) -> list[Value]:
    """A texture coordinate set as forms, from its values at the corners."""
    origin, right, far, top = ([_form(n, domain) for n in corner] for corner in corners)
    planes: list[Value] = []
    for a, b, c, d in zip(origin, right, far, top, strict=True):
        along, up = b - a, d - a
        if not (isinstance(a, Linear) and isinstance(along, Linear) and isinstance(up, Linear)):
            planes.append(UNKNOWN)
        elif along.iteration or up.iteration:
            planes.append(UNKNOWN)  # a slope that changes from pass to pass is not affine
        elif c != b + up:
            planes.append(UNKNOWN)  # two triangles, each with a plane of its own
        else:
            x, y = along.constant / domain.width, up.constant / domain.height
            planes.append(_if_it_fits(Linear(a.constant, x, y, a.iteration, domain)))
    return planes
