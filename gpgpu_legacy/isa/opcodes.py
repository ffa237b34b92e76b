"""The opcode table: a row for each opcode, with everything that the package knows about it.

The assembler reads the operand shape, everything that executes programs reads `evaluate`, and the
counter reads `cost`. A new opcode is a new row and nothing else but tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from functools import partial
from math import nan, pi
from typing import Any

from gpgpu_legacy.decorators import frozen

# Symbols ------------------------------------------------------------------------------------------

_Method = Callable[[Any, Any], Any]


def _methods(name: str) -> tuple[_Method, _Method]:
    """The two methods of an operator: for the symbol as its left and as its right operand."""
    return (
        lambda self, other: self.operate(name, (self, other)),
        lambda self, other: self.operate(name, (other, self)),
    )


class Symbol:
    """A value that stands for unknown numbers."""

    __slots__ = ()

    def operate(self, name: str, operands: tuple[Any, ...]) -> Any:
        """The result of NumPy's function of that name for operands that include this symbol."""
        raise NotImplementedError

    __add__, __radd__ = _methods("add")
    __sub__, __rsub__ = _methods("subtract")
    __mul__, __rmul__ = _methods("multiply")
    __truediv__, __rtruediv__ = _methods("divide")
    __lt__ = _methods("less")[0]
    __le__ = _methods("less_equal")[0]
    __gt__ = _methods("greater")[0]
    __ge__ = _methods("greater_equal")[0]
    __or__ = _methods("bitwise_or")[0]
    __and__ = _methods("bitwise_and")[0]

    def __neg__(self) -> Any:
        return self.operate("negative", (self,))

    def __abs__(self) -> Any:
        return self.operate("absolute", (self,))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self.operate(ufunc.__name__, operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, options: Any) -> Any:
        if options:
            return NotImplemented
        return self.operate(function.__name__, operands)


# The opcode table ---------------------------------------------------------------------------------


class CostClass(Enum):
    """The cost class that an instruction is counted in (Hall, Carr & Hart 2003, Section 5.2)."""

    ARITHMETIC = "arithmetic"
    LOOKUP = "lookup"
    KILL = "kill"


class OperandKind(Enum):
    """The kinds of operand. The values are the rules of the extension's grammar."""

    DESTINATION = "maskedDstReg"
    VECTOR = "vectorSrcReg"
    SCALAR = "scalarSrcReg"
    REGISTER = "srcReg"
    EXTENDED_SWIZZLE = "extendedSwizzle"
    TEXTURE_UNIT = "texImageUnit"
    TEXTURE_TARGET = "texTarget"


_DST, _VECTOR, _SCALAR, _REGISTER, _SWIZZLE, _UNIT, _TARGET = OperandKind

SOURCES = (_VECTOR, _SCALAR, _REGISTER)

# The operands of opcodes, by the instruction rules of the grammar.
VECTOR_OP = (_DST, _VECTOR)
SCALAR_OP = (_DST, _SCALAR)
BINARY_SCALAR_OP = (_DST, _SCALAR, _SCALAR)
BINARY_OP = (_DST, _VECTOR, _VECTOR)
TERNARY_OP = (_DST, _VECTOR, _VECTOR, _VECTOR)
SWIZZLE_OP = (_DST, _REGISTER, _SWIZZLE)
SAMPLE_OP = (_DST, _VECTOR, _UNIT, _TARGET)
KILL_OP = (_VECTOR,)


class Form(Enum):
    """How the result depends on the sources.

    COMPONENTWISE: component c of the result depends only on components c of the sources.
    SCALAR: the result is one value of scalar sources, replicated to all components.
    VECTOR: every component may depend on all (dot and cross products, DST, LIT, SCS).
    DERIVATIVE: componentwise, of the source at the fragments (0, 0), (1, 0) and (0, 1) of the quad.
    SAMPLE: the result is a texture lookup whose coordinate is the first source.
    KILL: there is no result; the fragment is discarded if a condition holds.
    FLOW: there is no result; IF, ELSE, ENDIF, REP, ENDREP and BRK say what is executed.
    """

    COMPONENTWISE = "componentwise"
    SCALAR = "scalar"
    VECTOR = "vector"
    DERIVATIVE = "derivative"
    SAMPLE = "sample"
    KILL = "kill"
    FLOW = "flow"


