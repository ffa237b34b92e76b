"""The package's own definitions for the scripts of the page, as a script."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.lower.emit.javascript import fog_functions, opcode_functions
from gpgpu_legacy.plan.interpolation import PLANAR_TOLERANCE
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS
from gpgpu_legacy.plan.sampling import LEAST_RHO2, LOG2_FACTORS, MOST_BIAS, MOST_RHO2
from gpgpu_legacy.plan.textures import FORMATS, Compare
from gpgpu_legacy.serial import json_text

DEFINITIONS = "player/definitions.js"
"""The name of the script, among those of a section."""


@cache
def definitions_script() -> str:
    """The text of the script: `opcodesIn`, `fogIn`, and numbers in `DEFINITIONS`."""
    numbers = {
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
        "planar": PLANAR_TOLERANCE,
        "sampling": {
            "least": LEAST_RHO2,
            "most": MOST_RHO2,
            "factors": LOG2_FACTORS,
            "bias": MOST_BIAS,
            "compared": {compare.value: compare.results for compare in Compare},
        },
    }
    return (
        "// Made from the package's own definitions of opcodes, fog, formats and attributes.\n"
        f"{opcode_functions()}{fog_functions()}const DEFINITIONS = {json_text(numbers)};\n"
    )
