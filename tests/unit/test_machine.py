from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scalar_machine
from drawing import (
    assert_same_bits,
    corners,
    draw,
    execute,
    fragment_texcoords,
    program,
    show,
    texture,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY_FLOAT, SMALL_NUMBER, Scene, draw_scene, vec4, whole_scenes

from gpgpu_legacy.interp import machine as reference
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP16, FP32, FX12, RC9, Arithmetic
from gpgpu_legacy.isa.opcodes import ARBFP, Form, OperandKind
from gpgpu_legacy.isa.program import AttributeKind, Fog, Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.plan import AttributeCorners, Binding, FragmentPass, Texcoords
from gpgpu_legacy.plan.textures import RGBA32F, UNORM8, Rect
from gpgpu_legacy.runtime.machine import Machine

NAN, INF = float("nan"), float("inf")


def texels(*rows: list[float]) -> np.ndarray:
    """A single-channel texture, row 0 first."""
    return np.array(rows, np.float32)[..., None]


def only_texel(*lines: str, **given: object) -> list[float]:
    return draw(program(*lines), (1, 1), **given)[0, 0].tolist()  # type: ignore[arg-type]


# Operands and results ----------------------------------------------------------------------------


def test_saturation_takes_infinities_to_the_ends_and_a_nan_to_0() -> None:
    """The specification leaves NaN open; hardware makes it 0."""
    result = only_texel("MOV_SAT result.color, program.local[0];", local={0: (NAN, INF, -INF, 0.5)})
    assert_same_bits(np.array(result), np.array([0, 1, 0, 0.5]))


# What stays broadcast, and bands -----------------------------------------------------------------


@pytest.mark.parametrize("blend", [None, ADD])
@pytest.mark.parametrize("band", [1, 7, 8, 20, 1000])
def test_bands_change_nothing(
    monkeypatch: pytest.MonkeyPatch, band: int, blend: Blend | None
) -> None:
    """8 fragments a row: bands of one row, of two, and of all of them."""
    rng = np.random.default_rng(5)
    given = {"T0": rng.random((9, 8, 4), np.float32)}
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "MAD R0, R0, fragment.position.yxyx, fragment.texcoord[1];",
        "MOV result.color, R0;",
    )
    slanted = Texcoords(1, corners((1, 2, 3, 4), (0.5, 0, 0.25, 0), (0.125, 0.5, 0, 0), 8, 9))
    pass_ = FragmentPass(
        text,
        (Binding(0, "T0"),),
        ("target",),
        Rect(0, 0, 8, 9),
        (fragment_texcoords(0, 8, 9), slanted),
        blend=blend,
    )
    plan = show([pass_], texture("target", 8, 9, RGBA32F, (1.0, 2.0, 3.0, 4.0)), given)
    whole = execute(plan, given)
    monkeypatch.setattr(reference, "BAND_FRAGMENTS", band)
    assert_same_bits(execute(plan, given), whole)
    x, y = np.arange(8) + 0.5, np.arange(9) + 0.5
    red = given["T0"][..., 0] * y[:, None] + (1 + 0.5 * x[None, :] + 0.125 * y[:, None])
    np.testing.assert_allclose(whole[..., 0], red + (1 if blend == ADD else 0), rtol=1e-6)


# Storing -----------------------------------------------------------------------------------------


def test_eight_bit_blending_saturates() -> None:
    text = program("MOV result.color, 0.4;")
    result = draw(text, (1, 1), target=UNORM8, initial=(0.9, 0, 0, 0), blend=ADD)
    assert result[0, 0, 0] == 1.0
    result = draw(text, (1, 1), target=UNORM8, initial=(0.2, 0, 0, 0), blend=ADD)
    assert result[0, 0, 0] == np.float32(51 + 102) / np.float32(255)


# Other arithmetics -------------------------------------------------------------------------------


def drawn_in(arithmetic: Arithmetic, text: Program, **given: object) -> list[float]:
    machine = Machine(True, arithmetic)
    return draw(text, (1, 1), machine=machine, **given)[0, 0].tolist()  # type: ignore[arg-type]


def test_every_result_is_rounded_once() -> None:
    """In half precision 2048 + 1 is 2048; a multiply-add is not rounded in between."""
    sums = program("ADD R0, program.local[0], 1;", "ADD result.color, R0, 1;")
    assert drawn_in(FP16, sums, local={0: (2048.0, 2046.0, 2050.0, 0.0)}) == [2048, 2048, 2052, 2]
    tiny = 2.0**-10
    product = program("MAD result.color, program.local[0], program.local[0], program.local[1];")
    local = {0: (1 + tiny,) * 4, 1: (-1 - 2 * tiny,) * 4}
    assert drawn_in(FP16, product, local=local) == [tiny**2] * 4
    assert drawn_in(FP32, product, local=local) == [tiny**2] * 4


