"""The gl-raster executor against the reference machine, on the same plans.

On llvmpipe, which keeps the order of operations and fuses none, results are the same bit for bit;
on other drivers products lie within the bound of sequential sums.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from drawing import (
    EXACT,
    F32,
    assert_same_bits,
    carry_out,
    corners,
    draw,
    fragment_texcoords,
    parameters,
    program,
    show,
    texture,
)
from hypothesis import given, settings
from products import (
    METHODS_AND_WAYS,
    as_multiplied,
    assert_within_the_bound,
    eight_bit_product,
    fragment_passes,
    options_of,
    plan_of,
    random_operands,
)
from strategies import SMALL_NUMBER, Scene, scenes

from gpgpu_legacy.algorithms.method import Accumulate, Method, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.asm.parser import assemble
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.formats import FORMATS, R32F, RGBA32F, UNORM8, Format
from gpgpu_legacy.plan.plan import (
    Affine,
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    Repeat,
    Texcoords,
)
from gpgpu_legacy.runtime.executor import Executor, Machine, Result, find_executor

pytestmark = pytest.mark.gl

NUMPY = find_executor("numpy")
NAN, INF = float("nan"), float("inf")
LARSON = find_method("larson-mcallister")
SHAPES = [(1, 1, 1), (1, 7, 1), (9, 1, 1), (5, 7, 3), (16, 16, 16), (13, 17, 11), (3, 64, 2),
          (31, 2, 5), (33, 18, 21)]  # fmt: skip


@pytest.fixture(scope="module")
def raster(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-raster")


def keeps_order(executor: Executor) -> bool:
    return "llvmpipe" in executor.device()


def assert_agrees(
    executor: Executor, plan: Plan, options: Options, machine: Machine = EXACT, seed: int = 11
) -> None:
    """Bit for bit where the driver keeps the order; within the bound everywhere."""
    operands = random_operands(plan, seed)
    found = executor.run(plan, operands, machine).outputs["C"]
    if keeps_order(executor):
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    assert_within_the_bound(found, *as_multiplied(operands, options), fragment_passes(plan))


def assert_same_drawing(executor: Executor, *args: object, **more: object) -> F32:
    found = draw(*args, **more, executor=executor)  # type: ignore[arg-type]
    assert_same_bits(found, draw(*args, **more))  # type: ignore[arg-type]
    return found


# The methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_products_of_many_shapes(
    raster: Executor, method: Method, way: Accumulate | None, shape: tuple[int, int, int]
) -> None:
    options = options_of(method, way)
    assert_agrees(raster, plan_of(method, shape, options), options)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("block", [1, 3, 32])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_blocks_of_many_sizes_exact_or_not(
    raster: Executor, method: Method, way: Accumulate | None, block: int, exact: bool
) -> None:
    options = options_of(method, way, block)
    assert_agrees(raster, plan_of(method, (10, 70, 12), options), options, Machine(exact))


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
@pytest.mark.parametrize("largest", [8192, 8])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_transposed_operands_whole_and_cut(
    raster: Executor, method: Method, way: Accumulate | None, largest: int, transposed: str
) -> None:
    a, b = "a" in transposed, "b" in transposed
    options = options_of(method, way, transpose_a=a, transpose_b=b, largest_texture=largest)
    assert_agrees(raster, plan_of(method, (13, 22, 17), options), options)


@pytest.mark.parametrize("largest", [5, 16])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_matrices_larger_than_the_largest_texture(
    raster: Executor, method: Method, way: Accumulate | None, largest: int
) -> None:
    options = options_of(method, way, largest_texture=largest)
    plan = plan_of(method, (2 * largest + 1, 4 * largest + 1, 3 * largest - 2), options)
    assert max(max(t.extent.width, t.extent.height) for t in plan.textures) <= largest
    assert_agrees(raster, plan, options)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_a_larger_product(raster: Executor, method: Method, way: Accumulate | None) -> None:
    """Large enough for the driver to draw in several bins and threads."""
    options = options_of(method, way, block=32)
    assert_agrees(raster, plan_of(method, (150, 100, 130), options), options)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_an_expanded_plan_gives_the_same(
    raster: Executor, method: Method, way: Accumulate | None
) -> None:
    plan = plan_of(method, (6, 20, 10), options_of(method, way, block=2, largest_texture=8))
    operands = random_operands(plan)
    looped, written_out = (
        raster.run(p, operands, EXACT).outputs["C"] for p in (plan, expand(plan))
    )
    assert_same_bits(looped, written_out)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_nan_and_infinity_go_through(
    raster: Executor, method: Method, way: Accumulate | None
) -> None:
    plan = plan_of(method, (5, 6, 4), options_of(method, way, block=2))
    operands = random_operands(plan)
    operands["A"][0, 3], operands["A"][2, 5] = np.nan, np.inf
    operands["B"][1, 0], operands["B"][5, 3] = -np.inf, 0.0
    found = raster.run(plan, operands, EXACT).outputs["C"]
    expected = NUMPY.run(plan, operands).outputs["C"]
    assert (np.isnan(found) == np.isnan(expected)).all()
    if keeps_order(raster):
        assert_same_bits(found, expected)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0)], ids=str)
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_a_dimension_of_zero(
    raster: Executor, method: Method, way: Accumulate | None, shape: tuple[int, int, int]
) -> None:
    plan = plan_of(method, shape, options_of(method, way))
    found = raster.run(plan, random_operands(plan)).outputs["C"]
    assert_same_bits(found, np.zeros((shape[0], shape[2]), np.float32))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 11, 16, 31])
def test_figure_1_as_it_is_printed(raster: Executor, n: int) -> None:
    """Coordinates on and near the texels' edges: those of odd sizes lie on them exactly."""
    plan = plan_of(LARSON, (n, n, n), Options(as_printed=True))
    operands = random_operands(plan)
    found = raster.run(plan, operands, EXACT).outputs["C"]
    if keeps_order(raster):
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    np.testing.assert_allclose(found, NUMPY.run(plan, operands).outputs["C"], atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 6, 3), (7, 5, 9), (1, 12, 8)], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_figure_1_as_printed_of_other_shapes(
    raster: Executor, shape: tuple[int, int, int], transposed: bool
) -> None:
    options = Options(as_printed=True, transpose_a=transposed, transpose_b=not transposed)
    plan = plan_of(LARSON, shape, options)
    operands = random_operands(plan)
    found = raster.run(plan, operands, EXACT).outputs["C"]
    np.testing.assert_allclose(found, NUMPY.run(plan, operands).outputs["C"], atol=1e-5)


