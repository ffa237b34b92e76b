"""The audit of the OpenGL paper and of the Mali SDK's page: findings, by hand-made numbers."""

from __future__ import annotations

from functools import cache

import pytest

from gpgpu_legacy.papers.audit.model import Finding, derivations, recalled_audit
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.derive.inputs import Inputs, Rounded
from gpgpu_legacy.papers.published.papers import find_paper

OPENGL, MALI = "opengl-compute", "mali-sdk-sgemm"

# Table 1, as it is printed: n, ms and GFLOPS of the CPU, ms and GFLOPS of the GPU.
TABLE_1 = [
    (128, 2.35, 3.57, 0.31, 13.53),
    (256, 19.02, 3.53, 0.72, 46.60),
    (512, 236.7, 2.27, 4.02, 66.77),
    (1024, 7967.3, 0.54, 29.14, 73.70),
    (2048, 86792, 0.40, 230.85, 74.42),
    (4096, 763312, 0.36, 1831, 75.05),
]


@cache
def findings(paper: str) -> dict[str, Finding]:
    return {finding.claim.id: finding for finding in recalled_audit([find_paper(paper)])}


def number(found: Finding) -> float:
    computed = found.computed
    return computed.value if isinstance(computed, Rounded) else float(computed)  # type: ignore[arg-type]


def opengl(claim: str) -> Finding:
    return findings(OPENGL)[claim]


def mali(claim: str) -> Finding:
    return findings(MALI)[claim]


def differs(found: Finding, value: float) -> None:
    assert found.verdict is AuditVerdict.DIFFERS
    assert number(found) == pytest.approx(value, rel=1e-4)


def alternative(found: Finding, assuming: str) -> float:
    """The number of the alternative that begins with these words."""
    [(one, text)] = [
        (one, text)
        for one, text in zip(found.claim.alternatives, found.otherwise, strict=True)
        if text.startswith(assuming)
    ]
    return float(text.removeprefix(one.assuming).split()[0].removesuffix("."))


# The OpenGL paper --------------------------------------------------------------------------------


def test_208_times_rests_on_the_rates_and_the_times_say_417() -> None:
    for claim in ("abstract-208-times", "prose-208-times", "table-1/speed-up/4096"):
        assert opengl(claim).verdict is AuditVerdict.RESTS_ON
        assert number(opengl(claim)) == pytest.approx(75.05 / 0.36)
        assert alternative(opengl(claim), "By the printed times") == pytest.approx(416.88)
    for n, cpu, cpu_gflops, gpu, gpu_gflops in TABLE_1:
        found = opengl(f"table-1/speed-up/{n}")
        assert number(found) == pytest.approx(gpu_gflops / cpu_gflops)
        assert alternative(found, "By the printed times") == pytest.approx(cpu / gpu, rel=1e-4)


def test_the_cpu_column_counts_four_operations_and_the_gpu_column_two() -> None:
    for n, cpu, cpu_gflops, gpu, gpu_gflops in TABLE_1:
        found = opengl(f"table-1/CPU GFLOPS/{n}")
        differs(found, 2e-6 * n**3 / cpu)
        assert alternative(found, "With four") == pytest.approx(cpu_gflops, abs=0.005)
        agreed = opengl(f"table-1/GPU GFLOPS/{n}")
        assert agreed.verdict is AuditVerdict.AGREES
        assert number(agreed) == pytest.approx(2e-6 * n**3 / gpu)
        assert number(agreed) == pytest.approx(gpu_gflops, rel=1e-3)


# The Mali SDK ------------------------------------------------------------------------------------


def least_access_ms(n: int, cores: int = 4) -> float:
    """Of an iteration of four products: four floats of B and one float4 of A; C is read and
    written. A core of 533 MHz starts one access a clock.
    """
    return n**2 * (n / 4 * (4 + 1) + 2) / (cores * 533e3)


def test_the_printed_time_is_of_1024_and_not_of_2048() -> None:
    assert least_access_ms(1024) < 1316.41 < least_access_ms(2048, cores=15)
    size = mali("size-1024")
    assert (size.computed, size.verdict) == ((1024.0,), AuditVerdict.RESTS_ON)
    assert alternative(size, "The least time at 1024") == pytest.approx(630.52, abs=0.01)
    assert alternative(size, "The least time at 1024") == pytest.approx(least_access_ms(1024), 1e-4)
    assert alternative(size, "The least time at 2048") == pytest.approx(least_access_ms(2048), 1e-4)
    assert 15 < alternative(size, "The cores") < 16
    assert {mali(c).verdict for c in ("source-order", "alpha")} == {AuditVerdict.EXTERNAL}
    run = mali("profiling/run/1024")
    assert run.verdict is AuditVerdict.POSSIBLE
    assert number(run) == pytest.approx(least_access_ms(1024))
    assert alternative(run, "The rate") == pytest.approx(2e-6 * 1024**3 / 1316.41, rel=1e-4)


@pytest.mark.parametrize(
    ("seed", "first"),
    [
        # What a C program prints on any Linux machine after srand(seed).
        (1, [1804289383, 846930886, 1681692777, 1714636915, 1957747793]),
        (42, [71876166, 708592740, 1483128881, 907283241, 442951012]),
        (0, [1804289383, 846930886]),  # glibc takes 0 for 1
    ],
)
def test_the_inputs_are_glibcs_numbers_in_turn(seed: int, first: list[int]) -> None:
    inputs, drawn = Inputs(find_paper(MALI)), derivations()["drawn"]
    for n, number in enumerate(first):
        ours = drawn(inputs, matrix="ABC"[n % 3], row=0, column=n // 3, seed=seed)
        assert ours == pytest.approx(number / (2**31 - 1) * 2 - 1, abs=2**-23)


def test_every_printed_digit_of_the_example_is_reproduced() -> None:
    elements = [found for claim, found in findings(MALI).items() if "[" in claim]
    assert [f"{number(found):.6g}" for found in elements] == [f.claim.quote for f in elements]
    assert len(elements) == 64 and mali("seed").computed == 48


def test_what_the_kernel_does_against_what_the_page_says() -> None:
    assert mali("sets-of-4").computed == 4
    assert mali("sum-the-4").computed == 4
    assert mali("row-and-column").computed == (64, 64)
    assert mali("work-items").computed == 1024**2
    differs(mali("vector-of-elements"), 1)
    assert mali("one-element").verdict is AuditVerdict.AGREES
    differs(mali("symmetric"), 6)  # all pairs of mirror images
