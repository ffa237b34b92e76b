"""Dependences of a kernel's control flow: on variables, uniforms and data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.ir.expressions import (
    Choice,
    Element,
    Expression,
    Operation,
    Read,
    Role,
)
from gpgpu_legacy.ir.kernel import Kernel, parts, variable_names
from gpgpu_legacy.ir.statements import (
    Assign,
    Declare,
    If,
    Loop,
    Statement,
    statements_below,
)
from gpgpu_legacy.ir.types import Operator
from gpgpu_legacy.ir.walks import walk


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
    return _closure(variable_names(*_controlling(body)), _definitions(body))


@cache
def control_uniforms(kernel: Kernel, *, indices: bool) -> frozenset[str]:
    """The names of the uniforms that conditions, and with `indices` also indices, depend on."""
    behind = _behind_control(kernel, indices=indices)
    reads = (part.variable for part in behind if isinstance(part, Read))
    return frozenset(variable.name for variable in reads if variable.role is Role.UNIFORM)


def _behind_control(kernel: Kernel, *, indices: bool) -> Iterator[Expression]:
    """All expressions from which conditions, and with `indices` also indices, are computed."""
    definitions = _definitions(kernel.body)
    controlling = (_controlling if indices else _conditions)(kernel.body)
    names = _closure(variable_names(*controlling), definitions)
    controlling += [value for name in names for value in definitions.get(name, ())]
    return parts(*controlling)


def _controlling(body: Iterable[Statement]) -> list[Expression]:
    """The conditions and indices in statements."""
    body = tuple(body)
    elements = (part for part in parts(*body) if isinstance(part, Element))
    return [*_conditions(body), *(index for element in elements for index in element.operands)]


def uniform_loops(kernel: Kernel) -> frozenset[int]:
    """The `id`s of the loops whose iterations execute the same operations on other data.

    The body of such a loop assigns no variable that outlives an iteration and that a condition of
    the kernel depends on, and no condition in the body depends on what the loop's step assigns.
    """
    control = _closure(variable_names(*_conditions(kernel.body)), _definitions(kernel.body))
    loops = (s for s in statements_below(kernel.body) if isinstance(s, Loop))
    return frozenset(id(loop) for loop in loops if _is_uniform(loop, control))


def _is_uniform(loop: Loop, control: frozenset[str]) -> bool:
    definitions = _definitions(loop.body)
    inside = statements_below(loop.body)
    declared = {s.variable.name for s in inside if isinstance(s, Declare)}
    if (definitions.keys() - declared) & control:
        return False
    stepped = _definitions(loop.step).keys()
    return not _closure(variable_names(*_conditions(loop.body)), definitions) & stepped


_Definitions = dict[str, list[Expression]]
"""All values that are assigned to each variable. Names are unique in a kernel."""


def _definitions(body: Iterable[Statement]) -> _Definitions:
    definitions: _Definitions = {}
    for statement in statements_below(body):
        if isinstance(statement, Declare | Assign):
            values = definitions.setdefault(statement.variable.name, [])
            values += [] if statement.value is None else [statement.value]
    return definitions


def _closure(names: Iterable[str], definitions: _Definitions) -> frozenset[str]:
    """The variables, and the variables that their values depend on, directly or indirectly."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(variable_names(*definitions.get(name, ())))
    return frozenset(reached)


def _conditions(body: Iterable[Statement]) -> list[Expression]:
    """The expressions that decide which statements, and which operands that count, are executed."""
    body = tuple(body)
    inside = statements_below(body)
    conditions = [s.condition for s in inside if isinstance(s, If | Loop)]
    for part in parts(*body):
        if isinstance(part, Choice) and any(map(_is_counted, part.operands[1:])):
            conditions.append(part.operands[0])
    return conditions


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
