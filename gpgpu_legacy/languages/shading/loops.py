"""Loops, unrolled or as instructions.

A graph that does not branch has only unrolled loops. In others, a loop is unrolled if its trips are
known and few, and end without a jump. Else it is a REP, or two nested REPs if its trips are unknown
or more than a REP can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpgpu_legacy.isa.execute import MOST_TRIPS
from gpgpu_legacy.languages.arb.flow import MOST_LOOPS
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.expressions import ShaderVariable
from gpgpu_legacy.languages.shading.flow import Flow, JumpScope, Leave, Values
from gpgpu_legacy.languages.shading.graph import (
    MOST_STEPS,
    SAMPLER,
    UNREADABLE,
    Fault,
    StraightSegment,
    TooLong,
    Vector,
)

MOST_OPEN_TRIPS = 1024
"""After so many trips a loop that depends on data counts as one without a length."""

_SOME_TRIPS = 16
"""After so many trips a loop counts as one without a length, if nothing known has steered it."""

_LONGEST_UNROLLED = 2048
"""The most nodes of the syntax tree, times trips, of a loop that is unrolled."""

_MOST_UNROLLED = MOST_STEPS // 4
"""After so many statements and operations of a program no loop is unrolled."""

_MOST_KNOWN_TRIPS = 4096

_WRITERS = {"frexp", "modf", "sincos"}
"""Functions of the library that assign to an argument."""


class Loops(Flow):
    """Evaluates loops, too."""

    # Unrolled -------------------------------------------------------------------------------------

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

    def _unroll(self, loop: c.For) -> None:
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
                raise TooLong(
                    "this loop has no known length; "
                    "its number of trips must be known when the program is compiled",
                    loop.at,
                )
            trip, tests, self._steered = self._enter("continue"), True, False
            self.execute(loop.body)
            self._leave(trip)
            if self._alive and loop.step is not None:
                self.evaluate(loop.step)
        self._leave(scope)

    # As instructions ------------------------------------------------------------------------------

    def _iterate(self, loop: c.For) -> None:
        trips = None if self._selects else self._trips(loop)
        if self._selects or (trips is not None and self._unrolls(loop, trips)):
            self._unroll(loop)
            return
        count = trips
        if trips is not None and (trips > MOST_TRIPS or self._assigned(loop.condition)):
            count = None
        scope = self._enter("break")
        scope.reps = 2 if count is None else 1
        if sum(s.reps for s in self._jumps) > MOST_LOOPS:
            raise Fault(
                "loops are too deep inside one another; "
                f"{MOST_LOOPS} REPs may be; a loop of unknown length takes two",
                loop.at,
            )
        graph, start, before = self.graph, self.graph.segment, dict(self.values)
        if count is None:
            (stays,) = graph.home(1)
            scope.stays = self._key(stays)
            start.stores[scope.stays] = graph.numbers(1).literals[0]
        carried = self._carried(loop)
        for _ in range(scope.reps):
            graph.enter("REP", loop.at, count or MOST_TRIPS)
        self._bases.append(len(self._guards))
        self._trip(loop if count is None else replace(loop, condition=None), scope)
        ends = [(graph.segment, self.values, True)] if self._alive and count is not None else []
        self._carry(carried, before, start)
        self._bases.pop()
        graph.leave()
        graph.follow("ENDREP", loop.at)
        if count is None:
            graph.segment.test = stays, "EQ"
            graph.follow("BRK", loop.at)
            graph.leave()
            graph.follow("ENDREP", loop.at)
        leaves = scope.leaves + ends
        if not leaves:
            raise Fault("this loop has no end; leave it by a break", loop.at)
        self.values = {v: self._out(v, carried.get(v), leaves) for v in before}
        self._jumps.pop()
        self.values.pop(scope.flag)
        self._lost = False
        self._alive = all(self.values[s.flag].constant != (1.0,) for s in self._jumps)

    def _trip(self, loop: c.For, scope: JumpScope) -> None:
        """Evaluate the trip of a REP."""
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
        """The number of trips by a loop's head; None if it is too large or depends on data."""
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
        """The names that a syntax tree may assign to, without the functions that it calls."""
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
        """Give homes to the variables that a loop changes; the homes begin with their values."""
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
        """Store in homes what a trip changes; the value before replaces an unchanged home."""
        graph = self.graph
        for variable in before.keys() - carried.keys() if self._alive else ():
            is_kept = self.values[variable].literals == before[variable].literals
            assert is_kept or variable.name in ("", "return")  # only a jump gives these a meaning
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
                    graph.same[home >> 1] = old

    def _out(
        self,
        variable: ShaderVariable,
        homes: Vector | None,
        leaves: Sequence[Leave],
    ) -> Vector:
        """A variable's value after a loop. homes: where its trips leave it, if they change it."""
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


def is_out(p: c.Declaration) -> bool:
    """Whether a parameter assigns to its argument."""
    return bool(p.type.qualifiers & {"out", "inout"})
