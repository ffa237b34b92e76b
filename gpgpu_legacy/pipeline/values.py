"""The caller's values as numbers of a plan: vectors, corner values, rectangles, GL state.

A number may be a plain one, an expression of the iteration, or a list with a value for each
iteration of the innermost repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, cast

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError, as_integer, described
from gpgpu_legacy.isa.program import AttributeKind, Vec4
from gpgpu_legacy.pipeline.loops import LoopExpression, RecordedLoop
from gpgpu_legacy.plan.numbers import Integer, Number, NumberVec4
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    AttributeCorners,
    Corners,
    ParameterValue,
    StateValue,
)
from gpgpu_legacy.plan.textures import MovingRect, Rect

_MISSING: Vec4 = (0.0, 0.0, 0.0, 1.0)


@public
@frozen
class Texels:
    """Texture coordinates that lay a rectangle of a texture over the rectangle that is drawn.

    dx, dy: an offset in texels; Texels(1, 0) reads each fragment's right neighbour. x, y: the
    rectangle's first texel in the texture; None for that of the drawn one. width, height: of the
    rectangle in the texture; None for those of the drawn one. z, w: the other two coordinates.
    """

    dx: Any = 0
    dy: Any = 0
    _: KW_ONLY
    x: Any = None
    y: Any = None
    width: Any = None
    height: Any = None
    z: Any = 0.0
    w: Any = 1.0


@frozen
class Values:
    """Converts the caller's values inside a loop, or outside all loops."""

    loop: RecordedLoop | None

    def number(self, name: str, value: Any) -> Number:
        """A number of a pass."""
        if type(value) is float or type(value) is int:
            return value
        if isinstance(value, LoopExpression):
            return cast("Number", value)
        if isinstance(value, Real) and not isinstance(value, bool):
            return int(value) if isinstance(value, Integral) else float(value)
        if _is_sequence(value):
            return cast("Number", self._listed(name, list(value)))
        raise InputError(f"{name} is {described(value)}; give a number")

    def integer(self, name: str, value: Any) -> Integer:
        """A number of texels or work groups."""
        number = self.number(name, value)
        if isinstance(number, float) and not number.is_integer():
            raise InputError(f"{name} is {number}; give a whole number")
        return int(number) if isinstance(number, float) else number

    def _listed(self, name: str, values: list[Any]) -> LoopExpression:
        loop = self.loop
        if loop is None:
            raise InputError(f"{name} has a list in place of a number; only a repeat takes lists")
        plain = [self.number(f"an element of {name}", value) for value in values]
        if any(isinstance(value, LoopExpression) for value in plain):
            raise InputError(f"{name} has a list of expressions; give a list of numbers")
        numbers = cast("list[float]", plain)
        wanted = loop.count if isinstance(loop.count, int) else loop.total
        if len(numbers) == wanted == loop.count:
            return LoopExpression(lambda indices: numbers[indices[loop.number]])
        if len(numbers) == loop.total:
            return LoopExpression(lambda indices: numbers[loop.iteration(indices)])
        raise InputError(
            f"{name} has a list of {len(numbers)} values in a repeat of {wanted} iterations; give "
            "one value per iteration"
        )

    def vector(self, name: str, value: Any, missing: Vec4 = _MISSING) -> NumberVec4:
        """Four numbers. A single number stands for four; missing ones come from `missing`."""
        if not _is_sequence(value) and isinstance(value, LoopExpression | Real):
            return (self.number(name, value),) * 4
        if not _is_sequence(value) or not 1 <= len(value) <= 4:
            raise InputError(f"{name} is {described(value)}; give a number, or 1 to 4 numbers")
        given = [self.number(name, component) for component in value]
        return cast("NumberVec4", (*given, *missing[len(given) :]))

    def rect(self, name: str, given: Any) -> Rect | MovingRect:
        """A rectangle from x, y, width and height."""
        if isinstance(given, Rect | MovingRect):
            return given
        if not _is_sequence(given) or len(given) != 4:
            raise InputError(f"{name} is {described(given)}; give (x, y, width, height) in texels")
        x, y, width, height = (self.integer(name, value) for value in given)
        return MovingRect(x, y, width, height)  # resolving gives a Rect of constants

    def corners(
        self, name: str, given: Any, rect: Rect | MovingRect, missing: Vec4 = _MISSING
    ) -> Corners:
        """Values at the corners (0, 0), (W, 0), (W, H), (0, H): four vectors, or one for all."""
        if isinstance(given, Texels):
            return self._laid_over(name, given, rect)
        if _is_sequence(given) and len(given) == 4 and all(map(_is_sequence, given)):
            return cast("Corners", tuple(self.vector(name, one, missing) for one in given))
        return (self.vector(name, given, missing),) * 4

    def _laid_over(self, name: str, given: Texels, rect: Rect | MovingRect) -> Corners:
        sides = (
            getattr(rect, side) if (value := getattr(given, side)) is None else value
            for side in ("x", "y", "width", "height")
        )
        x, y, width, height, dx, dy, z, w = (
            cast("Any", self.number(name, value))
            for value in (*sides, given.dx, given.dy, given.z, given.w)
        )
        x, y = x + dx, y + dy
        return (
            (x, y, z, w),
            (x + width, y, z, w),
            (x + width, y + height, z, w),
            (x, y + height, z, w),
        )

    def attribute(
        self, kind: AttributeKind, given: Any, rect: Rect | MovingRect
    ) -> AttributeCorners:
        """The corner values of a colour or of the fog coordinate."""
        default = ATTRIBUTE_DEFAULTS[kind]
        if kind is AttributeKind.FOGCOORD:
            given = [[f] for f in given] if _is_sequence(given) else [[given]] * 4
        return AttributeCorners(kind, self.corners(kind.value, given, rect, default))

    def parameters(
        self, name: str, given: Mapping[int, Any] | None, most: int
    ) -> tuple[ParameterValue, ...]:
        """The values of program.local or program.env. most: how many the space has."""
        return tuple(
            ParameterValue(index, self.vector(f"{name}[{index}]", value))
            for index, value in indexed(name, given, most).items()
        )

    def state(self, given: Mapping[str, Any] | None) -> tuple[StateValue, ...]:
        """The values of GL state; only vectors may depend on the iteration."""
        from gpgpu_legacy.isa.state import canonical_state

        values: list[StateValue] = []
        for name, value in (given or {}).items():
            varies = _is_sequence(value) and any(isinstance(v, LoopExpression) for v in value)
            if varies or isinstance(value, LoopExpression):
                [binding] = canonical_state({name: 0.0})
                values.append(StateValue(binding, self.vector(f"state {name}", value)))
            else:
                canonical = canonical_state({name: value})
                values += [StateValue(binding, vector) for binding, vector in canonical.items()]
        return tuple(values)


def indexed(name: str, given: Mapping[int, Any] | None, most: int) -> dict[int, Any]:
    """A mapping by index, each below `most`, in ascending order."""
    given_at = {as_integer(f"a number of {name}", n): value for n, value in (given or {}).items()}
    for number in given_at:
        if not 0 <= number < most:
            raise InputError(f"{name} has the index {number}; give 0 to {most - 1}")
    return dict(sorted(given_at.items()))


def _is_sequence(value: object) -> bool:
    if type(value) is tuple or type(value) is list:
        return True
    if isinstance(value, str | bytes):
        return False
    if isinstance(value, Sequence):
        return True
    return hasattr(value, "tolist") and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
