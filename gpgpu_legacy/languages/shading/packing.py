"""Selects the scalar operations that results need, and packs them into vector instructions.

Selection forms MAD and _SAT. Operations of one kind share an instruction if their results can lie
in one register and so can their operands at each place. Scalars that must lie together form a
class, of at most four. Packing starts from scalars without a choice: results, and the operands of
lookups and dot products. It goes on to the operations that compute them, and then tries independent
ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import cast

from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.isa.program import DestinationRegister, Span, TextureSource
from gpgpu_legacy.languages.shading.graph import (
    CONSTANT,
    LEAF,
    PART,
    UNREADABLE,
    Fault,
    Graph,
    Literals,
)

_COMPUTED = (CONSTANT, LEAF, PART)
"""Operations that are no instructions."""

Lanes = dict[DestinationRegister, dict[int, int]]
"""Literals by register and component."""


@dataclass(slots=True)
class ScalarOperation:
    """One scalar operation, or one with vector operands.

    key: a lookup's texture, a part's component, a leaf's register and component, or a constant's
    magnitude.
    """

    mnemonic: str
    operands: Literals
    saturate: bool
    key: Hashable
    span: Span


def selected(
    graph: Graph, roots: Sequence[int], placed: Callable[[int], Hashable]
) -> dict[int, ScalarOperation]:
    """The operations that the roots need, by node, operands first.

    roots: literals. placed: tells where a node already lies; None for a node to compute.
    """

    @cache
    def read(node: int) -> tuple[str, Literals]:
        if placed(node):
            return LEAF, ()
        return graph.operations[node], tuple(map(graph.resolved, graph.operands[node]))

    uses = Counter(literal >> 1 for literal in roots)
    for node in range(max(uses, default=-1), -1, -1):
        if node in uses:
            for literal in read(node)[1]:
                uses[literal >> 1] += 1
    adding = Counter(
        literal >> 1 for node in uses if read(node)[0] == "ADD" for literal in read(node)[1]
    )
    products = {node for node in uses if read(node)[0] == "MUL" and adding[node] == uses[node]}
    operations: dict[int, ScalarOperation] = {}
    needed = {literal >> 1 for literal in roots}
    for node in sorted(uses, reverse=True):
        if node not in needed:
            continue
        mnemonic, operands = read(node)
        if mnemonic is UNREADABLE:
            raise Fault(*cast(tuple[str, Span], graph.keys[node]))
        saturate = mnemonic == "SAT"
        if saturate:
            value = operands[0] >> 1
            mnemonic, folds = "MOV", uses[value] == 1 and not operands[0] & 1
            if folds and read(value)[0] not in (*_COMPUTED, "SAT"):
                mnemonic, operands = read(value)
        places = [
            place for place in (0, 1) if mnemonic == "ADD" and operands[place] >> 1 in products
        ]
        if places:  # MAD, which the machine rounds twice, if only ADDs need the product
            place = min(places, key=lambda place: (uses[operands[place] >> 1] > 1, -place))
            a, b = read(operands[place] >> 1)[1]
            mnemonic, operands = "MAD", (a ^ (operands[place] & 1), b, operands[1 - place])
        key = placed(node) or graph.keys[node]
        operations[node] = ScalarOperation(mnemonic, operands, saturate, key, graph.spans[node])
        needed.update(literal >> 1 for literal in operands)
    return dict(reversed(operations.items()))


_NEIGHBOURS = 4
"""How many later packs of its kind a pack is tried with."""

_MOST_VISITS = 100
"""How many packs may move for one merge."""


@dataclass(eq=False)
class Class:
    """Scalars of one register. fixed: by lane, those that have no choice."""

    members: list[int]
    fixed: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class Pack:
    """One instruction.

    nodes: the operations that it computes. level: its place in an order with operands first. depth:
    the length of the chain of lookups that it waits for, its own included. feeds: whether a lookup
    depends on it. pulled: how many of its nodes had their operands tried together.
    """

    nodes: list[int]
    level: int = 0
    depth: int = 0
    feeds: bool = False
    pulled: int = 0


class Packer:
    """Packs the operations of a segment. `packs` has the instructions."""

    def __init__(
        self,
        operations: dict[int, ScalarOperation],
        results: Lanes,
        kills: Sequence[Literals],
    ) -> None:
        """kills: the operands of each KIL."""
        self._written = {(r, lane) for r, lanes in results.items() for lane in lanes}
        self.operations: dict[int, ScalarOperation] = {}
        """Operands come before what reads them."""
        self.lanes: dict[int, tuple[DestinationRegister, list[int]]] = {}
        """The results that nodes write directly."""
        self.classes: dict[int, Class] = {}
        self.parts: dict[int, list[int]] = defaultdict(list)
        """The nodes that are parts of a vector result."""
        self.users: dict[int, list[int]] = defaultdict(list)
        self.pack_of: dict[int, Pack] = {}
        self._log: list[tuple[int, Class]] = []
        self._copies: dict[Literals, Literals] = {}
        self._new = max(operations, default=0)
        for node, operation in operations.items():
            self._settle(operation)
            self._add(node, operation)
        self.kills = [
            self._operation("KIL", group)
            for kill in kills
            for group in ([kill] if self._together(kill) else [(literal,) for literal in kill])
        ]
        groups = self._placed(results)
        self._order()
        self._pack(groups)

    @property
    def packs(self) -> list[Pack]:
        """The distinct packs."""
        return list(dict.fromkeys(self.pack_of.values()))

    # What must lie together -----------------------------------------------------------------------

    def _add(self, node: int, operation: ScalarOperation) -> None:
        self.operations[node] = operation
        if operation.mnemonic == PART:
            assert isinstance(operation.key, int)
            parts = self.parts[operation.operands[0] >> 1]
            self.classes[node] = of_whole = self.classes[parts[0]] if parts else Class([])
            parts.append(node)
            of_whole.members.append(node)
            of_whole.fixed[operation.key] = node
        elif operation.mnemonic not in _COMPUTED:
            self.classes[node] = Class([node])

    def _operation(self, mnemonic: str, operands: Literals) -> int:
        self._new += 1
        span = self.operations[operands[0] >> 1].span
        self._add(self._new, ScalarOperation(mnemonic, operands, False, None, span))
        return self._new

    def producer(self, node: int) -> int:
        """The node whose instruction computes a node: for a part, its whole."""
        operation = self.operations[node]
        return operation.operands[0] >> 1 if operation.mnemonic == PART else node

    def read(self, pack: Pack) -> list[int]:
        """The literals that a pack reads."""
        return [x for node in pack.nodes for x in self.operations[node].operands]

    def sources(self, literals: Iterable[int]) -> list[Pack]:
        """The packs that compute literals."""
        producers = (self.producer(x >> 1) for x in literals)
        return [*dict.fromkeys(self.pack_of[n] for n in producers if n in self.pack_of)]

    def reads(self, node: int) -> set[tuple[object, int]]:
        """The written components of registers that a node's operands read."""
        operands = (self.operations[x >> 1] for x in self.operations[node].operands)
        leaves = {cast(tuple[object, int], o.key) for o in operands if o.mnemonic == LEAF}
        return leaves & self._written

    def _placed(self, results: Lanes) -> list[Literals]:
        """The literals of each result, written by the node that computes them, or else by a MOV.

        A node that reads components written elsewhere is computed first, and its value moved.
        """
        read = {x >> 1 for operation in self.operations.values() for x in operation.operands}
        homes: dict[int, list[tuple[DestinationRegister, int]]] = defaultdict(list)
        for register, literals in results.items():
            for lane, literal in literals.items():
                homes[literal].append((register, lane))
        for literal, lanes in homes.items():
            registers = dict.fromkeys(register for register, _ in lanes)
            moved = literal & 1 or literal >> 1 in read or literal ^ 1 in homes
            moved = moved or self.operations[literal >> 1].mnemonic in _COMPUTED
            for register in registers:
                own = [lane for other, lane in lanes if other is register]
                is_own = not moved and len(registers) == 1
                node = literal >> 1 if is_own else self._operation("MOV", (literal,))
                if self.reads(node) - {(register, lane) for lane in own}:
                    node = self._operation("MOV", (2 * node,))
                self.lanes[node] = register, own
        return [
            tuple(2 * node for node, (other, _) in self.lanes.items() if other is register)
            for register in results
        ]

    def _home(self, literal: int) -> tuple[object, int, int]:
        """A literal's register if it is known, or CONSTANT; its sign; and its class."""
        operation, sign = self.operations[literal >> 1], literal & 1
        if operation.mnemonic == CONSTANT:
            return CONSTANT, 0, 0
        if operation.mnemonic == LEAF:
            return id(operation.key[0]), sign, 0  # type: ignore[index]
        return None, sign, id(self.classes[literal >> 1])

    def _together(self, literals: Sequence[int]) -> bool:
        """Make literals one operand, if they can be."""
        return len({self._home(literal)[:2] for literal in literals}) == 1 and self._join(
            [literal >> 1 for literal in literals if literal >> 1 in self.classes]
        )

    def _join(self, nodes: Sequence[int]) -> bool:
        """Make nodes members of one class, if they can be."""
        classes = {id(c): c for c in (self.classes[node] for node in nodes)}
        if len(classes) < 2:
            return True
        members = [m for c in classes.values() for m in c.members]
        fixed = {lane: m for c in classes.values() for lane, m in c.fixed.items()}
        if len(members) > 4 or len(fixed) < sum(len(c.fixed) for c in classes.values()):
            return False
        joined = Class(members, fixed)
        for member in members:
            self._log.append((member, self.classes[member]))
            self.classes[member] = joined
        return True

    # Operands without a choice --------------------------------------------------------------------

    def _settle(self, operation: ScalarOperation) -> None:
        """Bring each operand of a lookup, dot product or the like into one register."""
        groups = operand_groups(operation) or []
        moves = sum(len({self._home(x) for x in group}) - 1 for group in groups)
        if operation.mnemonic in ("DP3", "DP4") and moves >= len(groups[0]):
            # Scattered scalars: products and sums give the same bits without moves.
            (first, *others), last = zip(*groups, strict=True), 0
            last = 2 * self._operation("MUL", first)
            for pair in others[:-1]:
                last = 2 * self._operation("MAD", (*pair, last))
            operation.mnemonic, operation.operands = "MAD", (*others[-1], last)
        elif groups:
            operation.operands = tuple(x for group in groups for x in self._required(group))

    def _required(self, group: Literals) -> Literals:
        """A group in one register: as it is, or with copies of scalars that lie elsewhere."""
        if self._together(group):
            return group
        if group not in self._copies:
            by_home: dict[object, set[int]] = defaultdict(set)
            for literal in group:
                by_home[self._home(literal)].add(literal)
            kept = max(
                (k for k in by_home.values() if self._has_room(k, group)), key=len, default=set()
            )
            sign = next(iter(kept), 0) & 1
            copies = {
                literal: 2 * self._operation("MOV", (literal ^ sign,)) ^ sign
                for literal in dict.fromkeys(group)
                if literal not in kept
            }
            self._copies[group] = tuple(copies.get(literal, literal) for literal in group)
            self._together(self._copies[group])
        return self._copies[group]

    def _has_room(self, kept: set[int], group: Literals) -> bool:
        """Whether the register of some of a group has room for copies of the others."""
        class_ = self.classes.get(next(iter(kept)) >> 1)
        return class_ is not None and len(class_.members) + len(set(group) - kept) <= 4

    # Order ----------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Make a pack for each operation, with its level, its depth in lookups and its users."""
        for node, operation in self.operations.items():
            if operation.mnemonic not in _COMPUTED:
                self.pack_of[node] = pack = Pack([node])
                for source in (self.producer(x >> 1) for x in operation.operands):
                    self.users[source].append(node)
                    before = self.pack_of.get(source, pack)
                    pack.level = max(pack.level, before.level + 1)
                    pack.depth = max(pack.depth, before.depth)
                pack.depth += is_lookup(operation)
        for node in reversed(self.pack_of):
            self.pack_of[node].feeds = any(
                self.pack_of[user].feeds or is_lookup(self.operations[user])
                for user in self.users[node]
            )

    def _raised(self, a: Pack, b: Pack) -> bool:
        """Bring two packs to one level, if neither waits for the other."""
        target = max(a.level, b.level)
        changed: dict[Pack, int] = {}
        stack = [(pack, target) for pack in (a, b)]
        while stack:
            pack, level = stack.pop()
            if level <= changed.get(pack, pack.level):
                continue
            if (level > target and pack in (a, b)) or len(changed) > _MOST_VISITS:
                return False
            changed[pack] = level
            stack += [
                (self.pack_of[user], level + 1) for node in pack.nodes for user in self.users[node]
            ]
        for pack, level in changed.items():
            pack.level = level
        return True

    # Packing --------------------------------------------------------------------------------------

    def _pack(self, work: list[Literals]) -> None:
        for operation in self.operations.values():
            work += operand_groups(operation) or ()
        self._pull(work)
        buckets: dict[Hashable, list[Pack]] = defaultdict(list)
        for pack in sorted(self.packs, key=lambda p: -p.level):
            if len(pack.nodes) < 4:
                buckets[self._key(pack)].append(pack)
        for bucket in buckets.values():
            for index, pack in enumerate(bucket):
                for other in bucket[index + 1 : index + 1 + _NEIGHBOURS]:
                    if pack.nodes and other.nodes and self._merge(pack, other):
                        self._pull(self.groups(pack))

    def _pull(self, work: list[Literals]) -> None:
        """Merge the packs that compute each group, and then those that compute their operands."""
        while work:
            kept: list[Pack] = []
            for pack in self.sources(work.pop()):
                if not any(self._merge(other, pack) for other in kept):
                    kept.append(pack)
            for pack in kept:
                if len(pack.nodes) > max(pack.pulled, 1):
                    pack.pulled = len(pack.nodes)
                    work += self.groups(pack)

    def groups(self, pack: Pack) -> list[Literals]:
        """The literals of each operand of a pack."""
        operations = [self.operations[node] for node in pack.nodes]
        lanes = zip(*(operation.operands for operation in operations), strict=True)
        return operand_groups(operations[0]) or list(lanes)

    def _key(self, pack: Pack) -> Hashable:
        """A key that is the same for packs that may merge."""
        first = self.operations[pack.nodes[0]]
        places = [self._home(literal)[:2] for literal in first.operands]
        if first.mnemonic in _COMMUTATIVE:
            places[:2] = sorted(places[:2], key=repr)
        return first.mnemonic, first.saturate, tuple(places), self._result(pack)

    def _may_merge(self, into: Pack, pack: Pack) -> bool:
        a, b = self.operations[into.nodes[0]], self.operations[pack.nodes[0]]
        earlier = into if into.depth < pack.depth else pack
        return (
            (a.mnemonic, a.saturate) == (b.mnemonic, b.saturate)
            and OPCODES[a.mnemonic].form in (Form.COMPONENTWISE, Form.DERIVATIVE)
            and len(into.nodes) + len(pack.nodes) <= 4
            and not (into.depth != pack.depth and earlier.feeds)
            and self._result(into) is self._result(pack)
        )

    def _result(self, pack: Pack) -> DestinationRegister | None:
        return self.lanes.get(pack.nodes[0], (None, []))[0]

    def _merge(self, into: Pack, pack: Pack) -> bool:
        """Merge a pack into another, if one instruction can compute both."""
        if not self._may_merge(into, pack):
            return False
        mark = len(self._log)
        lanes = [self.operations[node].operands for node in into.nodes]
        added = [self.operations[node].operands for node in pack.nodes]
        orders = [added]
        if self.operations[into.nodes[0]].mnemonic in _COMMUTATIVE:
            orders.append([(y, x, *rest) for x, y, *rest in added])
        for order in orders:
            fits = all(self._together(group) for group in zip(*lanes, *order, strict=True))
            fits = fits and (
                self._result(into) is not None or self._join([*into.nodes, *pack.nodes])
            )
            if fits and self._raised(into, pack):
                for node, operands in zip(pack.nodes, order, strict=True):
                    self.operations[node].operands = operands
                    self.pack_of[node] = into
                into.nodes += pack.nodes
                into.feeds = into.feeds or pack.feeds
                into.depth = max(into.depth, pack.depth)
                pack.nodes = []
                self._spread(into)
                return True
            while len(self._log) > mark:
                member, old = self._log.pop()
                self.classes[member] = old
        return False

    def _spread(self, pack: Pack) -> None:
        """Pass a merged pack's depth on to its users, and `feeds` to its sources."""
        stack = [pack]
        while stack:
            pack = stack.pop()
            for user in [self.pack_of[u] for node in pack.nodes for u in self.users[node]]:
                if user.depth < pack.depth:
                    user.depth = pack.depth
                    stack.append(user)
            for source in self.sources(self.read(pack)) if pack.feeds else ():
                if not source.feeds:
                    source.feeds = True
                    stack.append(source)


def is_lookup(operation: ScalarOperation) -> bool:
    """Whether an operation reads a texture."""
    return OPCODES[operation.mnemonic].form is Form.SAMPLE


_COMMUTATIVE = {"ADD", "MUL", "MAD"}


_WIDTHS: dict[str, list[int]] = {"DP3": [3, 3], "DP4": [4, 4], "XPD": [3, 3], "LIT": [3]}


def operand_groups(operation: ScalarOperation) -> list[Literals] | None:
    """The operands that must lie in one register each; None for a componentwise operation."""
    operands = operation.operands
    if operation.mnemonic == "TXD":
        count = cast(TextureSource, operation.key).target.kind.coordinates
        return [operands[: -2 * count], operands[-2 * count : -count], operands[-count:]]
    if OPCODES.get(operation.mnemonic, OPCODES["MOV"]).form in (Form.SAMPLE, Form.KILL):
        return [operands]
    widths, left = _WIDTHS.get(operation.mnemonic), iter(operands)
    return None if widths is None else [tuple(islice(left, width)) for width in widths]
