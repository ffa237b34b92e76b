"""Where texels lie: against hand work, plain Python, and what any layout must keep."""

from __future__ import annotations

import pytest
from cache_conventions import number_of, texels_of
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.cache.access import Layout, parse_layout
from gpgpu_legacy.errors import InputError

NAMES = ("linear", "4x4", "8x8", "3x5", "1x7", "morton", "6d")


def numbers(layout: Layout, width: int, rows: int) -> list[list[int]]:
    """Of each texel, row 0 first, how many lie before it."""
    placed = layout.place(width, rows, 1)
    return (placed.x[None, :] + placed.y[:, None]).tolist()


@given(st.sampled_from(NAMES), st.integers(1, 70), st.integers(1, 70))
def test_texels_lie_as_plain_python_has_it(name: str, width: int, rows: int) -> None:
    expected = [[number_of(name, (width, rows), (x, y)) for x in range(width)] for y in range(rows)]
    assert numbers(parse_layout(name), width, rows) == expected
    assert parse_layout(name).place(width, rows, 2).size_bytes == 2 * texels_of(name, (width, rows))


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
        ("6d:4x4", "there is no texture layout"),
        ("0x4", "a block of 0x4 is out of range; its sides are 1 to 8192"),
        ("6d:4x4,30x32", "multiples of the small ones"),
    ],
)
def test_other_spellings_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_layout(text)
