"""Fused passes as compute shaders: what the text says of shapes, shared memory and buffers."""

from __future__ import annotations

import random
import re

import pytest
from drawing import corners, fragment_texcoords, program, texture

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.emit.glsl_groups import emit_groups
from gpgpu_legacy.lower.fused.content import Arguments, Content, group_content
from gpgpu_legacy.lower.groups.invocation import GroupCode
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors, group_shape, numbers_alive
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Rect

KIB = 1 << 10
LARGE = (1 << 14, 1 << 14)


def content_of(plan: Plan) -> tuple[Content, Arguments]:
    loop = next(step for step in fused_steps(plan) if isinstance(step, FusedPasses))
    return group_content(loop, {each.name: each for each in plan.textures})


def content_for(method: str, **more: int) -> Content:
    return content_of(find_product(method).plan(n=64, **more))[0]


def multi(block: int = 8) -> Content:
    return content_for("hall-carr-hart-multi", block=block)


def emitted(shape: GroupShape = GroupShape(), shared: int = 32 * KIB) -> GroupCode:  # noqa: B008
    return emit_groups(multi(), shape, shared, exact=True)


def shared_bytes(text: str) -> int:
    """What the shader's shared arrays take, read from their declarations."""
    sizes = {"vec4": 16, "vec2": 8, "float": 4}
    found = re.findall(r"^shared (\w+) \w+\[(\d+)\]\[(\d+)\];", text, re.MULTILINE)
    return sum(sizes[kind] * int(a) * int(b) for kind, a, b in found)


def relaxation() -> Content:
    plan = jacobi.plan(n=40, passes=4)
    fused = next(
        member
        for step in fused_steps(plan)
        if isinstance(step, UnfusedRepeat)
        for member in step.body
        if isinstance(member, FusedPasses)
    )
    return group_content(fused, {each.name: each for each in plan.textures})[0]


def test_a_stencil_s_fragments_lie_so_that_loads_of_neighbouring_invocations_join() -> None:
    """On a GPU one after another across; where loads are of one invocation, what shares most."""
    gpu = group_shape(relaxation(), (2048, 2048), Multiprocessors.of_gpu(132))
    assert (gpu.columns, gpu.side_by_side) == (1, (1, 4))
    assert group_shape(relaxation(), LARGE, Multiprocessors()).side_by_side == (2, 2)


LOOKUP = "TEX R0, fragment.texcoord[1], texture[0], RECT;"
OFF_CENTRES = Texcoords(1, corners((0.25, 0, 0, 1), (1.5, 0, 0, 0), (0, 1.5, 0, 0), 6, 4))


def drawn(*lines: str, place: Texcoords = OFF_CENTRES) -> tuple[Content, Arguments]:
    each = FragmentPass(program(*lines), (Binding(0, "A"),), ("P",), Rect(0, 0, 6, 4),
                        (fragment_texcoords(0, 6, 4), place))  # fmt: skip
    textures = (texture("P", 6, 4, R32F), texture("A", 6, 4, RGBA32F))
    return content_of(Plan("groups", (), (), textures, (), (each,), ()))


@pytest.mark.parametrize("kib", [1, 2, 4, 8, 16, 32, 48])
def test_shared_memory_stays_within_what_there_is(kib: int) -> None:
    found = emitted(shared=kib * KIB)
    assert shared_bytes(found.text) <= kib * KIB
    assert (found.shape.k_depth > 0) is ("shared" in found.text)
    assert ("barrier()" in found.text) is (found.shape.k_depth > 0)


def test_with_more_memory_it_stages_deeper() -> None:
    depths = [emitted(shared=kib * KIB).shape.k_depth for kib in (1, 4, 16, 32)]
    assert depths == sorted(depths)
    assert depths[0] < depths[-1]


def test_an_exact_shader_calls_no_fma() -> None:
    assert "fma(" not in emit_groups(multi(), GroupShape(), 32 * KIB, exact=True).text
    assert "fma(" in emit_groups(multi(), GroupShape(), 32 * KIB, exact=False).text


def test_how_many_numbers_of_a_fragment_are_alive_together() -> None:
    """A running sum; a sum and an inner one; the same of four channels."""
    assert numbers_alive(content_for("larson-mcallister")) == 1
    assert numbers_alive(content_for("hall-carr-hart-single", block=8)) == 2
    assert numbers_alive(content_for("hall-carr-hart-multi", block=8)) == 8


@pytest.mark.parametrize("count", [1, 16, 132])
def test_a_tile_is_the_largest_that_leaves_no_multiprocessor_idle(count: int) -> None:
    content, device = content_for("packed-2x2"), Multiprocessors.of_gpu(count)
    largest = group_shape(content, LARGE, device)
    for side in (8192, 2048, 1000, 512, 64, 3):
        shape = group_shape(content, (side, side), device)
        assert shape.tile <= largest.tile
        assert shape.columns * shape.rows * numbers_alive(content) <= 128
        assert shape.k_depth % shape.unroll == 0
        groups = groups_of(shape, side)
        if shape.tile != largest.tile and shape.threads != (8, 8):
            twice = 2 * shape.tile[0] * shape.tile[1]
            assert side * side / twice < 0.9 * count <= groups


def groups_of(shape: GroupShape, side: int) -> int:
    return -(-side // shape.tile[0]) * -(-side // shape.tile[1])


def test_a_software_renderer_is_given_short_code() -> None:
    for method in ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"):
        shape = group_shape(content_for(method), LARGE, Multiprocessors())
        assert shape.columns * shape.rows <= 64


@pytest.mark.parametrize("device", [Multiprocessors(), Multiprocessors.of_gpu(132)])
@pytest.mark.parametrize("slope", [0, 1])  # one texel for all; a stencil
@pytest.mark.parametrize("length", [20, 60, 200, 400, 800, 3000])
def test_a_long_program_is_not_repeated_for_many_fragments(
    length: int, slope: int, device: Multiprocessors
) -> None:
    """Random instructions on one number, which no loop repeats."""
    kinds = random.Random(length).choices(["ADD", "MUL", "MIN", "MAX"], k=length)
    lines = [f"{kind} R0.x, R0, program.local[{n % 5}];" for n, kind in enumerate(kinds)]
    place = Texcoords(1, corners((1.5, 0.5, 0, 1), (slope, 0, 0, 0), (0, slope, 0, 0), 6, 4))
    lines = [LOOKUP, "ADD R0.x, R0, fragment.texcoord[0];", *lines, "MOV result.color, R0;"]
    content, _ = drawn(*lines, place=place)
    shape = group_shape(content, (4096, 4096), device)
    text = emit_groups(content, shape, 32 * KIB, exact=True).text
    computed = len(re.findall(r"= .*local\d_of_0", text))
    assert computed <= max(length, device.operations)
    assert computed >= min(4 * length, device.operations / 4)  # short ones are, as far as they may
