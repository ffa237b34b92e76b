"""Fog, the alpha test, formats and blending as expressions.

They lead from a program's colours to its targets, and from these to the texels that lookups read.
"""

from __future__ import annotations

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.expressions import (
    Expression,
    Given,
    Read,
    Variable,
    component,
    components,
    compose,
    expression,
    operation,
)
from gpgpu_legacy.isa.fog import FOG_FACTORS, fog_mixed
from gpgpu_legacy.isa.program import (
    FOG_COLOR,
    FOG_COORDINATE,
    FOG_PARAMS,
    Fog,
    Parameter,
    ParameterSpace,
)
from gpgpu_legacy.isa.statements import Assign, Declare, uncontracted
from gpgpu_legacy.isa.types import EVERYWHERE, FLOAT, Components, Operator
from gpgpu_legacy.lower.lowering import attribute_variable, rounded
from gpgpu_legacy.plan import encoding
from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend
from gpgpu_legacy.plan.textures import RGBA32F, Format, Numeric

# Fog -------------------------------------------------------------------------------------------

_SEEN, _RGB = Variable("fog", FLOAT), ALL[:3]


def fog_declared(mode: Fog, arithmetic: Arithmetic = FP32) -> Declare:
    """Declare the share of a colour that is visible through fog."""
    params = [_state(FOG_PARAMS, (c,)) for c in ALL]
    coordinate = Read(attribute_variable(FOG_COORDINATE), (0,), EVERYWHERE)
    factor = rounded(FOG_FACTORS[mode](coordinate, params), arithmetic)
    return Declare(_SEEN, operation(Operator.SATURATE, factor))


def behind_fog(colour: Variable, target: Format = RGBA32F, arithmetic: Arithmetic = FP32) -> Assign:
    """Mix a colour's red, green and blue with the fog's."""
    fog: Expression = _state(FOG_COLOR, _RGB)
    if target.numeric is Numeric.UNORM:
        fog = operation(Operator.SATURATE, fog)
    mixed = fog_mixed(Read(_SEEN, (0,), EVERYWHERE), Read(colour, _RGB, EVERYWHERE), fog)
    return Assign(colour, _RGB, rounded(mixed, arithmetic))


def _state(binding: str, wanted: Components) -> Given:
    return Given(Parameter(ParameterSpace.STATE, binding=binding), wanted)


# Targets ---------------------------------------------------------------------------------------


def as_read(texel: Expression, texel_format: Format) -> Expression:
    """The R, G, B and A that a lookup reads, from the channels that a texel stores."""
    if texel_format.reads == "rgba":
        return texel
    channels = [component(texel, c) for c in range(texel_format.channels)]
    return compose(encoding.as_read(channels, texel_format))


def encoded(value: Expression, texel_format: Format, *, as_level: bool = False) -> Expression:
    """Encode a colour for a target: as float32 or, with as_level, as the stored whole number."""
    content = expression(encoding.encoded(value, texel_format, as_level=as_level))
    return _apart(content, texel_format, value)


def decoded(held: Expression, texel_format: Format, *, as_level: bool = False) -> Expression:
    """The channels that a lookup reads from a target's content; see encoded."""
    colour = expression(encoding.decoded(held, texel_format, as_level=as_level))
    return _apart(colour, texel_format, held)


def as_decoded(texel: Expression, texel_format: Format) -> Expression:
    """A texel as its format defines it.

    With 8 bits a channel is exactly k / 255, which drivers may miss.
    """
    if texel_format.numeric is not Numeric.UNORM:
        return texel
    whole = encoding.nearest_level(texel, texel_format)
    return _apart(encoding.shown_level(whole, texel_format), texel_format, texel)


def merged(
    blend: Blend | None,
    source: Expression,
    held: Expression,
    channels: Components,
    texel_format: Format,
    *,
    as_level: bool = False,
) -> Expression:
    """The content of a target's channels after a colour has been drawn to them.

    source: the encoded colour; only these channels or, if the blend weighs, all four as float32.
    held: the texel's content before.
    """
    if blend is None:
        return source
    if not blend.weighs:
        before = components(held, channels)
        total = encoding.summed(source, before, texel_format, as_level=as_level)
        return _apart(expression(total), texel_format, source, before)
    there = as_read(decoded(held, texel_format, as_level=as_level), texel_format)
    colour, below = ([component(value, c) for c in ALL] for value in (source, there))
    total = compose(blend.channel(c, colour, below, texel_format) for c in channels)
    return encoded(total, texel_format, as_level=as_level)


def _apart(value: Expression, texel_format: Format, *operands: Expression) -> Expression:
    """The value; for a fixed-point format with each operation rounded by itself."""
    return uncontracted(value, *operands) if texel_format.numeric is Numeric.UNORM else value


def fails(test: AlphaTest, alpha: Expression, target: Format) -> Expression:
    """Whether the alpha test discards a fragment of this alpha."""
    return operation(Operator.NOT, test.passes(alpha, target))
