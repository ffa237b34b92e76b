"""The measured tables: every number as printed, what follows from them, and what is run here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from fakes import Clock, FakeExecutor

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.papers.measured_table import MeasuredTables, Status, TimeHere
from gpgpu_legacy.papers.measuring import measure_paper
from gpgpu_legacy.papers.published.papers import MeasuredTable, Series, find_paper, papers
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.runtime.machine import ALL_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import F32, RunResult, Timings

OPENGL, DOBRAVEC, MALI = "opengl-compute", "dobravec-bulic-2017", "mali-sdk-sgemm"

# Typed from the papers. The OpenGL paper's lost decimal points are put back.
SIZES_000 = (128, 256, 512, 1024, 2048, 4096)
CPU_MS = (2.35, 19.02, 236.7, 7967.3, 86792, 763312)
GPU_MS = (0.31, 0.72, 4.02, 29.14, 230.85, 1831)
CPU_GFLOPS = (3.57, 3.53, 2.27, 0.54, 0.40, 0.36)
GPU_GFLOPS = (13.53, 46.60, 66.77, 73.70, 74.42, 75.05)
SPEED_UP = (4, 13, 29, 137, 188, 208)
# What the scan has where it lost a point, by column and size.
SCANNED = {
    ("CPU", 128): "235", ("CPU", 512): "2367", ("CPU", 1024): "79673",
    ("CPU GFLOPS", 128): "357", ("CPU GFLOPS", 256): "353", ("CPU GFLOPS", 512): "227",
    ("CPU GFLOPS", 4096): "036",
    ("GPU", 128): "031", ("GPU", 2048): "23085",
    ("GPU GFLOPS", 256): "4660", ("GPU GFLOPS", 1024): "7370", ("GPU GFLOPS", 2048): "7442",
}  # fmt: skip

TABLE_1 = """
10 1 0 0
20 10 5 2
30 34 13 8
40 85 37 18
50 156 65 35
60 290 127 60
70 576 182 95
80 895 302 142
90 1450 398 201
100 2169 598 275
"""
MUL_H, MUL_DG, MUL_DS = (
    {8 * int(line.split()[0]): int(line.split()[i]) for line in TABLE_1.split("\n") if line}
    for i in (1, 2, 3)
)
THREADS = {1: 11149, 4: 1531, 16: 278, 64: 110, 256: 83}
ANOMALIES = dict(
    zip(
        [16 * n for n in (62, 63, 64, 65, 66, 94, 95, 96, 97, 98)],
        (5522, 5792, 27893, 6277, 6882, 20401, 20707, 37020, 22175, 23383),
        strict=True,
    )
)


def table(paper: str, name: str) -> MeasuredTable:
    return next(t for t in find_paper(paper).measured if t.id == f"{paper}/{name}")


def by_size(series: Series) -> dict[int, float]:
    return {cell.size: cell.value for cell in series.cells}


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        ("CPU", CPU_MS),
        ("GPU", GPU_MS),
        ("CPU GFLOPS", CPU_GFLOPS),
        ("GPU GFLOPS", GPU_GFLOPS),
        ("speed-up", SPEED_UP),
    ],
)
def test_the_opengl_papers_table(label: str, printed: tuple[float, ...]) -> None:
    series = table(OPENGL, "table-1").find(label)
    assert by_size(series) == dict(zip(SIZES_000, printed, strict=True))
    repaired = {(label, c.size): c.printed for c in series.cells if c.repaired}
    assert repaired == {key: text for key, text in SCANNED.items() if key[0] == label}
    for cell in series.cells:
        assert bool(cell.printed) == bool(cell.repaired)
        if cell.printed:
            digits = f"{cell.value:.2f}" if label != "CPU" or cell.size < 256 else f"{cell.value}"
            assert digits.replace(".", "") == cell.printed, "only the point was lost"


def test_dobravec_and_bulics_tables() -> None:
    first = table(DOBRAVEC, "table-1")
    assert by_size(first.find("MulH")) == MUL_H
    assert by_size(first.find("MulDG")) == MUL_DG
    assert by_size(first.find("MulDS")) == MUL_DS
    assert {c.threads for s in ("MulDG", "MulDS") for c in first.find(s).cells} == {64}
    second = table(DOBRAVEC, "table-2")
    assert {c.threads: c.value for c in second.find("MulDS").cells} == THREADS
    assert {c.size for c in second.find("MulDS").cells} == {512}
    assert second.find("MulDS").dynamic
    assert by_size(second.find("MulH")) == {512: 357}
    assert by_size(table(DOBRAVEC, "section-3-2").find("MulH")) == ANOMALIES


def test_every_cell_says_where_it_stands_and_how_it_was_repaired() -> None:
    cells = [c for p in papers() for t in p.measured for s in t.series for c in s.cells]
    assert len(cells) == 5 * 6 + 3 * 10 + 5 + 1 + 10 + 3
    for cell in cells:
        assert cell.where.strip()
        assert cell.unit in {"ms", "GFLOPS", "times"}
        assert bool(cell.repaired) == bool(cell.printed)
    for paper in papers():
        for published in paper.measured:
            assert published.id.startswith(f"{paper.id}/")
            for series in published.series:
                assert series.method is None or find_product(series.method).name == series.method


# What follows from the published numbers ---------------------------------------------------------


def column(grid: Grid, head: str) -> dict[int, float]:
    place = grid.heads.index(head)
    return {row[0]: row[place] for row in grid.rows if row[place] is not None}  # type: ignore


# What is run here --------------------------------------------------------------------------------


class Fake(FakeExecutor):
    """Takes `ns` nanoseconds a step of the sum, and keeps what it was asked for."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        ns: float = 1.0,
        passes: frozenset[type[Pass]] = ALL_PASSES,
        refuses_above: int = 1 << 30,
        *,
        is_reference: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.clock, self.ns = name, clock, ns  # type: ignore[misc]
        self.refuses_above = refuses_above
        self.capabilities = Capabilities(passes, is_reference=is_reference)  # type: ignore[misc]
        self.sizes: list[tuple[str, int]] = []
        self.given: list[list[str]] = []

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        n = operands["A"].shape[0]
        if n > self.refuses_above:
            raise PlanError("too large for a fake")
        self.sizes.append((plan.name, n))
        self.given.append([*operands])
        seconds = self.ns * 1e-9 * n**3
        self.clock.now += seconds
        return RunResult({"C": np.zeros((n, n), np.float32)}, Timings(0.0, seconds, 0.0))


