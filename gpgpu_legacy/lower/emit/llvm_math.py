"""EX2, LG2, POW, SIN and COS of vectors as LLVM instructions.

LLVM has these functions for vectors only if a library of vector functions is linked; otherwise it
calls the C library once per lane, which takes most of such a program's time. Here they are
polynomials on a reduced argument, for all lanes at once. None is off by more than MOST_ULPS units
in the last place.

The polynomials interpolate at Chebyshev's points. LG2's keeps its first coefficient in two parts,
so that results near 0 keep all their digits. POW computes in float64, since its exponent magnifies
the error of the logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_basics import (
    F32,
    F64,
    I1,
    I32,
    I64,
    Emitted,
    element_of,
    intrinsic,
    joined,
    like,
)

MOST_ULPS = 2
"""The largest error of a result in units in the last place; tests check it."""

LARGEST_ANGLE = 32768.0
"""The largest angle that is reduced accurately here; the C library takes larger ones."""

_EXP2 = (0.693147188026228781, 0.240226507605681269, 0.0555035711421907782, 0.00961808255727785149,
         0.00133908633646712344, 0.000154531629451206902)  # fmt: skip
"""(2^f - 1) / f for f from -1/2 to 1/2."""

_LOG2_LEADING = (1.44269502162933349609375, 1.92596299112661747e-8)
_LOG2 = (-0.721347486537844175, 0.480898299282226355, -0.36068503113027607, 0.288556817686769663,
         -0.239871791957603497, 0.204932752393162741, -0.189390594371065812, 0.183549369381163762,
         -0.110707245400248551)  # fmt: skip
"""log2(1 + r) / r for r from √½ - 1 to √2 - 1: a number in two parts, plus r times a polynomial."""

_LOG2_F64 = (1.44269504095823019, -0.721347524894552211, 0.480898311082400193,
             -0.360672845348936007, 0.288541455535977161, -0.24050279825001172,
             0.206071651099141287, -0.179051232033224635, 0.159313005223484452,
             -0.157226529711530479, 0.153452869374545122, -0.0843352104580058538)  # fmt: skip
"""log2(1 + r) / r for POW: one polynomial, right to 33 bits."""

_SIN = (-0.166666666638440495, 0.0083333318703413485, -0.000198400843764227035,
        2.72496200800753295e-6)  # fmt: skip
_COS = (0.0416666646534887929, -0.00138883018675623691, 0.0000245476897724600291)
"""(sin √z / √z - 1) / z, and (cos √z - 1 + z/2) / z², for z up to (π/4)²."""

_QUARTER_TURN = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""π/2 as a sum of float32 numbers."""
_QUARTERS = 0.636619772367581343

_ROOT_HALF = 0x3F3504F3  # the bits of √½ in float32
_ROOT_HALF_F64 = 0x3FE6A09E667F3BCD
_WHOLE = 1.5 * 2.0**52
"""A float64 large enough that sums with it are integers in their low bits."""
_WHOLE_BITS = 0x4338000000000000


def _fma(a: Emitted | float, b: Emitted | float, c: Emitted | float) -> Emitted:
    return intrinsic("fma", a, b, c)


