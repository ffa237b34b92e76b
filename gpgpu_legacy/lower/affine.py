"""Which lookup coordinates are affine in the fragment's position and the pass's iteration.

A program is run once on forms in place of numbers: the opcodes' own meanings (isa/opcodes.py) are
written with operators, and a Form has the operators that keep it affine. Whatever else is done to
a form makes it UNKNOWN. So the analysis knows no opcode by name.

What can be affine at all depends on the program alone, so that is found first, once a program
(`_slice`): a pass then runs only the instructions that such coordinates are made by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np

from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    Selector,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.plan.numbers import Affine, Number, NumberVec4, Table
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass, ParameterValue, Texcoords
from gpgpu_legacy.plan.textures import Rect, constant_rect


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
    reads = _slice(each.program)
    rect = constant_rect(each.rect)
    if not reads.position:
        rect = Rect(0, 0, rect.width, rect.height)
    given = _Given(
        rect,
        iterations,
        tuple(t for t in each.texcoords if t.set in reads.texcoords),
        tuple(p for p in each.locals if p.index in reads.locals),
        tuple(p for p in each.env if p.index in reads.env),
    )
    return _coordinates(each.program, given)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a pass gives to the instructions that make coordinates; and how often it is run."""

    rect: Rect
    iterations: int
    texcoords: tuple[Texcoords, ...]
    locals: tuple[ParameterValue, ...]
    env: tuple[ParameterValue, ...]


@lru_cache(maxsize=64)
def _coordinates(program: Program, given: _Given) -> tuple[tuple[Value, Value], ...]:
    reads, run = _slice(program), _Run(program, given)
    made: list[tuple[Value, Value]] = []
    for number, instruction in enumerate(program.instructions):
        coordinates = run.execute(instruction) if number in reads.instructions else None
        if instruction.texture is not None:
            # What no coordinate is made by was not run: a value may be one that it wrote over.
            possible = reads.lookups[len(made)]
            s, t = coordinates or (UNKNOWN, UNKNOWN)
            made.append((s if possible[0] else UNKNOWN, t if possible[1] else UNKNOWN))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Texels:
    """constant + x·(fragment x) + y·(fragment y) + iteration·(iteration), in whole texels.

    Fragments count from 0 at the rectangle's lower left.
    """

    constant: int
    x: int = 0
    y: int = 0
    iteration: int = 0

    @property
    def slopes(self) -> tuple[int, int, int]:
        """What is added for each x, y and iteration."""
        return self.x, self.y, self.iteration


