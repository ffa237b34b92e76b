"""Functions that GLSL lacks, or for which it promises less than the specifications of programs.

Each works on numbers; overloads take vectors. In their bodies, {precise} and {one} stand for a
dialect's words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import frexp

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import FP16, JUST_BELOW, Arithmetic, Fixed, Floating
from gpgpu_legacy.isa.program import COMPONENTS
from gpgpu_legacy.isa.types import Operator


@frozen
class Helper:
    """A function that returns a float.

    parameters: their names, of one letter each. body: its statements. precision: the prefix of the
    parameters' vector type: `d` for doubles.
    """

    name: str
    parameters: str
    body: str
    precision: str = ""

    def definition(self, words: dict[str, str]) -> str:
        """The function for numbers. words: texts for the words in braces, by word."""
        body = self.body
        for word, text in words.items():
            body = body.replace("{" + word + "}", text)
        kind = "double" if self.precision else "float"
        listed = ", ".join(f"{kind} {name}" for name in self.parameters)
        return f"float {self.name}({listed}) {{{body}}}"

    def overload(self, width: int) -> str:
        """The overload for vectors of that width, component by component."""
        listed = ", ".join(f"{self.precision}vec{width} {name}" for name in self.parameters)
        calls = (
            f"{self.name}({', '.join(f'{name}.{c}' for name in self.parameters)})"
            for c in COMPONENTS[:width]
        )
        return f"vec{width} {self.name}({listed}) {{ return vec{width}({', '.join(calls)}); }}"


def _select(name: str, sign: str) -> Helper:
    # Both variables are precise, since a compiler may turn an imprecise choice into a min or a max,
    # which treats NaN differently; Mesa 22.3 also does so if the comparison has no variable, and
    # one variable is passed as x and as a.
    body = f" {{precise}}bool d = x {sign} y; {{precise}}float c = d ? a : b; return c; "
    return Helper(f"select_{name}", "xyab", body)


def _floating(given: Floating, *, chops: bool) -> str:
    """Rounds to a floating-point format with fewer digits than float32's."""
    dropped, unit = 24 - given.digits, 2.0 ** (given.least + 1 - given.digits)
    up = "0u" if chops else f"{2 ** (dropped - 1) - 1}u + ((size >> {dropped}) & 1u)"
    steps = f"{_whole(chops)}(uintBitsToFloat(size) * {1.0 / unit!r})"
    small = f"floatBitsToUint({steps} * {unit!r})" if given.denormals else "0u"
    judged = "size" if given.denormals else "near"
    return f"""
    uint bits = floatBitsToUint(a), sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return a;
    uint near = (size + {up}) & {hex(2**32 - 2**dropped)}u;
    if ({judged} < floatBitsToUint({2.0**given.least!r})) near = {small};
    if (near >= floatBitsToUint({given.overflow!r})) near = 0x7f800000u;
    return uintBitsToFloat(sign | near);
"""


def _whole(chops: bool) -> str:
    return "trunc" if chops else "roundEven"


def _binary(given: Fixed, *, chops: bool) -> str:
    """Rounds to a fixed-point format whose numbers are all float32 numbers."""
    least, most = given.least / given.steps, given.largest
    return f"""
    if ((floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u) return 0.0;
    float limited = clamp(a, {least!r}, {most!r});
    int steps = int({_whole(chops)}(limited * {float(given.steps)!r}));
    return steps == 0 ? 0.0 : float(steps) * {1.0 / given.steps!r};
"""


_NEAREST = """
        uint halves = product >> shift, rest = product - (halves << shift);
        whole = halves >> 1;
        if ((halves & 1u) == 1u && (rest != 0u || (whole & 1u) == 1u)) whole += 1u;"""