# 8 bits, exact on any device ---------------------------------------------------------------------


@pytest.mark.parametrize("high", [1.0, 0.3, 0.05], ids=["saturating", "some", "within"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_eight_bit_products(raster: Executor, shape: tuple[int, int, int], high: float) -> None:
    plan = plan_of(LARSON, shape, Options(texture_format=UNORM8.name))
    operands = random_operands(plan, low=0.0, high=high)
    found = raster.run(plan, operands).outputs["C"]
    assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    assert_same_bits(found, eight_bit_product(operands["A"], operands["B"]))


@pytest.mark.parametrize("exact", [True, False])
def test_all_products_of_two_bytes(raster: Executor, exact: bool) -> None:
    p = np.arange(256)
    plan = plan_of(LARSON, (256, 1, 256), Options(texture_format=UNORM8.name))
    column = (p / 255).astype(np.float32)
    operands = {"A": column[:, None].copy(), "B": column[None, :].copy()}
    found = np.round(raster.run(plan, operands, Machine(exact)).outputs["C"] * 255.0).astype(int)
    assert (found == (2 * np.outer(p, p) + 255) // 510).all()


@pytest.mark.parametrize(("a", "b"), [(True, False), (False, True), (True, True)])
def test_eight_bit_products_of_transposed_and_cut_operands(
    raster: Executor, a: bool, b: bool
) -> None:
    options = Options(texture_format=UNORM8.name, transpose_a=a, transpose_b=b, largest_texture=8)
    plan = plan_of(LARSON, (11, 20, 13), options)
    operands = random_operands(plan, low=0.0, high=0.4)
    expected = eight_bit_product(*as_multiplied(operands, options))
    assert_same_bits(raster.run(plan, operands).outputs["C"], expected)


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.3, 0.4999, 127.5 / 255, 0.999, 1.0, 3.0])
def test_eight_bits_round_alike_however_they_are_written(raster: Executor, value: float) -> None:
    four = (value, 0.0, 0.0, 0.0)
    cleared = show([ClearPass("target", four)], texture("target", 2, 2, UNORM8))
    assert_same_bits(carry_out(cleared, executor=raster), carry_out(cleared))
    initial = show([], texture("target", 2, 2, UNORM8, four))
    assert_same_bits(carry_out(initial, executor=raster), carry_out(initial))
    text = program("MOV result.color, program.local[0];")
    for blend in Blend:
        assert_same_drawing(raster, text, (2, 2), local={0: four}, target=UNORM8, blend=blend)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_what_is_no_number_in_eight_bits(raster: Executor, value: float) -> None:
    text = program("MOV result.color, program.local[0];")
    assert_same_drawing(raster, text, (1, 1), local={0: (value,) * 4}, target=UNORM8)


# Copies, clears, blending, reading back ----------------------------------------------------------


def odd_values(shape: tuple[int, ...]) -> F32:
    """Texels of every kind: far outside [0, 1], negative, denormal, infinite, odd NaNs."""
    values = np.random.default_rng(3).normal(0.4, 100.0, shape).astype(np.float32)
    values.flat[:8] = [-0.0, 2.0**-149, 3e38, -INF, 1.5, -1.5, INF, NAN]
    values.view(np.uint32).flat[9] = 0x7FC12345
    return values


def assert_equal_to_the_last_bit(found: F32, expected: F32) -> None:
    assert found.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


@pytest.mark.parametrize(
    ("there", "here"),
    [((2, 1), (3, 5)), ((0, 0), (0, 0)), ((3, 2), (0, 0)), ((0, 0), (4, 6)), ((3, 0), (2, 2))],
)
@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_copies_between_any_two_rectangles_are_exact(
    raster: Executor, texel_format: Format, there: tuple[int, int], here: tuple[int, int]
) -> None:
    values = odd_values((6, 7, texel_format.channels))
    filled = (0.2, 9.0, -9.0, 0.5)
    target = texture("target", 8, 9, texel_format, filled)
    plan = show(
        [CopyPass("S", Rect(*there, 4, 3), "target", Rect(*here, 4, 3))],
        target,
        {"S": values},
        formats={"S": texel_format},
    )
    found = carry_out(plan, {"S": values}, raster)
    assert_equal_to_the_last_bit(found, carry_out(plan, {"S": values}))
    if texel_format is not UNORM8:
        (sx, sy), (tx, ty) = there, here
        moved = np.ascontiguousarray(found[ty : ty + 3, tx : tx + 4])
        assert_equal_to_the_last_bit(moved, np.ascontiguousarray(values[sy : sy + 3, sx : sx + 4]))


@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_what_is_uploaded_is_read_back(raster: Executor, texel_format: Format) -> None:
    """Widths whose rows do not fill GL's four-byte alignment too."""
    for width in (1, 2, 3, 5):
        values = odd_values((10, width, texel_format.channels))
        formats = {"target": texel_format}
        plan = show(
            [], texture("target", width, 10, texel_format), {"target": values}, formats=formats
        )
        found = carry_out(plan, {"target": values}, raster)
        assert_equal_to_the_last_bit(found, carry_out(plan, {"target": values}))
        if texel_format is not UNORM8:
            assert_equal_to_the_last_bit(found, values)


def test_clears_and_initial_values_are_not_clamped(raster: Executor) -> None:
    odd = (-3.5, 1e30, 0.1, 2.0)
    for plan in (
        show([], texture("target", 3, 2, RGBA32F, odd)),
        show([ClearPass("target", odd)], texture("target", 3, 2, RGBA32F)),
    ):
        found = carry_out(plan, executor=raster)
        assert_same_bits(found, np.broadcast_to(np.array(odd, np.float32), (2, 3, 4)))


@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_blending_adds_and_ends_with_its_pass(raster: Executor, texel_format: Format) -> None:
    target = texture("target", 4, 3, texel_format, (0.25, 1.0, -2.0, 4.0))
    text = program("MOV result.color, program.local[0];")
    value = parameters({0: (0.31, -7.0, 5.0, 0.125)})
    add = FragmentPass(text, (), "target", Rect(1, 0, 2, 3), locals=value, blend=Blend.ADD)
    put = FragmentPass(text, (), "target", Rect(0, 2, 4, 1), locals=value)
    plan = show([Repeat(3, (add,)), put], target)
    assert_same_bits(carry_out(plan, executor=raster), carry_out(plan))


def test_a_clear_and_a_copy_after_a_blended_pass_do_not_blend(raster: Executor) -> None:
    text = program("MOV result.color, 1;")
    add = FragmentPass(text, (), "target", Rect(0, 0, 2, 2), blend=Blend.ADD)
    copy = CopyPass("U", Rect(0, 0, 1, 2), "target", Rect(1, 0, 1, 2))
    others = [texture("U", 2, 2, R32F, (5.0, 0.0, 0.0, 0.0))]
    plan = show([add, add, copy, ClearPass("U")], texture("target", 2, 2, R32F), others=others)
    assert carry_out(plan, executor=raster)[..., 0].tolist() == [[2, 5], [2, 5]]


def test_only_the_rectangle_is_drawn_to(raster: Executor) -> None:
    text = program("MOV result.color, fragment.position;")
    rect = Rect(2, 1, 3, 4)
    found = assert_same_drawing(raster, text, (7, 6), rect=rect, initial=(-9.0,) * 4)
    outside = np.ones((6, 7), bool)
    outside[1:5, 2:5] = False
    assert (found[outside] == -9).all()
    assert found[1, 2].tolist() == [2.5, 1.5, 0.5, 1]


# What a pass does not give -----------------------------------------------------------------------


def test_parameters_do_not_stay_from_the_pass_before(raster: Executor) -> None:
    text = program("ADD result.color, program.local[1], program.env[2];")
    both = FragmentPass(
        text, (), "target", Rect(0, 0, 3, 2),
        locals=parameters({1: (-4.0, 5.0, 0.25, 1e20)}), env=parameters({2: (1.0, 2.0, 3.0, 4.0)}),
    )  # fmt: skip
    neither = FragmentPass(text, (), "target", Rect(0, 0, 1, 1))
    found = carry_out(show([both, neither], texture("target", 3, 2, RGBA32F)), executor=raster)
    assert found[0, 0].tolist() == [0, 0, 0, 0]
    assert found[1, 1].tolist() == [-3, 7, 3.25, float(np.float32(1e20))]


def test_coordinate_sets_do_not_stay_from_the_pass_before(raster: Executor) -> None:
    text = program("MOV result.color, fragment.texcoord[3];")
    whole, corner = Rect(0, 0, 4, 2), Rect(0, 0, 1, 1)
    four = corners((0.0, 8.0, 3.0, 4.0), (1.0, 0.0, 0.0, 0.0), (0.0, 2.0, 0.0, 0.0), 4, 2)
    steps = [FragmentPass(text, (), "target", whole, (Texcoords(3, four),)),
             FragmentPass(text, (), "target", corner)]  # fmt: skip
    found = carry_out(show(steps, texture("target", 4, 2, RGBA32F)), executor=raster)
    assert found[0, 0].tolist() == [0, 0, 0, 1]
    assert found[0, 1].tolist() == [1.5, 9, 3, 4]


def test_the_sign_of_a_zero_coordinate(raster: Executor) -> None:
    """base + dx·x + dy·y, so that a base of -0 becomes 0, on either."""
    text = program("MOV result.color, fragment.texcoord[0];")
    level = Texcoords(0, ((-0.0, 0.0, -0.0, 1.0),) * 4)
    assert_same_drawing(raster, text, (1, 1), texcoords=[level])


def test_a_run_finds_nothing_of_the_run_before(raster: Executor) -> None:
    text = program("ADD result.color, program.local[0], fragment.texcoord[0];")
    given_first = {0: (7.0, 7.0, 7.0, 7.0)}
    draw(text, (2, 2), local=given_first, texcoords=[fragment_texcoords(0, 2, 2)], executor=raster)
    assert draw(text, (2, 2), executor=raster).tolist() == [[[0, 0, 0, 1]] * 2] * 2


# Lookups -----------------------------------------------------------------------------------------

AT = program("TEX result.color, program.local[0], texture[0], RECT;")
SMALL = np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1)


