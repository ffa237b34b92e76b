"""Plans measured on executors, in turn with a reference function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from fakes import Clock, FakeExecutor
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from plans import Made, plans
from sorting import shuffled, sort_plan

from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.plan_bench import plot
from gpgpu_legacy.measure.plan_bench.model import Case, bench_plan, bench_plans, count_steps
from gpgpu_legacy.measure.plan_bench.record import PlanBench, PlanResult
from gpgpu_legacy.measure.plan_bench.table import plan_bench_grids
from gpgpu_legacy.measure.plan_bench.work import beginning, least_size, size_of
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, Plan, Repeat
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Matrix,
    MovingRect,
    Output,
    Rect,
    Region,
    Texture,
    TextureKind,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.runtime import registry
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import F32, Prepared, Result, Timings


class Known(FakeExecutor):
    """Gives outputs that are known, after times that are known: so much a pass."""

    def __init__(
        self,
        name: str,
        values: list[float],
        pass_s: float = 1.0,
        *,
        is_reference: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]
        self.capabilities = Capabilities(  # type: ignore[misc]
            FRAGMENT_PASSES, is_reference=is_reference
        )
        self.values, self.pass_s, self.clock = values, pass_s, clock or Clock()
        self.passes_run: list[int] = []

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> Result:
        self.passes_run.append(plan.pass_count)
        compute_s = self.pass_s * plan.pass_count
        self.clock.now += compute_s
        y = np.array([self.values], np.float32)
        return Result({"y": y}, Timings(0.5, compute_s, 0.25, 2.0))


class Absent(Known):
    def device(self) -> str:
        raise ExecutorUnavailableError("there is no such device")


class Refusing(Known):
    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        raise PlanError("it has no room for the texture")


class Failing(Known):
    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> Result:
        raise RuntimeError("the driver gave up")


def clearing(count: int = 1, side: int = 2) -> Plan:
    """`count` clears of side × side texels; y is the first two texels."""
    texture = Texture("T", TextureKind.RECT, Extent(side, side), R32F)
    output = Output("y", Region(0, 0, 1, 2), "T", Rect(0, 0, 2, 1), ONE_PER_TEXEL)
    steps = (Repeat(count, (ClearPass("T"),)),)
    return Plan("clearing", (), (Matrix("y", 1, 2),), (texture,), (), steps, (output,))


def only(monkeypatch: pytest.MonkeyPatch, *fakes: Executor) -> None:
    monkeypatch.setattr(registry, "executors", lambda: fakes)


def by_name(bench: PlanBench) -> dict[str, PlanResult]:
    return {result.executor: result for result in bench.results}


def two_numbers() -> list[list[float]]:
    return [[1.0, 4.0]]


# Results -----------------------------------------------------------------------------------------


def test_errors_and_differences_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    only(
        monkeypatch,
        Known("machine", [1.0, 5.0], is_reference=True),
        Known("other", [1.5, 3.0]),
        Known("same", [1.0, 5.0]),
    )
    found = by_name(bench_plan(clearing(), {}, reference=two_numbers, repeat=1))
    assert list(found) == ["two_numbers", "machine", "other", "same"]
    assert {name: r.max_error for name, r in found.items()} == {
        "two_numbers": None,
        "machine": 0.25,  # |5 - 4| / 4
        "other": 0.25,  # |3 - 4| / 4, more than |1.5 - 1| / 4
        "same": 0.25,
    }
    assert {name: r.max_difference for name, r in found.items()} == {
        "two_numbers": None,
        "machine": 0.0,
        "other": 0.4,  # |3 - 5| / 5
        "same": 0.0,
    }


def test_what_is_not_finite_alike_does_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = [np.nan, np.inf]
    only(
        monkeypatch,
        Known("machine", nothing, is_reference=True),
        Known("same", nothing),
        Known("other", [0.0, np.inf]),
    )
    found = by_name(bench_plan(clearing(), {}, reference=two_numbers, repeat=1))
    assert [r.max_difference for r in found.values()] == [None, 0.0, 0.0, None]
    assert all(r.max_error is None for r in found.values())


def test_ratios_and_times_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Known("quick", [1.0, 4.0], 2.0), Known("slow", [1.0, 4.0], 3.0))
    bench = bench_plan(clearing(2), {}, reference=two_numbers, repeat=2)
    found = by_name(bench)
    assert (found["quick"].seconds, found["slow"].seconds) == (4.0, 6.0)
    assert (found["quick"].over_fastest, found["slow"].over_fastest) == (1.0, 1.5)
    function = found["two_numbers"]
    assert function.is_reference
    assert function.over_reference == 1.0
    assert function.over_fastest == function.seconds / 4.0
    assert found["slow"].over_reference == 6.0 / function.seconds
    assert (found["slow"].upload_s, found["slow"].readback_s) == (0.5, 0.25)
    assert found["slow"].spread == (6.0, 6.0)
    assert [r.max_difference for r in bench.results] == [None, None, None]
    assert bench.repeat == 2
    assert [(c.case, c.plan, c.passes) for c in bench.cases] == [("clearing", "clearing", 2)]


def test_cases_have_operands_and_functions_of_their_own() -> None:
    cases = []
    for side in (8, 4):
        values = shuffled(side, side)
        cases.append(Case(f"n = {side * side}", sort_plan(side, side), {"values": values}, ordered))
    bench = bench_plans(cases, ["numpy", "jit"], repeat=1)
    assert [(r.case, r.executor) for r in bench.results] == [
        (case, name) for case in ("n = 64", "n = 16") for name in ("ordered", "numpy", "jit")
    ]
    executed = [r for r in bench.results if not r.is_reference]
    assert all(r.max_error == r.max_difference == 0.0 for r in executed)
    assert all(r.prepare_s and r.upload_s and r.readback_s for r in executed)


def ordered(values: np.ndarray) -> np.ndarray:
    assert values.dtype == np.float64
    return np.sort(values, axis=None).reshape(values.shape)


# What is not run ---------------------------------------------------------------------------------


def test_executors_that_cannot_run_are_listed_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = Known("drawing", [])
    drawing.capabilities = Capabilities(frozenset())  # type: ignore[misc]
    only(
        monkeypatch,
        Known("good", [1.0, 4.0]),
        Refusing("refusing", []),
        Failing("failing", []),
        drawing,
        Absent("absent", []),
    )
    bench = bench_plan(clearing(), {}, reference=two_numbers, repeat=1)
    assert list(by_name(bench)) == ["two_numbers", "good"]
    assert [(entry.executor, entry.reason) for entry in bench.not_run] == [
        ("refusing", "it has no room for the texture"),
        ("failing", "the driver gave up"),
        ("drawing", "it does not run clears"),
        ("absent", "there is no such device"),
    ]


GIVEN = "the reference of clearing gives"


def raising() -> list[float]:
    raise ValueError("no such axis")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (raising, "no such axis"),
        (lambda: [1.0], f"{GIVEN} y as a vector of 1; the output is 1×2"),
        (lambda: [[1j, 0]], f"{GIVEN} y as a list; give an array of real numbers"),
        (lambda: {"z": 1.0}, f"{GIVEN} z; the outputs are y"),
    ],
)
def test_a_function_that_fails_leaves_the_executors_alone(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., object], reason: str
) -> None:
    only(monkeypatch, Known("good", [1.0, 4.0]))
    bench = bench_plan(clearing(), {}, reference=function, repeat=1)
    assert [r.executor for r in bench.results] == ["good"]
    assert bench.results[0].max_error is None
    [entry] = bench.not_run
    assert entry.reason == reason
    assert entry.executor == ("raising" if function is raising else "reference")


def test_what_cannot_be_measured_is_refused_before_anything_runs() -> None:
    one = Case("n", clearing(), {})
    for cases, executors, message in (
        ([], (), "there is no plan to measure; give one case at least"),
        ([one, one], (), "two cases have the label n; give each its own"),
        ([Case("n", sort_plan(4, 4), {})], (), "plan bitonic-sort needs the operands values; "),
        ([one], ["gpu"], "there is no executor gpu; choose from auto, "),
    ):
        with pytest.raises(InputError, match=message):
            bench_plans(cases, executors)


# The budget --------------------------------------------------------------------------------------


def test_a_plan_that_would_outlast_the_budget_is_probed_and_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clearing 64 × 64 texels 10,000 times has the work of a product of n = 345: its probes have
    64³ and 256³ of 345³, which is 64 and 4096 of the clears.
    """
    clock = Clock()
    slow, quick = (
        Known(name, [1.0, 4.0], pass_s, clock=clock)
        for name, pass_s in (("slow", 1e-2), ("quick", 1e-4))
    )
    only(monkeypatch, slow, quick)
    cases = [Case("n", clearing(10_000, 64), {})]
    bench = bench_plans(cases, repeat=2, budget=Budget(20.0, clock))
    assert list(by_name(bench)) == ["quick"]
    [entry] = bench.not_run
    assert entry.executor == "slow"
    assert entry.reason.startswith("a run would take up to ")
    assert set(slow.passes_run) == {64}
    assert set(quick.passes_run) == {64, 4096, 10_000}
    assert bench.spent_s == clock.now <= 20.0
    assert bench.budget_s == 20.0


