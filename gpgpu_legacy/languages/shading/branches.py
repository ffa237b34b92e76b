"""Statements that branch, loop and jump as instructions do: an `if` is an IF, a loop a REP.

It is what a graph that branches makes of a text. An `if` stays a select if it is short: if it has
at most LONGEST_SELECT operators, assignments and calls, no loop and no jump but the last `return`s
of a function. (An IF with its ENDIF took a GeForce 6 four cycles, with an ELSE six: GPU Gems 2,
Table 34-1.) A loop is unrolled if its trips are known, few, and end without a jump; else it is a
REP, two in one another if its trips are unknown or more than a REP has.

The rest of a block after a side that ends with a jump becomes the other side. A fragment that jumps
out of an IF to somewhere else sets a flag, and what lies between is under an IF, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import cast

from gpgpu_legacy.isa.execute import MOST_TRIPS
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.arb.flow import MOST_IFS, MOST_LOOPS
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.expressions import ShaderVariable
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.flow import JumpScope, Leave, StraightFlow, Values, is_out
from gpgpu_legacy.languages.shading.graph import (
    FREE,
    MOST_STEPS,
    SAMPLER,
    UNREADABLE,
    Graph,
    IfBranch,
    Key,
    LoopBreak,
    Region,
    RepLoop,
    StraightSegment,
    Vector,
)

LONGEST_SELECT = 6
"""Operators, assignments and calls of an `if` that is a select."""

_LONGEST_UNROLLED = 2048
"""Nodes of the syntax tree, times trips, of a loop that is unrolled."""

_MOST_UNROLLED = MOST_STEPS // 4
"""Statements and operations of a program after which no loop is unrolled."""

_MOST_KNOWN_TRIPS = 4096


class BranchingFlow(StraightFlow):
    """Evaluates statements with regions, if the graph branches."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._lost = False
        """Whether all fragments that do not get here have left for good, by a BRK or a KIL."""
        self._tail: c.Statement | None = None
        """A statement after which a function ends."""

    @property
    def _selects(self) -> bool:
        """Whether this is a straight line, or inside a select."""
        return not self.graph.branching or len(self._guards) > self._bases[-1]

    # Blocks and jumps -----------------------------------------------------------------------------

    def _do_block(self, block: c.Block) -> None:
        if self._selects:
            super()._do_block(block)
            return
        self.scopes.append({})
        is_body = bool(self._active) and block is self._active[-1].body
        for number, statement in enumerate(block.statements, 1):
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
        """An `if`; if one of its sides ends with a jump, the rest of its block joins the other."""
        if not isinstance(statement, c.If) or not rest or self._breaks(statement):
            return statement
        if _jumps(statement.yes):
            others = (statement.no, *rest) if statement.no else rest
            return replace(statement, no=c.Block(tuple(others), at=statement.at))
        if statement.no and _jumps(statement.no):
            return replace(statement, yes=c.Block((statement.yes, *rest), at=statement.at))
        return statement

    def _gone(self) -> list[ShaderVariable]:
        """The flags of fragments that have left this place. If they leave the loop, they break."""
        number = max((k for k, scope in enumerate(self._jumps) if scope.reps), default=-1)
        outer, inner = (
            [s.flag for s in scopes if self.values[s.flag].constant != (0.0,)]
            for scopes in (self._jumps[: number + 1], self._jumps[number + 1 :])
        )
        if outer:
            self._break(self._jumps[number], ~reduce(or_, (self.values[f] for f in outer)))
            self.values |= dict.fromkeys(outer, self.graph.numbers(0, kind="bool"))
        return inner

    def _do_jump(self, jump: c.Jump) -> None:
        super()._do_jump(jump)
        if jump.kind == "discard" and not self._alive:
            self._lost = True
            if any(scope.reps for scope in self._jumps):  # which no longer end for this fragment
                self._flag(0)

    def _exit(self, jump: str, *guards: Vector) -> None:
        number = self._target(jump)
        if self._jumps[number].depth == len(self._bases):
            super()._exit(jump, *guards)
        else:
            self._flag(number)

    def _flag(self, number: int) -> None:
        """Leave for a scope outside this region, by a BRK if it is outside a REP."""
        scope = self._jumps[number]
        loop = next((s for s in reversed(self._jumps[number:]) if s.reps), None)
        if scope is not loop:
            scope.flagged = True
            self.values[scope.flag] = self.graph.numbers(1, kind="bool")
        if loop:
            self._break(loop)

    def _leave(self, scope: JumpScope, *, falls: bool = True) -> None:
        super()._leave(scope, falls=falls)
        flag = self.values.pop(scope.flag, None)
        if flag is not None and flag.constant != (0.0,):
            self._alive, self._lost = True, False

    # Branches -------------------------------------------------------------------------------------

    def _choose(self, condition: Vector, statement: c.If) -> None:
        if self._selects or self._is_short(statement):
            super()._choose(condition, statement)
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
        """The functions that syntax trees call, and that these call."""
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

    def _branch_off(
        self,
        condition: Vector,
        yes: c.Statement,
        no: c.Statement | None,
        at: Span,
        cleared: Sequence[ShaderVariable] = (),
    ) -> None:
        """An IF. cleared: the flags that are 0 in its first side."""
        if len(self._bases) > MOST_IFS:
            expected = f"at most {MOST_IFS} may be"
            raise Fault("branches are too deep inside one another", expected, at)
        graph, before, start = self.graph, self.values, self.graph.segment
        first = len(graph.operations)
        branch = IfBranch([], [], at)
        graph.decide(condition, holds=True)
        sides: list[tuple[Values, StraightSegment]] = []
        alive, lost = False, True
        for region, statement in ((branch.then, yes), (branch.otherwise, no)):
            self.values = dict(before)
            if statement is yes:
                self.values |= dict.fromkeys(cleared, graph.numbers(0, kind="bool"))
            graph.spend(len(before) >> 9)
            graph.enter(region)
            self._bases.append(len(self._guards))
            self._alive, self._lost = True, False
            if statement is not None:
                self._do_block(c.Block((statement,)))
            self._bases.pop()
            segment = graph.leave()
            if not self._lost:
                sides.append((self.values, start if statement is None else segment))
            alive, lost = alive or self._alive, lost and self._lost
        graph.at = at
        graph.follow(branch)
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
        """A variable after an IF. first: the first node that one of its sides computes."""
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
        """A value that segments leave in homes; numbers in which they agree have none."""
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

    # Loops ----------------------------------------------------------------------------------------

    def _iterate(self, loop: c.For) -> None:
        trips = None if self._selects else self._trips(loop)
        if self._selects or (trips is not None and self._unrolls(loop, trips)):
            super()._iterate(loop)
            return
        count = trips
        if trips is not None and (trips > MOST_TRIPS or self._assigned(loop.condition)):
            count = None
        scope = self._enter("break")
        scope.reps = 2 if count is None else 1
        if sum(s.reps for s in self._jumps) > MOST_LOOPS:
            expected = f"{MOST_LOOPS} REPs may be; a loop of unknown length takes two"
            raise Fault("loops are too deep inside one another", expected, loop.at)
        graph, start, before = self.graph, self.graph.segment, dict(self.values)
        if count is None:
            (stays,) = graph.home(1)
            scope.stays = self._key(stays)
            start.stores[scope.stays] = graph.numbers(1).literals[0]
        carried = self._carried(loop)
        regions: list[Region] = [[] for _ in range(scope.reps)]
        for region in regions:
            graph.enter(region)
        self._bases.append(len(self._guards))
        self._trip(loop if count is None else replace(loop, condition=None), scope)
        ends = [(graph.segment, self.values, True)] if self._alive and count is not None else []
        self._carry(carried, before, start)
        self._bases.pop()
        graph.leave()
        graph.follow(RepLoop(count or MOST_TRIPS, regions[-1], loop.at))
        if count is None:
            graph.segment.test = stays, "EQ"
            graph.follow(LoopBreak(loop.at))
            graph.leave()
            graph.follow(RepLoop(MOST_TRIPS, regions[0], loop.at))
        leaves = scope.leaves + ends
        if not leaves:
            raise Fault("this loop has no end", "leave it by a break", loop.at)
        self.values = {v: self._out(v, carried.get(v), leaves) for v in before}
        self._jumps.pop()
        self.values.pop(scope.flag)
        self._lost = False
        self._alive = all(self.values[s.flag].constant != (1.0,) for s in self._jumps)

    def _trip(self, loop: c.For, scope: JumpScope) -> None:
        """A trip of a loop."""
        if loop.tests_first:
            self._test(scope, loop.condition)
        trip = self._enter("continue")
        self.execute(loop.body)
        self._leave(trip)
        if self._alive:
            self._gone()
            if loop.step is not None:
                self.evaluate(loop.step)
        if self._alive and not loop.tests_first:
            self._test(scope, loop.condition)

    def _trips(self, loop: c.For) -> int | None:
        """The trips of a loop, as far as its head tells; None if they depend on data."""
        head = loop.condition, loop.step
        read = {node.name for node in c.walk(head) if isinstance(node, c.Name)}
        if loop.condition is None or read & self._assigned(loop.body):
            return None
        before, trips = dict(self.values), int(not loop.tests_first)
        truth = self._truth(loop.condition)
        while truth is True and trips <= _MOST_KNOWN_TRIPS:
            trips += 1
            if loop.step is not None:
                self.evaluate(loop.step)
            truth = self._truth(loop.condition)
        self.values = before
        return trips if truth is False else None

    def _unrolls(self, loop: c.For, trips: int) -> bool:
        nodes = [*c.walk(loop.body)]
        inner = {
            id(node) for x in nodes if isinstance(x, c.For) for node in c.walk(x.body)
            if isinstance(node, c.Jump) and node.kind != "discard"
        }  # fmt: skip
        jumps = (isinstance(x, c.Return | c.Jump) and id(x) not in inner for x in nodes)
        is_few = trips * len(nodes) <= _LONGEST_UNROLLED and self.graph.steps < _MOST_UNROLLED
        return not trips or (is_few and not any(jumps))

    def _assigned(self, *trees: object) -> set[str]:
        """The names that syntax trees may assign to, in functions that they call as well."""
        names = self._own_assigned(trees)
        for function in self._called(*trees):
            nodes = c.walk(function)
            own = {node.name for node in nodes if isinstance(node, c.Declaration)}
            names |= self._own_assigned(function) - own
        return names

    def _own_assigned(self, tree: object) -> set[str]:
        """The same, without the functions."""
        names, targets = set[str](), list[object]()
        for node in c.walk(tree):
            if isinstance(node, c.Assign):
                targets.append(node.target)
            elif isinstance(node, c.Call):
                name = getattr(node.function, "name", "")
                parameters = (p for f in self._functions.get(name, ()) for p in f.parameters)
                is_method = isinstance(node.function, c.Member)
                if is_method or name in _WRITERS or any(map(is_out, parameters)):
                    targets += [node.function, *node.arguments]
        for part in targets:
            if isinstance(part, c.Member | c.Index):
                targets.append(part.base)
            elif isinstance(part, c.Name):
                names.add(part.name)
        return names

    def _carried(self, loop: c.For) -> dict[ShaderVariable, Vector]:
        """Homes of the variables that a loop changes, which have their values before it."""
        names = self._assigned(loop.body, loop.condition, loop.step)
        variables = {scope[n]: None for scope in self.scopes for n in sorted(names) if n in scope}
        carried = {}
        for variable in variables:
            value = self.values.get(variable)
            if value is None or variable.is_constant:
                continue
            literals = [*value.literals]
            self.graph.spend(len(literals) >> 2)
            for lane, home in enumerate(self.graph.home(len(literals))):
                if self.graph.operations[literals[lane] >> 1] not in (SAMPLER, UNREADABLE):
                    self.graph.segment.stores[self._key(home)] = literals[lane]
                    literals[lane] = home
            carried[variable] = replace(value, literals=tuple(literals))
        self.values |= carried
        return carried

    def _carry(self, carried: Values, before: Values, start: StraightSegment) -> None:
        """Store in homes what a trip changes; a home that no trip changes is its value before."""
        graph = self.graph
        for variable in before.keys() - carried.keys() if self._alive else ():
            is_kept = self.values[variable].literals == before[variable].literals
            assert is_kept or variable.name in ("", "return")  # which a jump alone gives a meaning
        for variable, homes in carried.items():
            ends = self.values[variable] if self._alive else homes
            for home, end, old in zip(
                homes.literals, ends.literals, before[variable].literals, strict=True
            ):
                if home == old:
                    continue
                if graph.resolved(end) != home:
                    graph.segment.stores[self._key(home)] = end
                else:
                    del start.stores[self._key(home)]
                    graph.equate(home >> 1, old)

    def _out(
        self,
        variable: ShaderVariable,
        homes: Vector | None,
        leaves: Sequence[Leave],
    ) -> Vector:
        """A variable after a loop. homes: where its trips leave it."""
        graph = self.graph

        def resolved(value: Vector) -> Vector:
            return replace(value, literals=tuple(map(graph.resolved, value.literals)))

        ends = [(resolved(values[variable]), segment) for segment, values, _ in leaves]
        seen = [
            resolved(homes) if is_end and homes else end
            for (end, _), (_, _, is_end) in zip(ends, leaves, strict=True)
        ]
        first, *others = seen
        if all(first.literals == other.literals for other in others):
            return first
        return self._homed(ends)

    def _test(self, scope: JumpScope, condition: c.Expression | None) -> None:
        """Leave a loop unless its condition holds."""
        truth = self._truth(condition) if condition is not None else True
        if truth is not True:
            self._break(scope, truth or None)

    def _break(self, scope: JumpScope, stays: Vector | None = None) -> None:
        """Leave a REP, or where a condition does not hold."""
        graph, segment = self.graph, self.graph.segment
        if scope.stays:
            (literal,) = (stays or graph.numbers(0)).literals
            segment.stores[scope.stays] = literal
            if stays:
                segment.tested, segment.test = scope.stays, (literal, "EQ")
        elif stays:
            graph.decide(stays, holds=False)
        scope.leaves.append((segment, dict(self.values), False))
        graph.follow(LoopBreak(graph.at))
        if not stays:
            self._alive, self._lost = False, True


_WRITERS = {"frexp", "modf", "sincos"}
"""Functions of the library that assign to an argument."""

_OPERATIONS = (c.Binary, c.Unary, c.Conditional, c.Assign, c.Call)


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
