"""The audit of Hall, Carr & Hart 2003: findings by the numbers they come to, worked out by hand."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest

from gpgpu_legacy.papers.audit.model import Finding, judge
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.published.papers import find_paper

HALL = find_paper("hall-carr-hart-2003")


@cache
def finding(claim: str) -> Finding:
    return judge(HALL, HALL.claim(claim))


def number(claim: str) -> float:
    return float(finding(claim).computed)  # type: ignore[arg-type]


def differs(claim: str, value: float, within: float = 0.005) -> None:
    assert finding(claim).verdict is Verdict.DIFFERS
    assert number(claim) == pytest.approx(value, rel=within)


def test_every_agreement_names_what_turns_it() -> None:
    agreements = [c for c in HALL.claims if finding(c.id).verdict is Verdict.AGREES]
    assert agreements
    assert [claim.id for claim in agreements if claim.turned_by is None] == []


def test_the_two_instruction_counts_are_one_program() -> None:
    for claim, total in (("section-3-134", 134), ("section-4.3-166", 166)):
        result = finding(claim)
        assert result.verdict is Verdict.RESTS_ON
        assert f"the write of the result: {total}" in result.reason
        assert f"instructions alone: {total - 1}" in result.reason
    for claim in ("section-3-6-plus-4b", "section-4.3-6-plus-5b"):
        assert finding(claim).verdict is Verdict.AGREES


def test_25_percent_of_the_instructions_is_3_16ths() -> None:
    differs("abstract-25-percent-instructions", 19.53)
    assert "18.75 %" in finding("abstract-25-percent-instructions").reason
    assert number("abstract-25-percent-bandwidth") == pytest.approx(25.78, abs=0.005)
    assert finding("section-5.2-3-16ths-lm").computed == "3/16"


def test_identical_at_b_1_in_bytes_and_not_in_instructions() -> None:
    assert finding("section-5.1-identical-bytes").verdict is Verdict.AGREES
    result = finding("section-5.1-identical-instructions")
    assert result.verdict is Verdict.DIFFERS
    assert result.reason.endswith("a fragment, single: 6; instructions a fragment, L-M: 2")


def test_units_of_section_5() -> None:
    differs("section-5.3-4.125-gb", 4.429)
    assert "in binary units: 4.125 GiB" in finding("section-5.3-4.125-gb").reason
    differs("section-5.3-8.25-gb-s", 8.858)
    assert number("section-5.3-headroom") == pytest.approx(14.8, abs=0.05)
    assert "printed numbers: 20.673 %" in finding("section-5.3-headroom").reason
    # Both slips cancel: 537 ms for 4.43 GB are 8.25 GB/s.
    assert "at 4 GFLOPS: 8.25 GB/s" in finding("section-5.3-8.25-gb-s").reason


def test_times_of_section_5() -> None:
    transfer = finding("section-5.1-60-ms")
    assert transfer.verdict is Verdict.RESTS_ON
    assert number("section-5.1-60-ms") == 60.0
    assert "62.915 ms" in transfer.reason
    differs("section-5.1-510-ms", 536.87)
    differs("section-5.3-same-time", 0.51)
    assert number("section-5.1-11-percent") == pytest.approx(100 * 60 / 570)
    # 62.9 ms beside 2·1024³ operations at the 20.8 GFLOPS of a Radeon 9700 Pro.
    at_peak = 100 * 62.915 / (62.915 + 2 * 1024**3 / 20.8e6)
    said = finding("section-5.1-11-percent").reason.split(": ")[-1]
    assert float(said.split()[0]) == pytest.approx(at_peak, rel=1e-3)
    # 4 vertices of 3 floats; 2 more for each of 3 coordinate sets, or of 2 where a pass blends.
    geometry = finding("section-5.1-48-bytes")
    assert geometry.verdict is Verdict.RESTS_ON
    assert number("section-5.1-48-bytes") == 4 * 3 * 4
    assert f": {4 * (3 + 3 * 2) * 4} bytes" in geometry.reason
    assert f": {4 * (3 + 2 * 2) * 4} bytes" in geometry.reason


def test_sizes_of_section_4() -> None:
    assert number("section-4-2828") == 2828
    assert "in binary ones: 2896" in finding("section-4-2828").reason
    assert "67.109 MB" in finding("section-4-64-mb").reason
    differs("section-4-4096-needs", 256)


def test_table_1_leaves_the_copy_out() -> None:
    for method in ("single", "multi"):
        result = finding(f"table-1-copy-{method}")
        assert result.verdict is Verdict.DIFFERS
        assert "left out at b = 32: 3.0303 %" in result.reason


def test_one_repair_of_listing_11_gives_the_product() -> None:
    """Each damaged swizzle with a letter put back, in all ways, with primes for the quadrants."""
    x, y = (dict(zip("rgba", primes, strict=True)) for primes in ((2, 3, 5, 7), (11, 13, 17, 19)))
    wanted = [
        x["r"] * y["r"] + x["g"] * y["b"],
        x["r"] * y["g"] + x["g"] * y["a"],
        x["b"] * y["r"] + x["a"] * y["b"],
        x["b"] * y["g"] + x["a"] * y["a"],
    ]
    repairs = [
        {text[:n] + letter + text[n:] for n in range(4) for letter in "rgba"}
        for text in ("rrb", "rrg", "gga", "bba")
    ]
    found = [
        f"{a} {b} {c} {d}"
        for a, b, c, d in product(*repairs)
        if [x[a[i]] * y[b[i]] + x[c[i]] * y[d[i]] for i in range(4)] == wanted
    ]
    damaged = finding("equation-11")
    assert damaged.verdict is Verdict.RESTS_ON
    assert [damaged.computed] == found
    assert f"each: {math.prod(map(len, repairs))};" in damaged.reason
    assert math.prod(map(len, repairs)) == 28561


def test_slips_of_the_pen() -> None:
    differs("figure-1-corners", 12)
    assert finding("equation-1-additions").computed == "4 multiplications"
    assert finding("listing-4-register").computed is False
    differs("section-2-256-instructions", 96)
