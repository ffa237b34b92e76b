from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from drawing import assert_same_bits
from fakes import FakeExecutor
from products import F32, METHODS_AND_WAYS, plan_of, random_operands

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands as drawn_operands
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api import products as bench
from gpgpu_legacy.api.follow import Follower, Place, place_of
from gpgpu_legacy.api.prepared import close_prepared
from gpgpu_legacy.api.products import matmul, run
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import UNORM8
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.plan.textures import Matrix, Output, Packing, Rect, Region
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Result, Timings
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.serial import plain

NUMPY = find_executor("numpy")
A = np.array([[1.0, 2.0], [3.0, 4.0]])
B = np.array([[5.0, 6.0], [7.0, 8.0]])
PRODUCT = [[19.0, 22.0], [43.0, 50.0]]


def refused(*args: Any, **more: Any) -> str:
    with pytest.raises(InputError) as raised:
        run(*args, executor="numpy", **more)
    message = str(raised.value)
    assert message
    assert "\n" not in message
    return message


# Products ----------------------------------------------------------------------------------------


def test_matmul_gives_the_product_as_float32() -> None:
    found = matmul(A, B, executor="numpy")
    assert found.dtype == np.float32
    assert found.tolist() == PRODUCT


@pytest.mark.parametrize(
    "values",
    [
        A.astype(np.float16), A.astype(np.longdouble), A.astype(np.uint64), A.tolist(),
        np.asfortranarray(A), np.repeat(A, 2, axis=1)[:, ::2], A.astype(">f8"),
    ],
    ids=["float16", "longdouble", "uint64", "list", "fortran", "strided", "big-endian"],
)  # fmt: skip
def test_real_numbers_of_any_kind_are_taken(values: Any) -> None:
    assert matmul(values, B, executor="numpy").tolist() == PRODUCT


def test_operands_are_rounded_to_float32_and_what_is_too_large_is_infinite() -> None:
    assert matmul([[0.1]], [[1.0]], executor="numpy")[0, 0] == np.float32(0.1)
    assert matmul([[1e39]], [[1.0]], executor="numpy")[0, 0] == np.inf


def test_transposed_operands_are_given_transposed() -> None:
    wide = np.arange(6.0).reshape(2, 3)
    tall = np.arange(8.0).reshape(2, 4)
    found = run(wide, tall, executor="numpy", transpose_a=True)
    assert (found.shape.m, found.shape.l, found.shape.n) == (3, 2, 4)
    assert found.product.tolist() == (wide.T @ tall).tolist()
    assert matmul(wide, tall.T, executor="numpy", transpose_a=True, transpose_b=True).tolist() == (
        (wide.T @ tall).tolist()
    )


def test_a_run_says_what_was_run() -> None:
    found = run(A, B, "larsen-mcallister", executor="numpy")
    assert found.method == "larson-mcallister"
    assert found.executor == "numpy"
    assert found.device == NUMPY.device()
    assert found.options.texture_format == "r32f"
    assert found.counts.passes == 2
    assert found.plan.name == "larson-mcallister"
    assert [o.tolist() for o in found.operands] == [A.tolist(), B.tolist()]


# Times -------------------------------------------------------------------------------------------


class Clock(FakeExecutor):
    """An executor that gives the product at once and says whatever times it is told to."""

    name = "clock"

    def __init__(self, times: list[Timings]) -> None:
        super().__init__()
        self.times, self.runs, self.machines = times, 0, list[Machine]()

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> Result:
        self.machines.append(machine)
        timings = self.times[self.runs]
        self.runs += 1
        return Result(NUMPY.run(plan, operands, machine).outputs, timings)


def timed(monkeypatch: pytest.MonkeyPatch, *times: tuple[float, ...]) -> Clock:
    clock = Clock([Timings(*each) for each in times])
    monkeypatch.setattr(bench, "find_executor", lambda *_: clock)
    return clock


