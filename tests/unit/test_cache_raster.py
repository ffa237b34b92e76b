"""In which order fragments come: against hand work, plain Python, and what any order must keep."""

from __future__ import annotations

import pytest
from cache_conventions import Place, order_of, order_of_quads
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.cache.access import Raster, parse_raster
from gpgpu_legacy.errors import InputError

NAMES = ("scan", "tiled:8x8", "tiled:3x2", "tiled:1x5", "tiled:64x2", "morton", "hilbert")
EVEN = ("scan", "tiled:8x8", "tiled:2x6", "morton", "hilbert")


def places(raster: Raster, width: int, height: int, *, quads: bool = False) -> list[Place]:
    xs, ys = raster.positions(width, height, quads=quads)
    return [*zip(xs.tolist(), ys.tolist(), strict=True)]


@given(st.sampled_from(NAMES), st.integers(1, 40), st.integers(1, 40))
def test_orders_are_those_of_plain_python(name: str, width: int, height: int) -> None:
    assert places(parse_raster(name), width, height) == order_of(name, width, height)


@given(st.sampled_from(EVEN), st.integers(1, 40), st.integers(1, 40))
def test_quads_come_in_the_same_order(name: str, width: int, height: int) -> None:
    expected = [(four[0][0] // 2, four[0][1] // 2) for four in order_of_quads(name, width, height)]
    assert places(parse_raster(name), width, height, quads=True) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [("Scan", "scan"), ("8x8", "tiled:8x8"), ("tiled:16X2", "tiled:16x2"), (" morton", "morton"),
     ("HILBERT", "hilbert")],
)  # fmt: skip
def test_names_read_back(text: str, name: str) -> None:
    raster = parse_raster(text)
    assert raster.name == name
    assert parse_raster(name) == raster


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tiled", "there is no raster order 'tiled'; choose from scan"),
        ("peano", "there is no raster order"),
        ("tiled:8", "there is no raster order"),
        ("tiled:0x8", "a tile of 0x8 is out of range; its sides are 1 to 8192"),
    ],
)
def test_other_spellings_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_raster(text)
