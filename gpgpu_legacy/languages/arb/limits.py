"""The header of a program, and its limits: on resources (section 3.11.3.6) and on each index."""

from __future__ import annotations

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.languages.language import MOST_CHARACTERS

HEADER = "!!ARBfp1.0"

LONGEST_NAME = 128
"""The most characters of a name. Uses of an ALIAS and elements of an array repeat a name that the
text has once, so long names could expand a short text to gigabytes.
"""

MOST_INSTRUCTIONS = 2**15
"""The most instructions of a program. An unrolled product of 8192² matrices has 24 582. In ten
seconds, jit compiles 32 000 multiply-adds that form no loop; a software renderer takes far longer
for thousands."""


@frozen
class AssemblerLimits:
    """The assembler's implementation-dependent limits: the most that a program may use.

    The defaults are those of Mesa's software driver, except for the number of instructions. They
    are generous, so that a program is refused for its errors, not for its size; chips/ has the
    limits of the time's chips. Neither ARB_vertex_blend nor ARB_matrix_palette is supported, so
    there is one modelview matrix and no palette.
    """

    texture_coordinate_sets: int = 8
    texture_image_units: int = 32
    texture_units: int = 8
    """Fixed-function texture units, which state.texenv[n] indexes."""
    lights: int = 8
    modelview_matrices: int = 1
    palette_matrices: int = 0
    program_matrices: int = 8
    matrix_rows: int = 4
    draw_buffers: int = 8
    environment_parameters: int = 256
    local_parameters: int = 2048
    parameters: int = 2048
    """Distinct parameters that a program binds; also the length of the longest array."""
    attributes: int = 32
    temporaries: int = 4096
    instructions: int = MOST_INSTRUCTIONS
    alu_instructions: int = MOST_INSTRUCTIONS
    texture_instructions: int = MOST_INSTRUCTIONS
    array_elements: int = 2**16
    """Elements of all arrays together: a range of 2048 takes only 24 characters of text."""
    characters: int = MOST_CHARACTERS


DEFAULT_LIMITS = AssemblerLimits()
