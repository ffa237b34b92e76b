"""A compute kernel as frozen data: typed expressions, structured statements, one entry point.

The names are GLSL's. Every expression knows its type, and GLSL's implicit conversions are explicit,
as Convert. There are no pointers, function calls or jumps; control flow is `for` and `if`.

Every node lists its `children`, in the order of the text, and `map`s them: it returns itself with
its expressions changed. `walk` and `rebuild` use these two, and all analyses use them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import count
from math import prod
from typing import Any, Self, overload

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.frozen import frozen


class Type(Enum):
    """The types of the subset. The values are GLSL's names."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    DOUBLE = "double"
    VEC4 = "vec4"

    @property
    def is_integer(self) -> bool:
        """Whether the type is int or uint."""
        return self in (Type.INT, Type.UINT)


RANGES = {Type.INT: (-(2**31), 2**31 - 1), Type.UINT: (0, 2**32 - 1)}
"""The least and the greatest integer of a type."""


class Space(Enum):
    """The memory that an array is in: a storage buffer, or shared memory of a work group."""

    BUFFER = "buffer"
    SHARED = "shared"


# Expressions ---------------------------------------------------------------------------------


class _Node:
    """A node of the tree. Its fields hold its child nodes, in the order of the text."""

    __slots__: tuple[str, ...] = ()

    @property
    def children(self) -> tuple[Any, ...]:
        """Its child nodes."""
        found: list[Any] = []
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, _Node):
                found.append(value)
            elif type(value) is tuple:
                found += value
        return tuple(found)

    def map(self, change: Change) -> Self:
        """The node with its expressions changed, those of nested statements included."""

        def changed(value: Any) -> Any:
            if type(value) is tuple:
                return tuple([changed(part) for part in value])
            if isinstance(value, Statement):
                return value.map(change)
            return change(value) if isinstance(value, Expression) else value

        return type(self)(*[changed(getattr(self, name)) for name in self.__slots__])


@frozen
class Literal(_Node):
    """A number, or true or false."""

    type: Type
    value: int | float | bool


@frozen
class Variable(_Node):
    """A private variable. Its name is unique in the kernel; the parser renames shadowed ones."""

    type: Type
    name: str


@frozen
class Uniform(_Node):
    """A uniform, which has the same value in all invocations."""

    type: Type
    name: str


class BuiltIn(Enum):
    """The built-in variables that differ between invocations; each is a vector of three uints."""

    WORK_GROUP_ID = "gl_WorkGroupID"
    LOCAL_INVOCATION_ID = "gl_LocalInvocationID"
    GLOBAL_INVOCATION_ID = "gl_GlobalInvocationID"


@frozen
class BuiltInComponent(_Node):
    """A component of a built-in vector. axis: 0 for x, 1 for y, 2 for z."""

    built_in: BuiltIn
    axis: int
    type: Type = Type.UINT


@frozen
class Element(_Node):
    """An element of a storage buffer (one index) or of a shared array (one per dimension).

    line: in the kernel's text. number: of the access, once `numbered` has numbered them.
    is_inside: a proof for one dispatch shows that the element is inside the array.
    """

    type: Type
    space: Space
    array: str
    indices: tuple[Expression, ...]
    line: int = field(default=0, compare=False, repr=False)
    number: int = field(default=0, repr=False)
    is_inside: bool = field(default=False, repr=False)


@frozen
class Component(_Node):
    """A component of a vec4. index: 0 to 3."""

    vector: Expression
    index: int
    type: Type = Type.FLOAT


@frozen
class Unary(_Node):
    """A unary operator, `-x` or `!x`."""

    type: Type
    operator: str
    operand: Expression


@frozen
class Binary(_Node):
    """A binary operator. Both operands have the same type; so has the result, or it is a bool."""

    type: Type
    operator: str
    left: Expression
    right: Expression


@frozen
class Select(_Node):
    """`condition ? chosen : other`. Only the selected operand is evaluated."""

    type: Type
    condition: Expression
    chosen: Expression
    other: Expression


@frozen
class Convert(_Node):
    """A conversion between scalar types."""

    type: Type
    operand: Expression


@frozen
class Vector(_Node):
    """The vec4 of four floats."""

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
"""What can be assigned to."""

Change = Callable[[Expression], Expression]
"""Maps an expression to another. The target of an assignment must remain an LValue."""


# Statements ----------------------------------------------------------------------------------


@frozen
class Declare(_Node):
    """Declares a private variable. Without a value it is undefined."""

    variable: Variable
    value: Expression | None


@frozen
class Assign(_Node):
    """Assigns a value. The parser expands compound assignments such as `+=`."""

    target: LValue
    value: Expression


