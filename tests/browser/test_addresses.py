"""The addresses that the documentation gives are understood by the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser_pages import Opener, turn
from playwright.sync_api import expect

from gpgpu_legacy.page.sections import SECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "teach-with-the-page.md"
ADDRESSES = re.findall(r"`#([\w-]+\.[^`]+=[^`]+)`", PAGE.read_text(encoding="utf-8"))


def test_every_section_whose_state_can_be_sent_has_an_address() -> None:
    assert {address.partition(".")[0] for address in ADDRESSES} <= set(SECTIONS)
    assert len(ADDRESSES) > 5


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_understood_and_each_word_is_one_of_the_page(
    open_page: Opener, address: str
) -> None:
    name = address.partition(".")[0]
    page = open_page(name, at=address)
    said = page.locator(f"#{name} .said")
    assert not any(said.all_text_contents())
    for word in re.findall(r"([\w-]+\.\w+)=", address):
        turn(page, f"{word}=no-{word}")
        expect(said.filter(has_text=f"no-{word}").first).to_be_attached()


def test_a_link_to_a_part_leaves_the_others_as_they_are(open_page: Opener) -> None:
    at = "tables.differs=yes&audit.verdict=agrees"
    page = open_page(("tables", "audit"), at=at)
    turn(page, "audit.verdict=possible")
    page.wait_for_function("location.hash.startsWith('#audit.verdict=possible')")
    assert page.evaluate("location.hash") == "#audit.verdict=possible&tables.differs=yes"
    assert page.locator("#tables input[type=checkbox]").first.is_checked()
