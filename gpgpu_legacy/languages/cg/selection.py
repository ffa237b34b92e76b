"""Instruction selection: the scalar operations that a graph's results need, with MAD and _SAT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from gpgpu_legacy.isa.ir import Span
from gpgpu_legacy.languages.cg.graph import CONSTANT, LEAF, PART, Graph, Literals

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


def selected(graph: Graph, roots: Iterable[int]) -> dict[int, Operation]:
    """The operations that the roots need, by node, operands first."""
    roots = list(roots)
    uses = _uses(graph, roots)
    adding = Counter(
        literal >> 1
        for node in uses
        if graph.operations[node] == "ADD"
        for literal in graph.operands[node]
    )
    made: dict[int, Operation] = {}
    for node in sorted(uses):
        mnemonic, operands = graph.operations[node], graph.operands[node]
        operation = Operation(mnemonic, operands, False, graph.keys[node], graph.spans[node])
        if mnemonic == "SAT":
            (value,) = operands
            operation.mnemonic, operation.saturate = "MOV", True
            inner = made[value >> 1]
            foldable = not value & 1 and uses[value >> 1] == 1
            if foldable and inner.mnemonic not in (*LEAVES, PART) and not inner.saturate:
                operation.mnemonic, operation.operands = inner.mnemonic, inner.operands
        elif mnemonic == "ADD":
            _fuse(operation, made, uses, adding)
        made[node] = operation
    return _live(made, roots)


def _fuse(
    add: Operation, made: dict[int, Operation], uses: Counter[int], adding: Counter[int]
) -> None:
    """A sum with a product as MAD, which the machine rounds twice, if no one else needs it."""
    products = [
        (uses[literal >> 1] > 1, -place)
        for place, literal in enumerate(add.operands)
        if made[literal >> 1].mnemonic == "MUL" and adding[literal >> 1] == uses[literal >> 1]
    ]
    if products:
        place = -min(products)[1]
        product, other = add.operands[place], add.operands[1 - place]
        a, b = made[product >> 1].operands
        add.mnemonic, add.operands = "MAD", (a ^ (product & 1), b, other)


def _uses(graph: Graph, roots: list[int]) -> Counter[int]:
    """How often each needed node is used."""
    uses = Counter(literal >> 1 for literal in roots)
    for node in range(max(uses, default=-1), -1, -1):
        if node in uses:
            for literal in graph.operands[node]:
                uses[literal >> 1] += 1
    return uses


def _live(made: dict[int, Operation], roots: list[int]) -> dict[int, Operation]:
    needed = {literal >> 1 for literal in roots}
    for node in reversed(made):
        if node in needed:
            needed.update(literal >> 1 for literal in made[node].operands)
    return {node: operation for node, operation in made.items() if node in needed}
