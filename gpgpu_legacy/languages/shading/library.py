"""Standard libraries, which files library.cg define in Cg, and the operations that they call."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from pkgutil import get_data
from typing import cast

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Function
from gpgpu_legacy.languages.shading.expressions import described
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import SAMPLER, Graph, Vector
from gpgpu_legacy.languages.shading.types import GENERIC, SamplerType, extents, is_matrix, matrix

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


_FUNCTION = re.compile(r"^\w+ (\w+)\([^{]*\{.*?\}$", re.DOTALL | re.MULTILINE)


class Library:
    """The functions of a language: those that all have, and its own, in library.cg of a package."""

    def __init__(self, package: str, refused: Mapping[str, str], mathematics: str = CG) -> None:
        """refused: functions that cannot be compiled, and why. mathematics: the column of what
        languages define otherwise.
        """
        self._package, self._refused, self._mathematics = package, refused, mathematics
        self._others: dict[str, Library] = {}

    def by(self, mathematics: str) -> Library:
        """The same by another column."""
        other = Library(self._package, self._refused, mathematics)
        return self._others.setdefault(mathematics, other)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of the functions by name."""
        found: dict[str, str] = defaultdict(str)
        for package in (__package__, self._package):
            text = (get_data(package, "library.cg") or b"").decode()
            for name in _FUNCTION.finditer(text):
                found[name[1]] += name[0]
        own = {name[1]: name[0] for name in _FUNCTION.finditer(functions_of(self._mathematics))}
        return found | {name: text for name, text in own.items() if name in found}

    def functions(self, name: str, at: Span) -> tuple[Function, ...]:
        """The functions of a name; none if there are none. Fault for one that is refused."""
        for pattern, why in self._refused.items():
            if re.fullmatch(pattern, name):
                raise Fault(f"{name} cannot be compiled", why, at)
        return _functions(name, self.texts[name]) if name in self.texts else ()


@cache
def _functions(name: str, text: str) -> tuple[Function, ...]:
    types = "".join(f"typedef float {name};" for name in GENERIC)
    unit = parse("", name, before=types + text)
    return tuple(item for item in unit.items if isinstance(item, Function))


def operation(graph: Graph, name: str, *values: Vector) -> Vector:
    """The result of an operation that the library calls by a name in capitals."""
    compute = _OPERATIONS.get(name)
    return compute(graph, *values) if compute else graph.op(name, *values)


def _power(g: Graph, x: Vector, y: Vector) -> Vector:
    """POW, whose base is no negative number; or products, as compilers make of x to the 2 to 4."""
    x = x.smeared(max(len(x), len(y)))
    square = x * x
    products = {2.0: square, 3.0: square * x, 4.0: square * square}
    exponent, *others = {*(y.constant or (0.0,))}
    return g.op("POW", x, y) if others else products.get(exponent, g.op("POW", x, y))


def _transposed(g: Graph, m: Vector) -> Vector:
    rows, columns = extents(m.type)
    if not is_matrix(m.type):
        raise Fault(f"this is {described(m)}", "expected a matrix", g.at)
    return g.built(matrix(m.kind, columns, rows), (m[k::columns] for k in range(columns)))


def _product(g: Graph, a: Vector, b: Vector) -> Vector:
    """Of matrices, or of a matrix and a row or a column."""
    (rows, inner), (_, columns) = extents(a.type), extents(b.type)
    if not rows or not columns:
        raise Fault(f"mul is given {described(a)} and {described(b)}", "expected matrices", g.at)
    if not b.shape:
        columns = 1
    values = [
        g.dot(a[inner * row : inner * (row + 1)], b[column::columns])
        for row in range(rows) for column in range(columns)
    ]  # fmt: skip
    product = g.join(*values)
    return g.built(matrix(product.kind, rows, columns), values) if a.shape and b.shape else product


def _look_up(mnemonic: str, g: Graph, image: Vector, *at: Vector) -> Vector:
    node, kind = image.literals[0] >> 1, image.type
    assert isinstance(kind, SamplerType) and kind.target
    if g.operations[node] is not SAMPLER:
        raise Fault("this sampler is bound to no texture", "pass a uniform one", g.at)
    return g.look_up(cast(int, g.keys[node]), kind.target, g.join(*at), mnemonic)


_OPERATIONS: dict[str, Callable[..., Vector]] = {
    "DOT": Graph.dot,
    "LIT": lambda g, x: g.parts("LIT", x.literals, None, 4),
    "POWER": _power,
    "PRODUCT": _product,
    "SINGLE": lambda g, a, b: g.numbers(1 in (len(a), len(b))),
    "TRANSPOSED": _transposed,
    "XPD": lambda g, a, b: g.parts("XPD", (*a.literals, *b.literals), None, 3),
    **{name: partial(_look_up, name) for name in ("TEX", "TXP", "TXB", "TXD", "TXL")},
}
