"""EX2, LG2, POW, SIN and COS of vectors, against float64: their errors and their special values.

Each function is compiled alone, for vectors as long as AVX-512's, AVX2's and SSE's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from gpgpu_legacy.lower.emit.llvm_basics import Emitted
from gpgpu_legacy.lower.emit.llvm_math import LARGEST_ANGLE, MOST_ULPS, VECTOR_FUNCTIONS

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

COUNT = 1 << 16
NAN, INF = float("nan"), float("inf")
ODD = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, INF, -INF, NAN, 1e-45, -1e-45, 1e-40, 2.0**-126, 3.4e38,
     -3.4e38, 127.99999, 128.0, -126.5, -149.0, -149.5, -150.0, -151.0, LARGEST_ANGLE,
     LARGEST_ANGLE + 1, -1e10, 0.99999994, 1.0000001],
    np.float32,
)  # fmt: skip

EXACT: dict[str, Callable[..., F64]] = {
    "exp2": np.exp2, "log2": np.log2, "pow": np.power, "sin": np.sin, "cos": np.cos,
}  # fmt: skip


@lru_cache
def host() -> tuple[str, str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    if not (features.get("fma") or not features.get("sse2")):
        pytest.skip("the processor has no fused multiply-add")
    return llvm.get_host_cpu_name(), features.flatten()


@lru_cache
def compiled(name: str, lanes: int) -> tuple[Callable[..., None], object]:
    """The function on arrays of whole vectors: (count, result, operand, …)."""
    cpu, features = host()
    count, floats, vector = ir.IntType(64), ir.FloatType(), ir.VectorType(ir.FloatType(), lanes)
    operands = 2 if name == "pow" else 1
    arrays = [floats.as_pointer()] * (1 + operands)
    module = ir.Module("one function")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [count, *arrays]), "apply")
    builder = ir.IRBuilder(function.append_basic_block())
    before, body = builder.block, builder.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(count)
    places = [
        builder.bitcast(builder.gep(array, [at]), vector.as_pointer())
        for array in function.args[1:]
    ]
    values = [Emitted(builder, builder.load(place, align=4)) for place in places[1:]]
    builder.store(VECTOR_FUNCTIONS[name](*values).value, places[0], align=4)
    following = builder.add(at, ir.Constant(count, lanes))
    at.add_incoming(ir.Constant(count, 0), before)
    at.add_incoming(following, builder.block)
    after = function.append_basic_block()
    builder.cbranch(builder.icmp_signed("<", following, function.args[0]), body, after)
    builder.position_at_end(after)
    builder.ret_void()
    target = llvm.Target.from_default_triple().create_target_machine(cpu, features, opt=3)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), target)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (1 + operands))
    return kind(engine.get_function_address("apply")), engine


def computed(name: str, lanes: int, *operands: F32) -> F32:
    function, _ = compiled(name, lanes)
    result = np.empty_like(operands[0])
    function(result.size, result.ctypes.data, *(values.ctypes.data for values in operands))
    return result


def uniform(low: float, high: float, seed: int = 0) -> F32:
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(np.float32)


def any_bits() -> F32:
    bits = np.random.default_rng(1).integers(0, 1 << 32, COUNT, np.uint64).astype(np.uint32)
    bits[: ODD.size] = ODD.view(np.uint32)
    return bits.view(np.float32)


def near_quarter_turns() -> F32:
    turns = np.arange(-COUNT // 2, COUNT // 2) % 20000
    return (turns * (np.pi / 2)).astype(np.float32)


def magnitudes() -> F32:
    return np.exp2(uniform(-149, 128).astype(np.float64)).astype(np.float32)


def exponents_for(bases: F32) -> F32:
    """Powers of these bases are spread over all of float32's range."""
    with np.errstate(divide="ignore"):
        return (uniform(-152, 130, 2) / np.log2(bases.astype(np.float64))).astype(np.float32)


def pairs_of_odd() -> tuple[F32, F32]:
    bases, exponents = np.meshgrid(np.abs(ODD), ODD)
    return np.resize(bases, 1 << 10), np.resize(exponents, 1 << 10)


ANGLES = [uniform(-4, 4), uniform(-LARGEST_ANGLE, LARGEST_ANGLE), uniform(-1e6, 1e6),
          near_quarter_turns(), any_bits()]  # fmt: skip
CASES: list[tuple[str, tuple[F32, ...]]] = [
    *(("exp2", (values,)) for values in (uniform(-1, 1), uniform(-155, 130), any_bits())),
    *(("log2", (values,)) for values in (uniform(0.5, 2), magnitudes(), any_bits())),
    *(("log2", (1 + uniform(-1e-3, 1e-3),)) for _ in range(1)),
    *((name, (values,)) for name in ("sin", "cos") for values in ANGLES),
    ("pow", (magnitudes(), exponents_for(magnitudes()))),
    ("pow", (uniform(0, 4), uniform(-20, 20, 3))),
    ("pow", (1 + uniform(-1e-5, 1e-5), uniform(-1e7, 1e7, 3))),
    ("pow", pairs_of_odd()),
]


@pytest.mark.parametrize("lanes", [16, 8, 4])
@pytest.mark.parametrize(("name", "operands"), CASES)
def test_a_function_is_right_to_its_last_places(
    name: str, operands: tuple[F32, ...], lanes: int
) -> None:
    found = computed(name, lanes, *operands)
    with np.errstate(all="ignore"):
        exact = EXACT[name](*(values.astype(np.float64) for values in operands))
        nearest = exact.astype(np.float32)
        unit = np.spacing(np.abs(nearest)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - exact) / unit
    special = ~np.isfinite(nearest)
    np.testing.assert_array_equal(found[special], nearest[special])
    assert error[~special].max(initial=0.0) <= MOST_ULPS
    assert np.isfinite(found[~special]).all()


@pytest.mark.parametrize("lanes", [16, 8, 4])
def test_whole_exponents_give_powers_of_2(lanes: int) -> None:
    whole = np.arange(-160, 144, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        powers = np.ldexp(np.float32(1), whole.astype(np.int32))
    assert computed("exp2", lanes, whole).tolist() == powers.tolist()
    normal = np.arange(-144, 128, dtype=np.float32)
    of_two = np.ldexp(np.float32(1), normal.astype(np.int32))
    assert computed("log2", lanes, of_two).tolist() == normal.tolist()


@pytest.mark.parametrize("lanes", [16, 8, 4])
def test_a_sine_has_its_angle_s_sign(lanes: int) -> None:
    zeros = np.resize(np.array([0.0, -0.0], np.float32), 16)
    assert np.signbit(computed("sin", lanes, zeros)).tolist() == [False, True] * 8
