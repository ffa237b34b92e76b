"""A fragment program of a pass as the statements of one fragment; a shader stands around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.fog import FOG_COORDINATE
from gpgpu_legacy.isa.ir import AttributeKind, Instruction
from gpgpu_legacy.lower.analysis.folding import Folded
from gpgpu_legacy.lower.ir import (
    Assign,
    Call,
    Constant,
    Declare,
    Expression,
    Function,
    Given,
    Place,
    Read,
    Role,
    Statement,
    Texel,
    Variable,
    components,
    operation,
)
from gpgpu_legacy.lower.ir_types import (
    EVERYWHERE,
    VEC4,
    Components,
    Kind,
    Operator,
    type_of,
)
from gpgpu_legacy.lower.lowering import (
    Lowering,
    as_decoded,
    attribute_of,
    attribute_value,
    behind_fog,
    cleared_registers,
    color_number,
    encoded,
    fog_declared,
    result_variable,
    variables_read,
)
from gpgpu_legacy.lower.sampling import (
    Unit,
    coordinate_count,
    lookup_function,
)
from gpgpu_legacy.lower.shader_key import ShaderKey
from gpgpu_legacy.plan.formats import Format


@dataclass(frozen=True, slots=True)
class FoldedLookup:
    """Of a Texel: how its lookup is folded, and the unit that it looks up."""

    folded: Folded
    unit: Unit


def target_variable(number: int) -> Variable:
    """What target `number` is to hold."""
    return Variable(f"colour{number}", VEC4)


def fragment_statements(key: ShaderKey, *, rasterised: bool) -> list[Statement]:
    """All that is done for a fragment, up to the colours that its targets are to hold.

    rasterised: whether a rasteriser runs it: one that gives a position, texels as drivers decode
    them, and a statement that discards; else KILLED says afterwards if the fragment is dead.
    """
    look_up = _Lookups(key, decodes=rasterised and key.exact)
    lowering = Lowering(look_up, key.arithmetic, discards=rasterised)
    for instruction, live in zip(key.program.instructions, key.live, strict=True):
        lowering.instruction(instruction, live)
    colours = [s for n, target in enumerate(key.targets) for s in _colour(key, n, target)]
    fog = [fog_declared(key.program.fog, key.arithmetic)] if key.program.fog else []
    body = [*lowering.statements, *fog, *colours]
    registers = cleared_registers(key.program, len(key.targets), body)
    declared = [Declare(variable, zero) for variable, zero in registers.items()]
    return [*_attributes(body, rasterised=rasterised), *declared, *body]


class _Lookups:
    """The lookups of a program, one after another."""

    def __init__(self, key: ShaderKey, *, decodes: bool) -> None:
        self.decodes = decodes
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
        texel = Texel(FoldedLookup(folded, unit), wanted, EVERYWHERE)
        return as_decoded(texel, unit.format) if self.decodes else texel

    def function(self, unit: Unit) -> Function:
        if unit.number not in self.functions:
            function = lookup_function(unit.number, unit, decodes=self.decodes)
            self.functions[unit.number] = function
        return self.functions[unit.number]


def _attributes(body: Sequence[Statement], *, rasterised: bool) -> list[Statement]:
    """The attributes that statements read, at the fragment's centre."""
    statements: list[Statement] = []
    for variable in sorted(variables_read(body, Role.ATTRIBUTE), key=lambda v: (v.name, v.number)):
        attribute = attribute_of(variable)
        value = attribute_value(attribute)
        if rasterised and attribute.kind is AttributeKind.POSITION:
            value = Given(Place.WINDOW, ALL)
        statements.append(Declare(variable, value))
        if attribute == FOG_COORDINATE:
            rest = Constant((0.0, 0.0, 1.0), type_of(Kind.FLOAT, 3))
            statements.append(Assign(variable, (1, 2, 3), rest))
    return statements


# Colours ---------------------------------------------------------------------------------------


def _colour(key: ShaderKey, number: int, target: Format) -> list[Statement]:
    """Fog, then the rounding to what the target stores."""
    result = result_variable(color_number(key.program, number))
    colour = target_variable(number)
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
