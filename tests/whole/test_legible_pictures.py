"""Every picture that Matplotlib draws can be read, and shows its data.

`check_legible` looks at the sizes of all formats, whichever a picture was written in.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from legible import check_legible, extent
from markdown_pages import ROOT
from matplotlib.figure import Figure

from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.papers.measured_table import plots
from gpgpu_legacy.papers.measuring import measured_tables
from gpgpu_legacy.papers.published.papers import find_paper
from gpgpu_legacy.present.plot import (
    FORMATS,
    label_lines,
    new_figure,
    set_plain_numbers,
)
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.branching import Stripes
from gpgpu_legacy.studies.crossover import Crossover
from gpgpu_legacy.studies.infer_cache import InferredCache
from gpgpu_legacy.studies.shared.cache_rows import CacheTable

Command = Callable[..., tuple[int, str, str]]
BENCHMARKS = ROOT / "benchmarks"


# Labels ------------------------------------------------------------------------------------------


def test_names_of_lines_are_in_the_order_in_which_the_lines_end() -> None:
    figure = new_figure()
    axes = figure.subplots()
    for k in range(12):
        axes.plot([0.0, 1.0], [0.5 + k / 1000] * 2, color="grey", label=f"line {k}")
    axes.set_ylim(0, 1)
    label_lines(axes)
    check_legible(figure)
    heights = [extent(text).y0 for text in axes.get_legend().get_texts()]
    assert heights == sorted(heights, reverse=True)
    assert axes.get_legend().get_texts()[0].get_text() == "line 11"


@pytest.mark.parametrize(("low", "high"), [(200, 300), (15, 60), (1, 100), (0.001, 1000)])
def test_a_logarithmic_axis_always_has_several_plain_numbers(low: float, high: float) -> None:
    figure = new_figure()
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    set_plain_numbers(axes)
    check_legible(figure)
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 3 <= len(ticks) <= 10


# Pictures of what is recorded --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "suffix"),
    list(zip(sorted(BENCHMARKS.glob("bench-*.json")), cycle(FORMATS), strict=False)),
    ids=lambda given: getattr(given, "stem", given),
)
def test_every_recorded_benchmark(
    path: Path, suffix: str, tmp_path: Path, drawn_figures: list[Figure]
) -> None:
    bench = read_recorded(path, Bench)
    bench.plot(tmp_path / f"bench{suffix}")
    [figure] = drawn_figures
    check_legible(figure)
    [axes] = figure.axes
    assert sorted(text.get_text() for text in axes.get_legend().get_texts()) == sorted(
        str(line.get_label()) for line in axes.containers
    )
    assert bench.device.split()[0] in figure.texts[1].get_text()


def test_the_cache_table_is_a_heat_map_of_its_ratios(
    tmp_path: Path, drawn_figures: list[Figure]
) -> None:
    table = read_recorded(BENCHMARKS / "cache-table-256.json", CacheTable)
    table.plot(tmp_path / "table.png")
    [figure] = drawn_figures
    check_legible(figure)
    [axes] = figure.axes
    [image] = axes.images
    ratios = [one.shares()[one.shown] for one in table.judge()]
    assert sorted(np.exp2(image.get_array()).ravel()) == pytest.approx(sorted(ratios))
    written = sorted(float(text.get_text()) for text in axes.texts)
    assert written == pytest.approx(sorted(ratios), rel=5e-3)
    head = " ".join(text.get_text() for text in figure.texts)
    assert f"in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}." in head


@pytest.mark.parametrize(
    ("name", "kind"),
    [("branching", Stripes), ("crossover", Crossover), ("infer-cache", InferredCache)],
)
def test_the_plots_of_studies(
    name: str,
    kind: type[Stripes | Crossover | InferredCache],
    tmp_path: Path,
    drawn_figures: list[Figure],
) -> None:
    read_recorded(BENCHMARKS / f"{name}.json", kind).plot(tmp_path / "map.png")
    [figure] = drawn_figures
    check_legible(figure)


def test_the_plots_of_papers(tmp_path: Path, drawn_figures: list[Figure]) -> None:
    tables = [measured_tables(find_paper(n)) for n in ("dobravec-bulic-2017", "opengl-compute")]
    for one in tables:
        one.plot(tmp_path / one.paper)
    for figure in drawn_figures:
        check_legible(figure)
    titles = [
        f"{find_paper(one.paper).short}, {plot.title}"
        for one in tables
        for plot in plots(one.paper, one.tables).values()
    ]
    assert [figure.texts[0].get_text() for figure in drawn_figures] == titles


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("cache", "hall-carr-hart-single", "n=16", "block=2,4", "--layout", "linear", "4x4"),
         "chart.pdf"),
        (("study", "precision", "larson-mcallister", "hall-carr-hart-multi", "n=2,4"), "chart.svg"),
        (("bench", "--from", str(BENCHMARKS / "jacobi-h200.json")), "chart.png"),
    ],
    ids=lambda given: "-".join(given[:2]) if isinstance(given, tuple) else given,
)  # fmt: skip
def test_other_charts(
    words: tuple[str, ...], name: str, run: Command, tmp_path: Path, drawn_figures: list[Figure]
) -> None:
    code, _, err = run(*words, "--plot", str(tmp_path / name))
    assert code == 0, err
    [figure] = drawn_figures
    check_legible(figure)
