"""Tables as text: whatever the width of the terminal, no number and no name is broken."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from gpgpu_legacy.present import grid as grids_module
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, plain, print_text
from gpgpu_legacy.serial import read_recorded, with_fields, write_json
from gpgpu_legacy.studies.shared.cache_rows import CacheTable

Command = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
LIFE = str(ROOT / "shaders" / "examples" / "life.fp")

CHEAP = [
    ("doctor",),
    ("tables", "--no-measure"),
    ("tables", "dobravec-bulic-2017", "--no-measure"),
    ("audit", "dobravec-bulic-2017", "--all"),
    ("predict", "hall-carr-hart-multi", "n=256", "--chip", "radeon-9700-pro", "--all"),
    ("check", LIFE, "--chip", "radeon-9700-pro", "--all"),
    ("run", "hall-carr-hart-multi", "n=8", "--executor", "numpy", "--all"),
    ("cache", "hall-carr-hart-multi", "n=32", "block=4,8", "--all"),
    ("study", "cache-table", "--from", "{part}", "--all"),
]


def must_be_whole(cell: str) -> Iterator[str]:
    """What a table may not break: a short cell, a name or number, numbers with strokes between."""
    if len(cell) <= 16 or " " not in cell:
        yield cell
        return
    yield from cell.split()
    yield from re.findall(r"\d+(?: / \d+)+", cell)


def broken(cells: list[str], text: str) -> list[str]:
    """What a text with these cells has broken. A narrow space is part of a number."""
    pieces = {piece for cell in cells for line in cell.split("\n") for piece in must_be_whole(line)}
    text = re.sub("[│┃]", " ", f" {text}").replace("\n", "\n ")
    words = set(re.split("[ \n]+", text))
    words |= {word.rstrip(".,") for word in words}
    return [piece for piece in sorted(pieces - {""} - words) if f" {piece}" not in text]


def cells_of(grids: list[Grid]) -> list[str]:
    return [plain(entry) for grid in grids for row in grid.rows for entry in row]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Grid]:
    """The tables that commands print, as they are printed."""
    seen: list[Grid] = []

    def show(grids: list[Grid], console: Console) -> None:
        seen.extend(grids)
        print_text(grids, console)

    monkeypatch.setattr(grids_module, "print_text", show)
    return seen


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with 4 of the 24 tables, all alike, of the recorded cache table."""
    table = read_recorded(BENCHMARKS / "cache-table.json", CacheTable)
    rows = [row for row in table.rows if row.raster == "scan" and row.in_flight in {1, 256}]
    path = tmp_path_factory.mktemp("part") / "table.json"
    write_json(path, with_fields(table, rows=tuple(rows)))
    return str(path)


@pytest.mark.parametrize("words", CHEAP, ids=lambda words: " ".join(words[:3])[:40])
def test_no_command_breaks_a_number_or_a_name(
    words: tuple[str, ...],
    run: Command,
    shown: list[Grid],
    part: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*(word.format(part=part) for word in words))
    assert code == 0 and shown
    assert broken(cells_of(shown), out) == []
    for width in (80, 60, 40, 20):
        text = "".join(printed(grid, width) for grid in shown)
        assert text in out or width < 80
        assert broken(cells_of(shown), text) == []
        assert width < 60 or max(map(len, text.splitlines())) <= width


# Any table -------------------------------------------------------------------------------------

WORD = st.text("abc-/.", min_size=1, max_size=12)
ENTRIES: st.SearchStrategy[Entry] = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.booleans(),
    st.lists(st.integers(0, 9999).map(str), min_size=2, max_size=4).map(" / ".join).map(Numeral),
    st.lists(WORD, max_size=40).map(" ".join),
)
HEADS = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> Grid:
    wide = draw(st.integers(1, 8))
    heads = tuple(draw(HEADS) for _ in range(wide))
    rows = draw(st.lists(st.tuples(*[ENTRIES] * wide), max_size=5))
    return Grid("any", draw(HEADS), heads, tuple(rows), tuple(draw(st.lists(HEADS, max_size=2))))


def printed(grid: Grid, width: int, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="")
    print_text([grid], Console(file=file, width=width, highlight=False))
    file.flush()
    return raw.getvalue().decode(encoding)


@settings(max_examples=40)
@given(tables(), st.integers(40, 160))
def test_any_table_is_whole_at_any_width(grid: Grid, width: int) -> None:
    text = printed(grid, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert broken(cells_of([grid]), text) == []
    columns = zip(grid.heads, *grid.rows, strict=True)
    assert broken([head for head, *entries in columns if entries and "" not in entries], text) == []


LIMITS = Grid(
    "limits",
    "The limits.",
    ("chip", "ALU / TEX / all", "what it is"),
    (("a", "268 / 435 / 456", "w" * 30), ("b", "64 / 32 / 96", "v" * 30)),
)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (64, ["┏━━━━━━┳"]),
        (54, ["chip             a", "ALU / TEX / all  268 / 435 / 456", f"what it is       {'v' * 30}"]),  # noqa: E501
        (34, ["chip", "  a", "ALU / TEX / all", "  268 / 435 / 456", "what it is", f"  {'w' * 30}"]),  # noqa: E501
    ],
)  # fmt: skip
def test_a_table_takes_the_first_form_that_fits(width: int, expected: list[str]) -> None:
    lines = [line.rstrip() for line in printed(LIMITS, width).splitlines()]
    assert [line for line in expected if not any(x.startswith(line) for x in lines)] == []
