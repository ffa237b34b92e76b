"""What a pass gives a program, against the GL driver: textures, attributes, state, fog, targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from departures import driver_of
from drawing import F32, Image, corners, draw, program
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.program import AttributeKind, Fog, Program, Vec4
from gpgpu_legacy.isa.state import canonical_state
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.plan import AttributeCorners, Corners, Texcoords
from gpgpu_legacy.plan.textures import (
    FORMATS,
    REPEATING,
    RGBA8,
    RGBA32F,
    Filter,
    Format,
    Numeric,
    Rect,
    Sampler,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.executor import Executor

pytestmark = pytest.mark.gl

Ready = Callable[[str], Executor]


@pytest.fixture(scope="module")
def driver(ready: Ready) -> Executor:
    return ready("gl-arbfp")


def show(value: str, *options: str) -> Program:
    lines = [f"OPTION {option};" for option in options]
    return assemble("\n".join(["!!ARBfp1.0", *lines, f"MOV result.color, {value};", "END", ""]))


def both(driver: Executor, *args: Any, **more: Any) -> tuple[F32, F32]:
    """What the reference machine draws, and the driver."""
    return draw(*args, **more), draw(*args, **more, executor=driver)


def flat(*values: float) -> Corners:
    """Corner values that are the same at all four corners."""
    x, y, z, w = values
    return ((x, y, z, w),) * 4


# Textures: every target × filter × wraps --------------------------------------------------------

PLAIN = (Filter.NEAREST, Filter.LINEAR)
SIDE = 24  # fragments of a picture of lookups
DEPTHS = {TextureKind.T3D: 3, TextureKind.CUBE: 6}
SHAPES = {
    TextureKind.RECT: (4, 6),
    TextureKind.T1D: (1, 8),
    TextureKind.T2D: (4, 8),
    TextureKind.T3D: (4, 2),
    TextureKind.CUBE: (4, 4),
}


def random_numbers() -> np.random.Generator:
    return np.random.default_rng(8)


def image(kind: TextureKind, sampler: Sampler, channels: int = 4) -> Image:
    """Random texels of that kind, multiples of 1/16 from -4 to 4."""
    height, width = SHAPES[kind]
    depth = DEPTHS.get(kind, 1)
    texels = random_numbers().integers(-64, 64, (height * depth, width, channels)) / 16
    return Image(texels.astype(np.float32), kind, depth, sampler)


def around(kind: TextureKind, w: float = 1.0) -> Texcoords:
    """Coordinates that run from outside the texture through it and out again; q is w."""
    height, width = SHAPES[kind] if kind is TextureKind.RECT else (1, 1)
    low = (-1.26 * width * w, -1.37 * height * w, -1.18 * w, w)
    slopes = (3.61 * width * w / SIDE, 3.53 * height * w / SIDE)
    dx, dy = (slopes[0], 0.0, 3.3 * w / SIDE, 0.0), (0.0, slopes[1], 0.0, 0.0)
    return Texcoords(0, corners(low, dx, dy, SIDE, SIDE))


@st.composite
def samplers(draw: st.DrawFn) -> tuple[TextureKind, Sampler]:
    """A kind of texture, with any sampler that it may have."""
    kind, how = draw(st.sampled_from(list(SHAPES))), draw(st.sampled_from(PLAIN))
    wraps = [wrap for wrap in Wrap if kind is not TextureKind.RECT or wrap not in REPEATING]
    border = (0.5, -2.0, 1.0, 0.25)
    return kind, Sampler(how, *(draw(st.sampled_from(wraps)) for _ in range(3)), border=border)


LOOKUPS = {"TEX": 1.0, "TXP": 2.0, "TXB": -0.5}  # with the fourth coordinate that each is given


@settings(max_examples=40)
@given(samplers())
def test_every_target_filter_and_wrap(
    driver: Executor, looked_up: tuple[TextureKind, Sampler]
) -> None:
    kind, sampler = looked_up
    texels = image(kind, sampler)
    for mnemonic, w in LOOKUPS.items():
        text = program(f"{mnemonic} result.color, fragment.texcoord[0], texture[2], {kind.value};")
        coordinates = around(kind, w if mnemonic == "TXP" else 1.0)
        expected, found = both(
            driver, text, (SIDE, SIDE), textures={2: texels}, texcoords=[coordinates]
        )
        assert_alike(found, expected, sampler.filter)


def assert_alike(found: F32, expected: F32, how: Filter) -> None:
    """Equal where a texel is taken as it is; where it is filtered, within 2^-7 of the range of 8.

    GL leaves the precision of the weights open: hardware keeps 8 bits of each. llvmpipe computes
    them in float32, and was never further off than 4e-5.
    """
    if how is Filter.NEAREST:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=8 * 2.0**-7)


def test_cube_maps_in_all_directions(driver: Executor) -> None:
    """Each face is met from all sides, at lengths other than 1; seams are not filtered across."""
    directions = random_numbers().normal(0, 3, (SIDE, SIDE, 4)).astype(np.float32)
    text = program(
        "TEX R0, fragment.position, texture[0], RECT;",
        "TEX result.color, R0, texture[1], CUBE;",
    )
    for how in PLAIN:
        texels = image(TextureKind.CUBE, Sampler(how))
        expected, found = both(driver, text, (SIDE, SIDE), textures={0: directions, 1: texels})
        assert_alike(found, expected, how)


@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS)
def test_every_format_looked_up_and_drawn_to(driver: Executor, texel_format: Format) -> None:
    """What a format stores of a number, and what the channels read as that it lacks."""
    channels, is_float = texel_format.channels, texel_format.numeric is Numeric.FLOAT
    values = random_numbers().normal(0, 1, (6, 8, channels)).astype(np.float32)
    values[0, 0], values[0, 1], values[0, 2] = 2.0, -0.75, 1.0
    values[1, 0], values[1, 1], values[1, 2] = 60000.0, -1e-4, 3e-6
    if texel_format.name.startswith("depth"):  # GL 1.5, 3.8.1: depths are clamped to [0, 1]
        values = np.clip(values, 0.0, 1.0)
    look = program("TEX result.color, fragment.position, texture[0], RECT;")
    expected, found = both(driver, look, (8, 6), textures={0: Image(values, format=texel_format)})
    np.testing.assert_allclose(found, expected, rtol=0 if is_float else 2.0**-23, atol=0)
    if texel_format.is_drawn_to:
        floats = Image(values, format=FORMATS[f"{'rgba'[:channels]}32f"])
        expected, found = both(driver, look, (8, 6), textures={0: floats}, target=texel_format)
        np.testing.assert_allclose(found, expected, **WRITTEN[texel_format.bits_per_channel])


# GL leaves open how a colour is rounded to 16 bits: llvmpipe cuts it off. To 8 bits it is rounded
# to one of the two nearest of 256 values (departures.py), and an H100 now and then gives the lower.
WRITTEN: dict[int, dict[str, float]] = {
    8: {"rtol": 0, "atol": 1.01 / 255},
    16: {"rtol": 2.0**-10, "atol": 2.0**-24},
    32: {"rtol": 0, "atol": 0},
}


# Attributes -------------------------------------------------------------------------------------

ATTRIBUTES = {
    "fragment.color": AttributeKind.COLOR,
    "fragment.color.primary": AttributeKind.COLOR,
    "fragment.color.secondary": AttributeKind.SECONDARY_COLOR,
    "fragment.fogcoord": AttributeKind.FOGCOORD,
}


@pytest.mark.parametrize("value", ATTRIBUTES)
def test_attributes_are_interpolated_and_not_clamped(driver: Executor, value: str) -> None:
    base, dx, dy = (-2.0, 0.25, 3.0, 0.5), (0.5, 0.0, -1.0, 0.25), (0.0, 2.0, -0.5, 0.25)
    given = AttributeCorners(ATTRIBUTES[value], corners(base, dx, dy, 4, 3))
    expected, found = both(driver, show(value), attributes=[given])
    largest = np.abs(np.array(given.corners, np.float64)).max(axis=0)
    assert np.all(np.abs(found - expected) <= driver_of(driver).interpolation * largest)
    assert expected[1, 2, 0] == -2.0 + 0.5 * 2.5
    default = [1, 1, 1, 1] if ATTRIBUTES[value] is AttributeKind.COLOR else [0, 0, 0, 1]
    for found in both(driver, show(value)):
        assert found[0, 0].tolist() == default


def test_corner_values_that_are_not_planar(driver: Executor) -> None:
    """Two triangles, split from (0, 0) to (W, H)."""
    four = ((0.0, 0.0), (1.0, 0.0), (4.0, 8.0), (2.0, 0.0))
    given = Texcoords(5, tuple((x, y, 1.0, 1.0) for x, y in four))  # type: ignore[arg-type]
    for size in ((4, 4), (8, 2), (2, 8)):
        expected, found = both(driver, show("fragment.texcoord[5]"), size, texcoords=[given])
        np.testing.assert_array_equal(found, expected)
        if size == (4, 4):
            assert found[0, :, 0].tolist() == [0.5, 0.75, 1.0, 1.25]
            assert found[:, 0, 0].tolist() == [0.5, 1.0, 1.5, 2.0]
            assert found[3, 3, 1] == 7.0


def test_position_within_a_larger_target(driver: Executor) -> None:
    expected, found = both(driver, show("fragment.position"), (6, 5), rect=Rect(2, 1, 3, 4))
    np.testing.assert_array_equal(found, expected)
    assert found[2, 3].tolist() == [3.5, 2.5, 0.5, 1.0]


# State ------------------------------------------------------------------------------------------

COLOR: Vec4 = (0.125, -2.0, 3.5, 0.75)
MATRIX = [[1, 2, 0, 4], [0, 2, 1, 0], [0, 0, 4, -1], [0, 0, 0, 1]]


def test_matrices_move_neither_vertices_nor_coordinates(driver: Executor) -> None:
    names = ("modelview", "projection", "texture[0]")
    given = canonical_state({f"matrix.{name}": MATRIX for name in names})
    coordinates = Texcoords(0, corners((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), 4, 3))
    text = program("MUL result.color, fragment.texcoord[0], state.matrix.modelview.row[0];")
    expected, found = both(driver, text, state=given, texcoords=[coordinates])
    np.testing.assert_array_equal(found, expected)
    assert found[2, 3].tolist() == [3.5, 5.0, 0.0, 4.0]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"light[0].half": COLOR}, r"cannot set state\.light\[0\]\.half, which OpenGL derives"),
        ({"matrix.mvp": MATRIX}, r"cannot set state\.matrix\.mvp\.row\[0\]"),
        ({"matrix.modelview[1]": MATRIX}, r"cannot set state\.matrix\.modelview\[1\]\.row\[0\]"),
        ({"matrix.program[0].inverse": MATRIX}, r"cannot set state\.matrix\.program\[0\]\.inverse"),
        ({"light[99].ambient": COLOR}, r"refuses state\.light\[99\]\.ambient .*GL error 0x500"),
        ({"material.shininess": 200}, r"refuses state\.material\.front\.shininess"),
        ({"depth.range": (-1.0, 1.0)}, r"state\.depth\.range .* clamps both to \[0, 1\]"),
    ],
)
def test_state_that_cannot_be_set(
    driver: Executor, wanted: Mapping[str, object], message: str
) -> None:
    state = canonical_state(wanted)
    with pytest.raises(PlanError, match=message) as raised:
        draw(show("state.fog.color"), state=state, executor=driver)
    assert "\n" not in str(raised.value)
    found = draw(show("state.matrix.modelview.row[0]"), executor=driver)
    assert found[0, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


# Fog, several targets, discarding ---------------------------------------------------------------


@pytest.mark.parametrize("mode", Fog, ids=lambda mode: mode.value)
@pytest.mark.parametrize("target", [RGBA32F, RGBA8], ids=lambda f: f.name)
def test_fog(driver: Executor, mode: Fog, target: Format) -> None:
    """The factor at f = 0, 1.5 and in between; colours lie in [0, 1], alpha stays.

    OpenGL 2.1, section 3.10: "c is the interpolated value of the fog coordinate for this fragment".
    Some drivers take its magnitude.
    """
    state = canonical_state({"fog.color": (0.25, 0.75, 1.0, 0.0), "fog.params": (1.5, 0.5, 1.5)})
    text = show("{1, 0.5, 0.125, 0.625}", mode.value)
    tolerance = {"rtol": 0, "atol": 1e-6} if target is RGBA32F else WRITTEN[8]

    def drawn(sign: int, executor: Executor | None) -> F32:
        """The fragments' coordinates are -0.375, -0.125, 0.125 and so on, or their negatives."""
        plane = corners((-0.5 * sign, 0, 0, 1), (0.25 * sign, 0, 0, 0), (0, 0, 0, 0), 12, 1)
        coordinate = AttributeCorners(AttributeKind.FOGCOORD, plane)
        given: Any = {"attributes": [coordinate], "state": state, "target": target}
        return draw(text, (12, 1), executor=executor, **given)

    expected, found = (drawn(1, each) for each in (None, driver))
    np.testing.assert_allclose(found[:, 2:], expected[:, 2:], **tolerance)
    of_magnitudes = driver_of(driver).fog_of_magnitudes
    before = drawn(-1, None) if of_magnitudes else expected
    np.testing.assert_allclose(found[:, :2], before[:, :2], **tolerance)
    np.testing.assert_allclose(*both(driver, text, target=target), **tolerance)


def test_fog_on_colours_outside_0_to_1(driver: Executor) -> None:
    """Fog is applied to "the program's final clamped color" (3.11.4.5.1), on a float target too."""
    state = canonical_state({"fog.color": (0, 2, 1, 0), "fog.params": (1, 0.5, 1.5)})
    coordinate = AttributeCorners(AttributeKind.FOGCOORD, flat(0.75, 0.0, 0.0, 1.0))
    text = show("{2, -1, 0.5, 4}", Fog.LINEAR.value)
    drawn = both(driver, text, (1, 1), attributes=[coordinate], state=state)
    specified, found = (texels[0, 0].tolist() for texels in drawn)
    assert specified == [0.75, 0.25 * 2, 0.75 * 0.5 + 0.25, 1.0]
    # Some do not clamp where GL_ARB_color_buffer_float has switched clamping off, as NVIDIA's.
    assert found in (specified, [0.75 * 2, 0.25 * 2 - 0.75, 0.75 * 0.5 + 0.25, 4.0])
