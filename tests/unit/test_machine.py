from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scalar_machine
from drawing import (
    assert_same_bits,
    carry_out,
    corners,
    draw,
    fragment_texcoords,
    program,
    show,
    texture,
)
from hypothesis import given, settings
from strategies import Scene, scenes

from gpgpu_legacy.asm.parser import assemble
from gpgpu_legacy.interp import machine as reference
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.interp.sampler import sample_rect
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.plan.formats import R32F, RGBA32F, UNORM8
from gpgpu_legacy.plan.plan import Binding, Blend, FragmentPass, Rect, Texcoords

NAN, INF = float("nan"), float("inf")


def texels(*rows: list[float]) -> np.ndarray:
    """A single-channel texture, row 0 first."""
    return np.array(rows, np.float32)[..., None]


def only_texel(*lines: str, **given: object) -> list[float]:
    return draw(program(*lines), (1, 1), **given)[0, 0].tolist()  # type: ignore[arg-type]


# Operands and results ----------------------------------------------------------------------------


def test_all_sources_are_fetched_before_anything_is_written() -> None:
    found = only_texel("MOV R0, {1, 2, 3, 4};", "MOV R0, R0.yxwz;", "MOV result.color, R0;")
    assert found == [2, 1, 4, 3]


def test_a_source_that_is_the_destination_keeps_its_value_while_it_is_read() -> None:
    found = only_texel(
        "MOV R0, {1, 2, 3, 4};", "MAD R0, R0.wzyx, R0.yyyy, R0.xxxx;", "MOV result.color, R0;"
    )
    assert found == [4 * 2 + 1, 3 * 2 + 1, 2 * 2 + 1, 1 * 2 + 1]


def test_the_swizzle_of_the_specifications_own_example() -> None:
    found = only_texel("PARAM p = {2, 8, 9, 0};", "MOV result.color, p.yzzx;")
    assert found == [8, 9, 9, 2]


@pytest.mark.parametrize("mask", range(1, 16))
def test_a_write_mask_leaves_the_other_components_alone(mask: int) -> None:
    letters = "".join("xyzw"[c] for c in range(4) if mask >> c & 1)
    found = only_texel(
        "MOV R0, {1, 2, 3, 4};", f"MOV R0.{letters}, {{5, 6, 7, 8}};", "MOV result.color, R0;"
    )
    assert found == [c + 5 if mask >> c & 1 else c + 1 for c in range(4)]


def test_a_masked_result_leaves_the_other_components_alone() -> None:
    assert only_texel("MOV result.color.y, {1, 2, 3, 4};") == [0, 2, 0, 0]


def test_negation_comes_after_the_swizzle_and_covers_all_components() -> None:
    found = only_texel("PARAM p = {1, -2, 3, 0};", "MOV result.color, -p.wyxz;")
    assert_same_bits(np.array(found), np.array([-0.0, 2, -1, -3]))


def test_minus_a_number_is_that_vector_negated() -> None:
    assert only_texel("MOV result.color, -2;") == [-2, -2, -2, -2]


def test_short_vectors_are_filled_with_0_0_1_and_numbers_are_replicated() -> None:
    assert only_texel("MOV result.color, {7};") == [7, 0, 0, 1]
    assert only_texel("MOV result.color, {7, 8};") == [7, 8, 0, 1]
    assert only_texel("MOV result.color, {7, 8, 9};") == [7, 8, 9, 1]
    assert only_texel("MOV result.color, 7;") == [7, 7, 7, 7]


def test_saturation_clamps_what_is_outside_0_to_1_and_nothing_else() -> None:
    found = only_texel("MOV R0, {-0.5, 0.25, 1.5, 1};", "MOV_SAT R1, R0;", "MOV result.color, R1;")
    assert found == [0, 0.25, 1, 1]


def test_saturation_takes_infinities_to_the_ends_and_a_nan_to_0() -> None:
    """The specification leaves NaN open; hardware makes it 0."""
    found = only_texel("MOV_SAT result.color, program.local[0];", local={0: (NAN, INF, -INF, 0.5)})
    assert_same_bits(np.array(found), np.array([0, 1, 0, 0.5]))


def test_saturation_leaves_masked_components_alone() -> None:
    found = only_texel("MOV R0, 5;", "MOV_SAT R0.xz, R0;", "MOV result.color, R0;")
    assert found == [1, 5, 1, 5]


# Arithmetic --------------------------------------------------------------------------------------


