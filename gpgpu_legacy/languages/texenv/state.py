"""What texture environments have by default, by OpenGL's names (OpenGL 1.3, section 3.8.13).

The modes of OpenGL 1.0 and 1.1 are combinations, too, by table 3.23. Textures are RGBA; one with
fewer channels fills the others as a lookup does.
"""

from __future__ import annotations

from gpgpu_legacy.isa.combiners import (
    Combiner,
    CombinerArgument,
    CombinerFunction,
    CombinerMode,
    CombinerOperand,
    CombinerSource,
)

HEADER = "!!texenv1.3"


INITIAL_SOURCES = (CombinerSource.TEXTURE, CombinerSource.PREVIOUS, CombinerSource.CONSTANT)
"""The initial sources of COMBINE's three arguments (table 6.17)."""

_COLORS, _ALPHAS = (CombinerOperand.SRC_COLOR,) * 3, (CombinerOperand.SRC_ALPHA,) * 3

INITIAL_OPERANDS = {"RGB": (*_COLORS[:2], CombinerOperand.SRC_ALPHA), "ALPHA": _ALPHAS}
"""The initial operands of COMBINE_RGB's and of COMBINE_ALPHA's arguments."""


def combiner(
    function: CombinerFunction,
    operands: tuple[CombinerOperand, ...],
    sources: tuple[CombinerSource, ...] = INITIAL_SOURCES,
) -> Combiner:
    """A function of these sources, as many as it has arguments."""
    arguments = map(CombinerArgument, sources[: function.arity], operands)
    return Combiner(function, tuple(arguments))


_TEXTURE, _PREVIOUS, _CONSTANT = ((source,) for source in INITIAL_SOURCES)
_BOTH = _PREVIOUS + _TEXTURE
_MODULATED = combiner(CombinerFunction.MODULATE, _ALPHAS, _BOTH)

MODES = {
    CombinerMode.REPLACE: (
        combiner(CombinerFunction.REPLACE, _COLORS, _TEXTURE),
        combiner(CombinerFunction.REPLACE, _ALPHAS, _TEXTURE),
    ),
    CombinerMode.MODULATE: (
        combiner(CombinerFunction.MODULATE, _COLORS, _BOTH),
        _MODULATED,
    ),
    CombinerMode.DECAL: (
        combiner(
            CombinerFunction.INTERPOLATE, INITIAL_OPERANDS["RGB"], _TEXTURE + _PREVIOUS + _TEXTURE
        ),
        combiner(CombinerFunction.REPLACE, _ALPHAS, _PREVIOUS),
    ),
    CombinerMode.BLEND: (
        combiner(CombinerFunction.INTERPOLATE, _COLORS, _CONSTANT + _BOTH),
        _MODULATED,
    ),
    CombinerMode.ADD: (
        combiner(CombinerFunction.ADD, _COLORS, _BOTH),
        _MODULATED,
    ),
}
"""The computations of modes other than COMBINE for RGB and alpha (tables 3.22, 3.23, RGBA)."""
