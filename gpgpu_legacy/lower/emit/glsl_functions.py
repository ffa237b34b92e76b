"""Functions that GLSL lacks, or for which it promises less than the specifications of programs.

Each works on numbers; overloads take vectors. {precise} and {one} are a dialect's words.
"""

from __future__ import annotations

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.lower.ir_types import Operator


@frozen
class Helper:
    """A function that gives a float. parameters: their names. body: its statements.

    precision: what stands before the type of the parameters' vectors, `d` where they are doubles.
    """

    name: str
    parameters: str
    body: str
    precision: str = ""

    def definition(self, words: dict[str, str]) -> str:
        """For numbers."""
        body = self.body
        for word, text in words.items():
            body = body.replace("{" + word + "}", text)
        kind = "double" if self.precision else "float"
        listed = ", ".join(f"{kind} {name}" for name in self.parameters)
        return f"float {self.name}({listed}) {{{body}}}"

    def overload(self, width: int) -> str:
        """For vectors, component by component."""
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


HELPERS = {
    "less": _select("less", "<"),
    "less_equal": _select("less_equal", "<="),
    "greater": _select("greater", ">"),
    "greater_equal": _select("greater_equal", ">="),
    # Mesa 22.3 takes -r.x * r.y for a number that is not positive (it looks past the two letters),
    # and a comparison with 0 later on is folded away. It does not recognise a changed sign bit as a
    # negation.
    "negated": Helper(
        "negated", "a", " return uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); "
    ),
    "constant": Helper(
        "constant", "a", " return uintBitsToFloat(floatBitsToUint(a) ^ floatBitsToUint(zero)); "
    ),
    # GLSL's clamp of a NaN is undefined: NVIDIA's gives 1 if it is an absolute value.
    "saturated": Helper(
        "saturated",
        "a",
        " {precise}bool d = a > 0.0; {precise}float b = d ? a : 0.0;"
        " {precise}bool e = b < 1.0; {precise}float c = e ? b : 1.0; return c; ",
    ),
    # An imprecise product of a logarithm may become pow, which is wrong for a base of 0.
    "power": Helper(
        "power",
        "ab",
        " {precise}float c = b == 0.0 || a == 1.0 ? {one} : exp2(b * log2(a)); return c; ",
    ),
}

# GLSL's own may be units in the last place off (4.30, section 4.7.1). A double has more than twice
# the digits of a float and two more, so that rounding twice is rounding once.
EXACT_HELPERS = {
    Operator.DIVIDE: Helper("quotient", "ab", " return float(double(a) / double(b)); "),
    Operator.SQRT: Helper("root", "a", " return float(sqrt(double(a))); "),
}
"""Functions that round to the nearest float, which GLSL's own operations need not."""


def _fp24(up: str) -> str:
    """up: what is added before the last 7 bits are dropped."""
    return f"""
    uint bits = floatBitsToUint(a), sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
    if (size >= 0x7f800000u) return a;
    size = (size + {up}) & 0xffffff80u;
    if (size < 0x20800000u) size = 0u;
    if (size >= 0x5f800000u) size = 0x7f800000u;
    return uintBitsToFloat(sign | size);
"""


def _fp16(up: str, whole: str) -> str:
    """up: what is added before the last 13 bits are dropped; whole: rounds steps of denormals."""
    return f"""
    uint bits = floatBitsToUint(a), sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return a;
    if (size < 0x38800000u) {{
        float steps = {whole}(uintBitsToFloat(size) * 16777216.0);
        return uintBitsToFloat(sign | floatBitsToUint(steps * 5.9604644775390625e-08));
    }}
    size = (size + {up}) & 0xffffe000u;
    if (size >= 0x47800000u) size = 0x7f800000u;
    return uintBitsToFloat(sign | size);
"""


_FP16 = _fp16("0xfffu + ((size >> 13) & 1u)", "roundEven")


def _fx12(whole: str) -> str:
    return f"""
    if ((floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u) return 0.0;
    int steps = int({whole}(clamp(a, -2.0, 1.9990234375) * 1024.0));
    return steps == 0 ? 0.0 : float(steps) * 0.0009765625;
"""


