"""A pass that is drawn by itself: the key of its code, and the statements of one fragment.

An emitter puts a shader around the statements. Textures and targets that are arrays hold their
texels' channels as floats, row after row and layer after layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.execute import ALL, execute
from gpgpu_legacy.isa.expressions import (
    Array,
    Element,
    Expression,
    Given,
    Place,
    Read,
    Role,
    Texel,
    Variable,
    components,
    compose,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.program import (
    FOG_COORDINATE,
    Attribute,
    AttributeKind,
    Instruction,
    Program,
    TextureSource,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Call,
    Declare,
    Function,
    If,
    Return,
    Statement,
    Store,
)
from gpgpu_legacy.isa.types import EVERYWHERE, FLOAT, INT, VEC4, Components, Operator
from gpgpu_legacy.lower.analysis.fusion import Decisions, Folded
from gpgpu_legacy.lower.analysis.liveness import Live, by_instruction, coordinate_components
from gpgpu_legacy.lower.framebuffer import (
    as_decoded,
    behind_fog,
    encoded,
    fails,
    fog_declared,
    merged,
)
from gpgpu_legacy.lower.lowering import (
    CORNERS,
    KILLED,
    Lowering,
    attribute_of,
    attribute_value,
    attribute_variable,
    attributes_read,
    centre,
    cleared_registers,
    result_variable,
)
from gpgpu_legacy.lower.sampling import (
    SampledUnit,
    fetch_function,
    lod_function,
    lookup_arguments,
    lookup_function,
)
from gpgpu_legacy.lower.values import bent_attributes, iterations_of
from gpgpu_legacy.plan.framebuffer import Writes
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import Format


@frozen
class ShaderKey:
    """The key of a pass's shader; passes with equal keys share one.

    lookups, live: see Decisions. varyings: the number that the folded lookups use.
    units: the textures and samplers bound. Their sizes are constants of the code, since drivers
    optimise these better than run-time values; but if one shader must work for textures of any
    size, no lookup is folded, and no unit has an extent. targets: the formats of the targets. The
    code rounds a colour to 8 or 16 bits itself, since drivers differ in that. bent: the attributes
    of the program and its fog whose corner values do not lie in a plane; each triangle has a plane
    of its own. exact: a multiply-add is rounded twice, and operations on 0 and 1 are not
    simplified; otherwise a multiply-add may be rounded once, and a product with a constant 0 may
    become 0. Either way no sum is reordered. writes: how the colours get to the targets; a shader
    that is drawn does only the alpha test.
    """

    program: Program
    lookups: tuple[Folded | None, ...]
    live: Live
    varyings: int
    units: tuple[SampledUnit, ...]
    targets: tuple[Format, ...]
    bent: tuple[Attribute, ...]
    exact: bool
    arithmetic: Arithmetic = FP32
    writes: Writes = Writes()


def shader_key(
    plan: Plan,
    pass_: FragmentPass,
    decisions: Decisions,
    *,
    exact: bool,
    arithmetic: Arithmetic = FP32,
    sized: bool = True,
    drawn: bool = True,
) -> ShaderKey:
    """The key of a pass's shader.

    pass_: as its plan writes it.
    sized: whether the sizes of textures are constants of the code; otherwise nothing may be folded.
    drawn: whether a rasteriser runs the shader, and a framebuffer blends and masks.
    """
    units = []
    for binding in pass_.bindings:
        texture, sampler = plan.texture(binding.texture), binding.sampler
        extent = texture.extent if sized or not sampler.sole_filter else None
        units.append(SampledUnit(binding.unit, texture.kind, extent, sampler, texture.format))
    attributes = pass_.program.attributes_needed
    return ShaderKey(
        pass_.program,
        decisions.lookups,
        decisions.live,
        len(decisions.varyings),
        tuple(units),
        tuple(plan.texture(name).format for name in pass_.targets),
        bent_attributes(pass_, attributes, iterations_of(plan, pass_)),
        exact,
        arithmetic,
        Writes(alpha_test=pass_.alpha_test) if drawn else pass_.writes,
    )


@frozen
class FoldedLookup:
    """The lookup of a Texel: its folding, and the unit that it reads."""

    folded: Folded
    unit: SampledUnit


def target_variable(number: int) -> Variable:
    """The variable for the new colour of target `number`."""
    return Variable(f"colour{number}", VEC4)


def fragment_statements(key: ShaderKey, *, rasterised: bool) -> list[Statement]:
    """All statements of a fragment, up to the new colours of its targets.

    rasterised: whether a rasteriser runs them; they then have its position, texels as drivers
    decode them, and a discard statement. Otherwise KILLED is 1 afterwards if the fragment is dead.
    """
    lowering = _Fragment(key, rasterised=rasterised)
    execute(key.program, lowering)
    if key.writes.alpha_test is not None:
        alpha = Read(result_variable(0), (3,), EVERYWHERE)
        lowering.discard(fails(key.writes.alpha_test, alpha, key.targets[0]))
    body = [*lowering.statements, *_colours(key, range(len(key.targets)))]
    registers = cleared_registers(key.program, len(key.targets), body)
    declared = [Declare(variable, zero) for variable, zero in registers.items()]
    return [*_attributes(body, rasterised=rasterised), *declared, *body]


class _Fragment(Lowering):
    """Executes a pass's program as far as its results need it; branches are masks only in quads."""

    def __init__(self, key: ShaderKey, *, rasterised: bool) -> None:
        super().__init__(key.arithmetic, discards=rasterised)
        self.key, self.decodes = key, rasterised and key.exact
        self.units = {unit.number: unit for unit in key.units}
        bound = [self.units[unit] for unit in key.program.lookup_units]
        detailed = tuple(unit.sampler.has_lod for unit in bound)
        self.corners = coordinate_components(key.program, detailed, executed=False)
        self.masks, self.places = any(detailed) or key.program.derives, (0, *CORNERS)
        self.folded = by_instruction(key.program, key.lookups)
        self.number = 0

    def step(self, number: int, instruction: Instruction) -> None:
        source, lod, self.number = instruction.texture, None, number
        if source is not None and (unit := self.units[source.unit]).sampler.has_lod:
            lod = lod_function(unit.number, unit)
        self.instruction(instruction, self.key.live[number], self.corners[number], lod)

    def texel(
        self, source: TextureSource, coordinates: Sequence[Expression], wanted: Components
    ) -> Expression:
        unit, folded = self.units[source.unit], self.folded[self.number]
        if folded is None:
            given = lookup_arguments(coordinates, unit.number, unit)
            function = lookup_function(unit.number, unit, decodes=self.decodes)
            return components(Call(given, function), wanted)
        texel = Texel(FoldedLookup(folded, unit), wanted, EVERYWHERE)
        return as_decoded(texel, unit.format) if self.decodes else texel


