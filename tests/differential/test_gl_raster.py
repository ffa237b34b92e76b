"""The gl-raster executor against the reference machine, on the same plans.

With exact code, results are the same bit for bit, save for functions of the driver's own
(departures.py). Where llvmpipe departs from the specification, and so from the reference:

- It flushes denormals in arithmetic, so the tests make none; campaign.py and test_denormals.py do.
- A sum blended into a 16-bit float target is truncated there, not rounded: one step of the format.
- SIN, COS and SCS of arguments beyond a few thousand have no correct digit left.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from departures import driver_of
from drawing import (
    EXACT,
    F32,
    Image,
    as_exact_as_it_can,
    assert_same_bits,
    corners,
    draw,
    draw_all,
    execute,
    fragment_texcoords,
    parameters,
    program,
    show,
    texture,
)
from hypothesis import given, settings
from lookups import HEIGHT, INF, LOOKUPS, NAN, WIDTH, coordinates_for, lookups_drawn
from products import (
    METHODS_AND_WAYS,
    as_multiplied,
    assert_within_the_bound,
    eight_bit_product,
    fragment_passes,
    in_turn,
    options_of,
    plan_of,
    random_operands,
)
from random_programs import INEXACT
from strategies import SMALL_NUMBER, Scene, draw_scene, scenes, whole_scenes

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, Arithmetic
from gpgpu_legacy.isa.ir import AttributeKind, Fog, Program
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, Operand
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.formats import (
    FORMATS,
    R32F,
    RGBA8,
    RGBA16F,
    RGBA32F,
    UNORM8,
    Format,
    Numeric,
)
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    StateValue,
    Texcoords,
)
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, TextureKind, Wrap
from gpgpu_legacy.runtime import gl
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl_sharing import ContentCache
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Result
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.gl

NUMPY = find_executor("numpy")
LARSON = find_method("larson-mcallister")
SHAPES = [(1, 1, 1), (1, 7, 1), (9, 1, 1), (5, 7, 3), (16, 16, 16), (13, 17, 11), (3, 64, 2),
          (31, 2, 5), (33, 18, 21)]  # fmt: skip


@pytest.fixture(scope="module")
def raster(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-raster")


def assert_agrees(
    executor: Executor, plan: Plan, options: Options, machine: Machine = EXACT, seed: int = 11
) -> None:
    """Bit for bit where the run is exact, and within the bound of sequential sums everywhere."""
    operands = random_operands(plan, seed)
    machine = as_exact_as_it_can(executor, plan, machine)
    found = executor.run(plan, operands, machine).outputs["C"]
    if machine.exact:
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    assert_within_the_bound(found, *as_multiplied(operands, options), fragment_passes(plan))


def assert_same_drawing(executor: Executor, *args: object, **more: object) -> F32:
    found = draw(*args, **more, executor=executor)  # type: ignore[arg-type]
    assert_same_bits(found, draw(*args, **more))  # type: ignore[arg-type]
    return found


# The methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "way", "shape"), in_turn(SHAPES))
def test_products_of_many_shapes(
    raster: Executor, method: Method, way: Accumulate | None, shape: tuple[int, int, int]
) -> None:
    options = options_of(method, way)
    assert_agrees(raster, plan_of(method, shape, options), options)


@pytest.mark.parametrize(("method", "way", "case"), in_turn([*product((1, 3, 32), (True, False))]))
def test_blocks_of_many_sizes_exact_or_not(
    raster: Executor, method: Method, way: Accumulate | None, case: tuple[int, bool]
) -> None:
    block, exact = case
    options = options_of(method, way, block)
    assert_agrees(
        raster, plan_of(method, (10, 70, 12), options), options, Machine(exact, denormals=False)
    )


@pytest.mark.parametrize(
    ("method", "way", "case"), in_turn([*product(("a", "b", "ab"), (8192, 8))])
)
def test_transposed_operands_whole_and_cut(
    raster: Executor, method: Method, way: Accumulate | None, case: tuple[str, int]
) -> None:
    transposed, largest = case
    a, b = "a" in transposed, "b" in transposed
    options = options_of(method, way, transpose_a=a, transpose_b=b, largest_texture=largest)
    assert_agrees(raster, plan_of(method, (13, 22, 17), options), options)


@pytest.mark.parametrize("largest", [5, 8])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_matrices_larger_than_the_largest_texture(
    raster: Executor, method: Method, way: Accumulate | None, largest: int
) -> None:
    options = options_of(method, way, largest_texture=largest)
    plan = plan_of(method, (2 * largest + 1, 2 * largest + 1, 2 * largest - 2), options)
    assert max(max(t.extent.width, t.extent.height) for t in plan.textures) <= largest
    assert_agrees(raster, plan, options)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_a_larger_product(raster: Executor, method: Method, way: Accumulate | None) -> None:
    """Large enough for the driver to draw in several bins and threads."""
    options = replace(options_of(method, way, block=32), tile=None)
    assert_agrees(raster, plan_of(method, (150, 40, 130), options), options)


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
    found = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]
    expected = NUMPY.run(plan, operands).outputs["C"]
    assert (np.isnan(found) == np.isnan(expected)).all()
    if not raster.why_inexact(plan, EXACT):
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
    found = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]
    if not raster.why_inexact(plan, EXACT):
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
    found = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]
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
    found = np.round(
        raster.run(plan, operands, Machine(exact, denormals=False)).outputs["C"] * 255.0
    ).astype(int)
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
    assert_same_bits(execute(cleared, executor=raster), execute(cleared))
    initial = show([], texture("target", 2, 2, UNORM8, four))
    assert_same_bits(execute(initial, executor=raster), execute(initial))
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
    found = execute(plan, {"S": values}, raster)
    assert_equal_to_the_last_bit(found, execute(plan, {"S": values}))
    if texel_format.bits_per_channel == 32:
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
        found = execute(plan, {"target": values}, raster)
        assert_equal_to_the_last_bit(found, execute(plan, {"target": values}))
        if texel_format.bits_per_channel == 32:
            assert_equal_to_the_last_bit(found, values)


def test_clears_and_initial_values_are_not_clamped(raster: Executor) -> None:
    odd = (-3.5, 1e30, 0.1, 2.0)
    for plan in (
        show([], texture("target", 3, 2, RGBA32F, odd)),
        show([ClearPass("target", odd)], texture("target", 3, 2, RGBA32F)),
    ):
        found = execute(plan, executor=raster)
        assert_same_bits(found, np.broadcast_to(np.array(odd, np.float32), (2, 3, 4)))


@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_blending_adds_and_ends_with_its_pass(raster: Executor, texel_format: Format) -> None:
    target = texture("target", 4, 3, texel_format, (0.25, 1.0, -2.0, 4.0))
    text = program("MOV result.color, program.local[0];")
    value = parameters({0: (0.31, -7.0, 5.0, 0.125)})
    add = FragmentPass(text, (), ("target",), Rect(1, 0, 2, 3), locals=value, blend=Blend.ADD)
    put = FragmentPass(text, (), ("target",), Rect(0, 2, 4, 1), locals=value)
    plan = show([Repeat(3, (add,)), put], target)
    assert_same_bits(execute(plan, executor=raster), execute(plan))


def test_a_clear_and_a_copy_after_a_blended_pass_do_not_blend(raster: Executor) -> None:
    text = program("MOV result.color, 1;")
    add = FragmentPass(text, (), ("target",), Rect(0, 0, 2, 2), blend=Blend.ADD)
    copy = CopyPass("U", Rect(0, 0, 1, 2), "target", Rect(1, 0, 1, 2))
    others = [texture("U", 2, 2, R32F, (5.0, 0.0, 0.0, 0.0))]
    plan = show([add, add, copy, ClearPass("U")], texture("target", 2, 2, R32F), others=others)
    assert execute(plan, executor=raster)[..., 0].tolist() == [[2, 5], [2, 5]]


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
        text, (), ("target",), Rect(0, 0, 3, 2),
        locals=parameters({1: (-4.0, 5.0, 0.25, 1e20)}), env=parameters({2: (1.0, 2.0, 3.0, 4.0)}),
    )  # fmt: skip
    neither = FragmentPass(text, (), ("target",), Rect(0, 0, 1, 1))
    found = execute(show([both, neither], texture("target", 3, 2, RGBA32F)), executor=raster)
    assert found[0, 0].tolist() == [0, 0, 0, 0]
    assert found[1, 1].tolist() == [-3, 7, 3.25, float(np.float32(1e20))]


def test_coordinate_sets_do_not_stay_from_the_pass_before(raster: Executor) -> None:
    text = program("MOV result.color, fragment.texcoord[3];")
    whole, corner = Rect(0, 0, 4, 2), Rect(0, 0, 1, 1)
    four = corners((0.0, 8.0, 3.0, 4.0), (1.0, 0.0, 0.0, 0.0), (0.0, 2.0, 0.0, 0.0), 4, 2)
    steps = [FragmentPass(text, (), ("target",), whole, (Texcoords(3, four),)),
             FragmentPass(text, (), ("target",), corner)]  # fmt: skip
    found = execute(show(steps, texture("target", 4, 2, RGBA32F)), executor=raster)
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


def test_a_varying_that_moves_from_pass_to_pass(raster: Executor) -> None:
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    texels = np.arange(40, dtype=np.float32).reshape(2, 20, 1)

    def corner(x: float, y: float) -> tuple[Affine | float, ...]:
        return (Affine(x, 3.0), y, 0.0, 1.0)

    moving = Texcoords(0, (corner(0, 0), corner(2, 0), corner(2, 2), corner(0, 2)))  # type: ignore[arg-type]
    each = FragmentPass(
        text, (Binding(0, "S"),), ("target",), Rect(0, 0, 2, 2), (moving,), blend=Blend.ADD
    )
    plan = show([Repeat(8, (each,))], texture("target", 2, 2, R32F), {"S": texels})
    found = execute(plan, {"S": texels}, raster)
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


def test_more_lookups_than_varyings(raster: Executor) -> None:
    lines = ["MOV R1, 0;"]
    for n in range(12):
        lines += [f"MUL R0, fragment.texcoord[0], {2 * n + 1};", "TEX R2, R0, texture[0], RECT;",
                  "MAD R1, R1, 2, R2;"]  # fmt: skip
    text = program(*lines, "MOV result.color, R1;")
    texels = np.random.default_rng(0).integers(0, 9, (9, 9, 4)).astype(np.float32)
    places = [fragment_texcoords(0, 5, 4)]
    assert_same_drawing(raster, text, (5, 4), textures={0: texels}, texcoords=places)


# Every opcode ------------------------------------------------------------------------------------

SOURCES = ("R1", "R2", "R3")
PLACE = fragment_texcoords(0, WIDTH, HEIGHT)
COLOURS = 8  # as many draw buffers as OpenGL 4.0 promises
EXACT_ROWS = [row.mnemonic for row in OPCODES.values() if row.mnemonic not in INEXACT]
COMPUTING = [row for row in OPCODES.values() if row.form not in (Form.SAMPLE, Form.KILL)]


def with_option(option: str, *lines: str) -> Program:
    return program(*lines, temporaries=f"{option} TEMP R0, R1, R2, R3;")


def separately(*lines: str) -> Program:
    """A program with a colour for each target."""
    return with_option("OPTION ARB_draw_buffers;", *lines)


def random_texels(seed: int, special: bool) -> dict[int, F32]:
    """Three textures: quarters of either sign, or all that is odd about floats."""
    rng = np.random.default_rng(seed)
    odd = [0.0, -0.0, 1.0, -1.0, 0.25, -3.0, 130.0, -130.0, 1e-15, -1e-15, 1e19, INF, -INF, NAN]
    shape = (3, HEIGHT, WIDTH, 4)
    values = rng.choice(odd, shape) if special else rng.integers(-16, 17, shape) / 4
    return dict(enumerate(values.astype(np.float32)))


LOAD = tuple(
    f"TEX {name}, fragment.texcoord[0], texture[{unit}], RECT;" for unit, name in enumerate(SOURCES)
)


def instruction(row: Opcode, number: int, rng: np.random.Generator) -> str:
    """One of the row's instructions, writing colour `number` under a random mask."""
    unused = iter(SOURCES)

    def suffix(count: int) -> str:
        return "." + "".join(rng.choice(list("xyzw"), count))

    def operand(kind: Operand) -> str:
        sign = rng.choice(["", "-"])
        match kind:
            case Operand.DESTINATION:
                mask = "".join(c for c in "xyzw" if rng.random() < 0.6) or "xyzw"
                return f"result.color[{number}].{mask}"
            case Operand.SCALAR:
                return f"{sign}{next(unused)}{suffix(1)}"
            case Operand.EXTENDED_SWIZZLE:
                return ", ".join(rng.choice(["x", "-y", "z", "-w", "0", "-0", "1", "-1"], 4))
            case Operand.REGISTER:
                return next(unused)
        return f"{sign}{next(unused)}{rng.choice(['', suffix(1), suffix(4)])}"

    operands = ", ".join(operand(kind) for kind in row.shape.value)
    return f"{row.mnemonic}{'_SAT' * int(rng.integers(0, 2))} {operands};"


