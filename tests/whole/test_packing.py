"""Packings: every program found multiplies; the fewest slots by another search and by hand."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.native import count_native, instruction_set
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import Answer
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.studies.packing.plan import plan_of
from gpgpu_legacy.studies.packing.result import CHIPS, packing_table
from gpgpu_legacy.studies.packing.search import PACKINGS, Found, search, swizzles_of


def found(chip: str, number: int) -> Found:
    return search(PACKINGS[number], swizzles_of(find_profile(chip)))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("number", range(len(PACKINGS)))
def test_every_program_multiplies(chip: str, number: int) -> None:
    """Sizes that fill no texel and no pass; so many steps that coordinates are computed, too."""
    rng = np.random.default_rng(number)
    one, machine = found(chip, number), find_executor("numpy")
    for n, steps in ((5, 1), (9, 2), (11, 9)):
        a, b = (rng.integers(-9, 9, (n, n)).astype(np.float32) for _ in "AB")
        plan = plan_of(one, find_profile(chip), steps * one.packings.step, n)
        c = machine.run(plan, {"A": a, "B": b}, Machine(exact=True)).outputs["C"]
        np.testing.assert_array_equal(c, a @ b)


# Another search: sets of the products a_ik·b_kj of one 2×2 step, by vector parts ---------------

R300 = ("xyz", "xxx", "yyy", "zzz", "www", "yzx", "zxy", "wzy")
PS_2_0 = ("xyzw", "yzxw", "zxyw", "wzyx", "xxxx", "yyyy", "zzzz", "wwww")
READING = ((0, 0), (0, 1), (1, 0), (1, 1))


def fewest(
    native: tuple[str, ...], a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]
) -> float:
    """Slots of a step: n vector parts leave products to scalar parts, and two steps may differ."""
    reads = [tuple(map("xyzw".index, swizzle)) for swizzle in native]
    parts = {
        frozenset((a[p], b[q]) for p, q in zip(s, t, strict=True) if a[p][1] == b[q][0])
        for s, t in product(reads, repeat=2)
    }
    has_scalar = len(native[0]) == 3
    front, reached = [], {frozenset[object]()}
    for vectors in range(9):
        left = 8 - max(map(len, reached))
        if has_scalar or left == 0:
            front.append((vectors, left))
        reached = {one | part for one in reached for part in parts}
    return min(max(v + w, s + t) / 2 for (v, s), (w, t) in product(front, repeat=2))


@pytest.mark.parametrize(("chip", "native"), [(CHIPS[0], R300), (CHIPS[1], PS_2_0)])
def test_another_search_finds_as_few(chip: str, native: tuple[str, ...]) -> None:
    assert found(chip, 0).slots / 2 == fewest(native, READING, READING)
    assert found(chip, 1).slots / 2 == min(
        fewest(native, READING, order) for order in permutations(READING)
    )


@pytest.mark.parametrize(("chip", "slots"), list(zip(CHIPS, (2.5, 4, 2), strict=True)))
def test_the_fewest_by_hand(chip: str, slots: float) -> None:
    """R300 in reading order: 1 vector part and 5 scalars in one step, 4 vector parts in the next.

    NV30 reads any swizzle; ps_2_0 has four products of two elements in no swizzle of both texels.
    In another order all do 8 multiply-adds in 2: A.yzxw·B.wzyx and A·B.zxyw for B = 10 00 01 11.
    """
    assert found(chip, 0).slots / 2 == slots
    assert all(found(chip, number).slots == 4 for number in range(1, len(PACKINGS)))


@pytest.mark.parametrize(("chip", "extra"), list(zip(CHIPS[:2], (0, 2), strict=True)))
def test_fifteen_steps_by_hand(chip: str, extra: int) -> None:
    """2 multiply-adds and 2 coordinates a step, 7 of them interpolated; 3 sums and w's, 1 result.

    In Direct3D w's sum and the mov of the result are 2 more. All but one of 32 lookups are taken.
    """
    profile, one = find_profile(chip), found(chip, 1)
    [program] = plan_of(one, profile, 30, 1024).programs()
    assert profile.programs.instruction_set is not None
    native = count_native(program, instruction_set(profile.programs.instruction_set.value))
    assert native.fewest == 2 * 15 + (2 * 15 - 7) + 3 + 1 + extra
    assert not any(use.moves for use in native.uses)
    assert native.lookups == 31


def test_it_loads_natively_on_a_radeon_9700() -> None:
    chip = find_profile(CHIPS[0])
    verdict = check_plan(plan_of(found(CHIPS[0], 1), chip, 30, 1024), chip)
    assert (verdict.native, verdict.exceeded) == (Answer.LOADS, ())


def test_the_table() -> None:
    """b: 2b + 1 lookups ≤ 32, or 5 for two steps; the listing's slots are those of `fit`."""
    table = packing_table([find_profile(CHIPS[0])], 64)
    listing, *rows = table.rows
    assert (listing.products, listing.slots, listing.block) == (5, 8, 8)
    assert [row.block for row in rows] == [14, 15, 14, 12, 12, 12, 12]
    assert [row.products for row in rows] == [2.5] + 6 * [2]
    assert all(row.seconds and row.seconds <= (listing.seconds or 0) * 1.3 for row in rows)


@pytest.mark.parametrize(
    ("chip", "message"), [("geforce3", "no known swizzles"), ("ps-2-b", "no coordinate_sets")]
)
def test_a_chip_without_the_numbers_is_refused(chip: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packing_table([find_profile(chip)], 64)