def _attributes(body: Sequence[Statement], *, rasterised: bool) -> list[Statement]:
    """Declare the attributes that statements read, at the fragment's centre."""
    statements: list[Statement] = []
    for variable in sorted(attributes_read(body), key=lambda v: (v.name, v.number, v.corner)):
        attribute = attribute_of(variable)
        value = attribute_value(variable)
        if rasterised and attribute.kind is AttributeKind.POSITION and not variable.corner:
            value = Given(Place.WINDOW, ALL)
        statements.append(Declare(variable, value))
        if attribute == FOG_COORDINATE:
            statements.append(Assign(variable, (1, 2, 3), compose((0.0, 0.0, 1.0))))
    return statements


# Colours ---------------------------------------------------------------------------------------


def _colours(key: ShaderKey, numbers: Iterable[int]) -> list[Statement]:
    """Declare the colours of targets, and first the fog before them if there is any."""
    fog = [fog_declared(key.program.fog, key.arithmetic)] if key.program.fog else []
    return [*fog, *chain.from_iterable(_colour(key, number) for number in numbers)]


def _colour(key: ShaderKey, number: int) -> list[Statement]:
    """Declare the colour of target `number`: in fog, and encoded in the target's format."""
    result = result_variable(key.program.color_number(number))
    colour, target = target_variable(number), key.targets[number]
    value: Expression = Read(result, ALL, EVERYWHERE)
    if key.program.fog is None:
        return [Declare(colour, encoded(value, target))]
    seen = Read(colour, ALL, EVERYWHERE)
    stored = encoded(seen, target)
    return [
        Declare(colour, operation(Operator.SATURATE, value)),
        behind_fog(colour, target, key.arithmetic),
        *([Assign(colour, ALL, stored)] if stored is not seen else []),
    ]


