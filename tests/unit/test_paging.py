"""Which frames pages have: colours, and the order in which XNU gives frames out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plain_xnu import PlainXnu

from gpgpu_legacy.cache.host import PageKind, Pages, Paging, parse_paging
from gpgpu_legacy.chips.hosts import find_host
from gpgpu_legacy.errors import InputError

RANDOM = Paging(PageKind.RANDOM, seed=3)
PAGINGS = [
    RANDOM,
    Paging(fraction=0.3, seed=4),
    Paging(fraction=1.0, seed=5),
    Paging(PageKind.XNU, first=7),
    Paging(PageKind.XNU, 0.2, seed=6),
]
P8800 = Pages(used=5000, described=512, frames=(4 << 30) // 4096, colours=64)


def test_frames_are_different_and_of_the_colours_that_are_asked_for() -> None:
    hierarchy = find_host("core2-3mb").hierarchy
    assert hierarchy.colours == 64  # 4096 sets of 64 bytes over 4096 bytes
    assert hierarchy.pages(5000 * 4096) == P8800
    assert (Paging().map(P8800) == np.arange(5010)).all()
    for paging in (*PAGINGS, Paging(PageKind.XNU, first=511)):
        frames = paging.map(P8800)
        tables = 11 if paging.first == 511 else 10
        assert len(frames) == len(set(frames.tolist())) == 5000 + tables
        assert (paging.map(P8800) == frames).all()
        assert frames.min() >= 0 and frames.max() < P8800.frames
    astray = (Paging(fraction=0.1, seed=1).map(P8800) - np.arange(5010)) % 64 != 0
    assert 0.07 < astray.mean() < 0.13
    assert (RANDOM.map(P8800) != replace(RANDOM, seed=2).map(P8800)).any()


def test_pages_that_memory_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match="257 pages are needed and memory has 256"):
        Paging().map(Pages(used=249, described=32, frames=256, colours=2))  # 8 of them describe


@pytest.mark.parametrize(("used", "first"), [(1, 0), (1, 3), (512, 0), (513, 0), (2000, 500)])
def test_xnu_gives_colours_in_the_order_of_first_touches(used: int, first: int) -> None:
    plain = PlainXnu(1 << 13, 64)
    plain.grab()  # the first colour of a program is any
    pages, tables = plain.touch(used, first)
    found = Paging(PageKind.XNU, first=first).map(P8800._replace(used=used))
    assert ((found - np.array(pages + tables)) % 64 == 63).all()


@pytest.mark.parametrize(
    "text", ["coloured", "random", "miscoloured:0.05", "xnu", "xnu@300", "xnu:0.01", "xnu@2:0.5"]
)
def test_paging_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_paging(text)) == text
    assert parse_paging(f" {text.upper()} ", 7).seed == 7


@pytest.mark.parametrize(
    "text",
    [
        "colored",
        "random:1",
        "miscoloured",
        "miscoloured:x",
        "",
        "xnu@",
        "xnu@x",
        "random@1",
        "xnu:",
    ],
)
def test_paging_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match=r"write coloured, random, miscoloured:0\.1"):
        parse_paging(text)


def test_a_fraction_is_from_0_to_1() -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        parse_paging("miscoloured:1.5")
    with pytest.raises(InputError, match=r"pages that others take is 2\.0; give one from 0"):
        parse_paging("xnu:2")
