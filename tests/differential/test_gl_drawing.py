"""What draws by OpenGL against the reference machine: single features, opcodes, random programs.

With exact code, results are the same bit for bit, save for functions of the driver's own
(departures.py). Where llvmpipe departs from the specification, and so from the reference:

- It flushes denormals in arithmetic, so the tests make none; test_denormals.py and hostile/ do.
- SIN, COS and SCS of arguments beyond a few thousand have no correct digit left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from drawing import (
    EXACT,
    F32,
    as_exact_as_it_can,
    assert_same_bits,
    carry_out_all,
    corners,
    draw,
    draw_all,
    fragment_texcoords,
    on,
    parameters,
    program,
    show,
    texture,
)
from framebuffers import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st
from instructions import Writer
from lookups import HEIGHT, INF, LOOKUPS, WIDTH, lookups_drawn
from products import in_turn, plan_of, random_operands
from random_programs import INEXACT
from strategies import SMALL_NUMBER, Scene, draw_scene, whole_scenes

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, Arithmetic
from gpgpu_legacy.isa.opcodes import ARBFP, Form
from gpgpu_legacy.isa.program import AttributeKind, Fog, Program
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    CopyPass,
    FragmentPass,
    Plan,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    R32F,
    RGBA8,
    RGBA16F,
    RGBA32F,
    Filter,
    Format,
    Rect,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl.compute import Recorder

Ready = Callable[[str], Executor]

NUMPY = find_executor("numpy")
everywhere = on("gl-raster", "gl-compute", "gl-arbfp")
exactly = on("gl-raster", "gl-compute")


def same(executor: Executor, plan: Plan, given_: Mapping[str, F32] | None = None) -> F32:
    """What a plan shows first; all that it shows has the reference machine's bits."""
    found = carry_out_all(plan, given_, executor)
    for mine, theirs in zip(found, carry_out_all(plan, given_), strict=True):
        assert_same_bits(mine, theirs)
    return found[0]


def same_drawing(executor: Executor, *args: Any, **more: Any) -> F32:
    found = draw(*args, **more, executor=executor)
    assert_same_bits(found, draw(*args, **more))
    return found


# Textures ----------------------------------------------------------------------------------------

every_format = pytest.mark.parametrize("texel_format", [FORMATS[n] for n in TARGETS], ids=TARGETS)


@every_format
@everywhere
def test_uploads_copies_and_reading_back_keep_bits(
    ready: Ready, name: str, texel_format: Format
) -> None:
    """Widths whose rows do not fill GL's four-byte alignment too."""
    for width in (4, 5, 7):
        values = np.random.default_rng(3).normal(0.4, 100.0, (6, width, texel_format.channels))
        values.flat[:7] = [-0.0, 2.0**-149, 3e38, -INF, 1.5, -1.5, INF]
        source = {"S": values.astype(np.float32)}
        target = texture("target", 8, 9, texel_format, (0.2, 9.0, -9.0, 0.5))
        places = (((0, 1), (3, 5)), ((width - 4, 3), (0, 0)), ((0, 0), (4, 6)))
        steps = [CopyPass("S", Rect(*a, 4, 3), "target", Rect(*b, 4, 3)) for a, b in places]
        s = replace(texture("S", width, 6, texel_format))
        plan = show(steps, target, source, formats={"S": texel_format}, also=[s])
        found = carry_out_all(plan, source, ready(name))
        for mine, theirs in zip(found, carry_out_all(plan, source), strict=True):
            assert_same_bits(mine, theirs)
        if texel_format.bits_per_channel == 32:
            assert_same_bits(found[1], source["S"])


# What a pass gives, and does not ------------------------------------------------------------------


@everywhere
def test_nothing_stays_from_the_pass_before(ready: Ready, name: str) -> None:
    text = program(
        "ADD R0, program.local[1], program.env[2];", "ADD result.color, R0, fragment.texcoord[3];"
    )
    four = corners((0.0, 8.0, 3.0, 4.0), (1.0, 0.0, 0.0, 0.0), (0.0, 2.0, 0.0, 0.0), 3, 2)
    all_ = FragmentPass(
        text, (), ("target",), Rect(1, 1, 3, 2), (Texcoords(3, four),),
        parameters({1: (-4.0, 5.0, 0.25, 1e20)}), parameters({2: (1.0, 2.0, 3.0, 4.0)}),
    )  # fmt: skip
    none = FragmentPass(text, (), ("target",), Rect(1, 1, 1, 1))
    found = same(ready(name), show([all_, none], texture("target", 5, 4, RGBA32F)))
    assert found[1, 1].tolist() == [0, 0, 0, 1]
    assert found[1, 2].tolist() == [-1.5, 16, 6.25, float(np.float32(1e20))]
    assert not found[0].any() and not found[:, 4].any()