@pytest.mark.parametrize(
    "s",
    [0.0, 0.5, 0.999, 1.0, 1.5, 2.0, 2.999, 3.0, 3.5, -0.0, -0.001, -1.5, 1e4, -1e4, 1e9, -1e9,
     3e9, -3e9, 1e12, 1e30, -1e30, INF, -INF, NAN],
)  # fmt: skip
def test_a_lookup_clamps_to_the_edge(raster: Executor, s: float) -> None:
    for coordinate in ((s, 1.5, 0.0, 0.0), (1.5, s, 0.0, 0.0)):
        assert_same_drawing(raster, AT, (1, 1), textures={0: SMALL}, local={0: coordinate})


@pytest.mark.parametrize("slope", [1.0, -1.0, 3.0, 0.5, 0.25, 1 / 3, 0.9, 2.0])
@pytest.mark.parametrize("base", [0.0, 0.5, -3.0, -2.75, 1 / 3, 7.0])
def test_coordinates_of_many_slopes(raster: Executor, base: float, slope: float) -> None:
    """Some on texel centres, some on edges, some beside; beyond the texture on both sides."""
    rng = np.random.default_rng(2)
    texels = rng.random((6, 5, 4), np.float32)
    four = corners((base, -base, 0.0, 1.0), (slope, 0.0, 0.0, 0.0), (0.0, slope, 0.0, 0.0), 9, 8)
    text = program("TEX result.color, fragment.texcoord[0], texture[5], RECT;")
    assert_same_drawing(raster, text, (9, 8), textures={5: texels}, texcoords=[Texcoords(0, four)])


