"""What a dispatch does, counted exactly: the reference machine runs its control flow, with no data.

Which invocations do what depends on integers and uniforms alone in these kernels; that is checked
on the kernel first. So nothing is loaded, no address is computed, and what is the same for all
invocations is looked at once. A loop whose iterations all do the same (each but for data and
addresses) is gone through once and multiplied; only its condition and its step are run every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import Array, Arrays, Grid, KernelMachine, Mask
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
    Place,
    Select,
    Space,
    Statement,
    Type,
    Unary,
    Variable,
    Vector,
)
from gpgpu_legacy.plan.plan import ComputePass, Plan

NO_DATA: Array = np.zeros((1, 1, 1, 1), np.float32)
"""What every load gives where no data is followed."""

_ANY_PLACE: Array = np.zeros((1, 1, 1, 1), np.int64)  # an index that counts do not depend on


@dataclass(frozen=True, slots=True)
class KernelCounts:
    """Totals of one dispatch. Bytes are bytes; the rest are numbers of things.

    invocations: launched, those that a guard throws away included.
    arithmetic: operators on floats and doubles; one on a vec4 is four.
    global_loads, global_stores: elements of buffers, one an active invocation and access.
    shared_loads, shared_stores: elements of shared arrays, in the same way.
    barriers: waits of one invocation: a barrier that a work group of t invocations passes is t.
    bytes_requested: of global loads and stores, as many an element as a texel of the buffer has.
    """

    invocations: int
    arithmetic: int
    global_loads: int
    global_stores: int
    shared_loads: int
    shared_stores: int
    barriers: int
    bytes_requested: int


def count_compute_pass(plan: Plan, each: ComputePass) -> KernelCounts:
    """Count one dispatch of a plan, in which no number is Affine.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    check_data_decides_nothing(each.kernel)
    bound = {b.binding: plan.texture(b.texture).format.texel_bytes for b in each.buffers}
    tally = _Tally(each, {b.name: bound[b.binding] for b in each.kernel.buffers})
    _CountingMachine(each, tally).run()
    return tally.counts()


class _Tally:
    """A Listener that counts active invocations; `weight`: how often what it hears takes place."""

    def __init__(self, each: ComputePass, element_bytes: dict[str, int]) -> None:
        self.invocations, self.element_bytes = each.invocations, element_bytes
        self.weight = 1
        self.totals: Counter[str] = Counter()

    def active(self, mask: Mask) -> int:
        """Invocations of the whole grid in a mask that broadcasts to it, times the weight."""
        if mask is None:
            return self.invocations * self.weight
        return int(np.count_nonzero(mask)) * (self.invocations // mask.size) * self.weight

    def access(self, element: Element, index: Array, mask: Mask, *, store: bool) -> None:
        """See Listener."""
        active = self.active(mask)
        space = "global" if element.space is Space.BUFFER else "shared"
        self.totals[f"{space}_{'stores' if store else 'loads'}"] += active
        if element.space is Space.BUFFER:
            self.totals["bytes_requested"] += active * self.element_bytes[element.array]

    def arithmetic(self, kind: Type, mask: Mask) -> None:
        """See Listener."""
        self.totals["arithmetic"] += self.active(mask) * (4 if kind is Type.VEC4 else 1)

    def barrier(self, mask: Mask) -> None:
        """See Listener."""
        self.totals["barriers"] += self.active(mask)

    def counts(self) -> KernelCounts:
        total = self.totals
        return KernelCounts(
            self.invocations,
            total["arithmetic"],
            total["global_loads"],
            total["global_stores"],
            total["shared_loads"],
            total["shared_stores"],
            total["barriers"],
            total["bytes_requested"],
        )


class _CountingMachine(KernelMachine):
    """The reference machine on all work groups at once, without memory or addresses."""

    def __init__(self, each: ComputePass, tally: _Tally) -> None:
        super().__init__(each.kernel, values_of(each), Grid((0, 0), each.groups), Arrays({}), tally)
        self.tally = tally
        self.uniform_loops = _uniform_loops(each.kernel)

    def load(self, element: Element, mask: Mask) -> Array:
        self.tally.access(element, _ANY_PLACE, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.tally.access(element, _ANY_PLACE, mask, store=True)

    def loop(self, statement: For, mask: Mask) -> None:
        """A uniform loop: all its steps first, then its body once for each mask it had."""
        if id(statement) not in self.uniform_loops:
            super().loop(statement, mask)
            return
        self.statements(statement.start, mask)
        iterations: list[tuple[Mask, int]] = []
        active = _narrowed(mask, self.scalar(statement.condition, mask))
        while active is None or active.any():
            if iterations and iterations[-1][0] is active:
                iterations[-1] = (active, iterations[-1][1] + 1)
            else:
                iterations.append((active, 1))
            self.statements(statement.step, active)
            active = _narrowed(active, self.scalar(statement.condition, active))
        for each, times in iterations:
            self.tally.weight *= times
            self.statements(statement.body, each)
            self.tally.weight //= times


def values_of(each: ComputePass) -> dict[str, Any]:
    """A pass's uniforms by name."""
    return {u.name: u.value for u in each.uniforms}


def _narrowed(mask: Mask, condition: Array) -> Mask:
    """The invocations of the mask for which the condition holds; the mask itself where all do."""
    both = condition if mask is None else mask & condition
    same = both.all() if mask is None else (both == mask).all()
    return mask if same else both


# What depends on what, by names: a variable's name is unique in its kernel -----------------------


def check_data_decides_nothing(kernel: Kernel) -> None:
    """PlanError where a condition or an index of a kernel depends on an element of an array."""
    statements = tuple(_all_statements(kernel.body))
    definitions = _definitions(statements)
    indices = [
        index
        for expression in _all_expressions(statements)
        if isinstance(expression, Element)
        for index in expression.indices
    ]
    deciding = [*_conditions(statements), *indices]
    names = _closure(_variables(deciding), definitions)
    deciding += [value for name in names for value in definitions.get(name, ())]
    for expression in deciding:
        for part in _parts(expression):
            if isinstance(part, Element):
                raise PlanError(
                    f"{kernel.name}: a condition or an index depends on {part.array}; only kernels "
                    f"whose control flow and addresses do not depend on data can be counted"
                )


def _uniform_loops(kernel: Kernel) -> frozenset[int]:
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
                place=Variable(name=name) | Component(vector=Variable(name=name)), value=value
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
            case Assign(place=place, value=value):
                yield from _parts(place)
                yield from _parts(value)
            case If(condition=condition) | For(condition=condition):
                yield from _parts(condition)


def _parts(expression: Expression | Place) -> Iterator[Expression]:
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
