"""Why b? A small cache in the page is the package's, and a curve is drawn before it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from browser_pages import Modules, Opener, View, section_of
from playwright.sync_api import Page, expect

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run
from gpgpu_legacy.page.sections.lesson import CACHED, CACHED_BLOCKS, CACHED_SIZE, ORDERS
from gpgpu_legacy.plan.expand import at_iteration

WALKED = """given.asked.map((how) => {
    const { looked } = cacheWalk(given.data, how, given.data.size ** 2);
    return [looked.length, looked.filter(({ hit }) => !hit).length];
})"""


def first_pass(block: int, cache: str, order: str) -> list[int]:
    """How many lookups the first pass makes, and how many miss."""
    plan = find_product("hall-carr-hart-single").plan(
        n=CACHED_SIZE, block=block, accumulate="ping-pong"
    )
    alone = replace(plan, steps=(at_iteration(next(plan.repeats()).body[0], 0),))
    found = cache_run(alone, Memory((parse_cache(cache),)), parse_access(raster=order))
    reads = sum(tally.reads for tally in found.regions)
    return [reads, reads - sum(tally.read_hits for tally in found.regions)]


def test_the_walk_misses_where_the_simulator_does(modules: Callable[..., Modules]) -> None:
    data = section_of("why").data
    asked, expected = [], []
    for n, cache in enumerate(CACHED):
        for of, order in zip(data["orders"], ORDERS, strict=True):
            for block in CACHED_BLOCKS:
                asked.append({"b": block, "side": of["side"], "most": data["caches"][n]["lines"]})
                expected.append(first_pass(block, cache, order))
    found = modules("lesson/why.js").run(WALKED, {"data": data, "asked": asked})
    assert found == expected


def draw(page: Page, heights: list[int]) -> None:
    """Draws a curve: at each b, that part of the axis."""
    for block, height in zip(CACHED_BLOCKS, heights, strict=True):
        point = page.get_by_label(f"b{block}: the bytes")
        point.evaluate("(one, at) => { one.value = at; one.dispatchEvent(new Event('input')); }",
                       height)  # fmt: skip


def test_a_curve_is_drawn_before_it_is_shown(open_page: Opener) -> None:
    """16 lines hold 4 rows of B in 8 lines; 128 hold all of A and B, which are sent once."""
    page = open_page("why", View(calm=True))
    told, said = page.locator("#why .told"), page.locator("#why .sketch p")
    curve = page.locator("#why .bits")
    expect(page.get_by_role("combobox", name="Cache")).to_be_disabled()
    draw(page, [90, 70, 50, 40, 20, 0])
    page.get_by_role("button", name="This is my curve").click()
    expect(told).to_contain_text("Not yet. A row of fragments reads b rows of B, in 2 b lines.")
    expect(curve).to_have_count(0)
    draw(page, [60, 40, 10, 50, 99, 99])
    page.get_by_role("button", name="This is my curve").click()
    expect(told).to_contain_text("Yes. The least is at b = 4.")
    expect(curve).to_have_count(1)
    page.get_by_role("combobox", name="Cache").select_option("2")
    compulsory = f"{3 * CACHED_SIZE**2 * 4:,}".replace(",", "\u202f")
    expect(said).to_contain_text(f"b = 32: {compulsory} bytes.")


def test_a_finger_draws(open_page: Opener) -> None:
    page = open_page("why", View(calm=True))
    box = page.locator("#why .sketch svg").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 0.8 * box["height"], steps=20)
    page.mouse.up()
    values = [int(page.get_by_label(f"b{b}: the bytes").input_value()) for b in CACHED_BLOCKS]
    assert values == sorted(values, reverse=True) and values[0] > 85 and values[-1] < 25


def test_the_walk_says_what_missed(open_page: Opener) -> None:
    page = open_page("why", View(calm=True), at="why.b=0")
    walk = page.get_by_role("group", name="Lookup")
    walk.get_by_role("button", name="To the beginning").click()
    forward = walk.get_by_role("button", name="Forward")
    for misses, at, hit in ((1, 1, "miss"), (2, 2, "miss"), (3, 3, "miss"), (3, 4, "hit")):
        forward.click()
        expect(page.locator("#why .says")).to_contain_text(
            f"{misses} of {at} lookups missed (now a {hit}), and memory sent {64 * misses} bytes"
        )
    expect(page.locator("#why .lines li").first).to_have_text("A, row 0, from 0")
