"""Dependences in a kernel: which variables, uniforms and data control flow depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import (
    Assign,
    Binary,
    Component,
    Declare,
    Element,
    Expression,
    For,
    If,
    Kernel,
    LValue,
    Select,
    Statement,
    Type,
    Unary,
    Uniform,
    Variable,
)
from gpgpu_legacy.kernel.limits import operands


def check_data_independent(kernel: Kernel) -> None:
    """Raise PlanError if control flow or addresses of a kernel depend on loaded data."""
    statements = tuple(_all_statements(kernel.body))
    definitions = _definitions(statements)
    controlling = _controlling(statements)
    names = _closure(_variables(controlling), definitions)
    controlling += [value for name in names for value in definitions.get(name, ())]
    for expression in controlling:
        for part in _parts(expression):
            if isinstance(part, Element):
                raise PlanError(
                    f"{kernel.name}: a condition or an index depends on {part.array}; only kernels "
                    f"whose control flow and addresses do not depend on data can be counted"
                )


def control_variables(body: tuple[Statement, ...]) -> frozenset[str]:
    """The names of the variables that conditions and indices depend on, directly or indirectly."""
    statements = tuple(_all_statements(body))
    return _closure(_variables(_controlling(statements)), _definitions(statements))


@cache
def control_uniforms(kernel: Kernel, *, indices: bool) -> frozenset[str]:
    """The names of the uniforms that conditions, and with `indices` also indices, depend on."""
    statements = tuple(_all_statements(kernel.body))
    definitions = _definitions(statements)
    controlling = _controlling(statements) if indices else _conditions(statements)
    names = _closure(_variables(controlling), definitions)
    controlling += [value for name in names for value in definitions.get(name, ())]
    parts = chain.from_iterable(map(_parts, controlling))
    return frozenset(part.name for part in parts if isinstance(part, Uniform))


def _controlling(statements: tuple[Statement, ...]) -> list[Expression]:
    """The conditions and indices of statements."""
    indices = [
        index
        for expression in _all_expressions(statements)
        if isinstance(expression, Element)
        for index in expression.indices
    ]
    return [*_conditions(statements), *indices]


def uniform_loops(kernel: Kernel) -> frozenset[int]:
    """The `id`s of the loops whose iterations execute the same operations on other data.

    The body of such a loop assigns no variable that outlives an iteration and that a condition of
    the kernel depends on, and no condition in the body depends on what the loop's step assigns.
    """
    statements = tuple(_all_statements(kernel.body))
    control = _closure(_variables(_conditions(statements)), _definitions(statements))
    return frozenset(id(s) for s in statements if isinstance(s, For) and _is_uniform(s, control))


def _is_uniform(loop: For, control: frozenset[str]) -> bool:
    body = tuple(_all_statements(loop.body))
    definitions = _definitions(body)
    declared = {s.variable.name for s in body if isinstance(s, Declare)}
    if (definitions.keys() - declared) & control:
        return False
    stepped = _definitions(tuple(_all_statements(loop.step))).keys()
    return not _closure(_variables(_conditions(body)), definitions) & stepped


_Definitions = dict[str, list[Expression]]
"""All values that are assigned to each variable. Names are unique in a kernel."""


def _definitions(statements: Iterable[Statement]) -> _Definitions:
    definitions: _Definitions = {}
    for statement in statements:
        match statement:
            case Declare(variable=Variable(name=name), value=value):
                definitions.setdefault(name, []).extend([] if value is None else [value])
            case Assign(
                target=Variable(name=name) | Component(vector=Variable(name=name)), value=value
            ):
                definitions.setdefault(name, []).append(value)
    return definitions


def _closure(names: Iterable[str], definitions: _Definitions) -> frozenset[str]:
    """The variables, and the variables that their values depend on, directly or indirectly."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(_variables(definitions.get(name, ())))
    return frozenset(reached)


def _conditions(statements: Iterable[Statement]) -> list[Expression]:
    """What decides which statements and which operands are evaluated."""
    statements = tuple(statements)
    written = [s.condition for s in statements if isinstance(s, If | For)]
    for expression in _all_expressions(statements):
        match expression:
            case Select(condition=condition):
                written.append(condition)
            case Binary(operator="&&" | "||", left=left, right=right) if _is_counted(right):
                written.append(left)
    return written


def _is_counted(expression: Expression) -> bool:
    """Whether evaluating an expression is an access or an operation that counts."""
    return any(
        isinstance(part, Element)
        or (isinstance(part, Unary) and part.type in _COUNTED)
        or (isinstance(part, Binary) and part.left.type in _COUNTED)
        for part in _parts(expression)
    )


_COUNTED = (Type.FLOAT, Type.DOUBLE, Type.VEC4)


def _variables(expressions: Iterable[Expression]) -> set[str]:
    return {p.name for e in expressions for p in _parts(e) if isinstance(p, Variable)}


def _all_statements(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, and those nested in them."""
    for statement in statements:
        yield statement
        match statement:
            case If(then=then, otherwise=otherwise):
                yield from _all_statements(then + otherwise)
            case For(start=start, step=step, body=body):
                yield from _all_statements(start + step + body)


def _all_expressions(statements: Iterable[Statement]) -> Iterator[Expression]:
    """Every expression in the statements: values, targets of assignments, and subexpressions."""
    for statement in statements:
        match statement:
            case Declare(value=value) if value is not None:
                yield from _parts(value)
            case Assign(target=target, value=value):
                yield from _parts(target)
                yield from _parts(value)
            case If(condition=condition) | For(condition=condition):
                yield from _parts(condition)


def _parts(expression: Expression | LValue) -> Iterator[Expression]:
    """An expression and its subexpressions."""
    yield expression
    for operand in operands(expression):
        yield from _parts(operand)
