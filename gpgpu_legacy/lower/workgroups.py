"""A Loop's Content (lower/content.py) as a GLSL compute shader: a tile of fragments a work group.

Each invocation has `strips` × `rows` fragments of its group's tile, and carries out all iterations
on them, partial sums in registers. The statements are the fragment shader's (lower/body.py), once
for each fragment where they differ: a register that varies along x alone is kept once a strip, one
that varies along y alone once a row.

Lookups that turn (rerolling) and vary along one axis alone are wanted by a whole row or column
of invocations. They are staged in the group's shared memory, `depth` turns at a time, and while one
batch is being used the next is on its way from the textures, in registers. Where a program has no
turns but its Loop has iterations, those are the turns.

Textures are arrays in storage buffers: a vec4 a texel, or a float. What differs between Loops of
one Content stands in a uniform block, whose bytes `uniform_blocks` makes of their Arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.lower.analysis.register_tile import lookup_axes
from gpgpu_legacy.lower.analysis.rerolling import Segment, Step, live_segments
from gpgpu_legacy.lower.body import (
    Body,
    Surroundings,
    attribute_name,
    position,
    register_name,
    result_name,
    temporary,
    with_constants_declared,
    zero,
)
from gpgpu_legacy.lower.content import (
    AffineLookup,
    Arguments,
    Content,
    DependentLookup,
    Draw,
    Move,
    OwnLookup,
    UnsupportedError,
)
from gpgpu_legacy.lower.ir import EVERYWHERE, NOWHERE, Axes
from gpgpu_legacy.lower.sampling_text import (
    Unit,
    fetch_name,
    lookup_function,
    lookup_name,
    missing_channels,
)
from gpgpu_legacy.lower.values import parameter_values, plane_values
from gpgpu_legacy.plan.expand import varies
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Blend

VERSION = "#version 430 core"


@dataclass(frozen=True, slots=True)
class GroupShape:
    """The shape of the code.

    threads: invocations of a group across and up. strips, rows: fragments of an invocation across
    and up. depth: turns staged at a time. together: of these, how many are unrolled. adjacent: how
    many neighbouring fragments, across and up, an invocation has side by side.
    """

    threads: tuple[int, int] = (16, 16)
    strips: int = 4
    rows: int = 4
    depth: int = 16
    together: int = 8
    adjacent: int = 1

    @property
    def tile(self) -> tuple[int, int]:
        """Fragments of a group across and up."""
        return self.threads[0] * self.strips, self.threads[1] * self.rows


@dataclass(frozen=True, slots=True)
class Uniform:
    """A vec4 of the uniform block, and where its value comes from.

    draw: the number of the pass, as Arguments has it. source: a parameter or a vector of state, or
    an attribute, of whose plane it is the part: 0 the base, 1 dx, 2 dy.
    """

    name: str
    draw: int
    source: Parameter | Attribute
    part: int = 0


@dataclass(frozen=True, slots=True)
class GroupCode:
    """A shader, and what its buffers and its uniform block hold.

    surfaces, places: how many the Content has; the buffer of surface n is at binding n. vectors:
    the block's, in order. turns: how often an invocation goes round in one iteration, at most.
    """

    text: str
    shape: GroupShape
    surfaces: int
    places: int
    vectors: tuple[Uniform, ...]
    trips: int

    @property
    def block_bytes(self) -> int:
        """The size of the uniform block."""
        pairs = 2 + 2 * self.surfaces + self.places
        return 16 * (len(self.vectors) + -(-pairs // 2))


BLOCK = "Run"
"""The name of the uniform block, at binding 0 of uniform buffers."""

ITERATIONS = "iterations"
"""The name of the uniform, an ivec2, that has the first iteration and the one after the last."""


@lru_cache(maxsize=256)
def emit_groups(
    content: Content, shape: GroupShape, shared_bytes: int, *, exact: bool
) -> GroupCode:
    """A Loop's Content as a compute shader, emitted once for equal ones.

    Raises UnsupportedError for fog and bent attributes.

    shape: what is wanted; where nothing can be staged in `shared_bytes`, it has no depth.
    Run it on the Arguments' width over the tile's × height over the tile's groups, rounded up, with
    the surfaces' buffers at their numbers as bindings, the uniform ITERATIONS and the uniform block
    BLOCK (std140, at binding 0): in this order the vec4s of `vectors`; `ivec2 extent`, the width
    and height; `ivec2 size_N` and `ivec2 origin_N` of each surface N, rows counted over all layers;
    `ivec2 base_P` of each place P; and `int batch`, the shape's depth. `uniform_blocks` gives its
    bytes.
    """
    for draw in content.draws:
        if draw.program.fog is not None:
            raise UnsupportedError("fog")
        if draw.bent:
            raise UnsupportedError("two triangles")
    return _Emitter(content, shape, shared_bytes, exact=exact).emit_all()


def uniform_blocks(code: GroupCode, arguments: Arguments) -> NDArray[np.uint8]:
    """The bytes of the uniform block: (iterations, code.block_bytes), or (1, …) for all alike.

    Several rows mean that a parameter, state or an attribute differs between iterations: they
    can then be run one at a time, with the row of that number, but not in one go.
    """
    count = arguments.count if any(map(varies, arguments.passes)) else 1
    vectors = np.empty((count, len(code.vectors), 4), "<f4")
    for number, uniform in enumerate(code.vectors):
        pass_, source = arguments.passes[uniform.draw], uniform.source
        with np.errstate(over="ignore"):
            vectors[:, number] = (
                parameter_values(pass_, source, count)
                if isinstance(source, Parameter)
                else plane_values(pass_, source, count)[:, uniform.part]
            )
    if (vectors.view("<u4") == vectors[:1].view("<u4")).all():
        vectors = vectors[:1]
    whole = [(arguments.width, arguments.height)]
    for extent, origin in zip(arguments.extents, arguments.origins, strict=True):
        whole += [(extent.width, extent.rows), origin]
    whole += [*arguments.bases, (code.shape.depth, 0)]
    rows, first = len(vectors), 16 * len(code.vectors)
    blocks = np.zeros((rows, code.block_bytes), np.uint8)
    blocks[:, :first] = vectors.reshape(rows, -1).view(np.uint8)
    blocks[:, first : first + 8 * len(whole)] = np.array(whole, "<i4").reshape(-1).view(np.uint8)
    return blocks


def group_shape(content: Content) -> GroupShape:
    """The usual shape: as many fragments an invocation as 64 numbers of a partial sum make.

    Where each fragment looks up texels that are its own or no whole row's or column's, as in a
    stencil, a large tile saves no lookup, and drivers take long to compile it: 2×2 fragments.
    """
    channels = max(content.surfaces[number].format.channels for number in content.owned)
    shape = GroupShape()
    if _is_stencil(content):
        shape = GroupShape(strips=2, rows=2)
    elif channels == 1:
        shape = GroupShape(strips=8, rows=8, together=2, adjacent=4)
    turn = max(1, shape.strips * shape.rows * _longest_turn(content))
    together = max(1, min(shape.together, LONGEST_BODY // turn))
    return replace(shape, together=1 << (together.bit_length() - 1))


def _is_stencil(content: Content) -> bool:
    """Whether there are lookups of other fragments' texels, and all vary along both axes."""
    axes = [
        _lookup_axes(step)
        for draw in content.draws
        for segment in live_segments(draw)
        for step in segment.steps
        if step.lookup is not None and not isinstance(step.lookup, OwnLookup)
    ]
    return bool(axes) and all(each == EVERYWHERE for each in axes)


