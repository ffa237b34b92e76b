"""Calibration: profiles that the strict reader takes, found by name, written whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import FakeExecutor

from gpgpu_legacy.chips.profile import (
    calibrated,
    calibrated_name,
    find_profile,
    profiles,
)
from gpgpu_legacy.measure.calibration import calibrate, calibrate_all, count_steps
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.plan.plan import ComputePass, Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import ALL_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import F32, RunResult, Timings


class Clockwork(FakeExecutor):
    """An executor that computes nothing, and takes a second a pass and half a one a transfer."""

    name, summary = "clockwork", "a clock"
    capabilities = Capabilities(ALL_PASSES - {ComputePass})

    def device(self) -> str:
        return 'a "clock"'

    def is_hardware(self) -> bool:
        return True

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        passes = sum(times for times, _ in plan.weighted_passes())
        outputs = {m.name: np.zeros((m.rows, m.columns), np.float32) for m in plan.results}
        return RunResult(outputs, Timings(0.5, float(passes), 0.5))


def test_rates_are_work_over_time() -> None:
    told: list[str] = []
    made = calibrate(Clockwork(), runs=3, budget=Budget(tell=told.append))
    found = {name: ceiling.median for name, ceiling in made.ceilings.items()}
    assert found["lookups_32_bits_g_per_s"] == pytest.approx(2 * 32 * 1024**2 / 1e9)
    assert found["lookups_128_bits_g_per_s"] == pytest.approx(2 * 32 * 512**2 / 1e9)
    assert found["fragment_peak_gflops"] == pytest.approx(32 * 8 * 8 * 512**2 / 1e9)
    assert found["blends_32_bits_g_per_s"] == pytest.approx(1024**2 / 1e9)
    assert found["memory_gb_per_s"] == pytest.approx(2 * 16 * 2048**2 / 1e9)
    assert found["dots_g_per_s"] == pytest.approx(8 * 32 * 512**2 / 1e9)
    assert found["pass_us"] == pytest.approx(1e6)
    assert found["run_us"] == pytest.approx(1e6)
    assert found["upload_gb_per_s"] == pytest.approx(2 * 4 * 1024**2 / 0.5 / 1e9)
    assert found["readback_gb_per_s"] == pytest.approx(4 * 1024**2 / 0.5 / 1e9)
    assert len(told) == count_steps(3)


def test_every_plan_is_closed_where_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clockwork()
    run, left = clock.result, iter(range(5))

    def fails(*given: Any) -> RunResult:
        next(left)
        return run(*given)

    monkeypatch.setattr(clock, "result", fails)
    with pytest.raises(StopIteration):
        calibrate(clock, runs=1)
    assert len(clock.prepared) == 6
    assert all(each.closed for each in clock.prepared)


def test_a_calibrated_profile_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPGPU_LEGACY_PROFILES", str(tmp_path / "new"))
    assert calibrated() == ()
    clock = Clockwork()
    [made] = calibrate_all([clock], 1, Budget()).profiles
    [path] = (tmp_path / "new").iterdir()
    assert (path.name, str(path)) == (f"{calibrated_name('clockwork')}.toml", made.file)
    found = find_profile("this-clockwork")
    assert found.title == 'a "clock", by clockwork'
    assert {fact.source for _, fact in found.facts()} == {"measured"}
    assert found not in profiles()
    assert found.hardware.chains_passes is not None and not found.hardware.chains_passes.value


@pytest.mark.gl
def test_a_real_executor_has_every_ceiling(ready: Callable[[str], Executor]) -> None:
    made = calibrate(ready("gl-raster"), runs=1, run_s=0.0)
    assert all(0.0 < ceiling.median < inf for ceiling in made.ceilings.values())
