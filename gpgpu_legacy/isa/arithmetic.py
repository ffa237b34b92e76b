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

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.opcodes import Symbol

F32 = NDArray[np.float32]


@frozen
class Floating:
    """Floating point: `digits` significant bits; the smallest normal number is 2**least.

    Numbers from `overflow` on become infinite. Without denormals, those below the smallest normal
    number become a zero of their sign.
    """

    digits: int
    least: int
    overflow: float
    denormals: bool = True

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return self.overflow * (1.0 - 2.0**-self.digits)

    @property
    def errors(self) -> tuple[float, float]:
        """The largest errors of rounding to nearest: relative, and absolute."""
        smallest = self.least - self.digits if self.denormals else self.least
        return 2.0**-self.digits, 2.0**smallest

    def round(self, values: NDArray[Any], whole: Callable[[Any], Any]) -> NDArray[Any]:
        """Round to whole units of the last digit. whole: np.rint or np.trunc."""
        smallest = self.least + 1 if self.denormals else self.least - self.digits  # may not be 0
        unit = np.ldexp(1.0, np.maximum(np.frexp(values)[1], smallest) - self.digits)
        result = whole(values / unit) * unit
        if not self.denormals:
            result = np.where(np.abs(result) < 2.0**self.least, np.copysign(0.0, values), result)
        infinite = np.copysign(np.inf, values)
        rounded: NDArray[Any] = np.where(np.abs(result) >= self.overflow, infinite, result)
        return rounded


@frozen
class Fixed:
    """Fixed point: k/steps for an integer k from `least` to `most`.

    It saturates, turns NaN into 0 and has no -0.
    """

    steps: int
    least: int
    most: int

    @property
    def is_binary(self) -> bool:
        """Whether float32 holds each number exactly. If not, the nearest float32 stands for it."""
        return self.steps & (self.steps - 1) == 0

    @property
    def largest(self) -> float:
        """The largest number."""
        return self.most / self.steps

    @property
    def errors(self) -> tuple[float, float]:
        """The largest errors of rounding to nearest: relative, and absolute."""
        return 0.0, 0.5 / self.steps + (0.0 if self.is_binary else self.largest * 2.0**-25)

    def round(self, values: NDArray[Any], whole: Callable[[Any], Any]) -> NDArray[Any]:
        """Round to whole steps. whole: np.rint or np.trunc.

        When chopped, a value just below a whole step becomes that step: its float32 may lie there.
        """
        steps = np.nan_to_num(values, nan=0.0, posinf=self.most, neginf=self.least) * self.steps
        if whole is np.trunc and not self.is_binary:
            steps = steps + np.copysign(JUST_BELOW, steps)
        rounded: NDArray[Any] = np.clip(whole(steps), self.least, self.most) + 0.0
        return rounded / self.steps


JUST_BELOW = 2.0**-12
"""How much of a step a number may lie below a whole number of steps and still be chopped to it."""


@frozen
class Arithmetic:
    """A number format of registers.

    bits: the size of a number. chops: whether results are rounded towards zero, rather than to the
    nearest with ties to even.
    """

    name: str
    summary: str
    bits: int
    format: Floating | Fixed
    chops: bool = False

    @property
    def rounds(self) -> bool:
        """Whether results must be rounded: the format is not the host's float32."""
        return self.format != _SINGLE

    @property
    def errors(self) -> tuple[float, float]:
        """(relative, absolute): |round(x) - x| ≤ relative·|x| + absolute for all |x| ≤ largest."""
        relative, absolute = self.format.errors
        return (2.0 * relative, 2.0 * absolute) if self.chops else (relative, absolute)

    def round(self, values: NDArray[Any]) -> F32:
        """An array of float32 or float64, rounded to numbers of the format: float32."""
        if not self.rounds:
            return values.astype(np.float32, copy=False)
        if self.format == HALF and not self.chops:
            return values.astype(np.float16).astype(np.float32)
        whole = np.trunc if self.chops else np.rint
        return self.format.round(values.astype(np.float64), whole).astype(np.float32)

    def wide(self, values: F32) -> Any:
        """Operands in the type that instructions compute in: float64 if results are rounded."""
        return values.astype(np.float64) if self.rounds else values