def test_a_multiply_add_rounds_twice() -> None:
    """(1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴: the last term is a tie and goes to the even neighbour."""
    a = 1 + 2.0**-12
    c = -(1 + 2.0**-11)
    assert Fraction(a) ** 2 + Fraction(c) == Fraction(1, 2**24)  # what a fused one would give
    assert only_texel("PARAM a = program.local[0];", "MAD result.color, a, a, program.local[1];",
                      local={0: (a,) * 4, 1: (c,) * 4}) == [0, 0, 0, 0]  # fmt: skip


def test_arithmetic_is_float32_not_float64() -> None:
    found = only_texel("ADD result.color, program.local[0], 1;", local={0: (2.0**24,) * 4})
    assert found == [2.0**24] * 4
    tenth = float(np.float32(0.1))
    assert only_texel("MOV result.color, 0.1;") == [tenth] * 4


def test_nan_and_infinity_are_data() -> None:
    found = only_texel(
        "MUL R0, program.local[0], {0, 0, 2, -1};", "ADD result.color, R0, program.local[1];",
        local={0: (NAN, INF, INF, 3.0), 1: (1.0, 1.0, -INF, INF)},
    )  # fmt: skip
    assert_same_bits(np.array(found), np.array([NAN, NAN, NAN, INF]))


def test_denormals_are_kept() -> None:
    found = only_texel("MUL result.color, program.local[0], 0.5;", local={0: (2.0**-140,) * 4})
    assert found == [2.0**-141] * 4


# Parameters, attributes --------------------------------------------------------------------------


def test_parameters_that_a_pass_does_not_give_are_zero() -> None:
    found = only_texel(
        "ADD result.color, program.local[3], program.env[3];", local={1: (1, 1, 1, 1)}
    )
    assert found == [0, 0, 0, 0]


def test_local_and_environment_parameters_are_different_ones() -> None:
    found = only_texel(
        "MAD result.color, program.local[1], 10, program.env[1];",
        local={1: (1, 2, 3, 4)},
        env={1: (5, 6, 7, 8)},
    )
    assert found == [15, 26, 37, 48]


def test_a_coordinate_set_that_a_pass_does_not_give_is_0_0_0_1() -> None:
    assert only_texel("MOV result.color, fragment.texcoord[5];") == [0, 0, 0, 1]


def test_coordinates_are_the_planes_through_their_corner_values() -> None:
    """On a 4×2 rectangle s runs from 0 to 8, t from 1 to 5; r runs down, q along both."""
    four = ((0.0, 1.0, 8.0, 0.0), (8.0, 1.0, 8.0, 4.0), (8.0, 5.0, 4.0, 6.0), (0.0, 5.0, 4.0, 2.0))
    found = draw(
        program("MOV result.color, fragment.texcoord[1];"),
        (4, 2),
        texcoords=[Texcoords(1, four)],
    )
    assert found[0, 0].tolist() == [1, 2, 7, 1]
    assert found[0, 3].tolist() == [7, 2, 7, 4]
    assert found[1, 0].tolist() == [1, 4, 5, 2]
    assert found[1, 3].tolist() == [7, 4, 5, 5]


def test_coordinates_run_over_the_rectangle_not_over_the_texture() -> None:
    rect = Rect(2, 1, 2, 2)
    found = draw(
        program("MOV result.color, fragment.texcoord[0];"),
        (5, 4),
        rect=rect,
        texcoords=[fragment_texcoords(0, rect.width, rect.height)],
    )
    assert found[1, 2, :2].tolist() == [0.5, 0.5]
    assert found[2, 3, :2].tolist() == [1.5, 1.5]
    assert found[0].tolist() == [[0, 0, 0, 0]] * 5, "nothing is drawn outside the rectangle"


def test_the_window_position_counts_from_the_textures_corner() -> None:
    found = draw(program("MOV result.color, fragment.position;"), (4, 4), rect=Rect(1, 2, 2, 1))
    assert found[2, 1].tolist() == [1.5, 2.5, 0.5, 1]
    assert found[2, 2].tolist() == [2.5, 2.5, 0.5, 1]


# Lookups -----------------------------------------------------------------------------------------

LOOK = program("TEX result.color, fragment.texcoord[0], texture[2], RECT;")
AT = program("TEX result.color, program.local[0], texture[0], RECT;")
SMALL = texels([1, 2, 3], [4, 5, 6])


def looked_up(s: float, t: float) -> float:
    found = draw(AT, (1, 1), textures={0: SMALL}, local={0: (s, t, 9.0, 9.0)})
    return float(found[0, 0, 0])


