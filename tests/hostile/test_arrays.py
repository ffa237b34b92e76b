"""Arrays in files that were damaged, or made to do harm: numbers or one line, and little memory."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from attacks import ATTACK, assert_read_or_refused, refusal

from gpgpu_legacy.api.arrays import read_array

MiB = 2**20


@contextmanager
def little_memory(most: int = 64 * MiB) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def refused(path: Path, *words: str) -> None:
    with little_memory():
        message = refusal(read_array, path)
    assert all(word in message for word in words), message


def npy(header: str, version: tuple[int, int] = (1, 0), data: bytes = b"") -> bytes:
    text = header.encode("utf-8") + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def header(descr: str, shape: str, order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


HEADERS = {
    "a trillion": header("'<f4'", "(1000000, 1000000)"),
    "beyond every integer": header("'<f4'", f"({10**40}, 1)"),
    "more than follow": header("'<f4'", "(1000, 1000)"),
    "a product that wraps to 0": header("'<f4'", "(4294967296, 4294967296)"),
    "negative": header("'<f4'", "(-1, -4)"),
    "not whole": header("'<f4'", "(1.5, 2)"),
    "true": header("'<f4'", "(True, 1)"),
    "one number": header("'<f4'", "3"),
    "objects": header("'|O'", "(1,)"),
    "texts": header("'<U100000000'", "(1,)"),
    "dates": header("'<M8[s]'", "(1,)"),
    "records": header("[('a', '<f4'), ('b', '|O')]", "(1,)"),
    "records of numbers": header("[('é', '<f4')]", "(1,)"),
    "arrays in an array": header("'(1000000,1000000)f4'", "(1,)"),
    "no type": header("'x' * 10**9", "(1,)"),
    "a call": "__import__('os').system('true')",
    "nesting": "(" * 9000 + ")" * 9000,
    "signs": "-" * 9000 + "1",
    "no end": "{'descr':",
    "empty": "",
    "zero bytes": "\0" * 50,
}


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0), (9, 9)])
@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS.keys())
def test_a_hostile_header(tmp_path: Path, text: str, version: tuple[int, int]) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(text, version, b"\0" * 16))
    refused(path, str(path))


def test_sparse_files_are_refused_by_their_size(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.truncate(2**26 + 1)
    refused(path, "has more than 67108864 bytes")
    whole = tmp_path / "a.npy"
    whole.write_bytes(npy(header("'<f4'", "(500000, 500000)")))
    os.truncate(whole, 2**40 + 2**20)
    refused(whole, "500000×500000 elements; at most 1073741824")


def good_files() -> dict[str, bytes]:
    matrix = np.random.default_rng(0).random((5, 4)).astype(np.float32)
    made = io.BytesIO()
    np.save(made, matrix)
    text = "\n".join(",".join(map(str, row)) for row in matrix.tolist())
    return {".npy": made.getvalue(), ".csv": text.encode()}


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_damaged_files_are_numbers_or_one_line(tmp_path: Path, suffix: str) -> None:
    cases, path = ATTACK.count(400, 8000), tmp_path / f"a{suffix}"
    assert_read_or_refused(read_array, path, good_files()[suffix], cases)