def test_times_are_medians_over_the_repeats_after_an_unmeasured_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = timed(monkeypatch, (99, 99, 99), (1, 20, 3), (3, 10, 2), (2, 30, 9))
    found = run(A, B, repeat=3)
    assert clock.runs == 4
    assert found.seconds == Timings(upload_s=2, compute_s=20, readback_s=3)


def test_a_plan_is_prepared_once_for_all_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = timed(monkeypatch, (1, 1, 1, 7), (1, 1, 1, 7), (1, 1, 1, 7))
    found = run(A, B, repeat=2)
    assert [each.closed for each in clock.prepared] == [False]
    close_prepared()
    assert [each.closed for each in clock.prepared] == [True]
    assert found.seconds.prepare_s == 7
    assert found.record().seconds.prepare_s == 7


def test_gflops_are_2mln_over_the_compute_time(monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, (5, 0.25, 5))
    found = run(np.ones((10, 20)), np.ones((20, 30)))
    assert found.gflops == pytest.approx(2 * 10 * 20 * 30 / 0.25 / 1e9)
    assert found.gigabytes_per_s == pytest.approx(found.counts.bytes_requested / 0.25 / 1e9)


def test_nothing_to_multiply_gives_no_gflops(monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, (1, 1, 1))
    found = run(np.ones((3, 0)), np.ones((0, 4)))
    assert found.gflops is None
    assert found.product.tolist() == [[0.0] * 4] * 3


def test_a_run_of_its_own_is_observed_and_every_run_reported() -> None:
    seen, told = [], []
    found = run(
        A, B, "larson-mcallister", executor="numpy", repeat=2,
        observer=lambda number, each, read: seen.append(number),
        progress=lambda: told.append(len(seen)),
    )  # fmt: skip
    steps = found.counts.passes + 1  # and a clear
    assert seen == list(range(steps))
    assert told == [0, 0, 0, 0, steps]  # prepared, run three times, and once more


@pytest.mark.parametrize(("repeat", "runs"), [(1, 1), (2, 4)])
def test_only_the_run_that_is_observed_is_not_fused(
    monkeypatch: pytest.MonkeyPatch, repeat: int, runs: int
) -> None:
    clock = timed(monkeypatch, (0, 9, 0), (0, 1, 0), (0, 3, 0), (0, 99, 0))
    found = run(A, B, repeat=repeat, observer=lambda *_: None)
    assert (clock.runs, clock.observed) == (runs, 1)
    assert found.seconds.compute_s == (9 if repeat == 1 else 2)


# Errors against float64 --------------------------------------------------------------------------


def test_the_error_is_relative_to_the_largest_element() -> None:
    found = run(A, B, executor="numpy")
    assert found.max_relative_error == 0.0
    off = replace(found, product=np.array([[19, 22], [43, 49]], np.float32))
    assert off.max_relative_error == pytest.approx(1 / 50)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_error_that_is_no_number_is_null_in_json(value: float) -> None:
    found = run([[value, 1.0]], [[1.0], [1.0]], executor="numpy")
    assert not np.isfinite(found.max_relative_error)
    assert found.record().max_relative_error is None


def test_the_json_contract() -> None:
    name = "hall-carr-hart-multi"
    found = plain(run(np.ones((3, 4)), np.ones((4, 5)), name, executor="numpy").record())
    json.dumps(found, allow_nan=False)
    assert (found["method"], found["executor"], found["block"]) == (name, "numpy", 32)
    assert found["shape"] == [3, 4, 5]
    assert found["max_relative_error"] == 0.0
    assert found["seconds"].keys() == {"prepare", "compute", "upload", "readback"}
    assert all(type(value) is int for value in found["counts"].values())


# Operands that do not fit ------------------------------------------------------------------------

