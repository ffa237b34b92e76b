"""What depends on what in a kernel, by names: a variable's name is unique in its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import (
    Assign,
    Binary,
    Component,
    Convert,
    Declare,
    Element,
    Expression,
    For,
    If,
    Kernel,
    LValue,
    Select,
    Statement,
    Unary,
    Uniform,
    Variable,
    Vector,
)


def check_data_independent(kernel: Kernel) -> None:
    """PlanError where a condition or an index of a kernel depends on an element of an array."""
    statements = tuple(_all_statements(kernel.body))
    definitions = _definitions(statements)
    deciding = _deciding(statements)
    names = _closure(_variables(deciding), definitions)
    deciding += [value for name in names for value in definitions.get(name, ())]
    for expression in deciding:
        for part in _parts(expression):
            if isinstance(part, Element):
                raise PlanError(
                    f"{kernel.name}: a condition or an index depends on {part.array}; only kernels "
                    f"whose control flow and addresses do not depend on data can be counted"
                )


def control_variables(body: tuple[Statement, ...]) -> frozenset[str]:
    """The variables that conditions and indices are made of, or what those are made of."""
    statements = tuple(_all_statements(body))
    return _closure(_variables(_deciding(statements)), _definitions(statements))


@cache
def control_uniforms(kernel: Kernel, *, indices: bool) -> frozenset[str]:
    """The uniforms that conditions, and with `indices` those too, are made of, by name."""
    statements = tuple(_all_statements(kernel.body))
    definitions = _definitions(statements)
    deciding = _deciding(statements) if indices else _conditions(statements)
    names = _closure(_variables(deciding), definitions)
    deciding += [value for name in names for value in definitions.get(name, ())]
    parts = chain.from_iterable(map(_parts, deciding))
    return frozenset(part.name for part in parts if isinstance(part, Uniform))


def _deciding(statements: tuple[Statement, ...]) -> list[Expression]:
    """The conditions and indices of statements."""
    indices = [
        index
        for expression in _all_expressions(statements)
        if isinstance(expression, Element)
        for index in expression.indices
    ]
    return [*_conditions(statements), *indices]


def uniform_loops(kernel: Kernel) -> frozenset[int]:
    """The `id`s of the loops whose iterations do the same, but for data and addresses.

    In such a loop the body assigns nothing that outlives an iteration and that a condition anywhere
    depends on, and no condition in the body depends on what the step assigns.
    """
    everything = tuple(_all_statements(kernel.body))
    control = _closure(_variables(_conditions(everything)), _definitions(everything))
    return frozenset(id(s) for s in everything if isinstance(s, For) and _is_uniform(s, control))


def _is_uniform(loop: For, control: frozenset[str]) -> bool:
    body = tuple(_all_statements(loop.body))
    definitions = _definitions(body)
    declared = {s.variable.name for s in body if isinstance(s, Declare)}
    if (definitions.keys() - declared) & control:
        return False
    stepped = _definitions(tuple(_all_statements(loop.step))).keys()
    return not _closure(_variables(_conditions(body)), definitions) & stepped


_Definitions = dict[str, list[Expression]]
"""The values that each variable is given somewhere."""


def _definitions(statements: Iterable[Statement]) -> _Definitions:
    found: _Definitions = {}
    for statement in statements:
        match statement:
            case Declare(variable=Variable(name=name), value=value):
                found.setdefault(name, []).extend([] if value is None else [value])
            case Assign(
                target=Variable(name=name) | Component(vector=Variable(name=name)), value=value
            ):
                found.setdefault(name, []).append(value)
    return found


def _closure(names: Iterable[str], definitions: _Definitions) -> frozenset[str]:
    """The names, and the names of all that they are made of."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_variables(definitions.get(name, ())))
    return frozenset(found)


def _conditions(statements: Iterable[Statement]) -> list[Expression]:
    statements = tuple(statements)
    written = [s.condition for s in statements if isinstance(s, If | For)]
    return written + [e.condition for e in _all_expressions(statements) if isinstance(e, Select)]


def _variables(expressions: Iterable[Expression]) -> set[str]:
    return {p.name for e in expressions for p in _parts(e) if isinstance(p, Variable)}


def _all_statements(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements and those inside them."""
    for statement in statements:
        yield statement
        match statement:
            case If(then=then, otherwise=otherwise):
                yield from _all_statements(then + otherwise)
            case For(start=start, step=step, body=body):
                yield from _all_statements(start + step + body)


def _all_expressions(statements: Iterable[Statement]) -> Iterator[Expression]:
    """Every expression of the statements, each part of it and the places that are assigned."""
    for statement in statements:
        match statement:
            case Declare(value=value) if value is not None:
                yield from _parts(value)
            case Assign(target=place, value=value):
                yield from _parts(place)
                yield from _parts(value)
            case If(condition=condition) | For(condition=condition):
                yield from _parts(condition)


def _parts(expression: Expression | LValue) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    for operand in _operands(expression):
        yield from _parts(operand)


def _operands(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Element(indices=indices):
            return indices
        case Component(vector=operand) | Unary(operand=operand) | Convert(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Select(condition=condition, chosen=chosen, other=other):
            return (condition, chosen, other)
        case Vector(parts=parts):
            return parts
    return ()
