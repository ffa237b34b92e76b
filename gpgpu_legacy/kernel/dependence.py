"""Dependences of a kernel's control flow: on variables, uniforms and data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import (
    Assign,
    Binary,
    Declare,
    Element,
    Expression,
    For,
    If,
    Kernel,
    Node,
    Select,
    Statement,
    Type,
    Unary,
    Uniform,
    Variable,
    assigned,
    walk,
)


def check_data_independent(kernel: Kernel) -> None:
    """Raise PlanError if control flow or addresses of a kernel depend on loaded data."""
    for part in _behind_control(kernel, indices=True):
        if isinstance(part, Element):
            raise PlanError(
                f"{kernel.name}: a condition or an index depends on {part.array}; only kernels "
                f"whose control flow and addresses do not depend on data can be counted"
            )


def control_variables(body: tuple[Statement, ...]) -> frozenset[str]:
    """The names of the variables that conditions and indices depend on, directly or indirectly."""
    nodes = tuple(walk(*body))
    return _closure(_variables(_controlling(nodes)), _definitions(nodes))


@cache
def control_uniforms(kernel: Kernel, *, indices: bool) -> frozenset[str]:
    """The names of the uniforms that conditions, and with `indices` also indices, depend on."""
    parts = _behind_control(kernel, indices=indices)
    return frozenset(part.name for part in parts if isinstance(part, Uniform))


def _behind_control(kernel: Kernel, *, indices: bool) -> Iterator[Expression]:
    """All nodes from which conditions, and with `indices` also indices, are computed."""
    nodes = tuple(walk(*kernel.body))
    definitions = _definitions(nodes)
    controlling = _controlling(nodes) if indices else _conditions(nodes)
    names = _closure(_variables(controlling), definitions)
    controlling += [value for name in names for value in definitions.get(name, ())]
    return walk(*controlling)


def _controlling(nodes: tuple[Node, ...]) -> list[Expression]:
    """The conditions and indices among all nodes of statements."""
    indices = [index for node in nodes if isinstance(node, Element) for index in node.indices]
    return [*_conditions(nodes), *indices]


def uniform_loops(kernel: Kernel) -> frozenset[int]:
    """The `id`s of the loops whose iterations execute the same operations on other data.

    The body of such a loop assigns no variable that outlives an iteration and that a condition of
    the kernel depends on, and no condition in the body depends on what the loop's step assigns.
    """
    nodes = tuple(walk(*kernel.body))
    control = _closure(_variables(_conditions(nodes)), _definitions(nodes))
    return frozenset(id(n) for n in nodes if isinstance(n, For) and _is_uniform(n, control))


def _is_uniform(loop: For, control: frozenset[str]) -> bool:
    body = tuple(walk(*loop.body))
    definitions = _definitions(body)
    declared = {node.variable.name for node in body if isinstance(node, Declare)}
    if (definitions.keys() - declared) & control:
        return False
    stepped = _definitions(walk(*loop.step)).keys()
    return not _closure(_variables(_conditions(body)), definitions) & stepped


_Definitions = dict[str, list[Expression]]
"""All values that are assigned to each variable. Names are unique in a kernel."""


def _definitions(nodes: Iterable[Node]) -> _Definitions:
    definitions: _Definitions = {}
    for node in nodes:
        variable = assigned(node)
        if variable is not None and isinstance(node, Declare | Assign):
            values = definitions.setdefault(variable.name, [])
            values += [] if node.value is None else [node.value]
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


def _conditions(nodes: tuple[Node, ...]) -> list[Expression]:
    """The expressions that decide which statements and which operands are evaluated."""
    written = [node.condition for node in nodes if isinstance(node, If | For)]
    for node in nodes:
        match node:
            case Select(condition=condition):
                written.append(condition)
            case Binary(operator="&&" | "||", left=left, right=right) if _is_counted(right):
                written.append(left)
    return written


def _is_counted(expression: Expression) -> bool:
    """Whether the evaluation of an expression counts, as an access or an operation."""
    return any(
        isinstance(part, Element)
        or (isinstance(part, Unary) and part.type in _COUNTED)
        or (isinstance(part, Binary) and part.left.type in _COUNTED)
        for part in walk(expression)
    )


_COUNTED = (Type.FLOAT, Type.DOUBLE, Type.VEC4)


def _variables(expressions: Iterable[Expression]) -> set[str]:
    return {part.name for part in walk(*expressions) if isinstance(part, Variable)}
