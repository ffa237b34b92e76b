"""The standard library of Cg, which library.cg defines in Cg, and the operations that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import get_data
from typing import Any, cast

from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Function
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Vector
from gpgpu_legacy.languages.cg.types import GENERIC, Aggregate, Value, matrix

REFUSED = {
    r"ddx|ddy|fwidth":
     "ARB_fragment_program has no derivatives: pass the size of a texel as a uniform",
    r"(un)?pack_(2half|2ushort|4u?byte)":
     "fragment programs of 2003 have floats without access to their bits",
    r"noise": "no chip of the time computes noise: look it up in a texture",
    r"tex(1D|2D|3D|CUBE|RECT)(lod|grad|cmpbias)":
     "ARB_fragment_program has no lookup in a given level of detail: use tex2D or tex2Dbias",
}  # fmt: skip
"""Functions that cannot be compiled, and why."""


@cache
def texts() -> Mapping[str, str]:
    """The text of the library's functions by name."""
    found: dict[str, str] = defaultdict(str)
    text = (get_data(__package__, "library.cg") or b"").decode()
    for name in re.finditer(r"^\w+ (\w+)\([^{]*\{.*?\}$", text, re.DOTALL | re.MULTILINE):
        found[name[1]] += name[0]
    return found


@cache
def functions(name: str) -> tuple[Function, ...]:
    """The library's functions of a name."""
    types = "".join(f"typedef float {name};" for name in GENERIC)
    unit = parse("", name, before=types + texts()[name])
    return tuple(item for item in unit.items if isinstance(item, Function))


def operation(graph: Graph, name: str, values: list[Any]) -> Value:
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


def _rows(g: Graph, value: Value) -> list[Vector]:
    if not isinstance(value, Aggregate):
        raise Fault("this is not a matrix", "expected float2x2 or the like", g.at)
    return [row for row in value.items if isinstance(row, Vector)]


def _transposed(g: Graph, m: Value) -> Value:
    rows = _rows(g, m)
    columns = tuple(g.join(*(row[k] for row in rows)) for k in range(len(rows[0])))
    return Aggregate(matrix(rows[0].kind, len(columns), len(rows)), columns)


def _product(g: Graph, a: Value, b: Value) -> Value:
    """Of a matrix and a vector, which is a row on the left and a column on the right."""
    if isinstance(a, Vector) and isinstance(b, Vector):
        return g.dot(a, b)
    if isinstance(b, Vector):
        return g.join(*(g.dot(row, b) for row in _rows(g, a)))
    columns = _rows(g, _transposed(g, b))
    if isinstance(a, Vector):
        return g.join(*(g.dot(a, column) for column in columns))
    rows = tuple(cast(Vector, _product(g, row, b)) for row in _rows(g, a))
    return Aggregate(matrix(rows[0].kind, len(rows), len(columns)), rows)


def _lookup(mnemonic: str) -> Callable[[Graph, Any, Vector], Value]:
    return lambda g, image, at: g.look_up(image.unit, image.type.target, at, mnemonic)


_OPERATIONS: dict[str, Callable[..., Value]] = {
    "DOT": Graph.dot,
    "LIT": lambda g, x: g.parts("LIT", x.literals, None, 4),
    "POWER": _power,
    "PRODUCT": _product,
    "TRANSPOSED": _transposed,
    "XPD": lambda g, a, b: g.parts("XPD", (*a.literals, *b.literals), None, 3),
    **{name: _lookup(name) for name in ("TEX", "TXP", "TXB")},
}