@pytest.mark.parametrize("special", [False, True], ids=["quarters", "odd"])
@pytest.mark.parametrize("row", COMPUTING, ids=lambda row: row.mnemonic)
def test_every_opcode_under_masks_swizzles_signs_and_saturation(
    raster: Executor, row: Opcode, special: bool
) -> None:
    rng = np.random.default_rng(sum(map(ord, row.mnemonic)))
    text = separately(*LOAD, *(instruction(row, n, rng) for n in range(COLOURS)))
    textures = random_texels(5, special)
    if special and row.mnemonic in ("SIN", "COS", "SCS"):
        textures = {unit: np.clip(texels, -130, 130) for unit, texels in textures.items()}
    more = {"textures": textures, "texcoords": [PLACE], "targets": [RGBA32F] * COLOURS}
    found = draw_all(text, (WIDTH, HEIGHT), executor=raster, **more)  # type: ignore[arg-type]
    expected = draw_all(text, (WIDTH, HEIGHT), **more)  # type: ignore[arg-type]
    relative, absolute = driver_of(raster).functions.get(row.mnemonic, (0.0, 0.0))
    np.testing.assert_allclose(found, expected, relative, absolute)


def test_a_product_of_a_negated_component_is_not_taken_for_negative(raster: Executor) -> None:
    """Mesa 22.3 takes -r.x * r.y to be ≤ 0 and folds what compares it with 0."""
    text = separately(
        *LOAD, "MUL R0, -R1.x, R1.y;", "MAX result.color, R0, 0;", "SLT result.color[1], 0, R0;",
        "MOV_SAT result.color[2], R0;", "MOV R2, -R1;", "MUL R3, R2.x, R1.y;",
        "CMP result.color[3], -R3, 1, 2;",
    )  # fmt: skip
    more = {"textures": random_texels(6, False), "texcoords": [PLACE], "targets": [RGBA32F] * 4}
    found = draw_all(text, (WIDTH, HEIGHT), executor=raster, **more)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, draw_all(text, (WIDTH, HEIGHT), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.1, 16777217.0, 1e-40, 1e39, 3.4e38, 1 / 3, 5e-324])
