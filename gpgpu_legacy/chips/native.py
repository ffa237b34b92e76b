"""The number of native instructions of a program where swizzles are lacking.

A chip or an API names its instruction set, a file of instruction_sets/. If an operand has a swizzle
that the set lacks, a compiler copies the operand piece by piece, with moves before the instruction,
or it splits the instruction so that each part reads native swizzles. How the drivers of the time
did it is not known, so there are two counts:

- the most: a move for every piece, as Mesa's compiler does. (Recent versions also pack coordinates
  before, and so move more than the text asks for.)
- the fewest: the cheaper way for each instruction by itself. Copies are free, since their readers
  can read the source; scalar parts share instructions with vector parts. A compiler that optimises
  across instructions may need still fewer, and so may another text of the same program
  (studies/packings).

Instructions that do not reach a result are not counted. Literal constants need no moves, because a
compiler stores them in the order that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, combinations, islice
from typing import Annotated

from gpgpu_legacy.count.resources import is_arithmetic
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.opcodes import Form
from gpgpu_legacy.isa.program import (
    SELECTORS,
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    Src,
    Temporary,
    TextureTarget,
)
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.serial import Line, Meta, Record, Several, Whole, from_toml

Components = tuple[int, ...]

Pieces = tuple[Components, ...]
"""The components of an operand, in groups that one instruction can read."""

Range = tuple[Whole, Whole]
"""The fewest and the most."""

Swizzle = Annotated[str, Meta(pattern=r"^[xyzw01]{3,4}(?![\s\S])")]

_W = 3
_COPIES = {"MOV", "SWZ", "ABS"}


class LookupExtras(Record):
    """Extra instructions of a lookup, by the feature that needs them."""

    rectangle: Range
    saturated_or_result: Range
    masked: Range


class InstructionSet(Record):
    """The operations that a fragment processor executes as one instruction.

    swizzles: those that its vector part reads from an operand; components of one piece have one
    sign. If swizzles have only x, y and z, it has a scalar part for w, which reads any component.
    instructions: the numbers for opcodes that do not take one each. position: the instructions that
    compute fragment.position. result: those that follow the last one to compute a result, unless it
    is a copy.
    """

    name: Line
    title: Line
    swizzles: Several[Swizzle]
    position: Range
    result: Range
    instructions: dict[str, Range]
    lookups: LookupExtras

    def parts(self, components: Components) -> tuple[Components, bool]:
        """The components that the vector part computes, and whether the scalar part has any."""
        vector = tuple(c for c in components if c < len(self.swizzles[0]))
        return vector, vector != components

    def pieces(self, src: Src, components: Components) -> Pieces:
        """An operand's components in the fewest native pieces; a scalar w is part of the first."""
        vector, has_scalar = self.parts(components)
        pieces = _pieces(((src.swizzle, src.negate),), vector, self.swizzles)
        if not has_scalar:
            return pieces
        return ((*pieces[0], _W), *pieces[1:]) if pieces else ((_W,),)

    def moves(self, src: Src, components: Components) -> Pieces:
        """The pieces to move one by one; none if an operand needs no moves."""
        pieces = self.pieces(src, components)
        return pieces if len(pieces) > 1 and not _is_literal(src) else ()


@cache
def instruction_set(name: str) -> InstructionSet:
    """The instruction set of that name; InputError, with the known names, if there is none."""
    folder = files("gpgpu_legacy.chips").joinpath("instruction_sets")
    known = sorted(path.name.removesuffix(".toml") for path in folder.iterdir())
    if name not in known:
        raise InputError(f"there is no instruction set {name!r}; choose from {', '.join(known)}")
    file = f"{name}.toml"
    return from_toml(folder.joinpath(file).read_text("utf-8"), InstructionSet, file)


@frozen
class Moved:
    """An operand that is moved before its instruction. number: of the source, from 0."""

    number: int
    pieces: Pieces


@frozen
class NativeUse:
    """The native cost of one instruction.

    vector, scalar: its parts in the fewest count. most: its instructions in the most count. moved:
    the operands that the most count moves.
    """

    instruction: Instruction
    vector: int
    scalar: int
    most: int
    moved: tuple[Moved, ...] = ()

    @property
    def fewest(self) -> int:
        """Instructions at the fewest, if no other instruction shares them."""
        return max(self.vector, self.scalar)

    @property
    def moves(self) -> int:
        """The number of moves in the most."""
        return sum(len(moved.pieces) for moved in self.moved)


