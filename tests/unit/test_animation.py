"""Animations: the pixels, the times and the sizes that a reader of the files finds in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present import animation
from gpgpu_legacy.present.animation import (
    animation_writer,
    texel_animation_writer,
)

FORMATS = ("gif", "png", "apng")


def pictures_in(path: Path) -> list[NDArray[np.uint8]]:
    """The pictures of a file, (H, W, 3)."""
    with Image.open(path) as image:
        found = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            found.append(np.asarray(image.convert("RGB")))
    return found


def durations_in(path: Path) -> list[float]:
    with Image.open(path) as image:
        found = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            image.load()
            found.append(image.info["duration"])
    return found


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=10)
@given(
    cells=st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=2, max_size=6),
    scale=st.integers(1, 4),
)
def test_every_pixel_of_every_picture(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, cells: list[list[bool]], scale: int
) -> None:
    """Pictures that differ from their neighbours are told apart; equal ones are one for longer."""
    path = tmp_path_factory.mktemp("life") / f"cells.{suffix}"
    frames = [np.array(row, np.float32).reshape(3, 4) for row in cells]
    texel_animation_writer(path, scale)(iter(frames))
    shown = [frames[0]]
    times = [100]
    for frame in frames[1:]:
        if np.array_equal(frame, shown[-1]):
            times[-1] += 100
        else:
            shown.append(frame)
            times.append(100)
    found = pictures_in(path)
    assert len(found) == len(shown)
    for picture, frame in zip(found, shown, strict=True):
        square = np.kron(frame[::-1], np.ones((scale, scale))) * 255
        np.testing.assert_array_equal(picture, np.stack([square] * 3, axis=-1))
    if len(shown) > 1:
        assert durations_in(path) == times


@pytest.mark.parametrize("suffix", FORMATS)
def test_times_and_loops(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"forever.{suffix}"
    pictures = [np.full((6, 6, 3), 60 * k, np.uint8) for k in range(4)]
    animation_writer(path, 50, 1000)(pictures)
    assert durations_in(path) == [50] * 3 + [1000]
    with Image.open(path) as image:
        assert image.size == (6, 6)
        assert image.info["loop"] == 0


def test_pictures_that_make_no_animation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"let it end in one of \.gif, \.png, \.apng"):
        animation_writer(tmp_path / "life.mp4")
    path = tmp_path / "life.gif"
    write = texel_animation_writer(path)
    with pytest.raises(InputError, match="there is no picture"):
        write([])
    with pytest.raises(InputError, match=r"picture 2 of an animation is 3×2 pixels, but .* 2×2"):
        write([np.zeros((2, 2), np.float32), np.zeros((2, 3), np.float32)])
    with pytest.raises(InputError, match="scale is 0"):
        texel_animation_writer(path, 0)
    with pytest.raises(InputError, match="of 200000×200000 pixels has at most 0 pictures"):
        texel_animation_writer(path, 100_000)([np.zeros((2, 2), np.float32)])
    monkeypatch.setattr(animation, "LARGEST_ANIMATION", 100)
    with pytest.raises(InputError, match="of 5×4 pixels has at most 5 pictures"):
        write(np.zeros((4, 5), np.float32) for _ in range(6))
    assert not list(tmp_path.iterdir())
