"""The lineage: every method once, in order, beside a ceiling measured in the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import measure
from gpgpu_legacy.measure.other_work import OtherWork
from gpgpu_legacy.measure.peers import Peer
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.serial import json_text
from gpgpu_legacy.studies.lineage import model
from gpgpu_legacy.studies.lineage.model import lineage
from gpgpu_legacy.studies.lineage.record import Lineage, Step, read_lineage
from gpgpu_legacy.studies.lineage.table import lineage_grid

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
N = 8


@pytest.fixture(scope="module", autouse=True)
def short_rounds() -> Iterator[None]:
    """Few runs of each method: how steady the times are is nothing to these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "ROUNDS", replace(model.ROUNDS, round_s=0.005))
        yield


@pytest.fixture(scope="module")
def result() -> Lineage:
    return lineage(N, executor="numpy")


@pytest.fixture
def steps(result: Lineage) -> tuple[Step, ...]:
    return result.steps


def test_every_method_is_there_in_the_order_of_history(steps: tuple[Step, ...]) -> None:
    assert [s.method for s in steps] == [method.name for method in methods()]
    years = [s.year for s in steps]
    assert years == sorted(years)


def test_intensity_is_multiply_adds_over_bytes_requested(steps: tuple[Step, ...]) -> None:
    by_name = {s.method: s for s in steps}
    # Larson & McAllister: 16 bytes for each multiply-add (Table 1).
    assert by_name["larson-mcallister"].multiply_adds_per_byte == pytest.approx(1 / 16)
    # MulH loads one element of A and one of B a step, and stores n² of n³ steps: 8n³ + 4n².
    assert by_name["dobravec-bulic-host"].multiply_adds_per_byte == pytest.approx(
        N**3 / (8 * N**3 + 4 * N**2)
    )


def test_fractions_are_of_the_ceiling(result: Lineage) -> None:
    """Of the host's library, as all steps ran on the host; a GPU's may stand beside it."""
    ceilings = {ceiling.name: ceiling for ceiling in result.ceilings}
    [name] = {step.ceiling for step in result.steps}
    ceiling = ceilings[name]
    assert "BLAS" in name
    assert ceiling.gflops > 0
    for step in result.steps:
        assert step.gflops is not None
        assert step.fraction_of_ceiling == pytest.approx(step.gflops / ceiling.gflops)


def test_methods_and_ceilings_take_rounds_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a machine that is busy for a while slows both of them."""
    measured = []

    def record(jobs: Any, *given: Any, **more: Any) -> Any:
        measured.append([job.series.method for job in jobs])
        return measure(jobs, *given, **more)

    monkeypatch.setattr(engine, "measure", record)
    lineage(2, executor="numpy")
    [together] = measured
    assert "numpy-blas" in together
    assert {method.name for method in methods()} < set(together)


@pytest.mark.parametrize(("share", "disturbed"), [(0.01, False), (0.5, True)])
def test_a_ceiling_below_a_method_is_none_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, share: float, disturbed: bool
) -> None:
    @contextmanager
    def slow(a: Any, b: Any) -> Iterator[Any]:
        yield lambda: (10.0, a @ b)

    monkeypatch.setattr(
        model, "peers", lambda: iter([Peer("slow", "A library", "", "it", slow, np.matmul)])
    )
    monkeypatch.setattr(OtherWork, "share", lambda _: share)
    result = lineage(2, executor="numpy")
    assert [c.disturbed for c in result.ceilings] == [disturbed]
    assert all((step.fraction_of_ceiling is None) is disturbed for step in result.steps)
    assert ("A library was disturbed" in as_text([lineage_grid(result)])) is disturbed


def test_a_spent_budget_leaves_reasons() -> None:
    result = lineage(N, executor="numpy", budget=Budget(0.0))
    assert [c.name for c in result.ceilings] == ["NumPy's BLAS"]
    assert {step.reason for step in result.steps} == {"the budget was spent"}
    assert "the budget was spent" in as_text([lineage_grid(result)])


def test_json_and_table_have_a_row_for_each(result: Lineage, tmp_path: Path) -> None:
    data = json.loads(json_text(result))
    assert len(data["steps"]) == len(result.steps) == len(lineage_grid(result).rows)
    assert data["size"] == N
    assert data["ceilings"]
    path = tmp_path / "lineage.json"
    path.write_text(json_text(result), encoding="utf-8")
    assert read_lineage(path) == result


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("lineage-*.json")), ids=lambda p: p.name)
def test_recorded_lineages_still_read(path: Path) -> None:
    assert lineage_grid(read_lineage(path)).rows