def test_s_runs_along_the_columns_and_t_up_the_rows() -> None:
    found = draw(LOOK, (3, 2), textures={2: SMALL}, texcoords=[fragment_texcoords(0, 3, 2)])
    assert found[..., 0].tolist() == SMALL[..., 0].tolist()


@pytest.mark.parametrize(
    ("coordinate", "column"),
    [
        (0.0, 0), (0.5, 0), (0.999, 0), (1.0, 1), (1.5, 1), (np.nextafter(np.float32(2), 0), 1),
        (2.0, 2), (2.999, 2), (3.0, 2), (3.5, 2), (1e30, 2), (INF, 2),
        (-0.0, 0), (-0.001, 0), (-1.0, 0), (-1e30, 0), (-INF, 0), (NAN, 0),
    ],
)  # fmt: skip
def test_a_lookup_takes_the_floor_and_clamps_to_the_edge(coordinate: float, column: int) -> None:
    assert looked_up(float(coordinate), 0.5) == SMALL[0, column, 0]


@pytest.mark.parametrize(
    ("coordinate", "row"), [(0.5, 0), (1.0, 1), (7.0, 1), (-7.0, 0), (INF, 1), (-INF, 0), (NAN, 0)]
)
def test_rows_are_chosen_the_same_way(coordinate: float, row: int) -> None:
    assert looked_up(1.5, coordinate) == SMALL[row, 1, 0]


def test_channels_that_a_format_lacks_read_as_0_0_1() -> None:
    found = draw(AT, (1, 1), textures={0: SMALL}, local={0: (0.5, 0.5, 0.0, 0.0)})
    assert found[0, 0].tolist() == [1, 0, 0, 1]


def test_all_four_channels_of_rgba_are_read() -> None:
    four = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    found = draw(AT, (1, 1), textures={0: four}, local={0: (1.5, 0.5, 0.0, 0.0)})
    assert found[0, 0].tolist() == [4, 5, 6, 7]


def test_a_lookups_result_goes_through_mask_and_saturation() -> None:
    text = program("MOV R0, 9;", "TEX_SAT R0.yz, program.local[0], texture[0], RECT;",
                   "MOV result.color, R0;")  # fmt: skip
    four = np.array([[[-1, -2, 3, 0.5]]], np.float32)
    assert draw(text, (1, 1), textures={0: four})[0, 0].tolist() == [9, 0, 1, 9]


def test_a_coordinate_is_swizzled_and_negated_like_any_operand() -> None:
    text = program("TEX result.color, -program.local[0].wzyx, texture[0], RECT;")
    found = draw(text, (1, 1), textures={0: SMALL}, local={0: (0.0, 0.0, -1.5, -2.5)})
    assert found[0, 0, 0] == 6


def test_eight_bit_texels_are_read_as_255ths() -> None:
    text = program("TEX result.color, program.local[0], texture[0], RECT;")
    found = draw(text, (1, 1), textures={0: texels([0.2])}, formats={0: UNORM8})
    assert found[0, 0].tolist() == [float(np.float32(51) / np.float32(255)), 0, 0, 1]


def test_a_dependent_lookup_reads_where_the_first_one_says() -> None:
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "TEX result.color, R0, texture[1], RECT;",
    )
    where = np.array([[[2.5, 1.5, 0, 0], [0.5, 0.5, 0, 0], [1.5, 0.5, 0, 0]]], np.float32)
    found = draw(
        text, (3, 1), textures={0: where, 1: SMALL}, texcoords=[fragment_texcoords(0, 3, 1)]
    )
    assert found[0, :, 0].tolist() == [6, 1, 2]


# What stays broadcast, and bands -----------------------------------------------------------------


def storage(values: np.ndarray) -> Storage:
    made = Storage(texture("T", values.shape[1], values.shape[0], R32F))
    made.write(0, (slice(None), slice(None)), values[..., 0])
    return made


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_a_lookup_is_as_broadcast_as_its_coordinates(rows: int, columns: int) -> None:
    s = (np.arange(columns, dtype=np.float32) + 0.5)[None, :]
    t = (np.arange(rows, dtype=np.float32) + 0.5)[:, None]
    found = sample_rect(storage(SMALL), s, t)[0]
    assert found.shape == (rows, columns)
    assert found.tolist() == SMALL[:rows, :columns, 0].tolist()


@pytest.mark.parametrize("columns", [[2, 1, 0], [0, 0, 2], [1], [0, 2], [1, 2], [2, 2]])
def test_columns_are_picked_in_any_order_with_repetitions(columns: list[int]) -> None:
    s = (np.array(columns, np.float32) + 0.5)[None, :]
    found = sample_rect(storage(SMALL), s, np.full((1, 1), 1.5, np.float32))[0]
    assert found.tolist() == [[SMALL[1, c, 0] for c in columns]]


