"""A Loop (lower/chains.py) printed as a GLSL compute shader: a tile of fragments a work group.

Each invocation has `strips` × `rows` fragments of its group's tile, and carries out all iterations
on them, partial sums in registers. The statements are the fragment shader's (lower/body.py), once
for each fragment where they differ: a register that varies along x alone is kept once a strip, one
that varies along y alone once a row.

Lookups that turn (lower/roll.py) and vary along one axis alone are wanted by a whole row or column
of invocations. They are staged in the group's shared memory, `depth` turns at a time, and while one
batch is being used the next is on its way from the textures, in registers. Where a program has no
turns but its Loop has iterations, those are the turns.

Textures are arrays in storage buffers: a vec4 a texel, or a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.lower.affine import Linear
from gpgpu_legacy.lower.body import (
    Body,
    Surroundings,
    attribute_name,
    parameters_read,
    result_name,
    temporary,
)
from gpgpu_legacy.lower.chains import Computed, Draw, Loop, Move, Own, Placed
from gpgpu_legacy.lower.roll import Segment, Step, live_segments
from gpgpu_legacy.lower.sampling import Unit, fetch_name, lookup_function, lookup_name
from gpgpu_legacy.lower.tiles import Axes, along
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Blend, Texture

VERSION = "#version 430 core"

NOWHERE: Axes = (False, False)
EVERYWHERE: Axes = (True, True)


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
class Printed:
    """A shader and what its buffers and uniforms hold.

    textures: by binding. turns: how often an invocation goes round in one iteration, at most.
    """

    text: str
    shape: GroupShape
    textures: tuple[str, ...]
    turns: int


def print_groups(
    loop: Loop,
    textures: Mapping[str, Texture],
    shape: GroupShape,
    shared_bytes: int,
    *,
    exact: bool,
) -> Printed:
    """The Loop as a compute shader.

    shape: what is wanted; where nothing can be staged in `shared_bytes`, it has no depth.
    Uniforms: `extent`, the rectangle's size; `first` and `last`, the iterations; `size_N` and
    `origin_N`, of texture N and of the rectangle in it; `batch`, the shape's depth; attributes and
    parameters as fragment_shader has them, the same in all iterations.
    """
    return _Printer(loop, textures, shape, shared_bytes, exact=exact).print()


def group_shape(loop: Loop, textures: Mapping[str, Texture]) -> GroupShape:
    """The usual shape: as many fragments an invocation as 64 numbers of a partial sum make."""
    channels = max(textures[name].format.channels for name, *_ in loop.origins)
    shape = GroupShape()
    if channels == 1:
        shape = GroupShape(strips=8, rows=8, together=2, adjacent=4)
    turn = max(1, shape.strips * shape.rows * _longest_turn(loop))
    together = max(1, min(shape.together, LONGEST_BODY // turn))
    return replace(shape, together=1 << (together.bit_length() - 1))


LONGEST_BODY = 1024
"""Operations on single numbers that turns are unrolled to; a longer body runs many times slower."""

_DOT_OPERATIONS = 7  # four products and their sums, which nothing contracts


def _longest_turn(loop: Loop) -> int:
    """Operations on single numbers of a turn of any of its programs, for one fragment."""
    segments = [
        segment for draw in loop.body if isinstance(draw, Draw) for segment in live_segments(draw)
    ]
    return max((sum(map(_operations, s.steps)) for s in segments if s.turns > 1), default=0)


def _operations(step: Step) -> int:
    if step.lookup is not None:
        return 0
    vector = OPCODES[step.instruction.mnemonic].form is Form.VECTOR
    return _DOT_OPERATIONS if vector else len(step.components)


def reads_attributes_or_parameters(draw: Draw) -> bool:
    """Whether instructions that are needed read what a pass gives, but for lookups' places."""
    for segment in live_segments(draw):
        for step in segment.steps:
            if step.lookup is not None and not isinstance(step.lookup, Computed):
                continue
            for src in step.instruction.srcs:
                register = src.register
                if isinstance(register, Attribute):
                    return True
                if (
                    isinstance(register, Parameter)
                    and register.space is not ParameterSpace.CONSTANT
                ):
                    return True
    return False