def measure(paper: str, budget: float, *fakes: Fake) -> MeasuredTables:
    return measure_paper(find_paper(paper), Budget(budget, fakes[0].clock), executors=fakes)


def taken(measurements: MeasuredTables) -> list[tuple[str | None, int, TimeHere]]:
    """The methods, sizes and times of all cells, in order."""
    return [
        (cell.method, line.size, one)
        for table in measurements.tables
        for line in table.rows
        for cell in line.cells
        for one in cell.measured
    ]


def outcomes(measurements: MeasuredTables, method: str, executor: str) -> dict[int, Status]:
    return {
        size: one.status
        for name, size, one in taken(measurements)
        if name == method and one.executor == executor
    }


def test_all_is_run_where_the_budget_allows() -> None:
    clock = Clock()
    fakes = Fake("jit", clock), Fake("gl-compute", clock, 0.01)
    measurements = measure(OPENGL, 1e6, *fakes)
    assert {one.status for _, _, one in taken(measurements)} == {Status.MEASURED}
    assert outcomes(measurements, "dobravec-bulic-host", "gl-compute") == {}, "jit plays the host"
    grids = {g.id: g for g in measurements.grids()}
    here = grids["opengl-compute/table-1/gl-compute"]
    assert "device of gl-compute" in here.caption
    ratios = column(here, "CPU / GPU, here")
    assert ratios == {n: pytest.approx(100.0) for n in SIZES_000}
    assert column(here, "GPU GFLOPS, gl-compute")[4096] == pytest.approx(200.0)
    assert column(here, "CPU GFLOPS, jit")[128] == pytest.approx(2.0)


def test_real_executors_run_within_a_small_budget() -> None:
    measurements = measure_paper(find_paper(DOBRAVEC), Budget(1.0))
    done = [one for _, _, one in taken(measurements) if one.status is Status.MEASURED]
    assert done
    assert all(one.value is not None and one.value > 0 for one in done)
    assert "numpy" in measurements.devices
    measurements.as_json()


# The command line and the plots ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), f"choose from hall-carr-hart-2003, {DOBRAVEC}"),
        ((MALI, "n=8"), "of sizes of its own; leave n out"),
        (("m=3",), "leave m out"),
        ((MALI, OPENGL), "name one paper"),
        ((MALI, "--no-measure", "--plot", "x"), "mali-sdk-sgemm has no plots"),
        (("--no-measure", "--plot", "x"), "hall-carr-hart-2003 has no plots"),
        ((OPENGL, "--no-measure", "--plot", "missing/x"), "there is no folder missing"),
    ],
)
def test_errors_are_a_line(
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("tables", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