def fails_function(key: ShaderKey) -> Function:
    """The function from a fragment's alpha to whether the alpha test discards the fragment."""
    alpha, test = Variable("alpha", FLOAT), key.writes.alpha_test
    assert test is not None
    return Function("fails", (alpha,), (), fails(test, read(alpha), key.targets[0]))


TARGET_WIDTH = Variable("target_width", INT, Role.UNIFORM)
"""The width of the targets, in texels."""

_AT = Variable("at", INT)


def unit_array(unit: SampledUnit) -> Array:
    """The array of the texture at a unit."""
    return Array(f"texture{unit.number}", FLOAT)


def target_array(number: int) -> Array:
    """The array of target `number`."""
    return Array(f"target{number}", FLOAT)


def unit_fetch(unit: SampledUnit) -> Function:
    """The function that fetches texels of the texture at a unit."""
    array, channels, extent = unit_array(unit), unit.format.channels, unit.extent
    assert extent is not None, "arrays need textures of known sizes"

    def texel(at: Expression) -> Expression:
        return compose(Element((at * channels + c,), array) for c in range(channels))

    return fetch_function(unit.number, unit.format, integer(extent.width), texel)


def stored_colours(key: ShaderKey) -> list[Statement]:
    """Write the colours of a live fragment to its texels, or blend them."""
    dead = read(KILLED, axes=EVERYWHERE) > 0.0
    column, row = (
        operation(Operator.TO_INT, Given(Place.ORIGIN, (axis,)) + centre(axis)) for axis in range(2)
    )
    statements: list[Statement] = [Declare(_AT, row * read(TARGET_WIDTH) + column)]
    if key.program.kills or key.writes.alpha_test:
        statements.insert(0, If(dead, (Return(),)))
    for number, target in enumerate(key.targets):
        channels, array = target.channels, target_array(number)
        places = [Element((read(_AT) * channels + c,), array) for c in range(channels)]
        # Alpha comes last: the other channels may be weighted by it.
        for channel in key.writes.channels(target):
            statements.append(Store(places[channel], _stored(key, number, channel, places)))
    return statements


def _stored(key: ShaderKey, number: int, channel: int, held: Sequence[Expression]) -> Expression:
    """The content of a target's channel after a colour. held: its channels' content before."""
    target, blend = key.targets[number], key.writes.blend
    weighs = blend is not None and blend.weighs
    source = Read(target_variable(number), ALL if weighs else (channel,), EVERYWHERE)
    return merged(blend, source, compose(held), (channel,), target)


def write_function(key: ShaderKey, number: int) -> Function:
    """The function of a live fragment: from a target's texel before it to the texel after it.

    Its parameters are the colour, the fog coordinate, and four numbers: the texel's channels first.
    It returns four numbers; masked channels, and numbers beyond the channels, stay as they are.
    """
    target, held = key.targets[number], Variable("held", VEC4)
    numbers = [Read(held, (c,), EVERYWHERE) for c in ALL]
    channels, written = numbers[: target.channels], key.writes.channels(target)
    lowering = Lowering()
    lowering.statements += _colours(key, (number,))
    texel = lowering.with_names(
        compose(_stored(key, number, c, channels) if c in written else numbers[c] for c in ALL)
    )
    colour = result_variable(key.program.color_number(number))
    given = (colour, attribute_variable(FOG_COORDINATE), held)
    return Function("write", given, tuple(lowering.statements), texel)
