"""The lineage: every method once, in order, beside a ceiling measured in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import Command

from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.serial import as_record, read_recorded
from gpgpu_legacy.studies import lineage as model
from gpgpu_legacy.studies.lineage import Lineage, benchmark_of, bytes_from_memory, of_memory
from gpgpu_legacy.studies.shared.cache_rows import CacheTable

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
    return lineage(N)


def lineage(n: int, budget_s: float = 1e9) -> Lineage:
    return as_record(Lineage, benchmark_of(n, executor="numpy").measure(Budget(budget_s)))


def rows(lineage: Lineage) -> dict[Any, dict[str, Any]]:
    """The rows of the table, by method."""
    [table] = lineage.grids()
    shown = [dict(zip(table.heads, row, strict=True)) for row in table.rows]
    return {row["method"]: row for row in shown}


def test_bytes_from_memory_are_those_of_one_cache(result: Lineage) -> None:
    """Tiles of 16×16 and of 32×32 read A and B n/16 and n/32 times.

    Of a loop's columns of B, a cache of 16 lines keeps nothing: each step reads a line of 64 bytes;
    a line of A serves its 16 steps.
    """
    memory = of_memory()
    for name, row in rows(result).items():
        assert row["multiply-adds / byte from memory"] == memory.per_byte(name)
    n = 64
    assert bytes_from_memory(("dobravec-bulic-shared", n, memory.cache)) == 2 * 4 * n**3 // 16
    assert bytes_from_memory(("opengl-compute-tiled", n, memory.cache)) == 2 * 4 * n**3 // 32
    assert bytes_from_memory(("dobravec-bulic-host", n, "1K,fully,64B")) == (64 + 4) * n**3
    table = read_recorded(BENCHMARKS / "cache-table-256.json", CacheTable)
    [older] = [
        row
        for row in table.rows
        if (row.cache, row.raster, row.layout, row.in_flight, row.method)
        == (memory.cache, "scan", "linear", 1, "larson-mcallister")
    ]
    assert memory.from_memory["larson-mcallister"] == older.bytes_from_memory


def test_fractions_are_of_the_ceiling(result: Lineage) -> None:
    """Of the host's library, as all steps ran on the host; a GPU's may stand beside it."""
    host = next(library for library in result.libraries if library.executor == "numpy-blas")
    assert all(result.ceiling_of(step) is host for step in result.steps)
    best = 2e-9 * N**3 / host.spread[0]
    for step in result.steps:
        assert step.gflops is not None
        assert result.fraction(step) == pytest.approx(step.gflops / best)


def test_the_command_runs_writes_and_draws(run: Command, tmp_path: Path) -> None:
    path, plot = tmp_path / "lineage.json", tmp_path / "lineage.png"
    words = ("study", "lineage", "n=4", "--budget", "1", "--executor", "numpy")
    code, out, _ = run(*words, "--output", str(path), "--quiet")
    assert code == 0
    assert "dobravec-bulic-host" in out
    assert run("study", "lineage", "--from", str(path))[1] == out
    others = [str(BENCHMARKS / f"lineage-{name}.json") for name in ("h100", "cpu-lowered")]
    code, out, _ = run("study", "lineage", "--beside", *others, "--plot", str(plot))
    assert code == 0
    assert out.count("in the order of history") == 2
    assert plot.read_bytes().startswith(b"\x89PNG")