def test_constants_are_the_nearest_float32(raster: Executor, value: float) -> None:
    text = program(f"MOV result.color, {{{value!r}, -{value!r}, 0, -0}};")
    found = draw(text, (1, 1), executor=raster)
    with np.errstate(over="ignore"):
        expected = np.array([[[value, -value, 0.0, -0.0]]], np.float32)
    assert_same_bits(found, expected)


# Every texture target ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "how", "wrap"), LOOKUPS)
def test_lookups_of_every_target_filter_and_wrap(
    raster: Executor, kind: TextureKind, how: Filter, wrap: Wrap
) -> None:
    drawn = lookups_drawn(kind, how, wrap)
    found, expected = draw_all(**drawn, executor=raster), draw_all(**drawn)
    np.testing.assert_array_equal(found, expected)


def test_each_coordinate_has_its_own_wrap(raster: Executor) -> None:
    texels = np.random.default_rng(1).normal(0, 1, (4 * 3, 5, 4)).astype(np.float32)
    sampler = Sampler(Filter.LINEAR, Wrap.REPEAT, Wrap.CLAMP, Wrap.CLAMP_TO_EDGE)
    images = {0: coordinates_for(TextureKind.T3D), 1: Image(texels, TextureKind.T3D, 3, sampler)}
    text = program("TEX R0, fragment.texcoord[0], texture[0], RECT;",
                   "TEX result.color, R0, texture[1], 3D;")  # fmt: skip
    size = (WIDTH, HEIGHT)
    found = draw(text, size, textures=images, texcoords=[PLACE], executor=raster)
    expected = draw(text, size, textures=images, texcoords=[PLACE])
    np.testing.assert_array_equal(found, expected)


