"""A Loop's Content (lower/content.py) as LLVM IR: tiles of fragments, iterations in registers.

What is decided elsewhere is emitted here: what each lookup reads (fusion), what is alive
(rerolling), how large a tile is (register_tile). A lookup that does not vary
along x is a scalar, loaded once a row of fragments and broadcast. One that does not vary along y is
shared by the rows; where there are many of them it is staged: copied once a strip of tiles, in the
order in which the tiles will want it.

A module has two functions of one argument, an array of 64-bit words: `stage` for one strip, and
`run` for a rectangle of fragments and a stretch of iterations. The words are the HEADER_WORDS, then
TEXTURE_WORDS a surface, then PLACE_WORDS a place: everything that differs between Loops of one
Content is among them, or in the table that one of them points to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir

from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.lower.analysis import fusion
from gpgpu_legacy.lower.analysis.register_tile import lookup_axes, register_tile
from gpgpu_legacy.lower.analysis.rerolling import Advance, Segment, Step, live_segments
from gpgpu_legacy.lower.content import (
    AffineLookup,
    Content,
    DependentLookup,
    Draw,
    Move,
    OwnLookup,
    Surface,
    UnsupportedError,
)
from gpgpu_legacy.lower.grid import (
    F16,
    F32,
    I8,
    I32,
    I64,
    Counted,
    Emitter,
    Grid,
    Tile,
    Turning,
    integer,
    load,
    store,
)
from gpgpu_legacy.plan.formats import RGBA32F, Format, Numeric
from gpgpu_legacy.plan.plan import Blend, Plan, written_by
from gpgpu_legacy.plan.textures import Filter, TextureKind, Wrap

# The words of the argument array, before those of the surfaces: the rectangle's columns and rows
# that are to be worked on, the iterations, how many of these the table has; addresses of the table
# and of what is staged; how wide the whole rectangle is.
X_FIRST, X_LAST, Y_FIRST, Y_LAST, FIRST, LAST, COUNT, TABLE, STAGED, WIDTH, HEADER_WORDS = range(11)
MOST_PLANES = 4
ROW_LENGTH = MOST_PLANES  # in a surface's words, after its planes' addresses; in texels
SIZES = ROW_LENGTH + 1  # width, height and depth
ORIGIN = SIZES + 3  # of the rectangle in it, x and y
TEXTURE_WORDS = ORIGIN + 2
PLACE_WORDS = 2  # the base of a place, s and t, in texels

UNROLLED = 32  # about how many steps a loop over turns has in it

_MISSING = (0.0, 0.0, 0.0, 1.0)
_ELEMENTS = {(Numeric.FLOAT, 32): F32, (Numeric.FLOAT, 16): F16, (Numeric.UNORM, 8): I8}
_ALIGNMENTS = {F32: 4, F16: 2, I8: 1}
_LARGEST_LEVEL = 255.0


@dataclass(frozen=True, slots=True)
class Processor:
    """What of the processor the code's shape depends on: floats in a vector, and vectors.

    halves: whether it has instructions that convert float16.
    """

    lanes: int
    registers: int
    halves: bool = True


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that the code reads from its table, in which each has a value an iteration.

    draw: which of the Loop's programs wants it. source, component: of a parameter, or of an
    attribute, for which coefficient is 0 for the base of its plane, 1 for dx and 2 for dy.
    """

    draw: int
    source: Parameter | Attribute
    component: int
    coefficient: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """What a Content became.

    text: LLVM IR. table: whose values follow one another in the table, all iterations of the first
    before those of the second. staged: how many planes one iteration stages, `tile.width` numbers
    each. instructions: of an iteration, for a fragment.
    """

    text: str
    tile: Tile
    table: tuple[Scalar, ...]
    staged: int
    instructions: int


def emit_loop(
    content: Content, processor: Processor, *, exact: bool, tile: tuple[int, int] | None = None
) -> Code:
    """A Loop's Content as code. Raises UnsupportedError for what is left to the reference machine.

    tile: rows and strips that are wanted, in place of those that tiles.py would choose.
    """
    for draw in content.draws:
        _check(draw)
    for surface in content.surfaces:
        _check_surface(surface, processor)
    return _Module(content, processor, exact=exact, tile=tile).emit_all()


def gathered_alone(fused_steps: Iterable[fusion.FusedPasses], plan: Plan) -> frozenset[str]:
    """The rgba32f textures that lookups gather texel by texel, and that nothing else touches.

    With its channels side by side such a texel is one load; planes, which rows of fragments read
    and write, would take four.
    """
    computed, others = set[str](), {n for _, p in plan.weighted_passes() for n in written_by(p)}
    for loop in fused_steps:
        for member in loop.body:
            for lookup in member.lookups if isinstance(member, fusion.Draw) else ():
                if isinstance(lookup, fusion.DependentLookup):
                    computed.add(lookup.binding.texture)
                else:
                    others.add(lookup.texture)
            if isinstance(member, fusion.Move):
                others.add(member.source)
    return frozenset(n for n in computed - others if plan.texture(n).format is RGBA32F)


