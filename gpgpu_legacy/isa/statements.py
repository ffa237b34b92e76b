"""The IR's statements: structured control flow, between front ends and emitters.

Executing a fragment program on Expressions (lower/lowering.py) gives Statements, and so does
reading a kernel (languages/glsl/). Analyses read them and emitters (lower/emit/) spell them;
neither reads generated text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Composite,
    Constant,
    Element,
    Expression,
    Joined,
    Operation,
    Read,
    Variable,
)
from gpgpu_legacy.isa.program import Instruction
from gpgpu_legacy.isa.types import Axes, Components, Operator, Type


def multiply_add(value: Expression) -> tuple[Expression, Expression, Expression] | None:
    """The factors and the addend of a multiply-add that may be rounded once; None for others.

    A sum of two products is not one: it is undefined which product would be rounded by itself.
    """
    if not _contracts(value, Operator.ADD):
        return None
    product, addend = value.operands
    if not _contracts(product, Operator.MULTIPLY) or _contracts(addend, Operator.MULTIPLY):
        return None
    a, b = product.operands
    return a, b, addend


def _contracts(value: Expression, operator: Operator) -> bool:
    return isinstance(value, Operation) and value.operator is operator and value.contracts


def uncontracted(value: Expression, *operands: Expression) -> Expression:
    """The expression with every operation rounded by itself, except those within `operands`."""

    def apart(part: Expression) -> Expression:
        if isinstance(part, Operation) and part.contracts:
            return replace(part, contracts=False)
        return part

    return rebuilt(value, apart, operands)


def rebuilt(
    value: Expression,
    change: Callable[[Expression], Expression],
    kept: Iterable[Expression] = (),
) -> Expression:
    """The expression with each part changed, inner ones first, except those in `kept`."""
    done = {id(part): part for part in kept}

    def again(part: Expression) -> Expression:
        if id(part) not in done:
            whole = part
            if isinstance(part, Composite):
                new = tuple(map(again, part.operands))
                if any(a is not b for a, b in zip(new, part.operands, strict=True)):
                    whole = part.with_operands(new)
            done[id(part)] = change(whole)
        return done[id(part)]

    return again(value)


def walk(value: Expression) -> Iterator[Expression]:
    """An expression and all its subexpressions."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.operands


@frozen
class Assign:
    """Assigns to components of a variable: a number for each, or one for all.

    instruction: the program's instruction that computes it.
    """

    variable: Variable
    components: Components
    value: Expression
    instruction: Instruction | None = None


@frozen
class Declare:
    """Declares a variable of the block, with its value; without one, it is undefined."""

    variable: Variable
    value: Expression | None = None


@frozen
class Store:
    """Assigns to an element of an array."""

    element: Element
    value: Expression


@frozen
class Discard:
    """Discards the fragment if a condition holds."""

    condition: Expression
    instruction: Instruction | None = None


@frozen
class Dead:
    """A dead instruction, kept as a comment for readers of the code."""

    instruction: Instruction


@frozen
class If:
    """Statements that are executed if a condition holds, and others if it does not."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@frozen
class For:
    """A loop. number: its variable, which counts from `first` to below `last` in steps of `step`.

    carried: the components that a trip reads from the trip before, each with its axes at the
    beginning of any trip.
    """

    number: Variable
    first: Expression
    last: Expression
    body: tuple[Statement, ...]
    step: int = 1
    carried: tuple[tuple[Variable, int, Axes], ...] = ()


@frozen
class Break:
    """Ends the innermost loop."""


@frozen
class Loop:
    """`for (start; condition; step) body`: the body is repeated as long as the condition holds."""

    start: tuple[Statement, ...]
    condition: Expression
    step: tuple[Statement, ...]
    body: tuple[Statement, ...]


@frozen
class Invocations:
    """A loop over the invocations of a work group: along x, or over its rows (`axis` 0, 1)."""

    axis: int
    body: tuple[Statement, ...]


@frozen
class Barrier:
    """All invocations of a work group wait for one another, and see each other's stores."""


@frozen
class Return:
    """Ends the invocation."""


Statement = (
    Assign | Declare | Store | Discard | Dead | If | For | Break | Loop | Invocations
    | Barrier | Return
)  # fmt: skip


class Collector:
    """Collects statements, in blocks."""

    statements: list[Statement]

    def inside(self, build: Callable[[], None]) -> tuple[Statement, ...]:
        """The statements that `build` adds, for a block of their own."""
        outer, self.statements = self.statements, []
        build()
        inner, self.statements = tuple(self.statements), outer
        return inner


# Functions -----------------------------------------------------------------------------------


@frozen
class Function:
    """A function of numbers. It assigns only its own variables."""

    name: str
    parameters: tuple[Variable, ...]
    body: tuple[Statement, ...]
    result: Expression


@frozen
class Call(Joined):
    """The result of a function for arguments, its operands."""

    function: Function

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The type of the result."""
        return self.function.result.type


def computes(value: Expression) -> bool:
    """Whether an expression computes, rather than only reads, loads or joins numbers."""
    return any(isinstance(part, Operation | Call) for part in walk(value))


# Walks ---------------------------------------------------------------------------------------


def trip_count(loop: For) -> int:
    """The number of trips of a loop that counts from 0 to a number."""
    assert isinstance(loop.last, Constant)
    return int(loop.last.values[0])


def statements_below(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, and those nested in them."""
    for statement in statements:
        yield statement
        yield from statements_below(nested(statement))


def nested(statement: Statement) -> tuple[Statement, ...]:
    """The statements that stand directly in one."""
    match statement:
        case If(then=then, otherwise=otherwise):
            return (*then, *otherwise)
        case Loop(start=start, body=body, step=step):
            return (*start, *body, *step)
        case For(body=body) | Invocations(body=body):
            return body
    return ()


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions that stand directly in a statement."""
    parts = (getattr(statement, name) for name in statement.__match_args__)
    return tuple([part for part in parts if isinstance(part, Expression)])


def all_expressions(statements: Iterable[Statement]) -> Iterator[Expression]:
    """Every expression in statements, including nested statements and subexpressions."""
    for statement in statements_below(statements):
        for value in expressions_of(statement):
            yield from walk(value)


def read_first(statements: Iterable[Statement]) -> dict[tuple[Variable, int], None]:
    """The components of variables that statements read before they write them, in that order.

    Every loop is taken to have at least one trip.
    """
    written: set[tuple[Variable, int]] = set()
    early: dict[tuple[Variable, int], None] = {}
    for statement in statements_below(statements):
        for value in (part for whole in expressions_of(statement) for part in walk(whole)):
            if isinstance(value, Read):
                places = ((value.variable, c) for c in value.components)
                early.update((place, None) for place in places if place not in written)
        if isinstance(statement, Assign):
            written |= {(statement.variable, c) for c in statement.components}
    return early


def with_expressions(statement: Statement, change: Callable[[Expression], Expression]) -> Statement:
    """The statement with each part of its expressions changed, those nested in it included.

    The element that a Store assigns to must remain one.
    """

    def changed(value: Any) -> Any:
        if type(value) is tuple:
            return tuple([changed(part) for part in value])
        if isinstance(value, Statement):
            return with_expressions(value, change)
        return rebuilt(value, change) if isinstance(value, Expression) else value

    return type(statement)(*[changed(getattr(statement, n)) for n in statement.__match_args__])