def test_a_linear_rectangle_lookup_on_centres_is_not_left_to_the_rasteriser(
    raster: Executor,
) -> None:
    texels = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    for sampler in (Sampler(Filter.LINEAR), Sampler(Filter.LINEAR, Wrap.CLAMP, Wrap.CLAMP)):
        image = {0: Image(texels, sampler=sampler)}
        assert_same_drawing(
            raster, text, (4, 3), textures=image, texcoords=[fragment_texcoords(0, 4, 3)]
        )


def test_texels_of_every_format_are_looked_up(raster: Executor) -> None:
    text = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    for each in FORMATS.values():
        texels = np.random.default_rng(4).random((3, 4, each.channels), np.float32)
        assert_same_drawing(
            raster, text, (4, 3), textures={0: Image(texels, format=each)},
            texcoords=[fragment_texcoords(0, 4, 3)],
        )  # fmt: skip


# Discarded fragments, several targets ------------------------------------------------------------


@pytest.mark.parametrize("blend", Blend)
@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_a_discarded_fragment_writes_nothing(
    raster: Executor, texel_format: Format, blend: Blend
) -> None:
    text = program(
        "KIL fragment.texcoord[0].yyyy;", "MUL R0, fragment.texcoord[0], 0.375;", "KIL R0.x;",
        "ADD result.color, R0, 0.125;",
    )  # fmt: skip
    four = corners((-3.0, -2.0, 1.0, 1.0), (0.5, 0.0, 0.0, 0.0), (0.0, 0.75, 0.0, 0.0), 13, 7)
    more = {
        "target": texel_format, "initial": (0.375, 0.25, 0.5, -2.0), "blend": blend,
        "texcoords": [Texcoords(0, four)],
    }  # fmt: skip
    found, expected = draw(text, (13, 7), executor=raster, **more), draw(text, (13, 7), **more)
    blends_halves = blend is Blend.ADD and texel_format.bits_per_channel == 16
    np.testing.assert_allclose(found, expected, 2.0**-10 if blends_halves else 0.0)
    stored = draw(program("KIL -1;"), (13, 7), **more)
    assert (found[:2] == stored[:2]).all()
    assert (found[:, :6] == stored[:, :6]).all()
    assert (found[3:, 6:] != stored[3:, 6:]).any()


