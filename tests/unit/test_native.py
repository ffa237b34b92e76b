"""Native instructions on R300 and ps_2_0: pieces, moves, both counts, and Mesa's own compiler."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.native import (
    InstructionSet,
    NativeCount,
    count_native,
    instruction_set,
)
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import Outcome, Row, Verdict
from gpgpu_legacy.isa.program import Program, Selector, Src, Temporary
from gpgpu_legacy.languages.arb.parser import assemble

R300, PS_2_0 = instruction_set("r300"), instruction_set("ps-2-0")
CHIP = find_profile("radeon-9700-pro")
ALL, VECTOR = (0, 1, 2, 3), (0, 1, 2)
LETTERS = dict(zip("xyzw01", Selector, strict=True))

# The table of r300_fragprog_swizzle.c, as the driver lists it, save the constant ½.
NATIVE = ("xyz", "xxx", "yyy", "zzz", "www", "yzx", "zxy", "wzy", "111", "000")


def operand(letters: str) -> Src:
    """An operand with these selectors, each with its sign: `xy-z1`."""
    signs, selectors, negative = [], [], False
    for letter in letters:
        if letter == "-":
            negative = True
            continue
        signs.append(negative)
        selectors.append(LETTERS[letter])
        negative = False
    return Src(Temporary("a"), tuple(selectors), tuple(signs))  # type: ignore[arg-type]


# "Source Register Swizzling" in Microsoft's reference, and constants of 0 and 1.
LEGAL = ("xyzw", "yzxw", "zxyw", "wzyx", "xxxx", "yyyy", "zzzz", "wwww", "0000", "1111")


def test_the_tables_are_the_drivers_and_microsofts() -> None:
    assert (R300.swizzles, PS_2_0.swizzles) == (NATIVE, LEGAL)


# Mesa 22.3.6, compiling one program for each swizzle on a Radeon 9700 (RADEON_DEBUG=fp): the moves
# that are left after its pass "dataflow swizzles". Swizzles in the order xxxx, xxxy, … wwww.
MESA_MAD = (
    "0000222222222222222222220000222222222222222233332222333322222222222222223333333322220000"
    "2222222200002222222222222222222233332222222200002222222233332222222233332222222200002222"
    "33332222222222222222222233332222333322222222222222220000222222222222222222220000"
)
MESA_CUBE = "1222220222232322223321221222223221223223221232222232322221222221"
MESA_DP3 = "0222220222232322223320220222223220223223220232222232322220222220"


def test_mesas_compiler_moves_as_often() -> None:
    """MAD's first operand; for a cube map's coordinate even one piece is a move, save xyz."""
    for letters, moves in zip(product("xyzw", repeat=4), MESA_MAD, strict=True):
        assert sum(map(bool, R300.moves(operand("".join(letters)), ALL))) == int(moves)
    for letters, cube, dot in zip(product("xyzw", repeat=3), MESA_CUBE, MESA_DP3, strict=True):
        text = "".join(letters)
        assert len(R300.moves(operand(text + text[-1]), VECTOR)) == int(dot)
        program = body(f"TEX b, a.{text}{text[-1]}, texture[1], CUBE;", "MOV result.color, b;")
        assert sum(use.moves for use in count(program).uses) == int(cube)


# Whole programs ----------------------------------------------------------------------------------


def body(*lines: str) -> Program:
    head = "!!ARBfp1.0\nTEMP a, b, c;\nMOV a, fragment.texcoord[0];\nMOV b, fragment.texcoord[1];\n"
    return assemble(head + "\n".join(lines) + "\nEND\n", name="test.fp")


def count(program: Program, known: InstructionSet = R300) -> NativeCount:
    return count_native(program, known)


def ends(*lines: str, known: InstructionSet = R300) -> tuple[int, int]:
    """The fewest and the most of these lines, without the two copies before them."""
    native = count(body(*lines), known)
    return native.fewest, sum(use.most for use in native.uses[2:])


def test_what_one_instruction_takes() -> None:
    assert ends("MUL result.color, a, b;") == (1, 1)
    assert ends("MUL result.color, a.xxzz, b.xyxy;") == (2, 5)  # xy, then zw; or 2 moves each
    assert ends("MUL result.color, a.yyww, b.zwzw;") == (3, 5)  # x, y, zw
    assert ends("MUL result.color.w, a.yyww, b.zwzw;") == (1, 1)  # w reads any component
    assert ends("MUL result.color.xw, a.yyww, b.zwzw;") == (1, 1)
    assert ends("DP3 result.color, a.xzyw, b;") == (3, 3)  # a dot product cannot be split
    assert ends("RCP result.color, a.w;") == (1, 1)
    assert ends("POW result.color, a.x, b.y;") == (3, 3)
    assert ends("SWZ result.color, a, x, 1, 0, y;") == (3, 4)
    assert ends("SWZ result.color, a, -x, y, z, w;") == (2, 3)


def test_scalar_parts_share_instructions_with_vector_parts() -> None:
    assert ends("RCP c.w, a.w;", "MUL result.color.xyz, b, c.w;") == (1, 2)
    scalars = ("RCP c.w, a.w;", "RSQ c.x, b.w;")  # the vector part copies what goes to x
    assert ends(*scalars, "MUL result.color.xw, b, c;") == (3, 3)
    assert ends(*scalars, "MUL result.color.x, b, c.w;", "MOV result.color.y, c.x;") == (3, 4)


def test_direct3d_counts_slots() -> None:
    """A mov writes each result, once; w is no part of its own; texld takes what is there."""
    for lines, slots in (
        (("MUL result.color, a, b;",), (2, 2)),
        (("MOV result.color, a;",), (1, 1)),
        (("MOV result.color, a.wzyx;",), (2, 2)),
        (("MUL result.color.xyz, a, b;", "RCP result.color.w, a.w;"), (3, 3)),
        (("MUL c, a.wzyx, b.yzxw;", "MOV result.color, c;"), (2, 2)),
        (("MUL c, a.xxzz, b.xyxy;", "MOV result.color, c;"), (4, 6)),  # xy, z and w; or 2 + 2 moves
        (("TEX c, a, texture[0], 2D;", "MOV result.color, c;"), (1, 1)),
        (("TEX c, a.wzyx, texture[0], 2D;", "MOV result.color, c;"), (2, 2)),
        (("TEX result.color, a, texture[0], 2D;",), (1, 1)),
        (("LRP c, a, b, a;", "MOV result.color, c;"), (3, 3)),
    ):
        assert ends(*lines, known=PS_2_0) == slots, lines


SWIZZLES = st.tuples(*[st.sampled_from("xyzw")] * 4).map("".join)


@pytest.mark.parametrize("known", [R300, PS_2_0], ids=lambda known: known.name)
@settings(max_examples=60)
@given(st.lists(SWIZZLES, min_size=1, max_size=3), st.sets(st.sampled_from(ALL), min_size=1))
def test_no_way_takes_fewer(known: InstructionSet, swizzles: list[str], written: set[int]) -> None:
    """Every component goes to one of four instructions; every operand may be moved before."""
    table = NATIVE if known is R300 else LEGAL
    mask = {c for c in written if c < len(table[0])} or {0}

    def native(letters: str, components: set[int]) -> bool:
        return any(all(letters[c] == each[c] for c in components) for each in table)

    @cache
    def moved_in(letters: str) -> int:
        """The fewest native swizzles that have all components of this one."""
        return min(
            k
            for k in (1, 2, 3, 4)
            for chosen in combinations(table, k)
            if all(any(n[c] == letters[c] for n in chosen) for c in mask)
        )

    def costs(moved: tuple[bool, ...], group: tuple[int, ...]) -> int | None:
        parts = [{c for c, g in zip(sorted(mask), group, strict=True) if g == k} for k in ALL]
        read = [s for s, is_moved in zip(swizzles, moved, strict=True) if not is_moved]
        if not all(native(s, part) for part in parts if part for s in read):
            return None
        moves = sum(moved_in(s) for s, is_moved in zip(swizzles, moved, strict=True) if is_moved)
        return moves + sum(map(bool, parts))

    ways = product(product((False, True), repeat=len(swizzles)), product(ALL, repeat=len(mask)))
    least = min(cost for way in ways if (cost := costs(*way)) is not None)
    mnemonic = {1: "MOV", 2: "MIN", 3: "MAD"}[len(swizzles)]
    sources = ", ".join(f"{name}.{s}" for name, s in zip("aba", swizzles, strict=False))
    letters = "".join("xyzw"[c] for c in sorted(mask))
    last = f"MUL result.color.{letters}, c, c;"
    program = body(f"{mnemonic}_SAT c.{letters}, {sources};", last)
    assert count(program, known).fewest == least + 1 + known.result[0]


def listing(method: str, block: int) -> Program:
    return find_product(method).plan(n=240, block=block, coordinates_first=block).programs()[0]


@pytest.mark.parametrize("block", [1, 3, 8, 15])
def test_the_multichannel_step_by_hand(block: int) -> None:
    """A step moves zwzw of the coordinates in 2; its products take 2 and 3, and its sum 1.

    With a move for each piece there are 2 for the coordinates and 4 for each product.
    """
    native = count(listing("hall-carr-hart-multi", block))
    assert native.fewest == 8 * block
    assert sum(use.moves for use in native.uses) == 10 * block
    alu, rectangles = 3 * block + 3, 2 * block + 1
    assert native.most == alu + 10 * block + rectangles


# Verdicts ----------------------------------------------------------------------------------------


def native_row(verdict: Verdict) -> Row:
    return next(row for row in verdict.limits if row.limit == "native ALU instructions")


@pytest.mark.parametrize(
    ("block", "found", "outcome"),
    [
        (4, "32–64", Outcome.WITHIN),
        (5, "40–79", Outcome.UNKNOWN),
        (8, "64–124", Outcome.UNKNOWN),
        (9, "72–139", Outcome.EXCEEDED),
    ],
)
def test_a_range_against_a_limit(block: int, found: str, outcome: Outcome) -> None:
    row = native_row(check_program(listing("hall-carr-hart-multi", block), CHIP))
    assert (row.found, row.outcome, row.advertised) == (found, outcome, None)
    assert row.native is not None and row.native.allowed == 64
    assert row.advice == f"{10 * block} of the most are moves, for swizzles that the chip lacks"
    assert bool(row.where) == (outcome is not Outcome.WITHIN)