def _multiples(given: Fixed, *, chops: bool) -> str:
    """Rounds to multiples of 1/steps, from -most to most of them, where steps is at most 255.

    a = m·2^-s with an integer m of 24 bits, so that m·steps is exact in 32 bits. A size below 2^-9
    is less than half a step. The larger part of 1/steps has 13 bits, so that its product with a
    number of steps is exact.
    """
    assert given.least == -given.most, "the smallest number is the negative of the largest"
    assert 128 < given.steps < 256, "m·steps fits 32 bits, and half a step is 2^-9 or more"
    just_below = f" whole = ((product + (1u << (shift - {-frexp(JUST_BELOW)[1]}u))) >> shift) >> 1;"
    larger = round(2.0**20 / given.steps) / 2.0**20
    smaller = 1.0 / given.steps - larger
    return f"""
    uint bits = floatBitsToUint(a), size = bits & 0x7fffffffu;
    if (size > 0x7f800000u || size < 0x3b000000u) return 0.0;
    uint whole = {given.most}u;
    if (size < floatBitsToUint({given.largest!r})) {{
        uint product = ((size & 0x7fffffu) | 0x800000u) * {given.steps}u;
        uint shift = 149u - (size >> 23);{just_below if chops else _NEAREST}
    }}
    float steps = float((bits >> 31) == 1u ? -int(whole) : int(whole));
    {{precise}}float nearest = steps * {larger!r} + steps * {smaller!r};
    return nearest;
"""


@cache
def quantize(arithmetic: Arithmetic) -> Helper:
    """The function that rounds a float32 to an arithmetic, bit for bit."""
    given = arithmetic.format
    if isinstance(given, Floating):
        body = _floating(given, chops=arithmetic.chops)
    else:
        body = (_binary if given.is_binary else _multiples)(given, chops=arithmetic.chops)
    return Helper("quantize", "a", body)


@cache
def quantize_wide(arithmetic: Arithmetic) -> Helper:
    """The function that rounds a double to an arithmetic; it calls the function of `quantize`.

    To a floating-point format it first rounds to odd, so that rounding twice is like rounding once.
    """
    given = arithmetic.format
    if isinstance(given, Floating):
        body = f"""
    float near = float(a);
    if (double(near) == a) return quantize(near);
    uint bits = floatBitsToUint(near);
    if (abs(double(near)) > abs(a)) bits -= 1u;
    return quantize(uintBitsToFloat({"bits" if arithmetic.chops else "bits | 1u"}));
"""
    else:
        per_unit, least, most = (f"{n}.0lf" for n in (given.steps, given.least, given.most))
        is_just = arithmetic.chops and not given.is_binary
        below = f" + sign(steps) * {JUST_BELOW}lf" if is_just else ""
        body = f"""
    if (isnan(a)) return 0.0;
    double steps = clamp(a * {per_unit}, {least}, {most});
    return quantize(float({_whole(arithmetic.chops)}(steps{below}) / {per_unit}));
"""
    return Helper("quantize_wide", "a", body, precision="d")


CONSTANT = Helper(
    "constant", "a", " return uintBitsToFloat(floatBitsToUint(a) ^ floatBitsToUint(zero)); "
)
"""Hides a number from the compiler, by the uniform `zero`."""

HELPERS = {
    Operator.LESS: _select("less", "<"),
    Operator.LESS_EQUAL: _select("less_equal", "<="),
    Operator.GREATER: _select("greater", ">"),
    Operator.GREATER_EQUAL: _select("greater_equal", ">="),
    # Mesa 22.3 takes -r.x * r.y for a number that is not positive (it ignores that the components
    # differ), and folds away a later comparison with 0. It does not recognise a changed sign bit as
    # a negation.
    Operator.NEGATE: Helper(
        "negated", "a", " return uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); "
    ),
    # GLSL's clamp of a NaN is undefined: NVIDIA's gives 1 if it is an absolute value.
    Operator.SATURATE: Helper(
        "saturated",
        "a",
        " {precise}bool d = a > 0.0; {precise}float b = d ? a : 0.0;"
        " {precise}bool e = b < 1.0; {precise}float c = e ? b : 1.0; return c; ",
    ),
    # An imprecise product of a logarithm may become pow, which is wrong for a base of 0.
    Operator.POWER: Helper(
        "power",
        "ab",
        " {precise}float c = b == 0.0 || a == 1.0 ? {one} : exp2(b * log2(a)); return c; ",
    ),
    Operator.HALF: replace(quantize(FP16), name="to_half"),
}
"""The functions of operations. That of a comparison is the choice that depends on it."""

# GLSL's own may be off by units in the last place (4.30, section 4.7.1). A double has more than
# twice the digits of a float plus two, so that rounding twice is like rounding once.
EXACT_HELPERS = {
    Operator.DIVIDE: Helper("quotient", "ab", " return float(double(a) / double(b)); "),
    Operator.SQRT: Helper("root", "a", " return float(sqrt(double(a))); "),
}
"""Functions that round to the nearest float, which GLSL's own operations need not."""
