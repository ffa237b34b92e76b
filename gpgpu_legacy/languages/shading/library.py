"""The standard library of Cg, which library.cg defines in Cg, and the operations that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from pkgutil import get_data
from typing import cast

from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Function
from gpgpu_legacy.languages.shading.expressions import described
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import SAMPLER, Graph, Vector
from gpgpu_legacy.languages.shading.types import GENERIC, SamplerType, extents, is_matrix, matrix

REFUSED = {
    r"ddx|ddy|fwidth":
     "ARB_fragment_program has no derivatives: pass the size of a texel as a uniform",
    r"(un)?pack_(2half|2ushort|4u?byte)":
     "fragment programs of 2003 have floats without access to their bits",
    r"noise": "no chip of the time computes noise: look it up in a texture",
    r"tex(1D|2D|3D|CUBE|RECT)(lod|cmpbias)":
     "ARB_fragment_program has no lookup in a given level of detail: use tex2D or tex2Dbias",
    r"tex(1D|2D|3D|CUBE|RECT)(grad|/4)":
     "ARB_fragment_program has no lookup with derivatives: leave them out, or use tex2Dbias",
}  # fmt: skip
"""Functions that cannot be compiled, and why. A name may have its number of arguments after a /."""


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


def _look_up(mnemonic: str, g: Graph, image: Vector, at: Vector) -> Vector:
    node, kind = image.literals[0] >> 1, image.type
    assert isinstance(kind, SamplerType) and kind.target
    if g.operations[node] is not SAMPLER:
        raise Fault("this sampler is bound to no texture", "pass a uniform one", g.at)
    return g.look_up(cast(int, g.keys[node]), kind.target, at, mnemonic)


_OPERATIONS: dict[str, Callable[..., Vector]] = {
    "DOT": Graph.dot,
    "LIT": lambda g, x: g.parts("LIT", x.literals, None, 4),
    "POWER": _power,
    "PRODUCT": _product,
    "SINGLE": lambda g, a, b: g.numbers(1 in (len(a), len(b))),
    "TRANSPOSED": _transposed,
    "XPD": lambda g, a, b: g.parts("XPD", (*a.literals, *b.literals), None, 3),
    **{name: partial(_look_up, name) for name in ("TEX", "TXP", "TXB")},
}
