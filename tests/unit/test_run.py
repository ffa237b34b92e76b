"""A run of anything: its outputs, times, counts and errors; and the product as an array."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from fakes import FakeExecutor
from products import F32

from gpgpu_legacy import Machine, Pipeline, find, matmul
from gpgpu_legacy.api import run as module
from gpgpu_legacy.api.prepared import close_prepared
from gpgpu_legacy.api.run import Run, steps_of
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.pipeline.inputs import ErrorKind
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.prepared import RunResult, Timings

NUMPY = find_executor("numpy")
MULTI = "hall-carr-hart-multi"
A = np.array([[1.0, 2.0], [3.0, 4.0]])
B = np.array([[5.0, 6.0], [7.0, 8.0]])
PRODUCT = [[19.0, 22.0], [43.0, 50.0]]


def refused(*args: Any, **more: Any) -> str:
    with pytest.raises(InputError) as raised:
        matmul(*args, executor="numpy", **more)
    message = str(raised.value)
    assert message
    assert "\n" not in message
    return message


def product(method: str = MULTI, **more: Any) -> Run:
    """A·B, run."""
    return find(method, **more.pop("parameters", {})).run(A=A, B=B, **more)


# The product as an array -------------------------------------------------------------------------


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
    wanted = (wide.T @ tall).tolist()
    assert matmul(wide, tall, executor="numpy", transpose_a=True).tolist() == wanted
    both = matmul(wide, tall.T, executor="numpy", transpose_a=True, transpose_b=True)
    assert both.tolist() == wanted


def test_a_matrix_is_added_once_or_beta_times() -> None:
    for more, beta in (({}, 1.0), ({"beta": -2}, -2.0), ({"beta": 0.0}, 0.0)):
        found = matmul(A, B, c=B, executor="numpy", **more)
        assert found.tolist() == (A @ B + beta * B).tolist()
    with pytest.raises(InputError, match="beta is given, but there is no C to scale"):
        matmul(A, B, beta=2.0)


def test_a_plan_that_is_kept_is_not_mistaken_for_another() -> None:
    """0 and -0 are equal."""
    for alpha in (0.0, -0.0, 0.0):
        found = matmul([[1.0]], [[1.0]], c=[[-0.0]], alpha=alpha, executor="numpy")[0, 0]
        assert np.copysign(1.0, found) == np.copysign(1.0, alpha)


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
    matmul(unit, np.clip(np.nan_to_num(odd), 0, 1), executor="numpy", **more)


# What a run says ---------------------------------------------------------------------------------


def test_a_run_says_what_was_run() -> None:
    found = product("larsen-mcallister", executor="numpy")
    assert found.plan == "larson-mcallister"
    assert (found.executor, found.device) == ("numpy", NUMPY.device())
    assert found.parameters["texture_format"] == "r32f"
    assert (found.parameters["m"], found.parameters["n"]) == (None, 2)
    assert found.counts is not None
    assert (found.counts.passes, found.counts.draws) == (3, 2)  # and a clear
    assert found.C.tolist() == PRODUCT
    assert found.outputs.keys() == found.ranges.keys() == {"C"}
    assert (found.ranges["C"].min, found.ranges["C"].max) == (19.0, 50.0)
    assert repr(found).startswith("<Run larson-mcallister: C 2×2 from numpy (")
    with pytest.raises(AttributeError, match="this run has no output x; its outputs are C"):
        _ = found.x


def test_without_an_input_samples_are_drawn_that_depend_on_the_seed() -> None:
    runs = [find(MULTI, n=3).run(executor="numpy", seed=seed) for seed in (1, 1, 2)]
    first, again, other = (run.C.tolist() for run in runs)
    assert first == again != other


def test_counts_that_depend_on_data_are_none() -> None:
    kernel = """#version 430
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer A { float a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (a[i] > 0.5) { a[i] = a[i] + 1.0; }
}
"""
    p = Pipeline("branches")
    a = p.input("a", 1, 2, kind="BUFFER")
    p.dispatch(kernel, [a], (1, 1))
    p.output("out", a)
    with pytest.raises(PlanError):
        p.count()
    found = p.run(a=[[0.0, 1.0]])
    assert found.out.tolist() == [[0.0, 2.0]]
    assert found.counts is None
    assert found.gigabytes_per_s is None


# Times -------------------------------------------------------------------------------------------


class Clock(FakeExecutor):
    """An executor that gives the product at once and says whatever times it is told to."""

    name = "clock"

    def __init__(self, times: list[Timings]) -> None:
        super().__init__()
        self.times, self.runs = times, 0

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        timings = self.times[self.runs]
        self.runs += 1
        return RunResult(NUMPY.run(plan, operands, machine).outputs, timings)


def timed(monkeypatch: pytest.MonkeyPatch, *times: tuple[float, ...]) -> Clock:
    clock = Clock([Timings(*each) for each in times])
    monkeypatch.setattr(module.auto, "ranked", lambda *_, **__: {clock: 0.0})
    monkeypatch.setattr(module.auto, "ranking", cache(module.auto.Ranking))
    return clock


def test_times_are_medians_over_the_repeats_after_an_unmeasured_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = timed(monkeypatch, (99, 99, 99), (1, 20, 3), (3, 10, 2), (2, 30, 9))
    found = product(repeat=3)
    assert clock.runs == 4
    assert found.seconds == Timings(upload_s=2, compute_s=20, readback_s=3)


def test_a_plan_is_prepared_once_for_all_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = timed(monkeypatch, (1, 1, 1, 7), (1, 1, 1, 7), (1, 1, 1, 7))
    found = product(repeat=2)
    assert [each.closed for each in clock.prepared] == [False]
    close_prepared()
    assert [each.closed for each in clock.prepared] == [True]
    assert found.as_dict()["seconds"]["prepare"] == 7


def test_gflops_are_the_operations_over_the_compute_time(monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, (5, 0.25, 5))
    found = find(MULTI).run(A=np.ones((10, 20)), B=np.ones((20, 30)))
    assert found.gflops == pytest.approx(2 * 10 * 20 * 30 / 0.25 / 1e9)
    assert found.counts is not None
    assert found.gigabytes_per_s == pytest.approx(found.counts.bytes_requested / 0.25 / 1e9)


def test_a_run_of_its_own_is_observed_and_every_run_reported() -> None:
    seen, told = [], []
    found = product(
        "larson-mcallister", executor="numpy", repeat=2,
        observer=lambda number, each, read: seen.append(number),
        progress=lambda: told.append(len(seen)),
    )  # fmt: skip
    assert found.counts is not None
    steps = found.counts.passes
    assert seen == list(range(steps))
    assert told == [0, 0, 0, 0, steps]  # prepared, run three times, and once more
    assert len(told) == steps_of(2) + 1


@pytest.mark.parametrize(("repeat", "runs"), [(1, 1), (2, 4)])
def test_only_the_run_that_is_observed_is_not_fused(
    monkeypatch: pytest.MonkeyPatch, repeat: int, runs: int
) -> None:
    clock = timed(monkeypatch, (0, 9, 0), (0, 1, 0), (0, 3, 0), (0, 99, 0))
    found = product(repeat=repeat, observer=lambda *_: None)
    assert (clock.runs, clock.observed) == (runs, 1)
    assert found.seconds.compute_s == (9 if repeat == 1 else 2)


# Errors ------------------------------------------------------------------------------------------

COPY = """!!ARBfp1.0
TEMP r;
TEX r, fragment.position, texture[0], RECT;
MOV result.color, r;
END"""


def off_by(difference: Any, wanted: Any = 0.0) -> Pipeline:
    """Copies x to y, of which the reference says that it is x + difference; z is x."""
    p = Pipeline("off")
    x, y = p.input("x", 2, 2), p.texture("y", 2, 2)
    p.draw(COPY, {0: x}, into=y)
    p.output("y", y)
    p.output("z", y)
    p.reference = lambda x: {"y": x + difference + wanted, "z": x}
    return p


def test_an_error_is_relative_to_its_outputs_largest_element_and_has_a_place() -> None:
    p = off_by([[0.0, 0.0], [-3.0, 1.0]])
    found = p.run(x=A)
    assert found.errors is found.max_error is None
    found = p.run(x=A, check=True)
    y, z = found.errors or ()
    # the reference has 1, 2, 0, 5
    assert (y.output, y.error, y.kind, y.at) == ("y", 3.0 / 5.0, ErrorKind.RELATIVE, (1, 0))
    assert (z.output, z.error, z.at) == ("z", 0.0, None)
    assert found.max_error == 3.0 / 5.0
    assert found.y.tolist() == A.tolist()


def test_an_error_is_absolute_where_the_reference_is_0_everywhere() -> None:
    found = off_by(-A).run(x=A, check=True)
    assert found.errors is not None
    y = found.errors[0]
    assert (y.error, y.kind, y.at) == (4.0, ErrorKind.ABSOLUTE, (1, 1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_error_that_is_no_number_comes_first_and_is_null_in_json(value: float) -> None:
    found = off_by(5.0).run(x=[[1.0, 2.0], [value, 4.0]], check=True)
    assert found.max_error is not None
    assert np.isnan(found.max_error)
    y = found.as_dict()["errors"][0]
    assert (y["error"], y["at"]) == (None, [1, 0])
    assert found.ranges["y"].max is None


def test_what_has_no_reference_has_no_errors() -> None:
    p = off_by(0.0)
    p.reference = None
    found = p.run(x=A, check=True)
    assert found.errors is None


# Choices -----------------------------------------------------------------------------------------


def test_a_run_names_its_arithmetic_and_takes_numpy_by_itself() -> None:
    tenth = np.full((2, 2), 0.1, np.float32)
    found = find("larson-mcallister").run(A=tenth, B=tenth, arithmetic="fp16")
    assert (found.executor, found.arithmetic) == ("numpy", "fp16")
    rounded = np.float16(0.1)
    assert (found.arrays["C"] == 2 * np.float32(rounded * rounded)).all()
    assert product(executor="numpy").arithmetic == "fp32"
