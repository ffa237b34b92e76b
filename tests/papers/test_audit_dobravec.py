"""The audit of Dobravec & Bulić 2017: its findings, by the numbers they come to."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from gpgpu_legacy.papers.audit.model import Finding, recalled_audit
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.derive.inputs import Rounded
from gpgpu_legacy.papers.published.papers import find_paper

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
    return {finding.claim.id: finding for finding in recalled_audit([PAPER])}


def finding(claim: str) -> Finding:
    return findings()[claim]


def number(claim: str) -> float:
    computed = finding(claim).computed
    return computed.value if isinstance(computed, Rounded) else float(computed)  # type: ignore[arg-type]


def differs(claim: str, value: float, within: float = 0.005) -> None:
    assert finding(claim).verdict is AuditVerdict.DIFFERS
    assert number(claim) == pytest.approx(value, rel=within)


def test_speed_ups() -> None:
    differs("abstract-7.5-times", 2169 / 275)
    result = finding("section-3.2-between-5-and-8")
    assert result.verdict is AuditVerdict.DIFFERS
    assert result.computed == pytest.approx((34 / 8, 2169 / 275))
    assert "From n = 240 to 480 it is 4.25, 4.8333" in result.reason
    for claim, device in (("section-3.2-factor-increases", 2), ("section-4-factor-increases", 1)):
        times = [(row[0], row[device]) for row in TABLE_1.values()]
        falls = [
            (a[0] - 0.5) / (a[1] + 0.5) > (b[0] + 0.5) / (b[1] - 0.5) for a, b in pairwise(times)
        ]
        differs(claim, sum(falls))
    assert finding("section-3.2-difference-increases").computed is True


# Bounds of printed times --------------------------------------------------------------------------


def test_every_printed_time_keeps_a_bound() -> None:
    cells = [f for f in findings().values() if "/" in f.claim.id]
    assert len(cells) == 46
    assert {f.verdict for f in cells} == {AuditVerdict.POSSIBLE}


def test_dynamic_arrays_are_slower_at_512_than_static_ones_at_560() -> None:
    differs("section-3.3-slightly-slowed", 110 / 95)
    assert (110 - 0.5) / (95 + 0.5) > 1.1


# Rounding -----------------------------------------------------------------------------------------


def differing(least: float, decimals: int, size: int = 800) -> float:
    """The percentage of elements that differ between sums in double and in float, in print."""
    generator, samples = np.random.default_rng(1), 20000
    host, device = np.zeros(samples), np.zeros(samples, np.float32)
    for _ in range(size):
        a, b = generator.uniform(least, 1, (2, samples)).astype(np.float32)
        host += a.astype(np.float64) * b
        device += a * b
    pairs = zip(host.astype(np.float32).tolist(), device.tolist(), strict=True)
    return 100 * sum(f"{x:.{decimals}f}" != f"{y:.{decimals}f}" for x, y in pairs) / samples


def test_decimals_that_differ() -> None:
    differs("section-3-rarely", differing(0, 4), within=0.05)
    rare, small = (
        text.rpartition(" it is ")[2].split()[0] for text in finding("section-3-rarely").otherwise
    )
    assert float(rare) == pytest.approx(differing(-1, 4), rel=0.15)
    assert float(small) == pytest.approx(differing(0, 4, 80), rel=0.2)
    differs("section-3-correct", differing(-1, 5), within=0.05)
    places = finding("section-3-decimals")
    assert (places.computed, places.verdict) == ((4.0, 5.0), AuditVerdict.RESTS_ON)
    assert "elements in [−1, 1) it is 5, 6. " in places.reason
    assert places.reason.endswith("The two kernels differ in 0 of 9216.")