# Staging -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Staged:
    """A lookup of a trip that is staged: which, along which axis, and in which shared array."""

    lookup: Placed
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


class _Printer:
    def __init__(
        self,
        loop: Loop,
        textures: Mapping[str, Texture],
        shape: GroupShape,
        shared_bytes: int,
        *,
        exact: bool,
    ) -> None:
        self.loop, self.exact = loop, exact
        self.draws = [member for member in loop.body if isinstance(member, Draw)]
        self.programs = [live_segments(draw) for draw in self.draws]
        looked_up = [
            x.binding.texture if isinstance(x, Computed) else x.texture
            for draw in self.draws
            for x in draw.lookups
        ]
        names = dict.fromkeys([name for name, *_ in loop.origins] + looked_up)
        self.textures = {name: textures[name] for name in names}
        self.numbers = {name: number for number, name in enumerate(names)}
        self.owned = {name for name, *_ in loop.origins}
        self.shape, self.trips = shape, dict[int, _Trips]()
        self._plan_staging(shape, shared_bytes)
        self.cells = _Cells(self.shape)
        self.functions: dict[str, None] = {}
        self.lines: list[str] = []
        self.reads: set[str] = set()

    # What is staged

    def _plan_staging(self, shape: GroupShape, shared_bytes: int) -> None:
        """Choose what trips are made of, and how deep they can be."""
        turning = [s for program in self.programs for s in program if s.turns > 1]
        candidates: list[tuple[int, int | None, Segment]] = []
        if turning:
            candidates = [(id(s), s.turns, s) for s in turning]
        elif self.loop.count > 1 and len(self.programs) == 1 and len(self.programs[0]) == 1:
            candidates = [(id(self.programs[0][0]), None, self.programs[0][0])]
        depth = shape.depth
        while depth >= 2:
            made: dict[int, _Trips] = {}
            for key, turns, segment in candidates:
                staged = self._staged(segment)
                if staged and (turns or self.loop.count) >= depth:
                    made[key] = _Trips(len(made), turns, staged)
            if (
                made
                and self._shared_bytes(made.values(), replace(shape, depth=depth)) <= shared_bytes
            ):
                together = min(shape.together, depth)
                self.shape, self.trips = replace(shape, depth=depth, together=together), made
                return
            depth //= 2
        self.shape = replace(shape, depth=0)

    def _staged(self, segment: Segment) -> tuple[_Staged, ...]:
        found: dict[tuple[Placed, tuple[int, int]], _Staged] = {}
        counts = {True: 0, False: 0}
        for step in segment.steps:
            lookup = step.lookup
            if not isinstance(lookup, Placed) or sum(along(lookup)) != 1:
                continue
            key, across = (lookup, step.advance), along(lookup)[0]
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
                channels = self.textures[staged.lookup.texture].format.channels
                if channels == 1:
                    length = -(-length // 4)
                known = arrays.get(_array(staged), ("vec4", 0))
                arrays[_array(staged)] = ("vec4", max(known[1], length + 1))
        return arrays

    def _shared_bytes(self, trips: Iterable[_Trips], shape: GroupShape) -> int:
        return sum(16 * shape.depth * n for _, n in self._arrays(trips, shape).values())

    # The shader

    def print(self) -> Printed:
        body = self._body()
        across, up = self.shape.threads
        head = [VERSION, f"layout(local_size_x = {across}, local_size_y = {up}) in;"]
        for name, number in self.numbers.items():
            kind = "vec4" if self._channels(name) == 4 else "float"
            access = "" if name in self.owned else "readonly "
            head.append(
                f"layout(std430, binding = {number}) {access}restrict buffer Texture{number} "
                f"{{ {kind} texture{number}[]; }};"
            )
            head.append(f"uniform ivec2 size_{number}, origin_{number};")
        head.append("uniform ivec2 extent; uniform int first, last;")
        head += [f"uniform int {name};" for name in ("batch",) if self.shape.depth]
        head += self._uniforms()
        for name, (kind, length) in self._arrays(self.trips.values(), self.shape).items():
            head.append(f"shared {kind} {name}[{self.shape.depth}][{length}];")
        head += list(self.functions)
        declared = [f"    precise vec4 {name};" for name in sorted(self.cells.declared)]
        lines = [*head, "", "void main() {", *self._places(), *declared, *body, "}", ""]
        turns = sum(s.turns for program in self.programs for s in program)
        return Printed("\n".join(lines), self.shape, tuple(self.numbers), turns)

    def _channels(self, name: str) -> int:
        return self.textures[name].format.channels

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

    def _uniforms(self) -> list[str]:
        lines = []
        for draw in self.draws:
            program = draw.each.program
            for attribute in program.attributes_read:
                name = attribute_name(attribute)
                if name in self.reads and attribute.kind is not AttributeKind.POSITION:
                    lines.append(f"uniform vec4 {name}_base, {name}_dx, {name}_dy;")
            lines += [f"uniform vec4 {n};" for n in parameters_read(program) if n in self.reads]
        return list(dict.fromkeys(lines))

    # The body

    def _body(self) -> list[str]:
        self.lines = []
        self._stage_ahead_of_all()
        owned = [f"own{self.numbers[name]}" for name in self.owned]
        for name in owned:
            self.cells.axes[name] = EVERYWHERE
        for name in self.owned:
            self._load_own(name)
        iterations = any(each.count is None for each in self.trips.values())
        if iterations:
            self._in_trips_of_iterations()
        else:
            self.line("for (int iteration = first; iteration < last; iteration++) {")
            self._members()
            self.line("}")
        for name, *_ in self.loop.origins:
            if any(name in _written(member) for member in self.loop.body):
                self._store_own(name)
        return self.lines

    def line(self, text: str) -> None:
        """Add a line, indented as deep as the braces that are open."""
        self.lines.append("    " + text)

    def _load_own(self, name: str) -> None:
        number = self.numbers[name]
        for row in range(self.shape.rows):
            for strip in range(self.shape.strips):
                place = f"min(ivec2(x{strip}, y{row}), extent - 1) + origin_{number}"
                texel = self._fetched(name, f"({place})")
                self.line(f"{self.cells.name(f'own{number}', row, strip)} = {texel};")

    def _fetched(self, name: str, place: str) -> str:
        """The texel at a place, an ivec2, as a vec4."""
        number = self.numbers[name]
        at = f"texture{number}[{place}.y * size_{number}.x + {place}.x]"
        return at if self._channels(name) == 4 else f"vec4({at}, 0.0, 0.0, 1.0)"

    def _store_own(self, name: str) -> None:
        number = self.numbers[name]
        suffix = "" if self._channels(name) == 4 else ".x"
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
        for member in self.loop.body:
            if isinstance(member, Move):
                self._move(member)
            else:
                self._draw(member)

    def _move(self, move: Move) -> None:
        source, target = self.numbers[move.source], self.numbers[move.target]
        self.cells.emit(self, f"own{target} = own{source};")

    def _begin(self, draw: Draw) -> None:
        """What a program finds: zeros, and its attributes."""
        program = draw.each.program
        for name in [*map(temporary, program.temporaries), *self._results(program)]:
            self.cells.emit(self, f"{name} = vec4(0.0);")
        if program.kills:
            self.cells.emit(self, "killed = vec4(0.0);")
        self._attributes(draw)

    def _draw(self, draw: Draw) -> None:
        self._begin(draw)
        for segment in self.programs[self.draws.index(draw)]:
            self._segment(draw, segment)
        self._write(draw)

    def _results(self, program: Program) -> list[str]:
        return [result_name(n) for n in range(program.color_outputs)]

    def _attributes(self, draw: Draw) -> None:
        """Attributes at each fragment, where statements are left that read them."""
        texts = " ".join(
            s for seg in self.programs[self.draws.index(draw)] for s in self._statements(draw, seg)
        )
        for attribute in draw.each.program.attributes_read:
            name = attribute_name(attribute)
            if re.search(rf"\b{name}\b", texts) is None:
                continue
            self.reads.add(name)
            self.cells.axes[name] = EVERYWHERE
            for row in range(self.shape.rows):
                for strip in range(self.shape.strips):
                    cell = self.cells.name(name, row, strip)
                    self.line(f"{cell} = {self._attribute(attribute, draw, row, strip)};")
        for parameter in parameters_read(draw.each.program):
            if re.search(rf"\b{parameter}\b", texts):
                self.reads.add(parameter)

    def _attribute(self, attribute: Attribute, draw: Draw, row: int, strip: int) -> str:
        x, y = f"(float(x{strip}) + 0.5)", f"(float(y{row}) + 0.5)"
        if attribute.kind is AttributeKind.POSITION:
            rect = draw.each.rect
            return f"vec4({x} + {rect.x}.0, {y} + {rect.y}.0, 0.5, 1.0)"
        name = attribute_name(attribute)
        value = f"{name}_base + {name}_dx * {x} + {name}_dy * {y}"
        if attribute.kind is AttributeKind.FOGCOORD:
            return f"vec4(({value}).x, 0.0, 0.0, 1.0)"
        return value

    def _statements(self, draw: Draw, segment: Segment) -> list[str]:
        """The segment's statements, a placed lookup being `lookedN` for its step's number."""
        numbers = [n for n, step in enumerate(segment.steps) if step.lookup is not None]

        def lookup(instruction: Instruction, number: int, coordinates: str) -> str:
            step = segment.steps[numbers[number]]
            if isinstance(step.lookup, Computed):
                assert instruction.texture is not None
                return f"{lookup_name(instruction.texture.unit)}({coordinates})"
            return f"looked{numbers[number]}"

        alone = replace(
            draw.each.program, instructions=tuple(step.instruction for step in segment.steps)
        )
        live = [step.components for step in segment.steps]
        body = Body(alone, live, Surroundings(lookup, "killed.x = 1.0;"), FP32, exact=self.exact)
        self.functions.update(dict.fromkeys(body.functions()))
        for step in segment.steps:
            if isinstance(step.lookup, Computed):
                self._lookup_function(draw, step)
        return body.statements

    def _lookup_function(self, draw: Draw, step: Step) -> None:
        assert isinstance(step.lookup, Computed) and step.instruction.texture is not None
        texture = self.textures[step.lookup.binding.texture]
        unit = Unit(
            step.instruction.texture.unit,
            texture.kind,
            texture.extent,
            step.lookup.binding.sampler,
            texture.format,
        )
        fetch = self._fetched(texture.name, "texel")
        self.functions[f"vec4 {fetch_name(unit.number)}(ivec2 texel) {{ return {fetch}; }}"] = None
        self.functions["\n".join(lookup_function(unit))] = None

    # Segments

    def _segment(self, draw: Draw, segment: Segment) -> None:
        statements = self._statements(draw, segment)
        trips = self.trips.get(id(segment))
        if segment.turns == 1:
            self._turn(draw, segment, "0")
            return
        self._widen(segment, statements)
        done = 0
        if trips is not None:
            depth, together = self.shape.depth, self.shape.together
            done = segment.turns // depth * depth
            self.line(f"for (int start = 0; start < {done}; start += {depth}) {{")
            self._commit(trips, "iteration", "start", done)
            self.line(f"for (int within = 0; within < batch; within += {together}) {{")
            for ahead in range(together):
                place = f"within + {ahead}"
                self._turn(draw, segment, f"start + {place}", _At(trips, place))
            self.line("}}")
        if done < segment.turns:
            self.line(f"for (int turn = {done}; turn < {segment.turns}; turn++) {{")
            self._turn(draw, segment, "turn")
            self.line("}")

    def _widen(self, segment: Segment, statements: Sequence[str]) -> None:
        """Give registers that a turn leaves to the next the axes that they will have there."""
        before = dict(self.cells.axes)
        for _ in range(3):
            trial = _Cells(self.shape, dict(before))
            for statement, step in zip(statements, segment.steps, strict=True):
                trial.follow(statement, _lookup_axes(step))
            after = {
                name: (axes[0] or trial.axes[name][0], axes[1] or trial.axes[name][1])
                for name, axes in before.items()
            }
            if after == before:
                break
            before = after
        for name, axes in before.items():
            self.cells.widen(self, name, axes)

    def _turn(self, draw: Draw, segment: Segment, turn: str, staged: _At | None = None) -> None:
        """One turn; what is staged comes from the shared arrays."""
        statements = self._statements(draw, segment)
        self.line("{")
        for number, step in enumerate(segment.steps):
            if step.lookup is not None and not isinstance(step.lookup, Computed):
                self._look_up(f"looked{number}", step, turn, staged)
        for statement, step in zip(statements, segment.steps, strict=True):
            self.cells.emit(self, statement, _lookup_axes(step))
        self.line("}")

    def _look_up(self, name: str, step: Step, turn: str, at: _At | None) -> None:
        """Variables that hold a placed lookup's texel, one for each cell that it tells apart."""
        lookup = step.lookup
        if isinstance(lookup, Own):
            self.cells.alias(name, f"own{self.numbers[lookup.texture]}")
            return
        assert isinstance(lookup, Placed)
        axes = along(lookup)
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
        self, lookup: Placed, advance: tuple[int, int], at: tuple[str, str], trip: tuple[str, str]
    ) -> str:
        """A placed lookup's texel, from its texture.

        at: the fragment, (x, y). trip: the (iteration, turn).
        """
        number, variables = self.numbers[lookup.texture], (*at, *trip)
        s = _sum(lookup.s, advance[0], variables)
        t = _sum(lookup.t, advance[1], variables)
        if not lookup.inside:
            s, t = (f"clamp({v}, 0, size_{number}.{c} - 1)" for v, c in ((s, "x"), (t, "y")))
        texel = f"texture{number}[({t}) * size_{number}.x + {s}]"
        return texel if self._channels(lookup.texture) == 4 else f"vec4({texel}, 0.0, 0.0, 1.0)"

    def _from_shared(self, staged: _Staged, number: int, place: str) -> str:
        adjacent = self.shape.adjacent
        axis = "x" if staged.across else "y"
        threads = self.shape.threads[0 if staged.across else 1]
        if self._channels(staged.lookup.texture) == 4:
            return f"{_array(staged)}[{place}][{self._place(axis, number)}]"
        if adjacent == 4:
            group, rest = divmod(number, 4)
            four = f"{_array(staged)}[{place}][thread.{axis} + {group * threads}]"
            return f"vec4({four}.{COMPONENTS[rest]}, 0.0, 0.0, 1.0)"
        at = f"({self._place(axis, number)})"
        return f"vec4({_array(staged)}[{place}][{at} >> 2][{at} & 3], 0.0, 0.0, 1.0)"

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
            texture = f"texture{self.numbers[lookup.texture]}"
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
        lookup, variables = staged.lookup, (*at, *trip)
        forms = (lookup.s, lookup.t)
        if moved:
            zero = Fraction(0)
            forms = (
                replace(lookup.s, constant=zero, x=zero, y=zero),
                replace(lookup.t, constant=zero, x=zero, y=zero),
            )
        s, t = (
            _sum(form, step, variables) for form, step in zip(forms, staged.advance, strict=True)
        )
        return f"{t} * size_{self.numbers[lookup.texture]}.x + {s}"

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
        draw = self.draws[0]
        [segment] = self.programs[0]
        self.line(f"int whole = first + (last - first) / {depth} * {depth};")
        self.line(f"for (int start = first; start < whole; start += {depth}) {{")
        self._commit(trips, "", "start", "whole")
        self.line(f"for (int within = 0; within < batch; within += {together}) {{")
        for ahead in range(together):
            place = f"within + {ahead}"
            self._iteration(draw, segment, f"start + {place}", _At(trips, place))
        self.line("}}")
        self.line("for (int left = whole; left < last; left++) {")
        self._iteration(draw, segment, "left", None)
        self.line("}")

    def _iteration(self, draw: Draw, segment: Segment, iteration: str, staged: _At | None) -> None:
        self.line("{")
        self.line(f"int iteration = {iteration};")
        self._begin(draw)
        self._turn(draw, segment, "0", staged)
        for member in self.loop.body:
            if isinstance(member, Move):
                self._move(member)
            else:
                self._write(member)
        self.line("}")

    # Targets

    def _product(self, draw: Draw, colour: str, suffix: str) -> tuple[str, str] | None:
        """The factors of a colour that the program's last instruction multiplies.

        Blending adds it to the target, so that the two may be rounded as one multiply-add.
        """
        last = self.programs[self.draws.index(draw)][-1]
        return _product_of(self._statements(draw, last)[-1], colour, suffix)

    def _write(self, draw: Draw) -> None:
        each = draw.each
        separate = each.program.has_separate_colors
        for number, target in enumerate(each.targets):
            texel_format = self.textures[target].format
            own = f"own{self.numbers[target]}"
            colour = result_name(number if separate else 0)
            suffix = "" if texel_format.channels == 4 else ".x"
            value = _stored(f"{colour}{suffix}", texel_format)
            if each.blend is Blend.ADD:
                product = None if self.exact else self._product(draw, colour, suffix)
                if product is not None and texel_format.numeric is Numeric.FLOAT:
                    value = f"fma({product[0]}, {product[1]}, {own}{suffix})"
                else:
                    value = _blended(value, f"{own}{suffix}", texel_format)
            if each.program.kills:
                value = f"killed.x > 0.0 ? {own}{suffix} : {value}"
            self.cells.emit(self, f"{own}{suffix} = {value};", force=EVERYWHERE)


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


