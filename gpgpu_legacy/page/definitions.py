"""The package's own definitions for the scripts of the page, as a script."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpgpu_legacy.isa.expressions import Read, Variable, expression
from gpgpu_legacy.isa.opcodes import RELATIONS
from gpgpu_legacy.isa.statements import walk
from gpgpu_legacy.isa.types import FLOAT
from gpgpu_legacy.lower.emit.javascript import HELPERS, formula_text, opcode_functions
from gpgpu_legacy.lower.framebuffer import encoded
from gpgpu_legacy.lower.lowering import BESIDE
from gpgpu_legacy.plan.interpolation import (
    interpolated,
    is_above,
    is_bent,
    quad_centre,
    slopes,
    window_position,
)
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS
from gpgpu_legacy.plan.textures import FORMATS
from gpgpu_legacy.serial import json_text

DEFINITIONS = "player/definitions.js"
"""The name of the script, among those of a section."""


@cache
def definitions_script() -> str:
    """The text of the script: `opcodesIn` and its like, and `DEFINITIONS`.

    Each takes f, which rounds each operation, and returns functions by name. Those of
    `interpolationIn(f)` are the formulas of plan/interpolation.py: of the numbers a, b, c and d at
    the corners, or of a plane a + b·x + c·y, and of a place or size x, y. Those of
    `encodingsIn(f)`, by format, give what a texture keeps of a number; those of `relationsIn(f)`,
    by relation, whether a number has it to 0.
    """
    definitions = {
        "beside": [*BESIDE.values()],
        "attributes": {kind.value: value for kind, value in ATTRIBUTE_DEFAULTS.items()},
        "formats": {
            name: {
                "channels": f.channels,
                "bits": f.bits_per_channel,
                "numeric": f.numeric.value,
                "reads": ["rgba01".index(source) for source in f.reads],
                "stored": f.channels if f.is_drawn_to else 4,
            }
            for name, f in FORMATS.items()
        },
    }
    a, b, c, d, x, y = (Read(variable, (0,)) for variable in _NUMBERS)
    interpolation = {
        "bent": is_bent(a, b, c, d),
        "slopes": slopes(a, b, c, d, (x, y)),
        "interpolated": interpolated(a, b, c, x, y),
        "above": is_above(a, b, x, y),
        "position": window_position(x, y, (a, b)),
        "quad": (quad_centre(x, a, 0.0), quad_centre(x, a, 1.0)),
    }
    relations = {name: choose(a, 0.0, 1.0, 0.0) for name, choose in RELATIONS.items()}
    encodings = {name: encoded(a, texel_format) for name, texel_format in FORMATS.items()}
    return (
        "// Made from the package's own definitions of opcodes, interpolation and formats.\n"
        f"{HELPERS}{opcode_functions()}{_functions('interpolationIn', interpolation)}"
        f"{_functions('encodingsIn', encodings)}{_functions('relationsIn', relations)}"
        f"const DEFINITIONS = {json_text(definitions)};\n"
    )


_NUMBERS = [Variable(name, FLOAT) for name in "abcdxy"]


def _functions(name: str, formulas: Mapping[str, Any]) -> str:
    """The text of a JavaScript function of f that returns the formulas as functions, by name."""
    lines = []
    for key, value in formulas.items():
        values = value if isinstance(value, tuple) else (value,)
        read = {
            part.variable
            for formula in values
            for part in walk(expression(formula))
            if isinstance(part, Read)
        }
        text = formula_text([number for number in _NUMBERS if number in read], value)
        lines.append(f"  {key}: {text},\n")
    return f"const {name} = (f) => ({{\n{''.join(lines)}}});\n"
