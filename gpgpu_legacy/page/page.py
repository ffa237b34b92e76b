"""The report: a folder with the tables, the figures and the timings, and a page that shows them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from math import inf
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_output_folder
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.papers.formulas import model as formulas
from gpgpu_legacy.papers.formulas.model import Table, regenerate
from gpgpu_legacy.papers.formulas.record import record_of
from gpgpu_legacy.papers.formulas.table import grids as table_grids
from gpgpu_legacy.papers.formulas.timing import NOTHING_TIMED, MethodTimes, time_methods
from gpgpu_legacy.present.grid import (
    Entry,
    Formula,
    Grid,
    as_csv,
    as_markdown,
    as_text,
    is_numeric,
    plain,
)
from gpgpu_legacy.present.latex import as_latex
from gpgpu_legacy.present.pictures import save_png
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.runtime.registry import find_executor, survey
from gpgpu_legacy.serial import json_text
from gpgpu_legacy.studies.cache_table.model import Products, Setting, make_table
from gpgpu_legacy.studies.cache_table.table import cache_table_grids
from gpgpu_legacy.studies.figure_2.model import demonstrate
from gpgpu_legacy.studies.figure_2.plot import animate_figure_2, draw_figure_2

PAGE = "index.html"
_BARS = "GFLOPS"  # the column with bars

_TITLES = {"every-method": "Every method", "measured": "Measured here"}

_CACHED_SIZE, _CACHED_BLOCKS = 128, (1, 4, 16, 64)
_CACHES = ("2K,4way,64B", "8K,4way,64B")

_FILES = (
    ("tables.txt", "the tables as text"),
    ("tables.md", "as Markdown"),
    ("tables.csv", "as CSV"),
    ("tables.tex", "as LaTeX"),
    ("tables.json", "as JSON"),
    ("timings.json", "what was measured, and on what"),
    ("figure-2.png", "Figure 2"),
    ("figure-2.gif", "Figure 2, a pass at a time"),
)


def write_report(
    folder: Path,
    size: int,
    block: int,
    *,
    measure: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write the report at n×n matrices and block b; returns the page.

    Everything is made in a folder beside `folder` and moved there at the end, file by file, so
    that an interrupted report leaves the one before as it was. Files of other names stay.
    Raises InputError where `folder` cannot be made, or the size or block is out of range.
    """
    check_output_folder(folder)
    try:
        draft = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        times = time_methods(size, block, progress=progress) if measure else NOTHING_TIMED
        _write(draft, size, block, times)
        folder.mkdir(exist_ok=True)
        for file in draft.iterdir():
            file.replace(folder / file.name)
    finally:
        rmtree(draft, ignore_errors=True)
    return folder / PAGE


def _write(folder: Path, size: int, block: int, times: MethodTimes) -> None:
    tables = regenerate(size, block)
    costs = formulas.every_method(size, block)
    grids = [*table_grids(tables, costs, times), *_through_caches()]
    executor = find_executor("auto")
    demonstration = demonstrate(executor)
    image = draw_figure_2(demonstration)
    save_png(image, folder / "figure-2.png")
    animate_figure_2(demonstration, folder / "figure-2.gif")
    texts = {
        "tables.txt": as_text(grids),
        "tables.md": as_markdown(grids),
        "tables.csv": as_csv(grids),
        "tables.tex": as_latex(grids),
        "tables.json": json_text(record_of(tables, costs, times)),
        "timings.json": _json(_timings(size, block, times)),
        PAGE: _page(tables, grids, image.size, executor.device()),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _through_caches() -> list[Grid]:
    """The methods of Table 1 through small caches, at a size that takes a moment."""
    where = [
        Setting(cache, raster, layout)
        for raster, layout in (("scan", "linear"), ("tiled:8x8", "8x8"))
        for cache in _CACHES
    ]
    table = make_table(Products(_CACHED_SIZE, _CACHED_BLOCKS), where, Budget(inf))
    return cache_table_grids(table)


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _timings(size: int, block: int, times: MethodTimes) -> dict[str, Any]:
    return {
        "version": version("gpgpu-legacy"),
        "size": size,
        "block": block,
        "executors": [
            {"name": executor.name, "works": works, "detail": detail}
            for executor, works, detail in survey()
        ],
        "results": [asdict(each) for each in times.measured],
    }


def _page(tables: list[Table], grids: list[Grid], figure_size: tuple[int, int], device: str) -> str:
    from jinja2 import Environment, StrictUndefined

    template = files("gpgpu_legacy.page").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    titles = {t.published.id: f"Table {t.published.id.rsplit('-', 1)[-1]}" for t in tables}
    return environment.from_string(template).render(
        version=version("gpgpu-legacy"),
        paper=papers()[0],
        grids=grids,
        titles=defaultdict(lambda: "Through a cache", titles | _TITLES),
        columns=lambda grid: list(zip(*grid.rows, strict=True)),
        numeric=is_numeric,
        cell=_cell,
        bars=_BARS,
        zip=zip,
        figure_size=figure_size,
        figure_device=device,
        executors=survey(),
        files=_FILES,
    )


def _cell(grid: Grid, head: str, entry: Entry) -> Any:
    """One table cell: formulas set as such, verdicts coloured, GFLOPS with a bar beside it."""
    from markupsafe import Markup

    cell = Markup('<td class="{}" data-label="{}">{}{}</td>')
    text, bar = plain(entry), Markup("")
    kind = "name" if head == "method" else "text"
    if isinstance(entry, Formula):
        kind = "formula"
    elif isinstance(entry, bool):
        kind = "yes" if entry else "no"
    elif head == _BARS and isinstance(entry, float):
        kind, share = "bars", 100.0 * entry / max(_column(grid, head))
        bar = Markup('<span class="bar" style="width:{:.1f}%"></span>').format(share)
    elif entry is None or isinstance(entry, int | float):
        kind = "number"
    return cell.format(kind, head, text, bar)


def _column(grid: Grid, head: str) -> list[float]:
    place = grid.heads.index(head)
    return [row[place] for row in grid.rows if isinstance(row[place], float)]  # type: ignore[misc]
