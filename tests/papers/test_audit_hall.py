"""The audit of Hall, Carr & Hart 2003: findings by the numbers they come to, worked out by hand."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest

from gpgpu_legacy.papers.audit.model import Finding, judge
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.published.papers import find_paper

HALL = find_paper("hall-carr-hart-2003")


@cache
def finding(claim: str) -> Finding:
    return judge(HALL, HALL.claim(claim))


def number(claim: str) -> float:
    return float(finding(claim).computed)  # type: ignore[arg-type]


def differs(claim: str, value: float, within: float = 0.005) -> None:
    assert finding(claim).verdict is AuditVerdict.DIFFERS
    assert number(claim) == pytest.approx(value, rel=within)


def rests(claim: str, value: object) -> None:
    assert finding(claim).verdict is AuditVerdict.RESTS_ON
    assert finding(claim).computed == value


def test_the_two_instruction_counts_are_one_program() -> None:
    for claim, total in (("section-3-134", 134), ("section-4.3-166", 166)):
        result = finding(claim)
        assert result.verdict is AuditVerdict.RESTS_ON
        assert f"the write of the result are {total}" in result.reason
        assert f"instructions alone are {total - 1}" in result.reason
    for claim in ("section-3-6-plus-4b", "section-4.3-6-plus-5b", "table-2/multi/total"):
        assert finding(claim).verdict is AuditVerdict.RESTS_ON
        assert "the program being ours" in finding(claim).reason


def test_25_percent_of_the_instructions_is_3_16ths() -> None:
    differs("abstract-25-percent-instructions", 19.53)
    assert "18.75 %" in finding("abstract-25-percent-instructions").reason
    assert number("section-6-25-percent-bandwidth") == pytest.approx(25.78, abs=0.005)
    rests("abstract-25-percent-bandwidth", 25)
    assert "At b = 32 it is 25.781 %" in finding("abstract-25-percent-bandwidth").reason
    rests("section-5.2-3-16ths-lm", "3/16")


def test_times_of_section_5() -> None:
    assert number("section-5.1-60-ms") == pytest.approx(3 * 4 * 1024**2 / 200e3)
    assert finding("section-5.1-60-ms").verdict is AuditVerdict.AGREES
    assert "binary megabytes it is 60 ms" in finding("section-5.1-60-ms").reason
    assert number("section-5.3-0.5-s") == pytest.approx(2 * 1024**3 / 4e9)
    rests("section-5.1-510-ms", 2 * 1024**3 / (4 * 1000 * 2**20) * 1e3)
    computation = finding("section-5.1-510-ms").reason
    assert "536.87 ms" in computation
    assert "500 ms" in computation
    assert finding("section-5.3-same-time").verdict is AuditVerdict.AGREES
    rests("section-5.1-11-percent", pytest.approx(100 * 62.915 / (62.915 + 536.871), rel=1e-5))


def test_the_geometry_of_a_pass() -> None:
    """4 vertices of 3 floats; 2 more for each of 3 coordinate sets, or of 2 where a pass blends."""
    rests("section-5.1-48-bytes", 4 * 3 * 4)
    reason = finding("section-5.1-48-bytes").reason
    assert f"it is {4 * (3 + 3 * 2) * 4} bytes" in reason
    assert f"it is {4 * (3 + 2 * 2) * 4} bytes" in reason
    in_all = 16 * 4 * 3 * 4 / 1.06e9
    assert number("section-5.1-geometry-negligible") == pytest.approx(1e3 * in_all)


def test_sizes_of_section_4() -> None:
    rests("section-4-2828", 2828)
    assert "In binary ones it is 2896" in finding("section-4-2828").reason
    assert "67.109 MB" in finding("section-4-64-mb").reason
    assert finding("section-4-2048").verdict is AuditVerdict.UNCHECKED
    rests("section-4-paging", 4 * 4 * 2830**2 / 1e6)
    assert (
        f"megabytes it is {4 * 4 * 2830**2 / 2**20:.5g} MiB" in finding("section-4-paging").reason
    )
    rests("section-4-4096", 4096)
    reason = finding("section-4-4096").reason
    assert "such matrices take 256 MiB" in reason
    assert "memory is 128 MiB" in reason


def test_the_product_cannot_use_the_bandwidth_of_a_cache() -> None:
    """Eight units at 300 MHz and 4 bytes a texel, against 10.4 GB/s; 450 MHz / 4 and 27.2 GB/s."""
    claim = "section-5.3-cache-bandwidth"
    assert finding(claim).verdict is AuditVerdict.RESTS_ON
    assert number(claim) == pytest.approx(4 * 8 * 4 * 0.3 / 10.4)
    assert f"each lookup it is {8 * 4 * 0.3 / 10.4:.5g}." in finding(claim).reason
    assert f"5900 Ultra, {8 * 16 * 0.45 / 4 / 27.2:.5g}." in finding(claim).reason


def test_the_pentium_4() -> None:
    """1.5 GHz: 6 GFLOPS in single precision, 3 in double; 147² floats are a third of 256 KB."""
    atlas = finding("section-5.3-4-gflops")
    assert (atlas.verdict, atlas.computed) == (AuditVerdict.POSSIBLE, 6.0)
    assert "In double precision it is 3 GFLOPS" in atlas.reason
    assert 3 * 4 * 147**2 <= 256 * 1024 < 3 * 4 * 148**2
    needed = (2 * 4 * 1024**3 / 147 / 3.2e9) / (2 * 1024**3 / 6e9)
    for claim in ("section-5.3-cpus-limited-by-bandwidth", "section-5.1-cpu-bottleneck"):
        rests(claim, (4 * 1024**3 / 3.2e9) / (2 * 1024**3 / 6e9))
        assert f"as ATLAS has, it is {needed:.5g} times" in finding(claim).reason


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
    assert damaged.verdict is AuditVerdict.RESTS_ON
    assert [damaged.computed] == found
    assert f"each are {math.prod(map(len, repairs))}." in damaged.reason
    assert math.prod(map(len, repairs)) == 28561
