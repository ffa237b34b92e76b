"""What a pass gives a program, against the GL driver: textures, attributes, state, fog, targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from departures import driver_of
from drawing import F32, Image, corners, draw, draw_all, program

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32
from gpgpu_legacy.isa.ir import AttributeKind, Fog, Program, Vec4
from gpgpu_legacy.isa.state import canonical_state
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import FORMATS, RGBA8, RGBA16F, RGBA32F, UNORM8, Format, Numeric
from gpgpu_legacy.plan.plan import AttributeCorners, Corners, Texcoords
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, TextureKind, Wrap
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl_arbfp_resources import program_resources
from gpgpu_legacy.runtime.machine import Machine

pytestmark = pytest.mark.gl

Ready = Callable[[str], Executor]


@pytest.fixture(scope="module")
def driver(ready: Ready) -> Executor:
    return ready("gl-arbfp")


def show(value: str, *options: str) -> Program:
    lines = [f"OPTION {option};" for option in options]
    return assemble("\n".join(["!!ARBfp1.0", *lines, f"MOV result.color, {value};", "END", ""]))


def flat(*values: float) -> Corners:
    """Corner values that are the same at all four corners."""
    x, y, z, w = values
    return ((x, y, z, w),) * 4


# Textures: every target × filter × wraps --------------------------------------------------------

SIDE = 24  # fragments of a picture of lookups
DEPTHS = {TextureKind.T3D: 3, TextureKind.CUBE: 6}
SHAPES = {
    TextureKind.RECT: (4, 6),
    TextureKind.T1D: (1, 8),
    TextureKind.T2D: (4, 8),
    TextureKind.T3D: (4, 2),
    TextureKind.CUBE: (4, 4),
}
KINDS = list(SHAPES)


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


def samplers(kind: TextureKind) -> list[Sampler]:
    """Every filter with every wrap of each coordinate that the kind has.

    Of a 3D texture's third coordinate, every wrap with every one of the other two alike.
    """
    across = [wrap for wrap in Wrap if kind is not TextureKind.RECT or wrap is not Wrap.REPEAT]
    edge = Wrap.CLAMP_TO_EDGE
    wraps = {
        TextureKind.CUBE: [(edge, edge, edge)],
        TextureKind.T1D: [(s, edge, edge) for s in across],
        TextureKind.T3D: [(s, t, r) for s, t, r in product(across, repeat=3) if s is t or t is r],
    }.get(kind, [(s, t, edge) for s, t in product(across, repeat=2)])
    return [Sampler(how, *each) for how in Filter for each in wraps]


def described(value: object) -> str:
    if isinstance(value, Sampler):
        wraps = (value.wrap_s, value.wrap_t, value.wrap_r)
        return "-".join([value.filter.value, *(wrap.value for wrap in wraps)])
    return value.value if isinstance(value, TextureKind) else ""


SAMPLERS = [(kind, sampler) for kind in KINDS for sampler in samplers(kind)]
LOOKUPS = {"TEX": 1.0, "TXP": 2.0, "TXB": -0.5}  # with the fourth coordinate that each is given


@pytest.mark.parametrize(("kind", "sampler"), SAMPLERS, ids=described)
def test_every_target_filter_and_wrap(
    driver: Executor, kind: TextureKind, sampler: Sampler
) -> None:
    texels = image(kind, sampler)
    for mnemonic, w in LOOKUPS.items():
        text = program(f"{mnemonic} result.color, fragment.texcoord[0], texture[2], {kind.value};")
        coordinates = around(kind, w if mnemonic == "TXP" else 1.0)
        expected, found = (
            draw(text, (SIDE, SIDE), textures={2: texels}, texcoords=[coordinates], executor=each)
            for each in (None, driver)
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
    for how in Filter:
        texels = image(TextureKind.CUBE, Sampler(how))
        expected, found = (
            draw(text, (SIDE, SIDE), textures={0: directions, 1: texels}, executor=each)
            for each in (None, driver)
        )
        assert_alike(found, expected, how)


@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=lambda f: f.name)
def test_every_format_looked_up_and_drawn_to(driver: Executor, texel_format: Format) -> None:
    """What a format stores of a number, and what the channels read as that it lacks."""
    channels, is_float = texel_format.channels, texel_format.numeric is Numeric.FLOAT
    values = random_numbers().normal(0, 1, (6, 8, channels)).astype(np.float32)
    values[0, 0], values[0, 1], values[0, 2] = 2.0, -0.75, 1.0
    values[1, 0], values[1, 1], values[1, 2] = 60000.0, -1e-4, 3e-6
    look = program("TEX result.color, fragment.position, texture[0], RECT;")
    expected, found = (
        draw(look, (8, 6), textures={0: Image(values, format=texel_format)}, executor=each)
        for each in (None, driver)
    )
    np.testing.assert_allclose(found, expected, rtol=0 if is_float else 2.0**-23, atol=0)
    expected, found = (
        draw(look, (8, 6), textures={0: Image(values)}, target=texel_format, executor=each)
        for each in (None, driver)
    )
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
    expected, found = (
        draw(show(value), attributes=[given], executor=each) for each in (None, driver)
    )
    largest = np.abs(np.array(given.corners, np.float64)).max(axis=0)
    assert np.all(np.abs(found - expected) <= driver_of(driver).interpolation * largest)
    assert expected[1, 2, 0] == -2.0 + 0.5 * 2.5
    defaults = [draw(show(value), executor=each)[0, 0].tolist() for each in (None, driver)]
    white, black = [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    assert defaults == [white if ATTRIBUTES[value] is AttributeKind.COLOR else black] * 2


def test_corner_values_that_are_not_planar(driver: Executor) -> None:
    """Two triangles, split from (0, 0) to (W, H)."""
    values = (
        (0.0, 0.0, 1.0, 1.0),
        (1.0, 0.0, 1.0, 1.0),
        (4.0, 8.0, 1.0, 1.0),
        (2.0, 0.0, 1.0, 1.0),
    )
    given = Texcoords(5, values)
    found = draw(show("fragment.texcoord[5]"), (4, 4), texcoords=[given], executor=driver)
    assert found[0, :, 0].tolist() == [0.5, 0.75, 1.0, 1.25]
    assert found[:, 0, 0].tolist() == [0.5, 1.0, 1.5, 2.0]
    assert found[3, 3, 1] == 7.0
    for size in ((4, 4), (8, 2), (2, 8)):
        expected, found = (
            draw(show("fragment.texcoord[5]"), size, texcoords=[given], executor=each)
            for each in (None, driver)
        )
        np.testing.assert_array_equal(found, expected)


def test_position_within_a_larger_target(driver: Executor) -> None:
    expected, found = (
        draw(show("fragment.position"), (6, 5), rect=Rect(2, 1, 3, 4), executor=each)
        for each in (None, driver)
    )
    np.testing.assert_array_equal(found, expected)
    assert found[2, 3].tolist() == [3.5, 2.5, 0.5, 1.0]


# State ------------------------------------------------------------------------------------------

COLOR: Vec4 = (0.125, -2.0, 3.5, 0.75)
MATRIX = [[1, 2, 0, 4], [0, 2, 1, 0], [0, 0, 4, -1], [0, 0, 0, 1]]
PROJECTION = [[2, 0, 0, 1], [0, 4, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]]
STATES: dict[str, Mapping[str, object]] = {
    **{
        f"state.material.{face}.{name}": {f"material.{face}.{name}": COLOR}
        for face in ("front", "back")
        for name in ("ambient", "diffuse", "specular", "emission")
    },
    "state.material.shininess": {"material.shininess": 12.5},
    "state.material.back.shininess": {"material.back.shininess": 3.0},
    **{
        f"state.light[{n}].{name}": {f"light[{n}].{name}": COLOR, "matrix.modelview": MATRIX}
        for n in (0, 1, 7)
        for name in ("ambient", "diffuse", "specular", "position")
    },
    "state.light[2].attenuation": {"light[2].attenuation": (0.5, 0.25, 2.0, 3.5)},
    "state.light[2].spot.direction": {"light[2].spot.direction": (0.5, -2.0, 1.0, 0.5)},
    "state.light[1].half": {"light[1].position": (1.0, 2.0, 3.0, 0.0)},
    "state.lightmodel.ambient": {"lightmodel.ambient": COLOR},
    **{
        f"state.lightmodel.{face}.scenecolor": {
            "lightmodel.ambient": (0.5, 2.0, 1.0, 0.25),
            f"material.{face}.ambient": COLOR,
            f"material.{face}.emission": (1.0, 1.0, 2.0, 0.5),
            f"material.{face}.diffuse": (9.0, 9.0, 9.0, 0.125),
        }
        for face in ("front", "back")
    },
    **{
        f"state.lightprod[3].{face}.{name}": {
            f"material.{face}.{name}": COLOR,
            f"light[3].{name}": (0.5, 2.0, 1.0, 0.25),
        }
        for face in ("front", "back")
        for name in ("ambient", "diffuse", "specular")
    },
    "state.texenv.color": {"texenv.color": COLOR},
    "state.texenv[3].color": {"texenv[3].color": COLOR},
    "state.fog.color": {"fog.color": COLOR},
    "state.fog.params": {"fog.params": (0.5, 2.0, 6.0, 0.0)},
    "state.depth.range": {"depth.range": (0.25, 0.75)},
    **{
        f"state.matrix.{name}{modifier}.row[{row}]": {f"matrix.{name}": MATRIX}
        for name in ("modelview", "projection", "texture[2]", "program[7]")
        for modifier in ("", ".inverse", ".transpose", ".invtrans")
        for row in (0, 3)
    },
    **{
        f"state.matrix.mvp{modifier}.row[{row}]": {
            "matrix.modelview": MATRIX,
            "matrix.projection": PROJECTION,
        }
        for modifier in ("", ".inverse", ".transpose", ".invtrans")
        for row in range(4)
    },
}
# Mesa's half-angle vector of a light that was never set is (0, 0, 0, 0) and not (0, 0, 1, 1), the
# cosine of the initial cutoff angle, 180 degrees, 0 and not -1.
DIFFER_AT_FIRST = {"state.light[1].half", "state.light[2].spot.direction"}


@pytest.mark.parametrize("binding", STATES)
def test_state_that_a_pass_gives(driver: Executor, binding: str) -> None:
    """First, second with values, third without: a pass leaves no state behind."""
    text = show(binding)
    given = canonical_state(STATES[binding])
    expected, found = (draw(text, state=given, executor=each) for each in (None, driver))
    rtol = driver_of(driver).normalised if binding.endswith("half") else 3e-7
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-7)
    if binding not in DIFFER_AT_FIRST:
        expected, found = (draw(text, executor=each) for each in (None, driver))
        np.testing.assert_array_equal(found, expected)


def test_matrices_move_neither_vertices_nor_coordinates(driver: Executor) -> None:
    names = ("modelview", "projection", "texture[0]")
    given = canonical_state({f"matrix.{name}": MATRIX for name in names})
    coordinates = Texcoords(0, corners((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), 4, 3))
    text = program("MUL result.color, fragment.texcoord[0], state.matrix.modelview.row[0];")
    expected, found = (
        draw(text, state=given, texcoords=[coordinates], executor=each) for each in (None, driver)
    )
    np.testing.assert_array_equal(found, expected)
    assert found[2, 3].tolist() == [3.5, 5.0, 0.0, 4.0]


@pytest.mark.parametrize(
    ("given", "message"),
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
    driver: Executor, given: Mapping[str, object], message: str
) -> None:
    state = canonical_state(given)
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
    default = [draw(text, target=target, executor=each)[0, 0] for each in (None, driver)]
    np.testing.assert_allclose(*default, **tolerance)


def test_fog_on_colours_outside_0_to_1(driver: Executor) -> None:
    """Fog is applied to "the program's final clamped color" (3.11.4.5.1), on a float target too."""
    state = canonical_state({"fog.color": (0, 2, 1, 0), "fog.params": (1, 0.5, 1.5)})
    coordinate = AttributeCorners(AttributeKind.FOGCOORD, flat(0.75, 0.0, 0.0, 1.0))
    text = show("{2, -1, 0.5, 4}", Fog.LINEAR.value)
    specified, found = (
        draw(text, (1, 1), attributes=[coordinate], state=state, executor=each)[0, 0].tolist()
        for each in (None, driver)
    )
    assert specified == [0.75, 0.25 * 2, 0.75 * 0.5 + 0.25, 1.0]
    # Some do not clamp where GL_ARB_color_buffer_float has switched clamping off, as NVIDIA's.
    assert found in (specified, [0.75 * 2, 0.25 * 2 - 0.75, 0.75 * 0.5 + 0.25, 4.0])


def test_several_targets(driver: Executor) -> None:
    """Each colour goes to its texture, of whichever format; what KIL discards goes to none."""
    text = assemble(
        "!!ARBfp1.0\nOPTION ARB_draw_buffers;\nTEMP a;\n"
        "SUB a, fragment.position, 1;\nKIL a.x;\n"
        "MOV result.color[1], {0.25, 0.5, 0.75, 1};\nMOV result.color[0], fragment.position;\n"
        "MUL result.color[2], a, 7;\nEND\n"
    )
    targets = (RGBA32F, UNORM8, RGBA16F)
    expected, found = (draw_all(text, targets=targets, executor=each) for each in (None, driver))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-7)
    assert found[0][2, 1].tolist() == [1.5, 2.5, 0.5, 1.0]
    assert found[2][2, 3].tolist() == [17.5, 10.5, -3.5, 0.0]
    for each in found:
        assert not each[:, 0].any()


def test_more_targets_than_the_driver_has(driver: Executor) -> None:
    text = show("1", "ARB_draw_buffers")
    with pytest.raises(PlanError, match=r"draws to 33 textures, but .* can draw to \d+ at once"):
        draw_all(text, targets=(RGBA32F,) * 33, executor=driver)


def test_no_arithmetic_but_the_drivers_own(driver: Executor) -> None:
    for arithmetic in ARITHMETICS.values():
        machine = Machine(arithmetic=arithmetic)
        if arithmetic is FP32:
            assert draw(show("3"), executor=driver, machine=machine)[0, 0, 0] == 3.0
            continue
        with pytest.raises(PlanError, match=f"gl-arbfp computes in fp32, not in {arithmetic.name}"):
            draw(show("3"), executor=driver, machine=machine)


# What the driver says of a program --------------------------------------------------------------


def test_resources_of_a_program(driver: Executor) -> None:
    """Mesa counts END among the instructions and no indirections, other drivers do as they do."""
    text = """!!ARBfp1.0
TEMP coordinate, colour;
PARAM step = program.local[0];
ADD coordinate, fragment.texcoord[0], step;
TEX colour, coordinate, texture[0], RECT;
TEX coordinate, colour, texture[1], 2D;
MAD result.color, coordinate, colour, fragment.color;
END
"""
    counted = program_resources(text).text
    assert counted.alu_instructions == 2
    assert counted.tex_instructions == 2
    assert counted.instructions in (4, 5)
    assert (counted.temporaries, counted.parameters, counted.attributes) == (2, 1, 2)
    assert counted.tex_indirections in (0, 3)
    with pytest.raises(PlanError, match=r"refuses the program at position \d+: \S"):
        program_resources(text.replace("END", ""))
