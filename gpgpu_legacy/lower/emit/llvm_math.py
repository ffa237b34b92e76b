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
from typing import Any

from llvmlite import ir

MOST_ULPS = 2
"""The largest error of a result in units in the last place; tests check it."""

LARGEST_ANGLE = 32768.0
"""The largest angle whose turns are subtracted accurately; the C library computes larger ones."""

_F32, _F64, _I32, _I64 = ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(64)

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


class _Vectors:
    """Instructions on vectors; a number becomes a vector with that number in all lanes."""

    def __init__(self, module: ir.Module, builder: ir.IRBuilder, lanes: int) -> None:
        self.module, self.builder, self.lanes = module, builder, lanes

    def kind(self, element: Any) -> Any:
        return ir.VectorType(element, self.lanes)

    def number(self, value: float, element: Any = _F32) -> Any:
        return ir.Constant(self.kind(element), [ir.Constant(element, value)] * self.lanes)

    def like(self, value: float, other: Any) -> Any:
        return self.number(value, other.type.element)

    def call(self, name: str, *values: Any) -> Any:
        """A function of LLVM's own, such as `fma`."""
        kind = values[0].type
        element = "f64" if kind.element == _F64 else "f32"
        function = self.module.declare_intrinsic(
            f"llvm.{name}.v{self.lanes}{element}",
            fnty=ir.FunctionType(kind, [kind] * len(values)),
        )
        return self.builder.call(function, values)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.call("fma", a, b, c)

    def polynomial(self, coefficients: Sequence[float], x: Any) -> Any:
        """A polynomial in x, the constant coefficient first, by pairs, pairs of pairs and so on.

        So only few operations depend on each other.
        """
        terms = [self.like(coefficient, x) for coefficient in coefficients]
        while len(terms) > 1:
            pairs = [
                self.fma(high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)
            ]
            terms = [*pairs, *terms[2 * len(pairs) :]]
            x = self.builder.fmul(x, x) if len(terms) > 1 else x
        return terms[0]

    def compare(self, sign: str, a: Any, b: float) -> Any:
        """False if a is NaN."""
        return self.builder.fcmp_ordered(sign, a, self.like(b, a))

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        a, b = (self.like(n, o) if isinstance(n, float) else n for n, o in ((a, b), (b, a)))
        return self.builder.select(condition, a, b)

    def within(self, x: Any, low: float, high: float) -> Any:
        """Clamped; a NaN to the lower end."""
        x = self.choose(self.compare(">", x, low), x, low)
        return self.choose(self.compare("<", x, high), x, high)

    def bits(self, x: Any) -> Any:
        return self.builder.bitcast(x, self.kind(_I64 if x.type.element == _F64 else _I32))

    def of_bits(self, x: Any) -> Any:
        return self.builder.bitcast(x, self.kind(_F64 if x.type.element == _I64 else _F32))

    def unordered(self, a: Any, b: Any) -> Any:
        return self.builder.fcmp_unordered("uno", a, b)


_Function = Callable[..., Any]


def _exp2(v: _Vectors, x: Any) -> Any:
    b = v.builder
    inside = v.within(x, -151.0, 129.0)
    whole = v.call("rint", inside)
    rest = b.fsub(inside, whole)
    power = v.fma(v.polynomial(_EXP2, rest), rest, v.number(1.0))
    # Half of the exponent at a time: the second product rounds what is a denormal, once.
    number = b.fptosi(whole, v.kind(_I32))
    half = b.ashr(number, v.number(1, _I32))
    for part in (half, b.sub(number, half)):
        biased = b.add(part, v.number(127, _I32))
        power = b.fmul(power, v.of_bits(b.shl(biased, v.number(23, _I32))))
    return v.choose(v.unordered(x, x), x, power)


def _log2(v: _Vectors, x: Any) -> Any:
    b = v.builder
    small = v.compare("<", x, 2.0**-126)
    bits = v.bits(v.choose(small, b.fmul(x, v.number(2.0**25)), x))
    above = b.sub(bits, v.number(_ROOT_HALF, _I32))
    exponent = b.ashr(above, v.number(23, _I32))
    mantissa = v.of_bits(b.sub(bits, b.shl(exponent, v.number(23, _I32))))
    rest = b.fsub(mantissa, v.number(1.0))
    leading, second = (v.number(part) for part in _LOG2_LEADING)
    tail = v.fma(v.polynomial(_LOG2, rest), rest, second)
    fraction = v.fma(rest, leading, b.fmul(rest, tail))
    offset = v.choose(small, v.number(-25.0), 0.0)
    logarithm = b.fadd(b.fadd(b.sitofp(exponent, v.kind(_F32)), offset), fraction)
    infinity = float("inf")
    logarithm = v.choose(v.compare("==", x, infinity), v.number(infinity), logarithm)
    edge = v.choose(v.compare("==", x, 0.0), v.number(-infinity), float("nan"))
    return v.choose(v.compare(">", x, 0.0), logarithm, edge)


