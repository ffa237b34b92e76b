"""Pipelines measured on executors, in turn with peers and a reference function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from fakes import Clock, FakeExecutor
from sorting import sort_plan

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.measure.bench import Bench, Timed
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.timing import Budget, Rounds
from gpgpu_legacy.measure.work import size_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import ClearPass, Plan, Repeat
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    Extent,
    Matrix,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import F32, Prepared, RunResult, Timings


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

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        self.passes_run.append(plan.pass_count)
        compute_s = self.pass_s * plan.pass_count
        self.clock.now += compute_s
        y = np.array([self.values], np.float32)
        return RunResult({"y": y}, Timings(0.5, compute_s, 0.25, 2.0))


class Absent(Known):
    def device(self) -> str:
        raise ExecutorUnavailableError("there is no such device")


class Refusing(Known):
    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        raise PlanError("it has no room for the texture")


class Failing(Known):
    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        raise RuntimeError("the driver gave up")


def clearing(count: int = 1, side: int = 2) -> Plan:
    """`count` clears of side × side texels; y is the first two texels."""
    texture = Texture("T", TextureKind.RECT, Extent(side, side), R32F)
    output = Transfer("y", Region(0, 0, 1, 2), "T", Rect(0, 0, 2, 1), ONE_PER_TEXEL)
    steps = (Repeat(count, (ClearPass("T"),)),)
    return Plan("clearing", (), (Matrix("y", 1, 2),), (texture,), (), steps, (output,))


def made(plan: Plan, reference: Callable[..., Any] | None = None, **parameters: Any) -> PlanBuilder:
    p = PlanBuilder.continuing(plan)
    p.reference, p.parameters = reference, parameters
    return p


def only(monkeypatch: pytest.MonkeyPatch, *fakes: Executor) -> None:
    for module in ("runtime.executor", "measure.benchmark"):
        monkeypatch.setattr(f"gpgpu_legacy.{module}.executors", lambda: fakes)


def bench(
    *cases: Case | PlanBuilder, rounds: int = 1, budget: Budget | None = None, **more: Any
) -> Bench:
    wanted = [case if isinstance(case, Case) else Case(case, {}) for case in cases]
    return Benchmark(wanted, rounds=Rounds(rounds), **more).measure(budget or Budget())


def by_name(found: Bench) -> dict[str, Timed]:
    return {result.executor: result for result in found.results}


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
    measured = bench(made(clearing(), two_numbers))
    found = by_name(measured)
    assert list(found) == ["two_numbers", "machine", "other", "same"]
    [notes] = [grid.notes for grid in measured.grids() if grid.id == "bench"]
    assert any("machine at" in note and "over 1 %" in note for note in notes)
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


def test_times_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Known("quick", [1.0, 4.0], 2.0), Known("slow", [1.0, 4.0], 3.0))
    p = made(clearing(2), two_numbers, n=2)
    p.operations = 12 * 10**9
    result = bench(p, rounds=2)
    found = by_name(result)
    assert (found["quick"].seconds, found["slow"].seconds) == (4.0, 6.0)
    assert (found["quick"].gflops, found["slow"].gflops) == (3.0, 2.0)
    assert found["two_numbers"].is_reference
    assert (found["slow"].prepare_s, found["slow"].upload_s, found["slow"].readback_s) == (
        2.0, 0.5, 0.25,
    )  # fmt: skip
    assert found["slow"].spread == (6.0, 6.0)
    assert [r.max_difference for r in result.results] == [None, None, None]
    assert (result.repeat, result.plans) == (2, ("clearing",))
    assert found["slow"].parameters == {"n": 2}
    [times] = result.grids(whole=True)
    shown = {row[0]: dict(zip(times.heads, row, strict=True)) for row in times.rows}
    assert (shown["slow"]["fastest"], shown["slow"]["prepare, ms"]) == (6000.0, 2000.0)


# Products, on a clock that goes by what is run ---------------------------------------------------


def test_libraries_run_once_for_all_products_of_a_size_and_are_peers_of_each() -> None:
    methods = [find_product(name) for name in ("larson-mcallister", "hall-carr-hart-multi")]
    wide = {"m": 4, "l": 6, "n": 3, "transpose_a": True}
    cases = [Case(m.builder(**p), executors=["jit"]) for p in ({"n": 4}, wide) for m in methods]
    found = bench(*cases, peers=["numpy-blas"])
    case = ("n = 4", "m = 4, l = 6, n = 3, transpose_a = True")
    assert [(r.case.split(", transpose_b")[0], r.plan, r.executor) for r in found.results] == [
        (f"{label}, transpose_a = False" if label == "n = 4" else label, plan, executor)
        for label in case
        for plan, executor in (
            (None, "numpy-blas"),
            ("larson-mcallister", "jit"),
            ("hall-carr-hart-multi", "jit"),
        )
    ]
    for own in (r for r in found.results if r.is_own):
        assert list(found.peers_of(own)) == ["numpy-blas"]
        assert found.peers_of(own)["numpy-blas"].case == own.case
    assert all(r.max_error is not None and r.max_error < 1e-6 for r in found.results)
    with pytest.raises(InputError, match="there is no library mkl here; choose from numpy-blas"):
        bench(*cases, peers=["mkl"])


def test_whole_calls_are_timed_from_inputs_to_outputs() -> None:
    calls: list[str] = []

    def call(p: PlanBuilder, inputs: Mapping[str, F32], executor: Executor, _: Machine) -> Any:
        calls.append(executor.name)
        return {"C": inputs["A"] @ inputs["B"]}

    p = find_product("larson-mcallister").builder(n=16)
    found = bench(Case(p, executors=["jit"]), call=call, peers=["numpy-blas"])
    assert found.whole
    assert set(calls) == {"jit"}
    assert [r.executor for r in found.results] == ["numpy-blas", "jit"]
    assert found.results[1].prepare_s is None
    assert "whole calls" in as_text(found.grids())


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
    found = bench(made(clearing(), two_numbers))
    assert list(by_name(found)) == ["two_numbers", "good"]
    assert [(entry.executor, entry.reason) for entry in found.not_run] == [
        ("refusing", "it has no room for the texture"),
        ("failing", "the driver gave up"),
        ("drawing", "it does not run clears"),
        ("absent", "there is no such device"),
    ]


def test_what_cannot_be_measured_is_refused_before_anything_runs() -> None:
    one, sort = made(clearing(), n=1), made(sort_plan(4, 4))
    for cases, message in (
        ((), "there is nothing to measure; give one case at least"),
        ((one, one), "two cases are clearing at clearing; give it once"),
        ((Case(sort, {}),), "plan bitonic-sort needs the inputs values; "),
        ((Case(one, {}, ["gpu"]),), "there is no executor gpu; choose from auto, "),
    ):
        with pytest.raises(InputError, match=message):
            bench(*cases)


# The work of a plan ------------------------------------------------------------------------------


def test_the_size_is_the_cube_root_of_the_work() -> None:
    """A clear of 64 × 64 texels of four bytes is 4096 words: 64 of them make 64³."""
    assert size_of(clearing(64, 64)) == 64
