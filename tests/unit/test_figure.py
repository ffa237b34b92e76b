"""A plan's passes as pictures: which ones, which numbers, and the pixels that show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from gpgpu_legacy.api.figures.figure import Figure
from gpgpu_legacy.api.figures.figure import figure as figure_of
from gpgpu_legacy.api.figures.options import (
    AnimationOptions,
    FigureOptions,
    TexelsShown,
)
from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.textures import Rect

F32 = NDArray[np.float32]

SHIFT_TEXT = """!!ARBfp1.0
TEMP r;
ADD r, fragment.position, {-1, 0, 0, 0};
TEX result.color, r, texture[0], RECT;
END
"""
SHIFT = assemble(SHIFT_TEXT, "shaders/shift.fp")
"""Every texel moves to the right; the first column keeps its own."""


def shifts(count: int, **texture: Any) -> Pipeline:
    p = Pipeline("shift")
    a = p.input("a", 3, 4, **texture)
    b = p.texture("b", 4, 3, format=texture.get("format", "r32f"))
    with p.repeat(count):
        p.draw(SHIFT, {0: a}, into=b)
        p.swap(a, b)
    p.output("moved", a, **({"packing": texture["packing"]} if "packing" in texture else {}))
    return p


CELLS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]], np.float32)


def moved(cells: F32, passes: int) -> F32:
    """By NumPy: the edge is repeated."""
    return np.concatenate([cells[:, :1]] * passes + [cells], axis=1)[:, : cells.shape[1]]


def pixels(path: Path) -> NDArray[np.uint8]:
    """Pictures of a file, (pictures, H, W, 3)."""
    with Image.open(path) as image:
        frames = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            frames.append(np.asarray(image.convert("RGB")))
    return np.stack(frames)


# What is kept -----------------------------------------------------------------------------------


def test_each_pass_with_what_it_wrote() -> None:
    figure = figure_of(shifts(3), {"a": CELLS})
    assert (figure.plan, figure.passes) == ("shift", 3)
    [start] = figure.inputs
    assert (start.place, start.what, start.texture.name) == (None, "a", "a")
    np.testing.assert_array_equal(start.texels[..., 0], CELLS)
    for number, panel in enumerate(figure.panels, start=1):
        assert panel.place is not None
        assert (panel.place.number, panel.what) == (number, "shift.fp")
        assert panel.texture.name == "ba"[(number - 1) % 2]
        assert panel.rect is None
        np.testing.assert_array_equal(panel.texels[..., 0], moved(CELLS, number))
    assert figure.sheet == (start, *figure.panels)
    assert figure.film == (start, *figure.panels)


def levels() -> Pipeline:
    """Sums of 4×4, 2×2 and 1×1 texels into smaller textures, and a copy into a corner of one."""
    p = Pipeline("levels")
    at = "fragment.position"
    text = f"""!!ARBfp1.0
TEMP a, s, r;
MAD a, {at}, 2, {{-0.5, -0.5, 0, 0}};
TEX s, a, texture[0], RECT;
ADD a.x, a, 1;
TEX r, a, texture[0], RECT;
ADD s, s, r;
ADD a.y, a, 1;
TEX r, a, texture[0], RECT;
ADD s, s, r;
ADD a.x, a, -1;
TEX r, a, texture[0], RECT;
ADD result.color, s, r;
END"""
    program = assemble(text, "sum.fp")
    now = p.input("x", 4, 4)
    for size in (2, 1):
        then = p.texture(f"level{size}", size, size)
        p.draw(program, {0: now}, into=then)
        now = then
    whole = p.texture("whole", 4, 4, initial=0.0)
    p.copy(now, whole, source_rect=(0, 0, 1, 1), target_rect=(3, 2, 1, 1))
    p.output("sum", now)
    return p


X = np.arange(16, dtype=np.float32).reshape(4, 4)


def test_textures_of_several_sizes_and_a_part_of_one() -> None:
    figure = figure_of(levels(), {"x": X})
    shapes = [panel.texels.shape for panel in figure.sheet]
    assert shapes == [(4, 4, 1), (2, 2, 1), (1, 1, 1), (4, 4, 1)]
    np.testing.assert_array_equal(figure.panels[0].texels[..., 0], [[10, 18], [42, 50]])
    assert figure.panels[1].texels.item() == 120
    assert [panel.rect for panel in figure.panels] == [None, None, Rect(3, 2, 1, 1)]
    assert [panel.what for panel in figure.panels] == ["sum.fp", "sum.fp", "copy"]
    assert figure.film == figure.panels  # x is never written


def test_passes_of_the_textures_that_are_asked_for() -> None:
    figure = figure_of(levels(), {"x": X}, FigureOptions(textures=("level1", "whole")))
    assert [panel.texture.name for panel in figure.sheet] == ["level2", "level1", "whole"][1:]
    with pytest.raises(InputError, match="no pass of plan levels writes 'x'; choose from level2"):
        figure_of(levels(), {"x": X}, FigureOptions(textures=("x",)))


# Scales and channels ------------------------------------------------------------------------------


def ends(figure: Figure) -> list[tuple[str, float, float]]:
    return [(name, scale.low, scale.high) for *_, name, scale in figure.shown(figure.sheet)]


def test_textures_that_take_turns_share_a_scale() -> None:
    """x and y end with 2⁷; the reciprocals of what they end with have a scale of their own."""
    twice = """!!ARBfp1.0
