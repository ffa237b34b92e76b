"""The audit of Hall, Carr & Hart 2003: findings by the numbers they come to, worked out by hand."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest

from gpgpu_legacy.papers.audit.model import Finding, judge
from gpgpu_legacy.papers.audit.turning import words
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.published.papers import find_paper

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


def test_swizzles_that_the_radeon_lacks() -> None:
    """Of equation (1)'s swizzles abg is native and gga is not; a part of each two components is.

    Pixel shaders 2.0 read abgr, and of ggab each letter everywhere: green twice, alpha, blue.
    """
    differs("section-2-swizzling", len({*"ggab"}) - 1)
    reason = finding("section-2-swizzling").reason
    assert "Radeon 9700 Pro it is 1." in reason and "every piece it is there 2." in reason
    assert reason.endswith("whose text has 100, are 256.")
    assert "On a GeForce FX 5800 Ultra it is 0." in reason
    # Of (2), three vector parts; the fourth line is of alpha, and shares an instruction.
    assert "at the fewest, it is 1.5 times" in finding("section-2-four-at-once").reason
    assert finding("section-2-negation").verdict is AuditVerdict.AGREES
    # One channel of three with another sign: two of one sign at once, and then the third.
    assert words(HALL.claim("section-2-negation")).endswith("R2 = R0.r,-g,b,a")


def test_the_product_cannot_use_the_bandwidth_of_a_cache() -> None:
    """Eight units at 300 MHz and 4 bytes a texel, against 10.4 GB/s; 450 MHz / 4 and 27.2 GB/s."""
    claim = "section-5.3-cache-bandwidth"
    assert finding(claim).verdict is AuditVerdict.RESTS_ON
    assert number(claim) == pytest.approx(4 * 8 * 4 * 0.3 / 10.4)
    assert f"each lookup it is {8 * 4 * 0.3 / 10.4:.5g}." in finding(claim).reason
    assert f"5900 Ultra, {8 * 16 * 0.45 / 4 / 27.2:.5g}." in finding(claim).reason


@pytest.mark.parametrize(
    ("claim", "verdict", "wrong"),
    [
        # Coordinates run from 0 to m - 1 over m pixels: (i + 0.5)·(m - 1)/m is in texel i for the
        # lower half of the pixels, and in texel i - 1 for the upper half.
        ("section-1-plain-corners", AuditVerdict.DIFFERS, 24 - 2 * 3),
        ("section-1-transposed-corners", AuditVerdict.DIFFERS, 24 - 2 * 3),
        ("section-1-same-texture", AuditVerdict.RESTS_ON, 0),
        ("section-1-replicates-a-column", AuditVerdict.RESTS_ON, 0),
        ("section-1-replicates-a-row", AuditVerdict.RESTS_ON, 0),
    ],
)
def test_corners_of_section_1(claim: str, verdict: AuditVerdict, wrong: int) -> None:
    assert (finding(claim).verdict, finding(claim).computed) == (verdict, wrong)


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


def test_what_limits_the_product_on_the_chips_that_came() -> None:
    """By hand: a GeForce FX 5900 Ultra has 8 texture units, 450 MHz and 27.2 GB/s."""
    fragments = 16 * 512**2
    lookups_ms, memory_ms = fragments * 65 / (8 * 450e3), fragments * (66 + 2) * 16 / 27.2e6
    assert lookups_ms < memory_ms < 4 * lookups_ms
    rests("section-5.1-internal-bottleneck", "memory")
    reason = finding("section-5.1-internal-bottleneck").reason
    assert f"FX 5900 Ultra, memory then takes {memory_ms:.0f} ms" in reason
    assert f"lookups {lookups_ms:.0f}." in reason and "four clocks it is lookups" in reason
    differs("section-5.2-4-wide", 4)
    competitive = finding("section-6-competitive")
    assert competitive.verdict is AuditVerdict.POSSIBLE
    assert number("section-6-competitive") == pytest.approx(6.98, abs=0.01)
    differs("section-5.3-main-memory", 1.06)


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