BENT = ((0.0, 1.0, -2.0, 3.0), (4.0, 1.5, 0.25, -1.0), (-3.0, 0.0, 5.0, 0.5), (1.0, 2.0, 2.0, 2.0))


@pytest.mark.parametrize("mode", Fog, ids=lambda mode: mode.name)
@on("gl-raster", "gl-compute", "jit")
def test_fog(ready: Ready, name: str, mode: Fog) -> None:
    text = with_option(f"OPTION {mode.value};", "MUL result.color, fragment.texcoord[0], 0.7;")
    distances = tuple((d, 0.0, 0.0, 1.0) for d in (0.0, 3.0, 4.0, 1.0))
    steps = {RGBA32F: 1e-6, RGBA8: 1 / 255, RGBA16F: 2.0**-9}
    for target, step in steps.items():
        found, expected = (
            draw(
                text, (9, 8), target=target, texcoords=[Texcoords(0, BENT)], executor=each,
                attributes=[AttributeCorners(AttributeKind.FOGCOORD, distances)],
                state={"state.fog.color": (0.1, 0.7, 1.3, 0.4),
                       "state.fog.params": (0.7, 0.5, 3, 0)},
            )
            for each in (ready(name), None)
        )  # fmt: skip
        np.testing.assert_allclose(found, expected, 0, 0 if mode is Fog.LINEAR else step)
    found = draw(
        with_option(f"OPTION {Fog.LINEAR.value};", "MOV result.color, {1, 0.5, 0.25, 1};"),
        (1, 1), executor=ready(name),
        attributes=[AttributeCorners(AttributeKind.FOGCOORD, ((1.5, 0.0, 0.0, 1.0),) * 4)],
        state={"state.fog.color": (0.0, 1.0, 0.0, 0.0), "state.fog.params": (0.0, 1.0, 3.0, 0.5)},
    )  # fmt: skip
    by_hand = [0.75, 0.75 * 0.5 + 0.25, 0.75 * 0.25, 1.0]  # 3/4 of the way is left
    np.testing.assert_allclose(found[0, 0], by_hand, rtol=1e-6)


@on("gl-raster", "gl-compute", "jit")
def test_several_targets_of_several_formats(ready: Ready, name: str) -> None:
    text = separately(
        "MUL R0, fragment.texcoord[0], 0.3;", "MOV result.color[1], R0;",
        "MOV result.color[0].x, 2;", "MOV result.color[3].xz, R0.y;",
    )  # fmt: skip
    found, expected = (
        draw_all(
            text, (5, 4), targets=(RGBA32F, RGBA8, RGBA16F, R32F, RGBA32F), executor=each,
            initial=(9.0,) * 4, texcoords=[fragment_texcoords(0, 5, 4)],
        )
        for each in (ready(name), None)
    )  # fmt: skip
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    third = np.float32(0.3) * (np.arange(4, dtype=np.float32) + np.float32(0.5))
    np.testing.assert_array_equal(found[3][..., 0], np.repeat(third[:, None], 5, axis=1))


@on("gl-raster")
def test_more_targets_than_the_driver_has_is_a_plan_error(ready: Ready, name: str) -> None:
    with pytest.raises(PlanError, match="draws to 65 textures"):
        draw_all(program("MOV result.color, 1;"), (1, 1), targets=[R32F] * 65, executor=ready(name))


# Lookups -----------------------------------------------------------------------------------------

LOOK = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
PLACE = fragment_texcoords(0, WIDTH, HEIGHT)


@pytest.mark.parametrize(("kind", "how", "wrap"), LOOKUPS)
@exactly
def test_lookups_of_every_target_filter_and_wrap(
    ready: Ready, name: str, kind: TextureKind, how: Filter, wrap: Wrap
) -> None:
    drawn_ = lookups_drawn(kind, how, wrap)
    found, expected = draw_all(**drawn_, executor=ready(name)), draw_all(**drawn_)
    np.testing.assert_array_equal(found, expected)


