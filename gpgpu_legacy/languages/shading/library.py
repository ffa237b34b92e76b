"""Standard libraries, defined in Cg in files library.cg, and the operations that they call."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from pkgutil import get_data
from typing import cast

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Function
from gpgpu_legacy.languages.shading.expressions import described
from gpgpu_legacy.languages.shading.graph import SAMPLER, Fault, Graph, Vector
from gpgpu_legacy.languages.shading.types import GENERIC, SamplerType, extents, is_matrix, matrix

CG, DIRECT3D9, GLSL = "cg", "direct3d9", "glsl"
MATHEMATICS = {CG: (), DIRECT3D9: ("library.direct3d9.cg",), GLSL: ("library.glsl.cg",)}
"""Languages that define functions differently: for each the files of functions that replace the
shared library's. A text follows its own language unless told otherwise.
"""

_FUNCTION = re.compile(r"^\w+ (\w+)\([^{]*\{.*?\}$", re.DOTALL | re.MULTILINE)


@frozen
class Library:
    """The functions of a language: those that all have, and its own.

    package: its library.cg has the language's own functions. refused: patterns of functions that
    cannot be compiled, and why. mathematics: a key of MATHEMATICS.
    """

    package: str
    refused: Mapping[str, str]
    mathematics: str = CG

    @property
    def texts(self) -> Mapping[str, str]:
        """The text of the functions by name."""
        return _texts(self.package, self.mathematics)

    def functions(self, name: str, at: Span) -> tuple[Function, ...]:
        """The functions of that name, maybe none; Fault for a name that is refused."""
        for pattern, why in self.refused.items():
            if re.fullmatch(pattern, name):
                raise Fault(f"{name} cannot be compiled; {why}", at)
        return _functions(name, self.texts[name]) if name in self.texts else ()


@cache
def _texts(package: str, mathematics: str) -> Mapping[str, str]:
    if mathematics not in MATHEMATICS:
        raise InputError(f"there is no mathematics {mathematics}; {hint(mathematics, MATHEMATICS)}")

    def read(*files: tuple[str, str]) -> dict[str, str]:
        texts: dict[str, str] = defaultdict(str)
        for file in files:
            for function in _FUNCTION.finditer((get_data(*file) or b"").decode()):
                texts[function[1]] += function[0]
        return texts

    own = read(*((__package__, file) for file in MATHEMATICS[mathematics]))
    shared = read((__package__, "library.cg"), (package, "library.cg"))
    return {name: own.get(name, text) for name, text in shared.items()}


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
    """Compute x to the power y: by products for 2, 3 and 4, as compilers do it, else by POW."""
    x = x.smeared(max(len(x), len(y)))
    square = x * x
    products = {2.0: square, 3.0: square * x, 4.0: square * square}
    exponent, *others = {*(y.constant or (0.0,))}
    return g.op("POW", x, y) if others else products.get(exponent, g.op("POW", x, y))


def _transposed(g: Graph, m: Vector) -> Vector:
    rows, columns = extents(m.type)
    if not is_matrix(m.type):
        raise Fault(f"this is {described(m)}; expected a matrix", g.at)
    return g.built(matrix(m.kind, columns, rows), (m[k::columns] for k in range(columns)))


def _product(g: Graph, a: Vector, b: Vector) -> Vector:
    """The product of matrices, or of a matrix and a row or a column."""
    (rows, inner), (_, columns) = extents(a.type), extents(b.type)
    if not rows or not columns:
        raise Fault(f"mul is given {described(a)} and {described(b)}; expected matrices", g.at)
    if not b.shape:
        columns = 1
    values = [
        g.dot(a[inner * row : inner * (row + 1)], b[column::columns])
        for row in range(rows) for column in range(columns)
    ]  # fmt: skip
    product = g.join(*values)
    return g.built(matrix(product.kind, rows, columns), values) if a.shape and b.shape else product


def _look_up(mnemonic: str, g: Graph, image: Vector, *at: Vector) -> Vector:
    kind = image.type
    assert isinstance(kind, SamplerType) and kind.target
    return g.look_up(unit_of(g, image), kind.target, g.join(*at), mnemonic)


def unit_of(g: Graph, sampler: Vector) -> int:
    """The texture unit of a sampler; Fault for one that is bound to none."""
    node = sampler.literals[0] >> 1
    if g.operations[node] is not SAMPLER:
        raise Fault("this sampler is bound to no texture; pass a uniform one", g.at)
    return cast(int, g.keys[node])


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
