"""Instruction selection: the scalar operations that a graph's results need, with MAD and _SAT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import CONSTANT, LEAF, PART, UNREADABLE, Graph, Literals

LEAVES = (CONSTANT, LEAF)


@dataclass(slots=True)
class Operation:
    """One scalar operation, or one with vector operands. key: of a lookup its texture, of a part
    its component, of a leaf its register and component, of a constant its magnitude.
    """

    mnemonic: str
    operands: Literals
    saturate: bool
    key: Hashable
    span: Span


def selected(
    graph: Graph, roots: Sequence[int], placed: Callable[[int], Hashable] = lambda _: None
) -> dict[int, Operation]:
    """The operations that the roots need, by node, operands first.

    roots: literals. placed: where a node already lies; None of one that is to be computed.
    """

    @cache
    def read(node: int) -> tuple[str, Literals]:
        if placed(node):
            return LEAF, ()
        return graph.operations[node], tuple(map(graph.resolved, graph.operands[node]))

    uses = _uses(read, roots)
    adding = Counter(
        literal >> 1 for node in uses if read(node)[0] == "ADD" for literal in read(node)[1]
    )
    products = {node for node in uses if read(node)[0] == "MUL" and adding[node] == uses[node]}
    made: dict[int, Operation] = {}
    needed = {literal >> 1 for literal in roots}
    for node in sorted(uses, reverse=True):
        if node not in needed:
            continue
        mnemonic, operands = read(node)
        if mnemonic is UNREADABLE:
            raise Fault(*cast(tuple[str, str, Span], graph.keys[node]))
        saturate = mnemonic == "SAT"
        if saturate:
            value = operands[0] >> 1
            mnemonic, folds = "MOV", uses[value] == 1 and not operands[0] & 1
            if folds and read(value)[0] not in (*LEAVES, PART, "SAT"):
                mnemonic, operands = read(value)
        places = [
            place for place in (0, 1) if mnemonic == "ADD" and operands[place] >> 1 in products
        ]
        if places:  # MAD, which the machine rounds twice, if no one else needs the product
            place = min(places, key=lambda place: (uses[operands[place] >> 1] > 1, -place))
            a, b = read(operands[place] >> 1)[1]
            mnemonic, operands = "MAD", (a ^ (operands[place] & 1), b, operands[1 - place])
        key = placed(node) or graph.keys[node]
        made[node] = Operation(mnemonic, operands, saturate, key, graph.spans[node])
        needed.update(literal >> 1 for literal in operands)
    return dict(reversed(made.items()))


def _uses(read: Callable[[int], tuple[str, Literals]], roots: Iterable[int]) -> Counter[int]:
    """How often each needed node is used."""
    uses = Counter(literal >> 1 for literal in roots)
    for node in range(max(uses, default=-1), -1, -1):
        if node in uses:
            for literal in read(node)[1]:
                uses[literal >> 1] += 1
    return uses
