"""The cache: the share of a product that memory has to serve, in all settings, as recorded."""

from __future__ import annotations

from itertools import product
from math import log2

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.published.papers import find_paper
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.shared.cache_rows import (
    BEFORE,
    BLOCKED,
    CACHES,
    CLAIM,
    FLIGHTS,
    LAYOUTS,
    PAPER,
    RASTERS,
    CacheTable,
    Measure,
    Setting,
    in_all,
)

_METHOD = BLOCKED[1]


def make_section() -> PageSection:
    """The ratios in all settings as a heat map."""
    table = read_recorded(recorded_file("cache-table.json"), CacheTable)
    paper = find_paper(PAPER)
    html = rendered(
        "sections/cache.html.j2",
        paper=paper,
        claim=paper.claim(CLAIM),
        table=table,
        verdict=in_all(Measure.MORE_REUSE, table.judge()),
        method=_METHOD,
        before=BEFORE,
        block=DEFAULT_BLOCK,
        caches=CACHES,
        in_flight=FLIGHTS,
        ratios=_ratios(table),
        much=lambda ratio: round(min(1.0, abs(log2(ratio)) / 2), 2),
    )
    return PageSection("cache", "The cache", html)


def _ratios(table: CacheTable) -> list[tuple[str, str, list[float]]]:
    """By order and layout, ratios to the older method: of the share of A and B from memory.

    They are at the paper's b, for each cache by the fragments in flight.
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
                for cache, number in product(CACHES, FLIGHTS)
            ],
        )
        for raster, layout in product(RASTERS, LAYOUTS)
    ]
