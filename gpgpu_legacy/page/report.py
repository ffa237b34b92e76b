"""The report: a folder with the tables, the figures and the times, and a page that shows them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path

from gpgpu_legacy.api.doctor import ExecutorRecord, executor_records
from gpgpu_legacy.files import Write, check_output_folder, text_writer, write_folder
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Benchmark
from gpgpu_legacy.measure.timing import Budget, this_platform
from gpgpu_legacy.page.page import TITLE, introduction, page_text
from gpgpu_legacy.page.recordings import Time
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.page.sections import SECTIONS, sections_of
from gpgpu_legacy.page.sections.tables import BLOCK
from gpgpu_legacy.page.sections.tables import NAME as TABLES
from gpgpu_legacy.page.sections.tables import make_section as tables_section
from gpgpu_legacy.papers.formulas import formula_tables
from gpgpu_legacy.present.animation import png_of
from gpgpu_legacy.present.grid import (
    Grid,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    plain,
)
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.serial import Recorded, as_record, json_text, provenance
from gpgpu_legacy.studies.cache_table import Products, make_table
from gpgpu_legacy.studies.figure_2 import demonstrate
from gpgpu_legacy.studies.shared.cache_rows import Setting

PAGE = "index.html"

_CACHED_SIZE, _CACHED_BLOCKS, _CACHED_IN_FLIGHT = 128, (1, 4, 16, 64), (1, 64)
_CACHES = ("2K,4way,64B", "8K,4way,64B")

_FILES = (
    ("tables.txt", "the tables as text"),
    ("tables.md", "as Markdown"),
    ("tables.csv", "as CSV"),
    ("tables.tex", "as LaTeX"),
    ("tables.json", "as JSON"),
    ("timings.json", "the measured times, and the machine"),
    ("figure-2.png", "what Figure 2 shows"),
    ("figure-2.gif", "the same, a pass at a time"),
)


class ReportTimes(Recorded, kw_only=True):
    """The times of a report, at n = size and b = block, with the executors of this machine."""

    size: int
    block: int
    executors: tuple[ExecutorRecord, ...]
    times: Bench | None


def write_report(
    folder: Path,
    size: int,
    block: int,
    benchmark: Benchmark | None = None,
    *,
    progress: Callable[[str], object] = lambda _: None,
) -> Path:
    """Write the report of n×n matrices with block b, and return the path of its page.

    size: n. block: b. benchmark: of the methods on the executors of this machine; None to measure
    nothing. progress: called with the name of the next measurement. The files are made first and
    get their names at the end, the page last (see `write_folder`), so that an interrupted report
    leaves the previous one as it was. Files of other names stay. Raises InputError if `folder` or a
    file of it cannot be written, or the size or block is out of range.
    """
    check_output_folder(folder, (*(name for name, _ in _FILES), PAGE))
    times = benchmark.measure(Budget(tell=progress)) if benchmark else None
    write_folder(folder, _contents(size, block, times))
    return folder / PAGE


def _contents(size: int, block: int, times: Bench | None) -> dict[str, Write]:
    """The files of the report, by name."""
    tables = formula_tables(size, block, times=times, every=True)
    grids = [*tables.grids(), *_through_caches()]
    executors = executor_records()
    demonstration = demonstrate(reference())
    texts = {
        "tables.txt": as_text(grids),
        "tables.md": as_markdown(grids),
        "tables.csv": as_csv(grids),
        "tables.tex": as_latex(grids),
        "tables.json": tables.as_json(),
        "timings.json": json_text(
            ReportTimes(
                **provenance(this_platform().driver),
                size=size,
                block=block,
                executors=executors,
                times=times,
            )
        ),
    }
    by_id = {section.id: section for section in sections_of(sorted({*SECTIONS} - {TABLES}))}
    by_id[TABLES] = tables_section(_here(size, block, times))
    sections = [
        *(by_id[name] for name in SECTIONS),
        *(
            PageSection(
                "measured-here",
                "Measured here",
                rendered("sections/measured-here.html.j2", grid=grid, plain=plain),
            )
            for grid in (times.grids()[:1] if times else ())
        ),
        PageSection(
            "executors",
            "Executors on this machine",
            rendered("sections/executors.html.j2", executors=executors),
        ),
        PageSection("files", "Files", rendered("sections/files.html.j2", files=_FILES)),
    ]
    return {
        **{name: text_writer(text) for name, text in texts.items()},
        "figure-2.png": png_of(demonstration.picture()),
        "figure-2.gif": demonstration.animation(),
        PAGE: text_writer(page_text(TITLE, introduction(), sections)),
    }


def _through_caches() -> list[Grid]:
    """The methods of Table 1 through small caches, at a size that simulates quickly."""
    where = [
        Setting(cache=cache, raster=raster, layout=layout, in_flight=in_flight)
        for raster, layout in (("scan", "linear"), ("tiled:8x8", "8x8"))
        for in_flight in _CACHED_IN_FLIGHT
        for cache in _CACHES
    ]
    products = Products(_CACHED_SIZE, _CACHED_BLOCKS)
    with ThreadPoolExecutor() as pool:
        return make_table(products, where, Budget(inf), pool=pool).grids(whole=True)


def _here(size: int, block: int, times: Bench | None) -> list[Time]:
    """The times for the tables: none if the tables have another block."""
    if times is None or block != BLOCK:
        return []
    here, file = "this machine", "timings.json"
    return [
        as_record(Time, one, method=one.plan, device=here, size=size, on=one.device, file=file)
        for one in times.results
    ]