def _written(member: Draw | Move) -> tuple[str, ...]:
    return (member.target,) if isinstance(member, Move) else member.each.targets


def _lookup_axes(step: Step) -> Axes:
    if step.lookup is None:
        return NOWHERE
    return along(step.lookup) if isinstance(step.lookup, Placed) else EVERYWHERE


def _sum(form: Linear, advance: int, variables: tuple[str, str, str, str]) -> str:
    """A texel number as an integer expression."""
    factors = (form.x, form.y, form.iteration, Fraction(advance))
    terms = []
    for factor, variable in zip(factors, variables, strict=True):
        if factor == 1:
            terms.append(f"({variable})")
        elif factor:
            terms.append(f"({variable}) * {int(factor)}")
    if form.constant or not terms:
        terms.append(str(int(form.constant)))
    return "(" + " + ".join(terms) + ")"


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
        return any(x for x, _ in found), any(y for _, y in found)

    def emit(
        self, printer: _Printer, statement: str, lookup: Axes = NOWHERE, force: Axes = NOWHERE
    ) -> None:
        """A statement for every cell that it tells apart."""
        target, head, rest, partial = _parts(statement)
        if not target:
            return  # a comment
        axes = self._result_axes(target, rest, lookup, force, partial=partial)
        if partial:
            self.widen(printer, target, axes)
        old = dict(self.axes)
        for row in range(self.shape.rows if axes[1] else 1):
            for strip in range(self.shape.strips if axes[0] else 1):
                self.axes = old
                right = _WORDS.sub(lambda word: self.name(word[1], row, strip), rest)  # noqa: B023
                before = _WORDS.sub(lambda word: self.name(word[1], row, strip), head)  # noqa: B023
                self.axes = {**old, target: axes}
                left = self.name(target, row, strip)
                printer.line(f"{before}{left}{right}")
        self.axes = {**old, target: axes}

    def widen(self, printer: _Printer, name: str, axes: Axes) -> None:
        """Give a register the axes, its value in every cell."""
        old = self.axes.get(name, NOWHERE)
        if old == axes or name not in self.axes:
            return
        for row in range(self.shape.rows if axes[1] else 1):
            for strip in range(self.shape.strips if axes[0] else 1):
                self.axes[name] = old
                value = self.name(name, row, strip)
                self.axes[name] = axes
                printer.line(f"{self.name(name, row, strip)} = {value};")
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
