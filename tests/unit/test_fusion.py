"""Which passes are fused, on small plans made by hand, and what is known of their lookups."""

from __future__ import annotations

import pytest
from drawing import corners, program, texture

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.lower.analysis.affine import TexelForm
from gpgpu_legacy.lower.analysis.fusion import (
    FusedPasses,
    UnfusedRepeat,
    fused_steps,
)
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, OwnLookup
from gpgpu_legacy.plan.framebuffer import Blend
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    CopyPass,
    Corners,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    R32F,
    Extent,
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
)

WIDTH, HEIGHT = 6, 4
WHOLE = Rect(0, 0, WIDTH, HEIGHT)
ADDS = program(
    "TEX R0, fragment.texcoord[0], texture[0], RECT;",
    "TEX R1, fragment.texcoord[1], texture[1], RECT;",
    "ADD result.color, R0, R1;",
)
KILLS = program("TEX R0, fragment.texcoord[0], texture[0], RECT;", "KIL R0;",
                "MOV result.color, R0;")  # fmt: skip


def place(n: int, right: float = 0.0, up: float = 0.0, *, dx: float = 1.0, step: float = 0.0,
          rect: Rect = WHOLE) -> Texcoords:  # fmt: skip
    """Texels (x + right, y + up) at fragment (x, y) of the rectangle, moving by `step` along s."""
    base, sx, sy = (right, up, 0.0, 1.0), (dx, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)
    a, b, c, d = corners(base, sx, sy, rect.width, rect.height)

    def moved(corner: object) -> object:
        s, *others = corner  # type: ignore[misc]
        return (Affine(s, step) if step else s, *others)

    four: Corners = tuple(moved(each) for each in (a, b, c, d))  # type: ignore[assignment]
    return Texcoords(n, four)


def draw(
    target: str,
    own: str,
    *places: Texcoords,
    text: Program = ADDS,
    rect: Rect = WHOLE,
    blend: Blend | None = None,
    also: tuple[str, ...] = (),
    read: str = "G",
    sampler: Sampler = Sampler(),  # noqa: B008 - frozen
) -> FragmentPass:
    bindings = (Binding(0, own), Binding(1, read, sampler))
    return FragmentPass(
        text, bindings, (target, *also), rect, places or (place(0), place(1)), blend=blend
    )


def plan(*steps: Step, kind: TextureKind = TextureKind.RECT) -> Plan:
    names = ("P", "Q", "S")
    given = Texture("G", kind, Extent(WIDTH, HEIGHT), R32F, (0.0,) * 4)
    made = (*(texture(name, WIDTH, HEIGHT, R32F) for name in names), given)
    return Plan("fusion", (), (), made, (), steps, ())


def only(*steps: Step) -> FusedPasses | UnfusedRepeat | Pass:
    [step] = fused_steps(plan(*steps))
    return step


COPY = CopyPass("P", WHOLE, "Q", WHOLE)


# What is fused -----------------------------------------------------------------------------------


def test_a_draw_and_a_copy_back_are_a_loop() -> None:
    body = (draw("P", "Q"), COPY)
    loop = only(Repeat(3, body))
    assert isinstance(loop, FusedPasses)
    assert (loop.count, loop.passes) == (3, body)
    assert (loop.width, loop.height) == (WIDTH, HEIGHT)
    assert loop.origins == {"P": (0, 0), "Q": (0, 0)}
    first, second = loop.lookups
    assert first[0] == OwnLookup("Q")
    assert not second


def test_rectangles_at_different_places_of_one_size_chain() -> None:
    low, high = Rect(0, 0, 3, 2), Rect(2, 1, 3, 2)
    body = (
        draw("P", "Q", place(0, 2.0, 1.0, rect=low), place(1, rect=low), rect=low),
        CopyPass("P", low, "Q", high),
    )
    loop = only(Repeat(2, body))
    assert isinstance(loop, FusedPasses)
    assert loop.origins == {"P": (0, 0), "Q": (2, 1)}