def _check(draw: Draw) -> None:
    if draw.program.fog is not None:
        raise UnsupportedError("fog")
    if draw.bent:
        raise UnsupportedError("two triangles")
    for lookup in draw.lookups:
        if isinstance(lookup, DependentLookup) and lookup.sampler.filter is not Filter.NEAREST:
            raise UnsupportedError("filtering")


# Modules and functions -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plane:
    """A channel of a placed lookup in a Segment of so many turns."""

    lookup: AffineLookup
    channel: int
    advance: Advance
    trips: int


class _Module:
    """One Loop's module: what all of its functions share."""

    def __init__(
        self,
        content: Content,
        processor: Processor,
        *,
        exact: bool,
        tile: tuple[int, int] | None,
    ) -> None:
        self.content, self.exact = content, exact
        self.programs = [live_segments(draw) for draw in content.draws]
        self.formats = [surface.format for surface in content.surfaces]
        self.staged = _Staging()
        if content.tall:
            for program in self.programs:
                for segment in program:
                    self.staged.add(self._shared_planes(segment))
        carried = sum(self.formats[number].channels for number in content.owned)
        rows, strips = register_tile(self.programs, carried, processor.registers, tile)
        self.tile = Tile(rows, strips, processor.lanes)
        self.table: dict[Scalar, int] = {}
        self.module = ir.Module("loop")

    def _shared_planes(self, segment: Segment) -> list[Plane]:
        """The planes of one turn of a segment that vary along x and are the same for all rows."""
        return [
            Plane(step.lookup, channel, step.advance, segment.trips)
            for step in segment.steps
            if isinstance(step.lookup, AffineLookup) and lookup_axes(step.lookup) == (True, False)
            for channel in step.components
            if channel < self.formats[step.lookup.texture].channels
        ]

    def emit_all(self) -> Code:
        blocks = [self._tile_function(self.tile)]
        if self.tile.rows > 1:
            blocks.append(self._tile_function(Tile(1, self.tile.strips, self.tile.lanes)))
        self._run_function(blocks)
        self._stage_function()
        instructions = sum(len(s.steps) * s.trips for program in self.programs for s in program)
        return Code(
            str(self.module), self.tile, tuple(self.table), self.staged.planes, instructions
        )

    def _function(self, name: str, *more: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), *more])
        return ir.Function(self.module, kind, name)

    def _tile_function(self, tile: Tile) -> Any:
        function = self._function(f"tile_of_{tile.rows}", I64, I64)
        function.linkage = "internal"
        function.attributes.add("noinline")
        _TileEmitter(self, function, tile).run(function.args[1], function.args[2])
        return function

    def _run_function(self, blocks: Sequence[Any]) -> None:
        """Whole tiles first, then the rows that are left, one at a time.

        The last tile of a row runs over its end: textures have room there (runtime/native.py).
        """
        function = self._function("run")
        builder = ir.IRBuilder(function.append_basic_block())
        words = _Words(builder, function.args[0])
        x_first, x_last = words.integer(X_FIRST), words.integer(X_LAST)
        y, y_last = words.integer(Y_FIRST), words.integer(Y_LAST)
        for block, rows in zip(blocks, (self.tile.rows, 1), strict=False):
            left = builder.sub(y_last, y)
            end = builder.add(y, builder.sub(left, builder.srem(left, integer(rows))))
            with (
                Counted(builder, y, end, rows) as row,
                Counted(builder, x_first, x_last, self.tile.width) as column,
            ):
                builder.call(block, [function.args[0], column, row])
            y = end
        builder.ret_void()

    def _stage_function(self) -> None:
        function = self._function("stage")
        _TileEmitter(self, function, Tile(1, self.tile.strips, self.tile.lanes)).stage()

    def column(self, scalar: Scalar) -> int:
        """Where a number stands in the table."""
        return self.table.setdefault(scalar, len(self.table))


class _Staging:
    """Where staged planes stand: those of a turn one after another, then those of the next turn."""

    def __init__(self) -> None:
        self.planes = 0
        self._places: dict[Plane, tuple[int, int]] = {}

    def add(self, planes: Sequence[Plane]) -> None:
        """Give the planes of a segment their places."""
        new = [plane for plane in dict.fromkeys(planes) if plane not in self._places]
        for number, plane in enumerate(new):
            self._places[plane] = (self.planes + number, len(new))
        self.planes += sum(plane.trips for plane in new)

    def __iter__(self) -> Iterator[Plane]:
        return iter(self._places)

    def __contains__(self, plane: Plane) -> bool:
        return plane in self._places

    def place(self, plane: Plane) -> tuple[int, int]:
        """Which one it is in the first turn, and how many there are in a turn."""
        return self._places[plane]


