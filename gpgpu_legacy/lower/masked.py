"""Lowerings in which branches are masks, where fragments are computed with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpgpu_legacy.isa.execute import MOST_TRIPS, Walk, fetch, holds
from gpgpu_legacy.isa.expressions import (
    Compose,
    Constant,
    Expression,
    Operation,
    Read,
    Role,
    Variable,
    all_of,
    constant,
    operation,
)
from gpgpu_legacy.isa.program import AttributeKind, Branch, DestinationRegister, Repetition
from gpgpu_legacy.isa.statements import (
    Assign,
    Break,
    For,
    If,
    Statement,
    read_first,
    statements_below,
)
from gpgpu_legacy.isa.types import FLOAT, INT, NOWHERE, Axes, Components, Kind, Operator, union
from gpgpu_legacy.lower.lowering import Lowering, attribute_axes


class MaskedLowering(Lowering):
    """A Lowering in which branches are masks, where fragments are computed with others.

    Both sides are executed, and what is stored is chosen by a variable that is 1 where the fragment
    is active, else 0; in a quad each corner has its own. A loop ends with a Break where all are 0.
    """

    masks = True
    """False for branches as they are."""
    places: Sequence[int] = (0,)
    """The fragment itself, and the corners of its quad that it reads."""
    _masks: tuple[Variable, ...] = ()
    """Of the blocks around, from the innermost loop on: 1 where a fragment is active, else 0."""

    def store(
        self, register: DestinationRegister, components: Components, value: Expression
    ) -> None:
        if self._masks:
            before = self.read(register, components, coordinate=False)
            value = operation(Operator.SELECT, self._is_set(self._masks[-1]), value, before)
        super().store(register, components, value)

    def discard(self, condition: Expression) -> None:
        active = [self._is_set(mask) for mask in self._masks[-1:]]
        super().discard(all_of([condition, *active]))

    def branch(self, branch: Branch, then: Walk, otherwise: Walk) -> None:
        if not self.masks:
            super().branch(branch, then, otherwise)
            return
        number, instruction = branch.head
        test, chosen = instruction.test, _flag("chosen", number)
        assert test is not None
        for _ in self._each_place():
            self._set(chosen, holds(test, self), 1.0, 0.0)
        around = self._masks
        for mask, side in ((_flag("then", number), then), (_flag("otherwise", number), otherwise)):
            for _ in self._each_place():
                outer = self._here(around[-1]) if around else 1.0
                yes, no = (outer, 0.0) if side is then else (0.0, outer)
                self._set(mask, self._is_set(chosen), yes, no)
            self._masks = (*around, mask)
            side()
            self._masks = around

    def loop(self, loop: Repetition, body: Walk) -> None:
        if not self.masks:
            super().loop(loop, body)
            return
        number, instruction = loop.head
        count = fetch(instruction.srcs[0], (0,), self)
        around, mask = self._masks, _flag("within", number)
        for _ in self._each_place():
            outer = self._here(around[-1]) if around else 1.0
            self._set(mask, count >= 1.0, outer, 0.0)
        trip = Variable("trips", FLOAT, number=number)
        self.assign(trip, (0,), constant(1.0))

        def one() -> None:
            self._masks = (mask,)
            body()
            self.assign(trip, (0,), self.held(trip) + 1.0)
            left = []
            for _ in self._each_place():
                self._set(mask, self.held(trip) <= count, self._here(mask), 0.0)
                left.append(operation(Operator.NOT, self._is_set(mask)))
            self.statements.append(If(all_of(left), (Break(),)))

        known = int(count.values[0]) if isinstance(count, Constant) else MOST_TRIPS
        if known > 0:
            self.repeat(constant(known, Kind.INT), one)
        self._masks = around

    def leave(self, condition: Expression) -> None:
        if not self.masks:
            super().leave(condition)
            return
        leaving = _flag("leaving", 0)
        self._set(leaving, condition, self._here(self._masks[-1]), 0.0)
        for mask in self._masks:
            self._set(mask, self._is_set(leaving), 0.0, self._here(mask))

    def _each_place(self) -> Iterator[int]:
        for corner in self.places:
            self._corner = corner
            yield corner
        self._corner = 0

    def _set(self, flag: Variable, condition: Expression, yes: Any, no: Any) -> None:
        value = operation(Operator.SELECT, condition, yes, no)
        self.assign(self._here(flag).variable, (0,), value)

    def _here(self, flag: Variable) -> Read:
        """The flag of the fragment, or of the corner that is executed."""
        return self.held(replace(flag, corner=self._corner))

    def _is_set(self, flag: Variable) -> Expression:
        return operation(Operator.GREATER, self._here(flag), 0.0)


def _flag(name: str, number: int) -> Variable:
    """A variable that is 1 or 0. number: of the instruction that it is for."""
    return Variable(name, FLOAT, number=number)


class AxesLowering(MaskedLowering):
    """A MaskedLowering that tracks the axes along which each component of a variable varies."""

    def __init__(self, draw: int) -> None:
        """draw: the number of the pass."""
        super().__init__(discards=False, draw=draw)
        self.axes: dict[tuple[Variable, int], Axes] = {}

    def assign(self, variable: Variable, components: Components, value: Expression) -> None:
        """Add an assignment."""
        super().assign(variable, components, value)
        self.axes |= {
            (variable, c): self._component_axes(value, index) for index, c in enumerate(components)
        }

    def axes_of(self, variable: Variable, components: Components) -> Axes:
        """The axes along which components of a variable vary here."""
        return union(self.axes.get((variable, c), NOWHERE) for c in components)

    def _component_axes(self, value: Expression, index: int) -> Axes:
        """The axes along which one component of a value varies."""
        if value.type.width == 1 or value.axes == NOWHERE:
            return value.axes
        match value:
            case Read(variable=variable, components=read):
                if variable.role is Role.ATTRIBUTE:
                    return attribute_axes(AttributeKind(variable.name), read[index])
                return self.axes.get((variable, read[index]), value.axes)
            case Compose(operands=parts):
                return parts[index].axes
            case Operation(operands=operands):
                return union(self._component_axes(operand, index) for operand in operands)
        return value.axes

    def repeat(self, trips: Expression, body: Walk) -> None:
        """Add a loop of that many trips, whose statements `body` adds."""
        before = self.axes
        while True:
            self.axes = dict(before)
            statements = tuple(self._collected(body))
            wider = {p: axes | before.get(p, NOWHERE) for p, axes in self.axes.items()}
            if wider == before:
                break
            before = wider
        carried = tuple((*place, before[place]) for place in _carried(statements))
        first = constant(0, Kind.INT)
        self.statements.append(
            For(Variable("trip", INT), first, trips, statements, carried=carried)
        )


def _carried(statements: Sequence[Statement]) -> list[tuple[Variable, int]]:
    """The components that statements read before they write them, and those that they write."""
    assigned = [s for s in statements_below(statements) if isinstance(s, Assign)]
    written = {(s.variable, c) for s in assigned for c in s.components}
    return [place for place in read_first(statements) if place in written]