@exactly
@settings(max_examples=20)
@given(
    base=st.sampled_from((0.0, 0.5, -3.0, -2.75, 1 / 3, 7.0)),
    slope=st.sampled_from((1.0, -1.0, 3.0, 0.5, 0.25, 1 / 3, 0.9, 2.0)),
)
def test_coordinates_of_many_slopes(ready: Ready, name: str, base: float, slope: float) -> None:
    """Some on texel centres, some on edges, some beside; beyond the texture on both sides."""
    texels = np.random.default_rng(2).random((6, 5, 4), np.float32)
    four = corners((base, -base, 0.0, 1.0), (slope, 0.0, 0.0, 0.0), (0.0, slope, 0.0, 0.0), 9, 8)
    places = [Texcoords(0, four)]
    same_drawing(ready(name), LOOK, (9, 8), textures={0: texels}, texcoords=places)


@exactly
def test_centres_stay_centres_in_textures_of_any_size(ready: Ready, name: str) -> None:
    for size in (1, 7, 129, 4096):
        texels = np.arange(size, dtype=np.float32).reshape(1, size, 1)
        four = [fragment_texcoords(0, size, 1)]
        found = draw(LOOK, (size, 1), textures={0: texels}, texcoords=four, executor=ready(name))
        assert found[0, :, 0].tolist() == list(range(size))


@exactly
def test_more_lookups_than_varyings(ready: Ready, name: str) -> None:
    lines = ["MOV R1, 0;"]
    for n in range(12):
        lines += [f"MUL R0, fragment.texcoord[0], {2 * n + 1};", "TEX R2, R0, texture[0], RECT;",
                  "MAD R1, R1, 2, R2;"]  # fmt: skip
    texels = np.random.default_rng(0).integers(0, 9, (9, 9, 4)).astype(np.float32)
    places = [fragment_texcoords(0, 5, 4)]
    text = program(*lines, "MOV result.color, R1;")
    same_drawing(ready(name), text, (5, 4), textures={0: texels}, texcoords=places)


# Every opcode ------------------------------------------------------------------------------------

SOURCES = ("R1", "R2", "R3")
EXACT_ROWS = [row.mnemonic for row in ARBFP.values() if row.mnemonic not in INEXACT]
COMPUTING = [row for row in ARBFP.values() if row.form not in (Form.SAMPLE, Form.KILL)]
LOAD = tuple(
    f"TEX {name}, fragment.texcoord[0], texture[{unit}], RECT;" for unit, name in enumerate(SOURCES)
)


def with_option(option: str, *lines: str) -> Program:
    return program(*lines, temporaries=f"{option} TEMP R0, R1, R2, R3;")


def separately(*lines: str) -> Program:
    """A program with a colour for each target."""
    return with_option("OPTION ARB_draw_buffers;", *lines)


def opcodes_drawn(
    executor: Executor, lines: Sequence[str], textures: Mapping[int, F32], **more: Any
) -> tuple[list[F32], list[F32]]:
    """Colours by an executor and by the reference machine; textures: of SOURCES."""
    more |= {"textures": textures, "texcoords": [PLACE]}
    count = sum("result.color" in line for line in lines)
    text, size = separately(*LOAD, *lines), (WIDTH, HEIGHT)
    found, expected = (
        draw_all(text, size, targets=[RGBA32F] * count, executor=each, **more)
        for each in (executor, None)
    )
    return found, expected


