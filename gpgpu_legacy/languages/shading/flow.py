"""Statements that branch and jump, as selects or as instructions.

In a straight line, a condition that depends on data makes both sides run, on copies of the
variables, and selects between their values. A jump under such a condition leaves a copy of the
variables where it jumps to.

In a graph that branches, an `if` is an IF. It stays a select if it is short: if it has at most
LONGEST_SELECT operators, assignments and calls, no loop and no jump but the last `return`s of a
function. (An IF with its ENDIF took a GeForce 6 four cycles, with an ELSE six: GPU Gems 2, Table
34-1.) If one side ends with a jump, the rest of the block joins the other side. A fragment that
jumps out of an IF to a place further away sets a flag; the code in between is under an IF, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_, or_
from typing import cast

from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.arb.flow import MOST_IFS
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.expressions import Expressions, ShaderVariable, of_kind
from gpgpu_legacy.languages.shading.graph import FREE, Fault, Graph, Key, StraightSegment, Vector

LONGEST_SELECT = 6
"""The most operators, assignments and calls of an `if` that is a select."""

_OPERATIONS = (c.Binary, c.Unary, c.Conditional, c.Assign, c.Call)

Values = dict[ShaderVariable, Vector]

Leave = tuple[StraightSegment, Values, bool]


@dataclass
class JumpScope:
    """Where jumps lead: the end of a function, of a loop or of a trip.

    jump: `return`, `break` or `continue`. guards, depth: how many conditions and regions enclose
    the scope. left: whether a fragment jumped here from the scope's own region; None if none did.
    exits: the condition of each such jump, and the variables there. flag: a variable that is 1 for
    fragments that jumped here from an inner region. flagged: whether any did.

    reps: how many REPs a loop is. stays: the home that says whether fragments stay in the loop, if
    it may have more trips than a REP. leaves: for each BRK the segment before it, the variables
    there and False; True marks the end of the last trip.
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


