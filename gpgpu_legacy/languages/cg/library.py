"""The standard library of Cg, as the Cg manual defines each function (Cg Toolkit 1.5, Appendix E).

Most are a formula on the graph. Where the manual's reference code has a polynomial, its numbers are
here. A function's operands come as they are given: scalars smear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from inspect import signature
from math import inf, log
from operator import add, and_, or_
from typing import Any, cast

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.languages.cg.expressions import remainder, truncated
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Vector
from gpgpu_legacy.languages.cg.types import Aggregate, SamplerValue, Value, matrix

V = Vector


@frozen
class Function:
    """A library function.

    compute: the graph and the inputs to the result, or to a tuple of it and of the outputs.
    outputs: how many follow the inputs. takes_all: matrices or samplers, too. keeps_kind: ints stay
    ints.
    """

    compute: Callable[..., Any]
    outputs: int = 0
    takes_all: bool = False
    keeps_kind: bool = False

    @property
    def count(self) -> int:
        """The arguments that it takes, with the outputs."""
        return len(signature(self.compute).parameters) - 1 + self.outputs


# Formulas -----------------------------------------------------------------------------------------


def _opcode(name: str) -> Callable[..., V]:
    if name in ("MAX", "MIN"):
        return lambda g, a, b: g.op(name, a, b)
    return lambda g, x: g.op(name, x)


def _sqrt(g: Graph, x: V) -> V:
    return g.op("RCP", g.op("RSQ", x))


def _saturate(g: Graph, x: V) -> V:
    return g.op("SAT", x)


def _pow(g: Graph, x: V, y: V) -> V:
    """POW, whose base is no negative number; or products, as compilers make of x to the 2 to 4."""
    x = x.smeared(max(len(x), len(y)))
    square = x * x
    products = {2.0: square, 3.0: square * x, 4.0: square * square}
    exponent, *others = {*(y.constant or (0.0,))}
    return g.op("POW", x, y) if others else products.get(exponent, g.op("POW", x, y))


def _exp(g: Graph, x: V) -> V:
    return g.op("EX2", x * (1 / log(2)))


def _polynomial(x: V, *numbers: Any) -> Any:
    """Horner's rule, the highest power first."""
    return reduce(lambda total, number: total * x + number, numbers)


def _arc(g: Graph, x: V) -> V:
    """Acos |x| (Abramowitz and Stegun 4.4.45)."""
    size = g.op("ABS", x)
    polynomial = _polynomial(size, -0.0187293, 0.0742610, -0.2121144, 1.5707288)
    return cast(V, polynomial * _sqrt(g, 1.0 - size))


def _mirrored(x: V, angle: V) -> V:
    return angle - 2.0 * (x < 0.0).of("float") * angle


def _atan2(g: Graph, y: V, x: V) -> V:
    a, b = g.op("ABS", x), g.op("ABS", y)
    ratio = g.op("MIN", a, b) / g.op("MAX", a, b)
    numbers = -0.013480470, 0.057477314, -0.121239071, 0.195635925, -0.332994597, 0.999995630
    angle = _polynomial(ratio * ratio, *numbers) * ratio
    angle = g.select(b > a, 1.570796327 - angle, angle)
    angle = g.select(x < 0.0, 3.141592654 - angle, angle)
    return g.select(y < 0.0, -angle, angle)


def _tanh(g: Graph, x: V) -> V:
    grown = _exp(g, 2.0 * x)
    return (grown - 1.0) / (grown + 1.0)


def _cross(g: Graph, a: V, b: V) -> V:
    if len(a) != 3 or len(b) != 3:
        raise Fault("cross needs two vectors of three", "expected float3, float3", g.at)
    return g.parts("XPD", (*a.literals, *b.literals), None, 3)


def _length(g: Graph, v: V) -> V:
    return _sqrt(g, g.dot(v, v))


def _refract(g: Graph, i: V, n: V, eta: V) -> V:
    cosine = g.dot(-i, n)
    square = 1.0 - eta * eta * (1.0 - cosine * cosine)
    bent = eta * i + (eta * cosine - _sqrt(g, g.op("ABS", square))) * n
    return bent * (square > 0.0).of("float")


def _smoothstep(g: Graph, low: V, high: V, x: V) -> V:
    t = _saturate(g, (x - low) / (high - low))
    return t * t * (3.0 - 2.0 * t)


