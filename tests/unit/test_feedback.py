"""One program, many passes: what a pass draws replaces a texture before the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageSequence

from gpgpu_legacy import run_program
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import shader_folder
from gpgpu_legacy.isa.arithmetic import F32

LIFE = shader_folder() / "examples" / "life.fp"

SHEAR = """!!ARBfp1.0
OPTION ARB_draw_buffers;
TEMP a, b;
MOV a, fragment.position;
ADD a.x, a.x, program.local[0].x;
TEX a, a, texture[3], RECT;
TEX b, fragment.texcoord[1], texture[1], RECT;
MAD result.color[0], a, 0.5, b;
MOV result.color[1], a;
END"""

FADE = """!!ARBfp1.0
TEMP a;
TEX a, fragment.position, texture[0], RECT;
SUB a, a, 1;
KIL a;
MOV result.color, a;
END"""


def generation(cells: Any) -> Any:
    """The rules of life, on a torus."""
    neighbours = sum(
        np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    return (neighbours == 3) | (cells & (neighbours == 2))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.sampled_from(["none", "add"]), st.integers(0, 2**16))
def test_passes_are_calls_one_after_the_other(passes: int, blend: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    state, other = rng.random((2, 3, 5, 4)).astype(np.float32)
    how: dict[str, Any] = {
        "local": {0: (1, 0, 0, 0)}, "draw_buffers": 2, "blend": blend, "clear": (0.25, 0, 0, 1),
        "texcoords": {1: ((0, 0), (5, 0), (5, 3), (0, 3))},
    }  # fmt: skip
    textures = {1: ("RECT", other), 3: ("RECT", state)}
    found = run_program(SHEAR, 5, 3, textures, passes=passes, feedback=3, **how)
    one: F32 = np.stack([state, state])
    for _ in range(passes):
        one = run_program(SHEAR, 5, 3, {1: ("RECT", other), 3: ("RECT", one[0])}, **how)
    assert np.array_equal(found, one)


@pytest.mark.parametrize(
    ("message", "keywords"),
    [
        ("passes is 2, but no texture is fed back", {"passes": 2}),
        ("feedback is 0, but passes is not given", {"feedback": 0}),
        ("passes is 0; it must be at least 1", {"passes": 0, "feedback": 0}),
        ("units 0 that have a texture; give one of them", {"passes": 2, "feedback": 1}),
        ("feedback is 0, a RECT texture of 2×2 texels of .* size, 3×2",
         {"passes": 2, "feedback": 0, "width": 3}),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(message: str, keywords: dict[str, Any]) -> None:
    width = keywords.pop("width", 2)
    with pytest.raises(InputError, match=message) as caught:
        run_program(FADE, width, 2, {0: ("RECT", np.zeros((2, 2)))}, **keywords)
    assert "\n" not in str(caught.value)


# The command line --------------------------------------------------------------------------------


def test_a_frame_a_pass_of_the_textures_size(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = np.random.default_rng(2).random((8, 16)) < 0.4  # its first row is the top
    Image.fromarray((cells * 255).astype(np.uint8)).save("cells.png")
    words = "--texture 0=cells.png,2D,GL_REPEAT --local 0=0.0625,0.125,0,0 --passes 6 --feedback 0"
    found = run("exec", str(LIFE), *words.split(), "--animate", "life.gif", "--scale", "3")
    assert (found[0], found[2]) == (0, "wrote life.gif\n")
    with Image.open("life.gif") as animation:
        frames = [np.asarray(f.convert("L")) for f in ImageSequence.Iterator(animation)]
    assert len(frames) == 6
    for frame in frames:
        cells = generation(cells)
        assert np.array_equal(frame, np.kron(cells, np.ones((3, 3))) * 255)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--scale 2", "--scale enlarges a picture"),
        ("--animate life.gif --scale 3000", "12000×12000 pixels has at most 0 pictures"),
        ("--feedback 3", "feedback is 3, but the program looks up the units 0 that have"),
    ],
)
def test_what_does_not_fit_is_refused(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("cells.npy", np.zeros((4, 4)))
    given = f"--texture 0=cells.npy --passes 2 --feedback 0 {words}"
    code, out, error = run("exec", str(LIFE), *given.split())
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert message in error
    assert [path.name for path in tmp_path.iterdir()] == ["cells.npy"]
