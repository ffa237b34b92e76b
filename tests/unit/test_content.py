"""What shapes the code of fused passes, and what a run hands to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import corners, program, texture

from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, all_fused, fused_steps
from gpgpu_legacy.lower.fused.content import (
    Arguments,
    Content,
    group_content,
    native_content,
)
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    FragmentPass,
    ParameterValue,
    Plan,
    StateValue,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    R32F,
    RGBA16F,
    RGBA32F,
    Extent,
    Filter,
    Format,
    Rect,
    Sampler,
    Texture,
)

SIZE = 6, 4
READ = "TEX R0, fragment.texcoord[0], texture[0], RECT;"
TEXT = program(READ, "MAD result.color, R0, program.local[1], fragment.position;")


def place(n: int = 0, right: float = 0.0, up: float = 0.0, dx: float = 1.0) -> Texcoords:
    base, along, across = (right, up, 0.0, 1.0), (dx, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)
    return Texcoords(n, corners(base, along, across, *SIZE))


PASS = FragmentPass(TEXT, (Binding(0, "A"),), ("P",), Rect(0, 0, *SIZE), (place(),))
TARGET, GIVEN = texture("P", 8, 8, RGBA32F), texture("A", 16, 16, RGBA32F)


def described(
    *steps: Step, target: Texture = TARGET, source: Texture = GIVEN, groups: bool = False
) -> tuple[Content, Arguments]:
    loop = loop_of(*steps, target=target, source=source)
    textures = {each.name: each for each in (target, source)}
    return group_content(loop, textures) if groups else native_content(loop, textures)


def loop_of(*steps: Step, target: Texture = TARGET, source: Texture = GIVEN) -> FusedPasses:
    [loop] = all_fused(list(fused_steps(Plan("content", (), (), (target, source), (), steps, ()))))
    return loop


ALIKE = {
    "parameters": replace(PASS, locals=(ParameterValue(1, (1.0, 2.0, 3.0, 4.0)),)),
    "the rectangle's place": replace(PASS, rect=Rect(1, 3, *SIZE)),
    "where the lookup falls": replace(PASS, texcoords=(place(0, 5.0, 2.0),)),
    "state": replace(PASS, state=(StateValue("state.fog.color", (1.0,) * 4),)),
    "attributes that nothing reads": replace(
        PASS, attributes=(AttributeCorners(AttributeKind.COLOR, place().corners),)
    ),
}


@pytest.mark.parametrize("groups", [False, True], ids=["native", "groups"])
@pytest.mark.parametrize("what", ALIKE)
def test_passes_that_differ_in_numbers_share_code(what: str, groups: bool) -> None:
    mine, theirs = described(PASS, groups=groups), described(ALIKE[what], groups=groups)
    assert mine[0] == theirs[0]
    assert hash(mine[0]) == hash(theirs[0])
    assert mine[1] != theirs[1]


def test_names_and_sizes_of_textures_are_handed_over() -> None:
    renamed = replace(PASS, targets=("R",), bindings=(Binding(0, "S"),))
    textures = {"target": texture("R", 30, 20, RGBA32F), "source": texture("S", 9, 9, RGBA32F)}
    for groups in (False, True):
        mine = described(PASS, groups=groups)
        theirs = described(renamed, groups=groups, **textures)
        assert mine[0] == theirs[0]
        assert theirs[1].textures == ("R", "S")
        assert theirs[1].extents == (Extent(30, 20), Extent(9, 9))


def other(*, target: Format = RGBA32F, source: Format = RGBA32F, **changed: object) -> Content:
    return described(
        replace(PASS, **changed),  # type: ignore[arg-type]
        target=replace(TARGET, format=target),
        source=replace(GIVEN, format=source),
    )[0]


def test_what_shapes_the_code_is_in_the_content() -> None:
    linear = Sampler(Filter.LINEAR)
    bent = ((0.0, 0.0, 0.0, 1.0), (6.0, 0.0, 0.0, 1.0), (9.0, 4.0, 0.0, 1.0), (0.0, 4.0, 0.0, 1.0))
    contents = [
        other(),
        other(program=program(READ, "MOV result.color, R0;")),
        other(target=RGBA16F),
        other(source=R32F),
        other(blend=ADD),
        other(texcoords=(place(dx=2.0, right=0.5),)),
        other(texcoords=(place(right=13.0),)),  # it leaves the texture
        other(texcoords=(place(right=0.25),)),  # on no texel's centre
        other(texcoords=(Texcoords(0, bent),)),
        other(bindings=(Binding(0, "A", linear),)),
        other(target=R32F),
    ]
    assert len(set(contents)) == len(contents)