def test_a_place_that_moves_from_pass_to_pass(raster: Executor) -> None:
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    texels = np.arange(40, dtype=np.float32).reshape(2, 20, 1)

    def corner(x: float, y: float) -> tuple[Affine | float, ...]:
        return (Affine(x, 3.0), y, 0.0, 1.0)

    moving = Texcoords(0, (corner(0, 0), corner(2, 0), corner(2, 2), corner(0, 2)))  # type: ignore[arg-type]
    each = FragmentPass(
        text, (Binding(0, "S"),), "target", Rect(0, 0, 2, 2), (moving,), blend=Blend.ADD
    )
    plan = show([Repeat(8, (each,))], texture("target", 2, 2, R32F), {"S": texels})
    found = carry_out(plan, {"S": texels}, raster)
    columns = [[min(3 * i + x, 19) for i in range(8)] for x in range(2)]
    assert found[..., 0].tolist() == [
        [sum(float(texels[y, c, 0]) for c in columns[x]) for x in range(2)] for y in range(2)
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 129, 1000, 4096])
def test_centres_stay_centres_in_textures_of_any_size(raster: Executor, size: int) -> None:
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    texels = np.arange(size, dtype=np.float32).reshape(1, size, 1)
    four = [fragment_texcoords(0, size, 1)]
    found = draw(text, (size, 1), textures={0: texels}, texcoords=four, executor=raster)
    assert found[0, :, 0].tolist() == list(range(size))


