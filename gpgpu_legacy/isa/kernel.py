"""A compute kernel: statements of the IR with one entry point, and the arrays that it uses.

The names are GLSL's, and GLSL's implicit conversions are explicit. There are no pointers, function
calls or jumps; control flow is Loop, If and Choice. Each variable's name is unique in the kernel:
the reader renames shadowed ones. Functions below find the variables, uniforms and data that control
flow depends on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, count
from math import prod

from gpgpu_legacy.decorators import frozen, hashed_once
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.expressions import (
    Array,
    Choice,
    Element,
    Expression,
    Operation,
    Read,
    Role,
    Variable,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Barrier,
    Declare,
    If,
    Loop,
    Statement,
    all_expressions,
    statements_below,
    walk,
    with_expressions,
)
from gpgpu_legacy.isa.types import EVERYWHERE, FLOAT, Kind, Operator, Type

RANGES = {Kind.INT: (-(2**31), 2**31 - 1), Kind.UINT: (0, 2**32 - 1)}
"""The least and the greatest integer of a kind."""

Node = Expression | Statement


def applied(operator: Operator, *operands: Expression, type_: Type | None = None) -> Operation:
    """An operation as it is written: nothing is folded. type_: by default the first operand's."""
    return Operation(operands, operator, type_ or operands[0].type, EVERYWHERE)


def parts(*nodes: Node) -> Iterator[Expression]:
    """All expressions in expressions and statements, nested ones included."""
    for node in nodes:
        yield from walk(node) if isinstance(node, Expression) else all_expressions((node,))


def assigned(statement: Statement) -> Variable | None:
    """The variable that a statement declares or assigns, even in part; None for others."""
    return statement.variable if isinstance(statement, Declare | Assign) else None


def assigned_names(*statements: Statement) -> set[str]:
    """The names of variables that statements declare or assign, nested ones included."""
    variables = map(assigned, statements_below(statements))
    return {variable.name for variable in variables if variable is not None}


def variable_names(*nodes: Node) -> set[str]:
    """The names of the private variables that occur in nodes."""
    statements = [node for node in nodes if not isinstance(node, Expression)]
    return assigned_names(*statements) | {
        part.variable.name
        for part in parts(*nodes)
        if isinstance(part, Read) and part.variable.role is Role.LOCAL
    }


def has_barrier(*statements: Statement) -> bool:
    """Whether statements contain a barrier, nested ones included."""
    return any(isinstance(statement, Barrier) for statement in statements_below(statements))


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

    @property
    def array(self) -> Array:
        """The buffer as the Array of its accesses."""
        return Array(self.name, FLOAT)


@hashed_once
@dataclass(frozen=True)
class Kernel:
    """A compute kernel.

    local_size: the invocations of a work group, along x and y. shared: the arrays that a work group
    shares. text: the source for drivers. name: of the kernel in messages, usually a file's path.
    Text and name do not take part in equality: two kernels are equal if they compute the same in
    the same way.
    """

    local_size: tuple[int, int]
    uniforms: tuple[Variable, ...]
    buffers: tuple[StorageBuffer, ...]
    shared: tuple[Array, ...]
    body: tuple[Statement, ...]
    text: str = field(default="", compare=False, repr=False)
    name: str = field(default="", compare=False)

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
    """A numbered kernel with all loads and stores marked as inside, except the unproven numbers."""

    def marked(element: Element) -> Element:
        return replace(element, is_inside=element.number not in unproven)

    return _with_accesses(kernel, marked)


def _with_accesses(kernel: Kernel, change: Callable[[Element], Element]) -> Kernel:
    """The kernel with each of its loads and stores changed."""

    def changed(expression: Expression) -> Expression:
        return change(expression) if isinstance(expression, Element) else expression

    return replace(kernel, body=tuple([with_expressions(s, changed) for s in kernel.body]))


def outside(kernel: Kernel, lengths: Mapping[str, int], number: int, index: int) -> PlanError:
    """The error for the access of that number. lengths: the elements of each buffer, by name."""
    accesses = (part for part in parts(*numbered(kernel).body) if isinstance(part, Element))
    element = next(access for access in accesses if access.number == number)
    array = element.array
    length = prod(array.extents) if array.is_shared else lengths[array.name]
    return outside_error(kernel, element, index, length)


