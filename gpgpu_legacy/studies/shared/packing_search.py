"""The fewest multiply-adds of looked-up texels for a step along the inner dimension.

A step is as many elements of the inner dimension as a texel holds. No instruction of these chips
does more than four multiply-adds, so a search that finds four in every slot has proved its result
minimal. Otherwise it has found, for any number of vector parts, the fewest scalar parts that are
left. It tries every set of multiply-adds, each of a texel of A and one of B with swizzles that the
chip reads natively, in every order of channels that the packing allows. No instruction takes texels
of two steps, so a program is a mix of such steps. The mix with as many vector parts as scalars
takes the fewest slots of any period. Moves between registers are not tried. A scalar part shares an
instruction with any vector part, as in chips/native.py; `schedule` says what the addresses leave of
that.

On R300, each part of an instruction writes components of its own. Both parts of a slot read
operands through the same addresses: three for the components x, y and z, and three for w (Mesa's
radeon_program_pair.h). So a scalar part that reads x, y or z of two registers has room only beside
a vector part that names the same registers or leaves addresses free.

The schedule is a real one, so its number of slots can be reached. Each part goes, in the order of
the text, into the first slot that has room after all parts that it waits for. Lookups end a run of
slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import count, permutations, product
from typing import NamedTuple

from gpgpu_legacy.chips.native import InstructionSet, NativeUse, count_native, instruction_set
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.opcodes import CostClass
from gpgpu_legacy.isa.program import DestinationRegister, Program, SourceRegister

CHANNELS = 4

Pair = tuple[int, int]

Cells = tuple[Pair, ...]
"""The row and column of the element in each channel of a texel."""

Swizzle = tuple[int, ...]


@frozen
class Packings:
    """The rows and columns that a texel of A, of B and of C holds.

    permuted: the order of the channels of A and B is free; if not, it is reading order.
    """

    a: Pair
    b: Pair
    c: Pair
    permuted: bool = True

    @property
    def step(self) -> int:
        """The elements of the inner dimension by which lookups advance together."""
        return max(self.a[1], self.b[0])

    @property
    def least(self) -> int:
        """The slots of a step, if each does as many multiply-adds as there are channels."""
        return self.c[0] * self.c[1] * self.step // CHANNELS

    @property
    def texels(self) -> list[tuple[int, int, int, int]]:
        """The texels of a step, in the order of lookups.

        Each has its first element along the inner dimension, its texture unit (0 for A), and its
        first row and column.
        """
        rows, columns = self.c
        of_a = product([0], range(0, rows, self.a[0]), range(0, self.step, self.a[1]))
        of_b = product([1], range(0, self.step, self.b[0]), range(0, columns, self.b[1]))
        return sorted((y if unit else x, unit, y, x) for unit, y, x in (*of_a, *of_b))

    def orders(self) -> Iterator[tuple[Cells, ...]]:
        """The orders of the channels of A and B to try, reading order first."""
        ways = (list(permutations(cells(shape))) for shape in (self.a, self.b))
        yield from product(*(way if self.permuted else way[:1] for way in ways))


def cells(shape: Pair) -> Cells:
    """The cells of a texel in reading order."""
    return tuple(product(range(shape[0]), range(shape[1])))


SQUARE, ROW, COLUMN = (2, 2), (1, 4), (4, 1)
PACKINGS = (
    Packings(SQUARE, SQUARE, SQUARE, permuted=False),
    Packings(SQUARE, SQUARE, SQUARE),
    Packings(ROW, COLUMN, SQUARE),
    Packings(ROW, COLUMN, ROW),
    Packings(ROW, COLUMN, COLUMN),
    Packings(ROW, ROW, ROW),
    Packings(COLUMN, COLUMN, COLUMN),
)


def swizzles_of(chip: Profile) -> tuple[Swizzle, ...]:
    """The swizzles that a chip reads natively; InputError if its profile has none.

    If swizzles have three components, a scalar part computes the fourth from any channel.
    """
    known, free = chip.programs.instruction_set, chip.programs.swizzles
    if known:
        listed = instruction_set(known.value).swizzles
        return tuple(tuple(map("xyzw".index, one)) for one in listed if one.isalpha())
    if not (free and free.value):
        raise InputError(f"{chip.name} has no known swizzles of arithmetic; choose another chip")
    return tuple(product(range(CHANNELS), repeat=CHANNELS))


class PackedMultiplyAdd(NamedTuple):
    """One instruction. texels: of A and of B, by number. register: of the sums.

    reads: the channels of A and of B, by the channel that it writes.
    """

    texels: Pair
    register: int
    reads: dict[int, Pair]


@frozen
class Way:
    """The multiply-adds of a step.

    vectors, scalars: the numbers of such parts. sums: the element of C that each channel of each
    register adds up.
    """

    vectors: int
    scalars: int
    multiply_adds: list[PackedMultiplyAdd]
    sums: list[dict[int, Pair]]


@frozen
class Found:
    """The result of a search: how a packing takes the fewest slots.

    orders: of the channels of A and B. ways: the ways to take a step, by their number of vector
    parts. slots: the fewest for `period` steps, by a mix of ways; no mix has fewer per step.
    """

    packings: Packings
    orders: tuple[Cells, ...]
    ways: list[Way]
    slots: int
    period: int


@cache
def search(packings: Packings, swizzles: tuple[Swizzle, ...]) -> Found:
    """The fewest slots over all orders of channels, swizzles and masks."""
    tried, width = list[Found](), len(swizzles[0])
    for orders in packings.orders():
        parts = [_parts(packings, orders, swizzles, 0)]
        if width < CHANNELS:
            parts.append(_parts(packings, orders, list(zip(range(CHANNELS))), width))
        ways = list(_ways(parts, width, packings.least))
        mixes = [(max(way.vectors, way.scalars), 1) for way in ways]
        for one, other in product(ways, repeat=2):
            more, fewer = one.scalars - one.vectors, other.vectors - other.scalars
            if more > 0 and fewer > 0:
                mixes.append((one.vectors * fewer + other.vectors * more, more + fewer))
        slots, period = min(mixes, key=lambda mix: Fraction(*mix))
        tried.append(Found(packings, orders, ways, slots, period))
        if slots == packings.least * period:
            break
    return min(tried, key=lambda one: Fraction(one.slots, one.period))


def _ways(parts: list[Parts], width: int, least: int) -> Iterator[Way]:
    """For each number of vector parts, a way with the fewest scalars, until none are left.

    If a way fills every slot, it is the only one.
    """
    products = least * CHANNELS
    has_scalars = len(parts) > 1
    if cover := _cover(parts, width, least, least * has_scalars):
        yield Way(least, least * has_scalars, *_instructions(cover, width))
        return
    for vectors in count(least * (not has_scalars)):
        for scalars in range(products + 1 if has_scalars else 1):
            if (cover := _cover(parts, width, vectors, scalars)) is not None:
                yield Way(vectors, scalars, *_instructions(cover, width))
                if not scalars:
                    return
                break


Product = tuple[int, int, int]
"""The row of A, the column of B, and the element between them."""

Part = dict[int, tuple[Product, tuple[int, int], Pair]]
"""The products that a part of an instruction computes, by the channel that it writes.

