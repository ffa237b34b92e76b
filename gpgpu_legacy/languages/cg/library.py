"""The standard library of Cg, as the Cg manual defines each function (Cg Toolkit 1.5, Appendix E).

Most are a formula on the graph. Where the manual's reference code has a polynomial, its numbers are
here. A function's operands come as they are given: scalars smear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from math import inf, log
from operator import and_, or_
from typing import Any

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.languages.cg.expressions import remainder, truncated
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Operand, Vector
from gpgpu_legacy.languages.cg.types import Aggregate, SamplerValue, Value, matrix

V = Vector


@frozen
class Function:
    """A library function.

    compute: the graph and the inputs to the result, or to a tuple of it and of the outputs.
    count: the arguments that it takes, with the outputs. refused: why it cannot be compiled; empty
    if it can. takes_all: matrices or samplers, too. keeps_kind: ints stay ints.
    """

    compute: Callable[..., Any]
    count: int = 0
    outputs: int = 0
    refused: str = ""
    takes_all: bool = False
    keeps_kind: bool = False


# Formulas -----------------------------------------------------------------------------------------


def _op(mnemonic: str) -> Callable[..., V]:
    return lambda g, *v: g.op(mnemonic, *v)


def _sqrt(g: Graph, x: V) -> V:
    return g.op("RCP", g.op("RSQ", x))


def _saturate(g: Graph, x: V) -> V:
    return g.op("SAT", x)


def _exp(g: Graph, x: V) -> V:
    return g.op("EX2", x * (1 / log(2)))


def _polynomial(x: V, first: float, *rest: float) -> V:
    """Horner's rule, the highest power first."""
    total: Operand = first
    for number in rest:
        total = total * x + number
    assert isinstance(total, Vector)
    return total


def _arc(g: Graph, x: V) -> tuple[V, V, V]:
    """Whether x is negative, |x|, and acos |x| (Abramowitz and Stegun 4.4.45)."""
    size = g.op("ABS", x)
    polynomial = _polynomial(size, -0.0187293, 0.0742610, -0.2121144, 1.5707288)
    return (x < 0.0).of("float"), size, polynomial * _sqrt(g, 1.0 - size)


def _acos(g: Graph, x: V) -> V:
    negative, _, angle = _arc(g, x)
    return negative * 3.14159265358979 + (angle - 2.0 * negative * angle)


def _asin(g: Graph, x: V) -> V:
    negative, _, angle = _arc(g, x)
    angle = 3.14159265358979 * 0.5 - angle
    return angle - 2.0 * negative * angle


def _atan2(g: Graph, y: V, x: V) -> V:
    a, b = g.op("ABS", x), g.op("ABS", y)
    ratio = g.op("MIN", a, b) / g.op("MAX", a, b)
    numbers = -0.013480470, 0.057477314, -0.121239071, 0.195635925, -0.332994597, 0.999995630
    angle = _polynomial(ratio * ratio, *numbers) * ratio
    angle = g.select(b > a, 1.570796327 - angle, angle)
    angle = g.select(x < 0.0, 3.141592654 - angle, angle)
    return g.select(y < 0.0, -angle, angle)


def _cosh(g: Graph, x: V) -> V:
    return 0.5 * (_exp(g, x) + _exp(g, -x))


def _sinh(g: Graph, x: V) -> V:
    return 0.5 * (_exp(g, x) - _exp(g, -x))


def _tanh(g: Graph, x: V) -> V:
    grown = _exp(g, 2.0 * x)
    return (grown - 1.0) / (grown + 1.0)


def _cross(g: Graph, a: V, b: V) -> V:
    if len(a) != 3 or len(b) != 3:
        raise Fault("cross needs two vectors of three", "expected float3, float3", g.at)
    return g.parts("XPD", (*a.literals, *b.literals), None, 3)


def _normalize(g: Graph, v: V) -> V:
    return v * g.op("RSQ", g.dot(v, v))


def _length(g: Graph, v: V) -> V:
    return _sqrt(g, g.dot(v, v))


def _reflect(g: Graph, i: V, n: V) -> V:
    return i - 2.0 * n * g.dot(n, i)


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


def _sign(g: Graph, x: V) -> V:
    return (x > 0.0).of(x.kind) - (x < 0.0).of(x.kind)


def _any(g: Graph, v: V) -> V:
    return reduce(or_, _truths(v), g.numbers(0, kind="bool"))


def _all(g: Graph, v: V) -> V:
    return reduce(and_, _truths(v), g.numbers(1, kind="bool"))


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


def _rows(value: Value) -> list[V]:
    assert isinstance(value, Aggregate)
    return [row for row in value.items if isinstance(row, Vector)]


def _transpose(g: Graph, m: Value) -> Value:
    rows = _rows(m)
    columns = tuple(g.join(*(row[k] for row in rows)) for k in range(len(rows[0])))
    return Aggregate(matrix(rows[0].kind, len(columns), len(rows)), columns)


def _determinant(g: Graph, m: Value) -> V:
    """Along the first row."""
    rows = _rows(m)
    if len(rows) == 1:
        return rows[0][0]
    total: V | None = None
    for k in range(len(rows)):
        rest = tuple(row[[j for j in range(len(row)) if j != k]] for row in rows[1:])
        kind = matrix(rows[0].kind, len(rest), len(rest))
        term = rows[0][k] * _determinant(g, Aggregate(kind, rest))
        total = term if total is None else total - term if k % 2 else total + term
    assert total is not None
    return total


