"""Number formats against an independent definition: the nearest of all that there are, exactly."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import copysign, isinf, isnan

import numpy as np
import pytest
from drawing import assert_same_bits
from hypothesis import example, given
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import (
    ARITHMETICS,
    FF8,
    FP16,
    FP24,
    FP32,
    FX12,
    RC9,
    Arithmetic,
    find_arithmetic,
)
from gpgpu_legacy.lower.emit.glsl_functions import quantize
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl.core import compute_context
from gpgpu_legacy.runtime.machine import Machine

NAN, INF = float("nan"), float("inf")
NARROW = [FP24, FP16, FX12, RC9, FF8]
EVERY = pytest.mark.parametrize("row", ARITHMETICS.values(), ids=lambda row: row.name)
EVERY_NARROW = pytest.mark.parametrize("row", NARROW, ids=lambda row: row.name)
EVERY_CHOP = pytest.mark.parametrize("row", NARROW[:-1], ids=lambda row: row.name)

Number = tuple[Fraction, int]
"""A representable number, and whether its code is odd: the order of the codes is theirs."""


def floating(exponents: range, mantissa_bits: int, *, denormals: bool) -> Iterator[Number]:
    """All that are not negative, by sign, exponent and mantissa."""
    if denormals:
        for code in range(2**mantissa_bits):
            yield Fraction(code, 2**mantissa_bits) * Fraction(2) ** exponents[0], code % 2
    else:
        yield Fraction(0), 0
    for exponent in exponents:
        for code in range(2**mantissa_bits):
            yield (1 + Fraction(code, 2**mantissa_bits)) * Fraction(2) ** exponent, code % 2


def fixed(least: int, most: int, steps: int) -> list[Number]:
    return [(Fraction(code, steps), code % 2) for code in range(least, most + 1)]


@cache
def numbers(row: Arithmetic) -> list[Number]:
    """All numbers of a small format: of fp16 those that are not negative."""
    if row is FP16:
        return list(floating(range(-14, 16), 10, denormals=True))
    units = 8 if row is FF8 else 1
    return fixed(-2048, 2047, 1024) if row is FX12 else fixed(-255 * units, 255 * units, 255)


def nearest(ordered: list[Number], value: Fraction) -> Fraction:
    """The nearest, of two the one with the even code; the ends beyond them."""
    place = bisect_left(ordered, value, key=lambda number: number[0])
    if place in (0, len(ordered)):
        return ordered[min(place, len(ordered) - 1)][0]
    (low, low_odd), (high, _) = ordered[place - 1], ordered[place]
    if value - low == high - value:
        return high if low_odd else low
    return low if value - low < high - value else high


def neighbours_in_fp24(size: Fraction) -> list[Number]:
    """The fp24 numbers around a magnitude, of 17 significant bits."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (exponent - 16)
    code = int(size / step)
    return [(code * step, code % 2), ((code + 1) * step, (code + 1) % 2)]


def expected(row: Arithmetic, value: float) -> float:
    """What `value` rounds to, in exact arithmetic; of rc9 and ff8 255ths, before float32."""
    if row in (FX12, RC9, FF8):
        least, most = numbers(row)[0][0], numbers(row)[-1][0]
        if isnan(value):
            return 0.0
        result = nearest(numbers(row), Fraction(min(max(value, -9.0), 9.0)))
        return float(np.float32(float(min(max(result, least), most))))
    if isnan(value) or isinf(value):
        return value
    size = abs(Fraction(value))
    if row is FP16:
        over = size >= 65520  # half a step above the largest: to the even code, infinity
        rounded = INF if over else float(nearest(numbers(row), size))
    elif size == 0:
        rounded = 0.0
    else:
        exact = nearest(neighbours_in_fp24(size), size)
        small, over = exact < Fraction(2) ** -62, exact >= Fraction(2) ** 64
        rounded = 0.0 if small else INF if over else float(exact)
    return copysign(rounded, value)


def rounded(row: Arithmetic, *values: float) -> list[float]:
    with np.errstate(all="ignore"):
        result = row.round(np.array([values], np.float64))
    assert result.dtype == np.float32
    return [float(v) for v in result[0]]


def same(result: float, wanted: float) -> bool:
    return repr(result) == repr(wanted)  # tells -0.0 from 0.0; every NaN is the same


EDGES = [
    0.0, -0.0, NAN, INF, -INF, 65504.0, 65519.99, 65520.0, -65536.0, 2.0**-24, 2.0**-25,
    1.5 * 2.0**-24, 2.0**-14, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-17, 1 + 3 * 2.0**-17,
    2.0**-62, 2.0**-62 * (1 - 2.0**-18), 2.0**-62 * (1 - 2.0**-17), 2.0**64 * (1 - 2.0**-18),
    2.0**64 * (1 - 2.0**-17), 1.9999, 1.9990234375, -2.0, -2.1, 2.0**-11, 3 * 2.0**-11, 0.5, -0.5,
    1 / 510, 1.0, -1.0, 1e-300, 1e300, -(2.0**-11), -1 / 511,
]  # fmt: skip


