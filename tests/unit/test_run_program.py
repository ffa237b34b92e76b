"""Any program on any textures: what GL says comes out, worked by hand or in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawing import on

from gpgpu_legacy import assemble, run_program
from gpgpu_legacy.api.programs import discarded, make_drawing, run_drawing
from gpgpu_legacy.errors import GpgpuLegacyError, InputError, PlanError
from gpgpu_legacy.files import shader_text
from gpgpu_legacy.plan.textures import Filter, Sampler, Wrap
from gpgpu_legacy.predict import auto
from gpgpu_legacy.runtime.executor import executors, find_executor

# Programs of these tests are given less, or more, than they read.
pytestmark = pytest.mark.filterwarnings("ignore::gpgpu_legacy.errors.GpgpuLegacyWarning")

F32 = np.float32


def show(register: str, *declarations: str) -> str:
    """A program whose colour is one register."""
    return "\n".join(["!!ARBfp1.0", *declarations, f"MOV result.color, {register};", "END"])


def look_up(target: str, coordinate: str = "fragment.texcoord[0]", opcode: str = "TEX") -> str:
    return f"!!ARBfp1.0\n{opcode} result.color, {coordinate}, texture[0], {target};\nEND"


def numbered(*shape: int) -> np.ndarray:
    """Texels that tell where they are: all values different."""
    return np.arange(math.prod(shape) * 4, dtype=F32).reshape(*shape, 4)


# What a fragment gets ----------------------------------------------------------------------------


def test_row_0_is_the_bottom_and_set_0_is_the_pixels_centre() -> None:
    position = run_program(show("fragment.position"), 3, 2)
    assert position.shape == (2, 3, 4)
    assert position.dtype == np.float32
    for y in range(2):
        for x in range(3):
            assert position[y, x].tolist() == [x + 0.5, y + 0.5, 0.5, 1.0]
    texcoord = run_program(show("fragment.texcoord[0]"), 3, 2)
    assert (texcoord[..., :2] == position[..., :2]).all()
    assert (texcoord[..., 2:] == [0.0, 1.0]).all()


def test_colours_are_not_clamped_and_the_fog_coordinate_is_a_number_or_four() -> None:
    assert (run_program(show("fragment.color"), 2, 2, color=(2, -1, 0, 1)) == (2, -1, 0, 1)).all()
    secondary = run_program(show("fragment.color.secondary"), 2, 2, secondary_color=(4, 3, 2, 1))
    assert (secondary == (4, 3, 2, 1)).all()
    assert (run_program(show("fragment.fogcoord"), 2, 2, fogcoord=3) == (3, 0, 0, 1)).all()
    found = run_program(show("fragment.fogcoord"), 4, 1, fogcoord=(0, 8, 8, 0))
    assert found[0, :, 0].tolist() == [1, 3, 5, 7]


@on(*(each.name for each in executors() if not each.capabilities.runs_driver_programs))
def test_programs_that_differ_in_the_sign_of_a_zero_share_no_code(name: str) -> None:
    """1 / -0 is -∞, and Python's -0.0 == 0.0."""
    for zero, wanted in (("0.0", np.inf), ("-0.0", -np.inf), ("0.0", np.inf)):
        text = f"!!ARBfp1.0\nPARAM c = {{ {zero}, 1.0, 2.0, 3.0 }};\nRCP result.color, c.x;\nEND"
        assert (run_program(text, 1, 1, executor=name) == wanted).all()
    assert assemble(text) != assemble(text.replace("0.0", "-0.0"))


def test_state_by_short_names_and_matrices() -> None:
    matrix = np.arange(16).reshape(4, 4)
    state = {"fog.color": (1, 2, 3, 4), "matrix.modelview": matrix}
    assert (run_program(show("state.fog.color"), 1, 1, state=state) == (1, 2, 3, 4)).all()
    row = run_program(show("state.matrix.modelview.row[1]"), 1, 1, state=state)
    assert (row == matrix[1]).all()
    column = run_program(show("state.matrix.modelview.transpose.row[1]"), 1, 1, state=state)
    assert (column == matrix[:, 1]).all()


# Textures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", range(4))
def test_a_3d_texture_is_read_slice_by_slice(layer: int) -> None:
    texels = numbered(4, 3, 5)
    r = (layer + 0.5) / 4
    unit = [(0, 0, r, 1), (1, 0, r, 1), (1, 1, r, 1), (0, 1, r, 1)]
    found = run_program(look_up("3D"), 5, 3, {0: ("3D", texels)}, texcoords={0: unit})
    assert (found == texels[layer]).all()


