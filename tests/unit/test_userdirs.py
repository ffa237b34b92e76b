"""The user's folders, and users without a home."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy import kept
from gpgpu_legacy.chips.profile import calibrated
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.userdirs import cache_folder, data_folder

VARIABLES = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "GPGPU_LEGACY_TUNING", "GPGPU_LEGACY_PROFILES")


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without a home, in an empty folder."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does without a home
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_xdg_folders_are_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert cache_folder() == tmp_path / "cache" / "gpgpu-legacy"
    assert data_folder() == tmp_path / "data" / "gpgpu-legacy"


@pytest.mark.parametrize("folder", [cache_folder, data_folder])
def test_without_a_home_there_is_no_folder(homeless: Path, folder: Callable[[], Path]) -> None:
    with pytest.raises(InputError, match="set HOME"):
        folder()


def test_without_a_home_nothing_is_kept_and_everything_runs(
    homeless: Path,
    run: Callable[..., tuple[int, str, str]],
) -> None:
    kept.keep("name", b"code")
    assert kept.read("name") is None
    assert calibrated() == ()
    code, out, err = run("run", "larson-mcallister", "--size", "4")
    assert code == 0, err
    assert "largest error" in out
    assert list(homeless.iterdir()) == []
