"""The tables and messages in the documentation are the ones that the package gives."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from markdown_pages import ROOT, generated, pages

from gpgpu_legacy.papers.audit.record import recorded
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.papers.formulas.model import regenerate
from gpgpu_legacy.papers.formulas.table import grids
from gpgpu_legacy.present.grid import as_markdown
from gpgpu_legacy.published.papers import papers

TABLES = ROOT / "docs" / "explanation" / "larson-mcallister-hall-carr-hart.md"
AUDIT = ROOT / "docs" / "explanation" / "audit.md"
BEGIN = "<!-- tables: pytest --update-golden writes what stands here -->\n"
END = "<!-- /tables -->"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_tables_1_and_2_are_the_regenerated_ones(update_golden: bool) -> None:
    text = TABLES.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    printed, after = rest.split(END)
    regenerated = as_markdown(grids(regenerate(1024, 32)))
    if update_golden:
        TABLES.write_text(before + BEGIN + regenerated + END + after, encoding="utf-8")
        return
    assert printed == regenerated


def test_the_verdicts_are_those_of_the_audit() -> None:
    text = AUDIT.read_text(encoding="utf-8")
    entries = [(name.split()[0], entry) for name, entry in recorded().claims.items()]
    found = Counter((name, entry.verdict) for name, entry in entries)
    causes = Counter(name for name, _ in {(name, e.cause) for name, e in entries if e.cause})
    rows = {
        paper.short: [*(found[paper.id, verdict] for verdict in Verdict), causes[paper.id]]
        for paper in papers()
    }
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    for name, counts in rows.items():
        assert f"| {name} | " + " | ".join(map(str, [*counts, sum(counts[:-1])])) + " |" in text


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and Sphinx spell them."""
    text = generated.with_generated(page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return set(map(generated.anchor, headings))


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if ":" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
    named = re.findall(r"`((?:shaders|figures|benchmarks|gpgpu_legacy)/[\w./-]*\w)`", text)
    rooms = [f"gpgpu_legacy/{place}" for place in re.findall(r"`(\w+/\w+\.(?:py|toml))`", text)]
    there = {*named, *(room for room in rooms if not (ROOT / room[13:]).exists())}
    assert [place for place in there if not (ROOT / place).exists()] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = {
        line
        for toctree in re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
        for line in toctree.splitlines()
        if line and not line.startswith(":")
    }
    docs = ROOT / "docs"
    there = {
        str(page.relative_to(docs).with_suffix("")) for page in pages() if docs in page.parents
    }
    assert named == there - {"index"}


def test_the_citation_and_the_changelog_know_the_version() -> None:
    [version] = re.findall(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 8 * 1024