@pytest.mark.parametrize("target", ["1D", "2D", "RECT", "3D", "CUBE"])
@pytest.mark.parametrize("channels", [None, 1, 2, 3, 4])
def test_missing_channels_read_as_0_0_1(target: str, channels: int | None) -> None:
    shape = {"1D": (2,), "2D": (2, 2), "RECT": (2, 2), "3D": (2, 2, 2), "CUBE": (6, 2, 2)}[target]
    texels = np.full(shape if channels is None else (*shape, channels), 7)
    found = run_program(look_up(target), 1, 1, {0: (target, texels)})[0, 0]
    count = channels or 1
    assert found.tolist() == [7] * count + [0, 0, 0, 1][count:]


LINEAR_REPEAT = Sampler(Filter.LINEAR, Wrap.REPEAT, Wrap.REPEAT, Wrap.REPEAT)
REPEAT_CLAMP = Sampler(Filter.NEAREST, Wrap.REPEAT, Wrap.CLAMP, Wrap.CLAMP_TO_EDGE)
CLAMPED = Sampler(Filter.NEAREST, Wrap.CLAMP, Wrap.CLAMP, Wrap.CLAMP)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), Sampler()),
        (("linear repeat",), LINEAR_REPEAT),
        (("GL_REPEAT, GL_LINEAR",), LINEAR_REPEAT),
        ((["Gl_Repeat", "gl_linear"],), LINEAR_REPEAT),
        (("clamp",), CLAMPED),
        (("repeat clamp",), REPEAT_CLAMP),
        (("GL_LINEAR GL_NEAREST",), Sampler(Filter.LINEAR, magnify=Filter.NEAREST)),
        (("nearest", "nearest"), Sampler()),
        (
            ("GL_CLAMP_TO_BORDER GL_TEXTURE_BORDER_COLOR=1:0:0.5:2 GL_TEXTURE_LOD_BIAS=-.5",),
            Sampler(Filter.NEAREST, *[Wrap.CLAMP_TO_BORDER] * 3, (1.0, 0.0, 0.5, 2.0), bias=-0.5),
        ),
    ],
)
def test_a_sampler_is_said_in_many_ways(given: tuple[Any, ...], expected: Sampler) -> None:
    drawing = make_drawing(look_up("2D"), 1, 1, {0: ("2D", numbered(2, 2), *given)})
    [binding] = drawing.draw.bindings
    assert binding.sampler == expected


def test_textures_that_the_program_does_not_read_are_left_out_but_checked() -> None:
    textures = {0: ("RECT", numbered(2, 2)), 5: ("CUBE", numbered(6, 1, 1))}
    assert len(make_drawing(look_up("RECT"), 2, 2, textures).draw.bindings) == 1
    with pytest.raises(InputError, match=r"textures\[5\]"):
        make_drawing(look_up("RECT"), 2, 2, {**textures, 5: ("CUBE", numbered(5, 1, 1))})


# What becomes of it ------------------------------------------------------------------------------

KILL = "!!ARBfp1.0\nTEMP R;\nSUB R, fragment.position.x, 1.0;\nKIL R;\nMOV result.color, 1;\nEND"


def test_discarded_fragments_are_counted() -> None:
    drawing = make_drawing(KILL, 3, 2, clear=(1, 1, 1, 1))
    assert discarded(drawing) == 2
    drawing = make_drawing(KILL, 3, 2, blend="add")
    assert discarded(drawing) == 2
    assert discarded(make_drawing(show("fragment.color"), 3, 2)) == 0


TWO = """!!ARBfp1.0
OPTION ARB_draw_buffers;
MOV result.color[0], fragment.position;
MOV result.color[1], 2;
END"""


def test_draw_buffers() -> None:
    found = run_program(TWO, 3, 2, draw_buffers=2)
    assert found.shape == (2, 2, 3, 4)
    assert (found[0] == run_program(show("fragment.position"), 3, 2)).all()
    assert (found[1] == 2).all()
    assert run_program(KILL, 3, 2, draw_buffers=1).shape == (1, 2, 3, 4)
    assert (run_program(TWO, 3, 2) == found[0]).all()


# Formats -----------------------------------------------------------------------------------------


