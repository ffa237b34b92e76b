from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from products import fragment_methods, ways

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.studies.precision import (
    Accuracy,
    Data,
    error_bound,
    format_of,
    reaches_texels,
)

LARSON = find_product("larson-mcallister")
SINGLE = find_product("hall-carr-hart-single")
FLOATS = {"fp32": 2.0**-24, "fp24": 2.0**-17, "fp16": 2.0**-11}  # half a unit in the last place
HALF_STEPS = {"fx12": 2.0**-11, "rc9": 1 / 510, "ff8": 1 / 510}


def bound_of(
    a: Any, b: Any, arithmetic: str, texture_format: str | None = None, method: Any = LARSON
) -> Any:
    a, b = np.array(a, np.float32), np.array(b, np.float32)
    chosen = {} if texture_format is None else {"texture_format": texture_format}
    plan = method.plan(m=a.shape[0], l=a.shape[1], n=b.shape[1], **chosen)
    return error_bound(a, b, ARITHMETICS[arithmetic], format_of(plan), plan)


def product_of(plan: Any, a: Any, b: Any, arithmetic: str) -> Any:
    machine = Machine(exact=True, arithmetic=ARITHMETICS[arithmetic])
    return reference().run(plan, {"A": a, "B": b}, machine).outputs["C"]


# The bound holds --------------------------------------------------------------------------------


def programs() -> list[Any]:
    """Methods with their ways and formats, and the arithmetics that reach their texels."""
    found = []
    for method in fragment_methods():
        formats = ("r32f", "unorm8") if method is LARSON else (None,)
        reach = ARITHMETICS if method is LARSON else (*FLOATS, "fp24-chop", "fp16-chop")
        for way, texture_format, name in product(ways(method), formats, reach):
            label = f"{method.name}-{way.value if way else 'default'}-{texture_format}-{name}"
            found.append(pytest.param(method, way, texture_format, name, id=label))
    return found