@pytest.mark.parametrize(
    ("value", "dies"), [(-1.0, True), (0.0, False), (-0.0, False), (NAN, False), (-INF, True)]
)
def test_what_kills_and_what_does_not(raster: Executor, value: float, dies: bool) -> None:
    text = program("KIL program.local[0];", "MOV result.color, 7;")
    for place in range(4):
        four = tuple(value if c == place else 1.0 for c in range(4))
        found = draw(text, (1, 1), local={0: four}, executor=raster)
        assert found.tolist() == [[[0.0 if dies else 7.0] * 4]]


def test_several_targets_of_several_formats(raster: Executor) -> None:
    text = separately(
        "MUL R0, fragment.texcoord[0], 0.3;", "MOV result.color[1], R0;",
        "MOV result.color[0].x, 2;", "MOV result.color[3].xz, R0.y;",
    )  # fmt: skip
    more = {
        "targets": (RGBA32F, RGBA8, RGBA16F, R32F, RGBA32F), "initial": (9.0, 9.0, 9.0, 9.0),
        "texcoords": [fragment_texcoords(0, 5, 4)],
    }  # fmt: skip
    found, expected = (
        draw_all(text, (5, 4), executor=raster, **more),
        draw_all(text, (5, 4), **more),
    )  # type: ignore[arg-type]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    third = np.float32(0.3) * (np.arange(4, dtype=np.float32) + np.float32(0.5))
    np.testing.assert_array_equal(found[3][..., 0], np.repeat(third[:, None], 5, axis=1))


def test_all_targets_get_the_one_colour_of_a_program_without_draw_buffers(raster: Executor) -> None:
    text = program("MOV result.color, {0.25, 0.5, 0.75, 1};")
    found = draw_all(text, (2, 1), targets=(RGBA32F, RGBA16F), executor=raster)
    assert [each.tolist() for each in found] == [[[[0.25, 0.5, 0.75, 1.0]] * 2]] * 2


def test_several_targets_blend_and_a_discard_spares_them_all(raster: Executor) -> None:
    text = separately(
        "KIL fragment.texcoord[0];", "MOV result.color[1], fragment.texcoord[0];",
        "MOV result.color[0], 2;",
    )  # fmt: skip
    four = corners((-2.0, 1.0, 1.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 4, 1)
    found = draw_all(
        text, (4, 1), targets=(RGBA32F, RGBA32F), initial=(1.0, 2.0, 3.0, 4.0), blend=Blend.ADD,
        texcoords=[Texcoords(0, four)], executor=raster,
    )  # fmt: skip
    kept = [1.0, 2.0, 3.0, 4.0]
    assert found[0].tolist() == [[kept, kept, [3.0, 4.0, 5.0, 6.0], [3.0, 4.0, 5.0, 6.0]]]
    assert found[1].tolist() == [[kept, kept, [1.5, 3.0, 4.0, 5.0], [2.5, 3.0, 4.0, 5.0]]]


def test_more_targets_than_the_driver_has_is_a_plan_error(raster: Executor) -> None:
    text = program("MOV result.color, 1;")
    with pytest.raises(PlanError, match="draws to 65 textures"):
        draw_all(text, (1, 1), targets=[R32F] * 65, executor=raster)


def test_a_depth_that_is_written_changes_nothing(raster: Executor) -> None:
    text = program("MOV result.depth.z, 0.9;", "MOV result.color, 3;", "MOV result.depth.z, -1;")
    assert draw(text, (1, 1), executor=raster).tolist() == [[[3.0] * 4]]


# Attributes, state, fog --------------------------------------------------------------------------

BENT = ((0.0, 1.0, -2.0, 3.0), (4.0, 1.5, 0.25, -1.0), (-3.0, 0.0, 5.0, 0.5), (1.0, 2.0, 2.0, 2.0))


@pytest.mark.parametrize("rect", [Rect(0, 0, 13, 7), Rect(2, 1, 6, 6), Rect(0, 0, 1, 1)], ids=str)
def test_corner_values_that_are_not_planar_are_two_triangles(raster: Executor, rect: Rect) -> None:
    """A 6×6 rectangle has fragments on the diagonal."""
    text = program("MOV result.color, fragment.texcoord[2];")
    found = assert_same_drawing(raster, text, (13, 7), rect=rect, texcoords=[Texcoords(2, BENT)])
    if rect.width == 6:
        on_the_diagonal = [found[1 + i, 2 + i, 0] for i in range(6)]
        np.testing.assert_allclose(on_the_diagonal, [-3 * (i + 0.5) / 6 for i in range(6)], 1e-5)


def test_a_pass_that_bends_in_its_last_iteration(raster: Executor) -> None:
    text = program("MOV result.color, fragment.texcoord[0];")
    level = (1.0, 0.0, 0.0, 1.0)
    moving = (level, level, (Affine(1.0, 0.5), 0.0, 0.0, 1.0), level)
    each = FragmentPass(
        text, (), ("target",), Rect(0, 0, 4, 4), (Texcoords(0, moving),), blend=Blend.ADD
    )
    plan = show([Repeat(3, (each,))], texture("target", 4, 4, RGBA32F))
    assert_same_bits(execute(plan, executor=raster), execute(plan))


def test_attributes_given_and_not_given(raster: Executor) -> None:
    text = separately(
        "MOV result.color, fragment.color;", "MOV result.color[1], fragment.color.secondary;",
        "MOV result.color[2], fragment.fogcoord;", "MOV result.color[3], fragment.texcoord[5];",
    )  # fmt: skip
    found = draw_all(text, (1, 1), targets=[RGBA32F] * 4, executor=raster)
    assert [each[0, 0].tolist() for each in found] == [[1, 1, 1, 1], *[[0, 0, 0, 1]] * 3]
    more = {
        "targets": [RGBA32F] * 4,
        "attributes": [
            AttributeCorners(kind, BENT)
            for kind in (
                AttributeKind.COLOR, AttributeKind.SECONDARY_COLOR, AttributeKind.FOGCOORD,
            )
        ],
    }  # fmt: skip
    found, expected = (
        draw_all(text, (5, 4), executor=raster, **more),
        draw_all(text, (5, 4), **more),
    )  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, expected)
    assert (found[2][..., 1:] == [0, 0, 1]).all()


