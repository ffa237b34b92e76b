"""The section about caches in a browser: its lists, its curve, its ratios and its maps."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from browser_pages import Opener, View, section_of

from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.sources import recorded_file
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.result import CacheTable, Setting, TableCase, TableRow

if TYPE_CHECKING:
    from playwright.sync_api import Page

SINGLE, MULTI = "hall-carr-hart-single", "hall-carr-hart-multi"


@cache
def rows(name: str = "cache-table.json") -> dict[TableCase, TableRow]:
    return {row.case: row for row in read_recorded(recorded_file(name), CacheTable).rows}


def sentence(page: Page) -> str:
    return page.locator(".cache-sentence").inner_text()


def choose(page: Page, label: str, value: str | int) -> None:
    page.get_by_label(label, exact=True).select_option(str(value))


def test_every_list_changes_the_sentence(open_page: Opener) -> None:
    page = open_page("cache")
    where = Setting(cache="32K,2way,128B", raster="scan", layout="linear", in_flight=16)
    choose(page, "cache", where.cache)
    choose(page, "order of fragments", where.raster)
    choose(page, "layout of textures", where.layout)
    choose(page, "fragments in flight", where.in_flight)
    choose(page, "method in colour", SINGLE)
    choose(page, "block b", 8)
    own, before = rows()[where.case_of(SINGLE, 8)], rows()[where.case_of(BEFORE, None)]
    share = own.operand_share
    assert f"At b = 8, memory sends {100 * share:.3g} % of the bytes that {SINGLE}" in sentence(
        page
    )
    assert f"{share / before.operand_share:.3g} times {BEFORE}" in sentence(page)
    choose(page, "curve", "bytes")
    assert f"takes {own.bytes_from_memory / 1e9:.3g} GB from memory" in sentence(page)
    choose(page, "matrices", 256)
    choose(page, "curve", "misses")
    small = rows("cache-table-256.json")[where.case_of(SINGLE, 8)]
    assert f"{100 * (1 - small.read_hit_ratio):.3g} % of the reads" in sentence(page)
    for word in ("cache=32K", "raster=scan", "flight=16", "b=8", "n=256", "measure=misses"):
        assert word in page.url


def test_a_moment_is_sent_in_the_address(open_page: Opener) -> None:
    at = f"cache.method={SINGLE}&cache.b=2&cache.raster=scan&cache.layout=linear&cache.flight=1"
    page = open_page("cache", at=at)
    where = Setting(cache="8K,4way,64B", raster="scan", layout="linear", in_flight=1)
    share = rows()[where.case_of(SINGLE, 2)].operand_share
    assert f"At b = 2, memory sends {100 * share:.3g} % " in sentence(page)
    page.evaluate("location.hash = '#cache.b=64'")
    page.wait_for_function("document.querySelector('.cache-sentence').innerText.includes('b = 64')")
    assert MULTI in sentence(page)


def test_nonsense_in_the_address_is_a_sentence(open_page: Opener) -> None:
    page = open_page("cache", at="cache.b=77&cache.cache=<b>")
    said = page.locator("#cache .said").inner_text()
    assert "cache.b=77, which is none of 1, 2, 4, 8, 16, 32, 64, 128; shown is 32." in said
    assert "cache.cache=<b>" in said and "At b = 32" in sentence(page)
    page.evaluate("location.hash = `#cache.b=${'x'.repeat(9999)}`")
    page.wait_for_function("document.querySelector('#cache .said').innerText.includes('xxx')")
    assert len(page.locator("#cache .said").inner_text()) < 200
    assert page.evaluate("document.documentElement.scrollWidth") <= View().width
    choose(page, "block b", 4)
    assert "cache.b" not in page.locator("#cache .said").inner_text()


def test_the_curve_and_the_ratios_choose_too(open_page: Opener) -> None:
    page = open_page("cache")
    page.locator("#cache .hit").nth(1).click()
    assert "At b = 2," in sentence(page)
    ratio = page.get_by_label(re.compile("^scan, 8x8, 16K,4way,64B"))
    where = Setting(cache="16K,4way,64B", raster="scan", layout="8x8", in_flight=64)
    own, before = rows()[where.case_of(MULTI, 2)], rows()[where.case_of(BEFORE, None)]
    assert float(ratio.inner_text()) == pytest.approx(
        own.operand_share / before.operand_share, 1e-2
    )
    ratio.focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("cache", exact=True).input_value() == "16K,4way,64B"
    assert page.locator(":focus").get_attribute("aria-pressed") == "true"
    coloured = page.locator("#cache .chart text.chosen")
    assert coloured.all_text_contents() == [MULTI]


def test_labels_of_the_curve_do_not_touch(open_page: Opener) -> None:
    page = open_page("cache")
    for cached in section_of("cache").data["caches"]:
        choose(page, "cache", cached)
        boxes = page.evaluate(
            """[...document.querySelectorAll("#cache .chart text")].map((text) => {
                const {left, right, top, bottom} = text.getBoundingClientRect();
                return [left, right, top + 2, bottom - 2];
            })"""
        )
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = (
                    left >= other[1] or other[0] >= right or top >= other[3] or other[2] >= bottom
                )
                assert apart, (cached, boxes[i], other)


def test_a_map_is_read_by_the_keyboard(open_page: Opener) -> None:
    page = open_page("cache")
    page.locator("#cache canvas").nth(1).focus()
    page.keyboard.press("ArrowUp")
    read = page.locator(".cache-maps > p").last
    assert f"{SINGLE}, fragment (0, 0): about" in read.inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "fragment (1, 1)" in read.inner_text()
