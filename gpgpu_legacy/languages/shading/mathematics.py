"""What shading languages leave open, or define otherwise than one another.

A text follows its own language's column, unless it is told another.
"""

from __future__ import annotations

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint

CG, DIRECT3D9, GLSL = "cg", "direct3d9", "glsl"
MATHEMATICS = {
    CG: "Cg Toolkit 1.5",
    DIRECT3D9: "HLSL, by Direct3D 9's instructions",
    GLSL: "GLSL 1.20, chapter 8",
}
"""The columns, and what they follow."""


@frozen
class Answer:
    """What a language says. source: where. text: functions in place of the shared library's."""

    says: str
    source: str
    text: str = ""


_OPEN = "open: as in Cg"
_ONE = Answer("as in Cg", "HLSL reference")

ROWS: dict[str, dict[str, Answer]] = {
    "pow(x, y), x < 0": {
        CG: Answer("NaN; for y = 2, 3 or 4 a product", "E, pow; ARB 3.11.5.20"),
        DIRECT3D9: Answer(
            "pow(abs(x), y)", "pow - ps",
            "real pow(real x, real power) { return POWER(ABS(x), power); }",
        ),
        GLSL: Answer(_OPEN, "8.2"),
    },
    "log(x), log2(x), x < 0": {
        CG: Answer("NaN", "E, log; ARB 3.11.5.12"),
        DIRECT3D9: Answer(
            "log(abs(x)), -FLT_MAX for 0", "log - ps",
            """real log2(real x) { return MAX(LG2(ABS(x)), -3.402823466e38); }
real log(real x) { return log2(x) * 0.693147180559945; }
real log10(real x) { return log2(x) * 0.301029995663981; }""",
        ),
        GLSL: Answer(_OPEN, "8.2"),
    },
    "rsqrt(x), x < 0": {
        CG: Answer("rsqrt(abs(x)), as RSQ has it", "E, rsqrt; ARB 3.11.5.22"),
        DIRECT3D9: Answer(
            "rsqrt(abs(x)), FLT_MAX for 0", "rsq - vs, whose code ps shares",
            """real rsqrt(real x) { return MIN(RSQ(x), 3.402823466e38); }
real inversesqrt(real x) { return rsqrt(x); }""",
        ),
        GLSL: Answer(_OPEN, "8.2"),
    },
    "normalize(0)": {
        CG: Answer("NaN: 0 times RSQ's infinity", "E, normalize"),
        DIRECT3D9: Answer(
            "0, by way of rsq", "nrm - ps, rsq - vs",
            "real normalize(real v) { return v * MIN(RSQ(DOT(v, v)), 3.402823466e38); }",
        ),
        GLSL: Answer(_OPEN, "8.4"),
    },
    "fmod(a, b), a % b, mod(a, b)": {
        CG: Answer("the sign of a; mod, as GLSL's", "E, fmod"),
        DIRECT3D9: Answer("the sign of a", "fmod"),
        GLSL: Answer("mod: a - b * floor(a / b); % has ints alone", "8.3, 5.9"),
    },
    "atan2(0, 0)": {
        CG: Answer("NaN: 0 / 0", "E, atan2"),
        DIRECT3D9: Answer(_OPEN, "atan2"),
        GLSL: Answer(_OPEN, "8.1"),
    },
    "int / int": {
        CG: Answer("towards 0; float / float by way of RCP", "the fragment profiles"),
        DIRECT3D9: _ONE,
        GLSL: Answer(_OPEN, "4.1.3"),
    },
    "round(0.5)": {
        CG: Answer("1: floor(x + 0.5)", "E, round"),
        DIRECT3D9: _ONE,
        GLSL: Answer("open: 1; roundEven 0", "1.30, 8.3"),
    },
    "min(x, y), x or y NaN": {
        CG: Answer("x: x > y ? y : x", "ARB 3.11.5.17"),
        DIRECT3D9: Answer(
            "y: x < y ? x : y", "min - ps",
            "number min(number a, number b) { return MIN(b, a); }",
        ),
        GLSL: Answer("x: y < x ? y : x", "8.3"),
    },
    "max(x, y), x or y NaN": {
        CG: Answer("y: x > y ? x : y", "ARB 3.11.5.16"),
        DIRECT3D9: Answer("y: x >= y ? x : y", "max - ps"),
        GLSL: Answer(
            "x: x < y ? y : x", "8.3", "number max(number a, number b) { return MAX(b, a); }"
        ),
    },
    "clamp(x, a, b), x NaN, or a > b": {
        CG: Answer("max(min(x, b), a)", "E, clamp"),
        DIRECT3D9: Answer(
            "min(max(x, a), b)", "clamp",
            "number clamp(number x, number low, number high) { return MIN(high, MAX(x, low)); }",
        ),
        GLSL: Answer(
            "min(max(x, a), b)", "8.3",
            "number clamp(number x, number low, number high) { return MIN(MAX(low, x), high); }",
        ),
    },
}  # fmt: skip
"""Each question, and the answers by column."""


def functions_of(name: str) -> str:
    """The text of the functions that a column has in place of the shared library's."""
    if name not in MATHEMATICS:
        raise InputError(f"there is no mathematics {name}; {hint(name, MATHEMATICS)}")
    return "\n".join(row[name].text for row in ROWS.values())