def test_state_is_given_or_has_its_initial_value(raster: Executor) -> None:
    text = program(
        "ADD R0, state.lightmodel.ambient, state.matrix.mvp.row[2];",
        "MAD result.color, R0, state.fog.color, state.light[0].ambient;",
    )
    given_state = FragmentPass(
        text, (), ("target",), Rect(0, 0, 2, 1),
        state=(StateValue("state.fog.color", (0.5, 2.0, 4.0, 8.0)),
               StateValue("state.matrix.projection.row[2]", (1.0, 2.0, 3.0, 4.0))),
    )  # fmt: skip
    without = FragmentPass(text, (), ("target",), Rect(0, 0, 1, 1))
    plan = show([given_state, without], texture("target", 2, 1, RGBA32F))
    found = execute(plan, executor=raster)
    assert_same_bits(found, execute(plan))
    assert found[0, 0].tolist() == [0, 0, 0, 1]  # fog is black, and the light's ambience (0,0,0,1)
    fifth = float(np.float32(0.2))
    np.testing.assert_allclose(
        found[0, 1], [0.5 * (1 + fifth), 2 * (2 + fifth), 4 * (3 + fifth), 8 * 5 + 1], 1e-6
    )


@pytest.mark.parametrize("target", [RGBA32F, RGBA8, RGBA16F], ids=lambda each: each.name)
@pytest.mark.parametrize("mode", Fog, ids=lambda mode: mode.name)
def test_fog(raster: Executor, mode: Fog, target: Format) -> None:
    text = with_option(f"OPTION {mode.value};", "MUL result.color, fragment.texcoord[0], 0.7;")
    distances = tuple((d, 0.0, 0.0, 1.0) for d in (0.0, 3.0, 4.0, 1.0))
    more = {
        "target": target, "texcoords": [Texcoords(0, BENT)],
        "attributes": [AttributeCorners(AttributeKind.FOGCOORD, distances)],
        "state": {"state.fog.color": (0.1, 0.7, 1.3, 0.4), "state.fog.params": (0.7, 0.5, 3, 0)},
    }  # fmt: skip
    found, expected = draw(text, (9, 8), executor=raster, **more), draw(text, (9, 8), **more)
    step = 1 / 255 if target.numeric is Numeric.UNORM else 2.0**-9 if target is RGBA16F else 1e-6
    np.testing.assert_allclose(found, expected, 0, step)
    if mode is Fog.LINEAR:
        np.testing.assert_array_equal(found, expected)


# Other arithmetics -------------------------------------------------------------------------------

ROUNDING = [each for each in ARITHMETICS.values() if each.rounds]