LONGEST_BODY = 1024
"""Operations on single numbers that turns are unrolled to; a longer body runs many times slower."""

_DOT_OPERATIONS = 7  # four products and their sums, which nothing contracts


def _longest_turn(content: Content) -> int:
    """Operations on single numbers of a turn of any of its programs, for one fragment."""
    segments = [segment for draw in content.draws for segment in live_segments(draw)]
    return max((sum(map(_operations, s.steps)) for s in segments if s.trips > 1), default=0)


def _operations(step: Step) -> int:
    if step.lookup is not None:
        return 0
    vector = OPCODES[step.instruction.mnemonic].form is Form.VECTOR
    return _DOT_OPERATIONS if vector else len(step.components)


# Staging -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Staged:
    """A lookup of a trip that is staged: which, along which axis, and in which shared array."""

    lookup: AffineLookup
    advance: tuple[int, int]
    across: bool
    slot: int


@dataclass(frozen=True, slots=True)
class _Trips:
    """Steps that repeat and whose lookups are staged.

    count: of the trips, where they are turns of a segment; None where they are the iterations.
    """

    number: int
    count: int | None
    staged: tuple[_Staged, ...]


@dataclass(frozen=True, slots=True)
class _At:
    """Where a turn finds what is staged: of which trips, and at which index of the arrays."""

    trips: _Trips
    place: str


_Where = tuple[int, int]
"""A segment: the number of its draw, and its own in the program."""


