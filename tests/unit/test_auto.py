"""What `auto` takes: what is expected to be done first, preparing included."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest
from fakes import FakeExecutor

from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.isa.arithmetic import F32, find_arithmetic
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict import auto
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import ALL_PASSES, Capabilities, Device, Machine, Pace, Task
from gpgpu_legacy.runtime.prepared import RunResult


class Paced(FakeExecutor):
    """An executor of a known pace."""

    def __init__(self, name: str, pace: Pace, **capabilities: bool) -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]
        self._pace = pace
        self.capabilities = Capabilities(  # type: ignore[misc]
            ALL_PASSES, **{"is_of_host": True, **capabilities}
        )

    def pace(self, device: Device) -> Pace:
        return self._pace

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        raise AssertionError


SLOW = Paced("slow", Pace(per_s=1e6), is_reference=True)
FAST = Paced("fast", Pace(1.0, code_s=1.0, kept_s=0.001, per_s=1e9))
DRIVER = Paced("driver", Pace(0.5, per_s=1e12), runs_driver_programs=True)
SOFTWARE = Paced("software", Pace(1.0, code_s=1.0, kept_s=0.001, per_s=1.2e9), is_of_host=False)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What would be kept on disk."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(auto.code_cache, "read", kept.get)
    monkeypatch.setattr(auto.code_cache, "keep", kept.__setitem__)
    monkeypatch.setattr(auto, "_known", {})
    return kept


@pytest.fixture
def among(monkeypatch: pytest.MonkeyPatch, kept: dict[str, bytes]) -> list[Executor]:
    assert not kept
    executors: list[Executor] = [SLOW, FAST, DRIVER]
    monkeypatch.setattr(auto, "executors", lambda: executors)
    monkeypatch.setattr(auto, "reference", lambda: SLOW)
    return executors


def names(plan: Plan, machine: Machine = auto.DEFAULT_MACHINE, runs: int = 1) -> list[str]:
    return [executor.name for executor in auto.ranked(plan, machine, runs)]


@pytest.mark.usefixtures("among")
def test_the_first_to_be_done_is_taken() -> None:
    small, large = (find_algorithm("jacobi").plan(n=n, passes=1) for n in (64, 4096))
    assert auto.task_of(small).work == 10 * 64 * 64  # 0.04 s by SLOW
    assert names(small) == ["slow"]
    assert names(small, runs=1000) == ["fast", "slow"]
    assert names(large) == ["fast", "slow"]
    assert names(large, Machine(arithmetic=find_arithmetic("fp16"))) == ["slow"]


@pytest.mark.usefixtures("among")
def test_what_is_run_again_and_again_is_prepared_where_it_is_fast() -> None:
    plan = find_algorithm("jacobi").plan(n=512, passes=1)  # 2.6 s by SLOW; FAST needs 11 s before
    ranking = auto.Ranking(plan, auto.DEFAULT_MACHINE)
    assert [ranking.of_next(1)[0].name for _ in range(10)] == ["slow"] * 7 + ["fast"] * 3
    assert "took fast, expected to be done first with 8 runs: in about" in ranking.reason
    assert auto.executor_for("auto", plan) is SLOW  # for a single one, as before


@pytest.mark.usefixtures("among")
def test_a_second_choice_opens_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = find_algorithm("jacobi").plan(n=4096, passes=1)
    first = names(plan)
    monkeypatch.delattr(auto.code_cache, "read")
    assert names(plan) == first == ["fast", "slow"]


def test_a_driver_is_asked_what_it_is_once_and_not_for_little(
    among: list[Executor], kept: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(SOFTWARE, "is_hardware", lambda: asked.append(1) or True)
    among.append(SOFTWARE)
    small, large = (find_algorithm("jacobi").plan(n=n, passes=1) for n in (64, 8192))
    assert names(small) == ["slow"]
    assert (asked, kept) == ([], {})
    assert names(large) == names(large) == ["software", "fast", "slow"]
    assert (asked, kept) == ([1], {"where software computes": b"gpu"})


def test_a_single_invocation_is_no_work_for_a_vector_machine() -> None:
    lone = Task(kernels=1, work=1e6, accesses=1e6, invocations=1)
    wide = Task(kernels=1, work=1e6, accesses=1e6, invocations=4096)
    pace = Pace(kernels_per_s=1e9, statement_s=1e-6)
    assert pace.run_s(lone) == pytest.approx(2.002)
    assert pace.run_s(wide) == pytest.approx(0.002 + 2e6 / 4096 * 1e-6)
    assert pace.run_s(Task(kernels=1, work=inf, invocations=1)) == inf
