"""Heat maps of hits for the page: small products through small caches, in one picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.api.cache_plot import ANCHORS
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.heat_map import heat_map
from gpgpu_legacy.page.section import data_url
from gpgpu_legacy.present.pictures import grey_png_of
from gpgpu_legacy.studies.cache_table.defaults import (
    BEFORE,
    BLOCKED,
    CACHES,
    IN_FLIGHT,
    LAYOUTS,
    RASTERS,
)
from gpgpu_legacy.studies.cache_table.model import Products
from gpgpu_legacy.studies.cache_table.result import Case, Setting

SIZE, BLOCKS, CACHE = 64, (4, DEFAULT_BLOCK), CACHES[0]
"""An operand of n = 64 fills the smallest cache eight times, and is simulated in a moment."""

LEVELS = 63
"""Steps of a ratio from 0 to 1: eyes tell fewer colours apart, and fewer take less room."""


def heat_maps() -> dict[str, Any]:
    """All maps as a picture of grey tiles, the hit ratio times `levels`, with what each is of.

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


def mapped_cases() -> Iterator[list[Case]]:
    """The products of a map, setting by setting."""
    names = [(BEFORE, None), *product(BLOCKED, BLOCKS)]
    for raster, layout, number in product(RASTERS, LAYOUTS, IN_FLIGHT):
        where = Setting(cache=CACHE, raster=raster, layout=layout, in_flight=number)
        yield [where.case_of(method, block) for method, block in names]


def _map(case: Case) -> tuple[NDArray[np.uint8], float]:
    """A case's map in levels, and its hits over its reads."""
    memory = Memory((parse_cache(case.cache),))
    _, heat = heat_map(Products(SIZE).plan(case), memory, case.access)
    return np.round(LEVELS * heat.ratio).astype(np.uint8), heat.all_hits / heat.all_reads
