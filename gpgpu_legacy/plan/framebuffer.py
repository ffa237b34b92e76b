"""From a fragment's colour to its texels: the alpha test, blending and the mask (GL 1.5, 4.1).

The formulas use operators and NumPy's functions, as the opcodes' definitions do. Before anything
else, a colour is rounded to its target's format.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_member, described
from gpgpu_legacy.isa.opcodes import OPCODES, saturated
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.plan.numbers import Finite
from gpgpu_legacy.plan.textures import Format, Numeric


class Equation(Enum):
    """How the weighted colours are combined; MIN and MAX ignore the weights."""

    ADD = "add"
    SUBTRACT = "subtract"
    REVERSE_SUBTRACT = "reverse-subtract"
    MIN = "min"
    MAX = "max"


class Factor(Enum):
    """The weight of a colour. Only the source has SRC_ALPHA_SATURATE."""

    ZERO = "zero"
    ONE = "one"
    SRC_COLOR = "src-color"
    ONE_MINUS_SRC_COLOR = "one-minus-src-color"
    DST_COLOR = "dst-color"
    ONE_MINUS_DST_COLOR = "one-minus-dst-color"
    SRC_ALPHA = "src-alpha"
    ONE_MINUS_SRC_ALPHA = "one-minus-src-alpha"
    DST_ALPHA = "dst-alpha"
    ONE_MINUS_DST_ALPHA = "one-minus-dst-alpha"
    CONSTANT_COLOR = "constant-color"
    ONE_MINUS_CONSTANT_COLOR = "one-minus-constant-color"
    CONSTANT_ALPHA = "constant-alpha"
    ONE_MINUS_CONSTANT_ALPHA = "one-minus-constant-alpha"
    SRC_ALPHA_SATURATE = "src-alpha-saturate"


class Comparison(Enum):
    """How an alpha that passes compares with the reference."""

    LESS = "less"
    LEQUAL = "lequal"
    EQUAL = "equal"
    NOTEQUAL = "notequal"
    GEQUAL = "gequal"
    GREATER = "greater"


_MINIMUM = OPCODES["MIN"].evaluate

_EQUATIONS: Mapping[Equation, Callable[[Any, Any], Any]] = {
    Equation.ADD: lambda s, d: s + d,
    Equation.SUBTRACT: lambda s, d: s - d,
    Equation.REVERSE_SUBTRACT: lambda s, d: d - s,
    Equation.MIN: lambda s, d: _MINIMUM(d, s),  # the destination if equal or NaN, as for MAX
    Equation.MAX: OPCODES["MAX"].evaluate,
}

_COMPARISONS: Mapping[Comparison, Callable[[Any, Any], Any]] = {
    Comparison.LESS: lambda a, r: a < r,
    Comparison.LEQUAL: lambda a, r: a <= r,
    Comparison.EQUAL: lambda a, r: (a <= r) & (a >= r),
    Comparison.NOTEQUAL: lambda a, r: (a < r) | (a > r),
    Comparison.GEQUAL: lambda a, r: a >= r,
    Comparison.GREATER: lambda a, r: a > r,
}


def _held(value: float, target: Format) -> float:
    """A number of the state as a float32, which fixed-point targets clamp to [0, 1]."""
    clamps = target.numeric is Numeric.UNORM
    return array("f", [min(max(value, 0.0), 1.0) if clamps else value])[0]


@frozen
class Blend:
    """How a fragment's colour, the source, is combined with its target's colour, the destination.

    constant: the colour of the factors named CONSTANT.
    """

    equation: Equation
    source: Factor = Factor.ONE
    destination: Factor = Factor.ONE
    constant: Vec4 = (0.0, 0.0, 0.0, 0.0)

    @property
    def weighs(self) -> bool:
        """Whether it does more than add the colours."""
        return self != ADD

    def channel(self, channel: int, source: Any, destination: Any, target: Format) -> Any:
        """A channel's new value, not yet rounded. source, destination: their R, G, B, A."""
        constant = [_held(value, target) for value in self.constant]
        colours = {"src": source, "dst": destination, "constant": constant}

        def weighted(value: Any, factor: str) -> Any:
            if factor in ("zero", "one"):
                return value if factor == "one" else 0.0
            if factor == Factor.SRC_ALPHA_SATURATE.value:
                limited = _MINIMUM(source[3], 1.0 - destination[3]) if channel < 3 else 1.0
                return value * limited
            of, part = factor.split("-")[-2:]
            weight = colours[of][channel if part == "color" else 3]
            return value * (1.0 - weight if factor.startswith("one") else weight)

        s, d = source[channel], destination[channel]
        if self.equation not in (Equation.MIN, Equation.MAX):
            s, d = weighted(s, self.source.value), weighted(d, self.destination.value)
        return _EQUATIONS[self.equation](s, d)

    @property
    def text(self) -> str:
        """The text that blend_of reads."""
        factors = (self.source.value, self.destination.value)
        parts = (self.equation.value, *factors, *map(repr, self.constant))
        return ",".join(parts[: 7 if any(self.constant) else 3 if set(factors) != {"one"} else 1])


