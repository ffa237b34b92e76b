"""The section about caches shows what the recorded tables and the simulator say."""

from __future__ import annotations

import numpy as np
import pytest

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.run import cache_run
from gpgpu_legacy.cache.simulate import Simulated
from gpgpu_legacy.page.section import PageSection
from gpgpu_legacy.page.sections.cache import make_section

MULTI = "hall-carr-hart-multi"


@pytest.fixture(scope="module")
def section() -> PageSection:
    return make_section()


def simulated(method: str, n: int, block: int | None, cache: str, in_flight: int) -> Simulated:
    """A product in 8×8 tiles and blocks of texels, through a cache, here and now."""
    blocked = {} if block is None else {"block": block, "accumulate": "ping-pong"}
    plan = find_product(method).plan(n=n, **blocked)
    access = parse_access("8x8", "tiled:8x8", in_flight=in_flight)
    return cache_run(plan, Memory((parse_cache(cache),)), access)


def hit_ratio(result: Simulated) -> float:
    """Of the reads."""
    reads = sum(tally.reads for tally in result.regions)
    return sum(tally.read_hits for tally in result.regions) / reads


def cell(section: PageSection, n: int, measure: str, place: tuple[int, ...], product: int) -> float:
    """place: of the order, the layout, the number in flight and the cache in their lists."""
    data = section.data
    [table] = [table for table in data["tables"] if table["n"] == n]
    shape = [len(data[name]) for name in ("rasters", "layouts", "inFlight", "caches")]
    where = int(np.ravel_multi_index(place, shape))
    products = 1 + len(data["blocked"]) * len(data["blocks"])
    assert len(table[measure]) == products * int(np.prod(shape))
    return float(table[measure][where * products + product])


def test_a_cell_is_what_the_simulator_gives(section: PageSection) -> None:
    data = section.data
    place = (
        data["rasters"].index("tiled:8x8"),
        data["layouts"].index("8x8"),
        data["inFlight"].index(16),
        data["caches"].index("32K,2way,128B"),
    )
    product = 1 + len(data["blocks"]) + data["blocks"].index(64)  # of the second blocked method
    result = simulated(MULTI, 256, 64, "32K,2way,128B", 16)
    of_operands = [tally for tally in result.regions if tally.name in "AB"]
    asked = sum(tally.bytes_requested for tally in of_operands)
    fetched = sum(tally.bytes_from_memory for tally in of_operands)
    # n/2b passes of (n/2)² fragments look up 2b texels of 16 bytes.
    assert asked == 256 // 128 * 128**2 * 128 * 16
    expected = {"misses": 1 - hit_ratio(result), "bytes": result.bytes_from_memory}
    expected["share"] = fetched / asked
    for measure, value in expected.items():
        assert cell(section, 256, measure, place, product) == pytest.approx(value, rel=1e-3)


def test_what_is_seen_without_scripts_has_the_claim_and_its_ratio(section: PageSection) -> None:
    assert "#audit.claim=hall-carr-hart-2003/section-6-cache-coherence" in section.html
    # The audit's number: docs/explanation/caches.md has it from the same setting.
    assert '<td class="better" style="--much: 0.25">0.71</td>' in section.html  # log₂(1/0.71)/2
    assert "3, 11, 13 and 17 of 30 settings" in " ".join(section.html.split())
