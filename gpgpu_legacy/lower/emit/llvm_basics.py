"""Types, constants, memory accesses and loops that all emitters of LLVM share.

Generated code has one argument: an array of 64-bit words with everything that differs between its
runs. First come the HEADER_WORDS, then TEXTURE_WORDS for each surface, then BASE_WORDS for each
base. Work is split into pieces; each thread has words of its own for them (llvm_schedule.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from gpgpu_legacy.isa.types import Kind

F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))

ALIGNMENTS = {F32: 4, F16: 2, I16: 2, I8: 1}
"""The alignments of stored elements, in bytes: their sizes."""

ELEMENTS = {Kind.FLOAT: F32, Kind.INT: I32, Kind.BOOL: I1, Kind.UINT: I32, Kind.DOUBLE: F64}
"""LLVM's type for each kind of number."""


def element_of(kind: Any) -> Any:
    """The type of one lane of a vector; a scalar's type is itself."""
    return getattr(kind, "element", kind)


def like(kind: Any, element: Any) -> Any:
    """The type of as many elements as `kind` has."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def integers(numbers: Sequence[int]) -> ir.Constant:
    """A constant vector of 32-bit integers, such as the mask of a shuffle."""
    return ir.Constant(ir.VectorType(I32, len(numbers)), list(numbers))


# Values ------------------------------------------------------------------------------------------


_Operator = Callable[["Emitted", Any], "Emitted"]


def _operator(of_integers: str, of_floats: str = "", *sign: str) -> _Operator:
    """An operator that emits an LLVM instruction, one of two by its operands' type.

    sign: that of a comparison.
    """

    def emit(self: Emitted, other: Any) -> Emitted:
        is_integer = isinstance(element_of(self.value.type), ir.IntType)
        instruction = getattr(self.builder, of_integers if is_integer else of_floats)
        return Emitted(self.builder, instruction(*sign, self.value, self.operand(other)))

    return emit


def _comparison(sign: str) -> _Operator:
    return _operator("icmp_signed", "fcmp_ordered", sign)


class Emitted:
    """An LLVM value, whose operators emit instructions. A number beside it gets its type.

    Integers are signed. A comparison with NaN is false, except `!=`. If the value is the address of
    an array, `words[n]` loads an element. Any other instruction is a method: `a.trunc(I32)`.
    """

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: Any) -> None:
        """builder: stands at the place where instructions are to be emitted."""
        self.builder, self.value = builder, value

    def __getattr__(self, instruction: str) -> Callable[..., Emitted]:
        emit = getattr(self.builder, instruction)
        return lambda *operands, **options: Emitted(
            self.builder, emit(self.value, *map(plain, operands), **options)
        )

    @property
    def type(self) -> Any:
        """The LLVM type of the value."""
        return self.value.type

    def number(self, number: float) -> Emitted:
        """A number of this type, in every lane."""
        kind = self.type
        constant = ir.Constant(element_of(kind), number)
        if isinstance(kind, ir.VectorType):
            constant = ir.Constant(kind, [constant] * kind.count)
        return Emitted(self.builder, constant)

    def operand(self, other: Any) -> Any:
        """The LLVM value of another operand. A number becomes a constant of this value's type."""
        return self.number(other).value if isinstance(other, int | float) else plain(other)

    __add__, __sub__ = _operator("add", "fadd"), _operator("sub", "fsub")
    __mul__, __truediv__ = _operator("mul", "fmul"), _operator("", "fdiv")
    __floordiv__, __mod__ = _operator("sdiv"), _operator("srem")
    __and__, __or__, __xor__ = _operator("and_"), _operator("or_"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("ashr")
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")
    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _operator("icmp_signed", "fcmp_unordered", "!=")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def compare(self, instruction: str, sign: str, other: Any) -> Emitted:
        """A comparison that no operator emits, by the name of LLVM's instruction."""
        emit = getattr(self.builder, instruction)
        return Emitted(self.builder, emit(sign, self.value, self.operand(other)))

    def choose(self, chosen: Any, other: Any) -> Emitted:
        """`chosen` where this condition holds, else `other`. One of them may be a number."""
        value = chosen if isinstance(chosen, Emitted) else other
        return self.select(value.operand(chosen), value.operand(other))

    def at_most(self, other: Emitted | float) -> Emitted:
        """The lesser of two."""
        return (self < other).choose(self, other)

    def at_least(self, other: Emitted | float) -> Emitted:
        """The greater of two."""
        return (self > other).choose(self, other)

    # Addresses

    def at(self, index: Any) -> Emitted:
        """The address of an element. index: a number, or a 64-bit integer of LLVM."""
        return Emitted(self.builder, self.builder.gep(self.value, [index_of(index)]))

    def __getitem__(self, index: Any) -> Emitted:
        return self.at(index).load()

    def pointer(self, element: Any = I64) -> Emitted:
        """A 64-bit integer as the address of elements of that type."""
        return self.inttoptr(element.as_pointer())

    def read(self, kind: Any) -> Emitted:
        """Load a value of that type from this address, which is aligned to one element."""
        return self.bitcast(kind.as_pointer()).load(align=ALIGNMENTS[element_of(kind)])

    def write(self, value: Emitted) -> None:
        """Store a value at this address, which is aligned to one element."""
        align = ALIGNMENTS[element_of(value.type)]
        value.store(self.bitcast(value.type.as_pointer()), align=align)


def plain(value: Any) -> Any:
    """The LLVM value inside an Emitted; any other value as it is."""
    return value.value if isinstance(value, Emitted) else value


def index_of(value: Any) -> Any:
    """The LLVM value of a 64-bit integer, which may be given as a Python number."""
    return I64(value) if isinstance(value, int) else plain(value)


def call(builder: ir.IRBuilder, function: Any, *operands: Any) -> Emitted:
    """Emit a call of a function, and return its result."""
    return Emitted(builder, builder.call(plain(function), [*map(plain, operands)]))


def intrinsic(name: str, *operands: Any) -> Emitted:
    """Emit a call of an LLVM intrinsic on floats. At least one operand is an Emitted."""
    some = next(operand for operand in operands if isinstance(operand, Emitted))
    kind, builder = some.type, some.builder
    lanes = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
    function = builder.module.declare_intrinsic(
        f"llvm.{name}.{lanes}{'f64' if element_of(kind) == F64 else 'f32'}",
        fnty=ir.FunctionType(kind, [kind] * len(operands)),
    )
    return call(builder, function, *map(some.operand, operands))


def joined(*ends: tuple[Emitted, ir.Block]) -> Emitted:
    """A phi: the value that belongs to the block that control came from.

    ends: values, each with its block.
    """
    builder = ends[0][0].builder
    phi = builder.phi(ends[0][0].type)
    for value, block in ends:
        phi.add_incoming(value.value, block)
    return Emitted(builder, phi)


# Loops -------------------------------------------------------------------------------------------


@contextmanager
def loop(b: ir.IRBuilder) -> Iterator[Callable[[Emitted], None]]:
    """A loop around what is emitted in a `with` block.

    The block gets a function. It emits the loop's head, and then calls the function with the
    condition to go on; the loop's body follows.
    """
    head, body, after = (b.append_basic_block() for _ in range(3))
    b.branch(head)
    b.position_at_end(head)

    def goes_on(condition: Emitted) -> None:
        b.cbranch(condition.value, body, after)
        b.position_at_end(body)

    yield goes_on
    b.branch(head)
    b.position_at_end(after)


@contextmanager
def counted(b: ir.IRBuilder, first: Any, last: Any, step: Any = 1) -> Iterator[Emitted]:
    """`for number in range(first, last, step)` around what is emitted in a `with` block.

    first, last, step: numbers, or 64-bit integers of LLVM.
    """
    before = b.block
    with loop(b) as goes_on:
        phi = b.phi(I64)
        phi.add_incoming(index_of(first), before)
        number = Emitted(b, phi)
        goes_on(number < last)
        yield number
        phi.add_incoming((number + step).value, b.block)


# Vectors -----------------------------------------------------------------------------------------

CHANNELS = 4


def channels_of(texels: Sequence[Emitted]) -> list[Emitted]:
    """The four channels of texels, each as one vector; of a single texel, each as a number.

    texels: one, or a power of two from 4 on; each is a vector of four channels.
    """
    if len(texels) == 1:
        return [texels[0].extract_element(I32(channel)) for channel in range(CHANNELS)]
    rows = [_joined(texels[row::CHANNELS]) for row in range(CHANNELS)]
    channels = []
    for unpacked in _UNPACKED:
        low, high = (_taken(rows[n], rows[n + 1], unpacked) for n in (0, 2))
        channels += [_taken(low, high, places) for places in _PAIRS]
    return channels


# The elements that four lanes of a shuffle take: 0 to 3 from the first vector, 4 to 7 from the
# second.
_UNPACKED = ((0, 4, 1, 5), (2, 6, 3, 7))
_PAIRS = ((0, 1, 4, 5), (2, 3, 6, 7))


def _taken(a: Emitted, b: Emitted, places: Sequence[int]) -> Emitted:
    """A shuffle that takes the same elements from each four lanes of two vectors."""
    count = a.type.count
    numbers = [
        quarter + place % CHANNELS + (count if place >= CHANNELS else 0)
        for quarter in range(0, count, CHANNELS)
        for place in places
    ]
    return a.shuffle_vector(b, integers(numbers))


def _joined(vectors: Sequence[Emitted]) -> Emitted:
    """Several vectors, one after another, as one vector."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [a.shuffle_vector(b, integers(range(2 * a.type.count))) for a, b in pairs]
    return vectors[0]


# Words ------------------------------------------------------------------------------------------

# The columns, rows and iterations of a piece, each from the first to one past the last; how many
# iterations a tile runs at a time, and how many the table has; the addresses of the table and of
# the staged texels (from the first iteration on); the floats of a panel; the width of the whole
# rectangle.
X_FIRST, X_LAST, Y_FIRST, Y_LAST, FIRST, LAST, DEPTH, COUNT = range(8)
TABLE, STAGED, PANEL, WIDTH, HEADER_WORDS = range(8, 13)

MOST_PLANES = 4
ROW_LENGTH = MOST_PLANES  # of a surface, in texels; its word comes after the planes' addresses
SIZES = ROW_LENGTH + 1  # width, height and depth
ORIGIN = SIZES + 3  # of the rectangle in it, x and y
TEXTURE_WORDS = ORIGIN + 2

BASE_WORDS = 2  # s and t, in texels


def word_count(surfaces: int, bases: int) -> int:
    """The number of words of a piece."""
    return HEADER_WORDS + surfaces * TEXTURE_WORDS + bases * BASE_WORDS