@pytest.mark.parametrize(
    "arithmetic", [each for each in ARITHMETICS.values() if each.rounds], ids=lambda each: each.name
)
@exactly
def test_opcodes_in_other_arithmetics(ready: Ready, name: str, arithmetic: Arithmetic) -> None:
    """An instruction computes in double, as the reference machine does: a float is too narrow.

    Of the driver's own functions, float32 rounded is at most the neighbour of float64 rounded.
    """
    rng, together = np.random.default_rng(2), 4
    texels = {n: rng.normal(0, 1, (HEIGHT, WIDTH, 4)).astype(np.float32) for n in range(3)}
    for mnemonics in (EXACT_ROWS, list(INEXACT)):
        rows = [row for row in COMPUTING if row.mnemonic in mnemonics]
        relative, absolute = arithmetic.errors
        step = 0.0 if mnemonics is EXACT_ROWS else 2.0 * absolute + 1e-5
        relative = 4 * relative if step else 0.0
        for first in range(0, len(rows), together):
            some = rows[first : first + together]
            lines = [Writer(row, SOURCES).anything(f"result.color[{n}]")
                     for n, row in enumerate(some)]  # fmt: skip
            machine = replace(EXACT, arithmetic=arithmetic)
            drawn_ = opcodes_drawn(ready(name), lines, texels, machine=machine)
            for line, mine, theirs in zip(lines, *drawn_, strict=True):
                np.testing.assert_allclose(mine, theirs, relative, step, err_msg=line)


@exactly
def test_a_product_of_a_negated_component_is_not_taken_for_negative(
    ready: Ready, name: str
) -> None:
    """Mesa 22.3 takes -r.x * r.y to be ≤ 0 and folds what compares it with 0."""
    lines = (
        "MUL R0, -R1.x, R1.y;", "MAX result.color, R0, 0;", "SLT result.color[1], 0, R0;",
        "MOV_SAT result.color[2], R0;", "MOV R2, -R1;", "MUL R3, R2.x, R1.y;",
        "CMP result.color[3], -R3, 1, 2;",
    )  # fmt: skip
    texels = np.random.default_rng(6).integers(-16, 17, (3, HEIGHT, WIDTH, 4)) / 4
    textures = dict(enumerate(texels.astype(np.float32)))
    np.testing.assert_array_equal(*opcodes_drawn(ready(name), lines, textures))


@exactly
def test_constants_are_the_nearest_float32(ready: Ready, name: str) -> None:
    values = (0.1, 16777217.0, 1e-40, 1e39, 3.4e38, 5e-324)
    text = separately(
        *(f"MOV result.color[{n}], {{{v!r}, -{v!r}, 0, -0}};" for n, v in enumerate(values))
    )
    targets = (RGBA32F,) * len(values)
    with np.errstate(over="ignore"):
        expected = [np.array([[[v, -v, 0.0, -0.0]]], np.float32) for v in values]
    for mine, theirs in zip(
        draw_all(text, (1, 1), targets=targets, executor=ready(name)), expected, strict=True
    ):
        assert_same_bits(mine, theirs)


# Programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [False, True], ids=["", "an invocation a fragment"])
@exactly
def test_random_programs(
    ready: Ready, name: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers; zeros may differ in sign, which GLSL leaves open where it clamps.

    alone: without work groups, as gl-compute runs what they do not support.
    """
    executor = ready(name)
    if alone and name != "gl-compute":
        pytest.skip("gl-compute alone has work groups")
    if alone:
        monkeypatch.setattr(Recorder, "_groups", lambda *_: None)

    @settings(max_examples=30)
    @given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER, EXACT_ROWS, most=8))
    def run(scene: Scene) -> None:
        found, expected = (
            draw_scene(scene, initial=(-9.0, 9.0, 0.25, 1.0), executor=each)
            for each in (executor, NUMPY)
        )
        np.testing.assert_array_equal(found, expected)

    run()


@pytest.mark.parametrize(("method", "way", "shape"), in_turn([(5, 14, 9)]))
@everywhere
def test_an_observer_sees_every_pass_as_the_reference_has_it(
    ready: Ready, name: str, method: Algorithm, way: Accumulate | None, shape: tuple[int, int, int]
) -> None:
    executor = ready(name)
    plan = plan_of(method, shape, way, block=3, largest_texture=6)
    operands, machine = random_operands(plan), as_exact_as_it_can(executor, plan)

    def seen(by: Executor) -> list[tuple[int, object, F32]]:
        passes: list[tuple[int, object, F32]] = []
        by.run(plan, operands, machine,
               lambda n, each, read: passes.append((n, each, read(each.target))))  # fmt: skip
        return passes

    for mine, theirs in zip(seen(executor), seen(NUMPY), strict=True):
        assert mine[:2] == theirs[:2]
        np.testing.assert_allclose(mine[2], theirs[2], 1e-5, 1e-6)
        if machine.exact:
            assert_same_bits(mine[2], theirs[2])
