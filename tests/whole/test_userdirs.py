"""The user's folders, and users without a home."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy import code_cache
from gpgpu_legacy.chips.profile import calibrated
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import cache_folder, data_folder
from gpgpu_legacy.measure.tuned import tuned_here
from gpgpu_legacy.runtime.gl.egl import quiet_driver_cache

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


def test_without_a_home_nothing_is_kept_and_everything_runs(
    homeless: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (cache_folder, data_folder):
        with pytest.raises(InputError, match="set HOME"):
            folder()
    code_cache.keep("name", b"code")
    assert code_cache.read("name") is None
    assert "set HOME" in code_cache.why_nothing_is_kept()
    assert (calibrated(), tuned_here()) == ((), {})
    code, _, err = run("run", "larson-mcallister", "n=4")
    assert code == 0, err
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    code_cache.keep("name", b"code")
    assert list(homeless.iterdir()) == []


def test_a_home_that_nobody_can_look_into_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's home is to other users; root may look into all, but not into a name too long."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/" + "x" * 5000)
    assert (calibrated(), tuned_here()) == ((), {})
    assert code_cache.read("name") is None
    assert "file name too long" in code_cache.why_nothing_is_kept()


@pytest.mark.parametrize(("home", "disabled"), [("{tmp}/new", None), ("/dev/null/x", "true")])
def test_the_drivers_cache_is_off_where_it_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str, disabled: str | None
) -> None:
    monkeypatch.delenv("MESA_SHADER_CACHE_DIR", raising=False)
    monkeypatch.setenv("MESA_SHADER_CACHE_DISABLE", "")
    monkeypatch.delenv("MESA_SHADER_CACHE_DISABLE")
    monkeypatch.setenv("XDG_CACHE_HOME", home.format(tmp=tmp_path))
    quiet_driver_cache()
    assert os.environ.get("MESA_SHADER_CACHE_DISABLE") == disabled
    assert list(tmp_path.iterdir()) == []