def test_a_coordinate_off_its_centre_by_rounding_reads_what_the_reference_reads(
    raster: Executor,
) -> None:
    """2³⁰ added and taken away again leaves steps of 128, in float32."""
    text = program(
        "ADD R0, fragment.texcoord[0], program.local[0];",
        "ADD R0, R0, -program.local[0];",
        "TEX result.color, R0, texture[0], RECT;",
    )
    texels = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    assert_same_drawing(
        raster, text, (4, 3), textures={0: texels}, texcoords=[fragment_texcoords(0, 4, 3)],
        local={0: (2.0**30, 2.0**30, 0.0, 0.0)},
    )  # fmt: skip


def test_more_lookups_than_places(raster: Executor) -> None:
    lines = ["MOV R1, 0;"]
    for n in range(12):
        lines += [f"MUL R0, fragment.texcoord[0], {2 * n + 1};", "TEX R2, R0, texture[0], RECT;",
                  "MAD R1, R1, 2, R2;"]  # fmt: skip
    text = program(*lines, "MOV result.color, R1;")
    texels = np.random.default_rng(0).integers(0, 9, (9, 9, 4)).astype(np.float32)
    places = [fragment_texcoords(0, 5, 4)]
    assert_same_drawing(raster, text, (5, 4), textures={0: texels}, texcoords=places)