@pytest.mark.parametrize("arithmetic", ROUNDING, ids=lambda each: each.name)
def test_opcodes_in_other_arithmetics_lie_within_a_step(
    raster: Executor, arithmetic: Arithmetic
) -> None:
    """float32 rounded is at most the neighbour of float64 rounded; the sources are alike."""
    rng = np.random.default_rng(2)
    texels = {n: rng.normal(0, 1, (HEIGHT, WIDTH, 4)).astype(np.float32) for n in range(3)}
    rows = sorted(COMPUTING, key=lambda row: row.mnemonic)
    for start in range(0, len(rows), COLOURS):
        lines = [instruction(row, n, rng) for n, row in enumerate(rows[start : start + COLOURS])]
        text = separately(*LOAD, *lines)
        more = {
            "textures": texels, "texcoords": [PLACE], "targets": [RGBA32F] * len(lines),
            "machine": Machine(exact=True, arithmetic=arithmetic),
        }  # fmt: skip
        found = draw_all(text, (WIDTH, HEIGHT), executor=raster, **more)  # type: ignore[arg-type]
        expected = draw_all(text, (WIDTH, HEIGHT), **more)  # type: ignore[arg-type]
        step = 2.0 * arithmetic.absolute_error + 1e-5
        for line, mine, theirs in zip(lines, found, expected, strict=True):
            np.testing.assert_allclose(
                mine, theirs, 4 * arithmetic.relative_error, step, err_msg=line
            )


@pytest.mark.parametrize("arithmetic", ROUNDING, ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["gl-raster", "gl-compute"])
def test_exact_runs_in_other_arithmetics_have_the_reference_machines_bits(
    name: str, arithmetic: Arithmetic, ready: Callable[[str], Executor]
) -> None:
    """An instruction computes in double, as the reference machine does: a float is too narrow."""
    executor, rng = ready(name), np.random.default_rng(2)
    texels = {n: rng.normal(0, 1, (HEIGHT, WIDTH, 4)).astype(np.float32) for n in range(3)}
    rows, together = [row for row in COMPUTING if row.mnemonic in EXACT_ROWS], 4
    for start in range(0, len(rows), together):
        lines = [instruction(row, n, rng) for n, row in enumerate(rows[start : start + together])]
        more = {
            "textures": texels, "texcoords": [PLACE], "targets": [RGBA32F] * len(lines),
            "machine": replace(EXACT, arithmetic=arithmetic),
        }  # fmt: skip
        text = separately(*LOAD, *lines)
        found = draw_all(text, (WIDTH, HEIGHT), executor=executor, **more)  # type: ignore[arg-type]
        expected = draw_all(text, (WIDTH, HEIGHT), **more)  # type: ignore[arg-type]
        for line, mine, theirs in zip(lines, found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs, line)


@pytest.mark.parametrize("method", ["hall-carr-hart-multi", "hall-carr-hart-single"])
@pytest.mark.parametrize("arithmetic", ROUNDING, ids=lambda each: each.name)
def test_exact_products_in_other_arithmetics(
    raster: Executor, arithmetic: Arithmetic, method: str
) -> None:
    plan = plan_of(find_method(method), (9, 14, 5), Options())
    operands = random_operands(plan)
    machine = replace(EXACT, arithmetic=arithmetic)
    found, expected = (each.run(plan, operands, machine).outputs["C"] for each in (raster, NUMPY))
    assert_same_bits(found, expected)


@pytest.mark.parametrize("arithmetic", ROUNDING, ids=lambda each: each.name)
def test_what_is_exact_in_another_arithmetic_is_the_same(
    raster: Executor, arithmetic: Arithmetic
) -> None:
    """Attributes, parameters, texels and constants are rounded; a coordinate is as interpolated."""
    text = separately(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;", "MOV result.color, R0;",
        "MOV result.color[1], -fragment.texcoord[1];",
        "MAX result.color[2], program.local[0], {0.1, 0.2, -0.3, 1.7};",
        "SWZ result.color[3], fragment.texcoord[1], 1, -y, 0, w;",
    )  # fmt: skip
    texels = np.random.default_rng(3).normal(0, 2, (3, 40, 4)).astype(np.float32)
    four = corners((0.1, -1.9, 0.0, 1.0), (0.37, 0.11, 0.0, 0.0), (0.0, 1.03, 0.0, 0.0), 40, 3)
    more = {
        "textures": {0: texels}, "targets": [RGBA32F] * 4, "local": {0: (0.123, -7.0, 0.33, 1e6)},
        "texcoords": [fragment_texcoords(0, 40, 3), Texcoords(1, four)],
        "machine": Machine(exact=True, arithmetic=arithmetic),
    }  # fmt: skip
    found, expected = (
        draw_all(text, (40, 3), executor=raster, **more),
        draw_all(text, (40, 3), **more),
    )  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found[0][..., 0])) > 20  # rounding did not move the coordinates


# Random programs ---------------------------------------------------------------------------------


def drawn(scene: Scene, executor: Executor) -> list[F32]:
    return draw_scene(scene, initial=(-9.0, 9.0, 0.25, 1.0), executor=executor)


@given(scene=scenes(SMALL_NUMBER, SMALL_NUMBER, EXACT_ROWS, most=6))
@settings(max_examples=30)
def test_random_programs(raster: Executor, scene: Scene) -> None:
    """The same numbers; zeros may differ in sign, which GLSL leaves open where it clamps."""
    np.testing.assert_array_equal(drawn(scene, raster), drawn(scene, NUMPY))


