"""The report: its files, its page, and that a report that fails leaves the one before as it was."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown_pages import ROOT

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.page import report as report_room
from gpgpu_legacy.page.report import write_report
from gpgpu_legacy.page.sections import SECTIONS
from gpgpu_legacy.page.sections.tables import NAME as TABLES
from gpgpu_legacy.papers.formulas import methods_of_tables
from gpgpu_legacy.serial import read_recorded, with_fields


class Reader(HTMLParser):
    """The attributes that elements have, in their order; every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in {"meta", "link", "img", "br", "wbr", "source", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, name: str, *tags: str) -> list[str]:
        """The values of an attribute, of these elements or of any."""
        found = [(tag, value or "") for tag, of, value in self.attributes if of == name]
        return [value for tag, value in found if not tags or tag in tags]


@pytest.fixture(scope="module", autouse=True)
def small_simulations() -> Iterator[None]:
    """The tables through caches are of 16×16 matrices: here they only have to be in the files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_room, "_CACHED_SIZE", 16)
        yield


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("made") / "report", 16, 4)


def read(file: Path) -> Reader:
    reader = Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader


def test_the_page_is_whole_and_what_it_points_to_is_there(report: Path) -> None:
    reader = read(report)
    assert report.stat().st_size < 3e6
    assert reader.all("id", "section") == [*SECTIONS, "executors", "files"]  # nothing was measured
    assert not reader.open
    places = [*reader.all("href"), *reader.all("src")]
    local = [place for place in places if not place.startswith(("#", "?", "http", "data:"))]
    assert {"figure-2.png", "figure-2.gif", "tables.json"} <= set(local)
    assert [place for place in local if not (report.parent / place).is_file()] == []
    # A link is to an element, or to a moment of a section, as in #audit.claim=….
    anchors = {place[1:].partition(".")[0] for place in places if place.startswith("#")}
    assert anchors <= {*reader.all("id", "h2", "h3", "section", "div")}


def test_the_page_has_what_was_measured_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, seconds = "a device of the test", 0.0125
    recorded = read_recorded(ROOT / "benchmarks" / "bench-h200.json", Bench)
    [one, *_] = recorded.results
    results = tuple(
        with_fields(one, plan=name, executor="the-executor", device=device, seconds=seconds)
        for name in methods_of_tables()
    )
    bench = with_fields(recorded, results=results, not_run=())
    benchmark: Any = SimpleNamespace(measure=lambda *_: bench)
    monkeypatch.setattr(report_room, "SECTIONS", (TABLES,))
    page = write_report(tmp_path / "report", 1024, 32, benchmark)
    assert read(page).all("id", "section") == [TABLES, "measured-here", "executors", "files"]
    text = page.read_text("utf-8")
    rows = [row for row in text.split("<tr>") if '"executor">the-executor' in row]
    assert all(f">{name}<" in row for name, row in zip(methods_of_tables(), rows, strict=True))
    # Larson & McAllister's 16 bytes a fragment, of n² fragments, in n passes.
    rate = f"{16 * 1024**3 / seconds / 1e9:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    assert f"this machine: 12.5 ms, {rate} GB/s" in text


def test_a_report_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "report"
    before.mkdir()
    (before / "index.html").write_text("before")

    def fails(*_: object) -> None:
        raise InputError("no figure today")

    monkeypatch.setattr(report_room, "SECTIONS", (TABLES,))
    monkeypatch.setattr(report_room, "png_of", fails)
    with pytest.raises(InputError, match="no figure today"):
        write_report(before, 8, 2)
    assert (before / "index.html").read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["report"]