# Random programs ---------------------------------------------------------------------------------


@given(scene=scenes(numbers=SMALL_NUMBER, values=SMALL_NUMBER, most=6))
@settings(max_examples=80)
def test_random_programs(raster: Executor, scene: Scene) -> None:
    """The same numbers; zeros may differ in sign, which GLSL leaves open where it clamps."""
    if not keeps_order(raster):
        pytest.skip("bit-identity is promised on llvmpipe alone")
    text = assemble(scene.text, name="random.fp")

    def drawn(executor: Executor) -> F32:
        return draw(
            text,
            scene.size,
            rect=scene.rect,
            textures=scene.textures,
            texcoords=scene.texcoords,
            local=scene.local,
            env=scene.env,
            executor=executor,
        )

    np.testing.assert_array_equal(drawn(raster), drawn(NUMPY))


def test_saturation_of_every_kind_of_value(raster: Executor) -> None:
    text = program("MOV_SAT result.color, program.local[0];")
    for four in ((-0.5, 0.25, 1.5, 1.0), (INF, -INF, 0.0, 1e-20), (NAN, NAN, 2.0, -2.0)):
        assert_same_drawing(raster, text, (1, 1), local={0: four})


def test_values_pass_through_a_move_unchanged(raster: Executor) -> None:
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    values = odd_values((4, 5, 4))
    found = draw(text, (5, 4), textures={0: values}, texcoords=[fragment_texcoords(0, 5, 4)],
                 executor=raster)  # fmt: skip
    assert_same_bits(found, values)


def test_a_multiply_add_rounds_twice_where_arithmetic_is_exact(raster: Executor) -> None:
    a, c = 1 + 2.0**-12, -(1 + 2.0**-11)
    text = program("PARAM a = program.local[0];", "MAD result.color, a, a, program.local[1];")
    found = draw(text, (1, 1), local={0: (a,) * 4, 1: (c,) * 4}, executor=raster)
    assert found.tolist() == [[[0, 0, 0, 0]]]


def test_names_that_glsl_would_not_take(raster: Executor) -> None:
    """GLSL's own words, prefixes and double underscores are ordinary names in the assembly."""
    names = ["main", "vec4", "gl_Position", "a__b", "__", "$", "_$", "color", "texture0", "place0",
             "texcoord0", "local0", "precise", "fragment_"]  # fmt: skip
    lines = [f"MOV {name}, {n};" for n, name in enumerate(names, 1)]
    lines += [f"MAD result.color, {name}, 1, 0;" for name in names[:1]]
    total = ["MOV sum, 0;", *[f"ADD sum, sum, {name};" for name in names], "MOV result.color, sum;"]
    text = program(*lines, *total, temporaries=f"TEMP sum, {', '.join(names)};")
    found = draw(text, (1, 1), executor=raster)
    assert found[0, 0].tolist() == [len(names) * (len(names) + 1) / 2] * 4


# Observers and the executor itself ---------------------------------------------------------------


def recorded(
    executor: Executor, plan: Plan, operands: Mapping[str, F32]
) -> tuple[list[tuple[int, Pass, dict[str, F32]]], Result]:
    seen: list[tuple[int, Pass, dict[str, F32]]] = []

    def look(number: int, each: Pass, read: Callable[[str], F32]) -> None:
        written = {t.name for t in plan.textures if t.initial is not None}
        written |= {i.texture for i in plan.inputs} | {each.target}
        seen.append((number, each, {name: read(name) for name in sorted(written)}))

    return seen, executor.run(plan, operands, EXACT, look)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_an_observer_sees_every_pass_as_the_reference_has_it(
    raster: Executor, method: Method, way: Accumulate | None
) -> None:
    plan = plan_of(method, (5, 14, 9), options_of(method, way, block=3, largest_texture=6))
    operands = random_operands(plan)
    found, result = recorded(raster, plan, operands)
    expected, _ = recorded(NUMPY, plan, operands)
    assert [(n, each) for n, each, _ in found] == [(n, each) for n, each, _ in expected]
    if keeps_order(raster):
        for (_, _, mine), (_, _, theirs) in zip(found, expected, strict=True):
            assert mine.keys() == theirs.keys()
            for name, texels in mine.items():
                assert texels.shape == theirs[name].shape
                assert_same_bits(texels, theirs[name])
    alone = raster.run(plan, operands, EXACT).outputs["C"]
    assert_same_bits(result.outputs["C"], alone)


