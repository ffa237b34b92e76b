"""Loop rerolling: what repeats is found, and unrolling it again gives the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from drawing import corners, program, texture
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.isa.ir import Instruction
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, fused_steps
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.fused.content import (
    LONGEST_PERIOD,
    DrawnProgram,
    ProgramSegment,
    group_content,
    segments,
)
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, Lookup
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import RGBA32F, Rect

PLACE = Texcoords(0, corners((0.0, 0.0, 0.0, 1.0), (1.0, 0, 0, 0), (0, 1.0, 0, 0), 4, 4))
Live = tuple[Instruction, tuple[int, ...], Lookup[int] | None]


def drawn(lines: Sequence[str]) -> DrawnProgram:
    text = program(*lines, temporaries="TEMP R0, R1, R2, R3, at;")
    each = FragmentPass(text, (Binding(0, "A"),), ("P",), Rect(0, 0, 4, 4), (PLACE,))
    textures = (texture("P", 4, 4, RGBA32F), texture("A", 400, 400, RGBA32F))
    [loop] = fused_steps(Plan("rolled", (), (), textures, (), (each,), ()))
    assert isinstance(loop, FusedPasses)
    content, _ = group_content(loop, {each.name: each for each in textures})
    [member] = content.draws
    return member


def rerolled(lines: Sequence[str]) -> tuple[ProgramSegment, ...]:
    member = drawn(lines)
    return segments(member, live_of(member))


def live_of(member: DrawnProgram) -> tuple[tuple[int, ...], ...]:
    known = tuple(not isinstance(lookup, DependentLookup) for lookup in member.lookups)
    return live_components(member.program, known)


def alive(member: DrawnProgram) -> list[Live]:
    """The instructions of which something is needed, as the program has them."""
    lookups = iter(member.lookups)
    each = [
        (instruction, components, next(lookups) if instruction.texture is not None else None)
        for instruction, components in zip(
            member.program.instructions, live_of(member), strict=True
        )
    ]
    return [live for live in each if live[1]]


def unrolled(parts: Sequence[ProgramSegment]) -> Iterator[Live]:
    for part in parts:
        for trip in range(part.trips):
            for step in part.steps:
                yield step.instruction, step.components, moved(step.lookup, step.advance, trip)


def moved(lookup: Lookup[int] | None, advance: tuple[int, int], trip: int) -> Lookup[int] | None:
    if not isinstance(lookup, AffineLookup):
        assert advance == (0, 0)
        return lookup
    s, t = lookup.s, lookup.t
    return replace(
        lookup,
        s=replace(s, constant=s.constant + advance[0] * trip),
        t=replace(t, constant=t.constant + advance[1] * trip),
    )


def of_placed(live: Sequence[Live]) -> list[object]:
    """What matters of each: an affine lookup's coordinates are known, its source is not read."""
    return [
        (
            replace(instruction, srcs=()) if isinstance(lookup, AffineLookup) else instruction,
            c,
            lookup,
        )
        for instruction, c, lookup in live
    ]


def trip(right: int, up: int = 0, factor: float = 1.0) -> list[str]:
    """Three instructions: a lookup (right, up) of the fragment's texel, and a multiply-add."""
    return [
        f"ADD at, fragment.texcoord[0], {{{right}, {up}, 0, 0}};",
        "TEX R1, at, texture[0], RECT;",
        f"MAD R0, R1, {factor}, R0;",
    ]


START, END = ["MOV R0, 0;"], ["MOV result.color, R0;"]


def shapes(parts: Sequence[ProgramSegment]) -> list[tuple[int, int]]:
    return [(len(part.steps), part.trips) for part in parts]


def test_a_loop_between_what_comes_before_and_after() -> None:
    lines = START + [line for k in range(6) for line in trip(2 * k, k)] + END
    parts = rerolled(lines)
    assert shapes(parts) == [(1, 1), (2, 6), (1, 1)]  # what computed coordinates is dead
    assert [step.advance for step in parts[1].steps] == [(2, 1), (0, 0)]


@pytest.mark.parametrize(("period", "found"), [(LONGEST_PERIOD, True), (LONGEST_PERIOD + 1, False)])
def test_the_longest_period(period: int, found: bool) -> None:
    body = [f"ADD R0.{'xyzw'[k % 4]}, R0.x, {k + 1};" for k in range(period)]
    parts = rerolled(START + body * 5 + END)
    assert (max(part.trips for part in parts) == 5) is found
    assert list(unrolled(parts)) == alive(drawn(START + body * 5 + END))


def test_which_components_a_step_computes() -> None:
    """By hand: x is made of R1.x, R2.y and R1.w, z of R1.z, R2.y and R1.y."""
    [part] = rerolled(["TEX R1, fragment.texcoord[0], texture[0], RECT;", "MOV R2, R1.w;",
                     "MAD result.color.xz, R1, R2.yyyy, R1.wzyx;"])  # fmt: skip
    assert [step.components for step in part.steps] == [(0, 1, 2, 3), (1,), (0, 2)]


@given(
    st.lists(
        st.sampled_from(
            (
                trip(0), trip(1), trip(2), trip(3), trip(0, 2), trip(4, factor=-1.0),
                ["ADD R0.xy, R0, R0.yxwz;"], ["KIL R0;"], ["MOV R2, R0;"], ["MUL R0, R2, R0;"],
            )
        ),
        max_size=6,
    ),
    st.integers(1, 7),
    st.integers(0, 2),
)  # fmt: skip
def test_unrolling_what_was_rolled_gives_the_program(
    groups: list[list[str]], times: int, step: int
) -> None:
    lines = START.copy()
    for number in range(times):
        lines += [line for group in groups for line in group]
        lines += trip(10 + number * step)
    lines += END
    parts = rerolled(lines)
    assert of_placed(list(unrolled(parts))) == of_placed(alive(drawn(lines)))