_COSTS = {Form.SAMPLE: CostClass.LOOKUP, Form.KILL: CostClass.KILL}

ARB = ""
"""The level of ARBfp1.0 itself, which needs no option."""

NV_OPTIONS = ("NV_fragment_program", "NV_fragment_program2")
"""The options that add opcodes; the second has those of the first, and branches."""


@frozen
class Undefined:
    """The sources for which the specification leaves an opcode's result undefined.

    holds: tells whether a fragment has such sources; it takes what `evaluate` takes. sources: their
    description.
    """

    holds: Callable[..., Any]
    sources: str


@frozen
class Opcode:
    """A row of the table.

    shape: its operands; none for FLOW, whose operands languages/arb/flow.py has.
    evaluate: defines what the opcode computes, in Python's operators and NumPy's ufuncs. For
    COMPONENTWISE and SCALAR it takes one value for each source and returns one; for VECTOR it takes
    four components for each source and returns four. For DERIVATIVE it takes the source's values at
    three fragments. For SAMPLE it turns the sources into the coordinates s, t, r and the LOD bias.
    With gives_lod, a tuple of the derivatives along x and y follows; if it is empty, the level of
    detail without the bias is 0. For KILL it returns the condition. A value is a float32 array, or
    any object with these operators, such as a Symbol.
    option: the language level that has the opcode, ARB or the first of NV_OPTIONS that does. Every
    row says it, so that no opcode enters ARBfp1.0, and its chips, by oversight.
    spec: the section of the extension. saturable: whether it may have `_SAT`. undefined: None if
    all sources have a result. gives_lod: whether the level of detail comes from a lookup's sources,
    and not from the quad.
    """

    mnemonic: str
    option: str
    shape: tuple[OperandKind, ...]
    form: Form
    evaluate: Callable[..., Any]
    spec: str
    saturable: bool = True
    undefined: Undefined | None = None
    gives_lod: bool = False

    @property
    def cost(self) -> CostClass:
        """The cost class, which follows from the form."""
        return _COSTS.get(self.form, CostClass.ARITHMETIC)


class _NumPy:
    """NumPy's functions; if an operand is a Symbol, the first Symbol's `operate` replaces them.

    With Symbols alone, NumPy is not imported.
    """

    def __getattr__(self, name: str) -> Any:
        def operate(*operands: Any) -> Any:
            for operand in operands:
                if isinstance(operand, Symbol):
                    return operand.operate(name, operands)
            import numpy

            return getattr(numpy, name)(*operands)

        return operate


np: Any = _NumPy()

_JUST_BELOW_1 = 1 - 2.0**-24
_JUST_BELOW_128 = 128 - 2.0**-17


def _f32(value: float) -> Any:
    """A float32 number; the number as it is while NumPy is not imported."""
    return np.float32(value) if "numpy" in sys.modules else value


def saturated(value: Any) -> Any:
    """Clamped to [0, 1], as by _SAT. NaN, which the specification leaves open, is 0 here."""
    if isinstance(value, Symbol):
        return value.operate("saturate", (value,))
    return np.fmin(np.fmax(value, _f32(0)), _f32(1))


_select = np.where
"""Condition ? a : b, for each fragment."""

RELATIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "EQ": lambda a, b, yes, no: _select(a >= b, _select(a <= b, yes, no), no),
    "GE": lambda a, b, yes, no: _select(a >= b, yes, no),
    "GT": lambda a, b, yes, no: _select(a > b, yes, no),
    "LE": lambda a, b, yes, no: _select(a <= b, yes, no),
    "LT": lambda a, b, yes, no: _select(a < b, yes, no),
    "NE": lambda a, b, yes, no: _select(a >= b, _select(a <= b, no, yes), yes),
}
"""The choices by a comparison of a with b. Only NE holds for NaN."""


