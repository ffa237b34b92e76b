"""Denormals: measured, kept where a run is exact, and refused where a device flushes them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from drawing import EACH_EXECUTOR
from fakes import FakeExecutor
from flushing import IS_KNOWN, flushing

import gpgpu_legacy as g
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict import auto
from gpgpu_legacy.runtime import exactness, workers
from gpgpu_legacy.runtime.exactness import DataPath, flushed_by
from gpgpu_legacy.runtime.executor import executors, find_executor
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Capabilities, Device, Machine, Pace
from gpgpu_legacy.runtime.prepared import RunResult

EXACT = Machine(exact=True)
SIDE = 64  # enough for several threads
A = np.full((SIDE, SIDE), 1e-42, np.float32)
B = np.full((SIDE, SIDE), 1e38, np.float32)
PRODUCT = SIDE * float(np.float32(1e-42)) * float(np.float32(1e38))  # in float64


needs_x86 = pytest.mark.skipif(not IS_KNOWN, reason="only glibc's fenv_t of x86-64")


@needs_x86
def test_a_flushing_thread_is_found_out() -> None:
    measured = flushed_by.__wrapped__
    for name in ("numpy", "jit"):
        assert measured(find_executor(name).run) == frozenset()
    with flushing():
        for name in ("numpy", "jit"):
            assert measured(find_executor(name).run) == frozenset(DataPath) - {DataPath.MOVED}
        assert not exactness.thread_keeps_denormals()
    assert exactness.thread_keeps_denormals()


@needs_x86
@pytest.mark.parametrize("name", ["numpy", "jit"])
def test_a_flushing_thread_runs_nothing_exactly(name: str) -> None:
    plan, executor = find_product("hall-carr-hart-multi").plan(n=2), find_executor(name)
    operands = {"A": A[:2, :2], "B": B[:2, :2]}
    with executor.prepare(plan, EXACT) as prepared:
        with flushing():
            with pytest.raises(
                PlanError, match=r"cannot run .* exactly, for denormals are flushed"
            ):
                executor.prepare(plan, EXACT)
            with pytest.raises(PlanError, match="in this thread, where denormals are flushed"):
                prepared.run(operands)
        assert prepared.run(operands).outputs["C"][0, 0] == pytest.approx(PRODUCT / 32)


@needs_x86
def test_a_flushing_thread_leaves_workers_that_keep_denormals() -> None:
    """Threads inherit the mode of the one that starts them, and a process starts them once."""
    workers._pool_of.cache_clear()
    with flushing():
        g.matmul(A, B, "opengl-compute-tiled", executor="jit")
    found = g.matmul(A, B, "opengl-compute-tiled", executor="jit", exact=True)
    np.testing.assert_allclose(found, PRODUCT, rtol=1e-5)


@pytest.mark.parametrize("method", ["hall-carr-hart-multi", "opengl-compute-tiled"])
@EACH_EXECUTOR
def test_an_exact_product_of_denormals_is_right_or_refused(name: str, method: str) -> None:
    executor = find_executor(name)
    plan = find_product(method).plan(n=1)
    if plan.kinds - executor.capabilities.passes:
        pytest.skip("it has no kernels")
    if why := executor.why_inexact(plan, EXACT):
        with pytest.raises(PlanError) as raised:
            g.matmul(A, B, method, executor=executor.name, exact=True)
        assert why in str(raised.value)
        assert "or exactly on numpy or" in str(raised.value)
        assert executor.name not in str(raised.value).rpartition("exactly on")[2]
        return
    found = g.matmul(A, B, method, executor=executor.name, exact=True)
    np.testing.assert_allclose(found, PRODUCT, rtol=1e-5)


# What follows from it -----------------------------------------------------------------------


class Flushing(FakeExecutor):
    """Flushes on some data paths, and would be the first choice of `auto`: it takes no time."""

    name = "flushing"
    capabilities = Capabilities(FRAGMENT_PASSES, is_of_host=True)

    def __init__(self, *paths: DataPath) -> None:
        super().__init__()
        self.paths = frozenset(paths)

    def pace(self, device: Device) -> Pace:
        return Pace(per_s=inf)

    def flushed_paths(self) -> frozenset[DataPath]:
        return self.paths

    def result(self, plan: Plan, operands: object, machine: Machine) -> RunResult:
        raise AssertionError


def test_who_flushes_is_not_chosen_for_exact_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    known, fake = executors(), Flushing(DataPath.COMPUTED)
    monkeypatch.setattr(auto, "executors", lambda: (*known, fake))
    plan = find_product("hall-carr-hart-multi").plan(n=2)
    assert next(iter(auto.ranked(plan))) is fake
    assert fake not in auto.ranked(plan, EXACT)
    assert next(iter(auto.ranked(plan, Machine(exact=True, denormals=False)))) is fake


def test_only_what_a_plan_does_is_refused() -> None:
    draws = find_product("hall-carr-hart-multi").plan(n=2)
    blends = find_product("larson-mcallister").plan(n=2)
    assert Flushing(DataPath.MOVED, DataPath.BLENDED).why_inexact(draws, EXACT)
    assert not Flushing(DataPath.BLENDED).why_inexact(draws, EXACT)
    fp24 = Machine(exact=True, arithmetic=ARITHMETICS["fp24"])
    assert not Flushing(*DataPath).why_inexact(draws, fp24)
    assert "blends" in Flushing(DataPath.BLENDED).why_inexact(blends, EXACT)
