"""One iteration of fused passes as statements of the lowering IR, for one fragment.

A fragment's own texel in a surface is a variable (Role.OWN): it is loaded before the first
iteration and stored after the last. Emitters decide how many fragments are computed at once, and
which lookups they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpgpu_legacy.isa.execute import ALL, Walk, execute
from gpgpu_legacy.isa.expressions import (
    Compose,
    Expression,
    Operation,
    Read,
    Role,
    Texel,
    Variable,
    components,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.program import AttributeKind, Instruction, TextureSource
from gpgpu_legacy.isa.statements import (
    Assign,
    Call,
    For,
    Function,
    Statement,
    multiply_add,
    read_first,
    statements_below,
    walk,
)
from gpgpu_legacy.isa.types import (
    EVERYWHERE,
    INT,
    NOWHERE,
    Axes,
    Components,
    Kind,
    Operator,
    type_of,
    union,
)
from gpgpu_legacy.lower.framebuffer import as_read, decoded, encoded, fails, merged
from gpgpu_legacy.lower.fused.content import (
    Content,
    DrawnProgram,
    LiveInstruction,
    Move,
    ProgramSegment,
    live_segments,
)
from gpgpu_legacy.lower.lookups import (
    AffineLookup,
    DependentLookup,
    Lookup,
    NeighbourLookup,
    OwnLookup,
)
from gpgpu_legacy.lower.lowering import (
    KILLED,
    Lowering,
    attribute_axes,
    attribute_value,
    attributes_read,
    cleared_registers,
    result_variable,
)
from gpgpu_legacy.lower.sampling import SampledUnit, lod_function, lookup_arguments, lookup_function


def own_variable(content: Content, number: int) -> Variable:
    """A fragment's own texel in the surface of that number, a component for each channel."""
    channels = content.surfaces[number].format.channels
    return Variable("own", type_of(Kind.FLOAT, channels), Role.OWN, number)


def own_texel(content: Content, number: int) -> Read:
    """Read a fragment's own texel in the surface of that number."""
    return read(own_variable(content, number), axes=EVERYWHERE)


def fused_body(content: Content, *, as_level: bool = False) -> tuple[Statement, ...]:
    """The statements of one iteration.

    as_level: whether a fragment's own texel in a fixed-point surface is the stored whole number,
    rather than its value in [0, 1].
    """
    body, draws = list[Statement](), 0
    for member in content.body:
        if isinstance(member, Move):
            source, target = own_texel(content, member.source), own_variable(content, member.target)
            body.append(Assign(target, source.components, source))
        else:
            body += _Draw(content, member, draws, as_level=as_level).all_statements()
            draws += 1
    return tuple(body)


class AxesLowering(Lowering):
    """Lowers branches to masks, and tracks the axes along which components of variables vary."""

    masks = True

    def __init__(self, draw: int) -> None:
        """draw: the number of the pass."""
        super().__init__(discards=False, draw=draw)
        self.axes: dict[tuple[Variable, int], Axes] = {}

    def assign(self, variable: Variable, components: Components, value: Expression) -> None:
        """Add an assignment."""
        super().assign(variable, components, value)
        self.axes |= {
            (variable, c): self._component_axes(value, index) for index, c in enumerate(components)
        }

    def axes_of(self, variable: Variable, components: Components) -> Axes:
        """The axes along which components of a variable vary here."""
        return union(self.axes.get((variable, c), NOWHERE) for c in components)

    def _component_axes(self, value: Expression, index: int) -> Axes:
        """The axes along which one component of a value varies."""
        if value.type.width == 1 or value.axes == NOWHERE:
            return value.axes
        match value:
            case Read(variable=variable, components=read):
                if variable.role is Role.ATTRIBUTE:
                    return attribute_axes(AttributeKind(variable.name), read[index])
                return self.axes.get((variable, read[index]), value.axes)
            case Compose(operands=parts):
                return parts[index].axes
            case Operation(operands=operands):
                return union(self._component_axes(operand, index) for operand in operands)
        return value.axes

    def repeat(self, trips: Expression, body: Walk) -> None:
        """Add a loop of that many trips; `body` adds the statements of one."""
        before = self.axes
        while True:
            self.axes = dict(before)
            statements = self.inside(body)
            wider = {p: axes | before.get(p, NOWHERE) for p, axes in self.axes.items()}
            if wider == before:
                break
            before = wider
        carried = tuple((*place, before[place]) for place in _carried(statements))
        first = integer(0)
        self.statements.append(
            For(Variable("trip", INT), first, trips, statements, carried=carried)
        )


def _carried(statements: Sequence[Statement]) -> list[tuple[Variable, int]]:
    """The components that each trip passes to the next: read first, and then written."""
    assigned = [s for s in statements_below(statements) if isinstance(s, Assign)]
    written = {(s.variable, c) for s in assigned for c in s.components}
    return [place for place in read_first(statements) if place in written]