def test_coordinates_that_vary_along_both_axes_pick_texel_by_texel() -> None:
    s = np.array([[0.5, 2.5], [1.5, 0.5]], np.float32)
    t = np.array([[0.5, 1.5], [1.5, 0.5]], np.float32)
    assert sample_rect(storage(SMALL), s, t)[0].tolist() == [[1, 6], [5, 1]]


@pytest.mark.parametrize("blend", list(Blend))
@pytest.mark.parametrize("band", [1, 7, 8, 20, 1000])
def test_bands_change_nothing(monkeypatch: pytest.MonkeyPatch, band: int, blend: Blend) -> None:
    """8 fragments a row: bands of one row, of two, and of all of them."""
    rng = np.random.default_rng(5)
    given = {"T0": rng.random((9, 8, 4), np.float32)}
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "MAD R0, R0, fragment.position.yxyx, fragment.texcoord[1];",
        "MOV result.color, R0;",
    )
    slanted = Texcoords(1, corners((1, 2, 3, 4), (0.5, 0, 0.25, 0), (0.125, 0.5, 0, 0), 8, 9))
    each = FragmentPass(
        text,
        (Binding(0, "T0"),),
        "target",
        Rect(0, 0, 8, 9),
        (fragment_texcoords(0, 8, 9), slanted),
        blend=blend,
    )
    plan = show([each], texture("target", 8, 9, RGBA32F, (1.0, 2.0, 3.0, 4.0)), given)
    whole = carry_out(plan, given)
    monkeypatch.setattr(reference, "BAND_FRAGMENTS", band)
    assert_same_bits(carry_out(plan, given), whole)
    x, y = np.arange(8) + 0.5, np.arange(9) + 0.5
    red = given["T0"][..., 0] * y[:, None] + (1 + 0.5 * x[None, :] + 0.125 * y[:, None])
    np.testing.assert_allclose(whole[..., 0], red + (1 if blend is Blend.ADD else 0), rtol=1e-6)


# Storing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (0.0, 0), (1.0, 255), (-1.0, 0), (2.0, 255), (0.5, 128), (0.4999, 127), (1 / 255, 1),
        (0.49 / 255, 0), (0.51 / 255, 1), (INF, 255), (-INF, 0), (NAN, 0),
    ],
)  # fmt: skip
def test_eight_bits_clamp_and_round_to_nearest(value: float, stored: int) -> None:
    found = draw(
        program("MOV result.color, program.local[0];"),
        (1, 1),
        local={0: (value,) * 4},
        target=UNORM8,
    )
    assert found[0, 0, 0] == np.float32(stored) / np.float32(255)


def test_eight_bit_blending_saturates() -> None:
    text = program("MOV result.color, 0.4;")
    found = draw(text, (1, 1), target=UNORM8, initial=(0.9, 0, 0, 0), blend=Blend.ADD)
    assert found[0, 0, 0] == 1.0
    found = draw(text, (1, 1), target=UNORM8, initial=(0.2, 0, 0, 0), blend=Blend.ADD)
    assert found[0, 0, 0] == np.float32(51 + 102) / np.float32(255)


def test_float_blending_adds_in_float32_without_clamping() -> None:
    found = draw(
        program("MOV result.color, {-5, 1, 16777216, 0.5};"),
        (1, 1),
        initial=(2.0, 3.0, 1.0, -8.0),
        blend=Blend.ADD,
    )
    assert found[0, 0].tolist() == [-3, 4, 16777216, -7.5]


# Random programs ---------------------------------------------------------------------------------


def test_the_scalar_interpreter_knows_every_opcode() -> None:
    """A new row of the table needs its meaning written here a second time, from the spec."""
    assert scalar_machine.known() == set(OPCODES)


@given(scenes())
@settings(max_examples=80)
def test_random_programs_agree_with_a_naive_interpreter(scene: Scene) -> None:
    text = assemble(scene.text, name="random.fp")
    found = draw(
        text,
        scene.size,
        rect=scene.rect,
        textures=scene.textures,
        texcoords=scene.texcoords,
        local=scene.local,
        env=scene.env,
    )
    # Adding 0 makes a negative zero positive: its sign is not pinned where _SAT clamps it.
    assert_same_bits(found + np.float32(0), scalar_machine.run(text, scene) + np.float32(0))
