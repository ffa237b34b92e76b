"""The values of a program as a graph of scalars, each computed once.

A node is an operation of the ISA on scalars. A literal is 2·node + 1 if it is negated, 2·node if
not. A vector is a tuple of literals, so swizzles, write masks and constructors cost nothing. Only
rewrites that keep every bit are made: constants are folded with the opcodes' own definitions.

The code is straight segments with the words of branches and loops between them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, starmap
from math import copysign, isnan
from operator import add, mul
from typing import cast

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import OPCODES, saturated
from gpgpu_legacy.isa.program import Attribute, Parameter, Span, TextureSource, TextureTarget
from gpgpu_legacy.languages.c.syntax import BEFORE, NOWHERE
from gpgpu_legacy.languages.shading.types import KINDS, Numbers, Type, item, leaves, size


class Fault(Exception):  # noqa: N818 — it becomes an AssemblyError, which is the error
    """A fault that is found after a text is parsed; it ends the compilation.

    message: what is wrong, and what was expected or how to mend it. at: where.
    """

    def __init__(self, message: str, at: Span) -> None:
        super().__init__(message.strip())
        self.at = at


class TooLong(Fault):
    """A text that does not fit a straight line."""


@dataclass(eq=False)
class Home:
    """Up to four numbers that stay in one temporary from one segment to another."""


Key = tuple[Home, int] | int
"""What has a place in a temporary: a number of a home, or a node that other segments read."""


@dataclass(eq=False)
class StraightSegment:
    """A run of instructions without branches and loops.

    stores: the literals that it leaves in homes. kills: the literals of each KIL. test: a literal
    and its relation to 0, which decide how to go on. tested: the home of that literal, if it has
    one.
    """

    stores: dict[Key, int] = field(default_factory=dict)
    kills: list[tuple[int, ...]] = field(default_factory=list)
    test: tuple[int, str] | None = None
    tested: Key | None = None


@frozen
class FlowWord:
    """An IF, ELSE, ENDIF, REP, ENDREP or BRK between segments. trips: a REP's.

    The test of the segment before decides an IF or a BRK. A BRK without a test always leaves.
    """

    mnemonic: str
    at: Span
    trips: int = 0


MOST_STEPS = 3 * 2**14
"""The most statements and vector operations of a program, with loops unrolled: they take some
seconds. Slower ones, such as writing into a long array, count as several.
"""

CONSTANT, LEAF, PART = "constant", "leaf", "part"
"""Operations besides opcodes: a number, a component of a register, and one of a vector result."""

SAMPLER, UNREADABLE = "sampler", "unreadable"
"""A texture image unit; and an input that a program may name but not read, with its fault."""

FREE = {CONSTANT, LEAF, SAMPLER, UNREADABLE}
"""Operations that no segment has to compute."""

Literals = tuple[int, ...]

_Nodes = dict[tuple[str, Literals, Hashable], int]
"""Nodes by operation, operands and key."""


_Method = Callable[["Vector", "Operand"], "Vector"]


def _operator(
    operation: str, second: Callable[[Vector], Vector] = lambda b: b
) -> tuple[_Method, _Method]:
    """The methods of an operator: for a vector as its left and as its right operand.

    second: turns the operator's second operand into the operation's.
    """
    return (
        lambda self, other: self.graph.op(operation, self, second(self.graph.vector(other))),
        lambda self, other: self.graph.op(operation, other, second(self)),
    )


@frozen
class Vector:
    """A value: numbers of one kind. A scalar is a vector of one, and can be smeared.

    shape: the type of a matrix, an array, a struct or a sampler, whose parts lie one after another.
    """

    graph: Graph
    kind: str
    literals: Literals
    shape: Type | None = None

    @property
    def type(self) -> Type:
        """Its type."""
        return self.shape or Numbers(self.kind, len(self.literals))

    def __len__(self) -> int:
        return len(self.literals)

    def __getitem__(self, which: int | slice | Sequence[int]) -> Vector:
        """One component, a range, or those with the given numbers."""
        if isinstance(which, int):
            which = (which,)
        numbers = range(len(self))[which] if isinstance(which, slice) else which
        return Vector(self.graph, self.kind, tuple(self.literals[c] for c in numbers))

    def __iter__(self) -> Iterator[Vector]:
        return (self[c] for c in range(len(self)))

    def item(self, number: int) -> Vector:
        """The component, row, element or field of that number."""
        kind, start = item(self.type, number)
        return self.graph.built(kind, [self[start : start + size(kind)]])

    def leaves(self) -> Iterator[Vector]:
        """Its vectors and samplers."""
        start = 0
        for kind, _ in leaves(self.type):
            yield self.graph.built(kind, [self[start : start + size(kind)]])
            start += size(kind)

    def of(self, kind: str) -> Vector:
        """The same numbers as a vector of another kind, unchanged."""
        return Vector(self.graph, kind, self.literals)

    def smeared(self, width: int) -> Vector:
        """A scalar as a vector of `width`; a longer vector loses its end."""
        return self[[0] * width] if len(self) == 1 else self[:width]

    @property
    def constant(self) -> tuple[float, ...] | None:
        """Its numbers, if they are known at compile time."""
        numbers = tuple(n for n in map(self.graph.number, self.literals) if n is not None)
        return numbers if len(numbers) == len(self) else None

    def __neg__(self) -> Vector:
        return Vector(self.graph, self.kind, tuple(literal ^ 1 for literal in self.literals))

    __add__, __radd__ = _operator("ADD")
    __sub__, __rsub__ = _operator("ADD", lambda b: -b)
    __mul__, __rmul__ = _operator("MUL")
    # The product with the reciprocal, as the chips divided.
    __truediv__, __rtruediv__ = _operator("MUL", lambda b: b.graph.op("RCP", b))
    __lt__, __gt__ = _operator("SLT")
    __ge__, __le__ = _operator("SGE")
    __and__, __rand__ = _operator("AND")
    __or__, __ror__ = _operator("OR")

    def equals(self, other: Operand) -> Vector:
        """Whether both are the same number; NaN equals nothing, 0 equals -0."""
        other = self.graph.vector(other)
        if other.constant is not None and not any(other.constant):
            return -self.graph.op("ABS", self) >= other
        return (self >= other) & (other >= self)

    def __invert__(self) -> Vector:
        return (1.0 - self).of("bool")


Operand = Vector | float


def widest(*vectors: Vector) -> str:
    """The widest kind of these vectors."""
    return max((v.kind for v in vectors), key=KINDS.index)


class Graph:
    """The nodes, in an order in which each comes after its operands.

    branching: whether it may have branches and loops.
    """

    def __init__(self, *, branching: bool = False) -> None:
        self.branching = branching
        self.operations: list[str] = []
        self.operands: list[Literals] = []
        self.keys: list[Hashable] = []
        self.spans: list[Span] = []
        self.kills: list[Literals] = []
        """The literals of each KIL: a fragment ends if one of them is negative."""
        self.owners: list[StraightSegment] = []
        """The segment of each node."""
        self.segment = StraightSegment()
        self.code: list[StraightSegment | FlowWord] = [self.segment]
        self._outer: list[_Nodes] = []
        self.same: dict[int, int] = {}
        """Literals that replace nodes."""
        self._at = NOWHERE
        self.steps = 0
        self._known: _Nodes = {}
        self._shared: _Nodes = {}

    @property
    def at(self) -> Span:
        """The place in the text that new nodes come from; places in the library do not count."""
        return self._at

    @at.setter
    def at(self, at: Span) -> None:
        if at.file != BEFORE:
            self._at = at

    # Leaves ---------------------------------------------------------------------------------------

    def numbers(self, *numbers: float, kind: str = "float") -> Vector:
        """A vector of constants, rounded to float32."""
        return Vector(self, kind, tuple(map(self._number, numbers)))

    def vector(self, value: Operand) -> Vector:
        """A value as a vector; a Python number has the narrowest kind, and widens no operand."""
        return value if isinstance(value, Vector) else self.numbers(value, kind="bool")

    def built(self, kind: Type, parts: Iterable[Vector]) -> Vector:
        """A value of a type, whose parts are given in order."""
        several = [part.literals for part in parts]
        literals = tuple(chain.from_iterable(several))
        self.spend((len(several) >> 3) + (len(literals) >> 9))
        return Vector(self, kind.kind, literals, None if isinstance(kind, Numbers) else kind)

    def zeros(self, kind: Type) -> Vector:
        """The value of a variable before its first assignment; a sampler is bound to no texture."""
        return self.built(kind, [self.numbers(*[0.0] * size(kind))])

    def special(self, operation: str, key: Hashable) -> Vector:
        """A texture image unit, or an input that cannot be read."""
        return Vector(self, "", (2 * self.node(operation, (), key),))

    def leaf(self, register: Attribute | Parameter) -> Vector:
        """The four components of a register that programs only read."""
        literals = (2 * self.node(LEAF, (), (register, c)) for c in range(4))
        return Vector(self, "float", tuple(literals))

    def number(self, literal: int) -> float | None:
        """The number of a literal that is constant; None for other literals."""
        if self.operations[literal >> 1] is not CONSTANT:
            return None
        value = cast(float, self.keys[literal >> 1])
        return -value if literal & 1 else value

    def _number(self, number: float) -> int:
        value = float(np.float32(number))
        negative = copysign(1.0, value) < 0
        return 2 * self.node(CONSTANT, (), abs(value)) + negative

    def spend(self, steps: int) -> None:
        """Count work; TooLong for more than MOST_STEPS."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            problem = "the program is too long" + " once its loops are unrolled" * (
                not self.branching
            )
            raise TooLong(
                f"{problem}; at most {MOST_STEPS} statements and operations are allowed", self.at
            )

    # Regions --------------------------------------------------------------------------------------

    @property
    def segments(self) -> list[StraightSegment]:
        """All segments, in the order of the text."""
        return [part for part in self.code if isinstance(part, StraightSegment)]

    def enter(self, mnemonic: str, at: Span, trips: int = 0) -> None:
        """Begin a region, a side of a branch or the body of a loop; it sees the nodes before it."""
        self.spend(1 + (len(self._known) >> 9))
        self._outer.append(dict(self._known))
        self.follow(mnemonic, at, trips)

    def leave(self) -> None:
        """End a region, and forget its nodes, which are not always computed."""
        self._known = self._outer.pop()

    def follow(self, mnemonic: str, at: Span, trips: int = 0) -> None:
        """End the segment with a word, and begin the next one."""
        self.segment = StraightSegment()
        self.code += [FlowWord(mnemonic, at, trips), self.segment]

    def decide(self, condition: Vector, *, holds: bool) -> None:
        """End the segment with a test of a condition, 0 or 1. holds: whether it asks for 1."""
        (literal,) = condition.literals
        inner = self._inverted(literal)
        if inner is not None:
            literal, holds = inner, not holds
        self.segment.test = literal, "NE" if holds else "EQ"

    def _inverted(self, condition: int) -> int | None:
        """The condition of which a literal is the inverse, made by `~`; None if it is none."""
        node = condition >> 1
        is_sum = self.operations[node] == "ADD" and self.number(self.operands[node][0]) == 1.0
        return self.operands[node][1] ^ 1 if is_sum and self.operands[node][1] & 1 else None

    def home(self, count: int) -> Literals:
        """The literals of so many numbers in new homes, four in each."""
        homes = [Home() for _ in range(-(-count // 4))]
        return tuple(2 * self.node(LEAF, (), (homes[k // 4], k % 4)) for k in range(count))

    def home_of(self, node: int) -> Key | None:
        """The number of a home that a node reads; None if it reads none."""
        key = cast(tuple[object, int], self.keys[node])
        is_home = self.operations[node] is LEAF and isinstance(key[0], Home)
        return cast(Key, key) if is_home else None

    def resolved(self, literal: int) -> int:
        """The literal that replaces this one; this one if none does."""
        while literal >> 1 in self.same:
            literal = self.same[literal >> 1] ^ (literal & 1)
        return literal

    # Operations -----------------------------------------------------------------------------------

    def node(self, operation: str, operands: Literals, key: Hashable = None) -> int:
        """The node of an operation; an equal one that is already there is used again."""
        nodes = self._shared if operation in FREE else self._known
        known = nodes.get((operation, operands, key))
        if known is None and operation in _COMMUTATIVE:
            known = nodes.get((operation, operands[::-1], key))
        if known is not None:
            return known
        number = nodes[operation, operands, key] = len(self.operations)
        self.operations.append(operation)
        self.owners.append(self.segment)
        self.operands.append(operands)
        self.keys.append(key)
        self.spans.append(self.at)
        return number

    def op(self, operation: str, *operands: Operand) -> Vector:
        """A componentwise or scalar operation, component by component, of the widest kind.

        A component is simplified to an operand only if all are: else it could no longer share an
        instruction with its neighbours.
        """
        vectors = [self.vector(operand) for operand in operands]
        lanes = self._lanes(*vectors)
        simple = [self._simplified(operation, lane) for lane in lanes]
        if None in simple:
            simple = [self._scalar(operation, lane) for lane in lanes]
        kind = "bool" if operation in _TRUTHS else widest(*vectors)
        return Vector(self, kind, tuple(cast(list[int], simple)))

    def _lanes(self, *vectors: Vector) -> list[Literals]:
        """The operands of each component of an operation, which counts as work."""
        width = min((len(v) for v in vectors if len(v) > 1), default=1)
        self.spend(-(-width // 4))
        return list(zip(*(v.smeared(width).literals for v in vectors), strict=True))

    def _scalar(self, operation: str, operands: Literals) -> int:
        """One component's operation, folded if its operands are constants."""
        numbers = [self.number(literal) for literal in operands]
        if None not in numbers and operation in _FOLDED:
            planes = [np.full((1, 1), n, np.float32) for n in numbers]
            with np.errstate(all="ignore"):
                value = float(_FOLDED[operation](*planes).item())
            if not isnan(value):  # no text can write NaN
                return self._number(value)
        match operation:
            case "MUL":
                a, b = operands
                return 2 * self.node("MUL", (a & ~1, b & ~1)) + ((a ^ b) & 1)
            case "AND" | "OR":
                decided = self._decided(operation, *operands)
                return 2 * self.node(_LOGIC[operation], operands) if decided is None else decided
            case "ABS" | "RSQ":
                operands = (operands[0] & ~1,)
        return 2 * self.node(operation, operands)

    def _simplified(self, operation: str, operands: Literals) -> int | None:
        """A literal that has the operation's bits already; None if there is none."""
        if operation in _LOGIC:
            return self._decided(operation, *operands)
        for one, other in (operands, operands[::-1]) if operation in _COMMUTATIVE else ():
            number = self.number(one)
            if operation == "MUL" and number in (1.0, -1.0):
                return other ^ (one & 1)
            if operation == "ADD" and number == 0.0 and one & 1:  # x + -0 is x, but -0 + 0 is 0
                return other
        once = operation in ("ABS", "FLR", "SAT") and not operands[0] & 1
        return operands[0] if once and self.operations[operands[0] >> 1] == operation else None

    def _decided(self, operation: str, a: int, b: int) -> int | None:
        """The literal of AND or OR, if one operand decides it; else None."""
        for one, other in ((a, b), (b, a)):
            number = self.number(one)
            if number is not None:
                return one if (number == 0.0) == (operation == "AND") else other
        return a if a == b else None

    # Operations with vector operands, and those that choose an instruction ------------------------

    def parts(self, operation: str, operands: Literals, key: Hashable, count: int) -> Vector:
        """The components of an operation whose result is a vector."""
        base = 2 * self.node(operation, operands, key)
        return Vector(self, "float", tuple(2 * self.node(PART, (base,), c) for c in range(count)))

    def look_up(
        self, unit: int, target: TextureTarget, coordinates: Vector, mnemonic: str = "TEX"
    ) -> Vector:
        """The texel at the coordinates.

        The last coordinate is TXP's divisor, TXB's bias or TXL's level; TXD's derivatives follow
        the coordinates.
        """
        literals = coordinates.literals
        if mnemonic != "TXD":
            last = () if mnemonic == "TEX" else literals[-1:]
            literals = literals[: target.coordinates] + last
        return self.parts(mnemonic, literals, TextureSource(unit, target), 4)

    def dot(self, a: Vector, b: Vector) -> Vector:
        """The sum of the products, from the first to the last."""
        width = max(len(a), len(b)) if 1 in (len(a), len(b)) else min(len(a), len(b))
        a, b = a.smeared(width), b.smeared(width)
        if width < 3 or (a.constant and b.constant):
            return cast(Vector, reduce(add, map(mul, a, b)))
        if b.constant is not None:  # the signs of constants are free
            a, b = b, a
        left = (x ^ (y & 1) for x, y in zip(a.literals, b.literals, strict=True))
        right = (y & ~1 for y in b.literals)
        return Vector(self, widest(a, b), (2 * self.node(f"DP{width}", (*left, *right)),))

    def select(self, condition: Vector, yes: Operand, no: Operand) -> Vector:
        """`yes` where the condition, 0 or 1, holds; else `no`, which has the same shape."""
        yes, no = self.vector(yes), self.vector(no)
        literals = tuple(starmap(self._choice, self._lanes(condition, yes, no)))
        kind = yes.kind if yes.shape else widest(yes, no)
        return Vector(self, kind, literals, yes.shape)

    def _choice(self, condition: int, yes: int, no: int) -> int:
        """One component's choice; a CMP, unless it is known."""
        known = self.number(condition)
        if known is not None:
            return yes if known else no
        if yes == no:
            return yes
        inner = self._inverted(condition)
        if inner is not None:
            return self._choice(inner, no, yes)
        if (self.number(yes), self.number(no)) == (1.0, 0.0) and not (yes | no) & 1:
            return condition
        return 2 * self.node("CMP", (self._negative(condition), yes, no))

    def join(self, *values: Operand) -> Vector:
        """One vector of the components of all values, in order."""
        vectors = [self.vector(value) for value in values]
        return Vector(self, widest(*vectors), tuple(x for v in vectors for x in v.literals))

    def kill(self, condition: Vector) -> None:
        """End the fragments in which any component of the condition, 0 or 1, holds."""
        self.kills.append(tuple(self._negative(literal) for literal in condition.literals))
        self.segment.kills.append(self.kills[-1])

    def _negative(self, condition: int) -> int:
        """A literal that is negative where the condition, 0 or 1, is 1."""
        if self.operations[condition >> 1] == "SLT":
            low, high = self.operands[condition >> 1]
            if self.number(high) == 0.0:
                return low
            if self.number(low) == 0.0:
                return high ^ 1
        return condition ^ 1


_TRUTHS = {"SLT", "SGE", "AND", "OR"}
_COMMUTATIVE = {"ADD", "MUL"}
_FOLDED = {name: row.evaluate for name, row in OPCODES.items()} | {
    "SAT": saturated,
    **dict.fromkeys(("DDX", "DDY"), lambda value: value - value),
}
_LOGIC = {"AND": "MUL", "OR": "MAX"}
