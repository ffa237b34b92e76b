"""What shapes the code of fused passes, and what a run hands to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import corners, program, texture
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.isa.ir import Attribute, AttributeKind, Parameter, ParameterSpace
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.analysis.affine import TexelForm
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, all_fused, fused_steps
from gpgpu_legacy.lower.fused.content import (
    Arguments,
    Content,
    group_content,
    native_content,
)
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, OwnLookup
from gpgpu_legacy.lower.values import parameter_values, plane_values
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.numbers import Affine, Number, NumberVec4, Table, constant_vector
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
    state_values,
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
    constant_rect,
)

SIZE = 6, 4
READ = "TEX R0, fragment.texcoord[0], texture[0], RECT;"
TEXT = program(READ, "MAD result.color, R0, program.local[1], fragment.position;")
WALK = program(
    "ADD R0, fragment.texcoord[0], {1, 0, 0, 0};",
    "TEX R1, R0, texture[0], RECT;",
    "ADD R0, R0, {0, 2, 0, 0};",
    "TEX R2, R0, texture[0], RECT;",
    "TEX R3, fragment.texcoord[1], texture[0], RECT;",
    "ADD R1, R1, R2;",
    "ADD result.color, R1, R3;",
)


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


def test_an_affine_step_stays_and_what_it_starts_from_is_handed_over() -> None:
    def moving(start: float, step: float) -> tuple[Content, Arguments]:
        a, b, c, d = (
            (Affine(constant_vector(corner)[0], step), *corner[1:])
            for corner in place(right=start).corners
        )
        four = Texcoords(0, (a, b, c, d))  # type: ignore[arg-type]
        return described(Repeat(3, (replace(PASS, texcoords=(four,), blend=ADD),)))

    (first, given), (second, handed) = moving(1.0, 1.0), moving(4.0, 1.0)
    assert first == second
    assert (given.bases, handed.bases) == (((1, 0),), ((4, 0),))
    assert first != moving(1.0, 2.0)[0]


def test_places_are_relative_and_shared_by_lookups_of_the_same_slopes() -> None:
    """By hand: (x + 1, y), (x + 1, y + 2) share a base; (2x, y) has another."""
    pass_ = replace(PASS, program=WALK, texcoords=(place(), place(1, right=0.5, dx=2.0)))
    content, arguments = described(pass_)
    assert content.bases == 2
    assert arguments.bases == ((1, 0), (1, 0))
    assert content.draws[0].lookups == (
        AffineLookup(1, TexelForm(0, 1, 0, 0), TexelForm(0, 0, 1, 0), True),
        AffineLookup(1, TexelForm(0, 1, 0, 0), TexelForm(2, 0, 1, 0), True),
        AffineLookup(1, TexelForm(0, 2, 0, 0), TexelForm(0, 0, 1, 0), True, base=1),
    )
    moved = replace(pass_, texcoords=(place(0, 3.0, 5.0), place(1, right=0.5, dx=2.0)))
    assert described(moved)[0] == content
    assert described(moved)[1].bases == ((4, 5), (1, 0))


def test_lookups_of_what_is_written_and_at_unknown_places() -> None:
    text = program(READ, "TEX R1, R0, texture[1], RECT;", "ADD result.color, R0, R1;")
    pass_ = replace(PASS, program=text, bindings=(Binding(0, "P"), Binding(1, "A")))
    for groups in (False, True):
        content, _ = described(pass_, groups=groups)
        assert content.draws[0].lookups == (OwnLookup(0), DependentLookup(1, Sampler()))
        assert content.surfaces[1].extent == (Extent(16, 16) if groups else None)
        assert [surface.written for surface in content.surfaces] == [True, False]


def test_iterations_that_run_in_one_go_are_counted_in_powers_of_two() -> None:
    blended = replace(PASS, blend=ADD)
    for count, together in ((1, 1), (2, 2), (7, 4), (64, 64), (1000, 64)):
        assert described(Repeat(count, (blended,)), groups=True)[0].together == together
    copied = (blended, replace(blended, rect=Rect(1, 1, *SIZE)))
    plan = Plan("apart", (), (), (TARGET, GIVEN), (), (Repeat(9, copied),), ())
    for loop in all_fused(list(fused_steps(plan))):
        assert loop.alternates
        assert group_content(loop, {"P": TARGET, "A": GIVEN})[0].together == 1


# Values ------------------------------------------------------------------------------------------

NUMBER = st.floats(-100, 100, width=32)
COUNT = 5


@st.composite
def varying_numbers(draw: st.DrawFn) -> Number:
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return draw(NUMBER)
    if kind == 1:
        return Affine(draw(NUMBER), draw(NUMBER))
    return Table(tuple(draw(NUMBER) for _ in range(COUNT)))


VECTORS = st.tuples(*[varying_numbers()] * 4)


@given(VECTORS, VECTORS, st.tuples(*[VECTORS] * 4))
def test_values_are_those_of_every_iteration(
    local: NumberVec4, fog: NumberVec4, four: tuple[NumberVec4, ...]
) -> None:
    rect = Rect(0, 0, 3, 7)
    a, b, c, d = four
    pass_ = FragmentPass(
        program("MOV result.color, fragment.texcoord[2];"),
        (),
        ("P",),
        rect,
        (Texcoords(2, (a, b, c, d)),),
        (ParameterValue(4, local),),
        state=(StateValue("state.fog.color", fog),),
    )
    parameter = Parameter(ParameterSpace.LOCAL, 4)
    state = Parameter(ParameterSpace.STATE, binding="state.fog.color")
    locals_ = parameter_values(pass_, parameter, COUNT)
    states = parameter_values(pass_, state, COUNT)
    planes = plane_values(pass_, Attribute(AttributeKind.TEXCOORD, 2), COUNT)
    for iteration in range(COUNT):
        now = at_iteration(pass_, iteration)
        assert isinstance(now, FragmentPass)
        assert tuple(locals_[iteration]) == now.locals[0].value
        given_state = state_values(now)
        assert tuple(states[iteration]) == state_vector("state.fog.color", given_state)
        origin, right, _, top = map(np.array, now.texcoords[0].corners)
        rect = constant_rect(now.rect)
        by_hand = [origin, (right - origin) / rect.width, (top - origin) / rect.height]
        assert planes[iteration].tolist() == [each.tolist() for each in by_hand]