@frozen
class If(_Node):
    """`if (condition) then else otherwise`."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@frozen
class For(_Node):
    """`for (start; condition; step) body`."""

    start: tuple[Statement, ...]
    condition: Expression
    step: tuple[Statement, ...]
    body: tuple[Statement, ...]


@frozen
class Barrier(_Node):
    """`barrier()`: every invocation of a work group waits here for all the others."""


Statement = Declare | Assign | If | For | Barrier
Node = Expression | Statement


# Walks ---------------------------------------------------------------------------------------


@overload
def walk(*nodes: Expression) -> Iterator[Expression]: ...
@overload
def walk(*nodes: Node) -> Iterator[Node]: ...
def walk(*nodes: Node) -> Iterator[Node]:
    """The nodes with all their descendants, outer ones first, in the order of the text."""
    waiting = [*reversed(nodes)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


@overload
def rebuild(node: Expression, change: Change) -> Expression: ...
@overload
def rebuild(node: Statement, change: Change) -> Statement: ...
def rebuild(node: Node, change: Change) -> Node:
    """The node with every expression in it changed, outer ones first, in the order of the text."""

    def rebuilt(expression: Expression) -> Expression:
        return change(expression).map(rebuilt)

    return node.map(rebuilt) if isinstance(node, Statement) else rebuilt(node)


def assigned(node: Node) -> Variable | None:
    """The private variable that a statement declares or assigns, also in part; None if none."""
    match node:
        case Declare(variable=variable):
            return variable
        case Assign(target=Variable() as variable):
            return variable
        case Assign(target=Component(vector=Variable() as variable)):
            return variable
    return None


def assigned_names(*statements: Statement) -> set[str]:
    """The private variables that statements declare or assign, nested ones included."""
    variables = (assigned(node) for node in walk(*statements))
    return {variable.name for variable in variables if variable is not None}


def variable_names(*nodes: Node) -> set[str]:
    """The private variables that occur in nodes."""
    return {node.name for node in walk(*nodes) if isinstance(node, Variable)}


def has_barrier(*statements: Statement) -> bool:
    """Whether statements contain a barrier, nested ones included."""
    return any(isinstance(node, Barrier) for node in walk(*statements))


# The kernel ----------------------------------------------------------------------------------


@frozen
class StorageBuffer:
    """A storage buffer: an array of float in global memory, at a binding point.

    is_read, is_written: whether its access qualifier allows loads, and stores.
    """

    name: str
    binding: int
    is_read: bool = True
    is_written: bool = True


@frozen
class SharedArray:
    """An array in the shared memory of a work group. extents: its length along each dimension."""

    name: str
    type: Type
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """A compute kernel.

    local_size: the invocations of a work group, along x and y. text: the source for drivers. name:
    of the kernel in messages, usually a file's path. Text and name do not take part in equality:
    two kernels are equal if they compute the same in the same way.
    """

    local_size: tuple[int, int]
    uniforms: tuple[Uniform, ...]
    buffers: tuple[StorageBuffer, ...]
    shared: tuple[SharedArray, ...]
    body: tuple[Statement, ...]
    text: str = field(default="", compare=False, repr=False)
    name: str = field(default="", compare=False)

    def __hash__(self) -> int:
        """A hash of the compared fields, computed once: kernels are keys of many caches."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.local_size, self.uniforms, self.buffers, self.shared, self.body))

    @property
    def threads(self) -> int:
        """The invocations of one work group."""
        return self.local_size[0] * self.local_size[1]


# Accesses ----------------------------------------------------------------------------------------


def numbered(kernel: Kernel) -> Kernel:
    """The kernel with its loads and stores numbered, in the same way in equal kernels."""
    numbers = count(1)
    return _with_accesses(kernel, lambda element: replace(element, number=next(numbers)))


def with_inside(kernel: Kernel, unproven: Collection[int]) -> Kernel:
    """A numbered kernel with all loads and stores marked as inside, except those numbers."""

    def marked(element: Element) -> Element:
        return replace(element, is_inside=element.number not in unproven)

    return _with_accesses(kernel, marked)


def _with_accesses(kernel: Kernel, change: Callable[[Element], Element]) -> Kernel:
    """The kernel with each of its loads and stores changed."""

    def changed(expression: Expression) -> Expression:
        return change(expression) if isinstance(expression, Element) else expression

    return replace(kernel, body=tuple([rebuild(s, changed) for s in kernel.body]))


def outside(kernel: Kernel, lengths: Mapping[str, int], number: int, index: int) -> PlanError:
    """The error for the access of that number. lengths: elements of the buffers, by name."""
    element = element_of(numbered(kernel), number)
    extents = {array.name: prod(array.extents) for array in kernel.shared}
    return outside_error(kernel, element, index, {**lengths, **extents}[element.array])


def outside_error(kernel: Kernel, element: Element, index: int, length: int) -> PlanError:
    """The error for an access outside an array of that length, from whichever machine finds it."""
    line = f":{element.line}" if element.line else ""
    return PlanError(
        f"{kernel.name}{line}: an invocation reaches outside of {element.array}, which has "
        f"{length} elements: its index is {index}; check the uniforms, the work groups and the "
        "guards"
    )


def element_of(kernel: Kernel, number: int) -> Element:
    """The load or store of that number in a numbered kernel."""
    accesses = (node for node in walk(*kernel.body) if isinstance(node, Element))
    return next(access for access in accesses if access.number == number)
