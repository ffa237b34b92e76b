"""The tables on the page, against closed forms and printed numbers that the tests compute."""

from __future__ import annotations

import re
from html import unescape

import pytest

from gpgpu_legacy.page.recordings import recordings
from gpgpu_legacy.page.sections.tables import (
    BLOCK,
    SIZE,
    CellLine,
    Cells,
    bars_of,
    make_section,
    tables_of,
)
from gpgpu_legacy.papers.audit.result import recorded
from gpgpu_legacy.papers.published.papers import find_paper, papers

HALL, OPENGL, MALI = "hall-carr-hart-2003", "opengl-compute", "mali-sdk-sgemm"
N, B = SIZE, BLOCK


def tables(paper: str) -> list[Cells]:
    return tables_of(find_paper(paper), recorded())


def line(lines: tuple[CellLine, ...], row: str, column: str) -> CellLine:
    [found] = [one for one in lines if (one.row, one.column) == (row, column)]
    return found


def digits(text: str) -> int:
    return int("".join(character for character in text if character.isdigit()))


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        (0, "bytes / fragment", (16, 4 * (2 * B + 2), 16 * (2 * B + 2))),
        (0, "total bytes", (16 * N**3, 8 * N**3 * (B + 1) // B, 4 * N**3 * (B + 1) // B)),
        (1, "total instructions", (2 * N**3, None, None)),
    ],
)
def test_the_counts_are_those_of_the_closed_forms(
    table: int, column: str, values: tuple[int | None, ...]
) -> None:
    names = ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi")
    lines = tables(HALL)[table].lines
    for name, value in zip(names, values, strict=True):
        one = line(lines, name, column)
        assert one.counted and one.derived
        if value is not None:
            assert digits(one.counted.text) == value
            assert f"it is {one.counted.text}" in " ".join(one.published.how)


def test_the_measured_column_is_what_was_recorded() -> None:
    one = line(tables(HALL)[0].lines, "hall-carr-hart-multi", "total bytes")
    times = [t for t in recordings().times if (t.method, t.size) == (one.row, N)]
    assert one.measured and len(one.measured.how) == len(times) > 2
    for time, how in zip(times, one.measured.how, strict=True):
        assert f"{1e3 * time.seconds:.4g} ms" in how and f"benchmarks/{time.file}" in how
        requested = 4 * N**3 * (B + 1) / B / time.seconds / 1e9
        rate = re.search(r"([\d\N{NARROW NO-BREAK SPACE}]+) GB/s requested", how)
        assert rate and digits(rate[1]) == pytest.approx(requested, rel=0.02)


def test_bars_are_parts_of_the_largest_formula() -> None:
    bars = bars_of(tables(HALL)[0])
    assert list(bars) == ["passes", "fragments / pass", "bytes / fragment", "total bytes"]
    shares = [share for _, share in bars["total bytes"]]
    assert shares == pytest.approx([1, (B + 1) / B / 2, (B + 1) / B / 4])
    assert [share for _, share in bars["passes"]] == pytest.approx([1, 1 / B, 1 / (2 * B)])
    assert not bars_of(tables(OPENGL)[0])


def test_every_cell_of_every_table_is_on_the_page() -> None:
    html = make_section().html
    shown = re.findall(r'data-claim-of="([^"]+)"', html)
    cells = [
        f"{paper.id}/{claim.id}"
        for paper in papers()
        for claim in paper.claims
        if not claim.is_of_text
    ]
    assert sorted(map(unescape, shown)) == sorted(cells)
