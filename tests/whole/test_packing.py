"""Packings: every program found multiplies; the fewest slots by another search and by hand."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from gpgpu_legacy.chips.native import instruction_set
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.studies.packing import CHIPS, Trial, packing_table, plan_of
from gpgpu_legacy.studies.shared.packing_search import (
    PACKINGS,
    Found,
    schedule,
    search,
    swizzles_of,
)


def found(chip: str, number: int) -> Found:
    return search(PACKINGS[number], swizzles_of(find_profile(chip)))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("number", range(len(PACKINGS)))
def test_every_program_multiplies(chip: str, number: int) -> None:
    """Sizes that fill no texel and no pass; so many steps that coordinates are computed, too."""
    rng = np.random.default_rng(number)
    one, machine = found(chip, number), find_executor("numpy")
    for way, (n, steps, longer) in product(one.ways, ((5, 1, 0), (9, 2, 0), (11, 9, 1))):
        a, b = (rng.integers(-9, 9, (n, n)).astype(np.float32) for _ in "AB")
        plan = plan_of(Trial(one, way, steps, longer), find_profile(chip), n)
        c = machine.run(plan, {"A": a, "B": b}, Machine(exact=True)).outputs["C"]
        np.testing.assert_array_equal(c, a @ b)


# Another search: sets of the products a_ik·b_kj of one 2×2 step, by vector parts ---------------

R300 = ("xyz", "xxx", "yyy", "zzz", "www", "yzx", "zxy", "wzy")
PS_2_0 = ("xyzw", "yzxw", "zxyw", "wzyx", "xxxx", "yyyy", "zzzz", "wwww")
READING = ((0, 0), (0, 1), (1, 0), (1, 1))


def fewest(
    native: tuple[str, ...], a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]
) -> float:
    """Slots of a step: n vector parts leave products to scalar parts, and six steps may differ."""
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
    return min(
        max(sum(column) for column in zip(*mix, strict=True)) / period
        for period in range(1, 7)
        for mix in combinations_with_replacement(front, period)
    )


@pytest.mark.parametrize(("chip", "native"), [(CHIPS[0], R300), (CHIPS[1], PS_2_0)])
def test_another_search_finds_as_few(chip: str, native: tuple[str, ...]) -> None:
    ours, other = (found(chip, number) for number in range(2))
    assert ours.slots / ours.period == fewest(native, READING, READING)
    assert other.slots / other.period == min(
        fewest(native, READING, order) for order in permutations(READING)
    )


@pytest.mark.parametrize(("chip", "mix"), list(zip(CHIPS, ((12, 5), (4, 1), (2, 1)), strict=True)))
def test_the_fewest_by_hand(chip: str, mix: tuple[int, int]) -> None:
    """R300 in reading order: 2 vector parts and 3 scalars in four steps, 4 vector parts in a fifth.

    NV30 reads any swizzle; ps_2_0 has four products of two elements in no swizzle of both texels.
    In another order all do 8 multiply-adds in 2: A.yzxw·B.wzyx and A·B.zxyw for B = 10 00 01 11.
    """
    assert (found(chip, 0).slots, found(chip, 0).period) == mix
    for number, packings in enumerate(PACKINGS[1:], 1):
        assert found(chip, number).slots == 2 * packings.step / 2  # 8 multiply-adds of 2 elements


HEAD = "!!ARBfp1.0 TEMP a, b, d, e, c, r, q, p; MOV a, 0.0; MOV b, 0.0; MOV d, 0.0; MOV e, 0.0;"
VECTOR, COORDINATE = "MAD r.xyz, a, b.yzxw, r;", "ADD c.xy, fragment.texcoord[0], {1.0, 0.0};"


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (VECTOR + "MAD q.w, a.x, b.y, q;", 1),  # the same texels
        (VECTOR + "MAD q.w, d.x, e.y, q;", 2),  # a, b, r, d and e for x, y, z
        (VECTOR + "MAD q.w, d.w, e.w, q;", 1),  # d, e and q for w
        (VECTOR + "MAD q.w, d.w, e.x, q;", 2),  # a, b, r and e
        (COORDINATE + "MAD q.w, a.y, b.w, q;", 1),
        (COORDINATE + "MAD q.w, a.y, b.x, q;", 2),
        ("MAD r.xyz, a.w, b, r; MAD q.w, d.y, e.w, q;", 1),  # b, r, d for x, y, z; a, e, q for w
        ("MAD r.xyz, a.w, b.w, r; MAD q.w, d.w, e.x, q;", 2),  # a, b, d and q for w
        ("MAD q.w, a.x, b.x, q; MAD q.w, a.y, b.y, q;", 2),  # one scalar part a slot
        ("MAD q.w, a.x, b.x, q; ADD a.x, q.w, b;", 2),  # it waits for q
        ("MAD q.w, a.x, b.x, q; ADD a.x, b, d;", 1),  # a slot reads before it writes
        # Two steps in five slots: 2 vector parts and 3 scalars, 3 vector parts and 5 scalars.
        (
            "MAD r.xyz, a, b.yzxw, r; MAD r.w, a.x, b.x, r; MAD q.xy, a.w, b.wzyx, q;"
            "MAD q.w, a.z, b.y, q; MAD p.w, a.y, b.w, p;"
            "MAD r.xyz, d, e.yzxw, r; MAD r.w, d.x, e.x, r; MAD q.xz, d.wzyx, e.w, q;"
            "MAD q.w, d.z, e.y, q; MAD p.x, d.w, e.z, p;",
            5,
        ),
    ],
)
def test_slots_by_hand(text: str, slots: int) -> None:
    """Three addresses for x, y and z and three for w, of both parts; and what they wait for."""
    used = "ADD p, p, q; ADD p, p, r; ADD p, p, c; ADD result.color, p, a; END"
    program, known = (assemble(HEAD + one) for one in (text + "KIL a; " + used, "KIL a; " + used))
    native = instruction_set("r300")
    assert schedule(program, native) - schedule(known, native) == slots


def test_the_table() -> None:
    """b: 2b + 1 lookups ≤ 32, or 5 for two steps; the listing's slots are those of `fit`."""
    table = packing_table([find_profile(CHIPS[0])], 64)
    listing, *rows = table.rows
    assert (listing.products, listing.slots, listing.block) == (5, 8, 8)
    assert [row.block for row in rows] == [15, 15, 14, 12, 12, 12, 12]
    assert [row.products for row in rows] == [2.4] + 6 * [2]
    assert (rows[0].slots, rows[0].counted) == (59 / 15, 57 / 15)
    others = packing_table([find_profile(CHIPS[1])], 64).rows  # of no scalar parts
    assert all(row.slots == row.counted for row in (*rows[1:], *others))
    assert all(row.seconds and row.seconds <= (listing.seconds or 0) * 1.3 for row in rows)


@pytest.mark.parametrize(
    ("chip", "message"), [("geforce3", "no known swizzles"), ("ps-2-b", "no coordinate_sets")]
)
def test_a_chip_without_the_numbers_is_refused(chip: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packing_table([find_profile(chip)], 64)
