"""Fragments whose textures and targets are arrays: where their texels are, and how they are stored.

Each array has its texels' channels as floats, row after row and layer after layer.
"""

from __future__ import annotations

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.lower.fragments import target_variable
from gpgpu_legacy.lower.ir import (
    Array,
    Declare,
    Element,
    Expression,
    Function,
    Given,
    If,
    Place,
    Read,
    Return,
    Role,
    Statement,
    Store,
    Variable,
    compose,
    constant,
    operation,
)
from gpgpu_legacy.lower.ir_types import EVERYWHERE, FLOAT, INT, Kind, Operator
from gpgpu_legacy.lower.lowering import KILLED, blended, centre
from gpgpu_legacy.lower.sampling import Unit, fetch_function
from gpgpu_legacy.lower.shader_key import ShaderKey
from gpgpu_legacy.plan.plan import Blend

TARGET_WIDTH = Variable("target_width", INT, Role.UNIFORM)
"""How wide the targets are, in texels."""

_AT = Variable("at", INT)


def unit_array(unit: Unit) -> Array:
    """The array of the texture at a unit."""
    return Array(f"texture{unit.number}", FLOAT)


def target_array(number: int) -> Array:
    """The array of target `number`."""
    return Array(f"target{number}", FLOAT)


def unit_fetch(unit: Unit) -> Function:
    """The function that fetches texels of the texture at a unit."""
    array, channels, extent = unit_array(unit), unit.format.channels, unit.extent
    assert extent is not None, "arrays are of textures whose sizes are known"

    def texel(at: Expression) -> Expression:
        return compose(Element((at * channels + c,), array) for c in range(channels))

    return fetch_function(unit.number, constant(extent.width, Kind.INT), texel)


def stored_colours(key: ShaderKey, blend: Blend) -> list[Statement]:
    """The colours of a fragment that is not dead, written to its texels or added to them."""
    dead = Read(KILLED, (0,), EVERYWHERE) > 0.0
    column, row = (
        operation(Operator.TO_INT, Given(Place.ORIGIN, (axis,)) + centre(axis)) for axis in range(2)
    )
    return [
        *([If(dead, (Return(),))] if key.program.kills else []),
        Declare(_AT, row * Read(TARGET_WIDTH, (0,)) + column),
        *(
            _store(number, channel, key, blend)
            for number, target in enumerate(key.targets)
            for channel in ALL[: target.channels]
        ),
    ]


def _store(number: int, channel: int, key: ShaderKey, blend: Blend) -> Store:
    target, value = key.targets[number], Read(target_variable(number), (channel,), EVERYWHERE)
    place = Element((Read(_AT, (0,)) * target.channels + channel,), target_array(number))
    return Store(place, blended(value, place, target) if blend is Blend.ADD else value)
