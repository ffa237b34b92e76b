"""The section about caches in a browser: its lists, its heat map of ratios and its curve."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from browser_pages import PHONE, WIDE, Opener, View, section_of, turn

from gpgpu_legacy.page.sections.cache import SHOWN
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.sources import recorded_file
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.result import CacheTable, Setting, TableCase, TableRow

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

OLDER = "Larsen & McAllister, 2001"
SINGLE, MULTI = "hall-carr-hart-single", "hall-carr-hart-multi"


@cache
def rows(name: str = "cache-table.json") -> dict[TableCase, TableRow]:
    return {row.case: row for row in read_recorded(recorded_file(name), CacheTable).rows}


def sentence(page: Page) -> str:
    return page.locator(".cache-sentence").inner_text()


def choose(page: Page, label: str, value: str | int) -> None:
    page.get_by_label(label, exact=True).select_option(str(value))


def cell(page: Page, where: Setting) -> Locator:
    """The cell of the heat map of a setting, by its place."""
    data = section_of("cache").data
    place = 0
    for name, value in (
        ("rasters", where.raster),
        ("layouts", where.layout),
        ("caches", where.cache),
        ("inFlight", where.in_flight),
    ):
        place = place * len(data[name]) + data[name].index(value)
    return page.locator("#cache td").nth(place)


def test_every_list_and_a_cell_change_the_sentence(open_page: Opener) -> None:
    page = open_page("cache")
    where = Setting(cache="32K,2way,128B", raster="scan", layout="linear", in_flight=16)
    cell(page, where).click()
    choose(page, "method", SINGLE)
    choose(page, "block b", 8)
    own, before = rows()[where.case_of(SINGLE, 8)], rows()[where.case_of(BEFORE, None)]
    share = own.operand_share
    assert f"at b = 8, memory sends {100 * share:.3g} % of the bytes that Single-" in sentence(page)
    assert f"{share / before.operand_share:.3g} times those of {OLDER}" in sentence(page)
    assert float(cell(page, where).inner_text()) == pytest.approx(
        share / before.operand_share, rel=1e-2
    )
    choose(page, "measure", "bytes")
    assert f"takes {own.bytes_from_memory / 1e9:.3g} GB from memory" in sentence(page)
    choose(page, "matrices", 256)
    choose(page, "measure", "misses")
    small = rows("cache-table-256.json")[where.case_of(SINGLE, 8)]
    assert f"{100 * (1 - small.read_hit_ratio):.3g} % of the reads" in sentence(page)
    for word in ("cache=32K", "raster=scan", "flight=16", "b=8", "n=256", "measure=misses"):
        assert word in page.url


def test_a_moment_is_sent_in_the_address(open_page: Opener) -> None:
    at = f"cache.method={SINGLE}&cache.b=2&cache.raster=scan&cache.layout=linear&cache.flight=1"
    page = open_page("cache", at=at)
    where = Setting(cache="8K,4way,64B", raster="scan", layout="linear", in_flight=1)
    share = rows()[where.case_of(SINGLE, 2)].operand_share
    assert f"at b = 2, memory sends {100 * share:.3g} % " in sentence(page)
    page.evaluate("location.hash = '#cache.b=64'")
    page.wait_for_function("document.querySelector('.cache-sentence').innerText.includes('b = 64')")
    assert "Multichannel, 2003" in sentence(page)


def test_nonsense_in_the_address_is_a_sentence(open_page: Opener) -> None:
    page = open_page("cache", at="cache.b=77&cache.cache=<b>")
    said = page.locator("#cache .said").inner_text()
    assert "cache.b=77, which is none of 1, 2, 4, 8, 16, 32, 64, 128; shown is 32." in said
    assert "cache.cache=<b>" in said and "at b = 32" in sentence(page)
    page.evaluate("location.hash = `#cache.b=${'x'.repeat(9999)}`")
    page.wait_for_function("document.querySelector('#cache .said').innerText.includes('xxx')")
    assert len(page.locator("#cache .said").inner_text()) < 200
    assert page.evaluate("document.documentElement.scrollWidth") <= View().width
    choose(page, "block b", 4)
    assert "cache.b" not in page.locator("#cache .said").inner_text()


def test_the_curve_and_the_keyboard_choose_too(open_page: Opener) -> None:
    page = open_page("cache")
    page.locator("#cache .hit").nth(1).click()
    assert "at b = 2," in sentence(page)
    assert page.locator("#cache td[tabindex='0']").count() == 1
    cell(page, SHOWN).focus()
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    above = Setting(cache="8K,4way,64B", raster="tiled:8x8", layout="linear", in_flight=256)
    assert cell(page, above).get_attribute("aria-selected") == "true"
    assert page.locator("#cache td[aria-selected=true]").count() == 1
    assert "tiled:8x8, linear, 256 in flight" in sentence(page)
    coloured = page.locator("#cache .chart text.chosen")
    assert coloured.all_text_contents() == ["Multichannel, 2003"]


@pytest.mark.parametrize("view", [WIDE, PHONE], ids=["wide", "phone"])
def test_labels_of_the_curve_do_not_touch(open_page: Opener, view: View) -> None:
    page = open_page("cache", view)
    for cached in section_of("cache").data["caches"]:
        turn(page, f"cache.cache={cached}")
        page.wait_for_function(
            f"document.querySelector('.cache-sentence').innerText.startsWith('{cached}')"
        )
        boxes = page.evaluate(
            """[...document.querySelectorAll("#cache .chart text")].map((text) => {
                const {left, right, top, bottom} = text.getBoundingClientRect();
                return [left, right, top + 2, bottom - 2];
            })"""
        )
        assert all(left >= 0 and right <= view.width for left, right, _, _ in boxes)
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = (
                    left >= other[1] or other[0] >= right or top >= other[3] or other[2] >= bottom
                )
                assert apart, (cached, boxes[i], other)