def _dot2(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1]


def _dot3(a: Any, b: Any) -> Any:
    return _dot2(a, b) + a[2] * b[2]


def _lit(a: Any) -> Any:
    """The result of LIT. 0^0 is 1, as in the specification and np.power; a base of -0 is 0."""
    diffuse = _select(a[0] < 0, _f32(0), a[0])
    specular = np.absolute(_select(a[1] < 0, _f32(0), a[1]))
    most = _f32(_JUST_BELOW_128)
    low = _select(a[3] < -most, -most, a[3])
    exponent = _select(low > most, most, low)
    shine = _select(diffuse > 0, np.power(specular, exponent), _f32(0))
    return (_f32(1), diffuse, shine, _f32(1))


def _xpd(a: Any, b: Any) -> Any:
    """The cross product. Its w, which the specification leaves undefined, is 0."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
        _f32(0),
    )


# The shapes and forms that several opcodes have.
_UNARY = (VECTOR_OP, Form.COMPONENTWISE)
_BINARY = (BINARY_OP, Form.COMPONENTWISE)
_TERNARY = (TERNARY_OP, Form.COMPONENTWISE)
_OF_SCALAR = (SCALAR_OP, Form.SCALAR)
_OF_VECTORS = (BINARY_OP, Form.VECTOR)
_SAMPLE = (SAMPLE_OP, Form.SAMPLE)
_NV, _NV2 = NV_OPTIONS

# OpenGL 1.4, 2.1.1: "a division by zero produces an unspecified result".
_OF_ZERO = Undefined(lambda a: a == 0, "0")


def _set_on(option: str, relation: str, number: int) -> Opcode:
    """The row of an instruction that gives 1 where a relation holds, else 0.

    SFL and STR compare nothing: both of their results are the same.
    """
    yes, no = {"FL": (0, 0), "TR": (1, 1)}.get(relation, (1, 0))
    choose = RELATIONS.get(relation, RELATIONS["EQ"])
    return Opcode(
        f"S{relation}",
        option,
        *_BINARY,
        lambda a, b: choose(a, b, _f32(yes), _f32(no)),
        f"3.11.5.{number}",
    )


def _rfl(a: Any, b: Any) -> Any:
    """The reflected vector. No program that loads writes its w."""
    scale = _f32(2) * _dot3(a, b) / _dot3(a, a)
    return (*(scale * a[c] - b[c] for c in range(3)), _f32(0))


def _x2d(a: Any, b: Any, c: Any) -> Any:
    x, y = (a[n] + b[0] * c[2 * n] + b[1] * c[2 * n + 1] for n in range(2))
    return x, y, x, y


def _nrm(a: Any) -> Any:
    """The normalised vector. Its w, which the specification leaves undefined, is 0."""
    scale = _f32(1) / np.sqrt(_dot3(a, a))
    return a[0] * scale, a[1] * scale, a[2] * scale, _f32(0)


def _flow(mnemonic: str, number: int) -> Opcode:
    """The row of an instruction of branches and loops, which computes nothing."""
    return Opcode(mnemonic, _NV2, (), Form.FLOW, lambda: None, f"3.11.X.{number}", saturable=False)


_ROWS = (
    Opcode("ABS", ARB, *_UNARY, np.absolute, "3.11.5.1"),
    Opcode("ADD", ARB, *_BINARY, lambda a, b: a + b, "3.11.5.2"),
    Opcode("CMP", ARB, *_TERNARY, lambda a, b, c: _select(a < 0, b, c), "3.11.5.3"),
    Opcode("COS", ARB, *_OF_SCALAR, np.cos, "3.11.5.4"),
    Opcode("DP3", ARB, *_OF_VECTORS, lambda a, b: (_dot3(a, b),) * 4, "3.11.5.5"),
    Opcode("DP4", ARB, *_OF_VECTORS, lambda a, b: (_dot3(a, b) + a[3] * b[3],) * 4, "3.11.5.6"),
    Opcode("DPH", ARB, *_OF_VECTORS, lambda a, b: (_dot3(a, b) + b[3],) * 4, "3.11.5.7"),
    Opcode("DST", ARB, *_OF_VECTORS, lambda a, b: (_f32(1), a[1] * b[1], a[2], b[3]), "3.11.5.8"),
    Opcode("EX2", ARB, *_OF_SCALAR, np.exp2, "3.11.5.9"),
    Opcode("FLR", ARB, *_UNARY, np.floor, "3.11.5.10"),
    # The fraction of a tiny negative number would round to 1, but the range is [0, 1). (In a
    # narrower arithmetic than fp32 the result is rounded afterwards, and can become 1.)
    Opcode(
        "FRC", ARB, *_UNARY, lambda a: np.minimum(a - np.floor(a), _f32(_JUST_BELOW_1)), "3.11.5.11"
    ),
    Opcode(
        "KIL",
        ARB,
        KILL_OP,
        Form.KILL,
        lambda a: (a[0] < 0) | (a[1] < 0) | (a[2] < 0) | (a[3] < 0),
        "3.11.6.4",
        saturable=False,
    ),
    Opcode(
        "LG2",
        ARB,
        *_OF_SCALAR,
        np.log2,
        "3.11.5.12",
        undefined=Undefined(lambda a: a <= 0, "a number that is not positive"),
    ),
    Opcode("LIT", ARB, VECTOR_OP, Form.VECTOR, _lit, "3.11.5.13"),
    Opcode("LRP", ARB, *_TERNARY, lambda a, b, c: a * b + (_f32(1) - a) * c, "3.11.5.14"),
    Opcode("MAD", ARB, *_TERNARY, lambda a, b, c: a * b + c, "3.11.5.15"),
    Opcode("MAX", ARB, *_BINARY, lambda a, b: _select(a > b, a, b), "3.11.5.16"),
    Opcode("MIN", ARB, *_BINARY, lambda a, b: _select(a > b, b, a), "3.11.5.17"),
    Opcode("MOV", ARB, *_UNARY, lambda a: a, "3.11.5.18"),
    Opcode("MUL", ARB, *_BINARY, lambda a, b: a * b, "3.11.5.19"),
    # A power may be computed by LG2, whose result is undefined where the base is not positive. Here
    # a negative base gives NaN, as log2 does; -0 is 0. But 0 to a positive power is 0 everywhere.
    # Denormals, which many machines flush, count as 0.
    Opcode(
        "POW",
        ARB,
        BINARY_SCALAR_OP,
        Form.SCALAR,
        lambda a, b: _select(a < 0, _f32(nan), np.power(np.absolute(a), b)),
        "3.11.5.20",
        undefined=Undefined(
            lambda a, b: a < (b <= 0) * _f32(2.0**-126),
            "a negative base, or a base of 0 to a power of at most 0",
        ),
    ),
    Opcode("RCP", ARB, *_OF_SCALAR, lambda a: _f32(1) / a, "3.11.5.21", undefined=_OF_ZERO),
    Opcode(
        "RSQ",
        ARB,
        *_OF_SCALAR,
        lambda a: _f32(1) / np.sqrt(np.absolute(a)),
        "3.11.5.22",
        undefined=_OF_ZERO,
    ),
    # The specification leaves z and w undefined; here they are 0.
    Opcode(
        "SCS",
        ARB,
        SCALAR_OP,
        Form.VECTOR,
        lambda a: (np.cos(a[0]), np.sin(a[0]), _f32(0), _f32(0)),
        "3.11.5.23",
        undefined=Undefined(lambda a: np.absolute(a[0]) > _f32(pi), "an angle outside of [-π, π]"),
    ),
    _set_on(ARB, "GE", 24),
    Opcode("SIN", ARB, *_OF_SCALAR, np.sin, "3.11.5.25"),
    _set_on(ARB, "LT", 26),
    Opcode("SUB", ARB, *_BINARY, lambda a, b: a - b, "3.11.5.27"),
    Opcode("SWZ", ARB, SWIZZLE_OP, Form.COMPONENTWISE, lambda a: a, "3.11.5.28"),
    Opcode("TEX", ARB, *_SAMPLE, lambda a: (a[0], a[1], a[2], _f32(0)), "3.11.6.1"),
    Opcode("TXB", ARB, *_SAMPLE, lambda a: a, "3.11.6.3"),
    Opcode(
        "TXP",
        ARB,
        *_SAMPLE,
        lambda a: (a[0] / a[3], a[1] / a[3], a[2] / a[3], _f32(0)),
        "3.11.6.2",
        undefined=Undefined(lambda a: a[3] <= 0, "a w that is not positive"),
    ),
    Opcode("XPD", ARB, *_OF_VECTORS, _xpd, "3.11.5.29"),
    Opcode(
        "DDX",
        _NV,
        VECTOR_OP,
        Form.DERIVATIVE,
        lambda a, right, up: right - a,
        "3.11.5.30",
    ),
    Opcode(
        "DDY",
        _NV,
        VECTOR_OP,
        Form.DERIVATIVE,
        lambda a, right, up: up - a,
        "3.11.5.31",
    ),
    Opcode(
        "RFL",
        _NV,
        *_OF_VECTORS,
        _rfl,
        "3.11.5.36",
        undefined=Undefined(lambda a, b: _dot3(a, a) == 0, "an axis of length 0"),
    ),
    *map(partial(_set_on, _NV), ("EQ", "FL", "GT", "LE", "NE", "TR"), range(37, 43)),
    Opcode("X2D", _NV, TERNARY_OP, Form.VECTOR, _x2d, "3.11.5.47"),
    Opcode(
        "DIV",
        _NV2,
        (_DST, _VECTOR, _SCALAR),
        Form.COMPONENTWISE,
        lambda a, b: a / b,
        "3.11.5.48",
        undefined=Undefined(lambda a, b: b == 0, "0"),
    ),
    Opcode("DP2", _NV2, *_OF_VECTORS, lambda a, b: (_dot2(a, b),) * 4, "3.11.5.49"),
    Opcode(
        "DP2A",
        _NV2,
        TERNARY_OP,
        Form.VECTOR,
        lambda a, b, c: (_dot2(a, b) + c[0],) * 4,
        "3.11.5.50",
    ),
    Opcode(
        "NRM",
        _NV2,
        VECTOR_OP,
        Form.VECTOR,
        _nrm,
        "3.11.5.51",
        undefined=Undefined(lambda a: _dot3(a, a) == 0, "a vector of length 0"),
    ),
    Opcode(
        "TXD",
        _NV,
        (_DST, _VECTOR, _VECTOR, _VECTOR, _UNIT, _TARGET),
        Form.SAMPLE,
        lambda a, x, y: (a[0], a[1], a[2], _f32(0), (x, y)),
        "3.11.6.5",
        gives_lod=True,
    ),
    Opcode("TXL", _NV2, *_SAMPLE, lambda a: (*a, ()), "3.11.6.6", gives_lod=True),
    _flow("BRK", 1),
    *map(_flow, ["ELSE", "ENDIF", "ENDLOOP", "ENDREP", "IF", "LOOP", "REP"], range(3, 10)),
)

OPCODES = {row.mnemonic: row for row in _ROWS}
"""All opcodes by mnemonic, in the order of the specifications."""

ARBFP = {row.mnemonic: row for row in _ROWS if row.option == ARB}
"""The opcodes of ARBfp1.0 without options."""