def _chopping(row: Arithmetic) -> Arithmetic:
    """The same format with results chopped."""
    summary = f"{row.summary}; results chopped"
    return replace(row, name=f"{row.name}-chop", summary=summary, chops=True)


_SINGLE = Floating(24, -126, 2.0**128)
HALF = Floating(11, -14, 2.0**16)

FP32 = Arithmetic("fp32", "IEEE single precision, every operation rounded", 32, _SINGLE)

FP24 = Arithmetic(
    "fp24",
    "sign, 7 bits of exponent, 16 of mantissa: Radeon 9700 (R300)",
    24,
    Floating(17, -62, 2.0**64, denormals=False),
)
"""1 + 7 + 16 bits are published. Assumed here: a bias of 63; exponents from -62 to 63, with the
last code for infinities and NaN, as in IEEE formats; no denormals; overflow to infinity. ATI did
not publish how the chip rounds. Hillesland & Lastra (GPU Floating-Point Paranoia, 2004; intervals
as remembered) measured sums that are chopped and products that nearly are, so `fp24-chop` is nearer
to it; `fp24` rounds to nearest even, the best that hardware could do."""

FP16 = Arithmetic("fp16", "IEEE half precision with denormals: GeForce FX (NV30), 'H'", 16, HALF)
"""GL_NV_fragment_program, section 3.11.4.1, lets an implementation round to either neighbour. Here
it is the nearest, so numbers from 65520 on become infinity, or the one towards zero."""

FX12 = Arithmetic(
    "fx12",
    "12-bit fixed point with 10 bits of fraction, [-2, 2): GeForce FX, 'X'",
    12,
    Fixed(1024, -2048, 2047),
)
"""GL_NV_fragment_program, sections 3.11.4.1 and 3.11.4.2: two's complement; results saturate at
-2048/1024 and 2047/1024; NaN becomes 0. It leaves open whether "to round or truncate"."""

RC9 = Arithmetic(
    "rc9",
    "9-bit signed fixed point, [-1, 1] in steps of 1/255: GeForce3 register combiners",
    9,
    Fixed(255, -255, 255),
)
"""GL_NV_register_combiners clamps to [-1, 1] and says that NV10 computes in 9-bit signed fixed
point, no more. Assumed here: steps of 1/255, so that 8-bit colours are exact; NaN becomes 0. How
results are rounded is not published. Each multiple of 1/255 is represented by the nearest float32.
"""

FF8 = Arithmetic(
    "ff8",
    "8 bits a colour, [-8, 8] in steps of 1/255 within a stage: fixed function of 2001",
    12,
    Fixed(255, -2040, 2040),
)
"""A texture environment clamps its results to [0, 1] and keeps 8 bits, as section 2.13.9 of OpenGL
1.3 asks if the framebuffer has 8. Assumed here: the steps of rc9; rounding to nearest even; within
a stage, the range that a scale of 4 can reach, since the specification clamps only the stage's
result."""

_BOTH = (row for one in (FP24, FP16, FX12, RC9) for row in (one, _chopping(one)))
ARITHMETICS = {row.name: row for row in (FP32, *_BOTH, FF8)}


def find_arithmetic(name: str) -> Arithmetic:
    """The arithmetic of that name; InputError if there is none."""
    if name not in ARITHMETICS:
        raise InputError(f"arithmetic is {name!r}; choose from {', '.join(ARITHMETICS)}")
    return ARITHMETICS[name]


def halved(value: Any) -> Any:
    """The nearest half-precision number, denormals included; infinity from 65520 on."""
    if isinstance(value, Symbol):
        return value.operate("half", (value,))
    with np.errstate(over="ignore"):
        return FP16.round(value)
