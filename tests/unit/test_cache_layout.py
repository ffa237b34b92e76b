"""Where texels lie: against hand work, plain Python, and what any layout must keep."""

from __future__ import annotations

import numpy as np
import pytest
from cache_conventions import number_of, texels_of
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.cache.layout import Layout, parse_layout
from gpgpu_legacy.errors import InputError

NAMES = ("linear", "4x4", "8x8", "3x5", "1x7", "morton", "6d")


def numbers(layout: Layout, width: int, rows: int) -> list[list[int]]:
    """Of each texel, row 0 first, how many lie before it."""
    placed = layout.place(width, rows, 1)
    return (placed.x[None, :] + placed.y[:, None]).tolist()


@pytest.mark.parametrize(
    ("name", "width", "rows", "expected", "texels"),
    [
        ("linear", 3, 2, [[0, 1, 2], [3, 4, 5]], 6),
        ("2x2", 3, 3, [[0, 1, 4], [2, 3, 6], [8, 9, 12]], 16),
        ("2x1", 3, 2, [[0, 1, 2], [4, 5, 6]], 8),
        ("morton", 4, 2, [[0, 1, 4, 5], [2, 3, 6, 7]], 8),
        ("morton", 2, 4, [[0, 1], [2, 3], [4, 5], [6, 7]], 8),
        ("morton", 4, 4, [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]], 16),
        ("morton", 3, 3, [[0, 1, 4], [2, 3, 6], [8, 9, 12]], 16),
        ("morton", 5, 1, [[0, 1, 2, 3, 4]], 8),
        ("6d:2x1,4x2", 5, 3,
         [[0, 1, 2, 3, 8], [4, 5, 6, 7, 12], [16, 17, 18, 19, 24]], 32),
    ],
)  # fmt: skip
def test_small_ones_by_hand(
    name: str, width: int, rows: int, expected: list[list[int]], texels: int
) -> None:
    layout = parse_layout(name)
    assert numbers(layout, width, rows) == expected
    assert layout.place(width, rows, 16).size_bytes == 16 * texels


@given(st.sampled_from(NAMES), st.integers(1, 70), st.integers(1, 70))
def test_texels_lie_as_plain_python_has_it(name: str, width: int, rows: int) -> None:
    expected = [[number_of(name, (width, rows), (x, y)) for x in range(width)] for y in range(rows)]
    assert numbers(parse_layout(name), width, rows) == expected
    assert parse_layout(name).place(width, rows, 2).size_bytes == 2 * texels_of(name, (width, rows))


SIDE = st.sampled_from((1, 2, 3, 4, 6))
NESTED = st.tuples(SIDE, SIDE, SIDE, SIDE).map(
    lambda s: f"6d:{s[0]}x{s[1]},{s[0] * s[2]}x{s[1] * s[3]}"
)


@given(
    st.one_of(st.sampled_from(NAMES), NESTED),
    st.integers(1, 100),
    st.integers(1, 100),
    st.sampled_from((1, 2, 4, 8, 16)),
)
def test_no_two_texels_share_a_byte_and_all_lie_inside(
    name: str, width: int, rows: int, texel_bytes: int
) -> None:
    placed = parse_layout(name).place(width, rows, texel_bytes)
    addresses = np.unique(placed.x[None, :] + placed.y[:, None])
    assert len(addresses) == width * rows
    assert addresses[0] == 0
    assert addresses[-1] + texel_bytes <= placed.size_bytes
    assert (addresses % texel_bytes == 0).all()


@pytest.mark.parametrize(
    ("text", "name"),
    [("Linear", "linear"), (" 4X4 ", "4x4"), ("08x8", "8x8"), ("MORTON", "morton"), ("6D", "6d"),
     ("6d:4x4,32x32", "6d"), ("6d:2x2,8x8", "6d:2x2,8x8")],
)  # fmt: skip
def test_names_read_back(text: str, name: str) -> None:
    layout = parse_layout(text)
    assert layout.name == name
    assert parse_layout(name) == layout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("blocked", "there is no texture layout 'blocked'; choose from linear"),
        ("4x", "there is no texture layout"),
        ("6d:4x4", "there is no texture layout"),
        ("x6d:4x4,8x8", "there is no texture layout"),
        ("", "there is no texture layout"),
        ("0x4", "a block of 0x4 is out of range; its sides are 1 to 8192"),
        ("4x9000", "out of range"),
        ("6d:4x4,30x32", "multiples of the small ones"),
        ("6d:8x8,4x4", "multiples of the small ones"),
    ],
)
def test_other_spellings_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_layout(text)