@EVERY_NARROW
def test_edges_round_to_the_nearest_number_of_the_format(row: Arithmetic) -> None:
    for value, result in zip(EDGES, rounded(row, *EDGES), strict=True):
        assert same(result, expected(row, value)), value


VALUES = (
    st.floats(width=32)
    | st.floats(-3.0, 3.0, width=32)
    | st.floats(-9.0, 9.0, width=32)
    | st.floats(-70000.0, 70000.0)
    | st.integers(-4200, 4200).map(lambda code: code / 510)
    | st.integers(-5000, 5000).map(lambda code: code / 2048)
)


def chopped(row: Arithmetic, value: float) -> float:
    """The number of the format that is next to `value` towards zero, or `value` itself."""
    if isnan(value) or isinf(value):
        return expected(row, value)
    size = abs(Fraction(value))
    if row is FP24:
        over, below = size >= 2**64, neighbours_in_fp24(size)[0][0] if size else Fraction(0)
        found = INF if over else float(below) if below >= Fraction(2) ** -62 else 0.0
        return copysign(found, value)
    ordered = [number for number, _ in numbers(row)]
    if row is FP16 and size >= 65536:
        return copysign(INF, value)
    if row is FP16:
        return copysign(float(ordered[bisect_right(ordered, size) - 1]), value)
    inside = min(max(Fraction(value), ordered[0]), ordered[-1])
    below = ordered[
        bisect_right(ordered, inside) - 1 if value > 0 else bisect_left(ordered, inside)
    ]
    return float(np.float32(float(below)))


@EVERY_CHOP
@given(st.lists(VALUES, min_size=1, max_size=40))
@example(EDGES)
def test_a_chopped_format_has_the_number_towards_zero(row: Arithmetic, values: list[float]) -> None:
    """Of rc9, whose numbers are floats beside multiples of 1/255, values that are not as near."""
    if row is RC9:
        values = [v for v in values if isnan(v) or isinf(v) or abs(v * 255 - round(v * 255)) > 1e-3]
    chop = find_arithmetic(f"{row.name}-chop")
    for value, result in zip(values, rounded(chop, *values) if values else [], strict=True):
        assert same(result, chopped(row, value)), value


@EVERY
@given(st.lists(VALUES, min_size=1, max_size=40))
def test_rounding_errs_by_no_more_than_the_row_says(row: Arithmetic, values: list[float]) -> None:
    inside = [v for v in values if not isnan(v) and abs(v) <= row.format.largest]
    for value, result in zip(inside, rounded(row, *inside), strict=True):
        error = abs(Fraction(result) - Fraction(value))
        relative, absolute = map(Fraction, row.errors)
        bound = relative * abs(Fraction(value)) + absolute
        assert error <= bound


def test_fp32_is_left_as_it_is_and_doubles_are_rounded() -> None:
    assert rounded(FP32, 2.0**-149, 0.1, INF, -0.0) == [2.0**-149, float(np.float32(0.1)), INF, 0]
    values = np.ones((2, 2), np.float32)
    assert FP32.round(values) is values
    assert not FP32.rounds
    assert all(row.rounds for row in NARROW)


SHADER = """\
#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
%s
void main() { values[gl_GlobalInvocationID.x] = quantize(values[gl_GlobalInvocationID.x]); }
"""


@pytest.mark.gl
@pytest.mark.parametrize("row", [r for r in ARITHMETICS.values() if r.rounds], ids=lambda r: r.name)
def test_the_glsl_text_rounds_to_the_same_bits(
    row: Arithmetic, ready: Callable[[str], Executor]
) -> None:
    ready("gl-compute")
    shared, rng = compute_context(), np.random.default_rng(3)
    any_bits = rng.integers(0, 2**32, 40000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    scales = 2.0 ** rng.uniform(-70, 70, 20000) * rng.choice((-1, 1), 20000)
    ties = np.arange(-4200, 4200) / 510, np.arange(-8192, 8192) / 2048
    above = np.nextafter(np.float32(ties[0]), np.float32(9))
    near = np.concatenate([rng.uniform(-9, 9, 40000), *ties, above, scales])
    edges = np.array([v for v in EDGES if abs(v) < 1e30 or isinf(v) or isnan(v)], np.float32)
    values = np.concatenate([any_bits, edges, near.astype(np.float32)])
    values = np.resize(values, -(-len(values) // 64) * 64)
    with shared.current() as context:
        buffer = context.buffer(values.tobytes())
        buffer.bind_to_storage_buffer(0)
        shader = context.compute_shader(SHADER % quantize(row).definition({"precise": "precise "}))
        shader.run(len(values) // 64)
        result = np.frombuffer(buffer.read(), np.float32)
        buffer.release()
        shader.release()
    with np.errstate(all="ignore"):
        assert_same_bits(result, row.round(values))


def test_kernels_are_float32_on_every_executor() -> None:
    plan = find_product("opengl-compute-tiled").plan(n=2)
    operands = {m.name: np.ones((m.rows, m.columns), np.float32) for m in plan.operands}
    with pytest.raises(PlanError, match="a kernel computes in fp32, not in fp16"):
        find_executor("numpy").run(plan, operands, Machine(arithmetic=FP16))