TEMP t;
TEX t, fragment.texcoord[0], texture[0], RECT;
ADD result.color, t, t;
END"""
    p = Pipeline("doubled")
    a, x, y, small = p.input("a", 1, 2), *(p.texture(name, 2, 1) for name in ("x", "y", "small"))
    p.copy(a, x)
    with p.repeat(6):
        p.draw(twice, {0: x}, into=y)
        p.swap(x, y)
    p.draw(twice.replace("ADD result.color, t, t", "RCP result.color, t.x"), {0: x}, into=small)
    p.output("small", small)
    figure = figure_of(p, {"a": np.array([[1, 2]], np.float32)})
    assert ends(figure) == [("input a", 1, 2)] + [("x, y", 0, 128)] * 7 + [
        ("small", 1 / 128, 1 / 64)
    ]
    only = figure_of(p, {"a": [[1, 2]]}, FigureOptions(textures=("x",)))
    assert {name for name, _, _ in ends(only)[1:]} == {"value of a texel"}


def flow(steps: int) -> Pipeline:
    """Like a fluid: one program moves smoke and a wind, the smoke is halved, and c is cleared."""
    halve = SHIFT_TEXT.replace("{-1, 0, 0, 0}", "0").replace("TEX result.color", "TEX r")
    halve = halve.replace("END", "MUL result.color, r, 0.5;\nEND")
    p = Pipeline("flow")
    smoke, wind = p.input("smoke", 1, 4), p.input("wind", 1, 4)
    next_smoke, next_wind, c = (p.texture(name, 4, 1) for name in ("s", "w", "c"))
    with p.repeat(steps):
        p.draw(SHIFT, {0: smoke}, into=next_smoke)
        p.draw(SHIFT, {0: wind}, into=next_wind)
        p.swap(smoke, next_smoke)
        p.swap(wind, next_wind)
        p.draw(assemble(halve, "halve.fp"), {0: smoke}, into=next_smoke)
        p.swap(smoke, next_smoke)
        p.clear(c)
    p.output("out", smoke)
    return p


FLOW = {"smoke": [[1, 2, 4, 8]], "wind": [[-1, 0, 0, 1]]}


def test_what_is_swapped_is_one_quantity_and_what_one_program_writes_is_not() -> None:
    figure = figure_of(flow(3), FLOW)
    assert set(figure.turns.values()) == {("smoke", "s"), ("wind", "w"), ("c",)}
    assert {name for name, _, _ in ends(figure)} == {"smoke, s", "wind, w"}


@pytest.mark.parametrize(
    ("texel_format", "shown", "blue", "expected"),
    [
        ("rgba32f", TexelsShown.AUTO, 0.0, (0,)),
        ("rgba32f", TexelsShown.AUTO, CELLS, (0, 2)),
        ("rgba32f", TexelsShown.CHANNELS, 0.0, (0, 1, 2, 3)),
        ("rgba32f", TexelsShown.PICTURE, 0.0, ()),
        ("rgba8", TexelsShown.AUTO, 0.0, ()),
    ],
)
def test_which_channels_are_shown(
    texel_format: str, shown: TexelsShown, blue: Any, expected: tuple[int, ...], tmp_path: Path
) -> None:
    """Those that are the same everywhere are not."""
    image = np.zeros((3, 4, 4), np.float32)
    image[..., 0], image[..., 2], image[..., 3] = np.arange(4) / 4, blue, 1
    plan = shifts(2, packing="image", format=texel_format)
    figure = figure_of(plan, {"a": image}, FigureOptions(shown=shown))
    assert figure.channels(figure.panels[0].texture) == expected
    figure.plot(tmp_path / "sheet.png")
    figure.animate(tmp_path / "film.gif")


# What is drawn ------------------------------------------------------------------------------------


def words(figure: Figure, path: Path) -> str:
    """The text of a sheet: matplotlib leaves it as comments in an SVG."""
    figure.plot(path)
    return path.read_text(encoding="utf-8")


def test_the_words_and_numbers_on_a_sheet(tmp_path: Path) -> None:
    text = words(figure_of(levels(), {"x": X}), tmp_path / "sheet.svg")
    for word in ("levels", "input x", "pass 1 → level2", "pass 3 → whole", "copy · 4×4 r32f"):
        assert f"<!-- {word} -->" in text
    assert "<!-- 3 passes · row 0 at the bottom · run by numpy -->" in text
    for number in (10, 18, 42, 50, 120):
        assert f"<!-- {number} -->" in text


# What cannot be drawn -----------------------------------------------------------------------------


def test_options_that_no_figure_has() -> None:
    for options, message in (
        ({"panels": 1}, "panels is 1; it must be at least 2"),
        ({"limits": (2, 1)}, "limits are 2 and 1; give a lower and a higher"),
    ):
        with pytest.raises(InputError, match=message):
            FigureOptions(**options)
    with pytest.raises(InputError, match="has no pass that writes a texture; nothing to show"):
        figure_of(shifts(0), {"a": CELLS})


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    figure = figure_of(shifts(2), {"a": CELLS})
    with pytest.raises(InputError, match="enlarge it less, or show fewer"):
        figure.animate(tmp_path / "film.gif", AnimationOptions(scale=4000))
    assert not list(tmp_path.iterdir())