def element_of(texel_format: Format) -> Any:
    """What a texture's planes consist of."""
    return _ELEMENTS[texel_format.numeric, texel_format.bits_per_channel]


def _check_surface(surface: Surface, processor: Processor) -> None:
    """Refuse what the processor cannot load, and what 32-bit texel numbers do not reach."""
    if element_of(surface.format) == F16 and not processor.halves:
        raise UnsupportedError(surface.format.name)
    if not surface.reachable:
        raise UnsupportedError("2³¹ texels")


class _Words:
    """The argument array, as its function reads it."""

    def __init__(self, builder: ir.IRBuilder, pointer: Any) -> None:
        self._builder, self._pointer = builder, pointer

    def integer(self, word: int) -> Any:
        return self._builder.load(self._builder.gep(self._pointer, [integer(word)]))

    def address(self, word: int, element: Any) -> Any:
        return self._builder.inttoptr(self.integer(word), element.as_pointer())


# Tiles ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Planes:
    """A surface in memory: its planes, its sizes in texels, the rectangle's origin in it."""

    planes: tuple[Any, ...]
    row_length: Any
    sizes: tuple[Any, Any, Any]
    origin: tuple[Any, Any]
    element: Any


Register = tuple[int, int]
"""A channel of a surface at the fragment's own texel."""


