"""Kernels that are too long for a chip, cut in two: one pass saves what the next one goes on from.

brcc split kernels so (Foley, Houston & Hanrahan 2004); here the first pass is as long as it can be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from gpgpu_legacy.languages.shading.graph import CONSTANT, LEAF, PART, Graph, Vector

_FREE = {CONSTANT, LEAF, "TEX", PART}
"""Operations that both passes do: what they need of them has no address to compute."""


class Cuts:
    """The places where a graph can be cut so that at most `room` numbers cross.

    A cut is the numbers that are computed before it and read after it, as literals.
    """

    def __init__(self, graph: Graph, vectors: Sequence[Vector], room: int) -> None:
        """vectors: the results."""
        self.graph, self.vectors = graph, vectors
        results = {x >> 1 for v in vectors for x in v.literals}
        results |= {x >> 1 for kill in graph.kills for x in kill}
        last = {node: len(graph.operations) for node in results}
        for node in range(len(graph.operations) - 1, -1, -1):
            if node in last:
                for operand in graph.operands[node]:
                    last.setdefault(operand >> 1, node)
        self.nodes = sorted(last)
        self.free: set[int] = set()
        for node in self.nodes:
            again = all(operand >> 1 in self.free for operand in graph.operands[node])
            if again and graph.operations[node] in _FREE:
                self.free.add(node)
        wide = {graph.operands[n][0] >> 1 for n in last if graph.operations[n] is PART}
        self.cuts: list[tuple[int, tuple[int, ...]]] = []
        crossing: list[int] = []
        for node in self.nodes:
            crossing = [n for n in crossing if last[n] >= node]
            fits = 0 < len(crossing) <= room and wide.isdisjoint(crossing)
            if fits and not self._is_next_lane(node):
                self.cuts.append((node, tuple(2 * n for n in crossing)))
            if node not in self.free:
                crossing.append(node)

    def _is_next_lane(self, node: int) -> bool:
        """Whether the node computes the component after that of the node before."""
        graph, before = self.graph, node - 1
        if graph.operations[node] != graph.operations[before]:
            return False
        operands = zip(graph.operands[node], graph.operands[before], strict=True)
        return all(a - b in {0, 2} for a, b in operands)

    def latest(self, is_long: Callable[[Vector], bool]) -> tuple[int, Vector] | None:
        """The last cut before which a program is not too long; None if there is none.

        Returns the first node after it, and what crosses it.
        """

        def crossing(cut: tuple[int, tuple[int, ...]]) -> Vector:
            return Vector(self.graph, "float", cut[1])

        place = bisect_right(self.cuts, 0, key=lambda cut: int(is_long(crossing(cut))))
        return (self.cuts[place - 1][0], crossing(self.cuts[place - 1])) if place else None

    def rest(
        self, graph: Graph, first: int, known: Sequence[tuple[Vector, Vector]]
    ) -> list[Vector]:
        """The results in another graph, computed from the first node on.

        known: what crosses the cut, and the same in the other graph.
        """
        made = {
            old >> 1: new
            for vector, copy in known
            for old, new in zip(vector.literals, copy.literals, strict=True)
        }

        def literal(old: int) -> int:
            return made[old >> 1] ^ (old & 1)

        own = self.graph
        for n in self.nodes:
            if n not in made and (n >= first or n in self.free):
                graph.at = own.spans[n]
                operands = tuple(map(literal, own.operands[n]))
                made[n] = 2 * graph.node(own.operations[n], operands, own.keys[n])
        graph.kills = [tuple(map(literal, kill)) for kill in own.kills]
        return [Vector(graph, v.kind, tuple(map(literal, v.literals))) for v in self.vectors]
