"""The tables and messages in the documentation are the ones that the package gives."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_pages import ROOT, generated, pages
from markdown_pages import recorded as recorded_tables

from gpgpu_legacy.algorithms.registry import products, shipped_algorithms
from gpgpu_legacy.chips.hosts import hosts
from gpgpu_legacy.papers.audit.result import recorded
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.formulas import formula_tables
from gpgpu_legacy.papers.host_misses import make_cases, published_times
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.present.grid import as_markdown
from gpgpu_legacy.studies.anomaly import FIT_SIZES, anomaly, fit

TABLES = ROOT / "docs" / "explanation" / "larson-mcallister-hall-carr-hart.md"
ANOMALY = ROOT / "docs" / "explanation" / "dobravec-bulic.md"
AUDIT = ROOT / "docs" / "explanation" / "audit.md"
LOWERING = ROOT / "docs" / "explanation" / "lowering.md"
BEGIN = "<!-- tables: pytest --update-golden writes what stands here -->\n"
END = "<!-- /tables -->"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_tables_1_and_2_are_the_regenerated_ones(update_golden: bool) -> None:
    text = TABLES.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    printed, after = rest.split(END)
    regenerated = as_markdown(formula_tables(1024, 32).grids())
    if update_golden:
        TABLES.write_text(before + BEGIN + regenerated + END + after, encoding="utf-8")
        return
    assert printed == regenerated


def test_the_tables_of_what_lowering_brings_are_those_of_the_recorded_files(
    update_golden: bool,
) -> None:
    text = LOWERING.read_text(encoding="utf-8")
    wanted = recorded_tables.with_recorded(text)
    if update_golden:
        LOWERING.write_text(wanted, encoding="utf-8")
    assert text == wanted or update_golden, "see pytest --update-golden"


def test_the_findings_are_those_of_the_audit(update_golden: bool) -> None:
    """Of each cause, its claims' first verdict; and how many claims have each."""
    order = [*AuditVerdict]
    claims = [(name.split()[0], e.cause, e.verdict) for name, e in recorded().claims.items()]
    worst: dict[tuple[str, str], int] = {}
    for paper, cause, verdict in claims:
        worst[paper, cause] = min(worst.get((paper, cause), 99), order.index(verdict))
    found = Counter((paper, order[place]) for (paper, _), place in worst.items())
    of = Counter((paper, verdict) for paper, _, verdict in claims)
    lines = [
        "| paper | " + " | ".join(v.value for v in order) + " | findings |",
        "| --- |" + " ---: |" * (len(order) + 1),
    ]
    rows = [(paper.short, {paper.id}) for paper in papers()]
    for title, ids in [*rows, ("all", {paper.id for paper in papers()})]:
        pairs = [[sum(n[i, v] for i in ids) for n in (found, of)] for v in order]
        pairs.append([sum(column) for column in zip(*pairs, strict=True)])
        lines.append(f"| {title} | " + " | ".join(f"{a} ({b})" for a, b in pairs) + " |")
    text = AUDIT.read_text(encoding="utf-8")
    begin = "<!-- audit: pytest --update-golden writes what stands here -->\n"
    before, rest = text.split(begin)
    printed, after = rest.split("<!-- /audit -->")
    wanted = "\n".join(lines) + "\n"
    if update_golden:
        AUDIT.write_text(before + begin + wanted + "<!-- /audit -->" + after, encoding="utf-8")
        return
    assert printed == wanted
    findings, differing = pairs[-1], pairs[order.index(AuditVerdict.DIFFERS)]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{findings[0]} findings from {findings[1]} claims" in readme
    assert f"{differing[0]} of them differ" in readme


def test_the_anomaly_is_told_with_the_commands_numbers() -> None:
    """The table of extra misses, the evidence, and what the fit rests on."""
    text = " ".join(ANOMALY.read_text(encoding="utf-8").split())
    published = published_times()
    found = anomaly(make_cases([hosts()[0].name]), sorted(published)).models
    table = re.findall(r"\| [\w ,`-]+ \| (1?[\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text)
    assert len(table) == len(found)
    for case, cells in zip(found, table, strict=True):
        assert (case.missed, case.false_alarms) == (0, 0)
        at = {outlier.size: outlier for outlier in case.outliers}
        extra = at[1536].extra_misses_relative
        misses = {row.size: row.misses for row in case.rows}
        numbers = misses[1024], misses[1536], extra
        assert cells == tuple(f"{n:.{d}f}" for n, d in zip(numbers, (3, 3, 2), strict=True))
    first = found[0]
    assert f"{first.outliers[1].extra_relative:.2f} of that at 1024" in text
    assert f"times at {len(first.published)} sizes" in text
    assert first.penalties is not None and first.support is not None
    costs = first.penalties.base_ns, first.penalties.dtlb_ns, first.penalties.miss_ns
    assert "({:.2f} ns per iteration, {:.2f} ns per DTLB miss, {:.1f} ns per".format(*costs) in text
    predicted = [row for row in first.published if not row.is_fitted]
    assert first.support.degrees_of_freedom == 0
    assert f"The other {len(predicted)} sizes are predictions" in text
    assert first.support.miss_range_ns is not None
    assert "{:.1f} to {:.1f} ns, whichever".format(*first.support.miss_range_ns) in text
    at = {row.size: row for row in first.published}
    rest = [at[n] for n in FIT_SIZES if n != 480]
    assert fit(rest).dtlb_ns is None
    dtlb = [fit([at[n], *rest]).dtlb_ns for n in (560, 640, 720, 800)]
    assert [f"{ns:.1f}" for ns in dtlb if ns] == ["2.0", "2.5", "1.6", "0.5"]
    assert "it is 2.0, 2.5, 1.6 or 0.5 ns" in text
    pages = [[4 * (480 * i + j) // 4096 for j in range(480)] for i in range(480)]
    within = [a == b for row, below in pairwise(pages) for a, b in zip(row, below, strict=True)]
    assert f"{100 * sum(within) / len(within):.0f} % of the steps at n = 480" in text
    errors = {
        row.size: abs(row.predicted_ns / row.published_ns - 1)
        for row in predicted
        if row.predicted_ns and row.published_ns
    }
    assert {n for n, error in errors.items() if n >= 512 and error > 0.09} == {1536}


@cache
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


def test_the_links_of_the_site_lead_to_what_it_has() -> None:
    """Links to files that are no pages of the documentation: `make site` makes them."""
    [rule] = re.findall(r"^site:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "/page.html" in rule and "docs/plays.py" in rule
    played = (a.name for a in shipped_algorithms() if a not in products())
    made = {"page.html", *(f"play/{name}.html" for name in played)}
    linked = {
        link
        for page in (ROOT / "docs").glob("*.md")
        for link in re.findall(r'href="([^":]+)"', page.read_text(encoding="utf-8"))
    }
    assert {
        link for link in linked if not (ROOT / "docs" / link).with_suffix(".md").is_file()
    } == made


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = {
        line
        for toctree in re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
        for line in toctree.splitlines()
        if line and not line.startswith(":")
    }
    docs = ROOT / "docs"
    texts = [page for page in pages() if docs in page.parents]
    notebooks = (docs / "notebooks").glob("*.ipynb")
    there = {str(page.relative_to(docs).with_suffix("")) for page in (*texts, *notebooks)}
    assert named == there - {"index"}


def test_the_citation_and_the_changelog_know_the_version() -> None:
    [version] = re.findall(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 8 * 1024
