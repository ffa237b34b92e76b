"""The tables in a browser: numbers that open, what differs, and the way to the audit."""

from __future__ import annotations

from browser_pages import Opener


def test_a_number_opens_by_the_keyboard(open_page: Opener) -> None:
    page = open_page("tables")
    page.locator(".tables-table > summary").first.click()
    number = page.locator(".tables-how > summary").first
    number.focus()
    number.press("Enter")
    assert page.locator(".tables-how[open]").count() == 1
    assert "Table 1, L-M: passes" in page.locator(".tables-how[open]").inner_text()


def test_what_differs_stands_alone(open_page: Opener) -> None:
    page = open_page("tables")
    page.get_by_label("only what differs").check()
    lines = page.locator("[data-claim-of]:not([hidden])")
    assert lines.count() == page.locator(".audit-differs").count() > 0
    assert lines.first.is_visible() and "tables.differs=yes" in page.url
    page.get_by_label("only what differs").uncheck()
    assert page.locator("[data-claim-of][hidden]").count() == 0


def test_a_verdict_leads_to_its_claim(open_page: Opener) -> None:
    page = open_page(("tables", "audit"), at="tables.differs=yes")
    line = page.locator("[data-claim-of]:not([hidden])").first
    name = line.get_attribute("data-claim-of")
    line.get_by_role("link").click()
    claim = page.locator(f'[data-claim="{name}"]')
    claim.locator("dl").wait_for()
    assert claim.get_attribute("open") is not None
