"""The lineage: every method once, in order, beside a ceiling measured in the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.studies.lineage.model import Ceiling, Step, lineage, lineage_as_json
from gpgpu_legacy.studies.lineage.plot import draw_lineage
from gpgpu_legacy.studies.lineage.table import lineage_grid

N = 8


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return lineage(N, executor="numpy")


def test_every_method_is_there_in_the_order_of_history(steps: list[Step]) -> None:
    assert [s.method for s in steps] == list(methods())
    years = [s.method.year for s in steps]
    assert years == sorted(years)


def test_every_method_says_what_was_lacking() -> None:
    assert all(method.lacked for method in methods())


def test_intensity_is_multiply_adds_over_bytes_requested(steps: list[Step]) -> None:
    by_name = {s.method.name: s for s in steps}
    # Larson & McAllister: 16 bytes for each multiply-add (Table 1).
    assert by_name["larson-mcallister"].intensity == pytest.approx(1 / 16)
    # MulH loads one element of A and one of B a step, and stores n² of n³ steps: 8n³ + 4n².
    assert by_name["dobravec-bulic-host"].intensity == pytest.approx(N**3 / (8 * N**3 + 4 * N**2))


def test_fractions_are_of_the_ceiling(steps: list[Step]) -> None:
    for step in steps:
        assert step.fraction == pytest.approx(step.run.gflops / step.ceiling.gflops)  # type: ignore[operator]
        assert step.ceiling.gflops > 0


def test_json_and_table_have_a_row_for_each(steps: list[Step]) -> None:
    data = json.loads(json.dumps(lineage_as_json(N, steps)))
    assert len(data["steps"]) == len(steps) == len(lineage_grid(N, steps).rows)
    assert data["size"] == N
    assert data["ceilings"]


def test_the_chart_is_a_picture_with_something_in_it(steps: list[Step], tmp_path: Path) -> None:
    path = tmp_path / "lineage.png"
    draw_lineage(lineage_as_json(N, steps), path)
    with Image.open(path) as image:
        assert image.width >= 1000
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 50


def test_ceilings_are_measured(steps: list[Step]) -> None:
    assert isinstance(steps[0].ceiling, Ceiling)
    assert "BLAS" in steps[0].ceiling.name
