"""On your GPU: products are timed when a button is pressed, and stop when one is."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest
from browser_pages import EACH_RENDERER, PHONE, Opener, section_of
from playwright.sync_api import Page, expect

from gpgpu_legacy.page.products import METHODS
from gpgpu_legacy.page.section import people
from gpgpu_legacy.page.sections.your_gpu import SIZES

PATIENCE_MS = 120_000


def rows(page: Page) -> list[list[str]]:
    script = "all => all.map(row => [...row.cells].map(cell => cell.innerText))"
    found: list[list[str]] = page.locator(
        "#your-gpu .screen-picture > .kept-table tbody tr"
    ).evaluate_all(script)
    return found


def start(page: Page, most: int) -> None:
    page.get_by_label("up to n =").select_option(str(most))
    page.get_by_role("button", name="Start").click()


def time_the_least(page: Page) -> str:
    """Products of the least size are timed; what the page says at the end."""
    start(page, SIZES[0])
    progress = page.locator(".yours-progress")
    expect(progress).to_contain_text("Done", timeout=PATIENCE_MS)
    return progress.inner_text()


@EACH_RENDERER
def test_products_are_timed_and_right(open_page: Opener, renderer: str) -> None:
    page = open_page("your-gpu")
    assert rows(page) == []
    assert renderer in time_the_least(page).lower()
    found = rows(page)
    assert [row[0] for row in found] == [str(SIZES[0])] * len(METHODS)
    assert all(row[1].startswith(people()[m]) for row, m in zip(found, METHODS[::-1], strict=True))
    for _, _, runs, ms, gflops, checked in found:
        assert 1 <= int(runs) <= 9
        assert float(ms) * float(gflops) == pytest.approx(2e-6 * SIZES[0] ** 3, rel=0.02)
        assert re.fullmatch(r"64 elements: none beyond the rounding bound, at most [\d.]+ % of it",
                            checked)  # fmt: skip
    page.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE.width


def test_a_wrong_product_is_said(open_page: Opener) -> None:
    section = deepcopy(section_of("your-gpu"))
    del section.data["products"][1:]
    text = section.data["products"][0]["scene"]["shaders"]["texts"][0]
    text["fragment"] = text["fragment"].replace("colour0;", "colour0 * 1.001;")
    page = open_page([section])
    time_the_least(page)
    [[*_, checked]] = rows(page)
    assert re.fullmatch(r"\d+ of 64 elements beyond the rounding bound", checked)


def test_it_stops_and_starts_again(open_page: Opener) -> None:
    page = open_page("your-gpu")
    start(page, SIZES[-1])
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".yours-progress")).to_contain_text("Stopped", timeout=PATIENCE_MS)
    assert len(rows(page)) < len(SIZES) * len(METHODS)
    time_the_least(page)
    assert len(rows(page)) == len(METHODS)