@given(scene=whole_scenes(SMALL_NUMBER, SMALL_NUMBER, EXACT_ROWS, most=8))
@settings(max_examples=30)
def test_random_programs_of_the_whole_language(raster: Executor, scene: Scene) -> None:
    np.testing.assert_array_equal(drawn(scene, raster), drawn(scene, NUMPY))


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
    names = ["main", "vec4", "gl_Position", "a__b", "__", "$", "_$", "color", "texture0",
             "varying0", "texcoord0", "local0", "precise", "fragment_"]  # fmt: skip
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

    return seen, executor.run(plan, operands, as_exact_as_it_can(executor, plan), look)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_an_observer_sees_every_pass_as_the_reference_has_it(
    raster: Executor, method: Method, way: Accumulate | None
) -> None:
    plan = plan_of(method, (5, 14, 9), options_of(method, way, block=3, largest_texture=6))
    operands = random_operands(plan)
    found, result = recorded(raster, plan, operands)
    expected, _ = recorded(NUMPY, plan, operands)
    assert [(n, each) for n, each, _ in found] == [(n, each) for n, each, _ in expected]
    for (_, _, mine), (_, _, theirs) in zip(found, expected, strict=True):
        assert mine.keys() == theirs.keys()
        for name, texels in mine.items():
            assert texels.shape == theirs[name].shape
            if not raster.why_inexact(plan, EXACT):
                assert_same_bits(texels, theirs[name])
    alone = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]
    assert_same_bits(result.outputs["C"], alone)


def test_a_run_inside_an_observer_disturbs_nothing(raster: Executor) -> None:
    method = find_method("hall-carr-hart-multi")
    plan = plan_of(method, (9, 14, 5), options_of(method, Accumulate.BLEND, block=3))
    operands = random_operands(plan)
    alone = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]
    inside: list[F32] = []

    def run_again(*_: object) -> None:
        inside.append(raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"])

    assert_same_bits(
        raster.run(plan, operands, as_exact_as_it_can(raster, plan), run_again).outputs["C"], alone
    )
    assert len(inside) > 1
    for found in inside:
        assert_same_bits(found, alone)


class _ObserverError(Exception):
    pass


def test_an_observer_that_fails_leaves_the_executor_in_order(raster: Executor) -> None:
    plan = plan_of(LARSON, (4, 5, 6), Options())
    operands = random_operands(plan)
    before = raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"]

    def fail(*_: object) -> None:
        raise _ObserverError

    with pytest.raises(_ObserverError):
        raster.run(plan, operands, as_exact_as_it_can(raster, plan), fail)
    assert_same_bits(
        raster.run(plan, operands, as_exact_as_it_can(raster, plan)).outputs["C"], before
    )


def test_times_are_not_negative(raster: Executor) -> None:
    plan = plan_of(LARSON, (4, 5, 6), Options())
    times = raster.run(plan, random_operands(plan)).timings
    assert min(times.upload_s, times.compute_s, times.readback_s) >= 0


def test_a_texture_that_the_driver_cannot_make_is_a_plan_error_in_one_line(
    raster: Executor,
) -> None:
    plan = show([], texture("target", 1 << 20, 1, R32F))
    with pytest.raises(PlanError) as raised:
        execute(plan, executor=raster)
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
    try:
        library = ctypes.CDLL("libEGL.so.1")
    except OSError:
        pytest.skip("GL does not come through EGL here")
    library.eglGetProcAddress.restype = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_ubyte, ctypes.c_uint)
    with gl.context().current() as ctx:
        texture_made = ctx.texture((1, 1), 1)
        last = int(texture_made.glo)
        texture_made.release()
        checks = [
            kind(library.eglGetProcAddress(name)) for name in (b"glIsTexture", b"glIsFramebuffer")
        ]
        return sum(bool(is_one(n)) for is_one in checks for n in range(1, last + 1))


def test_shaders_are_shared_by_plans_of_one_shape(raster: Executor) -> None:
    """A second plan of the same sizes compiles nothing new."""
    plan = plan_of(LARSON, Shape(3, 4, 5), Options())
    raster.run(plan, random_operands(plan))
    programs = gl.context().programs
    made = programs.created
    again = replace(plan, name="the same by another name")
    raster.run(again, random_operands(again))
    assert programs.created == made


def test_shaders_that_were_used_longest_ago_are_released(
    raster: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    raster.device()
    programs = ContentCache(2)
    monkeypatch.setattr(gl.context(), "programs", programs)
    texts = [program(f"MOV result.color, {n}.25;") for n in range(4)]
    for n in (0, 1, 2, 3, 2, 0, 3):  # those released are compiled again, and draw the same
        assert draw(texts[n], (1, 1), executor=raster).tolist() == [[[n + 0.25] * 4]]
    assert len(programs) == 2
