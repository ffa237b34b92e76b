"""The README's tables are the ones that the package regenerates, and its commands exist."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from gpgpu_legacy.cli import app
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.papers.audit.record import recorded
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.papers.formulas.model import regenerate
from gpgpu_legacy.papers.formulas.table import grids
from gpgpu_legacy.present.grid import as_markdown
from gpgpu_legacy.published.papers import papers

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
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


def commands(text: str) -> list[str]:
    """What follows `gpgpu-legacy` on lines of code and between backticks."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = re.findall(r"^gpgpu-legacy ([^:\n][^\n]*)", joined, flags=re.MULTILINE)
    return lines + re.findall(r"`gpgpu-legacy ([^`]+)`", joined)


def test_commands_are_found() -> None:
    found = commands(
        "gpgpu-legacy run a \\\n    --size 4   # c\ngpgpu-legacy: no\n`gpgpu-legacy b`"
    )
    assert found == ["run a --size 4   # c", "b"]


@pytest.mark.parametrize("command", commands(README.read_text(encoding="utf-8")))
def test_every_command_in_the_readme_is_one(command: str) -> None:
    """It is read as the command line reads it, and not carried out."""
    name, *arguments = shlex.split(command, comments=True)
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert name in known
    if arguments:
        known[name].make_context(name, arguments)


def test_the_python_in_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = README.read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(block, space)
    assert space["blurred"].shape == (48, 64, 4)
    assert space["result"].outputs["C"].shape == (60, 50)
    with pytest.raises(InputError, match="closed"):
        space["prepared"].run({"A": np.zeros((60, 40)), "B": np.zeros((40, 50))})


def test_the_messages_in_the_readme_are_those_of_the_assembler() -> None:
    text = (ROOT / "shaders/examples/blur.fp").read_text(encoding="utf-8")
    slips = {
        "SUB left, place, step": "SUB left, place, stpe",
        "TEX middle, place, texture[0], RECT": "TEX middle, place, texture[0], 2d",
        "result.color": "result.colour",
    }
    for right, wrong in slips.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    with pytest.raises(AssemblyError) as refused:
        assemble(text, "blur.fp")
    assert f"```\n{refused.value}\n```" in README.read_text(encoding="utf-8")


def test_the_verdicts_in_the_readme_are_those_of_the_audit() -> None:
    text = README.read_text(encoding="utf-8")
    found = Counter((name.split()[0], e.verdict.value) for name, e in recorded().claims.items())
    for paper in papers():
        counts = [found[paper.id, verdict.value] for verdict in Verdict]
        assert f"| {paper.short} | " + " | ".join(map(str, [*counts, sum(counts)])) in text
    totals = [sum(n for (_, v), n in found.items() if v == verdict.value) for verdict in Verdict]
    assert "| all | " + " | ".join(map(str, [*totals, sum(totals)])) in text


def test_what_the_readme_points_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    local = [place for place in re.findall(r"\]\(([^)#]+)\)", text) if ":" not in place]
    named = re.findall(r"(?:shaders|figures)/[\w./-]*\w", text)
    rooms = [f"gpgpu_legacy/{place}" for place in re.findall(r"`(lower/\w+\.py)`", text)]
    assert {*local, *named, *rooms} > {"figures/multichannel.png", "shaders/examples/phong.fp"}
    assert [place for place in {*local, *named, *rooms} if not (ROOT / place).exists()] == []