Each has the numbers of its texels of A and of B, and the channels that it reads of them.
"""

Parts = dict[frozenset[Product], Part]


def _parts(
    packings: Packings, orders: tuple[Cells, ...], swizzles: Iterable[Swizzle], first: int
) -> Parts:
    """The parts of instructions that write channels from `first` on, by their products."""
    parts: Parts = {}
    texels = [
        (unit, [(y + row, x + column) for row, column in orders[unit]])
        for _, unit, y, x in packings.texels
    ]
    for (a, (unit, of_a)), (b, (other, of_b)) in product(enumerate(texels), repeat=2):
        table = {
            (p, q): ((i, j, k), (a, b), (p, q))
            for (p, (i, k)), (q, (row, j)) in product(enumerate(of_a), enumerate(of_b))
            if row == k and unit < other
        }
        for s, t in product(swizzles, repeat=2) if table else ():
            reads = enumerate(zip(s, t, strict=True), first)
            part = {c: table[read] for c, read in reads if read in table}
            parts.setdefault(frozenset(one for one, *_ in part.values()), part)
    return parts


Cover = tuple[tuple[Part, frozenset[Product]], ...]
"""Parts of instructions, and which of their products are wanted."""


def _cover(parts: list[Parts], width: int, *free: int) -> Cover | None:
    """Parts that compute every product once, at most `free` of each kind; None if impossible."""

    @cache
    def cover(left: frozenset[Product], *free: int) -> Cover | None:
        if not left:
            return ()
        if len(left) <= free[0] * width + sum(free[1:]):
            for kind, known in enumerate(parts):
                fewer = [n - (kind == other) for other, n in enumerate(free)]
                for one in known if free[kind] else ():
                    if min(left) in one and (rest := cover(left - one, *fewer)) is not None:
                        return ((known[one], left & one), *rest)
        return None

    return cover(frozenset().union(*parts[0]), *free[: len(parts)])


def _instructions(
    cover: Cover, width: int
) -> tuple[list[PackedMultiplyAdd], list[dict[int, Pair]]]:
    """Instructions and their sums: a scalar part joins a vector part of its texels and register.

    A part adds to the first register whose channels are free or have the same sums. Scalars of two
    addresses for x, y or z come first, since few slots have room for them.
    """

    def order(one: tuple[Part, object]) -> tuple[int, int]:
        return min(one[0]), min(one[0].values())[2].count(width)

    instructions, sums = list[PackedMultiplyAdd](), list[dict[int, Pair]]()
    for part, wanted in sorted(cover, key=order):
        left, reads, adds = set(wanted), dict[int, Pair](), dict[int, Pair]()
        for c, (one, texels, read) in part.items():  # noqa: B007
            if one in left:
                left.remove(one)
                reads[c], adds[c] = read, one[:2]
        has_room = [all(known.get(c, x) == x for c, x in adds.items()) for known in sums]
        register = [*has_room, True].index(True)
        sums += [{}] * (register == len(sums))
        sums[register] = sums[register] | adds
        alike = (
            x.reads for x in instructions if x[:2] == (texels, register) and width not in x.reads
        )
        if known := min(reads) == width and next(alike, None):
            known.update(reads)
        else:
            instructions.append(PackedMultiplyAdd(texels, register, reads))
    return instructions, sums


ADDRESSES = 3
_W = CHANNELS - 1

Components = frozenset[tuple[SourceRegister | DestinationRegister, int]]


class ScheduledPart(NamedTuple):
    """The vector or the scalar part of an instruction."""

    is_scalar: bool
    reads: Components
    writes: Components


def schedule(program: Program, known: InstructionSet) -> int:
    """The slots of a program whose instructions read all operands natively."""
    total, block = 0, list[list[ScheduledPart]]()
    for use in count_native(program, known).uses:
        if use.instruction.opcode.cost is not CostClass.ARITHMETIC:
            total, block = total + len(block), []
        for part in _scheduled(use):
            _place(block, part)
    return total + len(block)


def _scheduled(use: NativeUse) -> Iterator[ScheduledPart]:
    dst = use.instruction.dst
    for is_scalar, taken in enumerate((use.vector, use.scalar)):
        if dst is not None and taken:
            written = [c for c in dst.components if (c == _W) == is_scalar]
            reads = {
                (s.register, s.swizzle[c].value) for s in use.instruction.srcs for c in written
            }
            yield ScheduledPart(
                bool(is_scalar),
                frozenset(read for read in reads if read[1] < CHANNELS),
                frozenset((dst.register, c) for c in written),
            )


def _place(block: list[list[ScheduledPart]], part: ScheduledPart) -> None:
    """Put a part into the first slot that may have it; a slot may write what it reads."""
    first = 0
    for n, slot in enumerate(block):
        for other in slot:
            if other.writes & (part.reads | part.writes):
                first = n + 1
            elif other.reads & part.writes:
                first = n
    for slot in block[first:]:
        if _fits(*slot, part):
            slot.append(part)
            return
    block.append([part])


def _fits(*parts: ScheduledPart) -> bool:
    addresses = {(read[0], read[1] == _W) for part in parts for read in part.reads}
    of_w = sum(is_w for _, is_w in addresses)
    is_free = len({part.is_scalar for part in parts}) == len(parts)
    return is_free and max(of_w, len(addresses) - of_w) <= ADDRESSES
