"""The state of texture environments, by OpenGL's names (OpenGL 1.3, section 3.8.13).

The modes of OpenGL 1.0 and 1.1 are combinations, too, by table 3.23. Textures are RGBA; one with
fewer channels fills the others as a lookup does.
"""

from __future__ import annotations

from enum import Enum

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import TextureTarget, Vec4

SECTION = "3.8.13 of OpenGL 1.3"

MOST_UNITS = 8
"""Texture units that a text may use. OpenGL 1.3 promises 2; a GeForce3 has 4, Mesa 8."""

SCALES = (1, 2, 4)


class CombinerFunction(Enum):
    """The functions of COMBINE_RGB and COMBINE_ALPHA. The values are their numbers of arguments."""

    REPLACE = ("REPLACE", 1)
    MODULATE = ("MODULATE", 2)
    ADD = ("ADD", 2)
    ADD_SIGNED = ("ADD_SIGNED", 2)
    INTERPOLATE = ("INTERPOLATE", 3)
    SUBTRACT = ("SUBTRACT", 2)
    DOT3_RGB = ("DOT3_RGB", 2)
    DOT3_RGBA = ("DOT3_RGBA", 2)

    @property
    def arity(self) -> int:
        """Its number of arguments."""
        return self.value[1]


DOT_PRODUCTS = (CombinerFunction.DOT3_RGB, CombinerFunction.DOT3_RGBA)


class CombinerOperand(Enum):
    """The part of its source that an argument takes."""

    SRC_COLOR = "SRC_COLOR"
    ONE_MINUS_SRC_COLOR = "ONE_MINUS_SRC_COLOR"
    SRC_ALPHA = "SRC_ALPHA"
    ONE_MINUS_SRC_ALPHA = "ONE_MINUS_SRC_ALPHA"

    @property
    def is_alpha(self) -> bool:
        """Whether it takes the alpha of its source."""
        return self in (CombinerOperand.SRC_ALPHA, CombinerOperand.ONE_MINUS_SRC_ALPHA)

    @property
    def is_complement(self) -> bool:
        """Whether it takes 1 minus the source's value."""
        return self in (CombinerOperand.ONE_MINUS_SRC_COLOR, CombinerOperand.ONE_MINUS_SRC_ALPHA)


SOURCES = ("TEXTURE", "CONSTANT", "PRIMARY_COLOR", "PREVIOUS")
"""The sources of an argument; TEXTURE0 and so on come with ARB_texture_env_crossbar."""


@frozen
class CombinerArgument:
    """An argument of a function. source: one of SOURCES, or TEXTUREn."""

    source: str
    operand: CombinerOperand

    def __str__(self) -> str:
        return f"{self.source}.{self.operand.value}"


@frozen
class Combiner:
    """A unit's computation for RGB or for alpha: scale · function(arguments), clamped to [0, 1]."""

    function: CombinerFunction
    arguments: tuple[CombinerArgument, ...]
    scale: int = 1

    def __str__(self) -> str:
        scale = f" * {self.scale}" if self.scale != 1 else ""
        return f"{self.function.name}({', '.join(map(str, self.arguments))}){scale}"


@frozen
class TextureUnit:
    """An enabled texture unit.

    mode: of TEXTURE_ENV_MODE. rgb, alpha: what the mode computes; of COMBINE, what was set.
    color: TEXTURE_ENV_COLOR; None leaves it to the pass, as `state.texenv[number].color`.
    """

    number: int
    target: TextureTarget
    mode: str
    rgb: Combiner
    alpha: Combiner
    color: Vec4 | None = None

    def __str__(self) -> str:
        parts = [f"TEXTURE{self.number}", self.target.value, self.mode]
        if self.mode == COMBINE:
            parts += [f"RGB = {self.rgb}", f"ALPHA = {self.alpha}"]
        if self.color is not None:
            parts.append(f"COLOR = ({', '.join(map(repr, self.color))})")
        return " ".join(parts)


COMBINE = "COMBINE"


def _color(function: CombinerFunction, *sources: str) -> Combiner:
    return Combiner(
        function, tuple(CombinerArgument(s, CombinerOperand.SRC_COLOR) for s in sources)
    )


def _alpha(function: CombinerFunction, *sources: str) -> Combiner:
    return Combiner(
        function, tuple(CombinerArgument(s, CombinerOperand.SRC_ALPHA) for s in sources)
    )


_MODULATED = _alpha(CombinerFunction.MODULATE, "PREVIOUS", "TEXTURE")

MODES = {
    "REPLACE": (
        _color(CombinerFunction.REPLACE, "TEXTURE"),
        _alpha(CombinerFunction.REPLACE, "TEXTURE"),
    ),
    "MODULATE": (_color(CombinerFunction.MODULATE, "PREVIOUS", "TEXTURE"), _MODULATED),
    "DECAL": (
        Combiner(
            CombinerFunction.INTERPOLATE,
            (
                CombinerArgument("TEXTURE", CombinerOperand.SRC_COLOR),
                CombinerArgument("PREVIOUS", CombinerOperand.SRC_COLOR),
                CombinerArgument("TEXTURE", CombinerOperand.SRC_ALPHA),
            ),
        ),
        _alpha(CombinerFunction.REPLACE, "PREVIOUS"),
    ),
    "BLEND": (_color(CombinerFunction.INTERPOLATE, "CONSTANT", "PREVIOUS", "TEXTURE"), _MODULATED),
    "ADD": (_color(CombinerFunction.ADD, "PREVIOUS", "TEXTURE"), _MODULATED),
}
"""The computations of modes other than COMBINE for RGB and alpha (tables 3.22, 3.23, RGBA)."""

INITIAL_SOURCES = ("TEXTURE", "PREVIOUS", "CONSTANT")
"""The initial sources of COMBINE's three arguments (table 6.17)."""

INITIAL_OPERANDS = (CombinerOperand.SRC_COLOR, CombinerOperand.SRC_COLOR, CombinerOperand.SRC_ALPHA)
"""The initial operands of COMBINE_RGB's arguments; those of COMBINE_ALPHA are SRC_ALPHA."""