def _polynomial(coefficients: Sequence[float], x: Emitted) -> Emitted:
    """A polynomial in x, whose constant coefficient is the first.

    It is summed by pairs, pairs of pairs and so on (Estrin's scheme), so that few operations depend
    on each other.
    """
    terms: list[Emitted | float] = [*coefficients]
    while len(terms) > 1:
        pairs = [_fma(high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
        x = x * x if len(terms) > 1 else x
    [total] = terms
    assert isinstance(total, Emitted)
    return total


def _bits(x: Emitted) -> Emitted:
    return x.bitcast(like(x.type, I64 if element_of(x.type) == F64 else I32))


def _of_bits(x: Emitted) -> Emitted:
    return x.bitcast(like(x.type, F64 if element_of(x.type) == I64 else F32))


def _exp2(x: Emitted) -> Emitted:
    inside = x.at_least(-151.0).at_most(129.0)  # a NaN becomes -151
    whole = intrinsic("rint", inside)
    rest = inside - whole
    power = _fma(_polynomial(_EXP2, rest), rest, 1.0)
    # Half of the exponent at a time, so that a denormal is rounded once, by the second product.
    number = whole.fptosi(like(x.type, I32))
    half = number >> 1
    for part in (half, number - half):
        power *= _of_bits((part + 127) << 23)
    return x.compare("fcmp_unordered", "uno", x).choose(x, power)


def _log2(x: Emitted) -> Emitted:
    small = x < 2.0**-126
    bits = _bits(small.choose(x * 2.0**25, x))
    exponent = (bits - _ROOT_HALF) >> 23
    mantissa = _of_bits(bits - (exponent << 23))
    rest = mantissa - 1.0
    leading, second = _LOG2_LEADING
    tail = _fma(_polynomial(_LOG2, rest), rest, second)
    fraction = _fma(rest, leading, rest * tail)
    offset = small.choose(-25.0, x.number(0.0))
    logarithm = exponent.sitofp(x.type) + offset + fraction
    logarithm = (x == inf).choose(inf, logarithm)
    edge = (x == 0.0).choose(-inf, x.number(nan))
    return (x > 0.0).choose(logarithm, edge)


def _power(base: Emitted, exponent: Emitted) -> Emitted:
    """The power of a base that is not negative."""
    doubles, bias = like(base.type, F64), 1023 << 52
    bits = _bits(base.fpext(doubles))
    biased = (bits + (bias - _ROOT_HALF_F64)).lshr(bits.number(52))
    rest = _of_bits(bits + bias - (biased << 52)) - 1.0
    whole = _of_bits(biased + _WHOLE_BITS) - (_WHOLE + 1023.0)
    logarithm = _fma(_polynomial(_LOG2_F64, rest), rest, whole)
    logarithm = (base == 0.0).choose(-inf, logarithm)
    logarithm = (base == inf).choose(inf, logarithm)
    product = (logarithm * exponent.fpext(doubles)).at_least(-151.0).at_most(129.0)
    turns = product + _WHOLE
    rest = product - (turns - _WHOLE)
    power = _fma(_polynomial(_EXP2, rest), rest, 1.0)
    scale = (_bits(turns) << 52) + bias
    result = (power * _of_bits(scale)).fptrunc(base.type)
    result = base.compare("fcmp_unordered", "uno", exponent).choose(nan, result)
    return ((base == 1.0) | (exponent == 0.0)).choose(1.0, result)


def _turned(ahead: int, name: str) -> Callable[[Emitted], Emitted]:
    """The function for the sine that many quarter turns ahead. name: its name in LLVM."""

    def function(x: Emitted) -> Emitted:
        angle = intrinsic("fabs", x)
        near = angle <= LARGEST_ANGLE
        rest = angle = near.choose(angle, 0.0)
        turns = intrinsic("rint", angle * _QUARTERS)
        back = turns.fneg()
        for part in _QUARTER_TURN:
            rest = _fma(back, part, rest)
        square = rest * rest
        sine = _fma(rest * square, _polynomial(_SIN, square), rest)
        cosine = _fma(square, -0.5, 1.0)
        cosine = _fma(square * square, _polynomial(_COS, square), cosine)
        quarter = turns.fptosi(like(x.type, I32)) + ahead
        is_odd = quarter.trunc(like(x.type, I1))
        sign = (quarter & 2) << 30
        if not ahead:  # a sine has the angle's sign
            sign = sign ^ (_bits(x) & -(1 << 31))
        result = _of_bits(_bits(is_odd.choose(cosine, sine)) ^ sign)
        b, all_near = x.builder, near.bitcast(ir.IntType(near.type.count)) == -1
        before, distant, after = b.block, b.append_basic_block(), b.append_basic_block()
        b.cbranch(all_near.value, after, distant)
        b.position_at_end(distant)
        other = near.choose(result, intrinsic(name, x))
        b.branch(after)
        b.position_at_end(after)
        return joined((result, before), (other, distant))

    return function


VECTOR_FUNCTIONS: dict[str, Callable[..., Emitted]] = {
    "exp2": _exp2,
    "log2": _log2,
    "pow": _power,
    "sin": _turned(0, "sin"),
    "cos": _turned(1, "cos"),
}
"""Functions of vectors, by LLVM's names, which emit their instructions in place.

The processor should have fused multiply-adds: without them, each becomes a call.
"""
