"""Rooflines: a panel for each executor, points by hand, and nothing above its own roof."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_pages import ROOT

from gpgpu_legacy.chips.profile import Profile, find_profile, recorded
from gpgpu_legacy.measure import calibration
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.studies.roofline import (
    RooflinePoint,
    RoofPanel,
    RoofProduct,
    measure_here,
    roofline,
)
from gpgpu_legacy.studies.roofline import recorded as products_of

Command = Callable[..., tuple[int, str, str]]
BENCHMARKS = ROOT / "benchmarks"
N, B = 128, 32
MULTI = "hall-carr-hart-multi"


def panels(*chips: str, size: int = N, products: tuple[RoofProduct, ...] = ()) -> list[RoofPanel]:
    return list(roofline([find_profile(name) for name in chips], size, products).panels)


def of_method(panel: RoofPanel, method: str) -> RooflinePoint:
    return next(point for point in panel.points if point.plan == method)


# By hand -----------------------------------------------------------------------------------------


def test_the_intensity_of_the_multichannel_product_by_hand() -> None:
    """Texels of 16 bytes, a quarter as many as numbers, in n/2b passes that are drawn or fused.

    Drawn, a pass reads its b columns and rows and F, writes F, and a copy reads and writes it.
    Fused, every texel of A and B is read once; F and its copy are, too, and are written at last.
    """
    side, passes = N // 2, N // 2 // B
    drawn, fused = (of_method(p, MULTI) for p in panels("geforce-6800-ultra", "h200-gl-compute"))
    bytes_drawn = passes * 16 * (2 * B * side + 4 * side**2)
    bytes_fused = 16 * (2 * side**2 + 4 * side**2)
    assert drawn.flops_per_byte == pytest.approx(2 * N**3 / bytes_drawn)
    assert fused.flops_per_byte == pytest.approx(2 * N**3 / bytes_fused)


def test_the_roofs_are_the_peak_and_the_memory() -> None:
    [panel] = panels("h200-gl-compute")
    found = {roof.name: roof.gflops or roof.gb_per_s for roof in panel.roofs}
    assert found == {"arithmetic": 46120.0, "memory": 2067.0}
    assert panel.executor == "gl-compute"


SOME = ("geforce3", "radeon-9800-xt", "quadro-4000", "mali-t604", "h100-sxm5")


@pytest.mark.parametrize("chip", SOME)
def test_no_bound_is_above_the_roofs_that_are_drawn(chip: str) -> None:
    """Recorded chips are below, with the times that were taken there."""
    for panel in panels(chip, size=64):
        assert_bounds_under_roofs(panel)


def assert_bounds_under_roofs(panel: RoofPanel) -> None:
    flat = max((roof.gflops for roof in panel.roofs if roof.gflops), default=None)
    slope = max((roof.gb_per_s for roof in panel.roofs if roof.gb_per_s), default=None)
    for point in panel.points:
        if point.bound_gflops is not None:
            assert flat is None or point.bound_gflops <= flat * (1 + 1e-9)
            assert slope is None or point.bound_gflops <= slope * point.flops_per_byte * (1 + 1e-9)


# What was recorded -------------------------------------------------------------------------------


RECORDED = {"h100-gl-compute": "bench-h100.json", "h100-gl-raster": "bench-h100-raster.json"}
"""The benchmarks of machines whose times the log of mispredictions does not have."""


@pytest.mark.parametrize("chip", recorded(), ids=lambda chip: chip.name)
def test_no_bound_and_no_recorded_time_is_above_the_roof_of_its_executor(chip: Profile) -> None:
    file = RECORDED.get(chip.name)
    [panel] = roofline([chip], N, products_of(BENCHMARKS / file) if file else ()).panels
    assert [point for point in panel.points if point.gflops]
    assert not any(point.above for point in panel.points)
    assert_bounds_under_roofs(panel)


# This machine ------------------------------------------------------------------------------------


def test_kept_rates_are_used_and_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPGPU_LEGACY_PROFILES", str(tmp_path))
    calls: list[str] = []
    calibrate = calibration.calibrate

    def counted(executor: Any, **more: Any) -> Any:
        calls.append(executor.name)
        return calibrate(executor, run_s=1e-4, **more)

    monkeypatch.setattr(calibration, "calibrate", counted)
    jit = find_executor("jit")
    [profile], bench = measure_here([jit], 16, Budget(3.0))
    assert calls == ["jit"]
    assert profile.executor == "jit"
    assert {result.executor for result in bench.results} == {"jit"}
    kept = ROOT / "gpgpu_legacy" / "chips" / "profiles" / "recorded" / "xeon-jit.toml"
    text = kept.read_text("utf-8").replace('name = "xeon-jit"', 'name = "this-jit"')
    (tmp_path / "this-jit.toml").write_text(text, "utf-8")
    [profile], _ = measure_here([jit], 16, Budget(0.0))
    assert calls == ["jit"]
    assert (
        profile.hardware.fragment_peak_gflops
        == find_profile("xeon-jit").hardware.fragment_peak_gflops
    )


# The command -------------------------------------------------------------------------------------


def test_the_roofline_is_drawn_and_names_a_point_above_its_roof(
    run: Command, tmp_path: Path
) -> None:
    picture = tmp_path / "roof.png"
    chip = ("study", "roofline", "--chip", "radeon-9800-xt", "n=128")
    code, _, _ = run(*chip, "--plot", str(picture))
    assert code == 0 and picture.read_bytes().startswith(b"\x89PNG")
    data = json.loads((BENCHMARKS / "lineage-h100.json").read_text("utf-8"))
    [step] = [step for step in data["results"] if step["plan"] == MULTI]
    step.update(seconds=1e-6, gflops=None)
    step["parameters"]["n"] = 128
    data["results"] = [step]
    path = tmp_path / "too-fast.json"
    path.write_text(json.dumps(data), "utf-8")
    code, out, _ = run(*chip, "--from", str(path))
    assert code == 1
    assert f"{MULTI} at n = 128 is above its roof" in out