class _Draw(AxesLowering):
    """Lowers one fragment pass of fused passes, by the live instructions of its program."""

    def __init__(
        self, content: Content, draw: DrawnProgram, number: int, *, as_level: bool
    ) -> None:
        super().__init__(number)
        self.content, self.drawn, self.as_level = content, draw, as_level
        self.segments = live_segments(draw)
        self.live = {step.number: step for segment in self.segments for step in segment.steps}
        self.now: LiveInstruction | None = None

    def all_statements(self) -> list[Statement]:
        """All statements of the pass: its cleared registers, attributes, program and writes."""
        body, draw = self.statements, self.drawn
        if draw.program.branches:
            execute(draw.program, self)
        else:
            for segment in self.segments:
                self.segment(segment)
        test = draw.writes.alpha_test
        if test is not None:
            target = self.content.surfaces[draw.targets[0]].format
            self.discard(fails(test, self.held(result_variable(0), (3,)), target))
        body += self.writes(body)
        registers = cleared_registers(draw.program, len(draw.targets), body)
        cleared = [Assign(v, ALL[: v.type.width], zero) for v, zero in registers.items()]
        return [*cleared, *self.attributes(body), *body]

    def segment(self, segment: ProgramSegment) -> None:
        def trip() -> None:
            for step in segment.steps:
                self.step(step.number, step.instruction)

        if segment.trips == 1:
            trip()
        else:
            self.repeat(integer(segment.trips), trip)

    def step(self, number: int, instruction: Instruction) -> None:
        if number in self.live:
            self.now = now = self.live[number]
            self.instruction(instruction, now.components, now.corners, self.lod(now.lookup))

    def attributes(self, body: Sequence[Statement]) -> list[Statement]:
        """Assign the components of attributes that statements read."""
        return [
            Assign(variable, read, attribute_value(variable, read, self._draw))
            for variable, read in attributes_read(body).items()
        ]

    # Lookups

    def texel(
        self, _: TextureSource, coordinates: Sequence[Expression], wanted: Components
    ) -> Expression:
        assert self.now is not None
        assert self.now.lookup is not None
        surface = self.content.surfaces[self.now.lookup.texture]
        present = ALL[: surface.format.channels]
        match self.now.lookup:
            case OwnLookup(texture):
                held = own_texel(self.content, texture)
                texel = decoded(held, surface.format, as_level=self.as_level)
            case AffineLookup() | NeighbourLookup() as lookup:
                texel = Texel(lookup, present, lookup.axes, self.now.advance)
            case DependentLookup() as lookup:
                unit = self.unit(lookup)
                given = lookup_arguments(coordinates, *unit)
                return components(Call(given, lookup_function(*unit)), wanted)
        return components(as_read(texel, surface.format), wanted)

    def lod(self, lookup: Lookup[int] | None) -> Function | None:
        """The function of the level of detail that a lookup needs; None if it needs none."""
        if not isinstance(lookup, DependentLookup) or not lookup.sampler.has_lod:
            return None
        return lod_function(*self.unit(lookup))

    def unit(self, lookup: DependentLookup[int]) -> tuple[int, SampledUnit]:
        """The number of a lookup's functions, and its unit. Equal lookups share a number."""
        looks = (look for draw in self.content.draws for look in draw.lookups)
        dependent = dict.fromkeys(look for look in looks if isinstance(look, DependentLookup))
        number = list(dependent).index(lookup)
        surface = self.content.surfaces[lookup.texture]
        unit = SampledUnit(
            lookup.texture, surface.kind, surface.extent, lookup.sampler, surface.format
        )
        return number, unit

    # Targets

    def writes(self, body: list[Statement]) -> list[Statement]:
        """Assign colours, encoded and blended, to the targets unless the fragment is dead."""
        draw, as_level = self.drawn, self.as_level
        writes: list[Statement] = []
        for number, target in enumerate(draw.targets):
            texel_format = self.content.surfaces[target].format
            held, channels = own_texel(self.content, target), draw.writes.channels(texel_format)
            wanted, blend = draw.program.color_number(number), draw.writes.blend
            weighs = blend is not None and blend.weighs
            colour, instruction = self.colour(body, wanted, ALL if weighs else channels)
            source = encoded(colour, texel_format, as_level=as_level and not weighs)
            value = merged(blend, source, held, channels, texel_format, as_level=as_level)
            value = self.with_names(value) if weighs else value
            if draw.discards:
                dead = read(KILLED, axes=EVERYWHERE) > 0.0
                value = operation(Operator.SELECT, dead, components(held, channels), value)
            writes.append(Assign(held.variable, channels, value, instruction))
        return writes

    def colour(
        self, body: list[Statement], number: int, channels: Components
    ) -> tuple[Expression, Instruction | None]:
        """The channels of a colour, and the instruction that computes them, if it is known.

        If the last statement assigns the channels, it is taken off `body`, and its value is used: a
        product can then be contracted with the sum of blending.
        """
        variable = result_variable(number)
        last = body[-1] if body else None
        if len(self.drawn.targets) == 1 and isinstance(last, Assign) and last.variable == variable:
            places = [last.components.index(c) for c in channels if c in last.components]
            if len(places) == len(channels):
                body.pop()
                return components(last.value, tuple(places)), last.instruction
        return self.held(variable, channels), None


@lru_cache(maxsize=256)
def blended_products(content: Content) -> tuple[tuple[bool, ...], ...]:
    """For each target of each draw, whether blending adds a product to its content.

    content: as content_of gives it, with extents for dependent lookups.
    """
    statements = fused_body(content)
    writes = (s for s in statements if isinstance(s, Assign) and s.variable.role is Role.OWN)
    sums: list[tuple[bool, ...]] = []
    for member in content.body:
        if isinstance(member, DrawnProgram):
            sums.append(tuple(_adds_a_product(next(writes)) for _ in member.targets))
        else:
            next(writes)
    return tuple(sums)


def _adds_a_product(write: Assign) -> bool:
    """Whether an assignment adds a product to its own variable."""
    sums = filter(None, map(multiply_add, walk(write.value)))
    return any(
        isinstance(addend, Read)
        and (addend.variable, addend.components) == (write.variable, write.components)
        for _, _, addend in sums
    )
