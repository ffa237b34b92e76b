"""Statements that branch, loop and jump, in a straight line: what is left are selects.

A condition that depends on data makes both branches run, on copies of the variables, and selects
between their values. A jump under such a condition leaves a copy of the variables where it jumps
to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.expressions import Expressions, ShaderVariable, of_kind
from gpgpu_legacy.languages.shading.faults import Fault, TooLong
from gpgpu_legacy.languages.shading.graph import Graph, Key, StraightSegment, Vector

MOST_OPEN_TRIPS = 1024
"""Trips of a loop that depends on data before it counts as one without a length."""

_SOME_TRIPS = 16
"""After so many trips a loop counts as one without a length, if nothing known has steered it."""

Values = dict[ShaderVariable, Vector]

Leave = tuple[StraightSegment, Values, bool]


@dataclass
class JumpScope:
    """Where jumps lead: the end of a function, of a loop or of a trip, by the jump's name.

    guards, depth: the numbers of conditions and of regions that enclose it. left: whether a
    fragment jumped here from its own region; None if none did. exits: of each such jump its
    condition and the variables there. flag: where fragments are that jumped here from a region
    inside. flagged: whether any did.

    reps: of a loop that is REPs, their number. stays: where it keeps whether fragments stay, if
    they may stay longer than its trips. leaves: the segments that end in its BRKs, with the
    variables there; in the last trip of a REP without one, with True.
    """

    jump: str
    guards: int
    depth: int
    left: Vector | None = None
    exits: list[tuple[Vector, Values]] = field(default_factory=list)
    flag: ShaderVariable = field(default_factory=lambda: ShaderVariable("", False))
    flagged: bool = False
    reps: int = 0
    stays: Key | None = None
    leaves: list[Leave] = field(default_factory=list)


class StraightFlow(Expressions):
    """Evaluates statements; a subclass evaluates more kinds of them."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._functions: dict[str, list[c.Function]] = {}
        self._active: list[c.Function] = []
        self._guards: list[Vector] = []
        self._bases = [0]
        """The guards before each region that encloses this place."""
        self._jumps: list[JumpScope] = []
        self._alive = True
        self._steered = False
        """Whether an `if` had a known condition, in this trip of a loop."""

    def execute(self, statement: c.Statement) -> None:
        """Run a statement, unless the fragment has left before it."""
        if not self._alive:
            return
        self.graph.at = statement.at
        self.graph.spend(1)
        getattr(self, f"_do_{type(statement).__name__.lower()}", self._refuse)(statement)

    def _close(self) -> None:
        """End the innermost scope of names."""
        for variable in self.scopes.pop().values():
            self.values.pop(variable, None)

    def _do_block(self, block: c.Block) -> None:
        self.scopes.append({})
        for statement in block.statements:
            self.execute(statement)
        self._close()

    # Branches -------------------------------------------------------------------------------------

    def _truth(self, expression: c.Expression) -> Vector | bool:
        """A condition: known, or to be chosen by."""
        condition = self.scalar(expression, "bool")
        return bool(condition.constant[0]) if condition.constant else condition

    def _do_if(self, statement: c.If) -> None:
        condition = self._truth(statement.condition)
        if isinstance(condition, bool):
            self._steered = True
            chosen = statement.yes if condition else statement.no
            if chosen is not None:
                self.execute(chosen)
        else:
            self._choose(condition, statement)

    def _choose(self, condition: Vector, statement: c.If) -> None:
        """Run both sides of an `if`, and select."""
        self.graph.spend(len(self.values) >> 9)
        before = dict(self.values)
        yes, yes_alive = self._branch(condition, statement.yes)
        self.values = before
        no, no_alive = self._branch(~condition, statement.no)
        self.graph.at = statement.at
        if yes_alive:
            self.values = self._merged(condition, yes, no) if no_alive else yes
        self._alive = yes_alive or no_alive

    def _branch(self, guard: Vector, statement: c.Statement | None) -> tuple[Values, bool]:
        """The variables after a statement under a guard, and whether its end is reached."""
        self._alive = True
        if statement is not None:
            self._guards.append(guard)
            self._do_block(c.Block((statement,)))
            self._guards.pop()
        return self.values, self._alive

    def _merged(self, condition: Vector, yes: Values, no: Values) -> Values:
        return {
            variable: value
            if no[variable] is value
            else self.graph.select(condition, value, no[variable])
            for variable, value in yes.items()
            if variable in no
        }

    # Jumps ----------------------------------------------------------------------------------------

    def _do_jump(self, jump: c.Jump) -> None:
        self._alive = jump.condition is not None
        if jump.kind != "discard":
            self._exit(jump.kind)
        elif jump.condition is None:
            self.graph.kill(self._here())
        else:
            self.graph.kill(of_kind(self.vector(jump.condition), "bool") & self._here())

    def _enter(self, jump: str) -> JumpScope:
        scope = JumpScope(jump, len(self._guards), len(self._bases))
        self._jumps.append(scope)
        if self.graph.branching:
            self.values[scope.flag] = self.graph.numbers(0, kind="bool")
        return scope

    def _all(self, guards: Sequence[Vector], scopes: Sequence[JumpScope]) -> Vector:
        """Whether all guards hold and no jump to the scopes was taken."""
        stays = [~scope.left for scope in scopes if scope.left is not None]
        return reduce(and_, [*guards, *stays], self.graph.numbers(1, kind="bool"))

    def _here(self) -> Vector:
        """Whether a fragment gets here at all."""
        return self._all(self._guards[self._bases[-1] :], self._jumps)

    def _target(self, jump: str) -> int:
        """The number of the innermost scope of a jump."""
        number = max(k for k, s in enumerate(self._jumps) if s.jump in (jump, "return"))
        if self._jumps[number].jump != jump:
            raise Fault(f"{jump} is outside a loop", "use it in a loop", self.graph.at)
        return number

    def _exit(self, jump: str, *guards: Vector) -> None:
        """Leave for the innermost scope of a jump, if the guards since it began hold."""
        number = self._target(jump)
        scope = self._jumps[number]
        guards = (*self._guards[scope.guards :], *guards)
        condition = self._all(guards, self._jumps[number + 1 :])
        scope.exits.append((condition, dict(self.values)))
        scope.left = condition if scope.left is None else scope.left | condition

    def _leave(self, scope: JumpScope, *, falls: bool = True) -> None:
        """End a scope with the values of all that left it, the first that applies first.

        falls: whether its end may be reached without a jump.
        """
        self._jumps.pop()
        if scope.exits and not (self._alive and falls):
            _, self.values = scope.exits.pop()
            self._alive = True
        for condition, values in reversed(scope.exits):
            self.values = self._merged(condition, values, self.values)

    # Loops ----------------------------------------------------------------------------------------

    def _do_for(self, loop: c.For) -> None:
        self.scopes.append({})
        if loop.start is not None:
            self.execute(loop.start)
        self._iterate(loop)
        self._close()

    def _bounded(self, loop: c.For) -> bool:
        """Whether a part of a loop's condition is known."""
        parts = [loop.condition] if loop.condition else []
        if any(isinstance(node, c.Assign | c.Call) for node in c.walk(loop.condition)):
            return True  # perhaps
        for part in parts:
            if isinstance(part, c.Binary) and part.operator == "&&":
                parts += [part.left, part.right]
        return any(isinstance(self._truth(part), bool) for part in parts)

    def _iterate(self, loop: c.For) -> None:
        """Unroll a loop until its condition is known to fail."""
        scope, open_trips, tests = self._enter("break"), 0, loop.tests_first
        while self._alive:
            truth = self._truth(loop.condition) if tests and loop.condition else True
            if truth is False:
                break
            if isinstance(truth, Vector):
                self._exit("break", ~truth)
            open_trips += isinstance(truth, Vector) or loop.condition is None
            if open_trips > MOST_OPEN_TRIPS or (
                open_trips == _SOME_TRIPS and not self._steered and not self._bounded(loop)
            ):
                expected = "its number of trips must be known when the program is compiled"
                raise TooLong("this loop has no known length", expected, loop.at)
            trip, tests, self._steered = self._enter("continue"), True, False
            self.execute(loop.body)
            self._leave(trip)
            if self._alive and loop.step is not None:
                self.evaluate(loop.step)
        self._leave(scope)


def is_out(p: c.Declaration) -> bool:
    """Whether a parameter assigns to its argument."""
    return bool(p.type.qualifiers & {"out", "inout"})
