"""What shapes the code of fused passes, what a run hands to it, and what analyses find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from drawing import corners, program, texture
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.isa.execute import Parts, parts_read
from gpgpu_legacy.isa.program import AttributeKind, Instruction
from gpgpu_legacy.isa.statements import Statement
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, all_fused, fused_steps
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.analysis.register_tile import register_tile
from gpgpu_legacy.lower.fused.body import blended_products, fused_body
from gpgpu_legacy.lower.fused.content import (
    LONGEST_PERIOD,
    Arguments,
    Content,
    DrawnProgram,
    ProgramSegment,
    group_content,
    native_content,
    segments,
)
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, Lookup
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    R32F,
    RGBA16F,
    RGBA32F,
    UNORM8,
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


# Which sums of blending are contracted with their products --------------------------------------

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


# Loop rerolling -----------------------------------------------------------------------------------

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


# The sizes of tiles, against register demands worked out by hand ----------------------------------

SIDE = 8
X = (1.0, 0.0, 0.0, 0.0)
Y = (0.0, 1.0, 0.0, 0.0)
FLAT = (0.0, 0.0, 0.0, 0.0)
COLUMN = Texcoords(0, corners((0.5, 0.0, 0.0, 1.0), FLAT, Y, SIDE, SIDE))  # varies along y
ROW = Texcoords(1, corners((0.0, 0.5, 0.0, 1.0), X, FLAT, SIDE, SIDE))  # varies along x
OWN = Texcoords(2, corners((0.0, 0.0, 0.0, 1.0), X, Y, SIDE, SIDE))


def statements_of(plan: Plan) -> tuple[FusedPasses, tuple[Statement, ...]]:
    fused = next(step for step in fused_steps(plan) if isinstance(step, FusedPasses))
    content, _ = native_content(fused, {each.name: each for each in plan.textures})
    return fused, fused_body(content, as_level=True)


def tile_of(lines: Sequence[str], registers: int, carried: int = 0) -> tuple[int, int]:
    each = FragmentPass(program(*lines), (Binding(0, "A"),), ("P",), Rect(0, 0, SIDE, SIDE),
                        (COLUMN, ROW, OWN))  # fmt: skip
    textures = (texture("P", SIDE, SIDE, RGBA32F), texture("A", SIDE, SIDE, RGBA32F))
    _, statements = statements_of(Plan("tiles", (), (), textures, (), (each,), ()))
    return register_tile(statements, carried, registers)


PRODUCT = [
    "TEX R1.x, fragment.texcoord[0], texture[0], RECT;",
    "TEX R2.x, fragment.texcoord[1], texture[0], RECT;",
    "MUL R0.x, R1.x, R2.x;",
    "MOV result.color, R0.x;",
]


@pytest.mark.parametrize(
    ("registers", "tile"),
    [
        # Carried goes one number a fragment, and the product is another. Besides them are alive the
        # row's number of each vector and one of the column's at a time: a tile takes
        # 2·rows·vectors + vectors + 1 registers, and loads rows + vectors numbers.
        (3, (1, 1)),
        (6, (2, 1)),  # 3/2 numbers loaded a fragment, as in 1 row of 2, which takes 7
        (8, (3, 1)),  # 4/3
        (11, (2, 2)),  # 1
        (15, (3, 2)),  # 5/6
        (16, (3, 2)),
        (32, (4, 3)),  # 7/12, as in 3 rows of 4, which take 29; this takes 28
        (40, (4, 4)),  # 1/2
        (999, (8, 4)),  # there are no more
    ],
)
def test_a_product_of_a_column_and_a_row(registers: int, tile: tuple[int, int]) -> None:
    assert tile_of(PRODUCT, registers, carried=1) == tile


def test_what_shares_nothing_is_two_vectors_of_one_row() -> None:
    lines = ["TEX R0, fragment.texcoord[2], texture[0], RECT;", "MOV result.color, R0;"]
    assert tile_of(lines, 999) == (1, 2)


# What results are made of, component by component ------------------------------------------------


def instruction(line: str) -> Instruction:
    return program(line, temporaries="TEMP a, b, c;").instructions[0]


def shown(parts: Parts) -> str:
    """As in `a.x`."""
    return " ".join(sorted(f"{name}.{'xyzw'[c]}" for name, c in parts))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("MAD a.xw, a, b.wzyx, c.y;", {"x": "a.x b.w c.y", "w": "a.w b.x c.y"}),
        ("SWZ a, b, -y, 0, 1, x;", {"x": "b.y", "y": "", "z": "", "w": "b.x"}),
        ("MUL_SAT a.x, fragment.color, b;", {"x": "b.x"}),
        ("RSQ a.yz, b.w;", {"y": "b.w", "z": "b.w"}),
        ("DP3 a.x, b, c;", {"x": "b.x b.y b.z c.x c.y c.z"}),
        ("DPH a.x, b, c;", {"x": "b.x b.y b.z c.w c.x c.y c.z"}),
        ("DST a, b, c;", {"x": "", "y": "b.y c.y", "z": "b.z", "w": "c.w"}),
        ("LIT a, b;", {"x": "", "y": "b.x", "z": "b.w b.x b.y", "w": ""}),
        ("SCS a.xy, b.z;", {"x": "b.z", "y": "b.z"}),
        ("XPD a.z, b, c;", {"z": "b.x b.y c.x c.y"}),
        ("CMP a.x, a, b, c;", {"x": "a.x b.x c.x"}),
        ("KIL b.xyzz;", dict.fromkeys("xyzw", "b.x b.y b.z")),
        ("TEX a.xw, b, texture[0], 1D;", {"x": "b.x", "w": "b.x"}),
        ("TEX a.x, b.wzyx, texture[0], RECT;", {"x": "b.w b.z"}),
        ("TXP a.x, b, texture[0], CUBE;", {"x": "b.w b.x b.y b.z"}),
        ("TXB a.x, b, texture[0], 2D;", {"x": "b.w b.x b.y"}),
    ],
)
def test_what_each_component_is_made_of(line: str, expected: dict[str, str]) -> None:
    parts = parts_read(instruction(line))
    assert {"xyzw"[c]: shown(read) for c, read in parts.items()} == expected
