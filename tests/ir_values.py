"""What statements of the lowering IR compute for a pass, in NumPy: their definition in the tests.

A value is its components, each an array that broadcasts to (height, width) of the rectangle. Of
each expression its type is compared with the arrays, and the axes along which it is said to vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from drawing import Image

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.ir import Parameter, ParameterSpace
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.analysis.folding import Varying
from gpgpu_legacy.lower.fragments import FoldedLookup
from gpgpu_legacy.lower.ir import (
    Assign,
    Call,
    Compose,
    Constant,
    Dead,
    Declare,
    Discard,
    Expression,
    Fetch,
    Given,
    Operation,
    Place,
    PlanePart,
    Read,
    Statement,
    Swizzle,
    Texel,
    Variable,
)
from gpgpu_legacy.lower.ir_types import Kind, Operator
from gpgpu_legacy.lower.values import given_corners
from gpgpu_legacy.plan.interpolation import triangle_planes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass, state_values
from gpgpu_legacy.plan.textures import constant_rect

Array = np.ndarray[Any, Any]
Value = list[Array]

NOTHING = (0.0, 0.0, 0.0, 0.0)
DTYPES = {Kind.FLOAT: "f", Kind.INT: "i", Kind.BOOL: "b"}


@dataclass
class Values:
    """What a pass gives, and what the statements have come to so far.

    images: the textures by unit. varyings: what folded lookups refer to. variables: by name; what
    is put in before is given. alive: which fragments are not discarded.
    """

    pass_: FragmentPass
    images: Mapping[int, Image] = field(default_factory=dict)
    varyings: Sequence[Varying] = ()
    arithmetic: Arithmetic = FP32
    variables: dict[Variable, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rect = constant_rect(self.pass_.rect)
        self.shape = (self.rect.height, self.rect.width)
        self.alive = np.ones(self.shape, bool)
        self.x = np.arange(self.rect.width, dtype=np.float32)[None, :] + np.float32(0.5)
        self.y = np.arange(self.rect.height, dtype=np.float32)[:, None] + np.float32(0.5)
        # An instruction is computed in float64, if its result is rounded.
        self.wide = False
        # Triangles of their own have planes of their own, which no expression says; nor does what
        # stands in a function know along which axes its arguments vary.
        self.has_axes = all(
            a == b for a, b in map(self._planes, given_corners(self.pass_).values())
        )

    # Statements

    def run(self, statements: Iterable[Statement]) -> None:
        with np.errstate(all="ignore"):
            for statement in statements:
                self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Assign(variable=variable, components=components, value=value):
                new = self.of(value)
                assert len(new) in (1, len(components))
                old = self.variables[variable]
                for index, c in enumerate(components):
                    old[c] = new[index % len(new)]
            case Declare(variable=variable, value=value):
                assert value is not None
                self.wide = self.arithmetic.rounds and variable.name == "part"
                made = self.of(value)
                self.wide = False
                assert len(made) == variable.type.width
                self.variables[variable] = list(made)
            case Discard(condition=condition):
                [dies] = self.of(condition)
                self.alive = self.alive & ~dies
            case Dead():
                pass
            case _:
                raise AssertionError(statement)

    # Expressions

    def of(self, value: Expression) -> Value:
        with np.errstate(all="ignore"):
            found = self._value(value)
        assert len(found) == value.type.width, value
        assert all(part.dtype.kind == DTYPES[value.type.kind] for part in found), value
        if self.has_axes:
            for part in found:
                self._check_axes(part, value)
        return found

    def _check_axes(self, part: Array, value: Expression) -> None:
        whole = np.broadcast_to(part, self.shape)
        if not value.axes.x:
            np.testing.assert_array_equal(whole, np.broadcast_to(whole[:, :1], self.shape))
        if not value.axes.y:
            np.testing.assert_array_equal(whole, np.broadcast_to(whole[:1], self.shape))

    def _value(self, value: Expression) -> Value:  # noqa: PLR0911 - a case each
        match value:
            case Constant(values=numbers, type=kind):
                return [as_array(number, kind.kind) for number in numbers]
            case Read(variable=variable, components=components):
                return [self.variables[variable][c] for c in components]
            case Given(components=components):
                vector = self._given(value.source)
                return [np.asarray(vector[c]) for c in components]
            case Compose(operands=parts):
                return [part for each in parts for part in self.of(each)]
            case Swizzle(operands=(inner,), components=components):
                vector = self.of(inner)
                return [vector[c] for c in components]
            case Operation():
                return self._operation(value)
            case Call():
                return self._call(value)
            case Fetch(texture=unit, operands=(column, row)):
                return self.texel(unit, *self.of(column), *self.of(row))
            case Texel(components=components):
                return self._folded(value, components)
        raise AssertionError(value)

    def _operation(self, value: Operation) -> Value:
        rounds, outer = value.operator is Operator.ROUND, self.wide
        self.wide = outer or rounds
        operands = [self.of(operand) for operand in value.operands]
        self.wide = outer
        width = max(map(len, operands))
        wide = [operand * (width // len(operand)) for operand in operands]
        return [self._computed(value.operator, parts) for parts in zip(*wide, strict=True)]

    def _computed(self, operator: Operator, operands: Sequence[Array]) -> Array:
        match operator:
            case Operator.ROUND:
                return self.arithmetic.round(np.atleast_2d(operands[0]))
            case Operator.HALF:
                return operands[0].astype(np.float16).astype(np.float32)
            case Operator.SATURATE:
                return np.fmin(np.fmax(operands[0], np.float32(0)), np.float32(1))
            case Operator.TO_INT:
                assert (operands[0] == np.floor(operands[0])).all()
                return operands[0].astype(np.int64)
            case Operator.TO_FLOAT:
                return operands[0].astype(np.float32)
        if self.wide:
            operands = [
                part.astype(np.float64) if part.dtype.kind == "f" else part for part in operands
            ]
        return np.asarray(getattr(np, operator.value)(*operands))

    def _call(self, call: Call) -> Value:
        """What a function gives; texture units compute in float32 whatever the arithmetic."""
        outer, variables, has_axes = self.wide, self.variables, self.has_axes
        self.wide = False
        parameters = call.function.parameters
        arguments = [self.of(argument) for argument in call.operands]
        self.variables = dict(zip(parameters, arguments, strict=True))
        self.has_axes = False
        self.run(call.function.body)
        result = self.of(call.function.result)
        self.wide, self.variables, self.has_axes = outer, variables, has_axes
        return result

    # What a pass gives

    def texel(self, unit: int, column: Array, row: Array) -> Value:
        texels = self.images[unit].texels
        height, width, channels = texels.shape
        assert ((column >= 0) & (column < width) & (row >= 0) & (row < height)).all()
        planes = np.moveaxis(texels[row, column], -1, 0)
        missing = [np.full(planes[0].shape, n, np.float32) for n in (0, 0, 0, 1)]
        return [*planes, *missing[channels:]]

    def _folded(self, texel: Texel[FoldedLookup], components: Sequence[int]) -> Value:
        folded, unit = texel.lookup.folded, texel.lookup.unit
        varying = self.varyings[folded.varying]
        column, row = (
            np.asarray(form.constant + form.x * (self.x - 0.5) + form.y * (self.y - 0.5) + moved)
            for form, moved in ((varying.s, folded.right), (varying.t, folded.up))
        )
        found = self.texel(unit.number, column.astype(int), row.astype(int))
        return [found[c] for c in components]

    def _given(self, source: Parameter | PlanePart | Place) -> Sequence[Any]:
        match source:
            case Place.CENTRE:
                return self.x, self.y
            case Place.ORIGIN:
                return np.float32(self.rect.x), np.float32(self.rect.y)
            case Place.WINDOW:
                x, y = (np.float32(low) for low in (self.rect.x, self.rect.y))
                return self.x + x, self.y + y, np.full_like(self.x, 0.5), np.ones_like(self.x)
            case PlanePart():
                return self._plane(source)
            case Parameter(space=ParameterSpace.STATE):
                vector = state_vector(source.binding, state_values(self.pass_))
            case Parameter():
                is_local = source.space is ParameterSpace.LOCAL
                values = self.pass_.locals if is_local else self.pass_.env
                by_index = {value.index: constant_vector(value.value) for value in values}
                vector = by_index.get(source.index, NOTHING)
            case _:
                raise AssertionError(source)
        return [as_array(number, Kind.FLOAT) for number in vector]

    def _planes(self, corners: Any) -> tuple[Any, Any]:
        return triangle_planes(corners, self.rect)

    def _plane(self, plane: PlanePart) -> Value:
        default = ATTRIBUTE_DEFAULTS[plane.attribute.kind]
        corners = given_corners(self.pass_).get(plane.attribute, (default,) * 4)
        part = ("base", "dx", "dy")[plane.part]
        below, above = (getattr(triangle, part) for triangle in self._planes(corners))
        height, width = self.shape
        is_below = np.float64(width) * self.y <= np.float64(height) * self.x
        pairs = zip(below, above, strict=True)
        return [np.where(is_below, np.float32(a), np.float32(b)) for a, b in pairs]


def as_array(number: float, kind: Kind) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(number, {"f": np.float32, "i": np.int64, "b": bool}[DTYPES[kind]])