def outside_error(kernel: Kernel, element: Element, index: int, length: int) -> PlanError:
    """The error for an access outside an array of that length, on every machine."""
    line = f":{element.line}" if element.line else ""
    return PlanError(
        f"{kernel.name}{line}: an invocation reaches outside of {element.array.name}, which has "
        f"{length} elements: its index is {index}; check the uniforms, the work groups and the "
        "guards"
    )


def check_data_independent(kernel: Kernel) -> None:
    """Raise PlanError if control flow or addresses of a kernel depend on loaded data."""
    for part in _behind_control(kernel, indices=True):
        if isinstance(part, Element):
            raise PlanError(
                f"{kernel.name}: a condition or an index depends on {part.array.name}; only "
                "kernels whose control flow and addresses do not depend on data can be counted"
            )


def control_variables(body: tuple[Statement, ...]) -> frozenset[str]:
    """The names of the variables that conditions and indices depend on, directly or indirectly."""
    return frozenset(_behind(_controlling(body), body))


@cache
def control_uniforms(kernel: Kernel, *, indices: bool) -> frozenset[str]:
    """The names of the uniforms that conditions, and with `indices` also indices, depend on."""
    behind = _behind_control(kernel, indices=indices)
    reads = (part.variable for part in behind if isinstance(part, Read))
    return frozenset(variable.name for variable in reads if variable.role is Role.UNIFORM)


def _behind_control(kernel: Kernel, *, indices: bool) -> Iterator[Expression]:
    """All expressions from which conditions, and with `indices` also indices, are computed."""
    controlling = (_controlling if indices else _conditions)(kernel.body)
    return parts(*controlling, *chain(*_behind(controlling, kernel.body).values()))


def _controlling(body: tuple[Statement, ...]) -> list[Expression]:
    """The conditions and indices in statements."""
    elements = (part for part in parts(*body) if isinstance(part, Element))
    return [*_conditions(body), *(index for element in elements for index in element.operands)]


def uniform_loops(kernel: Kernel) -> frozenset[int]:
    """The `id`s of the loops whose iterations execute the same operations on different data.

    The body of such a loop assigns no variable that outlives an iteration and that a condition of
    the kernel depends on, and no condition in the body depends on what the loop's step assigns.
    """
    control = _behind(_conditions(kernel.body), kernel.body)
    loops = (s for s in statements_below(kernel.body) if isinstance(s, Loop))
    return frozenset(id(loop) for loop in loops if _is_uniform(loop, control.keys()))


def _is_uniform(loop: Loop, control: Set[str]) -> bool:
    inside = statements_below(loop.body)
    declared = {s.variable.name for s in inside if isinstance(s, Declare)}
    if (assigned_names(*loop.body) - declared) & control:
        return False
    behind = _behind(_conditions(loop.body), loop.body)
    return behind.keys().isdisjoint(assigned_names(*loop.step))


def _behind(
    values: Iterable[Expression], body: tuple[Statement, ...]
) -> dict[str, list[Expression]]:
    """The variables that values depend on in the body, directly or indirectly.

    Each is mapped to all values assigned to it: names are unique in a kernel.
    """
    definitions = defaultdict[str, list[Expression]](list)
    for statement in statements_below(body):
        if isinstance(statement, Declare | Assign) and statement.value is not None:
            definitions[statement.variable.name].append(statement.value)
    reached = dict[str, list[Expression]]()
    waiting = variable_names(*values)
    while waiting:
        name = waiting.pop()
        reached[name] = definitions[name]
        waiting |= variable_names(*definitions[name]) - reached.keys()
    return reached


def _conditions(body: tuple[Statement, ...]) -> list[Expression]:
    """The conditions of statements, and of choices between operands whose evaluation counts."""
    choices = (part.operands for part in parts(*body) if isinstance(part, Choice))
    return [
        *(s.condition for s in statements_below(body) if isinstance(s, If | Loop)),
        *(condition for condition, *either in choices if any(map(_is_counted, either))),
    ]


def _is_counted(expression: Expression) -> bool:
    """Whether the evaluation of an expression counts, as an access or an operation."""
    return any(
        isinstance(part, Element)
        or (
            isinstance(part, Operation)
            and part.operator is not Operator.CONVERT
            and part.operands[0].type.is_floating
        )
        for part in walk(expression)
    )
