"""Grammars' tables: read back as they were built, and built where there is nowhere to keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpgpu_legacy import grammars
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.grammars import open_grammar

PACKAGE = "gpgpu_legacy.kernel"
TEXT = "#version 430\nlayout(local_size_x = 1) in;\nvoid main() { }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(grammars, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "grammars"


def tree() -> object:
    return open_grammar(PACKAGE, start="kernel", propagate_positions=True).parse(TEXT)


def test_tables_are_kept_and_read_back(folder: Path) -> None:
    built = tree()
    [kept] = folder.iterdir()
    before = kept.stat().st_mtime_ns
    assert tree() == built
    assert kept.stat().st_mtime_ns == before


def test_damaged_tables_are_built_anew(folder: Path) -> None:
    built = tree()
    [kept] = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert tree() == built


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        raise InputError("you have no home folder; set HOME to one")

    monkeypatch.setattr(grammars, "cache_folder", homeless)
    assert tree() is not None
    assert not list(tmp_path.iterdir())


def test_without_room_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(grammars, "cache_folder", lambda: tmp_path / "file")
    assert tree() is not None
