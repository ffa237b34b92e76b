"""Pictures that were damaged, or made to do harm: pixels or one line, and little memory."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from attacks import ATTACK, assert_read_or_refused, refusal
from PIL import Image, ImageFile

from gpgpu_legacy.api.arrays import read_array
from gpgpu_legacy.api.figures.pictures import FORMATS


def refused(path: Path, *words: str) -> None:
    message = refusal(read_array, path)
    assert all(word in message for word in words), message


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    made = io.BytesIO()
    image.save(made, kind, **options)
    return made.getvalue()


NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 7), np.uint8))
GOOD = {suffix: saved(NOISE, kind) for suffix, kind in FORMATS.items()}


# Formats -----------------------------------------------------------------------------------------

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n(x) run\n%%EOF\n"


@pytest.mark.parametrize("suffix", FORMATS)
def test_only_the_suffixs_own_reader_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Ghostscript is started by an EPS's reader, and others of Pillow's are rarely looked at."""

    def started(*_: object, **__: object) -> None:
        pytest.fail("a program was started")

    monkeypatch.setattr(subprocess, "Popen", started)
    for data in (EPS, saved(NOISE, "ICO"), b"\xd7\xcd\xc6\x9a" + bytes(40)):  # and a WMF
        path = tmp_path / f"a{suffix}"
        path.write_bytes(data)
        refused(path, f"it is no {FORMATS[suffix]}")


def test_all_suffixes_are_read_alike(tmp_path: Path) -> None:
    for suffix, data in GOOD.items():
        path = tmp_path / f"a{suffix}"
        path.write_bytes(data)
        texels = read_array(path)
        assert texels.shape == (9, 7, 4)
        if suffix in (".png", ".bmp", ".tif", ".tiff", ".pgm"):
            grey = np.asarray(NOISE, np.float32) / np.float32(255)
            np.testing.assert_array_equal(read_array(path, 2)[::-1], grey)
            np.testing.assert_array_equal(texels[::-1, :, 0], grey)


# Sizes -------------------------------------------------------------------------------------------


def png(width: int, height: int, *chunks: tuple[bytes, bytes], data: bytes = b"") -> bytes:
    """A grey PNG with such a header, whatever its data are."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    made = b"\x89PNG\r\n\x1a\n"
    for name, body in ((b"IHDR", head), *chunks, (b"IDAT", data), (b"IEND", b"")):
        made += struct.pack(">I", len(body)) + name + body
        made += struct.pack(">I", zlib.crc32(name + body))
    return made


HUGE = {
    ".png": png(13000, 13000),
    ".bmp": struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 1000, 0, 0, 54, 40, 13000, 13000, 1, 24,
                        0, 0, 0, 0, 0, 0),
    ".gif": b"GIF89a" + struct.pack("<HHBBB", 13000, 13000, 0, 0, 0)
            + b"," + struct.pack("<HHHHB", 0, 0, 13000, 13000, 0) + b"\x02\x00;",
    ".pgm": b"P5\n13000 13000\n255\n",
    ".ppm": b"P6\n13000 13000\n255\n",
    ".tif": b"II*\0\x08\0\0\0\x06\0" + b"".join(
        struct.pack("<HHII", tag, 4, 1, value)
        for tag, value in ((256, 13000), (257, 13000), (258, 8), (259, 1), (262, 1), (273, 100))
    ) + bytes(4),
}  # fmt: skip


@pytest.mark.parametrize("suffix", HUGE)
def test_a_picture_that_is_too_large_is_refused_by_its_header(tmp_path: Path, suffix: str) -> None:
    """169 Mpx, which Pillow itself would warn of and decode."""
    path = tmp_path / f"a{suffix}"
    path.write_bytes(HUGE[suffix])
    refused(path, "a picture of 13000×13000 pixels; at most 67108864 are read")


def test_a_small_file_of_169_million_pixels_takes_little_memory(tmp_path: Path) -> None:
    """20 KB, compressed for real; in a child with 1 GB of addresses above what it starts with."""
    squeezed = zlib.compressobj(9)
    data = b"".join(squeezed.compress(bytes(13001)) for _ in range(13000)) + squeezed.flush()
    path = tmp_path / "bomb.png"
    path.write_bytes(png(13000, 13000, data=data))
    code = (
        "import sys, resource, pathlib; from gpgpu_legacy.api.arrays import read_array\n"
        "from PIL import Image\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "read_array(pathlib.Path(sys.argv[1]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("gpgpu_legacy.errors.InputError: ")
    assert "MemoryError" not in ended.stderr
    assert "Warning" not in ended.stderr


# What else is in files ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", GOOD)
def test_damaged_pictures_are_pixels_or_one_line(tmp_path: Path, suffix: str) -> None:
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    before = len(list(Path("/proc/self/fd").iterdir()))
    path = tmp_path / f"a{suffix}"
    assert_read_or_refused(read_array, path, GOOD[suffix], ATTACK.count(60, 1500))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