def test_auto_is_the_reference_machine_for_small_work() -> None:
    executor, *_ = run_drawing(make_drawing(show("fragment.color"), 4, 4))
    assert executor.name == "numpy"


def test_auto_turns_to_the_next_where_one_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unable:
        name = "unable"

        def prepare(self, *_: Any) -> None:
            raise PlanError("too wide for this driver")

    order = [Unable(), find_executor("jit"), find_executor("numpy")]
    monkeypatch.setattr(auto, "ranked", lambda *_, **__: dict.fromkeys(order, 0.0))
    monkeypatch.setattr(auto, "ranking", auto.Ranking)  # a new one each time
    executor, result = run_drawing(make_drawing(show("fragment.color"), 2, 1))
    assert executor.name == "jit"
    assert (result.outputs["color[0]"] == 1).all()
    del order[1]
    executor, result = run_drawing(make_drawing(show("fragment.color"), 2, 1))
    assert executor.name == "numpy"
    assert (result.outputs["color[0]"] == 1).all()


# What does not fit -------------------------------------------------------------------------------

FITS: dict[str, Any] = {"program": look_up("RECT"), "width": 2, "height": 2}
TEXELS = numbered(2, 2)
RECT = ("RECT", TEXELS)
TEXTURES = [
    (5, "textures[0] is 5; give an array, (target, array) or ("),
    (("2D", TEXELS), "textures[0] is 2D, and the program looks it up as R"),
    (("RECT", np.zeros((2, 2, 5))), "textures[0] has the shape (2, 2, 5)"),
    (("RECT", [["a"]]), "textures[0] holds text, not real numbers"),
    ((*RECT, "bilinear"), "the sampler of textures[0] has 'bilinear'"),
    ((*RECT, "GL_LINEAR_MIPMAP_LINEAR"), "textures[0] reads levels"),
    ((*RECT, "l33f"), "luminance32f, luminance_alpha8"),
    ((*RECT, "l32f rgba8"), "has a second format, rgba8; give one"),
]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"width": 10**5, "height": 10**5}, "width × height is 10000000000 pixels"),
        (
            {"textures": {0: ("2D", [np.ones((4, 4)), np.ones((3, 2))])}, "program": look_up("2D")},
            "level 1 of textures[0] has the shape (3, 2, 4); it must be half",
        ),
        *(({"textures": {0: given}}, words) for given, words in TEXTURES),
        ({"local": {0: (1, 2, 3, 4, 5)}}, "local[0] is (1, 2, 3, 4, 5); give a number, or 1 to 4"),
        ({"texcoords": {0: (math.nan, 0, 0, 1)}}, "texture coordinate set 0 is not finite"),
        ({"state": {"fog.colour": (1, 1, 1, 1)}}, "fog.colour"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_line_that_names_it(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(GpgpuLegacyError) as raised:
        run_program(**{**FITS, "textures": {0: RECT}, **arguments})
    message = str(raised.value)
    assert "\n" not in message
    assert words in message


def test_a_cube_that_would_repeat_across_its_edge_is_refused_where_it_would_show() -> None:
    cube = numbered(6, 2, 2)
    run_program(look_up("CUBE"), 1, 1, {0: ("CUBE", cube, "nearest repeat")})
    with pytest.raises(InputError, match="clamp-to-edge"):
        run_program(look_up("CUBE"), 1, 1, {0: ("CUBE", cube, "linear repeat")})
    with pytest.raises(InputError, match="six squares"):
        run_program(look_up("CUBE"), 1, 1, {0: ("CUBE", numbered(6, 2, 3))})


# The examples ------------------------------------------------------------------------------------


def example(name: str) -> str:
    return shader_text(f"examples/{name}.fp")


def test_blur_is_a_convolution() -> None:
    image = np.random.default_rng(1).random((7, 9, 4)).astype(F32)
    along_x = run_program(example("blur"), 9, 7, {0: ("RECT", image)}, local={0: (1, 0, 0, 0)})
    found = run_program(example("blur"), 9, 7, {0: ("RECT", along_x)}, local={0: (0, 1, 0, 0)})
    padded = np.pad(image.astype(np.float64), ((2, 2), (2, 2), (0, 0)), mode="edge")
    weights = np.array([1, 4, 6, 4, 1]) / 16
    expected = sum(
        weights[i] * weights[j] * padded[i : i + 7, j : j + 9] for i in range(5) for j in range(5)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