class _Emitter:
    def __init__(
        self, content: Content, shape: GroupShape, shared_bytes: int, *, exact: bool
    ) -> None:
        self.content, self.exact = content, exact
        self.draws = content.draws
        self.programs = [live_segments(draw) for draw in self.draws]
        self.formats = [surface.format for surface in content.surfaces]
        self.shape, self.trips = shape, dict[_Where, _Trips]()
        self._plan_staging(shape, shared_bytes)
        self.cells = _Cells(self.shape)
        self.functions: dict[str, None] = {}
        self.lookups: dict[DependentLookup, int] = {}
        self.lines: list[str] = []
        self.vectors: dict[str, Uniform] = {}
        self.texts: dict[_Where, list[str]] = {}

    # What is staged

    def _plan_staging(self, shape: GroupShape, shared_bytes: int) -> None:
        """Choose what trips are made of, and how deep they can be."""
        turning = [
            ((d, n), segment.trips, segment)
            for d, program in enumerate(self.programs)
            for n, segment in enumerate(program)
            if segment.trips > 1
        ]
        candidates: list[tuple[_Where, int | None, Segment]] = list(turning)
        together = self.content.together
        if not turning and together > 1 and len(self.programs) == len(self.programs[0]) == 1:
            candidates = [((0, 0), None, self.programs[0][0])]
        depth = shape.depth
        while depth >= 2:
            made: dict[_Where, _Trips] = {}
            for key, trips, segment in candidates:
                staged = self._staged(segment)
                if staged and (trips or together) >= depth:
                    made[key] = _Trips(len(made), trips, staged)
            if (
                made
                and self._shared_bytes(made.values(), replace(shape, depth=depth)) <= shared_bytes
            ):
                unrolled = min(shape.together, depth)
                self.shape, self.trips = replace(shape, depth=depth, together=unrolled), made
                return
            depth //= 2
        self.shape = replace(shape, depth=0)

    def _staged(self, segment: Segment) -> tuple[_Staged, ...]:
        found: dict[tuple[AffineLookup, tuple[int, int]], _Staged] = {}
        counts = {True: 0, False: 0}
        for step in segment.steps:
            lookup = step.lookup
            if not isinstance(lookup, AffineLookup) or sum(lookup_axes(lookup)) != 1:
                continue
            key, across = (lookup, step.advance), lookup_axes(lookup)[0]
            if key not in found:
                found[key] = _Staged(lookup, step.advance, across, counts[across])
                counts[across] += 1
        return tuple(found.values())

    def _arrays(self, trips: Iterable[_Trips], shape: GroupShape) -> dict[str, tuple[str, int]]:
        """The shared arrays: for each its element type and how many elements a turn takes."""
        arrays: dict[str, tuple[str, int]] = {}
        for each in trips:
            for staged in each.staged:
                length = shape.tile[0] if staged.across else shape.tile[1]
                channels = self._channels(staged.lookup.texture)
                if channels == 1:
                    length = -(-length // 4)
                known = arrays.get(_array(staged), ("vec4", 0))
                arrays[_array(staged)] = ("vec4", max(known[1], length + 1))
        return arrays

    def _shared_bytes(self, trips: Iterable[_Trips], shape: GroupShape) -> int:
        return sum(16 * shape.depth * n for _, n in self._arrays(trips, shape).values())

    # The shader

    def emit_all(self) -> GroupCode:
        body = self._body()
        across, up = self.shape.threads
        surfaces, places = len(self.content.surfaces), self.content.places
        head = [VERSION, f"layout(local_size_x = {across}, local_size_y = {up}) in;"]
        for number, surface in enumerate(self.content.surfaces):
            kind = "vec4" if self._channels(number) == 4 else "float"
            access = "" if surface.owned else "readonly "
            head.append(
                f"layout(std430, binding = {number}) {access}restrict buffer Texture{number} "
                f"{{ {kind} texture{number}[]; }};"
            )
        head.append(f"uniform ivec2 {ITERATIONS};")
        head.append(f"layout(std140, binding = 0) uniform {BLOCK} {{")
        head += [f"    vec4 {name};" for name in self.vectors]
        head.append("    ivec2 extent;")
        head += [f"    ivec2 size_{number}, origin_{number};" for number in range(surfaces)]
        head += [f"    ivec2 base_{place};" for place in range(places)]
        head += ["    int batch;", "};"]
        for name, (kind, length) in self._arrays(self.trips.values(), self.shape).items():
            head.append(f"shared {kind} {name}[{self.shape.depth}][{length}];")
        head += list(self.functions)
        declared = [f"    precise vec4 {name};" for name in sorted(self.cells.declared)]
        start = [f"    int first = {ITERATIONS}.x, last = {ITERATIONS}.y;"]
        lines = [*head, "", "void main() {", *start, *self._places(), *declared, *body, "}", ""]
        trips = sum(s.trips for program in self.programs for s in program)
        text = with_constants_declared("\n".join(lines))
        return GroupCode(text, self.shape, surfaces, places, tuple(self.vectors.values()), trips)

    def _channels(self, number: int) -> int:
        return self.formats[number].channels

    def _places(self) -> list[str]:
        """Where the invocation's fragments lie, and its number in the group."""
        shape = self.shape
        lines = [
            "    ivec2 thread = ivec2(gl_LocalInvocationID.xy);",
            "    int invocation = int(gl_LocalInvocationIndex);",
            "    ivec2 group = ivec2(gl_WorkGroupID.xy);",
            f"    ivec2 corner = group * ivec2({shape.tile[0]}, {shape.tile[1]});",
        ]
        for letter, count in (("x", shape.strips), ("y", shape.rows)):
            for number in range(count):
                lines.append(
                    f"    int {letter}{number} = corner.{letter} + {self._place(letter, number)};"
                )
        return lines

    def _place(self, axis: str, number: int) -> str:
        """Where in the tile an invocation's fragments lie along an axis."""
        adjacent, threads = self.shape.adjacent, self.shape.threads["xy".index(axis)]
        group, rest = divmod(number, adjacent)
        return f"thread.{axis} * {adjacent} + {group * threads * adjacent + rest}"

    def _uniform(self, name: str, draw: int, source: Parameter | Attribute, part: int = 0) -> str:
        """The name of a vector of the block that a draw reads; each draw has its own."""
        own = f"{name}_of_{draw}"
        self.vectors.setdefault(own, Uniform(own, draw, source, part))
        return own

    # The body

    def _body(self) -> list[str]:
        self.lines = []
        self._stage_ahead_of_all()
        for number in self.content.owned:
            self.cells.axes[f"own{number}"] = EVERYWHERE
        for number in self.content.owned:
            self._load_own(number)
        if any(each.count is None for each in self.trips.values()):
            self._in_trips_of_iterations()
        else:
            self.line("for (int iteration = first; iteration < last; iteration++) {")
            self._members()
            self.line("}")
        for number in self.content.owned:
            if any(number in _written(member) for member in self.content.body):
                self._store_own(number)
        return self.lines

    def line(self, text: str) -> None:
        """Add a line, indented as deep as the braces that are open."""
        self.lines.append("    " + text)

    def _load_own(self, number: int) -> None:
        for row in range(self.shape.rows):
            for strip in range(self.shape.strips):
                place = f"min(ivec2(x{strip}, y{row}), extent - 1) + origin_{number}"
                texel = self._fetched(number, f"({place})")
                self.line(f"{self.cells.name(f'own{number}', row, strip)} = {texel};")

    def _fetched(self, number: int, place: str) -> str:
        """The texel at a place, an ivec2, as a vec4."""
        at = f"texture{number}[{place}.y * size_{number}.x + {place}.x]"
        return at if self._channels(number) == 4 else self._red(at)

    def _red(self, value: str) -> str:
        """The texel of a format with one channel."""
        missing = ", ".join(missing_channels(exact=self.exact)[1:])
        return f"vec4({value}, {missing})"

    def _store_own(self, number: int) -> None:
        suffix = "" if self._channels(number) == 4 else ".x"
        for row in range(self.shape.rows):
            for strip in range(self.shape.strips):
                cell = self.cells.name(f"own{number}", row, strip)
                at = (
                    f"(y{row} + origin_{number}.y) * size_{number}.x + x{strip} + origin_{number}.x"
                )
                self.line(
                    f"if (x{strip} < extent.x && y{row} < extent.y) "
                    f"texture{number}[{at}] = {cell}{suffix};"
                )

    def _members(self) -> None:
        """One iteration."""
        draws = 0
        for member in self.content.body:
            if isinstance(member, Move):
                self._move(member)
            else:
                self._draw(draws)
                draws += 1

    def _move(self, move: Move) -> None:
        self.cells.emit(self, f"own{move.target} = own{move.source};")

    def _begin(self, number: int) -> None:
        """What a program finds: zeros, and its attributes."""
        draw = self.draws[number]
        program = draw.program
        for name in [*map(temporary, program.temporaries), *self._results(draw)]:
            self.cells.emit(self, f"{name} = vec4({zero(exact=self.exact)});")
        if program.kills:
            self.cells.emit(self, "killed = vec4(0.0);")
        self._attributes(number)

    def _draw(self, number: int) -> None:
        self._begin(number)
        for where in range(len(self.programs[number])):
            self._segment((number, where))
        self._write(number)

    def _results(self, draw: Draw) -> list[str]:
        """The colours that the program writes, and those that its targets get unwritten."""
        program = draw.program
        read = len(draw.targets) if program.has_separate_colors else 1
        return [result_name(n) for n in range(max(program.color_outputs, read))]

    def _attributes(self, number: int) -> None:
        """Attributes at each fragment, where statements are left that read them."""
        program = self.draws[number].program
        segments = range(len(self.programs[number]))
        texts = " ".join(text for n in segments for text in self._statements((number, n)))
        for attribute in program.attributes_read:
            name = attribute_name(attribute)
            if re.search(rf"\b{name}\b", texts) is None:
                continue
            self.cells.axes[name] = EVERYWHERE
            for row in range(self.shape.rows):
                for strip in range(self.shape.strips):
                    cell = self.cells.name(name, row, strip)
                    self.line(f"{cell} = {self._attribute(attribute, number, row, strip)};")

    def _attribute(self, attribute: Attribute, draw: int, row: int, strip: int) -> str:
        x, y = f"(float(x{strip}) + 0.5)", f"(float(y{row}) + 0.5)"
        if attribute.kind is AttributeKind.POSITION:
            origin = f"origin_{self.draws[draw].targets[0]}"
            place = f"{x} + float({origin}.x), {y} + float({origin}.y)"
            return position(place, exact=self.exact)
        name = attribute_name(attribute)
        base, dx, dy = (
            self._uniform(f"{name}_{part}", draw, attribute, number)
            for number, part in enumerate(("base", "dx", "dy"))
        )
        return f"{base} + {dx} * {x} + {dy} * {y}"

    def _statements(self, where: _Where) -> list[str]:
        """The segment's statements, a placed lookup being `lookedN` for its step's number."""
        if where not in self.texts:
            self.texts[where] = self._made_statements(where)
        return self.texts[where]

    def _made_statements(self, where: _Where) -> list[str]:
        draw, segment = self.draws[where[0]], self.programs[where[0]][where[1]]
        numbers = [n for n, step in enumerate(segment.steps) if step.lookup is not None]

        def lookup(_: Instruction, number: int, coordinates: str) -> str:
            known = segment.steps[numbers[number]].lookup
            if isinstance(known, DependentLookup):
                return f"{lookup_name(self._lookup_function(known))}({coordinates})"
            return f"looked{numbers[number]}"

        alone = replace(
            draw.program, instructions=tuple(step.instruction for step in segment.steps)
        )
        live = [step.components for step in segment.steps]
        body = Body(alone, live, Surroundings(lookup, "killed.x = 1.0;"), FP32, exact=self.exact)
        self.functions.update(dict.fromkeys(body.functions()))
        statements = body.statements
        for name, parameter in _parameters(segment).items():
            if any(re.search(rf"\b{name}\b", statement) for statement in statements):
                own = self._uniform(name, where[0], parameter)
                statements = [re.sub(rf"\b{name}\b", own, each) for each in statements]
        return statements

    def _lookup_function(self, lookup: DependentLookup) -> int:
        """The number of the function that looks a surface up at computed coordinates."""
        number = self.lookups.setdefault(lookup, len(self.lookups))
        surface = self.content.surfaces[lookup.texture]
        assert surface.extent is not None
        unit = Unit(number, surface.kind, surface.extent, lookup.sampler, surface.format)
        fetch = self._fetched(lookup.texture, "texel")
        self.functions[f"vec4 {fetch_name(number)}(ivec2 texel) {{ return {fetch}; }}"] = None
        self.functions["\n".join(lookup_function(unit, missing_channels(exact=self.exact)))] = None
        return number

    # Segments

    def _segment(self, where: _Where) -> None:
        segment, statements = self.programs[where[0]][where[1]], self._statements(where)
        trips = self.trips.get(where)
        if segment.trips == 1:
            self._turn(where, "0")
            return
        self._widen(segment, statements)
        done = 0
        if trips is not None:
            depth, together = self.shape.depth, self.shape.together
            done = segment.trips // depth * depth
            self.line(f"for (int start = 0; start < {done}; start += {depth}) {{")
            self._commit(trips, "iteration", "start", done)
            self.line(f"for (int within = 0; within < batch; within += {together}) {{")
            for ahead in range(together):
                place = f"within + {ahead}"
                self._turn(where, f"start + {place}", _At(trips, place))
            self.line("}}")
        if done < segment.trips:
            self.line(f"for (int turn = {done}; turn < {segment.trips}; turn++) {{")
            self._turn(where, "turn")
            self.line("}")

    def _widen(self, segment: Segment, statements: Sequence[str]) -> None:
        """Give registers that a turn leaves to the next the axes that they will have there."""
        before = dict(self.cells.axes)
        for _ in range(3):
            trial = _Cells(self.shape, dict(before))
            for statement, step in zip(statements, segment.steps, strict=True):
                trial.follow(statement, _lookup_axes(step))
            after = {name: axes | trial.axes[name] for name, axes in before.items()}
            if after == before:
                break
            before = after
        for name, axes in before.items():
            self.cells.widen(self, name, axes)

    def _turn(self, where: _Where, turn: str, staged: _At | None = None) -> None:
        """One turn; what is staged comes from the shared arrays."""
        segment, statements = self.programs[where[0]][where[1]], self._statements(where)
        self.line("{")
        for number, step in enumerate(segment.steps):
            if step.lookup is not None and not isinstance(step.lookup, DependentLookup):
                self._look_up(f"looked{number}", step, turn, staged)
        for statement, step in zip(statements, segment.steps, strict=True):
            self.cells.emit(self, statement, _lookup_axes(step))
        self.line("}")

    def _look_up(self, name: str, step: Step, turn: str, at: _At | None) -> None:
        """Variables that hold a placed lookup's texel, one for each cell that it tells apart."""
        lookup = step.lookup
        if isinstance(lookup, OwnLookup):
            self.cells.alias(name, f"own{lookup.texture}")
            return
        assert isinstance(lookup, AffineLookup)
        axes = lookup_axes(lookup)
        self.cells.define(name, axes)
        staged = None
        if at is not None:
            wanted = (lookup, step.advance)
            staged = next((s for s in at.trips.staged if (s.lookup, s.advance) == wanted), None)
        for row in range(self.shape.rows if axes[1] else 1):
            for strip in range(self.shape.strips if axes[0] else 1):
                cell = self.cells.plain_name(name, row, strip)
                if staged is None or at is None:
                    x, y = f"min(x{strip}, extent.x - 1)", f"min(y{row}, extent.y - 1)"
                    texel = self._texel(lookup, step.advance, (x, y), ("iteration", turn))
                else:
                    texel = self._from_shared(staged, strip if staged.across else row, at.place)
                self.line(f"vec4 {cell} = {texel};")

    def _texel(
        self,
        lookup: AffineLookup,
        advance: tuple[int, int],
        at: tuple[str, str],
        trip: tuple[str, str],
    ) -> str:
        """A placed lookup's texel, from its texture.

        at: the fragment, (x, y). trip: the (iteration, turn).
        """
        number, variables = lookup.texture, (*at, *trip)
        s = _sum(lookup, 0, advance, variables)
        t = _sum(lookup, 1, advance, variables)
        if not lookup.inside:
            s, t = (f"clamp({v}, 0, size_{number}.{c} - 1)" for v, c in ((s, "x"), (t, "y")))
        texel = f"texture{number}[({t}) * size_{number}.x + {s}]"
        return texel if self._channels(lookup.texture) == 4 else self._red(texel)

    def _from_shared(self, staged: _Staged, number: int, place: str) -> str:
        adjacent = self.shape.adjacent
        axis = "x" if staged.across else "y"
        threads = self.shape.threads[0 if staged.across else 1]
        if self._channels(staged.lookup.texture) == 4:
            return f"{_array(staged)}[{place}][{self._place(axis, number)}]"
        if adjacent == 4:
            group, rest = divmod(number, 4)
            four = f"{_array(staged)}[{place}][thread.{axis} + {group * threads}]"
            return self._red(f"{four}.{COMPONENTS[rest]}")
        at = f"({self._place(axis, number)})"
        return self._red(f"{_array(staged)}[{place}][{at} >> 2][{at} & 3]")

    # Staging

    def _elements(self, staged: _Staged) -> Iterator[tuple[str, str, str, str]]:
        """What an invocation stages of a lookup: a guard, the turn, the place, a register.

        A place holds a texel of four channels, or four neighbouring ones of one channel.
        """
        shape = self.shape
        length = shape.tile[0] if staged.across else shape.tile[1]
        if self._channels(staged.lookup.texture) == 1:
            length //= 4
        threads = shape.threads[0] * shape.threads[1]
        lookup, total = staged.lookup, length * shape.depth
        turns_lie_together = staged.advance == (1, 0) or (
            staged.advance == (0, 0) and lookup.s.iteration == 1
        )
        for number in range(-(-total // threads)):
            e = f"(invocation + {number * threads})"
            guard = f"if ({e} < {total}) " if (number + 1) * threads > total else ""
            k, p = (f"{e} % {shape.depth}", f"{e} / {shape.depth}")
            if not turns_lie_together:
                k, p = f"{e} / {length}", f"{e} % {length}"
            yield guard, f"({k})", f"({p})", f"ahead_{_array(staged)}_{number}"

    def _declare_ahead(self) -> None:
        """The registers that hold what is on its way, and where in its texture each is found.

        The place is that of the first trip; what a trip adds to it is the same for all elements.
        """
        registers: dict[str, None] = {}
        for trips in self.trips.values():
            for staged in trips.staged:
                for _, k, p, register in self._elements(staged):
                    registers[register] = None
                    if not staged.lookup.inside:
                        continue
                    for part, place in enumerate(self._tile_places(staged, p)):
                        name = _place_name(trips, register, part)
                        trip = ("0", k) if trips.count is not None else (k, "0")
                        at = self._place_of(staged, self._fragment(staged, place), trip)
                        self.line(f"int {name} = {at};")
        for register in registers:
            self.line(f"vec4 {register};")

    def _tile_places(self, staged: _Staged, p: str) -> list[str]:
        """The fragments of the tile, along an axis, whose texels an element holds."""
        if self._channels(staged.lookup.texture) == 4:
            return [p]
        return [f"{p} * 4 + {part}" for part in range(4)]

    def _fragment(self, staged: _Staged, place: str) -> tuple[str, str]:
        """The fragment (x, y) at a place of the tile along a lookup's axis."""
        letter = "x" if staged.across else "y"
        at = f"min(corner.{letter} + {place}, extent.{letter} - 1)"
        return (at, "0") if staged.across else ("0", at)

    def _fetch_ahead(self, trips: _Trips, iteration: str, start: str) -> None:
        """Fetch what the trips from `start` on will want."""
        for staged in trips.staged:
            lookup, advance = staged.lookup, staged.advance
            texture = f"texture{lookup.texture}"
            if trips.count is not None:
                gone = self._place_of(staged, ("0", "0"), (iteration, start), moved=True)
            else:
                gone = self._place_of(staged, ("0", "0"), (start, "0"), moved=True)
            if lookup.inside:
                self.line(f"gone = {gone};")
            for guard, k, p, register in self._elements(staged):
                parts = []
                for part, place in enumerate(self._tile_places(staged, p)):
                    if lookup.inside:
                        parts.append(f"{texture}[{_place_name(trips, register, part)} + gone]")
                        continue
                    turn = f"{start} + {k}"
                    trip = (iteration, turn) if trips.count is not None else (turn, "0")
                    texel = self._texel(lookup, advance, self._fragment(staged, place), trip)
                    parts.append(texel if self._channels(lookup.texture) == 4 else f"{texel}.x")
                value = parts[0] if len(parts) == 1 else f"vec4({', '.join(parts)})"
                self.line(f"{guard}{register} = {value};")

    def _place_of(
        self,
        staged: _Staged,
        at: tuple[str, str],
        trip: tuple[str, str],
        *,
        moved: bool = False,
    ) -> str:
        """Which element of its array a lookup reads; or, where `moved`, what the trip adds."""
        variables, lookup = (*at, *trip), staged.lookup
        s, t = (_sum(lookup, axis, staged.advance, variables, moved=moved) for axis in range(2))
        return f"{t} * size_{lookup.texture}.x + {s}"

    def _stage_ahead_of_all(self) -> None:
        if not self.trips:
            return
        self.line("int gone;")
        self._declare_ahead()
        first = next(iter(self.trips.values()))
        self._fetch_ahead(first, "first", "first" if first.count is None else "0")

    def _commit(self, trips: _Trips, iteration: str, start: str, done: int | str) -> None:
        """Put what was fetched into shared memory, and fetch for the trips after these."""
        self.line("barrier();")
        for staged in trips.staged:
            for guard, k, p, register in self._elements(staged):
                self.line(f"{guard}{_array(staged)}[{k}][{p}] = {register};")
        self.line("barrier();")
        depth = self.shape.depth
        self.line(f"if ({start} + {depth} < {done}) {{")
        self._fetch_ahead(trips, iteration, f"({start} + {depth})")
        every = list(self.trips.values())
        if trips.count is not None:
            following = every[(trips.number + 1) % len(every)]
            again = following.number <= trips.number
            self.line(f"}} else if ({f'{iteration} + 1 < last' if again else 'true'}) {{")
            self._fetch_ahead(following, f"({iteration} + 1)" if again else iteration, "0")
        self.line("}")

    def _in_trips_of_iterations(self) -> None:
        """A Loop whose iterations are the trips; those that are left over come last."""
        [trips] = self.trips.values()
        depth, together = self.shape.depth, self.shape.together
        self.line(f"int whole = first + (last - first) / {depth} * {depth};")
        self.line(f"for (int start = first; start < whole; start += {depth}) {{")
        self._commit(trips, "", "start", "whole")
        self.line(f"for (int within = 0; within < batch; within += {together}) {{")
        for ahead in range(together):
            place = f"within + {ahead}"
            self._iteration(f"start + {place}", _At(trips, place))
        self.line("}}")
        self.line("for (int left = whole; left < last; left++) {")
        self._iteration("left", None)
        self.line("}")

    def _iteration(self, iteration: str, staged: _At | None) -> None:
        """One iteration of a Loop with one draw, which is one segment."""
        self.line("{")
        self.line(f"int iteration = {iteration};")
        self._begin(0)
        self._turn((0, 0), "0", staged)
        for member in self.content.body:
            if isinstance(member, Move):
                self._move(member)
            else:
                self._write(0)
        self.line("}")

    # Targets

    def _product(self, number: int, colour: str, suffix: str) -> tuple[str, str] | None:
        """The factors of a colour that the program's last instruction multiplies.

        Blending adds it to the target, so that the two may be rounded as one multiply-add.
        """
        last = len(self.programs[number]) - 1
        return _product_of(self._statements((number, last))[-1], colour, suffix)

    def _write(self, number: int) -> None:
        draw = self.draws[number]
        separate = draw.program.has_separate_colors
        for color, target in enumerate(draw.targets):
            texel_format, own = self.formats[target], f"own{target}"
            colour = result_name(color if separate else 0)
            suffix = "" if texel_format.channels == 4 else ".x"
            value = _stored(f"{colour}{suffix}", texel_format)
            if draw.blend is Blend.ADD:
                product = None if self.exact else self._product(number, colour, suffix)
                if product is not None and texel_format.numeric is Numeric.FLOAT:
                    value = f"fma({product[0]}, {product[1]}, {own}{suffix})"
                else:
                    value = _blended(value, f"{own}{suffix}", texel_format)
            if draw.program.kills:
                value = f"killed.x > 0.0 ? {own}{suffix} : {value}"
            self.cells.emit(self, f"{own}{suffix} = {value};", force=EVERYWHERE)


def _parameters(segment: Segment) -> dict[str, Parameter]:
    """The parameters and vectors of state that a segment's steps read, by the statements' names."""
    registers = [src.register for step in segment.steps for src in step.instruction.srcs]
    return {
        register_name(register): register
        for register in registers
        if isinstance(register, Parameter) and register.space is not ParameterSpace.CONSTANT
    }


def _product_of(statement: str, colour: str, suffix: str) -> tuple[str, str] | None:
    """The factors, where a statement makes a colour of the product of two registers.

    suffix: of the components that are wanted of it.
    """
    match = re.fullmatch(rf"{colour}(\.x)? = ([\w.]+) \* ([\w.]+);", statement)
    if match is None or (match[1] and not suffix):
        return None
    wanted = "" if match[1] else suffix
    return match[2] + wanted, match[3] + wanted


def _place_name(trips: _Trips, register: str, part: int) -> str:
    return f"at{trips.number}_{register}_{part}"


def _array(staged: _Staged) -> str:
    return f"{'across' if staged.across else 'up'}{staged.slot}"


def _written(member: Draw | Move) -> tuple[int, ...]:
    return (member.target,) if isinstance(member, Move) else member.targets


def _lookup_axes(step: Step) -> Axes:
    if step.lookup is None:
        return NOWHERE
    return lookup_axes(step.lookup) if isinstance(step.lookup, AffineLookup) else EVERYWHERE


def _sum(
    lookup: AffineLookup,
    axis: int,
    advance: tuple[int, int],
    variables: tuple[str, str, str, str],
    *,
    moved: bool = False,
) -> str:
    """A texel number, of columns or of rows, as an integer expression of (x, y, iteration, turn).

    moved: only what iteration and turn add to it.
    """
    form = (lookup.s, lookup.t)[axis]
    factors = (form.x, form.y, form.iteration, advance[axis])
    terms = []
    for number, (factor, variable) in enumerate(zip(factors, variables, strict=True)):
        if moved and number < 2:
            continue
        if factor == 1:
            terms.append(f"({variable})")
        elif factor:
            terms.append(f"({variable}) * {factor}")
    if not moved:
        terms.append(f"base_{lookup.place}.{'xy'[axis]}")
        if form.constant:
            terms.append(str(form.constant))
    return f"({' + '.join(terms) or '0'})"


def _stored(value: str, texel_format: Format) -> str:
    """A colour as its target will hold it."""
    if texel_format.numeric is not Numeric.UNORM:
        return value
    levels = f"{2**texel_format.bits_per_channel - 1}.0"
    return f"(floor(clamp({value}, 0.0, 1.0) * {levels} + 0.5) / {levels})"


def _blended(value: str, old: str, texel_format: Format) -> str:
    if texel_format.numeric is not Numeric.UNORM:
        return f"({value} + {old})"
    levels = f"{2**texel_format.bits_per_channel - 1}.0"
    return f"(min(floor(({value} + {old}) * {levels} + 0.5), {levels}) / {levels})"


# Cells ---------------------------------------------------------------------------------------

_WORDS = re.compile(
    r"\b(t_\w+|result\d+|own\d+|killed|looked\d+|texcoord\d+|color|secondary_color|fogcoord|position)\b"
)


class _Cells:
    """Which of an invocation's fragments have a register of their own, statement by statement."""

    def __init__(self, shape: GroupShape, axes: dict[str, Axes] | None = None) -> None:
        self.shape = shape
        self.axes: dict[str, Axes] = axes or {}
        self.declared: set[str] = set()
        self._aliases: dict[str, str] = {}

    def alias(self, name: str, other: str) -> None:
        """Let `name` stand for `other`."""
        self._aliases[name] = other

    def define(self, name: str, axes: Axes) -> None:
        """Let `name` be a variable of its own."""
        self._aliases.pop(name, None)
        self.axes[name] = axes

    def plain_name(self, name: str, row: int, strip: int) -> str:
        """The variable of a cell; `name` is of the axes that are known for it."""
        name = self._aliases.get(name, name)
        along_x, along_y = self.axes.get(name, NOWHERE)
        return name + (f"_r{row}" if along_y else "") + (f"_s{strip}" if along_x else "")

    def name(self, name: str, row: int, strip: int) -> str:
        """The same, declared for the whole shader."""
        made = self.plain_name(name, row, strip)
        if not name.startswith("looked"):
            self.declared.add(made)
        return made

    def follow(self, statement: str, lookup: Axes = NOWHERE, force: Axes = NOWHERE) -> None:
        """Let a statement change the axes of what it writes, and emit nothing."""
        target, _, rest, partial = _parts(statement)
        if target:
            self.axes[target] = self._result_axes(target, rest, lookup, force, partial=partial)

    def _result_axes(
        self, target: str, rest: str, lookup: Axes, force: Axes, *, partial: bool
    ) -> Axes:
        found = [force]
        for word in _WORDS.findall(rest):
            name = self._aliases.get(word, word)
            known = lookup if word.startswith("looked") else NOWHERE
            found.append(self.axes.get(name, known))
        if re.search(r"\blookup\d+\(", rest):
            found.append(NOWHERE)
        if partial:
            found.append(self.axes.get(target, NOWHERE))
        return Axes(any(x for x, _ in found), any(y for _, y in found))

    def emit(
        self, emitter: _Emitter, statement: str, lookup: Axes = NOWHERE, force: Axes = NOWHERE
    ) -> None:
        """A statement for every cell that it tells apart."""
        target, head, rest, partial = _parts(statement)
        if not target:
            return  # a comment
        axes = self._result_axes(target, rest, lookup, force, partial=partial)
        if partial:
            self.widen(emitter, target, axes)
        old = dict(self.axes)
        for row in range(self.shape.rows if axes[1] else 1):
            for strip in range(self.shape.strips if axes[0] else 1):
                self.axes = old
                right = _WORDS.sub(lambda word: self.name(word[1], row, strip), rest)  # noqa: B023
                before = _WORDS.sub(lambda word: self.name(word[1], row, strip), head)  # noqa: B023
                self.axes = {**old, target: axes}
                left = self.name(target, row, strip)
                emitter.line(f"{before}{left}{right}")
        self.axes = {**old, target: axes}

    def widen(self, emitter: _Emitter, name: str, axes: Axes) -> None:
        """Give a register the axes, its value in every cell."""
        old = self.axes.get(name, NOWHERE)
        if old == axes or name not in self.axes:
            return
        for row in range(self.shape.rows if axes[1] else 1):
            for strip in range(self.shape.strips if axes[0] else 1):
                self.axes[name] = old
                value = self.name(name, row, strip)
                self.axes[name] = axes
                emitter.line(f"{self.name(name, row, strip)} = {value};")
        self.axes[name] = axes


def _parts(statement: str) -> tuple[str, str, str, bool]:
    """What a statement writes, what stands before and after its name, and whether it is a part."""
    if statement.startswith("//"):
        return "", "", "", False
    head = ""
    if statement.startswith("if "):
        at = statement.index("killed.x")
        head, statement = statement[:at], statement[at:]
    match = _WORDS.match(statement)
    assert match is not None
    rest = statement[match.end() :]
    return match[1], head, rest, rest.startswith(".")
