"""Grammars' tables: read back as they were built, and built where there is nowhere to keep them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpgpu_legacy.languages.grammars import open_grammar

PACKAGE, TEXT = "a_language", "sums = 1 + 2 + 3"
GRAMMAR = r"""
assignment: NAME "=" sum
sum: NUMBER ("+" NUMBER)*
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""


@pytest.fixture(autouse=True)
def language(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path_factory.mktemp("languages") / PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "grammar.lark").write_text(GRAMMAR)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpgpu-legacy" / "generated"


def tree() -> object:
    return open_grammar(PACKAGE, start="assignment", propagate_positions=True).parse(TEXT)


def test_tables_are_kept_and_read_back(folder: Path) -> None:
    built = tree()
    [kept] = folder.iterdir()
    before = kept.stat().st_ino
    assert tree() == built
    assert kept.stat().st_ino == before  # it was not written again


def test_tables_are_kept_without_what_makes_something_else_of_trees(folder: Path) -> None:
    class Words:
        def assignment(self, *_: object) -> str:
            return "an assignment"

    def made(transformer: object) -> object:
        return open_grammar(PACKAGE, start="assignment", transformer=transformer).parse(TEXT)

    for transformer in (Words(), None, Words()):
        assert (made(transformer) == "an assignment") is (transformer is not None)
    assert len(list(folder.iterdir())) == 1


def test_other_options_have_other_tables(folder: Path) -> None:
    tree()
    open_grammar(PACKAGE, start="sum")
    assert len(list(folder.iterdir())) == 2
