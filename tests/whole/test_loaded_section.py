"""Would it have loaded? The page's table says what the limits of the chips and `fit` say."""

from __future__ import annotations

import re

import pytest

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile, profiles
from gpgpu_legacy.chips.verdict import LoadAnswer
from gpgpu_legacy.page.sections import sections_of
from gpgpu_legacy.page.sections.loaded import CaseData, Loading, loading

SINGLE, MULTI = "hall-carr-hart-single", "hall-carr-hart-multi"
MODEL = "hall-carr-hart-model"  # 256 instructions, and unlimited lookups
R300 = "radeon-9700-pro"  # 4 texture indirections, of which a block needs b + 1


@pytest.fixture(scope="module")
def data() -> Loading:
    return loading()


def case_of(data: Loading, name: str) -> CaseData:
    return next(case for case in data.cases if case.name == name)


def chip_number(name: str) -> int:
    return [profile.name for profile in profiles()].index(name)


def largest_block(data: Loading, name: str, chip: str) -> int | None:
    answers = data.answers(case_of(data, name), chip_number(chip)).items()
    blocks = [block for block, answer in answers if answer is not LoadAnswer.DOES_NOT_LOAD]
    return blocks[-1] if blocks else None


@pytest.mark.parametrize(
    ("name", "chip", "block"),
    [
        (MULTI, R300, 4 - 1),
        (SINGLE, R300, 4 - 1),
        (MULTI, MODEL, (256 - 5) // 5),  # 5b + 5 instructions; its END is none
        (SINGLE, MODEL, (256 - 5) // 4),  # 4b + 5
        (MULTI, "geforce-fx-5800-ultra", 128),  # 1024 instructions are not all taken
        (MULTI, "geforce3", None),
    ],
)
def test_the_largest_block_is_that_of_the_limit(
    data: Loading, name: str, chip: str, block: int | None
) -> None:
    assert largest_block(data, name, chip) == block


@pytest.mark.parametrize(
    ("chip", "block"), [(R300, 3), (R300, 16), ("ps-2-0", 3), ("ps-2-0", 8), ("ps-1-1", 1)]
)
def test_each_limit_is_that_of_check(data: Loading, chip: str, block: int) -> None:
    plan = find_product(MULTI).plan(n=data.size, block=block)
    verdict = check_plan(plan, find_profile(chip))
    case, number = case_of(data, MULTI), chip_number(chip)
    at = case.blocks.index(block)
    told = data.told[case.told[number][at]]
    assert (told.answer, told.reasons) == (verdict.answer, ", ".join(verdict.excesses))
    uses = zip(data.limits, data.uses[told.uses], strict=True)
    assert {n: use for n, use in uses if use is not None} == {
        r.limit: r.found for r in verdict.limits
    }
    shown = data.chips[number].most
    for row in verdict.limits:
        least, words = shown[row.limit]
        allowed = [side.allowed for side in row.sides if side]
        assert least == min((one for one in allowed if isinstance(one, int)), default=None)
        assert least is None or str(least) in words


def test_the_table_stands_without_scripts(data: Loading) -> None:
    html = sections_of(["loaded"])[0].html
    rows = re.findall(r"<tr><td data-label=\"chip or API\">.*?</tr>", html)
    assert len(rows) == len(profiles())
    case = case_of(data, MULTI)
    assert data.largest(case, chip_number(R300)) == "b = 3"
    assert "128 or more" in data.largest(case, chip_number("geforce-fx-5800-ultra"))
    assert data.largest(case, chip_number("geforce3")) == "no"
