"""The variables of the fragments that an invocation works on, its register tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from gpgpu_legacy.lower.invocation import read
from gpgpu_legacy.lower.ir import (
    Assign,
    Declare,
    Expression,
    For,
    Read,
    Role,
    Statement,
    Texel,
    Variable,
    rebuilt,
    walk,
)
from gpgpu_legacy.lower.ir_types import EVERYWHERE, NOWHERE, Axes, Components

Fragment = tuple[int, int]
"""A row and a column of the register tile."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a statement came to.

    variables: those that it is made of, with their axes before; its target is the first. after: the
    axes of that then.
    """

    statement: Assign
    variables: tuple[Variable, ...]
    before: tuple[Axes | None, ...]
    statements: tuple[Statement, ...]
    after: Axes


def _variables(statement: Assign) -> tuple[Variable, ...]:
    """What a statement writes and reads; nothing if it is made of more than variables."""
    variables = [statement.variable]
    for part in walk(statement.value):
        if isinstance(part, Texel):
            return ()
        if isinstance(part, Read):
            variables.append(part.variable)
    return tuple(variables)


@lru_cache(maxsize=4096)
def cell_variable(variable: Variable, row: int | None, column: int | None) -> Variable:
    """A variable of one row, of one column, or of one fragment of a register tile."""
    return replace(variable, row=row, column=column)


class RegisterTile:
    """The variables of a register tile's fragments, and the statements that compute them."""

    def __init__(
        self, rows: int, columns: int, at_fragment: Callable[[Expression, Fragment], Expression]
    ) -> None:
        """at_fragment: what a part of an expression is at a fragment, but for its variables."""
        self.rows, self.columns, self.at_fragment = rows, columns, at_fragment
        self.axes: dict[Variable, Axes] = {}
        self.statements: list[Statement] = []
        self.assigned: dict[Variable, None] = {}
        self.names: dict[Variable, Variable] = {}
        self.parts = 0
        self._seen: dict[int, _Seen] = {}

    def add(self, *statements: Statement) -> None:
        """Add statements."""
        self.statements += statements

    def inside(self, build: Callable[[], None]) -> tuple[Statement, ...]:
        """The statements that `build` adds, for a block of their own."""
        outer, self.statements = self.statements, []
        build()
        made, self.statements = tuple(self.statements), outer
        return made

    def declarations(self) -> list[Statement]:
        """Of all variables that are assigned."""
        return [Declare(variable) for variable in self.assigned]

    def fragments(self, axes: Axes) -> Iterator[Fragment]:
        """A fragment for each row and column that a value of these axes tells apart."""
        for row in range(self.rows if axes.y else 1):
            for column in range(self.columns if axes.x else 1):
                yield row, column

    def cell(self, variable: Variable, fragment: Fragment) -> Variable:
        """Where a variable is kept for a fragment."""
        axes = self.axes[variable]
        row, column = fragment
        return cell_variable(variable, row if axes.y else None, column if axes.x else None)

    def assign(
        self,
        variable: Variable,
        fragment: Fragment,
        value: Expression,
        components: Components | None = None,
    ) -> None:
        """Give a fragment's variable a value."""
        cell = self.cell(variable, fragment)
        self.assigned[cell] = None
        every = tuple(range(variable.type.width))
        self.add(Assign(cell, every if components is None else components, value))

    def execute(self, statement: Statement) -> None:
        """A statement of one fragment, for every fragment that it tells apart."""
        if isinstance(statement, Declare):
            assert statement.value is not None
            self._declare(statement.variable, statement.value)
        elif isinstance(statement, Assign) and not self._repeat(statement):
            self._assign(statement)

    def _repeat(self, statement: Assign) -> bool:
        """Add what the statement came to before, if it would come to the same again.

        So the trips that are unrolled share their statements, all but those that look texels up.
        """
        seen = self._seen.get(id(statement))
        if seen is None or seen.before != self._axes_now(seen.variables):
            return False
        self.statements += seen.statements
        self.axes[statement.variable] = seen.after
        return True

    def _assign(self, statement: Assign) -> None:
        variable, axes = statement.variable, self._axes_after(statement, self.axes)
        variables = _variables(statement)
        before, count = self._axes_now(variables), len(self.statements)
        values = [(f, self.at(statement.value, f)) for f in self.fragments(axes)]
        if len(statement.components) < variable.type.width:
            self.widen(variable, axes)
        self.axes[variable] = axes
        for fragment, value in values:
            self.assign(variable, fragment, value, statement.components)
        if variables and not self.names.keys() & set(variables):
            added = tuple(self.statements[count:])
            self._seen[id(statement)] = _Seen(statement, variables, before, added, axes)

    def _axes_now(self, variables: tuple[Variable, ...]) -> tuple[Axes | None, ...]:
        return tuple([self.axes.get(variable) for variable in variables])

    def _declare(self, variable: Variable, value: Expression) -> None:
        """A variable of a statement's own; unrolled trips have one each."""
        self.parts += 1
        name = replace(variable, number=self.parts)
        values = [(f, self.at(value, f)) for f in self.fragments(value.axes)]
        self.names[variable] = name
        self.axes[name] = value.axes
        for fragment, at in values:
            self.add(Declare(self.cell(name, fragment), at))

    def at(self, value: Expression, fragment: Fragment) -> Expression:
        """An expression at a fragment."""

        def change(part: Expression) -> Expression:
            if not isinstance(part, Read):
                return self.at_fragment(part, fragment)
            variable = self.names.get(part.variable, part.variable)
            if variable not in self.axes:
                return part
            return Read(self.cell(variable, fragment), part.components)

        return rebuilt(value, change)

    @staticmethod
    def _axes_after(statement: Assign, axes: dict[Variable, Axes]) -> Axes:
        """Along which axes a variable varies as a whole once the statement is executed."""
        if statement.variable.role is Role.OWN:
            return EVERYWHERE
        if len(statement.components) == statement.variable.type.width:
            return statement.value.axes
        return statement.value.axes | axes.get(statement.variable, NOWHERE)

    def widen(self, variable: Variable, axes: Axes) -> None:
        """Keep a variable along more axes, its value in every fragment."""
        old = self.axes.get(variable, axes)
        if old == axes:
            return
        before = {f: read(self.cell(variable, f)) for f in self.fragments(axes)}
        self.axes[variable] = axes
        for fragment, value in before.items():
            self.assign(variable, fragment, value)

    def trip(self, loop: For, head: dict[Variable, Axes]) -> None:
        """A trip of a loop. head: as `widen_for` gives it."""
        for statement in loop.body:
            self.execute(statement)
        for variable, axes in head.items():
            self.widen(variable, axes)

    def widen_for(self, loop: For) -> dict[Variable, Axes]:
        """Keep what a trip leaves to the next one along the axes that it will have there."""
        head = {variable: self.axes[variable] for variable, _, _ in loop.carried}
        while True:
            after = self.axes | head
            for statement in loop.body:
                if isinstance(statement, Assign):
                    after[statement.variable] = self._axes_after(statement, after)
            wider = {variable: axes | after[variable] for variable, axes in head.items()}
            if wider == head:
                break
            head = wider
        for variable, axes in head.items():
            self.widen(variable, axes)
        return head
