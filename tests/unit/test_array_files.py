"""Arrays in files: there and back, those that others made, and those that are damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gpgpu_legacy.api.arrays import array_writer, read_array
from gpgpu_legacy.errors import InputError

EXACT = [".npy", ".csv"]


def write(path: Path, array: np.ndarray) -> None:
    array_writer(path, array.shape)(array)


def read_matrix(path: Path) -> Any:
    return read_array(path, 2)


def refused(action: Callable[[], object], *words: str) -> str:
    with pytest.raises(InputError) as raised:
        action()
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


# There and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", EXACT)
def test_nan_and_infinity_come_back(tmp_path: Path, suffix: str) -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, -0.0]], np.float32)
    write(tmp_path / f"c{suffix}", odd)
    np.testing.assert_array_equal(read_matrix(tmp_path / f"c{suffix}"), odd)


def test_all_float32_numbers_survive_csv(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 0x7F800000, (50, 20), np.uint32)
    matrix = bits.view(np.float32)
    write(tmp_path / "c.csv", matrix)
    assert (read_matrix(tmp_path / "c.csv").astype(np.float32) == matrix).all()


# Files that others made --------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".pgm"])
def test_a_greyscale_image_runs_from_black_0_to_white_1(tmp_path: Path, suffix: str) -> None:
    """The picture's last row is the matrix's first row."""
    grey = np.array([[0, 51, 255], [102, 153, 204]], np.uint8)
    path = tmp_path / f"a{suffix}"
    Image.fromarray(grey).save(path)
    found = read_matrix(path)
    assert found.dtype == np.float32
    assert (found == grey[::-1].astype(np.float32) / np.float32(255)).all()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_a_picture_with_colours_is_no_matrix(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.png"
    for colour, is_grey in ((0xFFFFFF, True), (0x0000FF, False)):
        Image.new("RGB", (2, 2), colour).convert(mode).save(path)
        if is_grey:
            assert read_matrix(path).shape == (2, 2)
        else:
            refused(lambda: read_matrix(path), "greyscale")
    assert read_array(path).shape == (2, 2, 4)


# Files that cannot be read -----------------------------------------------------------------------


def test_an_npy_of_python_objects_is_not_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([[1, None]], object), allow_pickle=True)
    refused(lambda: read_matrix(path), str(path))


@pytest.mark.parametrize(
    "text", ["1,2\n3\n", "1,two\n", "1;2\n3;4\n", "1,2\n3,\n", "\x00\x01\x02", "1,2,\n3,4,\n"],
    ids=["ragged", "words", "semicolons", "missing", "binary", "trailing"],
)  # fmt: skip
def test_a_damaged_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="latin-1")
    refused(lambda: read_matrix(path), str(path))


# Places that cannot be written to ----------------------------------------------------------------


def test_a_spreadsheet_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "excel.csv").write_text("1,2\n3,4\n", encoding="utf-8-sig")
    assert read_matrix(tmp_path / "excel.csv").tolist() == [[1, 2], [3, 4]]
