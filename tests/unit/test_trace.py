"""A fragment followed through its program: hand-worked steps, and the machine left as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import RECTANGLES, Scene, whole_scenes

from gpgpu_legacy import assemble, run_program
from gpgpu_legacy.api.drawing import make_drawing
from gpgpu_legacy.api.trace import trace
from gpgpu_legacy.api.trace_table import WIDTH, trace_as_text, trace_record
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.serial import plain

TEXT = """!!ARBfp1.0
TEMP R;
PARAM c = { 0.5, 0.25, 8, 1 };
TEX R, fragment.texcoord[0], texture[0], RECT;
MUL_SAT R.xy, -R.yxzw, c;
KIL R.z;
SWZ R, R, x, -y, 0, -1;
MOV result.color, R;
END
"""
TEXELS = np.arange(3 * 4 * 4, dtype=np.float32).reshape(3, 4, 4) - 6
TEXTURES = {0: ("RECT", TEXELS)}


def test_every_step_of_a_fragment_that_lives() -> None:
    found = trace(make_drawing(TEXT, 4, 3, TEXTURES), 1, 0)
    a, b, c, d, e = found.steps
    assert [s.number for s in found.steps] == [1, 2, 3, 4, 5]
    assert [s.line for s in found.steps] == [4, 5, 6, 7, 8]
    assert [o.text for o in a.operands] == ["fragment.texcoord[0]"]
    assert a.operands[0].value == (1.5, 0.5, 0, 1)
    assert (a.destination, a.result) == ("R", (-2, -1, 0, 1))
    assert a.texel is not None
    assert (a.texel.unit, a.texel.x, a.texel.y, a.texel.linear) == (0, 1, 0, False)
    assert [o.text for o in b.operands] == ["-R.yxzw", "c"]
    assert [o.value for o in b.operands] == [(1, 2, 0, -1), (0.5, 0.25, 8, 1)]
    assert (b.destination, b.result, b.texel) == ("R.xy", (0.5, 0.5, None, None), None)
    assert [o.value for o in c.operands] == [(0, 0, 0, 0)]
    assert (c.destination, c.result, c.discards) == ("", (), False)
    assert [(o.text, o.value) for o in d.operands] == [("R, x, -y, 0, -1", (0.5, -0.5, 0, -1))]
    assert d.result == e.result == (0.5, -0.5, 0, -1)
    assert found.pixels == ((0.5, -0.5, 0, -1),)
    assert not found.discarded


def test_it_ends_at_the_kil_that_discards() -> None:
    found = trace(make_drawing(TEXT, 4, 3, TEXTURES, clear=(1, 2, 3, 4)), 0, 0)
    assert [s.discards for s in found.steps] == [False, False, True]
    assert found.steps[-1].operands[0].value == (-4, -4, -4, -4)
    assert found.discarded
    assert found.pixels == ((1, 2, 3, 4),)
    text = trace_as_text(found)
    assert "Discarded by instruction 3, KIL R.z;" in text
    assert "MOV result.color" not in text


@pytest.mark.parametrize(
    ("target", "shape", "coordinate", "place"),
    [
        ("1D", (8,), (0.3, 0, 0, 1), (2, 0, 0)),
        ("2D", (4, 8), (0.3, 0.9, 0, 1), (2, 3, 0)),
        ("RECT", (4, 8), (7.9, 1.2, 0, 1), (7, 1, 0)),
        ("RECT", (4, 8), (99, -99, 0, 1), (7, 0, 0)),
        ("3D", (2, 4, 8), (0.3, 0.9, 0.6, 1), (2, 3, 1)),
        ("CUBE", (6, 4, 4), (0.1, 0.2, -1, 1), (1, 1, 5)),
        ("CUBE", (6, 4, 4), (-1, 0.9, 0.9, 1), (3, 0, 1)),
    ],
)
def test_the_texel_that_is_read(
    target: str, shape: tuple[int, ...], coordinate: tuple[float, ...], place: tuple[int, int, int]
) -> None:
    texels = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    text = f"!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[3], {target}; END"
    drawing = make_drawing(text, 2, 2, {3: (target, texels)}, texcoords={0: coordinate})
    [step] = trace(drawing, 1, 1).steps
    texel = step.texel
    assert texel is not None
    assert (texel.x, texel.y, texel.layer) == place
    index = {1: (place[0],), 2: (place[1], place[0]), 3: (place[2], place[1], place[0])}
    assert step.result[0] == texels[index[len(shape)]]


def test_a_projected_and_a_filtered_lookup() -> None:
    text = "!!ARBfp1.0 TXP result.color, fragment.texcoord[0], texture[0], 2D; END"
    drawing = make_drawing(
        text, 1, 1, {0: ("2D", np.eye(4), "linear")}, texcoords={0: (1, 1, 0, 2)}
    )
    [step] = trace(drawing, 0, 0).steps
    assert step.texel is not None
    assert (step.texel.x, step.texel.y, step.texel.linear) == (2, 2, True)
    assert step.result[0] == 0.5  # of the four around (2, 2), two are 1
    assert "a mix of the texels around (2, 2)" in trace_as_text(trace(drawing, 0, 0))


def test_operands_and_results_are_in_the_arithmetic_asked_for() -> None:
    text = "!!ARBfp1.0 MUL result.color, fragment.texcoord[1], 0.1; END"
    drawing = make_drawing(text, 1, 1, texcoords={1: (0.3,) * 4})
    [step] = trace(drawing, 0, 0, ARITHMETICS["fp16"]).steps
    a, b = np.float16(0.3), np.float16(0.1)
    assert [o.value[0] for o in step.operands] == [a, b]
    assert step.result[0] == np.float16(np.float64(a) * np.float64(b))


@pytest.mark.filterwarnings("ignore::gpgpu_legacy.GpgpuLegacyWarning")
@settings(max_examples=13)
@given(whole_scenes(reach=RECTANGLES), st.data())
def test_the_trace_ends_where_the_run_does(scene: Scene, data: Any) -> None:
    width, height = scene.rect.width, scene.rect.height
    x, y = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    given = {
        "textures": {u: ("RECT", t.texels, t.sampler) for u, t in scene.textures.items()},
        "local": scene.local,
        "env": scene.env,
        "texcoords": {t.set: np.array(t.corners) for t in scene.texcoords},
        "clear": (7, 7, 7, 7),
    }
    program = assemble(scene.text)
    image = run_program(program, width, height, executor="numpy", **given)
    found = trace(make_drawing(program, width, height, **given), x, y)
    np.testing.assert_array_equal(np.array(found.pixels[0], np.float32), image[y, x])
    if not found.discarded:
        assert len(found.steps) == len(program.instructions)
        color: list[float | None] = [0, 0, 0, 0]
        for step in found.steps:
            if step.destination.startswith("result.color"):
                color = [
                    old if new is None else new for old, new in zip(color, step.result, strict=True)
                ]
        np.testing.assert_array_equal(np.array(color, np.float32), image[y, x])
    assert max(len(line) for line in trace_as_text(found).splitlines()) <= WIDTH


def test_the_text_of_a_trace() -> None:
    lines = trace_as_text(trace(make_drawing(TEXT, 4, 3, TEXTURES), 1, 0)).splitlines()
    columns = [line.split() for line in lines]
    assert columns[0] == ["fragment", "1,0", "x", "y", "z", "w"]
    assert columns[1][:3] == ["1", "TEX", "R,"]
    assert columns[2] == ["fragment.texcoord[0]", "1.5", "0.5", "0", "1"]
    assert lines[3].strip() == "reads the texel (1, 0) of texture[0], RECT"
    assert columns[4] == ["→", "R", "-2", "-1", "0", "1"]
    assert columns[8] == ["→", "R.xy", "0.5", "0.5", ".", "."]
    assert columns[-1] == ["=", "the", "pixel", "0.5", "-0.5", "0", "-1"]


def test_the_json_of_a_trace() -> None:
    text = "!!ARBfp1.0 RCP result.color.yw, {0}.x; END"
    data = plain(trace_record(trace(make_drawing(text, 1, 1), 0, 0)))
    assert data["fragment"] == [0, 0]
    [step] = data["steps"]
    assert step["instruction"] == "RCP result.color.yw, {0, 0, 0, 1}.x;"
    assert step["operands"] == [{"text": "{0, 0, 0, 1}.x", "value": [0, 0, 0, 0]}]
    assert step["result"] == [None, "inf", None, "inf"]
    assert data["pixels"] == [[0, "inf", 0, "inf"]]


def test_fog_is_named() -> None:
    text = "!!ARBfp1.0 OPTION ARB_fog_linear; MOV result.color, 0; END"
    state = {"fog.color": (1, 0.5, 0, 0), "fog.params": (1, 0, 4, 0.25)}
    found = trace(make_drawing(text, 1, 1, fogcoord=1, state=state), 0, 0)
    assert found.steps[0].result == (0, 0, 0, 0)
    assert found.pixels == ((0.25, 0.125, 0, 0),)  # f = (4 - 1) / 4
    assert "OPTION ARB_fog_linear then mixes the colour" in trace_as_text(found)


@pytest.mark.parametrize(("x", "y"), [(4, 0), (0, 3), (-1, 0)])
def test_a_fragment_that_there_is_not(x: int, y: int) -> None:
    with pytest.raises(InputError, match=f"there is no fragment {x},{y} in 4×3"):
        trace(make_drawing(TEXT, 4, 3, TEXTURES), x, y)