class _TileEmitter:
    """One function that works on a tile: loads and stores, and the loop over iterations."""

    def __init__(self, module: _Module, function: Any, tile: Tile) -> None:
        self.module, self.tile = module, tile
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.emit = Emitter(module.module, self.builder, tile, exact=module.exact)
        self.words = _Words(self.builder, function.args[0])
        self.memory = [
            self._planes(number, texel_format) for number, texel_format in enumerate(module.formats)
        ]
        self.bases = [self._base(place) for place in range(module.content.places)]
        self.staged_at = self.words.address(STAGED, F32)
        self.table_at = self.words.address(TABLE, F32)
        self.first, self.last = self.words.integer(FIRST), self.words.integer(LAST)
        self.count, self.width = self.words.integer(COUNT), self.words.integer(WIDTH)
        self.x = self.y = integer(0)
        self.iteration = self.first
        self.turn, self.ahead = integer(0), 0
        self.known: dict[Any, Any] = {}

    def _planes(self, number: int, texel_format: Format) -> _Planes:
        first, element = HEADER_WORDS + number * TEXTURE_WORDS, element_of(texel_format)
        planes = [self.words.address(first + c, element) for c in range(texel_format.channels)]
        width, height, depth, x, y = (
            self.words.integer(first + word) for word in range(SIZES, TEXTURE_WORDS)
        )
        row_length = self.words.integer(first + ROW_LENGTH)
        return _Planes(tuple(planes), row_length, (width, height, depth), (x, y), element)

    def _base(self, place: int) -> tuple[Any, Any]:
        surfaces = len(self.module.formats)
        first = HEADER_WORDS + surfaces * TEXTURE_WORDS + place * PLACE_WORDS
        return self.words.integer(first), self.words.integer(first + 1)

    def run(self, x: Any, y: Any) -> None:
        """All iterations on the tile whose lower left fragment is (x, y)."""
        self.x, self.y = x, y
        carried = self._carried()
        loop = Turning(self.emit, self.first, 1)
        registers = dict(zip(carried, loop.begin([self._own(r) for r in carried]), strict=True))
        self.iteration, self.known = loop.number, {}
        draws = 0
        for member in self.module.content.body:
            if isinstance(member, Move):
                for channel in range(self.module.formats[member.source].channels):
                    registers[member.target, channel] = registers[member.source, channel]
            else:
                _DrawEmitter(self, member, draws, registers).emit_all()
                draws += 1
        loop.end(self.last, [registers[register] for register in carried])
        self.known = {}
        for register, value in registers.items():
            if self.module.content.surfaces[register[0]].written:
                self._put_own(register, value)
        self.builder.ret_void()

    def _carried(self) -> list[Register]:
        """The registers that a body may read before it writes them, so that they go round."""
        numbers: dict[int, None] = {}
        for member in self.module.content.body:
            if isinstance(member, Move):
                numbers[member.source] = None
                continue
            numbers.update(
                {look.texture: None for look in member.lookups if isinstance(look, OwnLookup)}
            )
            if member.blend is not Blend.NONE or member.program.kills:
                numbers.update(dict.fromkeys(member.targets))
        return [(n, c) for n in numbers for c in range(self.module.formats[n].channels)]

    def stage(self) -> None:
        """Copy what is staged for one strip of tiles, iteration after iteration."""
        self.x = self.words.integer(X_FIRST)
        with Counted(self.builder, self.first, self.last) as self.iteration:
            for plane in self.module.staged:
                with Counted(self.builder, integer(0), integer(plane.trips)) as self.turn:
                    self.known = {}
                    value = self._placed(plane)
                    for strip in range(self.tile.strips):
                        place = self._staged_place(plane, strip)
                        store(self.builder, value.at(0, strip, vector=True), place, 4)
        self.builder.ret_void()

    # Own texels

    def _own(self, register: Register) -> Grid:
        """A register as memory has it."""
        kind = self.memory[register[0]].element
        vector = self.emit.vector_of(kind)

        def cell(row: int, strip: int) -> Any:
            place = self._own_place(register, row, strip)
            return self._float(load(self.builder, place, vector, _ALIGNMENTS[kind]))

        return self.emit.make(True, True, cell)

    def _put_own(self, register: Register, value: Grid) -> None:
        """A register to memory. Where texels follow the rectangle in its rows, they are kept."""
        number, _ = register
        kind = self.memory[number].element
        for row in range(self.tile.rows):
            for strip in range(self.tile.strips):
                stored = self._stored(value.at(row, strip, vector=True), kind)
                place, align = self._own_place(register, row, strip), _ALIGNMENTS[kind]
                if self.module.content.surfaces[number].followed:
                    before = load(self.builder, place, stored.type, align)
                    stored = self.builder.select(self._in_rectangle(strip), stored, before)
                store(self.builder, stored, place, align)

    def _in_rectangle(self, strip: int) -> Any:
        """For each lane, whether the rectangle is so wide."""
        if ("lanes", strip) not in self.known:
            b, lanes = self.builder, self.tile.lanes
            left = b.sub(self.width, b.add(self.x, integer(strip * lanes)))
            numbers = ir.Constant(self.emit.vector_of(I64), list(range(lanes)))
            self.known["lanes", strip] = b.icmp_signed("<", numbers, self.emit.splat(left))
        return self.known["lanes", strip]

    def _own_place(self, register: Register, row: int, strip: int) -> Any:
        b, (number, channel) = self.builder, register
        memory = self.memory[number]
        left, lower = memory.origin
        y = b.add(b.add(self.y, lower), integer(row))
        x = b.add(b.add(self.x, left), integer(strip * self.tile.lanes))
        return b.gep(memory.planes[channel], [b.add(b.mul(y, memory.row_length), x)])

    # Placed lookups

    def placed(self, plane: Plane) -> Grid:
        """A channel of a placed lookup, for this iteration and turn."""
        key = (plane, self.ahead)
        if key not in self.known:
            is_staged = plane in self.module.staged
            self.known[key] = self._staged(plane) if is_staged else self._placed(plane)
        found: Grid = self.known[key]
        return found

    def _placed(self, plane: Plane) -> Grid:
        lookup, b, lanes = plane.lookup, self.builder, self.tile.lanes
        memory = self.memory[lookup.texture]
        along_x, along_y = lookup_axes(lookup)
        s, s_constant = self._affine(lookup, 0, plane.advance[0])
        t, t_constant = self._affine(lookup, 1, plane.advance[1])
        contiguous = lookup.s.x == 1 and not lookup.t.x and lookup.inside

        def place(row: int, lane: int) -> Any:
            right = s_constant + lookup.s.y * row + lookup.s.x * lane
            up = t_constant + lookup.t.y * row + lookup.t.x * lane
            column, line = b.add(s, integer(right)), b.add(t, integer(up))
            if not lookup.inside:
                column = self._clamped(column, memory.sizes[0])
                line = self._clamped(line, memory.sizes[1])
            return b.gep(
                memory.planes[plane.channel], [b.add(b.mul(line, memory.row_length), column)]
            )

        def cell(row: int, strip: int) -> Any:
            if not along_x:
                return self._float(b.load(place(row, 0)))
            if contiguous:
                vector = self.emit.vector_of(memory.element)
                align = _ALIGNMENTS[memory.element]
                return self._float(load(b, place(row, strip * lanes), vector, align))
            if lookup.inside:
                return self._gathered(self._lanes_inside(plane, row, strip))
            return self._gathered([place(row, strip * lanes + i) for i in range(lanes)])

        return self.decoded(lookup.texture, self.emit.make(along_x, along_y, cell))

    def _lanes_inside(self, plane: Plane, row: int, strip: int) -> list[Any]:
        """Where each lane of a lookup that never leaves its texture reads."""
        b, lookup = self.builder, plane.lookup
        memory = self.memory[lookup.texture]
        parts = []
        column_0 = replace(lookup, s=replace(lookup.s, x=0), t=replace(lookup.t, x=0))
        for axis, form in enumerate((lookup.s, lookup.t)):
            computed, constant = self._affine(column_0, axis, plane.advance[axis])
            parts.append(b.add(computed, integer(constant + form.y * row)))
        column, line = parts
        offset = b.add(b.mul(line, memory.row_length), column)
        first = b.gep(memory.planes[plane.channel], [offset])
        return [b.gep(first, [lane]) for lane in self._lane_offsets(lookup, strip)]

    def _lane_offsets(self, lookup: AffineLookup, strip: int) -> list[Any]:
        """How far each lane reads from where column 0 does; past the rectangle, as its last one."""
        b, lanes = self.builder, self.tile.lanes
        right, up = lookup.s.x, lookup.t.x
        key = ("offsets", lookup.texture, right, up, strip)
        if key not in self.known:
            memory, last = self.memory[lookup.texture], b.sub(self.width, integer(1))
            a_column = b.add(b.mul(memory.row_length, integer(up)), integer(right))
            columns = [b.add(self.x, integer(strip * lanes + lane)) for lane in range(lanes)]
            kept = [b.select(b.icmp_signed("<", x, last), x, last) for x in columns]
            self.known[key] = [b.mul(x, a_column) for x in kept]
        found: list[Any] = self.known[key]
        return found

    def _affine(self, lookup: AffineLookup, axis: int, advance: int) -> tuple[Any, int]:
        """A coordinate at the tile's first fragment: what is computed of it, and a constant."""
        form = (lookup.s, lookup.t)[axis]
        factors = (form.x, form.y, form.iteration, advance)
        key = ("affine", lookup.place, axis, factors)
        if key not in self.known:
            total = self.bases[lookup.place][axis]
            variables = (self.x, self.y, self.iteration, self.turn)
            for factor, variable in zip(factors, variables, strict=True):
                if factor:
                    times = self.builder.mul(variable, integer(factor))
                    total = self.builder.add(total, times)
            self.known[key] = total
        return self.known[key], form.constant + self.ahead * advance

    def _clamped(self, index: Any, size: Any) -> Any:
        b = self.builder
        low = b.select(b.icmp_signed("<", index, integer(0)), integer(0), index)
        last = b.sub(size, integer(1))
        return b.select(b.icmp_signed(">", low, last), last, low)

    def _gathered(self, places: Sequence[Any]) -> Any:
        """One number from each place."""
        b, first = self.builder, self.builder.load(places[0])
        gathered = ir.Constant(self.emit.vector_of(first.type), ir.Undefined)
        values = [first, *(b.load(place) for place in places[1:])]
        for lane, value in enumerate(values):
            gathered = b.insert_element(gathered, value, ir.Constant(I32, lane))
        return self._float(gathered)

    def _float(self, value: Any) -> Any:
        """A stored number as a float: a level stays a level."""
        element, kind = _element(value.type), _like(value.type, F32)
        if element == F32:
            return value
        convert = self.builder.uitofp if element == I8 else self.builder.fpext
        return convert(value, kind)

    def _stored(self, value: Any, element: Any) -> Any:
        """A float as a texture of such elements stores it; where it is one, it is kept exactly."""
        kind = _like(value.type, element)
        if element == F32:
            return value
        convert = self.builder.fptoui if element == I8 else self.builder.fptrunc
        return convert(value, kind)

    def halved(self, value: Grid) -> Grid:
        """Rounded to the nearest number of float16."""
        return self.emit.map(lambda _, v: self._float(self._stored(v, F16)), value)

    def decoded(self, texture: int, stored: Grid) -> Grid:
        """What a lookup finds where the surface stores this."""
        is_level = self.module.formats[texture].numeric is Numeric.UNORM
        return stored / _LARGEST_LEVEL if is_level else stored

    # Staged ones

    def _staged(self, plane: Plane) -> Grid:
        """What `stage` has copied: decoded, and the same for all rows."""
        vector = self.emit.vector_of(F32)
        return self.emit.make(
            True,
            False,
            lambda _, strip: load(self.builder, self._staged_place(plane, strip), vector, 4),
        )

    def _staged_place(self, plane: Plane, strip: int) -> Any:
        b, width = self.builder, self.tile.width
        number, a_turn = self.module.staged.place(plane)
        key = ("staged", a_turn, plane.trips)
        if key not in self.known:
            gone = b.sub(self.iteration, self.first)
            offset = b.mul(gone, integer(self.module.staged.planes * width))
            if plane.trips > 1:
                offset = b.add(offset, b.mul(self.turn, integer(a_turn * width)))
            self.known[key] = b.gep(self.staged_at, [offset])
        offset = (number + self.ahead * a_turn) * width + strip * self.tile.lanes
        return b.gep(self.known[key], [integer(offset)])

    # Computed ones

    def computed(
        self, lookup: DependentLookup, coordinates: Sequence[Grid], channels: Sequence[int]
    ) -> dict[int, Grid]:
        """The texel that a fragment's own coordinates fall on, by interp/sampler.py's rules."""
        surface = self.module.content.surfaces[lookup.texture]
        memory, sampler = self.memory[lookup.texture], lookup.sampler
        if surface.kind not in _AXES:
            raise UnsupportedError(f"{surface.kind.value} lookups")
        wraps = (sampler.wrap_s, sampler.wrap_t, sampler.wrap_r)
        normalised = surface.kind is not TextureKind.RECT
        indices = [
            self._index(coordinates[axis], memory.sizes[axis], wraps[axis], normalised=normalised)
            for axis in range(_AXES[surface.kind])
        ]
        zero = self._uniform(ir.Constant(I32, 0))
        column, line, layer = [*indices, zero, zero][:3]
        row = self._multiply_add(layer, memory.sizes[1], line)
        texel = self._multiply_add(row, memory.row_length, column)
        if surface.interleaved:
            return self._whole_texels(memory.planes[0], texel, channels)
        return {
            c: self.decoded(lookup.texture, self._texels(memory.planes[c], texel)) for c in channels
        }

    def _multiply_add(self, a: Grid, factor: Any, c: Grid) -> Grid:
        """a·factor + c in 32-bit integers."""
        b = self._uniform(self.builder.trunc(factor, I32))
        return self.emit.map(lambda build, x, y, z: build.add(build.mul(x, y), z), a, b, c)

    def _index(self, coordinate: Grid, size: Any, wrap: Wrap, *, normalised: bool) -> Grid:
        """The texel's number along an axis; NaN falls on texel 0."""
        emit, exactly = self.emit, self.emit.exactly
        if wrap is Wrap.REPEAT:
            whole = emit.call("llvm.floor", coordinate)
            coordinate = exactly("fsub", coordinate, whole)
        sizes = self._uniform(self.builder.sitofp(size, F32))
        if normalised:
            coordinate = exactly("fmul", coordinate, sizes)
        texel = emit.call("llvm.floor", coordinate)
        low = emit.select(texel > 0.0, texel, 0.0)
        last = exactly("fsub", sizes, 1.0)
        inside = emit.select(low < last, low, last)
        return emit.map(
            lambda b, v: b.fptosi(v, _like(v.type, I32)),
            inside,
        )

    def _uniform(self, value: Any) -> Grid:
        return Grid(self.emit, [[value]], along_x=False, along_y=False)

    def _texels(self, plane: Any, texel: Grid) -> Grid:
        b = self.builder

        def cell(row: int, strip: int) -> Any:
            number = texel.at(row, strip, vector=texel.along_x)
            if not texel.along_x:
                return self._float(b.load(b.gep(plane, [b.zext(number, I64)])))
            lanes = [b.extract_element(number, ir.Constant(I32, i)) for i in range(self.tile.lanes)]
            return self._gathered([b.gep(plane, [b.zext(lane, I64)]) for lane in lanes])

        return self.emit.make(texel.along_x, texel.along_y, cell)

    def _whole_texels(self, first: Any, texel: Grid, channels: Sequence[int]) -> dict[int, Grid]:
        """The channels of a texture in which those of a texel lie side by side."""
        b, four = self.builder, ir.VectorType(F32, MOST_PLANES)

        def place(number: Any) -> Any:
            return b.gep(first, [b.mul(b.zext(number, I64), integer(MOST_PLANES))])

        def cell(row: int, strip: int) -> Any:
            number = texel.at(row, strip, vector=texel.along_x)
            if not texel.along_x:
                return load(b, place(number), four, 4)
            lanes = [b.extract_element(number, ir.Constant(I32, i)) for i in range(self.tile.lanes)]
            vectors = [load(b, place(lane), four, 4) for lane in lanes]
            while len(vectors) > 1:  # two by two to one vector of all texels
                pairs = zip(vectors[::2], vectors[1::2], strict=True)
                vectors = [b.shuffle_vector(x, y, _numbers(2 * x.type.count)) for x, y in pairs]
            return vectors[0]

        texels = self.emit.make(texel.along_x, texel.along_y, cell)

        def channel(c: int) -> Grid:
            def part(row: int, strip: int) -> Any:
                whole = texels.at(row, strip, vector=False)
                if not texel.along_x:
                    return b.extract_element(whole, ir.Constant(I32, c))
                nothing = ir.Constant(whole.type, ir.Undefined)
                every_fourth = _numbers(whole.type.count, c, MOST_PLANES)
                return b.shuffle_vector(whole, nothing, every_fourth)

            return self.emit.make(texel.along_x, texel.along_y, part)

        return {c: channel(c) for c in channels}

    # Numbers

    def number(self, scalar: Scalar) -> Grid:
        """A number of the table, for this iteration."""
        if scalar not in self.known:
            b, column = self.builder, self.module.column(scalar)
            offset = b.add(b.mul(self.count, integer(column)), self.iteration)
            self.known[scalar] = self._uniform(b.load(b.gep(self.table_at, [offset])))
        found: Grid = self.known[scalar]
        return found

    def centres(self) -> tuple[Grid, Grid]:
        """Fragments' centres, by their distance from the rectangle's lower left."""
        if "centres" not in self.known:
            b, lanes = self.builder, self.tile.lanes
            vector = self.emit.vector_of(I32)
            steps = ir.Constant(vector, list(range(lanes)))

            def column(_: int, strip: int) -> Any:
                first = b.trunc(b.add(self.x, integer(strip * lanes)), I32)
                return b.sitofp(b.add(self.emit.splat(first), steps), self.emit.vector_of(F32))

            def line(row: int, _: int) -> Any:
                return b.sitofp(b.add(self.y, integer(row)), F32)

            self.known["centres"] = (
                self.emit.exactly("fadd", self.emit.make(True, False, column), 0.5),
                self.emit.exactly("fadd", self.emit.make(False, True, line), 0.5),
            )
        found: tuple[Grid, Grid] = self.known["centres"]
        return found

    def origin(self, draw: Draw) -> tuple[Grid, Grid]:
        """The lower left of the rectangle in the targets, as floats."""
        x, y = self.memory[draw.targets[0]].origin
        return (
            self._uniform(self.builder.sitofp(x, F32)),
            self._uniform(self.builder.sitofp(y, F32)),
        )