def _lit(g: Graph, diffuse: V, specular: V, power: V) -> V:
    literals = diffuse.literals + specular.literals + power.literals
    y, z = g.parts("LIT", literals, None, 4)[[1, 2]]
    return g.join(1.0, y, z, 1.0).of("float")


def _truths(v: V) -> V:
    return v if v.kind == "bool" else ~v.equals(0.0)


def _frexp(g: Graph, x: V) -> tuple[V, V]:
    power = g.op("FLR", g.op("LG2", g.op("ABS", x))) + 1.0
    power = g.select(x.equals(0.0), 0.0, power).of("float")
    return x * g.op("EX2", -power), power


def _modf(g: Graph, x: V) -> tuple[V, V]:
    whole = truncated(x)
    return x - whole, whole


# Matrices -----------------------------------------------------------------------------------------


def _rows(g: Graph, value: Value) -> list[V]:
    if not isinstance(value, Aggregate):
        raise Fault("this is not a matrix", "expected float2x2 or the like", g.at)
    return [row for row in value.items if isinstance(row, Vector)]


def _transpose(g: Graph, m: Value) -> Value:
    rows = _rows(g, m)
    columns = tuple(g.join(*(row[k] for row in rows)) for k in range(len(rows[0])))
    return Aggregate(matrix(rows[0].kind, len(columns), len(rows)), columns)


def _determinant(g: Graph, m: Value) -> V:
    """Along the first row."""
    first, *others = _rows(g, m)
    if not others:
        return first[0]
    kind = matrix(first.kind, len(others), len(others))
    minors = (
        Aggregate(kind, tuple(row[[j for j in range(len(row)) if j != k]] for row in others))
        for k in range(len(first))
    )
    terms = [x * _determinant(g, minor) for x, minor in zip(first, minors, strict=True)]
    return reduce(add, (-term if k % 2 else term for k, term in enumerate(terms)))


def multiplied(g: Graph, a: Value, b: Value) -> Value:
    """mul: a vector is a row on the left, a column on the right."""
    if isinstance(a, Vector) and isinstance(b, Vector):
        return g.dot(a, b)
    if isinstance(b, Vector):
        return g.join(*(g.dot(row, b) for row in _rows(g, a)))
    columns = _rows(g, _transpose(g, b))
    if isinstance(a, Vector):
        return g.join(*(g.dot(a, column) for column in columns))
    rows = tuple(cast(V, multiplied(g, row, b)) for row in _rows(g, a))
    return Aggregate(matrix(rows[0].kind, len(rows), len(columns)), rows)


# Lookups ------------------------------------------------------------------------------------------

_LOOKUP = re.compile(r"(?:[fhx]([1-4]))?tex(1D|2D|3D|CUBE|RECT)(proj|bias)?")
_MNEMONICS = {None: "TEX", "proj": "TXP", "bias": "TXB"}


def lookup_function(name: str) -> Function | None:
    """tex2D, f1texRECTproj and the like, by name; None for another name."""
    match = _LOOKUP.fullmatch(name)
    if match is None:
        return None
    count, target, mnemonic = int(match[1] or 4), TextureTarget(match[2]), _MNEMONICS[match[3]]
    needed = target.coordinates + (mnemonic != "TEX")

    def compute(g: Graph, sampler: Any, coordinates: Any) -> V:
        if not isinstance(sampler, SamplerValue):
            raise Fault(f"{name} got no sampler", "expected a sampler first", g.at)
        if sampler.type.target not in (None, target):
            raise Fault(f"{name} got a {sampler.type}", f"expected sampler{target.value}", g.at)
        assert isinstance(coordinates, Vector)
        if len(coordinates) == 1 and mnemonic == "TEX":
            coordinates = coordinates.smeared(needed)
        if len(coordinates) < needed:
            raise Fault(f"{name} is given {len(coordinates)}", f"expected {needed} numbers", g.at)
        return g.look_up(sampler.unit, target, coordinates, mnemonic)[:count]

    return Function(compute, takes_all=True)


# The table ----------------------------------------------------------------------------------------

