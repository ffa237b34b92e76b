"""The examples in the wheel: those of the pages, and their commands run where they are copied."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, blocks, shell_lines

from gpgpu_legacy.cli import app
from gpgpu_legacy.errors import InputError

EXAMPLES = ROOT / "shaders" / "examples"
PAGES = {
    "tutorials/brook.md": ("drum.br",),
    "tutorials/your-own-algorithm.md": ("heat.fp", "heat.py"),
    "how-to/log-steps.md": ("largest.fp", "largest.py"),
    "reference/plan-json.md": ("halve.json",),
}


@pytest.mark.parametrize("page", PAGES)
def test_an_example_of_a_page_is_its_last_file_of_that_name(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    saved = {block.caption: block.text for block in blocks(text) if block.is_file}
    for name in PAGES[page]:
        assert (EXAMPLES / name).read_text(encoding="utf-8") == saved[name]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["examples", "new"])
    assert result.exit_code == 0, result.output
    monkeypatch.chdir("new")
    monkeypatch.syspath_prepend(tmp_path / "new")
    yield tmp_path / "new"
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_every_example_has_a_command_that_runs(copied: Path) -> None:
    text = (copied / "README.txt").read_text(encoding="utf-8").partition("\n\n")[2]
    for line in shell_lines(text):
        program, *words = shlex.split(line)
        assert program == "gpgpu-legacy"
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}: {result.output}"
    named = set(re.findall(r"[\w-]+\.(?:br|cg|csv|fp|json|py|texenv)\b", text))
    assert named == {file.name for file in EXAMPLES.iterdir()} - {"README.txt"}


def test_nothing_is_overwritten(copied: Path) -> None:
    (copied / "README.txt").unlink()
    (copied / "heat.py").write_text("mine")
    with pytest.raises(InputError, match=r"blur\.cg is there already; give another folder"):
        CliRunner().invoke(app, ["examples", str(copied)], catch_exceptions=False)
    assert (copied / "heat.py").read_text() == "mine"
    assert not (copied / "README.txt").exists()
