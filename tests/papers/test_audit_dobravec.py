"""The audit of Dobravec & Bulić 2017: its findings, by the numbers they come to."""

from __future__ import annotations

from functools import cache

import pytest

from gpgpu_legacy.papers.audit.model import Finding, audit
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.papers.derive.registry import Rounded
from gpgpu_legacy.published.papers import find_paper

PAPER = find_paper("dobravec-bulic-2017")

# Table 1, as it is printed: n of 8n×8n, and ms.
TABLE_1 = {
    20: (10, 5, 2),
    30: (34, 13, 8),
    40: (85, 37, 18),
    50: (156, 65, 35),
    60: (290, 127, 60),
    70: (576, 182, 95),
    80: (895, 302, 142),
    90: (1450, 398, 201),
    100: (2169, 598, 275),
}


@cache
def findings() -> dict[str, Finding]:
    return {finding.claim.id: finding for finding in audit([PAPER])}


def finding(claim: str) -> Finding:
    return findings()[claim]


def number(claim: str) -> float:
    computed = finding(claim).computed
    return computed.value if isinstance(computed, Rounded) else float(computed)  # type: ignore[arg-type]


def differs(claim: str, value: float, within: float = 0.005) -> None:
    assert finding(claim).verdict is Verdict.DIFFERS
    assert number(claim) == pytest.approx(value, rel=within)


def agrees(claim: str, value: float, within: float = 0.005) -> None:
    assert finding(claim).verdict is Verdict.AGREES
    assert number(claim) == pytest.approx(value, rel=within)


def test_every_agreement_names_what_turns_it() -> None:
    agreed = [f.claim for f in findings().values() if f.verdict is Verdict.AGREES]
    assert agreed
    assert [claim.id for claim in agreed if claim.turned_by is None] == []


def test_speed_ups() -> None:
    differs("abstract-7.5-times", 2169 / 275)
    result = finding("section-3.2-between-5-and-8")
    assert result.verdict is Verdict.DIFFERS
    assert result.computed == pytest.approx((34 / 8, 2169 / 275))
    assert "from n = 240 to 480: 4.25, 4.8333" in result.reason
    for claim in ("section-3.2-factor-increases", "section-4-factor-increases"):
        assert finding(claim).computed is False
    assert finding("section-3.2-difference-increases").computed is True


def test_two_times_and_almost_twofold_are_one_mean() -> None:
    mean = 1.0
    for _, shared_less, shared in TABLE_1.values():
        mean *= (shared_less / shared) ** (1 / len(TABLE_1))
    agrees("abstract-two-times", mean)
    agrees("section-3.2-almost-twofold", mean)
    assert mean == pytest.approx(2.03, abs=0.005)


def test_variants() -> None:
    differs("section-3.3-slightly-slowed", 1.51)
    assert "72.733 ms" in finding("section-3.3-slightly-slowed").reason
    differs("section-3.2-similar-results", 110 / 83)


def test_global_memory_is_slower_at_multiples_of_160() -> None:
    """The note of Table 1: by the times for a step beside those of the neighbouring sizes."""
    steps = {n: times[1] / n**3 for n, times in TABLE_1.items()}
    slower = [2 * steps[n] / (steps[n - 10] + steps[n + 10]) for n in (40, 60, 80)]
    assert [round(100 * (factor - 1)) for factor in slower] == [15, 12, 10]
    assert any("10 to 15 %" in note for note in PAPER.measurements("table-1").notes)


def test_statements() -> None:
    differs("section-3.2-largest-size", 98 * 16)
    differs("section-2.1-sum", 0)
    differs("section-2.3-no-other-thread", 64)
    differs("section-2.3-largest-b", 22)
    row = finding("section-2.3-row-of-b")
    assert (row.computed, row.verdict) == ("column j", Verdict.DIFFERS)


def test_the_anomaly_is_of_sets_and_not_of_pages() -> None:
    result = finding("section-3.2-paging")
    assert result.verdict is Verdict.DIFFERS
    assert "lines a set at 1024: 16;" in result.reason
    assert "lines a set at 1536: 12;" in result.reason
    assert finding("section-3.2-n-is-64").computed == (64.0, 96.0)
    assert finding("section-3.2-nice-values").computed == (4.0, 6.0)
