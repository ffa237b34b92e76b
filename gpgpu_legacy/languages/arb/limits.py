"""How much a program may use and which indices there are (3.11.3.6 and the grammar's ranges)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The implementation-dependent numbers that decide whether a program loads.

    The defaults are those of Mesa's software driver: generous, so that a program is refused for
    what is wrong with it and not for its size. What a chip of the time allowed is another question
    (chips/). Neither ARB_vertex_blend nor ARB_matrix_palette is there, so there is one modelview
    matrix and no palette.
    """

    texture_coordinate_sets: int = 8
    texture_image_units: int = 32
    texture_units: int = 8
    """Those of the fixed functions, which state.texenv[n] reads."""
    lights: int = 8
    modelview_matrices: int = 1
    palette_matrices: int = 0
    program_matrices: int = 8
    matrix_rows: int = 4
    draw_buffers: int = 8
    environment_parameters: int = 256
    local_parameters: int = 2048
    parameters: int = 2048
    """Different state vectors and constants that a program binds; also the longest array."""
    attributes: int = 32
    temporaries: int = 4096
    instructions: int = 2**20
    alu_instructions: int = 2**20
    texture_instructions: int = 2**20


DEFAULT_LIMITS = Limits()
