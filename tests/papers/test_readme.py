"""The README's tables are the ones that the package regenerates."""

from __future__ import annotations

from pathlib import Path

from gpgpu_legacy.report.render import as_markdown, grids
from gpgpu_legacy.report.tables import regenerate

README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- tables: pytest --update-golden writes what stands here -->\n"
END = "<!-- /tables -->"


def test_tables_in_the_readme_are_the_regenerated_ones(update_golden: bool) -> None:
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    printed, after = rest.split(END)
    regenerated = as_markdown(grids(regenerate(1024, 32)))
    if update_golden:
        README.write_text(before + BEGIN + regenerated + END + after, encoding="utf-8")
        return
    assert printed == regenerated