_AXES = {TextureKind.RECT: 2, TextureKind.T1D: 1, TextureKind.T2D: 2, TextureKind.T3D: 3}


def _element(kind: Any) -> Any:
    """The type of one lane."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def _numbers(end: int, start: int = 0, step: int = 1) -> ir.Constant:
    """Which elements a shuffle takes."""
    numbers = list(range(start, end, step))
    return ir.Constant(ir.VectorType(I32, len(numbers)), numbers)


def _like(kind: Any, element: Any) -> Any:
    """The type of as many elements."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


# Programs ------------------------------------------------------------------------------------

_Place = tuple[str | ResultRegister, int]
"""A component of a temporary or a result."""

_KILLED: _Place = ("", 0)
"""Where a program keeps whether its fragment is dead: 1, else 0."""


class _DrawEmitter:
    """One fragment program of a Loop's body, on a tile."""

    def __init__(
        self, tile: _TileEmitter, draw: Draw, number: int, registers: dict[Register, Grid]
    ) -> None:
        """number: which of the Content's draws it is."""
        self.tile, self.draw, self.number = tile, draw, number
        self.registers, self.emit = registers, tile.emit
        self.values: dict[_Place, Grid] = {}

    def emit_all(self) -> None:
        for segment in self.tile.module.programs[self.number]:
            if segment.trips == 1:
                self._turn(segment)
            else:
                self._turns(segment)
        self._write()

    def _turn(self, segment: Segment) -> None:
        for step in segment.steps:
            self._step(step, segment.trips)

    def _turns(self, segment: Segment) -> None:
        """A loop that takes several turns at a time; then those that are left."""
        tile, known = self.tile, self.tile.known
        together = min(segment.trips, max(1, UNROLLED // len(segment.steps)))
        whole = segment.trips // together * together
        carried = _carried(segment)
        loop = Turning(self.emit, integer(0), together)
        starts = loop.begin([self._value(place) for place in carried])
        self.values |= dict(zip(carried, starts, strict=True))
        tile.turn, tile.known = loop.number, {}
        for tile.ahead in range(together):
            self._turn(segment)
        loop.end(integer(whole), [self._value(place) for place in carried])
        tile.turn, tile.known = integer(whole), {}
        for tile.ahead in range(segment.trips - whole):
            self._turn(segment)
        tile.turn, tile.ahead, tile.known = integer(0), 0, known

    def _step(self, step: Step, trips: int) -> None:
        instruction, components = step.instruction, step.components
        row, srcs = OPCODES[instruction.mnemonic], instruction.srcs
        if instruction.dst is None:
            condition = row.evaluate(*(self._vector(src) for src in srcs))
            self.values[_KILLED] = self.emit.select(condition, 1.0, self._value(_KILLED))
            return
        match row.form:
            case Form.COMPONENTWISE:
                result = {
                    c: row.evaluate(*(self._fetch(src, c) for src in srcs)) for c in components
                }
            case Form.SCALAR:
                one = row.evaluate(*(self._fetch(src, 0) for src in srcs))
                result = dict.fromkeys(components, one)
            case Form.SAMPLE:
                result = self._look_up(step, trips, row.evaluate)
            case _:
                vector = row.evaluate(*(self._vector(src) for src in srcs))
                result = {c: vector[c] for c in components}
        name = _name(instruction.dst.register)
        for c, made in result.items():
            value = self.emit.grid(made)
            self.values[name, c] = self.emit.saturated(value) if instruction.saturate else value

    def _look_up(self, step: Step, trips: int, coordinates: Callable[..., Any]) -> dict[int, Any]:
        lookup, tile = step.lookup, self.tile
        assert lookup is not None
        channels = tile.module.formats[lookup.texture].channels
        present = [c for c in step.components if c < channels]
        missing = {c: _MISSING[c] for c in step.components if c >= channels}
        match lookup:
            case OwnLookup(texture):
                return missing | {
                    c: tile.decoded(texture, self.registers[texture, c]) for c in present
                }
            case AffineLookup():
                planes = {c: Plane(lookup, c, step.advance, trips) for c in present}
                return missing | {c: tile.placed(plane) for c, plane in planes.items()}
            case DependentLookup():
                made = coordinates(self._vector(step.instruction.srcs[0]))
                grids = [self.emit.grid(coordinate) for coordinate in made]
                return missing | tile.computed(lookup, grids, present)

    # Sources

    def _vector(self, src: Src) -> tuple[Grid, Grid, Grid, Grid]:
        x, y, z, w = (self._fetch(src, c) for c in range(4))
        return (x, y, z, w)

    def _fetch(self, src: Src, component: int) -> Grid:
        selector = src.swizzle[component]
        if selector is Selector.ZERO or selector is Selector.ONE:
            value = self.emit.grid(float(selector is Selector.ONE))
        else:
            value = self._read(src.register, selector.value)
        return -value if src.negate[component] else value

    def _read(self, register: SourceRegister, component: int) -> Grid:
        if isinstance(register, Temporary):
            return self._value((register.name, component))
        if isinstance(register, Attribute):
            return self._attribute(register, component)
        if register.space is ParameterSpace.CONSTANT:
            return self.emit.grid(register.value[component])
        return self.tile.number(Scalar(self.number, register, component))

    def _value(self, place: _Place) -> Grid:
        """What stands in a component; 0 before anything does."""
        return self.values.get(place) or self.emit.grid(0.0)

    def _attribute(self, attribute: Attribute, component: int) -> Grid:
        """An attribute at the fragments' centres: base + dx·x + dy·y in float32, in that order."""
        exactly, (x, y) = self.emit.exactly, self.tile.centres()
        if attribute.kind is AttributeKind.POSITION:
            if component >= 2:
                return self.emit.grid((0.5, 1.0)[component - 2])
            return exactly("fadd", (x, y)[component], self.tile.origin(self.draw)[component])
        base, dx, dy = (
            self.tile.number(Scalar(self.number, attribute, component, k)) for k in range(3)
        )
        value = exactly("fadd", base, exactly("fmul", dx, x))
        return exactly("fadd", value, exactly("fmul", dy, y))

    # Targets

    def _write(self) -> None:
        """The colours to the targets' registers: encoded, blended, unless the fragment died."""
        separate = self.draw.program.has_separate_colors
        for number, target in enumerate(self.draw.targets):
            texel_format = self.tile.module.formats[target]
            color = ResultRegister(ResultKind.COLOR, number if separate else 0)
            for channel in range(texel_format.channels):
                value, register = self._value((color, channel)), (target, channel)
                value = self._encoded(value, texel_format)
                if self.draw.blend is Blend.ADD:
                    value = self._sum(value, self.registers[register], texel_format)
                if _KILLED in self.values:
                    dead = self.values[_KILLED] > 0.0
                    value = self.emit.select(dead, self.registers[register], value)
                self.registers[register] = self.emit.everywhere(value)

    def _encoded(self, value: Grid, texel_format: Format) -> Grid:
        """What the target stores of a colour, as a float; a level of 8 bits from 0 to 255."""
        if texel_format.numeric is Numeric.UNORM:
            return self._level(value)
        return self.tile.halved(value) if element_of(texel_format) == F16 else value

    def _sum(self, value: Grid, before: Grid, texel_format: Format) -> Grid:
        """Encoded numbers added, encoded; levels saturate."""
        total = value + before
        if texel_format.numeric is Numeric.UNORM:
            return self.emit.select(total < _LARGEST_LEVEL, total, _LARGEST_LEVEL)
        return self._encoded(total, texel_format)

    def _level(self, value: Grid) -> Grid:
        """The level, from 0 to 255, that 8 bits store of a colour."""
        exactly = self.emit.exactly
        scaled = exactly("fmul", self.emit.saturated(value), _LARGEST_LEVEL)
        return self.emit.call("llvm.floor", exactly("fadd", scaled, 0.5))


def _name(register: Temporary | ResultRegister) -> str | ResultRegister:
    return register.name if isinstance(register, Temporary) else register


def _carried(segment: Segment) -> list[_Place]:
    """What a turn reads of what the turn before it wrote."""
    places: list[tuple[set[_Place], set[_Place]]] = []
    for step in segment.steps:
        dst, read = step.instruction.dst, set[_Place](step.reads)
        if dst is None:
            places.append((read | {_KILLED}, {_KILLED}))
        else:
            places.append((read, {(_name(dst.register), c) for c in step.components}))
    ever = set().union(*(written for _, written in places))
    already, found = set[_Place](), dict[_Place, None]()
    for read, written in places:
        found.update(dict.fromkeys(sorted((read & ever) - already, key=str)))
        already |= written
    return list(found)
