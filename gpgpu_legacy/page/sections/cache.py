"""The cache: the share of a product that memory has to serve, by setting and by block."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import log2
from typing import Any

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.sources import recorded_file
from gpgpu_legacy.studies.cache_table.defaults import (
    BEFORE,
    BLOCKED,
    BLOCKS,
    CACHES,
    IN_FLIGHT,
    LAYOUTS,
    RASTERS,
)
from gpgpu_legacy.studies.cache_table.model import Products, settings
from gpgpu_legacy.studies.cache_table.result import (
    CLAIM,
    PAPER,
    CacheTable,
    Measure,
    Setting,
    TableRow,
    in_all,
)

RECORDED = ("cache-table.json", "cache-table-256.json")
SHOWN = Setting(cache="8K,4way,64B", raster="tiled:8x8", layout="8x8", in_flight=64)
"""The setting that is shown first, from the audit's claim."""

_METHOD = BLOCKED[1]

MEASURES: dict[str, Callable[[TableRow], float]] = {
    "share": lambda row: row.operand_share,
    "misses": lambda row: 1.0 - row.read_hit_ratio,
    "bytes": lambda row: row.bytes_from_memory,
}
"""The quantities that a curve may show, by their words in the address."""


def make_section() -> PageSection:
    """The ratios in all settings as a heat map, and the recorded tables as curves."""
    tables = [read_recorded(recorded_file(name), CacheTable) for name in RECORDED]
    paper = find_paper(PAPER)
    html = rendered(
        "sections/cache.html.j2",
        paper=paper,
        claim=paper.claim(CLAIM),
        link=lambda claim: f"#audit.claim={paper.id}/{claim.id}",
        table=tables[0],
        verdict=in_all(Measure.MORE_REUSE, tables[0].judge()),
        method=_METHOD,
        before=BEFORE,
        block=DEFAULT_BLOCK,
        caches=CACHES,
        in_flight=IN_FLIGHT,
        ratios=_ratios(tables[0]),
        much=lambda ratio: round(min(1.0, abs(log2(ratio)) / 2), 2),
    )
    return PageSection(
        "cache", "The cache", html, _data(tables), ("choices.js", "chart.js", "sections/cache.js")
    )


def _ratios(table: CacheTable) -> list[tuple[str, str, list[float]]]:
    """By order and layout, the shares of A and B divided by those of the older method, at the
    paper's b: for each cache, by the fragments in flight.
    """
    at = {row.case: row.operand_share for row in table.rows}

    def ratio(where: Setting) -> float:
        return at[where.case_of(_METHOD, DEFAULT_BLOCK)] / at[where.case_of(BEFORE, None)]

    return [
        (
            raster,
            layout,
            [
                ratio(Setting(cache=cache, raster=raster, layout=layout, in_flight=number))
                for cache, number in product(CACHES, IN_FLIGHT)
            ],
        )
        for raster, layout in product(RASTERS, LAYOUTS)
    ]


def _data(tables: list[CacheTable]) -> dict[str, Any]:
    return {
        "before": BEFORE,
        "blocked": BLOCKED,
        "method": _METHOD,
        "block": DEFAULT_BLOCK,
        "blocks": BLOCKS,
        "caches": CACHES,
        "rasters": RASTERS,
        "layouts": LAYOUTS,
        "inFlight": IN_FLIGHT,
        "shown": {
            "cache": SHOWN.cache,
            "raster": SHOWN.raster,
            "layout": SHOWN.layout,
            "flight": SHOWN.in_flight,
        },
        "tables": [{"n": table.size, **measured(table)} for table in tables],
    }


def measured(table: CacheTable) -> dict[str, list[float]]:
    """The measures of all rows: raster by raster, layout, number in flight, cache, and product.

    The products are the method before, then each blocked method at each block.
    """
    at = {row.case: row for row in table.rows}
    rows = [at[case] for case in Products().cases(settings(CACHES, RASTERS, LAYOUTS, IN_FLIGHT))]
    return {name: [_rounded(of(row)) for row in rows] for name, of in MEASURES.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
