"""The arithmetic of the chips: the number formats of their registers, one row each.

In a format other than fp32, the attributes, parameters and texels that a program reads are rounded
to it. So is every instruction's result, once, after it has been computed in float64. A texture unit
uses its coordinate as it is: one computed by an instruction is in the format, and one that comes
straight from an attribute is in float32, as interpolated. NV30 worked that way
(GL_NV_fragment_program, section 3.11.4.2: f[TEX0] to f[TEX7] are read in fp32), and so did register
combiners, which follow the texture units; otherwise no fixed-point chip could have addressed a
texture larger than 2 texels. The formats of textures and framebuffers are in plan/textures.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.frozen import frozen

F32 = NDArray[np.float32]


@frozen
class Arithmetic:
    """A number format of registers.

    bits: the size of a number. round: rounds an array of float32 or float64 to the nearest numbers
    of the format, ties to even, and returns float32. largest: the largest finite number.
    relative_error, absolute_error: |round(x) - x| ≤ relative_error·|x| + absolute_error for all
    |x| ≤ largest. rounds: whether results must be rounded, that is, the format is not the host's
    float32.
    """

    name: str
    summary: str
    bits: int
    round: Callable[[NDArray[Any]], F32]
    largest: float
    relative_error: float
    absolute_error: float
    rounds: bool = True

    def wide(self, values: F32) -> Any:
        """Operands in the type that instructions compute in: float64 if results are rounded."""
        return values.astype(np.float64) if self.rounds else values


def _round_fp32(values: NDArray[Any]) -> F32:
    return values.astype(np.float32, copy=False)


_FP24_LEAST = 2.0**-62
_FP24_OVERFLOW = 2.0**64


def _round_fp24(values: NDArray[Any]) -> F32:
    """Round to 17 significant bits by integer arithmetic on the float64, then limit the exponent.

    Adding half a unit in the last place, less 1 unless that place is odd, rounds to nearest even. A
    carry out of the mantissa increments the exponent.
    """
    wide = values.astype(np.float64)
    bits = wide.view(np.uint64)
    odd = (bits >> np.uint64(36)) & np.uint64(1)
    kept = (bits + np.uint64(2**35 - 1) + odd) & ~np.uint64(2**36 - 1)
    rounded = np.where(np.isfinite(wide), kept.view(np.float64), wide)
    magnitude = np.abs(rounded)
    rounded = np.where(magnitude < _FP24_LEAST, np.copysign(0.0, wide), rounded)
    rounded = np.where(magnitude >= _FP24_OVERFLOW, np.copysign(np.inf, wide), rounded)
    return rounded.astype(np.float32)


def _round_fp16(values: NDArray[Any]) -> F32:
    return values.astype(np.float16).astype(np.float32)


def _fixed_point(steps_per_unit: int, least: int, most: int) -> Callable[[NDArray[Any]], F32]:
    """A function that rounds to k/steps_per_unit for an integer k from `least` to `most`.

    It saturates, turns NaN into 0 and has no -0.
    """

    def rounded(values: NDArray[Any]) -> F32:
        wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=most, neginf=least)
        steps = np.clip(np.rint(wide * steps_per_unit), least, most) + 0.0
        return (steps / steps_per_unit).astype(np.float32)

    return rounded


FP32 = Arithmetic(
    "fp32", "IEEE single precision, every operation rounded",
    32, _round_fp32, float(np.finfo(np.float32).max), 2.0**-24, 2.0**-150, rounds=False,
)  # fmt: skip

FP24 = Arithmetic(
    "fp24", "sign, 7 bits of exponent, 16 of mantissa: Radeon 9700 (R300)",
    24, _round_fp24, (2 - 2.0**-16) * 2.0**63, 2.0**-17, 2.0**-62,
)  # fmt: skip
"""1 + 7 + 16 bits are published. The rest is assumed here: a bias of 63; exponents from -62 to 63,
with the last code for infinities and NaN, as in IEEE formats; rounding to nearest even; no
denormals, so numbers that round to less than 2^-62 become a zero of their sign; overflow to
infinity."""

FP16 = Arithmetic(
    "fp16", "IEEE half precision with denormals: GeForce FX (NV30), 'H'",
    16, _round_fp16, 65504.0, 2.0**-11, 2.0**-25,
)  # fmt: skip
"""GL_NV_fragment_program, section 3.11.4.1. An implementation may round to either neighbour; here
it is the nearest, so numbers from 65520 on become infinity."""

FX12 = Arithmetic(
    "fx12", "12-bit fixed point with 10 bits of fraction, [-2, 2): GeForce FX, 'X'",
    12, _fixed_point(1024, -2048, 2047), 2047 / 1024, 0.0, 2.0**-11,
)  # fmt: skip
"""GL_NV_fragment_program, sections 3.11.4.1 and 3.11.4.2: two's complement; results saturate at
-2048/1024 and 2047/1024; NaN becomes 0. It leaves open whether "to round or truncate"; here results
are rounded to nearest even."""

RC9 = Arithmetic(
    "rc9", "9-bit signed fixed point, [-1, 1] in steps of 1/255: GeForce3 register combiners",
    9, _fixed_point(255, -255, 255), 1.0, 0.0, 1 / 510 + 2.0**-25,
)  # fmt: skip
"""GL_NV_register_combiners clamps to [-1, 1] and says that NV10 computes in 9-bit signed fixed
point, no more. Assumed here: steps of 1/255, so that 8-bit colours are exact; rounding to nearest
even; NaN becomes 0. Each multiple of 1/255 is represented by the nearest float32."""

FF8 = Arithmetic(
    "ff8", "8 bits a colour, [-8, 8] in steps of 1/255 within a stage: fixed function of 2001",
    12, _fixed_point(255, -2040, 2040), 8.0, 0.0, 1 / 510 + 2.0**-22,
)  # fmt: skip
"""What a texture environment clamps to [0, 1] is left with 8 bits, which section 2.13.9 of OpenGL
1.3 asks for where the framebuffer has as many. Assumed here: the steps of rc9; and that a stage
reaches as far as its scale of 4 can take it, as the specification clamps its result alone."""

ARITHMETICS = {row.name: row for row in (FP32, FP24, FP16, FX12, RC9, FF8)}


def find_arithmetic(name: str) -> Arithmetic:
    """The arithmetic of that name; InputError if there is none."""
    if name not in ARITHMETICS:
        raise InputError(f"arithmetic is {name!r}; choose from {', '.join(ARITHMETICS)}")
    return ARITHMETICS[name]
