"""The cache: the share of a product that memory has to serve, by block, and where reads hit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.heat_map import heat_map
from gpgpu_legacy.figures.heat_map_plot import ANCHORS
from gpgpu_legacy.page.section import PageSection, data_url, rendered
from gpgpu_legacy.present.pictures import grey_png_of
from gpgpu_legacy.published.claims import Claim
from gpgpu_legacy.published.papers import Paper, find_paper
from gpgpu_legacy.serial import read_recorded, with_fields
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
    TableCase,
    TableRow,
    in_all,
)

# Heat maps ----------------------------------------------------------------------------------------

SIZE, MAPPED_BLOCKS, CACHE = 64, (4, DEFAULT_BLOCK), CACHES[0]
"""An operand of n = 64 is eight times the smallest cache, and simulates quickly."""

LEVELS = 63
"""Steps of a ratio from 0 to 1: the eye distinguishes no more, and they take little room."""


def heat_maps() -> dict[str, Any]:
    """All maps as a picture of grey tiles, the hit ratio times `levels`, with the case of each.

    A row of tiles for each order, layout and number in flight; a column for each product. Row 0 of
    a map is the lowest of its tile. sides: of each column's maps, in fragments. hits: over reads,
    of each map.
    """
    rows = [[_map(case) for case in row] for row in mapped_cases()]
    sheet = np.zeros((SIZE * len(rows), SIZE * len(rows[0])), np.uint8)
    for i, row in enumerate(rows):
        for j, (levels, _) in enumerate(row):
            height, width = levels.shape
            sheet[SIZE * i : SIZE * i + height, SIZE * j : SIZE * j + width] = levels[::-1]
    return {
        "n": SIZE,
        "cache": CACHE,
        "products": [[case.method, case.block] for case in next(mapped_cases())],
        "sides": [levels.shape[0] for levels, _ in rows[0]],
        "hits": [[round(ratio, 4) for _, ratio in row] for row in rows],
        "levels": LEVELS,
        "colours": ANCHORS,
        "picture": data_url(grey_png_of(sheet), "image/png"),
    }


def mapped_cases() -> Iterator[list[TableCase]]:
    """The products that have maps, setting by setting."""
    names = [(BEFORE, None), *product(BLOCKED, MAPPED_BLOCKS)]
    for raster, layout, number in product(RASTERS, LAYOUTS, IN_FLIGHT):
        where = Setting(cache=CACHE, raster=raster, layout=layout, in_flight=number)
        yield [where.case_of(method, block) for method, block in names]


def _map(case: TableCase) -> tuple[NDArray[np.uint8], float]:
    """A case's map in levels, and its hits over its reads."""
    memory = Memory((parse_cache(case.cache),))
    _, heat = heat_map(Products(SIZE).plan(case), memory, case.access)
    return np.round(LEVELS * heat.ratio).astype(np.uint8), float(heat.hits.sum() / heat.reads.sum())


# The cache ----------------------------------------------------------------------------------------

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
    """The recorded tables as curves, the ratios in all settings, and heat maps of a small size."""
    tables = [read_recorded(recorded_file(name), CacheTable) for name in RECORDED]
    paper = find_paper(PAPER)
    html = rendered(
        "sections/cache.html.j2",
        paper=paper,
        claim=paper.claim(CLAIM),
        others=[claim for claim in _behind_caches(paper) if claim.id != CLAIM],
        link=lambda claim: f"#audit.claim={paper.id}/{claim.id}",
        table=tables[0],
        verdict=in_all(Measure.MORE_REUSE, tables[0].judge()),
        method=_METHOD,
        before=BEFORE,
        block=DEFAULT_BLOCK,
        in_flight=SHOWN.in_flight,
        caches=CACHES,
        ratios=_ratios(tables[0]),
    )
    return PageSection(
        "cache", "The cache", html, _data(tables), ("choices.js", "sections/cache.js")
    )


def _behind_caches(paper: Paper) -> list[Claim]:
    """The claims that are recomputed behind a cache, also under another assumption."""

    def is_behind(claim: Claim) -> bool:
        given = (claim.arguments, *(other.arguments for other in claim.alternatives))
        return any("cache" in arguments for arguments in given)

    return [claim for claim in paper.claims if is_behind(claim)]


def _ratios(table: CacheTable) -> list[tuple[str, str, list[float]]]:
    """By order and layout, the shares of A and B divided by those of the older method, for each
    cache.

    At the paper's b and with the fragments in flight that are shown first.
    """
    at = {row.case: row for row in table.rows}

    def ratio(where: Setting) -> float:
        own, before = at[where.case_of(_METHOD, DEFAULT_BLOCK)], at[where.case_of(BEFORE, None)]
        return own.operand_share / before.operand_share

    return [
        (
            raster,
            layout,
            [
                ratio(with_fields(SHOWN, cache=cache, raster=raster, layout=layout))
                for cache in CACHES
            ],
        )
        for raster in RASTERS
        for layout in LAYOUTS
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
        "maps": heat_maps(),
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
