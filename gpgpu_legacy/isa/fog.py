"""Fog, applied to a program's final colour (GL 1.5, section 3.10; extension, 3.11.4.5.1).

The formulas use operators and NumPy's functions, as the opcodes' definitions do: on arrays they
compute, on Symbols they record named operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpgpu_legacy.isa.program import Fog

FOG_FACTORS: Mapping[Fog, Callable[[Any, Any], Any]] = {
    Fog.EXP: lambda c, params: np.exp(-(params[0] * c)),
    Fog.EXP2: lambda c, params: np.exp(-((params[0] * c) * (params[0] * c))),
    Fog.LINEAR: lambda c, params: (params[2] - c) * params[3],
}

"""Functions for the visible share of the fragment's colour, before it is clamped to [0, 1].

Each takes the fog coordinate and the components of state.fog.params.
"""


def fog_mixed(factor: Any, color: Any, fog: Any) -> Any:
    """A component of the fragment's colour behind fog. factor: between 0 and 1."""
    return factor * color + (np.float32(1.0) - factor) * fog