@pytest.mark.parametrize(("method", "way", "texture_format", "arithmetic"), programs())
@settings(max_examples=4)
@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 6)),
    scale=st.integers(-12, 3),
    low=st.sampled_from([0.0, -1.0, 0.9]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_error_is_larger_than_its_bound(
    *,
    method: Any,
    way: Any,
    texture_format: str | None,
    arithmetic: str,
    sizes: tuple[int, int, int],
    scale: int,
    low: float,
    seed: int,
) -> None:
    m, l, n = sizes  # noqa: E741 - the papers' own letter
    rng = np.random.default_rng(seed)
    unit = texture_format == "unorm8"
    low, size = (max(low, 0.0), min(1.0, 2.0**scale)) if unit else (low, 2.0**scale)
    a = (size * rng.uniform(low, 1.0, (m, l))).astype(np.float32)
    b = rng.uniform(low, 1.0, (l, n)).astype(np.float32)
    chosen = {
        "block": int(rng.integers(1, 9)) if "block" in method.parameters else None,
        "accumulate": way,
        "texture_format": texture_format,
    }
    plan = method.plan(m=m, l=l, n=n, **{k: v for k, v in chosen.items() if v is not None})
    found = product_of(plan, a, b, arithmetic)
    bound = error_bound(a, b, ARITHMETICS[arithmetic], format_of(plan), plan)
    limit = min(ARITHMETICS[arithmetic].format.largest, 1.0 if unit else np.inf)
    sums = np.abs(a).astype(float) @ np.abs(b) + bound
    assume(1.01 * max(np.abs(a).max(), np.abs(b).max(), sums.max()) + 0.01 < limit)
    assert reaches_texels(plan, ARITHMETICS[arithmetic])
    error = np.abs(found.astype(np.float64) - a.astype(np.float64) @ b.astype(np.float64))
    assert bound.shape == (m, n)
    assert (error <= bound).all(), f"{(error / bound).max()} of the bound"


def test_bounds_worked_by_hand() -> None:
    half = HALF_STEPS["fx12"]
    # 0.5 and 0.5 may each be read half a step off, and their product rounded by another half.
    [[fx12]] = bound_of([[0.5]], [[0.5]], "fx12")
    assert fx12 == pytest.approx((0.5 + half) ** 2 - 0.25 + half, rel=1e-12)
    # Two terms and two passes: twice as much, and one addition, of about 0.5, in float32.
    [[two]] = bound_of([[0.5, 0.5]], [[0.5], [0.5]], "fx12")
    assert two == pytest.approx(2 * fx12 + 0.5 * 2.0**-24, rel=1e-6)
    # Eight bits: 1/510 for each stored operand and for the stored product, read exactly by rc9,
    # whose own rounding of the product comes first and leaves nothing to be stored inexactly.
    half = HALF_STEPS["rc9"]
    [[eight]] = bound_of([[0.4]], [[0.2]], "rc9", "unorm8")
    assert eight == pytest.approx((0.4 + half) * (0.2 + half) - 0.08 + half, rel=1e-3)
    # One rounding, of the product.
    [[single]] = bound_of([[3.0]], [[-5.0]], "fp32")
    assert single == pytest.approx(15 * 2.0**-24, rel=1e-12)


def test_bounds_are_nearly_reached() -> None:
    """Operands half a step off, all in the same direction; a bound that is met is no idle one."""
    odd = 2 * np.arange(400, 416) + 1
    a = ((odd + 0.5) / 1024).astype(np.float32)[None, :]  # rounds to even, and so up
    found = product_of(LARSON.plan(m=1, l=a.size, n=1), a, a.T, "fx12")
    error = abs(float(found[0, 0]) - float(np.sum(a.astype(float) ** 2)))
    bound = bound_of(a, a.T, "fx12")
    assert bound[0, 0] > error > 0.5 * bound[0, 0]


@pytest.mark.parametrize(
    ("method", "length", "arithmetic", "reached"),
    [
        ("hall-carr-hart-single", 1024, "fp16", True),  # 1023.5 has 11 bits
        ("hall-carr-hart-single", 1025, "fp16", False),
        ("hall-carr-hart-multi", 2048, "fp16", True),  # two elements a texel along a row
        ("hall-carr-hart-multi", 2049, "fp16", False),
        ("hall-carr-hart-single", 4096, "fp24", True),
        ("hall-carr-hart-single", 4, "fx12", False),  # ends at 2
        ("hall-carr-hart-single", 4, "rc9", False),
        ("larson-mcallister", 4096, "rc9", True),  # its coordinates are interpolated
    ],
)
def test_coordinates_that_are_no_numbers_of_the_format(
    method: str, length: int, arithmetic: str, reached: bool
) -> None:
    plan = find_product(method).plan(m=1, l=length, n=1)
    assert reaches_texels(plan, ARITHMETICS[arithmetic]) is reached


# What is measured -------------------------------------------------------------------------------


def test_chopping_makes_sums_too_small_and_in_proportion_to_their_length() -> None:
    """Each addition loses half a unit of the sum's last place on the average, 2^-17 to 2^-18 of it.

    So the sum of l numbers lacks between l/2 · 2^-18 and l/2 · 2^-17, for a partial sum is half of
    it on the average. Rounding to the nearest has no such bias.
    """
    rng = np.random.default_rng(5)

    def bias(name: str, length: int) -> float:
        a, b = (np.float32(rng.uniform(0.5, 1, shape)) for shape in ((4, length), (length, 4)))
        plan = SINGLE.plan(m=4, l=length, n=4, block=1)
        wanted = a.astype(float) @ b.astype(float)
        return float(np.mean(product_of(plan, a, b, name) / wanted - 1.0))

    for length in (64, 256):
        assert length / 2 * 2.0**-18 < -bias("fp24-chop", length) < length / 2 * 2.0**-17 * 1.1
        assert abs(bias("fp24", length)) < length / 2 * 2.0**-18 / 8


# Tables and plot --------------------------------------------------------------------------------


def row(**more: Any) -> Accuracy:
    given: dict[str, Any] = {
        "method": "m", "texture_format": "r32f", "arithmetic": "fp16", "data": Data.AS_IT_COMES,
        "size": 16, "max_error": 1e-3, "rms_error": 5e-4, "bound": 4e-3, "of_bound": 0.25,
        "saturated": 0, "addresses": True,
    }  # fmt: skip
    return Accuracy(**{**given, **more})


def test_the_command_writes_json_csv_and_a_plot(run: Any, tmp_path: Path) -> None:
    words = ("study", "precision", "larson-mcallister", "n=4,2,3", "--arithmetic", "fp32", "rc9")
    plot = tmp_path / "p.png"
    code, out, _ = run(*words, "--json", "--plot", str(plot))
    assert code == 0
    assert plot.is_file()
    rows = json.loads(out)["measurements"]
    assert {r["size"] for r in rows} == {2, 3, 4}
    assert {r["arithmetic"] for r in rows} == {"fp32", "rc9"}
    assert {r["texture_format"] for r in rows} == {"r32f", "unorm8"}
    code, out, _ = run(*words, "texture_format=r32f", "--all", "--format", "csv")
    assert code == 0
    lines = list(csv.reader(out.splitlines()))
    assert lines[0][1:6] == ["method", "texture format", "arithmetic", "data", "n"]
    assert len(lines) == 1 + 3 * (1 + 2)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("mali-sgemm", "n=4"), "mali-sgemm runs kernels, which compute in fp32 alone"),
        (("packed-2x2", "n=4", "transpose_a=true"), "leave transpose_a = True out"),
    ],
)
def test_what_is_not_measured_is_refused_in_one_line(
    run: Any, words: tuple[str, ...], complaint: str
) -> None:
    code, out, err = run("study", "precision", *words)
    assert (code, out) == (2, "")
    assert complaint in err and err.count("\n") == 1
