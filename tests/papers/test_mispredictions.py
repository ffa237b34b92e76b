"""The log of mispredictions: numbers as printed and recorded, ratios that hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpgpu_legacy.bench.mispredictions import Case, Compared, Origin, compare_all, read_cases
from gpgpu_legacy.papers.schema import papers

ROOT = Path(__file__).parents[2]
CASES = read_cases()[1]
FRAGMENTS = {
    "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi", "row-packed", "packed-2x2"
}  # fmt: skip


def name(case: Case) -> str:
    return f"{case.chip}-{case.method}-{case.size}"


@pytest.fixture(scope="module")
def compared() -> dict[str, Compared]:
    return {name(row.case): row for row in compare_all()}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_ratio_is_the_recorded_one(case: Case, compared: dict[str, Compared]) -> None:
    row = compared[name(case)]
    assert row.ratio == pytest.approx(case.ratio, rel=0.02)
    assert row.holds and row.binds
    assert len(case.reason) > 30


@pytest.mark.parametrize("case", [c for c in CASES if c.kind is Origin.PUBLISHED], ids=name)
def test_published_times_are_the_papers(case: Case) -> None:
    table_id, label = case.where.split(", ")
    table = next(t for p in papers() for t in p.measured if t.id == table_id)
    cell = table.find(label).at(case.size, case.block)
    assert cell is not None and cell.unit == "ms"
    assert case.seconds == pytest.approx(cell.value / 1000.0)


@pytest.mark.parametrize("case", [c for c in CASES if c.kind is Origin.MEASURED], ids=name)
def test_measured_times_are_the_recorded_ones(case: Case) -> None:
    data = json.loads((ROOT / case.where).read_text("utf-8"))
    assert data["size"] == case.size
    step = next(s for s in data["steps"] if s["method"] == case.method)
    assert case.seconds == pytest.approx(step["seconds"], rel=1e-4)
    assert case.block == step["block"]


def test_fragment_methods_on_calibrated_machines_are_within_a_factor_of_two() -> None:
    measured = [c for c in CASES if c.kind is Origin.MEASURED and c.method in FRAGMENTS]
    assert {c.method for c in measured if c.chip == "h100-gl-raster"} == FRAGMENTS
    assert {c.method for c in measured if c.chip == "epyc-gl-raster"} == FRAGMENTS
    assert all(0.5 <= c.ratio <= 2.0 for c in measured)


def test_a_ratio_that_moved_does_not_hold() -> None:
    case = CASES[0]
    moved = Compared(case, case.seconds * case.ratio * 1.05, "arithmetic", 0.02)
    assert not moved.holds