# What does not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        pytest.param((draw("P", "Q", place(0, 1.0), place(1)), COPY), id="a texel to the right"),
        pytest.param((draw("P", "Q", place(0, 0.0, -1.0), place(1)), COPY), id="a texel below"),
        pytest.param((draw("P", "Q", place(0, 0.25), place(1)), COPY), id="off the centre"),
        pytest.param((draw("P", "Q", place(0, dx=2.0), place(1)), COPY), id="every other texel"),
        pytest.param((draw("P", "Q", place(0, step=1.0), place(1)), COPY), id="one that moves"),
        pytest.param((draw("P", "Q", read="Q"), COPY, draw("Q", "P", place(0, 1.0))), id="later"),
        pytest.param((draw("P", "Q"), CopyPass("P", Rect(0, 0, 5, 4), "Q", Rect(0, 0, 5, 4))),
                     id="a copy of a part"),
        pytest.param((draw("P", "Q", rect=Rect(0, 0, 5, 4)), COPY), id="a draw of a part"),
        pytest.param((draw("P", "Q"), COPY, ClearPass("P")), id="a clear"),
        pytest.param((COPY,), id="no draw"),
    ],
)  # fmt: skip
def test_these_take_turns(body: tuple[Pass, ...]) -> None:
    trips = only(Repeat(3, body))
    assert isinstance(trips, UnfusedRepeat)
    assert trips.count == 3
    members = [m.passes[0] if isinstance(m, FusedPasses) else m for m in trips.body]
    assert members == list(body)
    assert all(
        isinstance(m, FusedPasses) for m in trips.body if isinstance(m, FusedPasses | FragmentPass)
    )


def test_apart_every_pass_is_by_itself() -> None:
    steps = list(fused_steps(plan(Repeat(3, (draw("P", "Q"), COPY)), COPY), apart=True))
    assert steps[1] == COPY
    [trips, _] = steps
    assert isinstance(trips, UnfusedRepeat)
    assert [type(member) for member in trips.body] == [FusedPasses, CopyPass]


# What is known of lookups ------------------------------------------------------------------------


def lookup_of(each: FragmentPass, count: int = 1, kind: TextureKind = TextureKind.RECT) -> object:
    [loop] = fused_steps(plan(Repeat(count, (each,)), kind=kind))
    assert isinstance(loop, FusedPasses)
    [lookups] = loop.lookups
    return lookups[1]


def test_texel_numbers_are_counted_from_the_first_fragment() -> None:
    rect = Rect(1, 1, 2, 3)
    each = draw("P", "Q", place(0), place(1, 3.0, 1.0, step=1.0, rect=rect), rect=rect)
    found = lookup_of(each, 2)
    assert found == AffineLookup("G", TexelForm(3, x=1, iteration=1), TexelForm(1, y=1), True)


@pytest.mark.parametrize(
    ("right", "step", "count", "inside"),
    [
        (0.0, 0.0, 1, True),
        (1.0, 0.0, 1, False),
        (-1.0, 0.0, 1, False),
        (-2.0, 1.0, 3, False),
        (0.0, 1.0, 2, False),
    ],
)
def test_a_lookup_that_leaves_its_texture_is_not_inside(
    right: float, step: float, count: int, inside: bool
) -> None:
    found = lookup_of(draw("P", "Q", place(0), place(1, right, step=step)), count)
    assert isinstance(found, AffineLookup)
    assert found.inside is inside


@pytest.mark.parametrize(
    "sampler",
    [Sampler(Filter.LINEAR), Sampler(wrap_s=Wrap.CLAMP), Sampler(wrap_t=Wrap.CLAMP)],
)
def test_a_sampler_that_is_not_plain_is_computed(sampler: Sampler) -> None:
    assert isinstance(lookup_of(draw("P", "Q", sampler=sampler)), DependentLookup)


def test_a_texture_of_another_kind_is_computed() -> None:
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "TEX R1, fragment.texcoord[1], texture[1], 2D;",
        "ADD result.color, R0, R1;",
    )
    assert isinstance(lookup_of(draw("P", "Q", text=text), kind=TextureKind.T2D), DependentLookup)