def chosen_texels(value: Value) -> Texels | None:
    """Which texels a coordinate chooses; None unless it lies on the centre of one everywhere.

    A centre is half a texel away from where the lookup would change, so the coordinate can be
    scaled and rounded on the way without reading another texel.
    """
    if not isinstance(value, Linear):
        return None
    constant, slopes = value.constant, (value.x, value.y, value.iteration)
    if constant.denominator > 2 or any(slope.denominator != 1 for slope in slopes):
        return None
    x, y, iteration = (slope.numerator for slope in slopes)
    # The first fragment's centre is half a fragment from the corner, its texel's half a texel.
    twice = constant.numerator * (2 // constant.denominator) + x + y - 1
    return None if twice % 2 else Texels(twice // 2, x, y, iteration)


class _Walk:
    """One program on values that stand for numbers; a subclass says what a register holds."""

    def __init__(self, program: Program) -> None:
        self.temporaries = {name: self.zeros() for name in program.temporaries}

    def zeros(self) -> list[Any]:
        """What a temporary holds before anything is written to it."""
        return [self.constant(0.0) for _ in range(4)]

    def execute(self, instruction: Instruction) -> tuple[Any, Any] | None:
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
    ) -> dict[int, Any]:
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

    def evaluate(self, row: Opcode, sources: Sequence[Any]) -> tuple[Any, ...]:
        """The opcode's meaning on values; what it cannot do to one makes all of it unknown."""
        try:
            made = row.evaluate(*sources)
        except TypeError:
            made = UNKNOWN
        values = made if isinstance(made, tuple | list) else (made,) * 4
        return tuple(self.as_value(value) for value in values)

    def as_value(self, value: Any) -> Any:
        """What an opcode gave: a value, or a number of its own."""
        if isinstance(value, np.floating):
            return self.constant(float(value))
        return value if isinstance(value, Linear | _Possible) else UNKNOWN

    def vector(self, src: Src) -> list[Any]:
        return [self.fetch(src, c) for c in range(4)]

    def fetch(self, src: Src, component: int) -> Any:
        selector = src.swizzle[component]
        if selector in (Selector.ZERO, Selector.ONE):
            value = self.constant(float(selector is Selector.ONE))
        else:
            value = self.read(src.register, selector.value)
        return -value if src.negate[component] else value

    def read(self, register: SourceRegister, component: int) -> Any:
        if isinstance(register, Temporary):
            return self.temporaries[register.name][component]
        if isinstance(register, Attribute):
            return self.attribute(register, component)
        if register.space is ParameterSpace.CONSTANT:
            return self.constant(register.value[component])
        if register.space is ParameterSpace.STATE:
            return UNKNOWN
        return self.parameter(register, component)

    def constant(self, number: float) -> Any:
        raise NotImplementedError

    def attribute(self, attribute: Attribute, component: int) -> Any:
        raise NotImplementedError

    def parameter(self, parameter: Parameter, component: int) -> Any:
        raise NotImplementedError


class _Run(_Walk):
    """On forms."""

    def __init__(self, program: Program, given: _Given) -> None:
        rect = given.rect
        self.domain = Domain(rect.width, rect.height, given.iterations)
        self.local = {p.index: p.value for p in given.locals}
        self.env = {p.index: p.value for p in given.env}
        self.texcoords = {t.set: _planes(t.corners, self.domain) for t in given.texcoords}
        self.origin = (rect.x, rect.y)
        super().__init__(program)

    def zeros(self) -> list[Any]:
        return [Linear(Fraction(0)) for _ in range(4)]

    def constant(self, number: float) -> Value:
        return _form(number, self.domain)

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
        values = self.local if parameter.space is ParameterSpace.LOCAL else self.env
        vector: NumberVec4 = values.get(parameter.index, (0.0, 0.0, 0.0, 0.0))
        return _form(vector[component], self.domain)


# What can be affine at all ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Possible:
    """A value that may be affine, for it is made by operations that can keep one so.

    parts: the values that it is made of. made_by: the number of the instruction that makes it; None
    of a part of an expression. read: the attribute or the parameter that it is, if it is one.
    A value refers to its parts and does not repeat them, so that a long program is no longer work.
    """

    parts: tuple[_Possible, ...] = ()
    made_by: int | None = None
    read: Attribute | Parameter | None = None

    def _with(self, other: object) -> _Possible | Unknown:
        if not isinstance(other, _Possible):
            return UNKNOWN
        return _Possible((self, other))

    __add__ = __sub__ = __mul__ = __truediv__ = _with

    def __neg__(self) -> _Possible:
        return self


def _with_parts(values: Iterable[_Possible]) -> set[_Possible]:
    """The values, and all that they are made of."""
    found: set[_Possible] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            left += value.parts
    return found


@dataclass(frozen=True, slots=True)
class _Slice:
    """The part of a program that makes coordinates that may be affine, and what it reads.

    instructions: their numbers, those of the lookups among them. lookups: for each lookup whether
    s, and whether t, may be affine.
    """

    instructions: frozenset[int]
    lookups: tuple[tuple[bool, bool], ...]
    texcoords: frozenset[int]
    locals: frozenset[int]
    env: frozenset[int]
    position: bool


@lru_cache(maxsize=256)
def _slice(program: Program) -> _Slice:
    walk, made_by = _Trace(program), set[int]()
    lookups: list[tuple[bool, bool]] = []
    used: list[_Possible] = []
    for number, instruction in enumerate(program.instructions):
        walk.number = number
        coordinates = walk.execute(instruction)
        if coordinates is None:
            continue
        possible = [value for value in coordinates if isinstance(value, _Possible)]
        if possible:
            made_by.add(number)
            used += possible
        s, t = coordinates
        lookups.append((isinstance(s, _Possible), isinstance(t, _Possible)))
    values = _with_parts(used)
    made_by |= {value.made_by for value in values if value.made_by is not None}
    reads = {value.read for value in values if value.read is not None}
    attributes = [a for a in reads if isinstance(a, Attribute)]
    parameters = [p for p in reads if isinstance(p, Parameter)]
    return _Slice(
        frozenset(made_by),
        tuple(lookups),
        frozenset(a.index for a in attributes if a.kind is AttributeKind.TEXCOORD),
        frozenset(p.index for p in parameters if p.space is ParameterSpace.LOCAL),
        frozenset(p.index for p in parameters if p.space is ParameterSpace.ENV),
        any(a.kind is AttributeKind.POSITION for a in attributes),
    )


class _Trace(_Walk):
    """On what may be affine."""

    number = 0

    def result(
        self, row: Opcode, instruction: Instruction, components: tuple[int, ...]
    ) -> dict[int, Any]:
        made = super().result(row, instruction, components)
        return {
            c: UNKNOWN if value is UNKNOWN else _Possible((value,), self.number)
            for c, value in made.items()
        }

    def constant(self, number: float) -> _Possible:
        return _Possible()

    def attribute(self, attribute: Attribute, component: int) -> _Possible | Unknown:
        is_place = attribute.kind is AttributeKind.POSITION and component < 2
        if is_place or attribute.kind is AttributeKind.TEXCOORD:
            return _Possible(read=attribute)
        return UNKNOWN

    def parameter(self, parameter: Parameter, component: int) -> _Possible:
        return _Possible(read=parameter)


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