def _power(v: _Vectors, base: Any, exponent: Any) -> Any:
    """The power of a base that is not negative."""
    b, doubles, longs = v.builder, v.kind(_F64), v.kind(_I64)
    bits = b.bitcast(b.fpext(base, doubles), longs)
    shift, bias = v.number(52, _I64), 1023 << 52
    above = b.add(bits, v.number(bias - _ROOT_HALF_F64, _I64))
    biased = b.lshr(above, shift)
    mantissa = v.of_bits(b.sub(b.add(bits, v.number(bias, _I64)), b.shl(biased, shift)))
    rest = b.fsub(mantissa, v.number(1.0, _F64))
    whole = v.of_bits(b.add(biased, v.number(_WHOLE_BITS, _I64)))
    whole = b.fsub(whole, v.number(_WHOLE + 1023.0, _F64))
    logarithm = v.fma(v.polynomial(_LOG2_F64, rest), rest, whole)
    infinity = float("inf")
    logarithm = v.choose(v.compare("==", base, 0.0), v.number(-infinity, _F64), logarithm)
    logarithm = v.choose(v.compare("==", base, infinity), v.number(infinity, _F64), logarithm)
    product = v.within(b.fmul(logarithm, b.fpext(exponent, doubles)), -151.0, 129.0)
    turns = b.fadd(product, v.number(_WHOLE, _F64))
    rest = b.fsub(product, b.fsub(turns, v.number(_WHOLE, _F64)))
    power = v.fma(v.polynomial(_EXP2, rest), rest, v.number(1.0, _F64))
    scale = b.add(b.shl(v.bits(turns), shift), v.number(bias, _I64))
    result = b.fptrunc(b.fmul(power, v.of_bits(scale)), v.kind(_F32))
    result = v.choose(v.unordered(base, exponent), v.number(float("nan")), result)
    one = b.or_(v.compare("==", base, 1.0), v.compare("==", exponent, 0.0))
    return v.choose(one, v.number(1.0), result)


def _turned(ahead: int, name: str) -> _Function:
    """The sine, or the sine that many quarter turns ahead. name: of LLVM's function."""

    def function(v: _Vectors, x: Any) -> Any:
        b = v.builder
        angle = v.call("fabs", x)
        near = v.compare("<=", angle, LARGEST_ANGLE)
        angle = v.choose(near, angle, v.number(0.0))
        turns = v.call("rint", b.fmul(angle, v.number(_QUARTERS)))
        rest, back = angle, b.fneg(turns)
        for part in _QUARTER_TURN:
            rest = v.fma(back, v.number(part), rest)
        square = b.fmul(rest, rest)
        sine = v.fma(b.fmul(rest, square), v.polynomial(_SIN, square), rest)
        cosine = v.fma(square, v.number(-0.5), v.number(1.0))
        cosine = v.fma(b.fmul(square, square), v.polynomial(_COS, square), cosine)
        quarter = b.add(b.fptosi(turns, v.kind(_I32)), v.number(ahead, _I32))
        is_odd = b.trunc(quarter, v.kind(ir.IntType(1)))
        sign = b.shl(b.and_(quarter, v.number(2, _I32)), v.number(30, _I32))
        if not ahead:  # a sine has the angle's sign
            sign = b.xor(sign, b.and_(v.bits(x), v.number(-(1 << 31), _I32)))
        result = v.of_bits(b.xor(v.bits(b.select(is_odd, cosine, sine)), sign))
        return _where_near(v, near, result, lambda: v.call(name, x))

    return function


def _where_near(v: _Vectors, near: Any, result: Any, far: _Function) -> Any:
    """The result, or that of `far` if not all lanes are near."""
    b = v.builder
    lanes = ir.IntType(v.lanes)
    all_near = b.icmp_unsigned("==", b.bitcast(near, lanes), ir.Constant(lanes, -1))
    before, distant, after = b.block, b.append_basic_block(), b.append_basic_block()
    b.cbranch(all_near, after, distant)
    b.position_at_end(distant)
    other = b.select(near, result, far())
    b.branch(after)
    b.position_at_end(after)
    joined = b.phi(result.type)
    joined.add_incoming(result, before)
    joined.add_incoming(other, distant)
    return joined


VECTOR_FUNCTIONS: dict[str, _Function] = {
    "exp2": _exp2,
    "log2": _log2,
    "pow": _power,
    "sin": _turned(0, "sin"),
    "cos": _turned(1, "cos"),
}


def vector_function(
    name: str, module: ir.Module, builder: ir.IRBuilder, values: Sequence[Any]
) -> Any:
    """A function of vectors, by LLVM's name; emitted at the builder's position.

    The processor should have fused multiply-adds: without, each becomes a call.
    """
    return VECTOR_FUNCTIONS[name](_Vectors(module, builder, values[0].type.count), *values)