BAD = {
    "complex": np.ones((2, 2), complex),
    "text": np.array([["1", "2"], ["3", "4"]]),
    "object": np.array([[1, None], [2, 3]], object),
    "dates": np.array([["2001-01-01", "2003-01-01"]] * 2, "datetime64[D]"),
    "records": np.zeros((2, 2), [("re", "f4"), ("im", "f4")]),
    "scalar": np.float64(3.0),
    "1-D": np.ones(2),
    "3-D": np.ones((2, 2, 2)),
    "ragged": [[1.0, 2.0], [3.0]],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_what_is_no_real_matrix_is_refused_in_one_line(bad: Any) -> None:
    assert refused(bad, B).startswith("A ")
    assert refused(A, bad).startswith("B ")


@pytest.mark.parametrize(
    ("a", "b", "turned"),
    [((2, 3), (2, 3), ""), ((3, 2), (3, 2), ""), ((2, 3), (3, 2), "a"), ((2, 3), (3, 2), "b"),
     ((2, 3), (0, 2), ""), ((2, 3), (2, 3), "ab")],
    ids=str,
)  # fmt: skip
def test_shapes_that_do_not_multiply_are_refused_with_both(
    a: tuple[int, int], b: tuple[int, int], turned: str
) -> None:
    message = refused(np.ones(a), np.ones(b), transpose_a="a" in turned, transpose_b="b" in turned)
    for rows, columns in (a, b):
        assert f"{rows}×{columns}" in message


@pytest.mark.parametrize("value", [-0.001, 1.001, -1e-30, np.nan, np.inf, -np.inf])
def test_eight_bits_hold_nothing_outside_0_to_1(value: float) -> None:
    unit, odd = np.full((2, 3), 0.5), np.full((3, 2), 0.5)
    odd[2, 1] = value
    more = {"method": "larson-mcallister", "texture_format": "unorm8"}
    assert refused(unit, odd, **more).startswith("B[2, 1] is ")
    assert refused(odd, unit, **more).startswith("A[2, 1] is ")
    run(unit, np.clip(np.nan_to_num(odd), 0, 1), executor="numpy", **more)


# Random operands ---------------------------------------------------------------------------------


def test_random_operands_are_the_same_for_a_seed_and_laid_out_as_given() -> None:
    shape = Shape(3, 4, 5)
    a, b = drawn_operands(shape, Options(), 7)
    again, _ = drawn_operands(shape, Options(), 7)
    other, _ = drawn_operands(shape, Options(), 8)
    assert_same_bits(a, again)
    assert (a != other).any()
    assert (a.shape, b.shape) == ((3, 4), (4, 5))
    assert a.dtype == b.dtype == np.float32
    turned_a, turned_b = drawn_operands(shape, Options(transpose_a=True, transpose_b=True), 7)
    assert_same_bits(turned_a.T, a)
    assert_same_bits(turned_b.T, b)


def test_random_operands_lie_in_the_range_that_their_texture_holds() -> None:
    shape = Shape(50, 50, 50)
    for texture_format, low, high in (("r32f", -0.5, 0.5), (UNORM8.name, 0.0, 1.0)):
        for each in drawn_operands(shape, Options(texture_format=texture_format), 0):
            assert each.min() >= low
            assert each.max() < high
            assert abs(each.mean() - (low + high) / 2) < 0.05


# One element followed ----------------------------------------------------------------------------


def followed(plan: Plan, elements: Sequence[tuple[int, int]]) -> list[tuple[Follower, float]]:
    """A follower of each element in a run that they all observe, and what the product has there."""
    followers = [Follower(plan, *element) for element in elements]

    def observe(number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        for follower in followers:
            follower(number, pass_, read)

    found = NUMPY.run(plan, random_operands(plan), observer=observe).outputs["C"]
    return [(f, float(found[at])) for f, at in zip(followers, elements, strict=True)]


# Elements of a row of A in a texel, and the methods that draw all that a texture holds in one pass.
IN_A_TEXEL = {
    "hall-carr-hart-multi": 2, "govindaraju-tiled": 2, "packed-2x2": 2, "row-packed": 4
}  # fmt: skip
ONE_PASS = {"packed-2x2", "row-packed"}


@pytest.mark.parametrize("largest", [8192, 4])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_the_last_sighting_is_the_element_of_the_product(
    method: Algorithm, way: Accumulate | None, largest: int
) -> None:
    plan = plan_of(method, (11, 14, 9), way, block=3, largest_texture=largest)
    elements = list(product((0, 3, 6, 10), (0, 4, 8)))
    for follower, element in followed(plan, elements):
        drawn = [s for s in follower.sightings if s.kind == "draw"]
        assert follower.sightings[-1].value == element
        assert drawn[-1].value == element
        numbers = [s.number for s in follower.sightings]
        assert numbers == sorted(set(numbers))
        split = IN_A_TEXEL.get(method.name, 1)
        block = largest if method.name in ONE_PASS else 3 if "block" in method.parameters else 1
        stretch = largest // block * block * split
        per_stretch = [min(stretch, 14 - k) for k in range(0, 14, stretch)]
        passes = sum(-(-length // (split * block)) for length in per_stretch)
        assert len(drawn) == passes


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (None, [(0, "clear", "C", 0.0), (1, "draw", "C", 15.0), (2, "draw", "C", 43.0)]),
        (Accumulate.COPY, [(0, "draw", "C", 15.0), (1, "copy", "F", 15.0),
                           (2, "draw", "C", 43.0), (3, "copy", "F", 43.0)]),
        (Accumulate.PING_PONG, [(0, "draw", "C", 15.0), (1, "draw", "F", 43.0)]),
        (Accumulate.BLEND, [(0, "clear", "C", 0.0), (1, "draw", "C", 15.0),
                            (2, "draw", "C", 43.0)]),
    ],
)  # fmt: skip
def test_sightings_of_a_2_by_2_product_by_hand(
    way: Accumulate | None, expected: list[tuple[int, str, str, float]]
) -> None:
    """C[1, 0] of [[1, 2], [3, 4]]·[[5, 6], [7, 8]]: 3·5, and 4·7 more, by Larson and McAllister
    or in a way of Hall, Carr & Hart."""
    method = "hall-carr-hart-single" if way else "larson-mcallister"
    plan = plan_of(find_product(method), (2, 2, 2), way, block=1)
    follower = Follower(plan, 1, 0)
    NUMPY.run(plan, {"A": A.astype(np.float32), "B": B.astype(np.float32)}, observer=follower)
    found = [(s.number, s.kind, s.texture, s.value) for s in follower.sightings]
    assert found == expected
    assert replace(follower.place, texture="") == Place("", x=0, y=1, channel=0)


@pytest.mark.parametrize("element", [(-1, 0), (0, -1), (3, 0), (0, 5)])
def test_an_element_that_there_is_not_cannot_be_followed(element: tuple[int, int]) -> None:
    plan = find_product("larson-mcallister").plan(m=3, l=4, n=5)
    with pytest.raises(InputError) as raised:
        Follower(plan, *element)
    assert "3×5" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_place_in_blocks_of_2_by_2() -> None:
    """Not the quadrants of the paper but neighbours in one texel, as later packings have them."""
    blocks = Packing(((0, 0), (0, 1), (1, 0), (1, 1)), row_step=2, column_step=2)
    shown = Output("C", Region(0, 0, 4, 6), "T", Rect(1, 2, 3, 2), blocks)
    plan = Plan("blocks", (), (Matrix("C", 4, 6),), (), (), (), (shown,))
    assert place_of(plan, 0, 0) == Place("T", x=1, y=2, channel=0)
    assert place_of(plan, 2, 5) == Place("T", x=3, y=3, channel=1)
    assert place_of(plan, 3, 2) == Place("T", x=2, y=3, channel=2)
    assert place_of(plan, 1, 3) == Place("T", x=2, y=2, channel=3)
