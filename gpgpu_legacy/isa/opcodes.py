"""THE opcode table: one row an opcode, with everything that the package knows of it.

The assembler reads the operand shape, the NumPy machine and the affine analysis read `evaluate`,
the GLSL printers read `glsl`, the counter reads `cost`. Adding an opcode adds a row and touches
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Cost(Enum):
    """The class under which an executed instruction is counted (Hall, Carr & Hart, 5.2)."""

    ARITHMETIC = "arithmetic"
    LOOKUP = "lookup"
    KILL = "kill"


class Operand(Enum):
    """The kinds of operand that the spec's grammar distinguishes."""

    DESTINATION = "maskedDstReg"
    VECTOR = "vectorSrcReg"
    SCALAR = "scalarSrcReg"
    REGISTER = "srcReg"
    EXTENDED_SWIZZLE = "extendedSwizzle"
    TEXTURE_UNIT = "texImageUnit"
    TEXTURE_TARGET = "texTarget"


class Shape(Enum):
    """The operand list of an opcode; one shape for each instruction rule of the spec's grammar."""

    VECTOR_OP = (Operand.DESTINATION, Operand.VECTOR)
    SCALAR_OP = (Operand.DESTINATION, Operand.SCALAR)
    BINARY_SCALAR_OP = (Operand.DESTINATION, Operand.SCALAR, Operand.SCALAR)
    BINARY_OP = (Operand.DESTINATION, Operand.VECTOR, Operand.VECTOR)
    TERNARY_OP = (Operand.DESTINATION, Operand.VECTOR, Operand.VECTOR, Operand.VECTOR)
    SWIZZLE_OP = (Operand.DESTINATION, Operand.REGISTER, Operand.EXTENDED_SWIZZLE)
    SAMPLE_OP = (
        Operand.DESTINATION,
        Operand.VECTOR,
        Operand.TEXTURE_UNIT,
        Operand.TEXTURE_TARGET,
    )
    KILL_OP = (Operand.VECTOR,)


class Form(Enum):
    """How the sources make the result.

    COMPONENTWISE: component c of the result from the components c of the sources alone.
    VECTOR: four components from four components (dot products, cross product, DST, LIT).
    SAMPLE: a texture lookup at the coordinate that the first source gives.
    """

    COMPONENTWISE = "componentwise"
    VECTOR = "vector"
    SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row. `evaluate` is the definition of the opcode's meaning, written with operators.

    For COMPONENTWISE it takes one value a source and returns one; for VECTOR it takes a 4-tuple a
    source and returns a 4-tuple; a SAMPLE opcode has none, the sampler is its meaning. A value is
    a float32 array, or whatever else has the operators (the affine analysis passes forms).
    `glsl` is an expression over the fetched sources {0}, {1}, {2}; for SAMPLE, {0} is the
    coordinate. `glsl_contracted` is the same rounded once, where GLSL has such a thing.
    """

    mnemonic: str
    shape: Shape
    form: Form
    cost: Cost
    evaluate: Callable[..., Any] | None
    glsl: str
    spec: str
    glsl_contracted: str = ""
    saturable: bool = True


_ROWS = (
    Opcode(
        "MOV", Shape.VECTOR_OP, Form.COMPONENTWISE, Cost.ARITHMETIC,
        lambda a: a, "{0}", "3.11.5.18",
    ),
    Opcode(
        "ADD", Shape.BINARY_OP, Form.COMPONENTWISE, Cost.ARITHMETIC,
        lambda a, b: a + b, "{0} + {1}", "3.11.5.2",
    ),
    Opcode(
        "MUL", Shape.BINARY_OP, Form.COMPONENTWISE, Cost.ARITHMETIC,
        lambda a, b: a * b, "{0} * {1}", "3.11.5.19",
    ),
    Opcode(
        "MAD", Shape.TERNARY_OP, Form.COMPONENTWISE, Cost.ARITHMETIC,
        lambda a, b, c: a * b + c, "{0} * {1} + {2}", "3.11.5.15",
        glsl_contracted="fma({0}, {1}, {2})",
    ),
    Opcode(
        "DP4", Shape.BINARY_OP, Form.VECTOR, Cost.ARITHMETIC,
        lambda a, b: (((a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]) + a[3] * b[3],) * 4,
        "vec4({0}.x * {1}.x + {0}.y * {1}.y + {0}.z * {1}.z + {0}.w * {1}.w)", "3.11.5.6",
    ),
    Opcode(
        "TEX", Shape.SAMPLE_OP, Form.SAMPLE, Cost.LOOKUP,
        None, "{0}", "3.11.6.1",
    ),
)  # fmt: skip

OPCODES = {row.mnemonic: row for row in _ROWS}

# Every opcode of the extension is reserved, whether or not it has a row yet (spec, "Program
# Syntax": the list of reserved words).
RESERVED_OPCODES = frozenset(
    [
        "ABS", "ADD", "CMP", "COS", "DP3", "DP4", "DPH", "DST", "EX2", "FLR", "FRC", "KIL", "LG2",
        "LIT", "LRP", "MAD", "MAX", "MIN", "MOV", "MUL", "POW", "RCP", "RSQ", "SCS", "SGE", "SIN",
        "SLT", "SUB", "SWZ", "TEX", "TXB", "TXP", "XPD",
    ]
)  # fmt: skip
RESERVED_WORDS = (
    {"ALIAS", "ATTRIB", "END", "OPTION", "OUTPUT", "PARAM", "TEMP"}
    | {"fragment", "program", "result", "state", "texture"}
    | RESERVED_OPCODES
    | {f"{name}_SAT" for name in RESERVED_OPCODES - {"KIL"}}
)