_NEAREST_255 = """
        uint halves = product >> shift, rest = product - (halves << shift);
        whole = halves >> 1;
        if ((halves & 1u) == 1u && (rest != 0u || (whole & 1u) == 1u)) whole += 1u;"""

# What lies less than 2^-12 of a step below a number is that number, whose float may lie below it.
_CHOPPED_255 = " whole = ((product + (1u << (shift - 11u))) >> shift) >> 1;"


def _fixed_255(units: int, rounding: str = _NEAREST_255) -> str:
    """To multiples of 1/255 up to a power of two.

    a = m·2^-s with an integer m of 24 bits, so 255·m is exact in 32; 1/510, half a step, is > 2^-9.
    The larger part of 1/255 has 13 bits, so that its product with the steps is exact.
    """
    return f"""
    uint bits = floatBitsToUint(a), size = bits & 0x7fffffffu;
    if (size > 0x7f800000u || size < 0x3b000000u) return 0.0;
    uint whole = {255 * units}u;
    if (size < floatBitsToUint({units}.0)) {{
        uint product = ((size & 0x7fffffu) | 0x800000u) * 255u;
        uint shift = 149u - (size >> 23);{rounding}
    }}
    float steps = float((bits >> 31) == 1u ? -int(whole) : int(whole));
    {{precise}}float nearest = steps * 0.0039215087890625 + steps * 5.983839201917363e-08;
    return nearest;
"""


QUANTIZERS = {
    name: Helper("quantize", "a", body)
    for name, body in (
        ("fp24", _fp24("0x3fu + ((size >> 7) & 1u)")),
        ("fp24-chop", _fp24("0u")),
        ("fp16", _FP16),
        ("fp16-chop", _fp16("0u", "trunc")),
        ("fx12", _fx12("roundEven")),
        ("fx12-chop", _fx12("trunc")),
        ("rc9", _fixed_255(1)),
        ("rc9-chop", _fixed_255(1, _CHOPPED_255)),
        ("ff8", _fixed_255(8)),
    )
}
"""Functions that round a float32 to an arithmetic of isa/arithmetic.py, bit for bit, by name."""

# Rounding to odd: rounding the result once more is like rounding once.
_BY_ODD = """
    float near = float(a);
    if (double(near) == a) return quantize(near);
    uint bits = floatBitsToUint(near);
    if (abs(double(near)) > abs(a)) bits -= 1u;
    return quantize(uintBitsToFloat(bits | 1u));
"""


_CHOPPED = """
    float near = float(a);
    uint bits = floatBitsToUint(near);
    if (abs(double(near)) > abs(a)) bits -= 1u;
    return quantize(uintBitsToFloat(bits));
"""


def _steps(per_unit: int, least: int, most: int, rounding: str = "roundEven(steps)") -> str:
    """Rounds to fixed point like isa/arithmetic.py; every number of steps is a float."""
    return f"""
    if (isnan(a)) return 0.0;
    double steps = clamp(a * {per_unit}.0lf, {least}.0lf, {most}.0lf);
    steps = {rounding};
    return quantize(float(steps / {per_unit}.0lf));
"""


WIDE_QUANTIZERS = {
    name: Helper("quantize_wide", "a", body, precision="d")
    for name, body in (
        ("fp24", _BY_ODD),
        ("fp24-chop", _CHOPPED),
        ("fp16", _BY_ODD),
        ("fp16-chop", _CHOPPED),
        ("fx12", _steps(1024, -2048, 2047)),
        ("fx12-chop", _steps(1024, -2048, 2047, "trunc(steps)")),
        ("rc9", _steps(255, -255, 255)),
        ("rc9-chop", _steps(255, -255, 255, "trunc(steps + sign(steps) * 0.000244140625lf)")),
        ("ff8", _steps(255, -2040, 2040)),
    )
}
"""Functions that round a double to those arithmetics through `quantize`, defined before."""

TO_HALF = Helper("to_half", "a", _FP16)
"""The function that rounds a float32 to a 16-bit float texture's format."""
