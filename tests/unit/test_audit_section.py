"""The audit on the page: all claims, with the verdicts that the audit gives them."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest

from gpgpu_legacy.page.sections.audit import make_section
from gpgpu_legacy.papers.audit.model import off_in_words, recalled_audit
from gpgpu_legacy.papers.published.papers import find_paper

OPENGL = "opengl-compute"


@pytest.fixture(scope="module")
def html() -> str:
    return make_section().html


def test_the_page_has_the_verdicts_of_the_audit(html: str) -> None:
    """One paper, judged."""
    shown = dict(
        re.findall(r'data-claim="([^"]+)" data-paper="[^"]+" data-verdict="([^"]+)"', html)
    )
    findings = recalled_audit([find_paper(OPENGL)])
    assert len(findings) > 20
    for finding in findings:
        assert shown[f"{OPENGL}/{finding.claim.id}"] == finding.verdict.value


def test_dots_are_findings_counted_by_verdict_and_what_differs_stands_first(html: str) -> None:
    heads = re.findall(r"<strong>(\d+)</strong> ([a-z-]+) <span class=.soft.>\((\d+)<span", html)
    verdicts = re.findall(r'data-verdict="([^"]+)"', html)
    claims = {name: int(count) for _, name, count in heads}
    assert claims == Counter(verdicts) and next(iter(claims)) == "differs"
    assert verdicts[: claims["differs"]] == ["differs"] * claims["differs"]
    dots = re.findall(r'data-of="([^"]+)" aria-label="[^"]*\(([a-z-]+), (\d+) claims?\)"', html)
    assert {name: int(count) for count, name, _ in heads} == Counter(name for _, name, _ in dots)
    assert len(dots) == len({of for of, _, _ in dots})  # each cause has one verdict
    assert sum(int(count) for _, _, count in dots) == len(verdicts)


def test_a_claim_says_what_was_said_and_what_is_found(html: str) -> None:
    """The printed speed-up of 29 is of rates; the times beside them give another."""
    [claim] = re.findall(
        r'data-claim="opengl-compute/table-1/speed-up/512".*?</details>', html, re.S
    )
    text = unescape(re.sub(r"<[^>]+>|\s+", " ", claim))
    assert "29" in text and f"{236.7 / 4.02:.5g}" in text  # the quotient of the printed times
    assert "14 claims are one finding: the CPU's times against its rates" in text


def test_a_difference_is_said_in_words() -> None:
    claim = find_paper("hall-carr-hart-2003").claim("abstract-25-percent-instructions")
    assert off_in_words(claim, "19.531") == "21.9 % less"  # than the 25 of the abstract
    assert off_in_words(claim, "no number") == ""
