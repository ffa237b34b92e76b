"""A compute kernel as frozen data: typed expressions, structured statements, one entry point.

The names are GLSL's. Every expression carries its type, and GLSL's implicit conversions stand there
as Convert. There are no pointers, no calls and no jumps: control flow is `for` and `if`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property


class Type(Enum):
    """The types of the subset, by GLSL's names."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    DOUBLE = "double"
    VEC4 = "vec4"

    @property
    def is_integer(self) -> bool:
        """Whether it is int or uint."""
        return self in (Type.INT, Type.UINT)


class Space(Enum):
    """Where an array lies."""

    BUFFER = "buffer"
    SHARED = "shared"


# Expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a truth value of the text."""

    type: Type
    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Variable:
    """A private variable; `name` is unique in the kernel, whatever scopes the text has."""

    type: Type
    name: str


@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform variable, the same in all invocations."""

    type: Type
    name: str


class BuiltIn(Enum):
    """The built-in vectors of a compute invocation."""

    WORK_GROUP_ID = "gl_WorkGroupID"
    LOCAL_INVOCATION_ID = "gl_LocalInvocationID"
    GLOBAL_INVOCATION_ID = "gl_GlobalInvocationID"


@dataclass(frozen=True, slots=True)
class BuiltInComponent:
    """One component (0 x, 1 y, 2 z) of a built-in vector."""

    built_in: BuiltIn
    axis: int
    type: Type = Type.UINT


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a storage buffer (one index) or of a shared array (one a dimension)."""

    type: Type
    space: Space
    array: str
    indices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a vec4."""

    vector: Expression
    index: int
    type: Type = Type.FLOAT


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `!x`."""

    type: Type
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands of one type, save that a comparison gives a bool."""

    type: Type
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Select:
    """`condition ? chosen : other`; only the one that is chosen is evaluated."""

    type: Type
    condition: Expression
    chosen: Expression
    other: Expression


@dataclass(frozen=True, slots=True)
class Convert:
    """A conversion between scalar types, written or implicit."""

    type: Type
    operand: Expression


@dataclass(frozen=True, slots=True)
class Vector:
    """A vec4 from four floats."""

    parts: tuple[Expression, Expression, Expression, Expression]
    type: Type = Type.VEC4


Expression = (
    Literal
    | Variable
    | Uniform
    | BuiltInComponent
    | Element
    | Component
    | Unary
    | Binary
    | Select
    | Convert
    | Vector
)
LValue = Variable | Element | Component


# Statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declare:
    """A private variable comes to be; undefined where it has no initial value."""

    variable: Variable
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Assign:
    """A value is stored. Compound assignments are written out."""

    target: LValue
    value: Expression


@dataclass(frozen=True, slots=True)
class If:
    """`if (condition) then else otherwise`."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class For:
    """`for (start; condition; step) body`."""

    start: tuple[Statement, ...]
    condition: Expression
    step: tuple[Statement, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """`barrier()`: all invocations of a work group come this far before one goes on."""


Statement = Declare | Assign | If | For | Barrier


# The kernel ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StorageBuffer:
    """An array of float in global memory, by its name in the kernel and its binding point.

    is_read, is_written: as far as its access qualifier lets the kernel.
    """

    name: str
    binding: int
    is_read: bool = True
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An array in a work group's shared memory."""

    name: str
    type: Type
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """A compute kernel.

    local_size: invocations of a work group along x and y. text: the source, as drivers get it;
    name: where it came from. Neither takes part in equality: two kernels are equal when they do
    the same.
    """

    local_size: tuple[int, int]
    uniforms: tuple[Uniform, ...]
    buffers: tuple[StorageBuffer, ...]
    shared: tuple[SharedArray, ...]
    body: tuple[Statement, ...]
    text: str = field(default="", compare=False, repr=False)
    name: str = field(default="", compare=False)

    def __hash__(self) -> int:
        """Of what equality compares; computed once, for kernels are keys of many tables."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.local_size, self.uniforms, self.buffers, self.shared, self.body))

    @property
    def threads(self) -> int:
        """Invocations of one work group."""
        return self.local_size[0] * self.local_size[1]

    @property
    def has_barrier(self) -> bool:
        """Whether the invocations of a work group wait for one another anywhere."""
        return has_barrier(self.body)


def has_barrier(statements: tuple[Statement, ...]) -> bool:
    """Whether a barrier stands among the statements or inside one."""
    for statement in statements:
        if isinstance(statement, Barrier):
            return True
        inner: tuple[Statement, ...] = ()
        if isinstance(statement, If):
            inner = statement.then + statement.otherwise
        elif isinstance(statement, For):
            inner = statement.body
        if has_barrier(inner):
            return True
    return False
