"""A fragment program of a pass as the statements of one fragment; a shader stands around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS, fog_factor, fog_mixed
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, Instruction, Parameter, ParameterSpace
from gpgpu_legacy.lower.analysis.folding import Folded
from gpgpu_legacy.lower.ir import (
    EVERYWHERE,
    FLOAT,
    VEC4,
    Assign,
    Call,
    Components,
    Constant,
    Declare,
    Expression,
    Function,
    Given,
    Kind,
    Operator,
    Read,
    Role,
    Statement,
    Texel,
    Variable,
    component,
    components,
    constant,
    operation,
    type_of,
)
from gpgpu_legacy.lower.lowering import (
    KILLED,
    Lowering,
    attribute_value,
    attribute_variable,
    color_number,
    encoded,
    nearest_level,
    result_variable,
    result_variables,
    temporary_variable,
    variables_read,
)
from gpgpu_legacy.lower.sampling import (
    Sampled,
    Unit,
    coordinate_count,
    extent_sizes,
    lookup_function,
)
from gpgpu_legacy.lower.shader_key import ShaderKey
from gpgpu_legacy.plan.formats import Format, Numeric

FetchTexel = Callable[[Unit, Expression, Expression], Expression]
"""The texel of a unit's texture at a column and a row."""


def target_variable(number: int) -> Variable:
    """What target `number` is to hold."""
    return Variable(f"colour{number}", VEC4)


def fragment_statements(
    key: ShaderKey, fetch: FetchTexel, position: Expression, *, discards: bool
) -> list[Statement]:
    """All that is done for a fragment, up to the colours that its targets are to hold.

    fetch: how the target fetches texels. position: what it has for fragment.position. discards:
    whether it has a statement that ends a fragment; else KILLED says afterwards if it is dead.
    """
    look_up = _Lookups(key, fetch)
    lowering = Lowering(look_up, key.arithmetic, discards=discards)
    for instruction, live in zip(key.program.instructions, key.live, strict=True):
        lowering.instruction(instruction, live)
    colours = [s for n, target in enumerate(key.targets) for s in _colour(key, n, target)]
    body = [*lowering.statements, *_fog(key), *colours]
    used = variables_read(body, Role.TEMPORARY).keys() | assigned_variables(body)
    registers = [temporary_variable(name) for name in key.program.temporaries]
    registers = [register for register in registers if register in used]
    registers += result_variables(key.program, len(key.targets))
    nothing = Constant((0.0,) * 4, VEC4)
    killed = [Declare(KILLED, constant(0.0))] if key.program.kills and not discards else []
    return [
        *_attributes(body, position),
        *(Declare(variable, nothing) for variable in registers),
        *killed,
        *body,
    ]


def assigned_variables(statements: Sequence[Statement]) -> set[Variable]:
    """The variables that statements assign."""
    return {s.variable for s in statements if isinstance(s, Assign)}


class _Lookups:
    """The lookups of a program, one after another."""

    def __init__(self, key: ShaderKey, fetch: FetchTexel) -> None:
        self.exact, self.fetch = key.exact, fetch
        self.units = {unit.number: unit for unit in key.units}
        self.functions: dict[int, Function] = {}
        textures = [
            bool(live)
            for instruction, live in zip(key.program.instructions, key.live, strict=True)
            if instruction.texture is not None
        ]
        self.known = iter(f for f, live in zip(key.lookups, textures, strict=True) if live)

    def __call__(
        self, instruction: Instruction, coordinates: Sequence[Expression], wanted: Components
    ) -> Expression:
        assert instruction.texture is not None
        unit, folded = self.units[instruction.texture.unit], next(self.known)
        if folded is None:
            given = tuple(coordinates[: coordinate_count(unit.kind)])
            return components(Call(given, self.function(unit)), wanted)
        return as_decoded(Texel((folded, unit), wanted, EVERYWHERE), unit.format, exact=self.exact)

    def function(self, unit: Unit) -> Function:
        if unit.number not in self.functions:

            def fetch(column: Expression, row: Expression) -> Expression:
                return self.fetch(unit, column, row)

            sizes = extent_sizes(unit.extent)
            sampled = Sampled(unit.kind, unit.sampler, unit.format, sizes, fetch)
            self.functions[unit.number] = lookup_function(unit.number, sampled)
        return self.functions[unit.number]


def as_decoded(texel: Expression, texel_format: Format, *, exact: bool) -> Expression:
    """A texel as the format defines it: k / 255, where drivers may give k times a rounded 1/255."""
    if texel_format.numeric is not Numeric.UNORM or not exact:
        return texel
    return nearest_level(texel, texel_format)


def folded_unit(texel: Texel) -> tuple[Folded, Unit]:
    """How a lookup is folded, and the unit that it looks up."""
    folded, unit = texel.lookup
    return folded, unit


def _attributes(body: Sequence[Statement], position: Expression) -> list[Statement]:
    """The attributes that statements read, at the fragment's centre."""
    statements: list[Statement] = []
    for variable in sorted(variables_read(body, Role.ATTRIBUTE), key=lambda v: (v.name, v.number)):
        attribute = Attribute(AttributeKind(variable.name), variable.number)
        is_position = attribute.kind is AttributeKind.POSITION
        value = position if is_position else attribute_value(attribute)
        statements.append(Declare(variable, value))
        if attribute == FOG_COORDINATE:
            rest = Constant((0.0, 0.0, 1.0), type_of(Kind.FLOAT, 3))
            statements.append(Assign(variable, (1, 2, 3), rest))
    return statements


# Colours ---------------------------------------------------------------------------------------

_FACTOR = Variable("fog", FLOAT)


def _state(binding: str, wanted: Components = ALL) -> Given:
    return Given(Parameter(ParameterSpace.STATE, binding=binding), wanted)


def _rounded(key: ShaderKey, value: Expression) -> Expression:
    return operation(Operator.ROUND, value) if key.arithmetic.rounds else value


def _fog(key: ShaderKey) -> list[Statement]:
    """How much of a colour is seen, if the program has fog."""
    if key.program.fog is None:
        return []
    params = [_state(FOG_PARAMS, (c,)) for c in ALL]
    coordinate = Read(attribute_variable(FOG_COORDINATE), (0,), EVERYWHERE)
    factor = _rounded(key, fog_factor(key.program.fog, coordinate, params))
    return [Declare(_FACTOR, operation(Operator.SATURATE, factor))]


def _colour(key: ShaderKey, number: int, target: Format) -> list[Statement]:
    """Fog, then the rounding to what the target stores."""
    result = result_variable(color_number(key.program, number))
    colour = target_variable(number)
    value: Expression = Read(result, ALL, EVERYWHERE)
    if key.program.fog is None:
        return [Declare(colour, encoded(value, target))]
    behind: Expression = _state(FOG_COLOR, (0, 1, 2))
    if target.numeric is Numeric.UNORM:
        behind = operation(Operator.SATURATE, behind)
    seen = Read(colour, ALL, EVERYWHERE)
    mixed = fog_mixed(Read(_FACTOR, (0,), EVERYWHERE), components(seen, (0, 1, 2)), behind)
    stored = encoded(seen, target)
    return [
        Declare(colour, operation(Operator.SATURATE, value)),
        Assign(colour, (0, 1, 2), _rounded(key, mixed)),
        *([Assign(colour, ALL, stored)] if stored is not seen else []),
    ]


def channel_of(number: int, channel: int) -> Expression:
    """A channel of what a target is to hold."""
    return component(Read(target_variable(number), ALL, EVERYWHERE), channel)