@frozen
class NativeCount:
    """The native arithmetic instructions of a program, one use for each instruction of its text.

    lookups: its texture instructions, which stay one each.
    """

    uses: tuple[NativeUse, ...]
    lookups: int

    @property
    def fewest(self) -> int:
        """The fewest: vector and scalar parts share as many instructions as possible."""
        return max(sum(use.vector for use in self.uses), sum(use.scalar for use in self.uses))

    @property
    def most(self) -> int:
        """The most: a move for every piece, and nothing shared."""
        return sum(use.most for use in self.uses)

    def first_beyond(self, limit: float) -> NativeUse | None:
        """The first instruction at which the fewest exceed a limit, or else the most."""
        numbers = (
            [use.vector for use in self.uses],
            [use.scalar for use in self.uses],
            [use.most for use in self.uses],
        )
        for totals in map(accumulate, numbers):
            for use, total in zip(self.uses, totals, strict=True):
                if total > limit:
                    return use
        return None


def count_native(program: Program, known: InstructionSet) -> NativeCount:
    """Count the native instructions of a program, in both ways."""
    counter = _NativeCounter(known, _written(program))
    pairs = zip(program.instructions, _live(program), strict=True)
    uses = [counter.use(instruction, live) for instruction, live in pairs]
    for index, (fewest, most) in _around(known, uses):
        use = uses[index]
        vector, scalar = use.vector + fewest, use.scalar + fewest
        uses[index] = replace(use, vector=vector, scalar=scalar, most=use.most + most)
    lookups = sum(not is_arithmetic(i) for i in program.instructions)
    return NativeCount(tuple(uses), lookups)


def _live(program: Program) -> Iterator[Components]:
    """The components of each instruction that reach results; all if a program writes depth."""
    depth = ResultRegister(ResultKind.DEPTH)
    if any(i.register == depth for i in program.instructions):
        yield from (i.components for i in program.instructions)
        return
    yield from live_components(program, (False,) * len(program.lookup_units))


def _around(known: InstructionSet, uses: Sequence[NativeUse]) -> Iterator[tuple[int, Range]]:
    """Extra instructions, by index: of position's first reader and each result's last writer."""
    used = [(index, use.instruction) for index, use in enumerate(uses) if use.most]
    position = Attribute(AttributeKind.POSITION)
    readers = (index for index, i in used if any(src.register == position for src in i.srcs))
    yield from [(index, known.position) for index in islice(readers, 1)]
    last = {i.register: index for index, i in used}
    for register, index in last.items():
        i = uses[index].instruction
        if isinstance(register, ResultRegister) and not i.texture and not _is_plain_copy(i):
            yield index, known.result


def _written(program: Program) -> dict[str, frozenset[int]]:
    """The components of each temporary that any instruction writes."""
    written: dict[str, frozenset[int]] = {}
    for name, c in (part for i in program.instructions for part in i.written):
        written[name] = written.get(name, frozenset()) | {c}
    return written


@frozen
class _NativeCounter:
    """Counts the native cost of single instructions.

    written: the components of each temporary that any instruction writes.
    """

    known: InstructionSet
    written: dict[str, frozenset[int]]

    def use(self, instruction: Instruction, live: Components) -> NativeUse:
        """The cost of an instruction of which these components are used."""
        if not live:
            return NativeUse(instruction, 0, 0, 0)
        row = instruction.opcode
        if row.form is Form.FLOW:
            return NativeUse(instruction, 1, 0, 1)
        if not is_arithmetic(instruction):
            return self._lookup(instruction)
        read = live if row.form is Form.COMPONENTWISE else (0, 1, 2, 3)
        moved = tuple(self._moved(instruction, read)) if row.form is not Form.SCALAR else ()
        fewest, most = self.known.instructions.get(instruction.mnemonic, (1, 1))
        moves = sum(len(one.pieces) for one in moved)
        vector, scalar = self._parts(instruction, live, fewest, moves)
        return NativeUse(instruction, vector, scalar, most * (1 + moves), moved)

    def _moved(self, instruction: Instruction, read: Components) -> Iterator[Moved]:
        for number, src in enumerate(instruction.srcs):
            if pieces := self.known.moves(src, read):
                yield Moved(number, pieces)

    def _parts(
        self, instruction: Instruction, live: Components, fewest: int, moves: int
    ) -> tuple[int, int]:
        """The fewest vector and scalar parts of an instruction."""
        form = instruction.opcode.form
        vector, w = self.known.parts(live)
        has_scalar = self.known.parts((_W,))[1]
        if _is_copy(instruction):
            return 0, 0
        if form is Form.SCALAR:  # the scalar part computes, and the vector part copies from it
            return (int(bool(vector)), fewest) if has_scalar else (fewest, 0)
        if form is Form.VECTOR:
            both = has_scalar and instruction.mnemonic in {"DP4", "DPH"}  # sums of four: w, too
            return fewest + moves, int(w or both)
        read = (s for s in instruction.srcs if not _is_literal(s))
        operands: set[_Operand] = {(src.swizzle, src.negate) for src in read}
        return fewest * _split(operands, vector, self.known.swizzles), w * fewest

    def _lookup(self, instruction: Instruction) -> NativeUse:
        """The cost of a lookup, whose coordinates must be in a register, in order and unsigned."""
        read, moved = _coordinates(instruction), []
        for number, src in enumerate(instruction.srcs):
            is_parameter = isinstance(src.register, Parameter)  # lookups cannot read these
            if is_parameter or not _is_plain(src, read):
                moved.append(Moved(number, self.known.pieces(src, read)))
        pieces = [piece for one in moved for piece in one.pieces]
        extras = [sum(ends) for ends in zip((0, 0), *self._extras(instruction), strict=True)]
        vector = sum(bool(self.known.parts(piece)[0]) for piece in pieces)
        w = self.known.parts(read)[1] and bool(pieces)
        return NativeUse(
            instruction, vector + extras[0], int(w), len(pieces) + extras[1], tuple(moved)
        )

    def _extras(self, instruction: Instruction) -> Iterator[Range]:
        """The instructions before and after a lookup."""
        extras, dst, texture = self.known.lookups, instruction.dst, instruction.texture
        if texture is not None and texture.target.kind is TextureTarget.RECT:
            yield extras.rectangle
        if dst is None:
            return
        if instruction.saturate or isinstance(dst.register, ResultRegister):
            yield extras.saturated_or_result
        elif self.written[dst.register.name] - {*dst.components}:  # a lookup writes all four
            yield extras.masked