def test_progress_and_results_come_as_they_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Known("one", [1.0, 4.0]), Known("two", [1.0, 4.0]))
    cases = [Case("small", clearing(), {}, two_numbers), Case("large", clearing(2), {})]
    told: list[str] = []
    saved: list[PlanBench] = []
    bench = bench_plans(cases, repeat=2, progress=told.append, save=saved.append)
    assert len(told) == count_steps(cases, (), 2)
    assert set(told) == {
        "small: two_numbers", "small: one", "small: two", "large: one", "large: two",
    }  # fmt: skip
    assert saved[-1] == bench
    assert len(saved[0].results) < len(bench.results)


# The work of a plan ------------------------------------------------------------------------------


def test_the_size_is_the_cube_root_of_the_work() -> None:
    """A clear of 64 × 64 texels of four bytes is 4096 words: 64 of them make 64³."""
    assert size_of(clearing(64, 64)) == 64
    assert least_size(clearing(64, 64)) == 16
    assert beginning(clearing(64, 64), 32).pass_count == 8
    assert beginning(clearing(64, 64), 1).pass_count == 1


def test_a_reduction_is_probed_with_as_many_iterations_as_fit() -> None:
    """Copies of 16 × 16, 8 × 8 and 4 × 4 texels, two words each: 512, 128 and 32 words."""
    side = Table((16, 8, 4))
    moving = MovingRect(0, 0, side, side)
    extent = Extent(16, 16)
    textures = (
        Texture("A", TextureKind.RECT, extent, R32F, (1.0,) * 4),
        Texture("B", TextureKind.RECT, extent, R32F),
    )
    output = Output("y", Region(0, 0, 16, 16), "B", Rect(0, 0, 16, 16), ONE_PER_TEXEL)
    steps = (Repeat(3, (CopyPass("A", moving, "B", moving),)),)
    plan = Plan("reduce", (), (Matrix("y", 16, 16),), textures, (), steps, (output,))
    assert size_of(plan) == 9  # 8³ < 672 <= 9³
    assert least_size(plan) == 8
    first = beginning(plan, 8)
    validate(first)
    assert first.steps == (
        Repeat(1, (CopyPass("A", Rect(0, 0, 16, 16), "B", Rect(0, 0, 16, 16)),)),
    )
    assert beginning(plan, 9).textures[1].initial == (0.0,) * 4
    assert expand(beginning(plan, 9)).steps == expand(plan).steps


