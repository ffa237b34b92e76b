"""The audit in a browser: the dots, their verdicts and papers, the search and links to claims."""

from __future__ import annotations

from collections import Counter

from browser_pages import PHONE, Opener
from playwright.sync_api import Page

from gpgpu_legacy.page.sections.tables import AuditedClaim, judged
from gpgpu_legacy.papers.audit.result import recorded
from gpgpu_legacy.papers.published.papers import papers


def claims() -> list[AuditedClaim]:
    return [one for paper in papers() for one in judged(paper, recorded()).values()]


def shown(page: Page) -> list[str]:
    script = "all => all.filter(claim => !claim.hidden).map(claim => claim.dataset.claim)"
    names: list[str] = page.locator("[data-claim]").evaluate_all(script)
    return names


def test_a_verdict_filters_and_the_address_keeps_it(open_page: Opener) -> None:
    counts = Counter(one.entry.verdict.value for one in claims())
    page = open_page("audit")
    assert len(shown(page)) == counts["differs"]
    page.get_by_role("button", name="unchecked").click()
    assert len(shown(page)) == counts["unchecked"]
    assert "audit.verdict=unchecked" in page.url
    page.get_by_role("button", name="356 claims").click()
    assert len(shown(page)) == counts.total()


def test_a_dot_is_a_finding_and_shows_its_claims(open_page: Opener) -> None:
    page = open_page("audit", PHONE)
    dots = page.locator(".audit-dots td a")
    causes = Counter((one.paper.id, one.entry.cause) for one in claims())
    assert dots.count() == len(causes)
    (paper, cause), count = causes.most_common(1)[0]
    dot = page.get_by_label(cause, exact=False).first
    assert f"{count} claims" in str(dot.get_attribute("aria-label"))
    dot.click()
    page.wait_for_function(
        f"document.querySelector('#audit output').innerText.startsWith('{count}')"
    )
    assert {name.split("/")[0] for name in shown(page)} == {paper}
    assert page.locator(".audit-dots td a:not(.off)").count() == 1
    assert cause in page.locator(".audit-said").inner_text()
    dots.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".audit-dots a[tabindex='0']").count() == 1
    assert dots.nth(1).evaluate("(dot) => dot === document.activeElement")


def test_a_link_shows_its_claim_whatever_is_filtered(open_page: Opener) -> None:
    agrees = next(one.name for one in claims() if one.entry.verdict.value == "agrees")
    page = open_page("audit", PHONE, at=f"audit.claim={agrees}")
    claim = page.locator(f'[data-claim="{agrees}"]')
    assert claim.is_visible() and claim.get_attribute("open") is not None
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE.width
