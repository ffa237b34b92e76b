"""The arithmetic of the chips: the number formats of their registers, one row each.

In a format other than fp32, the attributes, parameters and texels that a program reads are rounded
to it. So is every instruction's result, once, after it has been computed in float64. A texture unit
uses its coordinate as it is: one computed by an instruction is in the format, and one that comes
straight from an attribute is in float32, as interpolated. NV30 worked that way
(GL_NV_fragment_program, section 3.11.4.2: f[TEX0] to f[TEX7] are read in fp32), and so did register
combiners, which follow the texture units; otherwise no fixed-point chip could have addressed a
texture larger than 2 texels. The formats of textures and framebuffers are in plan/textures.py.

Where it is not published how a chip rounds, a format has two rows: to nearest even, and chopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.frozen import frozen

F32 = NDArray[np.float32]


@frozen
class Arithmetic:
    """A number format of registers.

    bits: the size of a number. round: rounds an array of float32 or float64 to numbers of the
    format, the nearest with ties to even or those towards zero, and returns float32. largest: the
    largest finite number. relative_error, absolute_error: |round(x) - x| ≤ relative_error·|x| +
    absolute_error for all |x| ≤ largest. rounds: whether results must be rounded, that is, the
    format is not the host's float32.
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


def _floating(
    digits: int, least: int, overflow: float, *, denormals: bool, whole: np.ufunc = np.rint
) -> Callable[[NDArray[Any]], F32]:
    """A function that rounds to so many significant bits, by `whole` to whole units of the last.

    2**least is the smallest normal number. Without denormals, results below it become a zero of
    their sign; from `overflow` on, they become infinite.
    """

    def rounded(values: NDArray[Any]) -> F32:
        wide = values.astype(np.float64)
        smallest = least + 1 if denormals else least - digits  # of what may not become 0
        unit = np.ldexp(1.0, np.maximum(np.frexp(wide)[1], smallest) - digits)
        result = whole(wide / unit) * unit
        if not denormals:
            result = np.where(np.abs(result) < 2.0**least, np.copysign(0.0, wide), result)
        result = np.where(np.abs(result) >= overflow, np.copysign(np.inf, wide), result)
        return np.asarray(result, np.float32)

    return rounded


def _round_fp16(values: NDArray[Any]) -> F32:
    return values.astype(np.float16).astype(np.float32)


def _fixed_point(
    steps_per_unit: int, least: int, most: int, whole: Callable[[Any], Any] = np.rint
) -> Callable[[NDArray[Any]], F32]:
    """A function that rounds to k/steps_per_unit for an integer k from `least` to `most`.

    It saturates, turns NaN into 0 and has no -0.
    """

    def rounded(values: NDArray[Any]) -> F32:
        wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=most, neginf=least)
        steps = np.clip(whole(wide * steps_per_unit), least, most) + 0.0
        return np.asarray(steps / steps_per_unit, np.float32)

    return rounded


def _whole_below(steps: Any) -> Any:
    """Chop a number of steps; one just below a whole is that, for its float32 may lie below it."""
    return np.trunc(steps + np.copysign(2.0**-12, steps))


def _chopping(row: Arithmetic, round_: Callable[[NDArray[Any]], F32]) -> Arithmetic:
    """The same format with results chopped: rounded towards zero, by up to twice as much."""
    return replace(
        row,
        name=f"{row.name}-chop",
        summary=f"{row.summary}; results chopped",
        round=round_,
        relative_error=2.0 * row.relative_error,
        absolute_error=2.0 * row.absolute_error,
    )


FP32 = Arithmetic(
    "fp32", "IEEE single precision, every operation rounded",
    32, _round_fp32, float(np.finfo(np.float32).max), 2.0**-24, 2.0**-150, rounds=False,
)  # fmt: skip

FP24 = Arithmetic(
    "fp24", "sign, 7 bits of exponent, 16 of mantissa: Radeon 9700 (R300)",
    24, _floating(17, -62, 2.0**64, denormals=False),
    (2 - 2.0**-16) * 2.0**63, 2.0**-17, 2.0**-62,
)  # fmt: skip
"""1 + 7 + 16 bits are published. Assumed here: a bias of 63; exponents from -62 to 63, with the
last code for infinities and NaN, as in IEEE formats; no denormals; overflow to infinity. ATI did
not publish how the chip rounds. Hillesland & Lastra (GPU Floating-Point Paranoia, 2004) measured
sums that are chopped and products that nearly are, so `fp24-chop` is nearer to it; `fp24` rounds to
nearest even, the best that hardware could do."""

FP24_CHOP = _chopping(FP24, _floating(17, -62, 2.0**64, denormals=False, whole=np.trunc))

FP16 = Arithmetic(
    "fp16", "IEEE half precision with denormals: GeForce FX (NV30), 'H'",
    16, _round_fp16, 65504.0, 2.0**-11, 2.0**-25,
)  # fmt: skip
"""GL_NV_fragment_program, section 3.11.4.1, lets an implementation round to either neighbour. Here
it is the nearest, so numbers from 65520 on become infinity, or the one towards zero."""

FP16_CHOP = _chopping(FP16, _floating(11, -14, 65536.0, denormals=True, whole=np.trunc))

FX12 = Arithmetic(
    "fx12", "12-bit fixed point with 10 bits of fraction, [-2, 2): GeForce FX, 'X'",
    12, _fixed_point(1024, -2048, 2047), 2047 / 1024, 0.0, 2.0**-11,
)  # fmt: skip
"""GL_NV_fragment_program, sections 3.11.4.1 and 3.11.4.2: two's complement; results saturate at
-2048/1024 and 2047/1024; NaN becomes 0. It leaves open whether "to round or truncate"."""

FX12_CHOP = _chopping(FX12, _fixed_point(1024, -2048, 2047, np.trunc))

RC9 = Arithmetic(
    "rc9", "9-bit signed fixed point, [-1, 1] in steps of 1/255: GeForce3 register combiners",
    9, _fixed_point(255, -255, 255), 1.0, 0.0, 1 / 510 + 2.0**-25,
)  # fmt: skip
"""GL_NV_register_combiners clamps to [-1, 1] and says that NV10 computes in 9-bit signed fixed
point, no more. Assumed here: steps of 1/255, so that 8-bit colours are exact; NaN becomes 0. How
results are rounded is not published. Each multiple of 1/255 is represented by the nearest float32.
"""

RC9_CHOP = _chopping(RC9, _fixed_point(255, -255, 255, _whole_below))

FF8 = Arithmetic(
    "ff8", "8 bits a colour, [-8, 8] in steps of 1/255 within a stage: fixed function of 2001",
    12, _fixed_point(255, -2040, 2040), 8.0, 0.0, 1 / 510 + 2.0**-22,
)  # fmt: skip
"""What a texture environment clamps to [0, 1] is left with 8 bits, which section 2.13.9 of OpenGL
1.3 asks for where the framebuffer has as many. Assumed here: the steps of rc9, rounding to nearest
even, and that a stage reaches as far as its scale of 4 can take it, as the specification clamps its
result alone."""

ROWS = (FP32, FP24, FP24_CHOP, FP16, FP16_CHOP, FX12, FX12_CHOP, RC9, RC9_CHOP, FF8)
ARITHMETICS = {row.name: row for row in ROWS}


def find_arithmetic(name: str) -> Arithmetic:
    """The arithmetic of that name; InputError if there is none."""
    if name not in ARITHMETICS:
        raise InputError(f"arithmetic is {name!r}; choose from {', '.join(ARITHMETICS)}")
    return ARITHMETICS[name]