def _is_copy(instruction: Instruction) -> bool:
    """Whether readers of the result could read the source instead."""
    if instruction.mnemonic not in _COPIES or instruction.saturate or instruction.dst is None:
        return False
    return isinstance(instruction.dst.register, Temporary)


def _is_plain_copy(instruction: Instruction) -> bool:
    src, dst = instruction.srcs[0], instruction.dst
    is_copy = instruction.mnemonic == "MOV" and not instruction.saturate
    return is_copy and dst is not None and _is_plain(src, dst.components)


def _coordinates(instruction: Instruction) -> Components:
    """The components of its coordinates that a lookup reads; all components for KIL."""
    if instruction.texture is None:
        return (0, 1, 2, 3)
    last = () if instruction.mnemonic in ("TEX", "TXD") else (_W,)
    return (*range(instruction.texture.target.coordinates), *last)


def _is_plain(src: Src, components: Components) -> bool:
    """Whether these components of an operand are those of its register."""
    return all(src.swizzle[c] is Selector(c) and not src.negate[c] for c in components)


def _is_literal(src: Src) -> bool:
    register = src.register
    return isinstance(register, Parameter) and register.space is ParameterSpace.CONSTANT


# Pieces -------------------------------------------------------------------------------------

_Operand = tuple[tuple[Selector, ...], tuple[bool, ...]]
"""The swizzle and the signs of an operand."""


@lru_cache(maxsize=4096)
def _pieces(
    operands: tuple[_Operand, ...], components: Components, known: tuple[str, ...]
) -> Pieces:
    """The fewest pieces of these components in which instructions can read all the operands."""
    return next(
        parts
        for parts in _partitions(components)
        if all(_is_native(*operand, part, known) for part in parts for operand in operands)
    )


def _is_native(
    swizzle: tuple[Selector, ...],
    negate: tuple[bool, ...],
    components: Components,
    known: tuple[str, ...],
) -> bool:
    """Whether one instruction can read these components of an operand."""
    if len({negate[c] for c in components}) > 1:
        return False
    return any(all(SELECTORS[one[c]] is swizzle[c] for c in components) for one in known)


def _split(operands: set[_Operand], components: Components, known: tuple[str, ...]) -> int:
    """The fewest instructions for these components: split, with moves of some operands before."""
    return min(
        len(_pieces(read, components, known))
        + sum(len(_pieces((moved,), components, known)) for moved in operands.difference(read))
        for number in range(len(operands) + 1)
        for read in combinations(operands, number)
    )


@cache
def _partitions(components: Components) -> Sequence[Pieces]:
    """All ways to split these components, those with few parts first."""
    if not components:
        return ((),)
    first, partitions = components[0], []
    for rest in _partitions(components[1:]):
        partitions.append(((first,), *rest))
        partitions += [(*rest[:i], (first, *part), *rest[i + 1 :]) for i, part in enumerate(rest)]
    return tuple(sorted((tuple(sorted(parts)) for parts in partitions), key=len))
