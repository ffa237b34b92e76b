"""Would it have loaded? The program, the block and the chip in a browser."""

from __future__ import annotations

from browser_pages import PHONE, Opener
from playwright.sync_api import Page

R300 = "loaded.program=hall-carr-hart-multi&loaded.chip=radeon-9700-pro&loaded.block="


def verdict(page: Page) -> str:
    return page.locator(".loaded-verdict").inner_text()


def test_the_slider_goes_beyond_a_limit(open_page: Opener) -> None:
    page = open_page("loaded", at=f"{R300}3")
    assert "loads" in verdict(page) and "does not" not in verdict(page)
    page.get_by_role("slider").press("ArrowRight")
    assert "does not load: texture indirections 5 > 4." in verdict(page)
    assert "loaded.block=4" in page.url
    full = page.locator(".loaded-row", has_text="texture indirections")
    assert "5 of 4" in full.inner_text()


def test_another_chip_loads_it(open_page: Opener) -> None:
    page = open_page("loaded", at=f"{R300}32")
    page.get_by_role("button", name="GeForce FX 5900 Ultra").click()
    assert "as far as is known" in verdict(page)
    assert "loaded.chip=geforce-fx-5900-ultra" in page.url


def test_a_program_without_a_block_has_no_slider(open_page: Opener) -> None:
    page = open_page("loaded", PHONE, at=f"{R300}3")
    page.get_by_label("Program").select_option("larson-mcallister")
    assert page.get_by_role("slider").is_disabled()
    assert "Larsen & McAllister, 2001 on ATI Radeon 9700 Pro" in verdict(page)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE.width