def test_a_run_inside_an_observer_disturbs_nothing(raster: Executor) -> None:
    method = find_method("hall-carr-hart-multi")
    plan = plan_of(method, (9, 14, 5), options_of(method, Accumulate.BLEND, block=3))
    operands = random_operands(plan)
    alone = raster.run(plan, operands, EXACT).outputs["C"]
    inside: list[F32] = []

    def run_again(*_: object) -> None:
        inside.append(raster.run(plan, operands, EXACT).outputs["C"])

    assert_same_bits(raster.run(plan, operands, EXACT, run_again).outputs["C"], alone)
    assert len(inside) > 1
    for found in inside:
        assert_same_bits(found, alone)


class _ObserverError(Exception):
    pass


def test_an_observer_that_fails_leaves_the_executor_in_order(raster: Executor) -> None:
    plan = plan_of(LARSON, (4, 5, 6), Options())
    operands = random_operands(plan)
    before = raster.run(plan, operands, EXACT).outputs["C"]

    def fail(*_: object) -> None:
        raise _ObserverError

    with pytest.raises(_ObserverError):
        raster.run(plan, operands, EXACT, fail)
    assert_same_bits(raster.run(plan, operands, EXACT).outputs["C"], before)


def test_times_are_not_negative(raster: Executor) -> None:
    plan = plan_of(LARSON, (4, 5, 6), Options())
    times = raster.run(plan, random_operands(plan)).timings
    assert min(times.upload_s, times.compute_s, times.readback_s) >= 0


def test_a_texture_that_the_driver_cannot_make_is_a_plan_error_in_one_line(
    raster: Executor,
) -> None:
    plan = show([], texture("target", 1 << 20, 1, R32F))
    with pytest.raises(PlanError) as raised:
        carry_out(plan, executor=raster)
    assert "target" in str(raised.value)
    assert "--largest-texture" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_runs_leave_no_objects_behind(raster: Executor) -> None:
    plan = plan_of(LARSON, (3, 3, 3), Options(largest_texture=2))
    raster.run(plan, random_operands(plan))
    before = objects_alive()
    for _ in range(3):
        raster.run(plan, random_operands(plan))
    assert objects_alive() == before

    def fail(*_: object) -> None:
        raise _ObserverError

    with pytest.raises(_ObserverError):
        raster.run(plan, random_operands(plan), observer=fail)
    assert objects_alive() == before


def objects_alive() -> int:
    """Textures and framebuffers of the executor's context."""
    from gpgpu_legacy.runtime import gl

    try:
        library = ctypes.CDLL("libEGL.so.1")
    except OSError:
        pytest.skip("GL does not come through EGL here")
    library.eglGetProcAddress.restype = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_ubyte, ctypes.c_uint)
    with gl.context() as ctx:
        texture_made = ctx.texture((1, 1), 1)
        last = int(texture_made.glo)
        texture_made.release()
        checks = [
            kind(library.eglGetProcAddress(name)) for name in (b"glIsTexture", b"glIsFramebuffer")
        ]
        return sum(bool(is_one(n)) for is_one in checks for n in range(1, last + 1))


def test_shaders_are_shared_by_plans_of_one_shape(raster: Executor) -> None:
    """A second plan of the same sizes compiles nothing new."""
    from gpgpu_legacy.runtime import gl_raster

    plan = plan_of(LARSON, Shape(3, 4, 5), Options())
    raster.run(plan, random_operands(plan))
    misses = gl_raster._compiled.cache_info().misses
    again = replace(plan, name="the same by another name")
    raster.run(again, random_operands(again))
    assert gl_raster._compiled.cache_info().misses == misses
