"""Lookups of every target, filter and wrap, with values worked out by hand from GL 1.5, 3.8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import Image, assert_same_bits, draw, on, program

from gpgpu_legacy.interp.numeric import Storage, sample
from gpgpu_legacy.plan.framebuffer import Writes
from gpgpu_legacy.plan.textures import (
    FORMATS,
    RGBA8,
    RGBA16F,
    UNORM8,
    Filter,
    Format,
    Sampler,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.executor import Executor

NAN, INF = float("nan"), float("inf")
T1D, T2D, T3D, CUBE, RECT = (TextureKind(name) for name in ("1D", "2D", "3D", "CUBE", "RECT"))
EDGE, CLAMP, REPEAT = Wrap.CLAMP_TO_EDGE, Wrap.CLAMP, Wrap.REPEAT
BORDER, MIRROR = Wrap.CLAMP_TO_BORDER, Wrap.MIRRORED_REPEAT
NEAREST, LINEAR = Filter.NEAREST, Filter.LINEAR


def stored(image: Image) -> Storage:
    made = Storage(image.texture("T"))
    made.draw((slice(None), slice(None)), [*np.moveaxis(image.texels, 2, 0)], Writes())
    return made


def looked_up(image: Image, s: float, t: float = 0.0, r: float = 0.0) -> list[float]:
    coordinates = (np.full((1, 1), v, np.float32) for v in (s, t, r))
    with np.errstate(all="ignore"):
        planes = sample(stored(image), image.sampler, *coordinates)
    assert all(plane.dtype == np.float32 for plane in planes)
    return [plane.item() for plane in planes]


def image(
    rows: list[list[float]],
    kind: TextureKind,
    how: Filter = NEAREST,
    wrap: Wrap | tuple[Wrap, Wrap, Wrap] = EDGE,
    depth: int = 1,
) -> Image:
    wraps = wrap if isinstance(wrap, tuple) else (wrap,) * 3
    border = (-6.0, 0.0, 0.0, 0.0)
    sampler = Sampler(how, *wraps, border=border)
    return Image(np.array(rows, np.float32)[..., None], kind, depth, sampler)


# One axis ------------------------------------------------------------------------------------

LINE = [[10.0, 20.0, 40.0, 80.0]]


@pytest.mark.parametrize("how", [NEAREST, LINEAR])
@pytest.mark.parametrize("wrap", list(Wrap))
def test_nan_falls_on_texel_0(how: Filter, wrap: Wrap) -> None:
    assert looked_up(image(LINE, T1D, how, wrap), NAN)[0] == 10
    assert looked_up(image([[1.0, 2.0], [4.0, 8.0]], T2D, how, wrap), NAN, 0.75)[0] == 4


# Two axes and three --------------------------------------------------------------------------

SQUARE = [[1.0, 2.0], [4.0, 8.0]]


@pytest.mark.parametrize(
    ("texel_format", "texel", "result"),
    [
        (UNORM8, [0.2], [51 / 255, 0, 0, 1]),
        (RGBA8, [0.2, 2.0, -1.0, 1.0], [51 / 255, 1, 0, 1]),
        (RGBA16F, [1 + 2.0**-11, 65520.0, 2.0**-25, -0.1], [1, INF, 0, -0.0999755859375]),
    ],
)
def test_texels_are_what_their_format_stores(
    texel_format: Format, texel: list[float], result: list[float]
) -> None:
    one = Image(np.array([[texel]], np.float32), T2D, format=texel_format)
    assert looked_up(one, 0.5, 0.5) == [float(np.float32(v)) for v in result]


# GL 1.5, tables 3.15 and 3.20: the components that an image of each base format keeps, and what
# a lookup then gives as R, G, B and A.
READ = {
    "alpha": "0 0 0 a", "luminance": "l l l 1", "luminance_alpha": "l l l a",
    "intensity": "i i i i", "r": "r 0 0 1", "rg": "r g 0 1", "rgba": "r g b a",
}  # fmt: skip


@pytest.mark.parametrize("how", [NEAREST, LINEAR])
@pytest.mark.parametrize("base", READ)
def test_lookups_follow_gls_table_of_base_formats(base: str, how: Filter) -> None:
    kept = dict(zip("liargb", (0.5, 0.5, 0.75, 0.5, 0.75, 0.25), strict=True))
    letters = READ[base].split()
    stored_ones = list(dict.fromkeys(letter for letter in letters if letter not in "01"))
    if base == "rgba":
        kept["a"] = 1.0
    texel = [kept[letter] for letter in stored_ones]
    one = Image(np.array([[texel] * 2], np.float32), T2D, 1, Sampler(how), FORMATS[f"{base}32f"])
    assert looked_up(one, 0.4, 0.5) == [kept.get(letter, letter == "1") for letter in letters]


def test_16_bits_hold_each_65535th() -> None:
    levels = np.arange(1 << 16)
    one = Image((levels / 65535).astype(np.float32)[None, :, None], T2D, format=FORMATS["unorm16"])
    assert_same_bits(stored(one).texels()[0, :, 0], (levels / 65535).astype(np.float32))


# Cube maps -----------------------------------------------------------------------------------

# Six faces of 2×2: face number times 10, plus 0 1 (lower row) and 2 3 (upper).
FACES = [[10.0 * face + 2 * row, 10.0 * face + 2 * row + 1] for face in range(6) for row in (0, 1)]


# Shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RECT, T2D])
@pytest.mark.parametrize("how", [NEAREST, LINEAR])
def test_a_lookup_is_as_broadcast_as_its_coordinates(kind: TextureKind, how: Filter) -> None:
    square = image(SQUARE, kind, how)
    s, t = np.full((1, 3), 0.5, np.float32), np.full((2, 1), 0.5, np.float32)
    one = np.full((1, 1), 0.5, np.float32)
    for across, up, shape in (
        (s, t, (2, 3)),
        (one, t, (2, 1)),
        (s, one, (1, 3)),
        (one, one, (1, 1)),
    ):
        assert sample(stored(square), square.sampler, across, up, one)[0].shape == shape


@on("numpy", "jit", "gl-raster", "gl-compute", "gl-arbfp")
@pytest.mark.parametrize(
    ("name_of_format", "border"),
    [
        ("alpha8", [0, 0, 0, 0.25]), ("luminance16f", [2, 2, 2, 1]), ("r32f", [2, 0, 0, 1]),
        ("luminance_alpha32f", [2, 2, 2, 0.25]), ("intensity8", [1, 1, 1, 1]),
        ("rg32f", [2, -1, 0, 1]),
    ],
)  # fmt: skip
def test_a_border_is_a_texel_of_the_format(
    ready: Callable[[str], Executor], name: str, name_of_format: str, border: list[float]
) -> None:
    """GL 1.5, table 3.20: grey is red; fixed point is clamped, and shows a quarter as 64 of 255."""
    texel_format = FORMATS[name_of_format]
    texels = np.zeros((1, 1, texel_format.channels), np.float32)
    sampler = Sampler(NEAREST, BORDER, BORDER, border=(2.0, -1.0, 0.5, 0.25))
    read = Image(texels, T2D, 1, sampler, texel_format)
    text = program("TEX result.color, {-1, 0.5}, texture[0], 2D;")
    drawn = draw(text, (1, 1), textures={0: read}, executor=ready(name))[0, 0]
    np.testing.assert_allclose(drawn, border, rtol=0, atol=1 / 510 if "8" in name_of_format else 0)
