"""The exercises in a browser: their links lead to moments of the page, and answers unfold."""

from __future__ import annotations

from browser_pages import Opener, View, turn
from playwright.sync_api import Page, expect

SECTIONS = ("loaded", "lineage", "exercises")


def in_view(page: Page, selector: str) -> bool:
    script = """(selector) => {
        const {top, bottom} = document.querySelector(selector).getBoundingClientRect();
        return top < innerHeight && bottom > 0;
    }"""
    return bool(page.evaluate(script, selector))


def test_a_link_leads_to_the_chip_and_the_block(open_page: Opener) -> None:
    page = open_page(SECTIONS)
    link = page.get_by_role("link", name="Begin with b = 1")
    link.scroll_into_view_if_needed()
    assert not in_view(page, "#loaded-title")
    link.click()
    slider = page.locator("#loaded [aria-valuetext]")
    page.wait_for_function("document.querySelector('#loaded [aria-valuetext]').value === '0'")
    assert slider.get_attribute("aria-valuetext") == "b = 1: loads"
    assert in_view(page, "#loaded-title")
    turn(page, "exercises")
    page.locator("#exercises summary").nth(2).click()
    page.get_by_role("link", name="b = 4", exact=True).click()
    page.wait_for_function(
        "document.querySelector('#loaded [aria-valuetext]').ariaValueText.startsWith('b = 4')"
    )
    assert page.locator("#loaded .said").all_inner_texts() in ([], [""])


def test_a_moment_that_was_sent_is_in_view(open_page: Opener) -> None:
    page = open_page(SECTIONS, at="lineage.device=cpu&lineage.method=mali-sgemm")
    assert in_view(page, "#lineage-title") and not in_view(page, "#exercises-title")


def test_a_number_is_checked(open_page: Opener) -> None:
    page = open_page("exercises")
    first = page.locator("#exercises .question").first
    for typed, start in (("7", "Not yet."), ("99", "Yes.")):
        first.get_by_role("textbox").fill(typed)
        page.keyboard.press("Enter")
        expect(first).to_contain_text(start)


def test_answers_unfold_by_the_keyboard_and_without_scripts(open_page: Opener) -> None:
    for view in (View(), View(javascript=False)):
        page = open_page("exercises", view)
        answers = page.locator("#exercises details")
        assert answers.count() == 3
        for answer in answers.all():
            assert answer.get_attribute("open") is None
            answer.locator("summary").focus()
            page.keyboard.press("Enter")
            assert answer.get_attribute("open") is not None
