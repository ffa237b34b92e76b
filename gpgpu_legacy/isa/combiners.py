"""How a texture unit combines colours without a program (OpenGL 1.3, section 3.8.13).

The names are OpenGL's. program.py has the units, since they know the targets of textures.
"""

from __future__ import annotations

from enum import Enum

from gpgpu_legacy.decorators import frozen

UNCLAMPED = "CLAMP_FRAGMENT_COLOR FALSE"
"""The state of ARB_color_buffer_float in which no unit clamps its result, for float textures."""


class CombinerMode(Enum):
    """The values of TEXTURE_ENV_MODE."""

    REPLACE = "REPLACE"
    MODULATE = "MODULATE"
    DECAL = "DECAL"
    BLEND = "BLEND"
    ADD = "ADD"
    COMBINE = "COMBINE"


class CombinerFunction(Enum):
    """The functions of COMBINE_RGB and COMBINE_ALPHA."""

    REPLACE = "REPLACE"
    MODULATE = "MODULATE"
    ADD = "ADD"
    ADD_SIGNED = "ADD_SIGNED"
    INTERPOLATE = "INTERPOLATE"
    SUBTRACT = "SUBTRACT"
    DOT3_RGB = "DOT3_RGB"
    DOT3_RGBA = "DOT3_RGBA"

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return {CombinerFunction.REPLACE: 1, CombinerFunction.INTERPOLATE: 3}.get(self, 2)


DOT_PRODUCTS = (CombinerFunction.DOT3_RGB, CombinerFunction.DOT3_RGBA)


class CombinerSource(Enum):
    """The sources of an argument.

    TEXTURE0 to TEXTURE7 come with ARB_texture_env_crossbar. Their values are their units.
    """

    TEXTURE = "TEXTURE"
    CONSTANT = "CONSTANT"
    PRIMARY_COLOR = "PRIMARY_COLOR"
    PREVIOUS = "PREVIOUS"
    TEXTURE0 = 0
    TEXTURE1 = 1
    TEXTURE2 = 2
    TEXTURE3 = 3
    TEXTURE4 = 4
    TEXTURE5 = 5
    TEXTURE6 = 6
    TEXTURE7 = 7


class CombinerOperand(Enum):
    """The part of its source that an argument takes. Its value is (is_alpha, is_complement)."""

    SRC_COLOR = (False, False)
    ONE_MINUS_SRC_COLOR = (False, True)
    SRC_ALPHA = (True, False)
    ONE_MINUS_SRC_ALPHA = (True, True)

    @property
    def is_alpha(self) -> bool:
        """Whether it takes the alpha of its source."""
        return self.value[0]

    @property
    def is_complement(self) -> bool:
        """Whether it takes 1 minus the source's value."""
        return self.value[1]


@frozen
class CombinerArgument:
    """An argument of a function."""

    source: CombinerSource
    operand: CombinerOperand


@frozen
class Combiner:
    """A unit's computation for RGB or for alpha: scale · function(arguments), clamped to [0, 1]."""

    function: CombinerFunction
    arguments: tuple[CombinerArgument, ...]
    scale: int = 1