def blend_of(given: Blend | str | None) -> Blend | None:
    """A blend: its equation, then its factors, then its constant, as in `add,src-alpha,one`.

    Both factors are `one` and the constant is 0 if they are left out. `none` gives None. Raises
    InputError for anything else.
    """
    if given is None or given == "none":
        return None
    if isinstance(given, Blend):
        return given
    if not isinstance(given, str):
        raise InputError(f"blend is {described(given)}; give an equation, such as add, or none")
    equation, *rest = given.split(",")
    factors, numbers = rest[:2], rest[2:]
    try:
        constant = tuple(map(float, numbers)) or (0.0, 0.0, 0.0, 0.0)
    except ValueError:
        constant = ()
    if len(rest) not in (0, 2, 6) or len(constant) != 4:
        raise InputError(
            f"blend is {described(given)}; give an equation; then, if wanted, two factors; then "
            "the constant's four numbers, as in add,src-alpha,one-minus-src-alpha"
        )
    source, destination = (
        as_member("a factor of blend", factor, Factor) for factor in factors or ("one", "one")
    )
    return Blend(as_member("blend", equation, Equation), source, destination, constant)


ADD = Blend(Equation.ADD)
"""Adds the source to the destination: glBlendFunc(GL_ONE, GL_ONE)."""


@frozen
class AlphaTest:
    """A test that discards each fragment whose alpha, that of result.color[0], does not pass."""

    comparison: Comparison
    reference: Finite

    @property
    def text(self) -> str:
        """The text that alpha_test_of reads."""
        return f"{self.comparison.value},{self.reference!r}"

    def passes(self, alpha: Any, target: Format) -> Any:
        """Whether an alpha passes; for a fixed-point target, it is clamped first."""
        alpha = saturated(alpha) if target.numeric is Numeric.UNORM else alpha
        return _COMPARISONS[self.comparison](alpha, _held(self.reference, target))


def alpha_test_of(given: AlphaTest | str | None) -> AlphaTest | None:
    """An alpha test, or None, from its comparison and its reference, as in `greater,0.5`."""
    if given is None or isinstance(given, AlphaTest):
        return given
    wrong = InputError(
        f"alpha_test is {described(given)}; give a comparison and a number, as in greater,0.5"
    )
    if not isinstance(given, str):
        raise wrong
    comparison, _, reference = given.partition(",")
    try:
        return AlphaTest(as_member("alpha_test", comparison, Comparison), float(reference))
    except ValueError:
        raise wrong from None


@frozen
class Writes:
    """The settings that decide the code that writes a fragment. mask: the channels written."""

    blend: Blend | None = None
    mask: str = "rgba"
    alpha_test: AlphaTest | None = None

    def channels(self, target: Format) -> tuple[int, ...]:
        """The channels of a target that are written."""
        return tuple(c for c in range(target.channels) if "rgba"[c] in self.mask)
