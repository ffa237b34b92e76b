"""What loads where: verdicts, the largest blocks, the variant that computes coordinates first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import as_exact_as_it_can
from hypothesis import given, settings
from hypothesis import strategies as st
from products import random_operands

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.fit import (
    Fit,
    Largest,
    fit,
)
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer, Outcome, Row, Verdict
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor

MULTI, SINGLE = "hall-carr-hart-multi", "hall-carr-hart-single"


def plan_of(method: str, size: int = 64, **options: Any) -> Plan:
    return find_product(method).plan(n=size, **options)


def verdict_of(method: str, chip: str, size: int = 64, **options: Any) -> Verdict:
    return check_plan(plan_of(method, size, **options), find_profile(chip))


def row(verdict: Verdict, limit: str) -> Row:
    return next(row for row in verdict.limits if row.limit == limit)


def outcomes(verdict: Verdict, limit: str) -> tuple[Outcome | None, Outcome | None]:
    found = row(verdict, limit)
    return (
        found.advertised.outcome if found.advertised else None,
        found.native.outcome if found.native else None,
    )


# Verdicts ----------------------------------------------------------------------------------------


def test_multichannel_at_32_does_not_load_on_the_radeon_9700() -> None:
    """65 lookups > 32, 33 indirections > 4 (31 as advertised), 8 ALU a step > 64 natively."""
    verdict = verdict_of(MULTI, "radeon-9700", block=32)
    assert verdict.answer is verdict.advertised is verdict.native is LoadAnswer.DOES_NOT_LOAD
    found = {r.limit: r.found for r in verdict.exceeded}
    assert found == {
        "texture instructions": 65, "texture indirections": 33,
        "native ALU instructions": "256–484", "native instructions in all": "321–549",
    }  # fmt: skip
    over, within = Outcome.EXCEEDED, Outcome.WITHIN
    assert outcomes(verdict, "ALU instructions") == (within, None)
    assert outcomes(verdict, "native ALU instructions") == (None, over)
    assert outcomes(verdict, "texture instructions") == (over, over)
    assert outcomes(verdict, "texture indirections") == (over, over)
    assert "ahead of the lookup of line 13" in row(verdict, "texture indirections").advice
    assert row(verdict, "texture indirections").where.startswith("line 31: TEX looks up at R0")
    assert len(verdict.nodes) == 33


TONE_MAP = """!!ARBfp1.0
TEMP c, k, l;
TEX c, fragment.texcoord[0], texture[0], 2D;
DP3 l, c, { 0.3, 0.59, 0.11 };
TEX k, l, texture[1], 2D;
MUL c, c, k;
TEX k, fragment.texcoord[0], texture[2], 2D;
ADD c, c, k;
TEX k, c, texture[1], 2D;
MUL c, c, k;
TEX k, fragment.texcoord[1], texture[2], 2D;
MAD result.color, c, k, l;
END
"""


@pytest.mark.parametrize(
    ("chip", "outcome"),
    [
        ("radeon-9700", (Outcome.WITHIN, Outcome.UNKNOWN)),  # 3 ≤ 4 < 5
        ("nv30", (Outcome.WITHIN, Outcome.WITHIN)),
        ("ps-2-0", (Outcome.UNKNOWN, None)),  # rewritten, its registers are others
        ("ps-1-4", (Outcome.EXCEEDED, None)),  # 3 > 2
    ],
)
def test_a_register_used_again_opens_nodes_that_a_driver_may_avoid(
    chip: str, outcome: tuple[Outcome, Outcome | None]
) -> None:
    """Lines 7 and 11 open nodes since k is in use; only l and c are true dependences."""
    verdict = check_program(assemble(TONE_MAP), find_profile(chip))
    assert row(verdict, "texture indirections").found == "3–5"
    assert outcomes(verdict, "texture indirections") == outcome


def test_larson_mcallister_in_8_bits_runs_on_a_geforce3() -> None:
    verdict = verdict_of("larson-mcallister", "geforce3", texture_format="unorm8")
    assert verdict.answer is LoadAnswer.LOADS
    assert row(verdict, "language").advice == ("no program: set it up as register combiners")


def test_more_than_a_modulate_does_not_run_on_a_geforce3() -> None:
    verdict = verdict_of(MULTI, "geforce3", block=1)
    assert {"swizzles", "texture indirections"} <= {r.limit for r in verdict.exceeded}
    program = assemble("!!ARBfp1.0\nRCP result.color, fragment.color.x;\nEND\n", name="rcp.fp")
    [over] = check_program(program, find_profile("geforce3")).exceeded
    assert (over.limit, over.where) == ("operations", "line 2: RCP")


@pytest.mark.parametrize(
    ("chip", "outcome"),
    [
        ("radeon-9700", Outcome.EXCEEDED),
        ("nv30", Outcome.EXCEEDED),
        ("nv40", Outcome.EXCEEDED),  # 16 bits blend there, 32 do not
        ("quadro-4000", Outcome.WITHIN),
        ("3dlabs-p10", Outcome.UNKNOWN),
    ],
)
def test_blending_in_floats(chip: str, outcome: Outcome) -> None:
    verdict = verdict_of(SINGLE, chip, block=2, accumulate=Accumulate.BLEND)
    assert row(verdict, "float blending").outcome is outcome


def test_the_memory_of_the_whole_plan() -> None:
    """Section 4: four textures of 4096x4096 floats are 256 MB, twice what a GeForce4 has."""
    plan = plan_of(SINGLE, size=4096, block=32)
    assert plan.texture_bytes == 4 * 64 * 2**20
    found = row(check_plan(plan, find_profile("geforce4-ti-4600")), "memory, MiB")
    assert (found.found, found.outcome) == (256, Outcome.EXCEEDED)
    found = row(check_plan(plan, find_profile("radeon-9800-xt")), "memory, MiB")
    assert (found.found, found.outcome) == (256, Outcome.WITHIN)


def test_an_unknown_limit_is_never_passed_silently() -> None:
    verdict = verdict_of("larson-mcallister", "3dlabs-p10")
    assert verdict.answer is LoadAnswer.AS_FAR_AS_KNOWN
    unknown = {"language", "instructions in all", "float textures"}
    assert unknown <= {row.limit for row in verdict.unknown}


def test_what_a_driver_must_give_is_known_though_no_one_read_it_off() -> None:
    """Attributes of a 6800: at least 10, by the specification."""
    found = row(verdict_of(MULTI, "nv40", block=3), "attributes").advertised
    assert found is not None
    assert (found.outcome, found.allowed, found.at_least) == (Outcome.WITHIN, 10, True)
    beyond = assemble(
        "!!ARBfp1.0\nTEMP " + ", ".join(f"t{i}" for i in range(17)) + ";\nEND\n", name="many.fp"
    )
    found = row(check_program(beyond, find_profile("nv40")), "temporaries").advertised
    assert found is not None
    assert found.outcome is Outcome.UNKNOWN


def test_kernels_need_a_chip_that_has_them() -> None:
    assert row(verdict_of("dobravec-bulic-global", "nv40"), "compute kernels").outcome is (
        Outcome.EXCEEDED
    )
    modern = verdict_of("dobravec-bulic-global", "quadro-4000")
    assert modern.answer is LoadAnswer.LOADS
    by_cuda = [verdict_of(f"dobravec-bulic-{kind}", "9400m") for kind in ("global", "shared")]
    assert all(verdict.answer is LoadAnswer.LOADS for verdict in by_cuda)
    [over] = verdict_of("opengl-compute-tiled", "9400m").exceeded
    assert (over.limit, over.found) == ("threads of a work group", 32 * 32)


# Computing coordinates first ---------------------------------------------------------------------


def product(method: str, executor: str, parameters: dict[str, Any]) -> Any:
    plan = find_product(method).plan(**parameters)
    operands = random_operands(plan)
    chosen = find_executor(executor)
    return chosen.run(plan, operands, as_exact_as_it_can(chosen, plan)).outputs["C"]


@pytest.mark.parametrize("method", [MULTI, SINGLE])
@pytest.mark.parametrize("accumulate", list(Accumulate))
@settings(max_examples=8)
@given(
    st.integers(1, 7),
    st.integers(1, 8),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(st.integers(1, 9), st.integers(1, 21), st.integers(1, 9)),
)
def test_results_are_the_same_to_the_last_bit(  # noqa: PLR0917
    method: str,
    accumulate: Accumulate,
    block: int,
    group: int,
    transposed: tuple[bool, bool],
    sizes: tuple[int, int, int],
) -> None:
    names = "transpose_a", "transpose_b", "m", "l", "n"
    written = dict(zip(names, (*transposed, *sizes), strict=True))
    written |= {"block": block, "accumulate": accumulate}
    first = {**written, "coordinates_first": group}
    expected = product(method, "numpy", written)
    np.testing.assert_array_equal(product(method, "numpy", first), expected)


# Fits --------------------------------------------------------------------------------------------


def fit_of(method: str, chip: str, size: int = 256, **options: Any) -> Fit:
    return fit(find_product(method), find_profile(chip), {"n": size, **options})


def found_in(fitted: Fit) -> dict[tuple[str, bool], int | None]:
    """The values by side, and by whether coordinates are computed first."""
    return {
        (each.limits, each.coordinates_first is not None): each.value for each in fitted.largest
    }


def test_the_radeon_9700() -> None:
    """Lookups 2b + 1 ≤ 32 give 15; indirections b + 1 ≤ 4 give 3, all coordinates first 8.

    A step of this text has 8 native instructions at the fewest, and 15 at the most, with 4
    besides, of 64.
    """
    fitted = fit_of(MULTI, "radeon-9700")
    assert found_in(fitted) == {
        ("advertised", False): 15, ("native", False): 3, ("native", True): 8,
    }  # fmt: skip
    native, first = fitted.largest[1], fitted.largest[2]
    assert native.why == "texture indirections 5 > 4"
    assert first.why == "native ALU instructions 72–139 > 64"
    assert (first.answer, first.certain) == (LoadAnswer.AS_FAR_AS_KNOWN, 4)
    assert (native.answer, native.certain) == (LoadAnswer.LOADS, 3)
    assert first.coordinates_first == 8
    assert first.command == (
        f"gpgpu-legacy check {MULTI} n=256 block=8 coordinates_first=8 --chip radeon-9700-pro"
    )


def test_a_method_without_blocks_is_asked_for_its_size() -> None:
    """packed-2x2 spends an indirection on every two elements of the sum."""
    fitted = fit_of("packed-2x2", "radeon-9700", size=64)
    assert fitted.what == "size"
    native = next(each for each in fitted.largest if each.limits == "native")
    assert native.value is not None
    program = plan_of("packed-2x2", size=native.value).programs()[0]
    larger = plan_of("packed-2x2", size=native.value + 1).programs()[0]
    assert resources(program).count(Resource.INDIRECTIONS) <= 4
    assert resources(larger).count(Resource.INDIRECTIONS) > 4


@pytest.mark.parametrize(
    "chip",
    ["radeon-9700-pro", "radeon-x800-xt", "geforce-fx-5800-ultra", "geforce-6800-ultra", "ps-2-0",
     "arbfp1.0-minimum", "hall-carr-hart-model", "geforce3"],
)  # fmt: skip
def test_no_larger_block_loads(chip: str) -> None:
    """All blocks are tried one by one, and the fit's is the last that is over no limit."""
    size, most = 34, 17
    fitted = fit_of(MULTI, chip, size=size)

    def answer(block: int, each: Largest) -> LoadAnswer:
        verdict = verdict_of(MULTI, chip, size, block=block)
        return verdict.native if each.limits == "native" else verdict.advertised

    for each in fitted.largest:
        if each.coordinates_first is None:
            answers = {block: answer(block, each) for block in range(1, most + 1)}
            tried = [b for b, given in answers.items() if given is not LoadAnswer.DOES_NOT_LOAD]
            certain = [b for b, given in answers.items() if given is LoadAnswer.LOADS]
            assert each.value == (max(tried) if tried else None)
            assert each.certain == (max(certain) if certain else None)