def multiplied(g: Graph, a: Value, b: Value) -> Value:
    """mul: a vector is a row on the left, a column on the right."""
    if isinstance(a, Vector) and isinstance(b, Vector):
        return g.dot(a, b)
    if isinstance(b, Vector):
        return g.join(*(g.dot(row, b) for row in _rows(a)))
    columns = _rows(_transpose(g, b))
    if isinstance(a, Vector):
        return g.join(*(g.dot(a, column) for column in columns))
    rows = tuple(g.join(*(g.dot(row, column) for column in columns)) for row in _rows(a))
    return Aggregate(matrix(rows[0].kind, len(rows), len(columns)), rows)


# Lookups ------------------------------------------------------------------------------------------

_LOOKUP = re.compile(r"(?:[fhx]([1-4]))?tex(1D|2D|3D|CUBE|RECT)(proj|bias|lod|grad|cmpbias)?")
_MNEMONICS = {None: "TEX", "proj": "TXP", "bias": "TXB"}
_REFUSED = "ARB_fragment_program has no lookup in a given level of detail: use tex2D or tex2Dbias"


def lookup_function(name: str) -> Function | None:
    """tex2D, f1texRECTproj and the like, by name; None for another name."""
    match = _LOOKUP.fullmatch(name)
    if match is None:
        return None
    count, target, mnemonic = int(match[1] or 4), TextureTarget(match[2]), _MNEMONICS.get(match[3])
    if mnemonic is None:
        return Function(_op("TEX"), refused=_REFUSED)
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

    return Function(compute, 2, takes_all=True)


# The table ----------------------------------------------------------------------------------------

_NO_DERIVATIVES = "ARB_fragment_program has no derivatives: pass the size of a texel as a uniform"
_NO_BITS = "fragment programs of 2003 have floats without access to their bits"

_ONE = {
    "abs": _op("ABS"),
    "acos": _acos,
    "all": _all,
    "any": _any,
    "asin": _asin,
    "atan": lambda g, x: _atan2(g, x, g.numbers(1.0)),
    "ceil": lambda g, x: -g.op("FLR", -x),
    "cos": _op("COS"),
    "cosh": _cosh,
    "degrees": lambda g, x: x * 57.29577951,
    "exp": _exp,
    "exp2": _op("EX2"),
    "floor": _op("FLR"),
    "frac": _op("FRC"),
    "isfinite": lambda g, x: g.op("ABS", x) < inf,
    "isinf": lambda g, x: g.op("ABS", x) >= inf,
    "isnan": lambda g, x: ~x.equals(x),
    "length": _length,
    "log": lambda g, x: g.op("LG2", x) * log(2),
    "log10": lambda g, x: g.op("LG2", x) * (log(2) / log(10)),
    "log2": _op("LG2"),
    "normalize": _normalize,
    "radians": lambda g, x: x * 0.01745329252,
    "round": lambda g, x: g.op("FLR", x + 0.5),
    "rsqrt": _op("RSQ"),
    "saturate": _saturate,
    "sign": _sign,
    "sin": _op("SIN"),
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": lambda g, x: g.op("SIN", x) / g.op("COS", x),
    "tanh": _tanh,
    "trunc": lambda g, x: truncated(x),
}
_TWO = {
    "atan2": _atan2,
    "cross": _cross,
    "distance": lambda g, a, b: _length(g, a - b),
    "dot": lambda g, a, b: g.dot(a, b),
    "fmod": lambda g, a, b: remainder(a, b),
    "ldexp": lambda g, x, n: x * g.op("EX2", n),
    "max": _op("MAX"),
    "min": _op("MIN"),
    "pow": _op("POW"),
    "reflect": _reflect,
    "step": lambda g, edge, x: (x >= edge).of("float"),
}
_THREE = {
    "clamp": lambda g, x, low, high: g.op("MAX", g.op("MIN", x, high), low),
    "faceforward": lambda g, n, i, facing: g.select(g.dot(i, facing) < 0.0, n, -n),
    "lerp": lambda g, a, b, f: g.op("LRP", f, b, a),
    "lit": _lit,
    "refract": _refract,
    "smoothstep": _smoothstep,
}
_OF_INTS = {"abs", "all", "any", "clamp", "max", "min", "sign"}
FUNCTIONS = {
    name: Function(compute, count, keeps_kind=name in _OF_INTS)
    for count, rows in ((1, _ONE), (2, _TWO), (3, _THREE))
    for name, compute in rows.items()
} | {
    "determinant": Function(_determinant, 1, takes_all=True),
    "transpose": Function(_transpose, 1, takes_all=True),
    "mul": Function(multiplied, 2, takes_all=True),
    "frexp": Function(_frexp, 2, outputs=1),
    "modf": Function(_modf, 2, outputs=1),
    "sincos": Function(lambda g, x: (x, g.op("SIN", x), g.op("COS", x)), 3, outputs=2),
    **{name: Function(_op(name), refused=_NO_DERIVATIVES) for name in ("ddx", "ddy", "fwidth")},
    **{
        f"{way}_{kind}": Function(_op(way), refused=_NO_BITS)
        for way in ("pack", "unpack")
        for kind in ("2half", "2ushort", "4byte", "4ubyte")
    },
    "noise": Function(
        _op("noise"), refused="no chip of the time computes noise: look it up in a texture"
    ),
}