def test_what_is_read_is_rounded() -> None:
    third = (1 / 3,) * 4
    as_half = float(np.float16(1 / 3))
    for source in ("program.local[0]", "fragment.texcoord[1]", "fragment.color", "0.33333334"):
        result = drawn_in(
            FP16,
            program(f"SUB R0, {source}, 0;", "MOV result.color, R0;"),
            local={0: third},
            texcoords=[Texcoords(1, (third,) * 4)],
            attributes=[AttributeCorners(AttributeKind.COLOR, (third,) * 4)],
        )
        assert result == [as_half] * 4
    image = np.full((1, 1, 4), 1 / 3, np.float32)
    look = program("TEX result.color, 0, texture[0], RECT;")
    assert drawn_in(FP16, look, textures={0: image}) == [as_half] * 4


def test_an_interpolated_coordinate_goes_to_its_lookup_unrounded() -> None:
    """In fixed point no number is larger than 2, but the texture is wider."""
    wide = np.arange(40, dtype=np.float32).reshape(1, 40, 1) / 64
    there = [Texcoords(0, ((37.5, 0.5, 0.0, 1.0),) * 4)]
    straight = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")
    computed = program("MOV R0, fragment.texcoord[0];", "TEX result.color, R0, texture[0], RECT;")
    assert drawn_in(FX12, straight, textures={0: wide}, texcoords=there)[0] == 37 / 64
    assert drawn_in(FX12, computed, textures={0: wide}, texcoords=there)[0] == 1 / 64


def test_saturation_comes_after_rounding() -> None:
    assert drawn_in(RC9, program("MOV_SAT result.color, {0.5, 3, -2, 0.25};")) == [
        float(np.float32(v / 255)) for v in (128, 255, 0, 64)
    ]


@pytest.mark.parametrize("row", ARITHMETICS.values(), ids=lambda row: row.name)
def test_every_opcode_gives_numbers_of_the_arithmetic(row: Arithmetic) -> None:
    for name, opcode in ARBFP.items():
        if opcode.form in (Form.KILL, Form.SAMPLE) or OperandKind.EXTENDED_SWIZZLE in opcode.shape:
            continue
        scalar = OperandKind.SCALAR in opcode.shape
        sources = ", ".join(
            f"program.local[{n}]{'.x' * scalar}" for n in range(len(opcode.shape) - 1)
        )
        result = drawn_in(
            row,
            program(f"{name} result.color, {sources};"),
            local={0: (0.3, 0.7, 0.1, 0.9), 1: (0.2, 0.6, 0.4, 0.8), 2: (0.9, 0.1, 0.3, 0.5)},
        )
        assert row.round(np.array(result)).tolist() == result, name


# Random programs ---------------------------------------------------------------------------------


EXACT = sorted(set(ARBFP) - scalar_machine.APPROXIMATE)


def drawn_and_expected(scene: Scene) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What the machine draws, and what a scalar one does.

    Adding 0 makes a -0 positive: _SAT leaves the sign of zero open.
    """
    text = assemble(scene.text, name="random.fp")
    drawn = draw_scene(scene, text), scalar_machine.run_all(text, scene)
    return ((one + np.float32(0), other + np.float32(0)) for one, other in zip(*drawn, strict=True))


@given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER | ANY_FLOAT, EXACT))
@settings(max_examples=40)
def test_random_programs_of_the_whole_language_agree_with_it(scene: Scene) -> None:
    for result, expected in drawn_and_expected(scene):
        assert_same_bits(result, expected)


LOOKUPS = sorted(name for name, row in ARBFP.items() if row.form is Form.SAMPLE)


@given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER, LOOKUPS, most=2))
@settings(max_examples=30)
def test_random_lookups_agree_with_it(scene: Scene) -> None:
    for result, expected in drawn_and_expected(scene):
        assert_same_bits(result, expected)


@given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER, sorted(scalar_machine.APPROXIMATE), most=1))
@settings(max_examples=25)
def test_random_approximations_agree_with_it_closely(scene: Scene) -> None:
    for result, expected in drawn_and_expected(scene):
        np.testing.assert_allclose(result, expected, rtol=2e-6, atol=2e-7)


@given(
    st.sampled_from(Fog).flatmap(
        lambda mode: whole_scenes(
            SMALL_NUMBER, SMALL_NUMBER, ["MOV", "KIL"], most=2, options=[mode.value]
        )
    ),
    vec4(SMALL_NUMBER).filter(lambda params: params[1] != params[2]),
)
@settings(max_examples=15)
def test_random_fog_agrees_with_it_closely(scene: Scene, params: Vec4) -> None:
    scene = replace(scene, state={**scene.state, "state.fog.params": params})
    for result, expected in drawn_and_expected(scene):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
