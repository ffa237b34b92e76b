"""The log of mispredictions: numbers as printed and recorded, ratios that hold."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from gpgpu_legacy.algorithms.parameters import plainly
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.predict.mispredictions import LoggedTime, Origin, compare, read_log
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Evidence

ROOT = Path(__file__).parents[2]
CASES = read_log().case
LONGEST = {"row-packed": 1024, "packed-2x2": 1024}  # one long program, which takes long to analyse
FRAGMENTS = {
    "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi", "row-packed", "packed-2x2"
}  # fmt: skip

compared = cache(compare)


def name(case: LoggedTime) -> str:
    how = case.rule or (case.accumulate.value if case.accumulate else "")
    return f"{case.chip}-{case.method}-{case.size}-{how}{'printed' * case.as_printed}"


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.size <= LONGEST.get(c.method, c.size)], ids=name
)
def test_the_ratio_is_the_recorded_one(case: LoggedTime) -> None:
    row = compared(case)
    assert row.ratio == pytest.approx(case.ratio, rel=0.02)
    assert row.as_recorded and row.binds
    assert len(row.reason) > 30
    # Only what the printed times refute is violated, and calibrations are never bounds.
    assert row.holds is (None if row.evidence is not Evidence.BOUND else not case.is_hypothetical)


@pytest.mark.parametrize("case", [c for c in CASES if c.origin is Origin.PUBLISHED], ids=name)
def test_published_times_are_the_papers(case: LoggedTime) -> None:
    table_id, label = case.where.split(", ")
    table = next(t for p in papers() for t in p.measured if t.id == table_id)
    cell = table.find(label).at(case.size, case.block)
    assert cell is not None and cell.unit == "ms"
    assert case.seconds == pytest.approx(cell.value / 1000.0)


@pytest.mark.parametrize("case", [c for c in CASES if c.origin is Origin.MEASURED], ids=name)
def test_measured_times_are_the_recorded_ones(case: LoggedTime) -> None:
    data = json.loads((ROOT / case.where).read_text("utf-8"))
    if "results" in data:
        step = next(
            r
            for r in data["results"]
            if r["plan"] == case.method and r["parameters"]["n"] == case.size
        )
        block = step["parameters"].get("block")
    else:
        executor = case.chip.partition("-")[2]
        accumulate = plainly(case.accumulate)
        if accumulate is None and "accumulate" in find_product(case.method).parameters:
            accumulate = find_product(case.method).parameters["accumulate"].plain_default
        wanted = (executor, case.method, case.size, accumulate)
        [step] = [
            r
            for r in data["runs"]
            if (r["executor"], r["method"], r["size"], r["accumulate"]) == wanted
        ]
        block = step["block"]
    assert case.seconds == pytest.approx(step["seconds"], rel=1e-4)
    assert case.block == block


def test_fragment_methods_on_calibrated_machines_are_within_a_factor_of_two() -> None:
    measured = [c for c in CASES if c.origin is Origin.MEASURED and c.method in FRAGMENTS]
    beyond = {(c.chip, c.method) for c in measured if not 0.5 <= c.ratio <= 2.0}
    assert not beyond


# What a comparison shows ------------------------------------------------------------------------


def test_evidence_follows_from_the_sources_of_the_rates() -> None:
    """By hand: data sheets bound, a machine's own rates calibrate, four clocks are Fatahalian's."""
    shows = {
        Evidence.CALIBRATION: ("h200-", "h100-gl", "xeon-"),
        Evidence.CIRCULAR: ("radeon-", "geforce-fx", "geforce-6"),
        Evidence.BOUND: ("geforce-9400m-g", "quadro-4000", "mali-t604", "h100-sxm5"),
    }
    for case in (c for c in CASES if c.size <= 1024):
        assert case.chip.startswith(shows[compared(case).evidence]), case.chip


def test_no_bound_of_the_audit_rests_on_the_paper_that_it_is_compared_with() -> None:
    kinds = set()
    for paper in papers():
        for claim in paper.claims:
            given = claim.arguments
            if claim.derive == "least_time" and (
                given["size"] <= 128 or paper.id == "mali-sdk-sgemm"
            ):
                how = {key: given[key] for key in given if key in Product.__slots__}
                found = predict(Inputs(paper).product(**how).plan, find_profile(str(given["chip"])))
                kinds.add((paper.id, found.against(paper.id)))
    assert {kind for _, kind in kinds} == {Evidence.BOUND} and len(kinds) == 3
