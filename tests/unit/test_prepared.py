"""Plans that stay prepared between runs: who gets which, and when they are closed."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, get_ident

import numpy as np
import pytest
from fakes import FakeExecutor, FakePrepared
from sorting import in_order, shuffled, sort_plan

from gpgpu_legacy.api import prepared as module
from gpgpu_legacy.api.prepared import PreparedPlans, close_prepared
from gpgpu_legacy.api.run import Request
from gpgpu_legacy.errors import (
    GpgpuLegacyError,
    NoDeviceRoomError,
    NoRoomError,
)
from gpgpu_legacy.plan.plan import ClearPass, Plan
from gpgpu_legacy.plan.textures import (
    RGBA32F,
    Extent,
    Texture,
    TextureKind,
)
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, Held, Prepared, RunResult, Timings

TEXEL_BYTES = 16  # of RGBA32F: four channels of four bytes


class Idle(FakeExecutor):
    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        return RunResult({}, Timings(0.0, 0.0, 0.0))


def cleared(side: int, value: float = 1.0, name: str = "cleared") -> Plan:
    """A texture of side × side texels, cleared once, of TEXEL_BYTES·side² bytes."""
    texture = Texture("T", TextureKind.RECT, Extent(side, side), RGBA32F)
    return Plan(name, (), (), (texture,), (), (ClearPass("T", (value,) * 4),), ())


def test_an_equal_plan_is_prepared_once() -> None:
    fake, plans = Idle(), PreparedPlans()
    for _ in range(3):
        with plans.prepared(cleared(2), [fake]) as (_, prepared):
            prepared.run({})
    assert len(fake.prepared) == 1
    assert not fake.prepared[0].closed
    plans.close()
    assert fake.prepared[0].closed
    assert len(plans) == 0


def test_a_second_run_of_a_plan_prepares_nothing() -> None:
    given = {"values": shuffled(32, 32)}
    close_prepared()
    first, second = (Request(sort_plan(32, 32), given, "jit", Machine()).run()[1] for _ in range(2))
    assert second.timings.prepare_s < first.timings.prepare_s / 2
    assert np.array_equal(second.outputs["sorted"], in_order(given["values"]))
    close_prepared()


@pytest.mark.parametrize(
    ("executor", "plan", "machine"),
    [
        (Idle(), cleared(2), Machine(exact=True)),
        (Idle(), cleared(2, 2.0), Machine()),
        (Idle(), cleared(2, name="other"), Machine()),
        (None, cleared(2), Machine()),
    ],
)
def test_another_machine_plan_or_executor_is_prepared_anew(
    executor: FakeExecutor | None, plan: Plan, machine: Machine
) -> None:
    first, plans = executor or Idle(), PreparedPlans()
    other = executor or Idle()
    with plans.prepared(cleared(2), [first]) as (_, one):
        pass
    with plans.prepared(plan, [other], machine) as (_, two):
        assert two is not one
    assert len(plans) == 2


def test_the_least_recently_used_is_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLANS", 2)
    fake, plans = Idle(), PreparedPlans()
    for side in (1, 2, 1, 3):
        with plans.prepared(cleared(side), [fake]):
            pass
    closed = {p.plan.textures[0].extent.width: p.closed for p in fake.prepared}
    assert closed == {1: False, 2: True, 3: False}


def test_textures_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", TEXEL_BYTES * 5)
    fake, plans = Idle(), PreparedPlans()  # 2×2 and 1×1 fit together
    for side in (2, 1):
        with plans.prepared(cleared(side), [fake]):
            pass
    assert len(plans) == 2
    with plans.prepared(cleared(1, 2.0), [fake]):
        pass
    assert [p.closed for p in fake.prepared] == [True, False, False]


def test_what_is_too_large_is_closed_at_once_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", TEXEL_BYTES * 5)
    monkeypatch.setattr(module, "MOST_STEPS", 2)
    fake, plans = Idle(), PreparedPlans()
    long = replace(cleared(1), steps=cleared(1).steps * 3)
    for plan in (cleared(1), cleared(3), long):
        with plans.prepared(plan, [fake]):
            pass
    assert [p.closed for p in fake.prepared] == [False, True, True]


def test_threads_at_once_have_plans_of_their_own() -> None:
    threads = 4
    fake, plans, together = Idle(), PreparedPlans(), Barrier(threads)

    def run(_: int) -> tuple[int, int]:
        with plans.prepared(cleared(2), [fake]) as (_, prepared):
            together.wait(timeout=30)
            return get_ident(), id(prepared)

    with ThreadPoolExecutor(threads) as pool:
        got = list(pool.map(run, range(threads)))
    assert len({which for _, which in got}) == threads
    assert len(plans) == threads
    plans.close()
    assert all(p.closed for p in fake.prepared)


class Cramped(Idle):
    """Has memory for one prepared plan."""

    def __init__(self, refusal: GpgpuLegacyError) -> None:
        super().__init__()
        self.refusal = refusal

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        if any(not one.closed for one in self.prepared):
            raise self.refusal
        return super()._prepare(plan, machine)


@pytest.mark.parametrize(
    "refusal", [NoRoomError("of the host"), NoDeviceRoomError("of the device")], ids=str
)
def test_those_that_wait_give_up_their_memory_for_another(refusal: GpgpuLegacyError) -> None:
    cramped, plans = Cramped(refusal), PreparedPlans()
    for side in (1, 2):
        with plans.prepared(cleared(side), [cramped]):
            assert [one.closed for one in cramped.prepared] == [True] * (side - 1) + [False]
    with (
        plans.prepared(cleared(2), [cramped]),
        pytest.raises(type(refusal), match=str(refusal)),
        plans.prepared(cleared(3), [cramped]),
    ):
        pass


class OnDevice(Idle):
    """Holds textures in a GPU's memory."""

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        return _HeldByDevice(self, plan, machine)


class _HeldByDevice(FakePrepared):
    @property
    def held(self) -> Held:
        return Held(device_bytes=self.plan.texture_bytes)


def test_a_gpus_memory_has_a_bound_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 0)
    monkeypatch.setattr(module, "MOST_DEVICE_BYTES", TEXEL_BYTES * 5)
    fake, plans = OnDevice(), PreparedPlans()
    for side in (2, 1, 1, 3):
        with plans.prepared(cleared(side), [fake]):
            pass
    assert [one.closed for one in fake.prepared] == [False, False, True]
    with plans.prepared(cleared(2, 2.0), [fake]):
        pass
    assert [one.closed for one in fake.prepared] == [True, False, True, False]