class Flow(Expressions):
    """Evaluates statements; a subclass evaluates more kinds of them."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._functions: dict[str, list[c.Function]] = {}
        self._active: list[c.Function] = []
        self._guards: list[Vector] = []
        self._bases = [0]
        """How many guards come before each region that encloses this place."""
        self._jumps: list[JumpScope] = []
        self._alive = True
        self._lost = False
        """Whether all fragments that do not get here have left for good, by a BRK or a KIL."""
        self._steered = False
        """Whether an `if` had a known condition, in this trip of a loop."""
        self._tail: c.Statement | None = None
        """A statement after which a function ends."""

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

    @property
    def _selects(self) -> bool:
        """Whether this is a straight line, or inside a select."""
        return not self.graph.branching or len(self._guards) > self._bases[-1]

    def _do_block(self, block: c.Block) -> None:
        self.scopes.append({})
        is_body = bool(self._active) and block is self._active[-1].body
        for number, statement in enumerate(block.statements, 1):
            if self._selects:
                self.execute(statement)
                continue
            rest = block.statements[number:]
            joined = self._with_rest(statement, rest)
            self._tail = joined if is_body and (joined is not statement or not rest) else None
            self.execute(joined)
            if joined is not statement:
                break
            gone = self._gone() if rest and self._alive else ()
            if gone:
                stays = ~reduce(or_, (self.values[flag] for flag in gone))
                self._branch_off(stays, c.Block(rest), None, statement.at, gone)
                break
        self._close()

    def _with_rest(self, statement: c.Statement, rest: Sequence[c.Statement]) -> c.Statement:
        """The statement; if it is an `if` with a side that jumps, the rest joins the other side."""
        if not isinstance(statement, c.If) or not rest or self._breaks(statement):
            return statement
        if _jumps(statement.yes):
            others = (statement.no, *rest) if statement.no else rest
            return replace(statement, no=c.Block(tuple(others), at=statement.at))
        if statement.no and _jumps(statement.no):
            return replace(statement, yes=c.Block((statement.yes, *rest), at=statement.at))
        return statement

    # Jumps ----------------------------------------------------------------------------------------

    def _do_jump(self, jump: c.Jump) -> None:
        self._alive = jump.condition is not None
        if jump.kind != "discard":
            self._exit(jump.kind)
        elif jump.condition is None:
            self.graph.kill(self._here())
        else:
            self.graph.kill(of_kind(self.vector(jump.condition), "bool") & self._here())
        if jump.kind == "discard" and not self._alive:
            self._lost = True
            if any(scope.reps for scope in self._jumps):  # the loops end for this fragment, too
                self._flag(0)

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
            raise Fault(f"{jump} is outside a loop; use it in a loop", self.graph.at)
        return number

    def _exit(self, jump: str, *guards: Vector) -> None:
        """Leave for the innermost scope of a jump, if the guards since it began hold."""
        number = self._target(jump)
        scope = self._jumps[number]
        if scope.depth < len(self._bases):
            self._flag(number)
            return
        guards = (*self._guards[scope.guards :], *guards)
        condition = self._all(guards, self._jumps[number + 1 :])
        scope.exits.append((condition, dict(self.values)))
        scope.left = condition if scope.left is None else scope.left | condition

    def _leave(self, scope: JumpScope, *, falls: bool = True) -> None:
        """End a scope; each fragment takes its values at the first jump that it took here.

        falls: whether its end may be reached without a jump.
        """
        self._jumps.pop()
        if scope.exits and not (self._alive and falls):
            _, self.values = scope.exits.pop()
            self._alive = True
        for condition, values in reversed(scope.exits):
            self.values = self._merged(condition, values, self.values)
        flag = self.values.pop(scope.flag, None)
        if flag is not None and flag.constant != (0.0,):
            self._alive, self._lost = True, False

    def _flag(self, number: int) -> None:
        """Leave for a scope outside this region, by a BRK if a REP lies in between."""
        scope = self._jumps[number]
        loop = next((s for s in reversed(self._jumps[number:]) if s.reps), None)
        if scope is not loop:
            scope.flagged = True
            self.values[scope.flag] = self.graph.numbers(1, kind="bool")
        if loop:
            self._break(loop)

    def _gone(self) -> list[ShaderVariable]:
        """The flags of jumps inside the innermost REP. Fragments that jumped further away break."""
        number = max((k for k, scope in enumerate(self._jumps) if scope.reps), default=-1)
        outer, inner = (
            [s.flag for s in scopes if self.values[s.flag].constant != (0.0,)]
            for scopes in (self._jumps[: number + 1], self._jumps[number + 1 :])
        )
        if outer:
            self._break(self._jumps[number], ~reduce(or_, (self.values[f] for f in outer)))
            self.values |= dict.fromkeys(outer, self.graph.numbers(0, kind="bool"))
        return inner

    def _break(self, scope: JumpScope, stays: Vector | None = None) -> None:
        """Leave a REP. stays: the condition under which fragments stay; None if none does."""
        graph, segment = self.graph, self.graph.segment
        if scope.stays:
            (literal,) = (stays or graph.numbers(0)).literals
            segment.stores[scope.stays] = literal
            if stays:
                segment.tested, segment.test = scope.stays, (literal, "EQ")
        elif stays:
            graph.decide(stays, holds=False)
        scope.leaves.append((segment, dict(self.values), False))
        graph.follow("BRK", graph.at)
        if not stays:
            self._alive, self._lost = False, True

    # Branches -------------------------------------------------------------------------------------

    def _truth(self, expression: c.Expression) -> Vector | bool:
        """A condition: a bool if it is known, else a scalar."""
        condition = self.scalar(expression, "bool")
        return bool(condition.constant[0]) if condition.constant else condition

    def _do_if(self, statement: c.If) -> None:
        selects = self._selects or self._is_short(statement)  # before its calls set _tail
        condition = self._truth(statement.condition)
        if isinstance(condition, bool):
            self._steered = True
            chosen = statement.yes if condition else statement.no
            if chosen is not None:
                self.execute(chosen)
        elif selects:
            self._select(condition, statement)
        elif self._breaks(statement):
            self._break(self._jumps[self._target("break")], ~condition)
        else:
            self._branch_off(condition, statement.yes, statement.no, statement.at)

    def _breaks(self, statement: c.If) -> bool:
        """Whether an `if` is no more than a break out of a REP."""
        only = statement.yes
        while isinstance(only, c.Block) and len(only.statements) == 1:
            only = only.statements[0]
        is_break = isinstance(only, c.Jump) and only.kind == "break" and not statement.no
        return is_break and self._jumps[self._target("break")].reps > 0

    def _is_short(self, statement: c.If) -> bool:
        own = c.walk(statement)
        if statement is not self._tail and any(isinstance(node, c.Return) for node in own):
            return False
        nodes = [*c.walk((statement, *self._called(statement)))]
        return not any(isinstance(node, c.For | c.Jump) for node in nodes) and (
            sum(isinstance(node, _OPERATIONS) for node in nodes) <= LONGEST_SELECT
        )

    def _called(self, *trees: object) -> list[c.Function]:
        """The functions that syntax trees call, directly or through others."""
        called: list[c.Function] = []
        names, stack = set[str](), list(trees)
        while stack:
            new = {x.name for x in c.walk(stack.pop()) if isinstance(x, c.Name | c.Member)} - names
            names |= new
            functions = [f for name in sorted(new) for f in self._functions.get(name, ())]
            functions += (f for several in self.methods.values() for f in several if f.name in new)
            stack += functions
            called += functions
        return called

    def _select(self, condition: Vector, statement: c.If) -> None:
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

    def _branch_off(
        self,
        condition: Vector,
        yes: c.Statement,
        no: c.Statement | None,
        at: Span,
        cleared: Sequence[ShaderVariable] = (),
    ) -> None:
        """Evaluate a branch as an IF. cleared: the flags that are 0 in its first side."""
        if len(self._bases) > MOST_IFS:
            raise Fault(f"branches are too deep inside one another; at most {MOST_IFS} may be", at)
        graph, before, start = self.graph, self.values, self.graph.segment
        first = len(graph.operations)
        graph.decide(condition, holds=True)
        sides: list[tuple[Values, StraightSegment]] = []
        alive, lost = False, True
        for word, statement in (("IF", yes), ("ELSE", no)):
            self.values = dict(before)
            if statement is yes:
                self.values |= dict.fromkeys(cleared, graph.numbers(0, kind="bool"))
            graph.spend(len(before) >> 9)
            graph.enter(word, at)
            self._bases.append(len(self._guards))
            self._alive, self._lost = True, False
            if statement is not None:
                self._do_block(c.Block((statement,)))
            self._bases.pop()
            graph.leave()
            if not self._lost:
                sides.append((self.values, start if statement is None else graph.segment))
            alive, lost = alive or self._alive, lost and self._lost
        graph.at = at
        graph.follow("ENDIF", at)
        self._alive, self._lost = alive, lost
        met = {v: self._met(condition, first, v, sides) for v in before} if sides else before
        self.values = met

    def _met(
        self,
        condition: Vector,
        first: int,
        variable: ShaderVariable,
        sides: Sequence[tuple[Values, StraightSegment]],
    ) -> Vector:
        """A variable's value after an IF. first: the first node that its sides compute."""
        ends = [(values[variable], segment) for values, segment in sides]
        value, *others = (value for value, _ in ends)
        if all(other.literals == value.literals for other in others):
            return value
        operations = self.graph.operations
        nodes = {x >> 1 for v, _ in ends for x in v.literals}
        if all(node < first or operations[node] in FREE for node in nodes):
            return self.graph.select(condition, value, *others)
        return self._homed(ends)

    def _homed(self, values: Sequence[tuple[Vector, StraightSegment]]) -> Vector:
        """A value that segments leave in homes; numbers in which all agree need none."""
        (value, _), *_ = values
        columns = [*zip(*(v.literals for v, _ in values), strict=True)]
        differing = [k for k, column in enumerate(columns) if len(set(column)) > 1]
        literals = [*value.literals]
        for lane, literal in zip(differing, self.graph.home(len(differing)), strict=True):
            literals[lane] = literal
            for (_, segment), stored in zip(values, columns[lane], strict=True):
                segment.stores[self._key(literal)] = stored
        return replace(value, literals=tuple(literals))

    def _key(self, literal: int) -> Key:
        return cast(Key, self.graph.keys[literal >> 1])


def _jumps(statement: c.Statement) -> bool:
    """Whether a statement ends with a jump, in each of its branches."""
    match statement:
        case c.Block():
            return bool(statement.statements) and _jumps(statement.statements[-1])
        case c.If():
            return _jumps(statement.yes) and statement.no is not None and _jumps(statement.no)
        case c.Jump():
            return statement.condition is None
    return isinstance(statement, c.Return)
