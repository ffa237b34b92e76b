"""Which sums of blending a multiply-add computes together with the product that it adds."""

from __future__ import annotations

import pytest
from drawing import program, texture

from gpgpu_legacy.lower.analysis.fusion import FusedPasses, fused_steps
from gpgpu_legacy.lower.fused.body import blended_products
from gpgpu_legacy.lower.fused.content import group_content
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Plan, Repeat
from gpgpu_legacy.plan.textures import R32F, RGBA16F, RGBA32F, UNORM8, Format, Rect

RECT = Rect(0, 0, 4, 4)
MUL = "MUL result.color, R0, program.local[0];"
TWO = "MUL result.color[0], R0, R1; MUL result.color[1], R0, R1;"


def pass_of(
    *lines: str, targets: tuple[str, ...] = ("P",), blend: Blend | None = ADD
) -> FragmentPass:
    option = "OPTION ARB_draw_buffers; " if len(targets) > 1 else ""
    text = program("MOV R0, program.local[1];", *lines, temporaries=f"{option}TEMP R0, R1;")
    return FragmentPass(text, (), targets, RECT, blend=blend)


def products_of(
    *body: FragmentPass | CopyPass, texel_format: Format = RGBA32F
) -> tuple[tuple[bool, ...], ...]:
    textures = tuple(texture(name, 4, 4, texel_format) for name in "PQ")
    plan = Plan("made for a test", (), (), textures, (), (Repeat(4, body),), ())
    [fused] = fused_steps(plan)
    assert isinstance(fused, FusedPasses)
    content, _ = group_content(fused, {one.name: one for one in textures})
    return blended_products(content)


@pytest.mark.parametrize(
    ("line", "is_product"),
    [
        (MUL, True),
        ("MUL R0, R0, R0; MOV result.color, R0;", False),  # a register is between them
        ("MUL_SAT result.color, R0, R0;", False),  # something is done to the product
        ("MAD result.color, R0, R0, R0;", False),  # its own sum is nearer
        ("ADD result.color, R0, R0;", False),
        ("DP4 result.color, R0, R0;", False),
        ("MUL result.color.x, R0, R0; MOV result.color.yzw, R0;", False),  # one channel of four
        (f"KIL R0; {MUL}", True),  # if the fragment is alive
    ],
)
def test_a_sum_is_contracted_with_the_product_that_it_adds(line: str, is_product: bool) -> None:
    assert products_of(pass_of(line)) == ((is_product,),)


def test_the_last_channel_is_all_that_a_target_of_one_channel_has() -> None:
    assert products_of(pass_of("MUL result.color.x, R0, R0;"), texel_format=R32F) == ((True,),)


def test_a_product_that_is_rounded_to_its_target_before_it_is_added_stays_apart() -> None:
    for texel_format in (RGBA16F, UNORM8):
        assert products_of(pass_of(MUL), texel_format=texel_format) == ((False,),)


def test_what_is_not_blended_is_no_sum() -> None:
    assert products_of(pass_of(MUL, blend=None)) == ((False,),)


def test_there_is_an_answer_for_each_target_of_each_draw_and_none_for_copies() -> None:
    copy = CopyPass("P", RECT, "Q", RECT)
    found = products_of(pass_of("MOV result.color, R0;"), copy, pass_of(MUL))
    assert found == ((False,), (True,))
    both = pass_of("MOV R1, 2;", TWO, targets=("P", "Q"))
    assert products_of(both) == ((False, False),)  # colours of several targets are registers