@settings(max_examples=20)
@given(plans(), st.integers(1, 40))
def test_a_beginning_is_a_valid_plan_of_the_first_passes(made: Made, size: int) -> None:
    first = beginning(made.plan, size)
    validate(first)
    steps, all_steps = expand(first).steps, expand(made.plan).steps
    assert steps == all_steps[: len(steps)]
    assert steps or not all_steps
    assert size_of(first) <= max(size, least_size(made.plan))


# Tables and files --------------------------------------------------------------------------------


def test_the_table_has_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Known("one", [1.0, 5.0], is_reference=True), Absent("two", []))
    bench = bench_plan(clearing(3), {}, reference=two_numbers, repeat=1)
    times, not_run = plan_bench_grids(bench)
    assert times.caption.startswith("clearing, 3 passes, on ")
    assert times.heads[0] == "executor"
    rows = {row[0]: dict(zip(times.heads, row, strict=True)) for row in times.rows}
    assert list(rows) == ["two_numbers()", "one"]
    shown = as_text([times])
    for text in ("3000", "750", "0.25"):  # three passes of 1 s; transfers; the error
        assert text in shown
    assert not_run.rows == (("two", "there is no such device"),)


def test_a_figure_has_a_line_for_each_executor_over_the_cases(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn_figures: list[Figure]
) -> None:
    only(monkeypatch, Known("one", [1.0, 4.0]), Known("two", [1.0, 4.0]))
    cases = [
        Case(f"{k} passes", clearing(k), {}, two_numbers, {"n": 4 * k, "way": "short"})
        for k in (2, 1, 8)
    ]
    plot.draw_plan_bench(bench_plans(cases, repeat=1), tmp_path / "bench.png")
    [axes] = drawn_figures[0].axes
    assert [text.get_text() for text in axes.texts] == ["two_numbers()", "one", "two"]
    assert axes.get_xlabel() == "n"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["4", "8", "32"]
    one = axes.containers[1].lines[0]
    assert one.get_xydata().tolist() == [[4.0, 1e3], [8.0, 2e3], [32.0, 8e3]]