REFUSED = (
    (r"ddx|ddy|fwidth",
     "ARB_fragment_program has no derivatives: pass the size of a texel as a uniform"),
    (r"(un)?pack_(2half|2ushort|4u?byte)",
     "fragment programs of 2003 have floats without access to their bits"),
    (r"noise", "no chip of the time computes noise: look it up in a texture"),
    (r"([fhx][1-4])?tex(1D|2D|3D|CUBE|RECT)(lod|grad|cmpbias)",
     "ARB_fragment_program has no lookup in a given level of detail: use tex2D or tex2Dbias"),
)  # fmt: skip
"""Functions that cannot be compiled, and why."""

_FORMULAS: dict[str, Callable[..., V]] = {
    "acos": lambda g, x: (x < 0.0).of("float") * 3.14159265358979 + _mirrored(x, _arc(g, x)),
    "all": lambda g, v: reduce(and_, _truths(v), g.numbers(1, kind="bool")),
    "any": lambda g, v: reduce(or_, _truths(v), g.numbers(0, kind="bool")),
    "asin": lambda g, x: _mirrored(x, 3.14159265358979 * 0.5 - _arc(g, x)),
    "atan": lambda g, x: _atan2(g, x, g.numbers(1.0)),
    "atan2": _atan2,
    "ceil": lambda g, x: -g.op("FLR", -x),
    "clamp": lambda g, x, low, high: g.op("MAX", g.op("MIN", x, high), low),
    "cosh": lambda g, x: 0.5 * (_exp(g, x) + _exp(g, -x)),
    "cross": _cross,
    "degrees": lambda g, x: x * 57.29577951,
    "distance": lambda g, a, b: _length(g, a - b),
    "dot": Graph.dot,
    "exp": _exp,
    "faceforward": lambda g, n, i, facing: g.select(g.dot(i, facing) < 0.0, n, -n),
    "fmod": lambda g, a, b: remainder(a, b),
    "isfinite": lambda g, x: g.op("ABS", x) < inf,
    "isinf": lambda g, x: g.op("ABS", x) >= inf,
    "isnan": lambda g, x: ~x.equals(x),
    "ldexp": lambda g, x, n: x * g.op("EX2", n),
    "length": _length,
    **dict.fromkeys(("lerp", "mix"), lambda g, a, b, f: g.op("LRP", f, b, a)),
    "lit": _lit,
    "log": lambda g, x: g.op("LG2", x) * log(2),
    "log10": lambda g, x: g.op("LG2", x) * (log(2) / log(10)),
    "normalize": lambda g, v: v * g.op("RSQ", g.dot(v, v)),
    "pow": _pow,
    "radians": lambda g, x: x * 0.01745329252,
    "reflect": lambda g, i, n: i - 2.0 * n * g.dot(n, i),
    "refract": _refract,
    "round": lambda g, x: g.op("FLR", x + 0.5),
    "sign": lambda g, x: (x > 0.0).of(x.kind) - (x < 0.0).of(x.kind),
    "sinh": lambda g, x: 0.5 * (_exp(g, x) - _exp(g, -x)),
    "smoothstep": _smoothstep,
    "sqrt": _sqrt,
    "mod": lambda g, a, b: a - b * g.op("FLR", a / b),
    "step": lambda g, edge, x: (x >= edge).of("float"),
    "tan": lambda g, x: g.op("SIN", x) / g.op("COS", x),
    "tanh": _tanh,
    "trunc": lambda g, x: truncated(x),
}
_OPCODES = {
    "abs": "ABS", "cos": "COS", "exp2": "EX2", "floor": "FLR", "frac": "FRC", "fract": "FRC",
    "log2": "LG2", "max": "MAX", "min": "MIN", "rsqrt": "RSQ", "saturate": "SAT", "sin": "SIN",
}  # fmt: skip
_OF_INTS = {"abs", "all", "any", "clamp", "max", "min", "sign"}
FUNCTIONS = {
    name: Function(compute, keeps_kind=name in _OF_INTS)
    for name, compute in (_FORMULAS | {n: _opcode(o) for n, o in _OPCODES.items()}).items()
} | {
    "determinant": Function(_determinant, takes_all=True),
    "transpose": Function(_transpose, takes_all=True),
    "mul": Function(multiplied, takes_all=True),
    "frexp": Function(_frexp, outputs=1),
    "modf": Function(_modf, outputs=1),
    "sincos": Function(lambda g, x: (x, g.op("SIN", x), g.op("COS", x)), outputs=2),
}
