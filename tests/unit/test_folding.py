"""What is decided on a pass before code of it is emitted: folded lookups and dead instructions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from drawing import corners, draw, fragment_texcoords, program, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import program_texts

from gpgpu_legacy.isa.program import Dst, Instruction, Program, ResultKind, ResultRegister
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.analysis.fusion import Decisions, Folded, decide, undecided
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import (
    RGBA32F,
    Extent,
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
)

RECT = Rect(0, 0, 4, 3)


def plan_with(*textures: Texture) -> Plan:
    return Plan(
        "made for a test", (), (), (texture("target", 4, 3, RGBA32F), *textures), (), (), ()
    )


def decided(
    text: Program, sizes: tuple[tuple[int, int], ...] = ((8, 6), (8, 6), (8, 6)), **more: object
) -> Decisions:
    textures = [texture(f"T{i}", *size, RGBA32F) for i, size in enumerate(sizes)]
    bindings = tuple(Binding(i, each.name) for i, each in enumerate(textures))
    given_fields: dict[str, object] = {"texcoords": (fragment_texcoords(0, 4, 3),), **more}
    each = FragmentPass(text, bindings, ("target",), RECT, **given_fields)  # type: ignore[arg-type]
    return decide(plan_with(*textures), each)


def folds(*lines: str, **more: object) -> tuple[Folded | None, ...]:
    return decided(program(*lines), **more).lookups  # type: ignore[arg-type]


def live(*lines: str) -> list[str]:
    """The live components of each instruction, as letters."""
    return ["".join("xyzw"[c] for c in each) for each in decided(program(*lines)).live]


HERE = "TEX R1, fragment.texcoord[0], texture[0], RECT;"
SHOWN = "MOV result.color, R1;"


# Folding -----------------------------------------------------------------------------------------


def test_a_lookup_at_the_fragments_own_texel_is_folded_into_a_varying() -> None:
    found = decided(program(HERE, SHOWN))
    assert found.lookups == (Folded(0, 0, 0),)
    [varying] = found.varyings
    across, up = 4 / 8, 3 / 6  # of a texture of 8×6
    at_corners = [corner.at(5) for corner in varying.corners(RECT)]
    assert at_corners == [0, 0, across, 0, across, up, 0, up]


def test_lookups_that_march_share_a_varying_and_differ_by_texels() -> None:
    found = folds(
        "MOV R0, fragment.texcoord[0];",
        "TEX R1, R0, texture[0], RECT;",
        "ADD R0, R0, {1, 0, 0, 0};",
        "TEX R2, R0, texture[1], RECT;",
        "ADD R0, R0, {1, -3, 0, 0};",
        "TEX R3, R0, texture[0], RECT;",
        "MAD result.color, R1, R2, R3;",
    )
    assert found == (Folded(0, 0, 0), Folded(0, 1, 0), Folded(0, 2, -3))


def test_coordinates_that_run_in_other_directions_do_not_share_a_varying() -> None:
    turned = "TEX R2, fragment.texcoord[0].yxzw, texture[0], RECT;"
    found = folds(HERE, turned, "ADD result.color, R1, R2;")
    assert found == (Folded(0, 0, 0), Folded(1, 0, 0))


@pytest.mark.parametrize(
    "lines",
    [
        ("ADD R0, fragment.texcoord[0], 0.5;", "TEX R1, R0, texture[0], RECT;"),
        ("MUL R0, fragment.texcoord[0], 2;", "TEX R1, R0, texture[0], RECT;"),
        ("TEX R0, fragment.texcoord[0], texture[0], RECT;", "TEX R1, R0, texture[0], RECT;"),
        ("MOV_SAT R0, fragment.texcoord[0];", "TEX R1, R0, texture[0], RECT;"),
    ],
    ids=["on an edge", "every other edge", "dependent", "saturated"],
)
def test_a_lookup_that_may_be_anywhere_is_not_folded(lines: tuple[str, ...]) -> None:
    assert folds(*lines, SHOWN)[-1] is None


@pytest.mark.parametrize(
    ("kind", "sampler", "is_folded"),
    [
        (TextureKind.RECT, Sampler(), True),
        (TextureKind.RECT, Sampler(Filter.LINEAR), False),
        (TextureKind.RECT, Sampler(wrap_s=Wrap.CLAMP), False),
        (TextureKind.T2D, Sampler(), False),
    ],
)
def test_only_nearest_texels_of_rectangles_that_clamp_are_folded(
    kind: TextureKind, sampler: Sampler, is_folded: bool
) -> None:
    text = program(f"TEX R1, fragment.texcoord[0], texture[0], {kind.value};", SHOWN)
    bound = Texture("T", kind, Extent(8, 6), RGBA32F)
    sets = (fragment_texcoords(0, 4, 3),)
    each = FragmentPass(text, (Binding(0, "T", sampler),), ("target",), RECT, sets)
    assert (decide(plan_with(bound), each).lookups[0] is not None) == is_folded
    assert decide(plan_with(bound), each, folding=False) == undecided(text)


# What is live ------------------------------------------------------------------------------------


def test_what_only_addresses_folded_lookups_is_dead() -> None:
    assert live("MOV R0, fragment.texcoord[0];", "TEX R1, R0, texture[0], RECT;", SHOWN) == [
        "", "xyzw", "xyzw",
    ]  # fmt: skip


def test_what_addresses_another_lookup_is_live_in_s_and_t() -> None:
    found = live("ADD R0, fragment.texcoord[0], 0.25;", "TEX R1, R0.wzxx, texture[0], RECT;", SHOWN)
    assert found == ["zw", "xyzw", "xyzw"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("TEX R1, R0, texture[0], 1D;", "x"),
        ("TEX R1, R0, texture[0], 2D;", "xy"),
        ("TEX R1, R0, texture[0], 3D;", "xyz"),
        ("TEX R1, R0, texture[0], CUBE;", "xyz"),
        ("TEX R1, R0.wzyx, texture[0], 3D;", "yzw"),
        ("TXP R1, R0, texture[0], 1D;", "xw"),
        ("TXP R1, R0, texture[0], RECT;", "xyw"),
        ("TXB R1, R0, texture[0], 2D;", "xyw"),
        ("RCP R1, R0.z;", "z"),
        ("POW R1, R0.z, R0.x;", "xz"),
        ("DP3 R1.x, R0, R0;", "xyz"),  # the product of the w components is not in the sum
        ("DPH R1.x, R0, {1, 2, 3, 4};", "xyz"),  # the first vector's w counts as 1
        ("DPH R1.x, {1, 2, 3, 4}, R0;", "xyzw"),
        ("DP4 R1.x, R0, R0;", "xyzw"),
        ("SCS R1, R0.y;", "y"),
        ("LIT R1, R0;", "xyw"),
        ("LIT R1.y, R0;", "x"),
        ("DST R1, R0, R0;", "yzw"),
        ("DST R1, R0, {1, 2, 3, 4};", "yz"),
        ("XPD R1.x, R0, {1, 2, 3, 4};", "yz"),
        ("KIL R0.zzww;", "zw"),
    ],
)
def test_what_each_form_reads_is_live(line: str, read: str) -> None:
    text = program("MOV R1, 0;", "MOV R0, program.local[0];", line, SHOWN)
    found = undecided(text).live[1]
    assert "".join("xyzw"[c] for c in found) == read


def test_a_discard_is_a_result_and_the_depth_is_none() -> None:
    found = live("MOV R0, 1;", "MOV R2, 2;", "KIL R0;", "MOV result.depth.z, R2;")
    assert found == ["xyzw", "", "xyzw", ""]


def test_what_is_shown_is_live_component_by_component() -> None:
    found = live(
        "MOV R0, 1;", "MOV R2, 2;", "MAD R1.xz, R0.yyww, R2.x, R0;", "MOV result.color.z, R1;"
    )
    assert found == ["zw", "x", "z", "z"]


@settings(max_examples=20)
@given(st.data())
def test_a_folded_lookup_reads_at_its_varying_and_offset(data: st.DataObject) -> None:
    """Random programs: what the machine computes for a coordinate is what the lookup was folded to,
    and lies on a texel's centre."""
    numbers = st.integers(-2, 2).map(float)
    text = assemble(data.draw(program_texts(numbers=numbers, most=6)))
    slope = st.sampled_from(((1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (-1.0, 0.0)))
    sets = tuple(plane_of(n, data.draw(slope), data.draw(slope)) for n in range(3))
    found = decided(text, texcoords=sets)
    folded = iter(found.lookups)
    for number, instruction in enumerate(text.instructions):
        lookup = next(folded) if instruction.texture is not None else None
        if lookup is None:
            continue
        show = Instruction("MOV", Dst(ResultRegister(ResultKind.COLOR)), instruction.srcs)
        before = Program((*text.instructions[:number], show), text.temporaries, text.parameters)
        values = draw(before, (4, 3), textures=TEXELS, texcoords=sets)
        varying = found.varyings[lookup.varying]
        for y in range(3):
            for x in range(4):
                expected = [
                    form.constant + form.x * x + form.y * y + offset + HALF
                    for form, offset in ((varying.s, lookup.right), (varying.t, lookup.up))
                ]
                assert values[y, x, :2].tolist() == expected
                assert [v % 1 for v in expected] == [HALF, HALF]


TEXELS = {unit: np.zeros((6, 8, 4), np.float32) for unit in range(3)}
HALF = Fraction(1, 2)


def plane_of(n: int, s: tuple[float, float], t: tuple[float, float]) -> Texcoords:
    """Centres: the fragment's own x or y, or the middle of the first texel."""
    base = (0.0 if any(s) else 0.5, 0.0 if any(t) else 0.5, 0.0, 1.0)
    return Texcoords(n, corners(base, (s[0], t[0], 0.0, 0.0), (s[1], t[1], 0.0, 0.0), 4, 3))
