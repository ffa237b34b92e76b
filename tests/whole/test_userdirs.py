"""The user's folders, those of libraries, and users without a home."""

from __future__ import annotations

import os.path
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy import kept, userdirs
from gpgpu_legacy.chips.profile import calibrated
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.tuned import tuned_methods
from gpgpu_legacy.userdirs import (
    CACHE,
    CONFIG,
    cache_folder,
    can_write,
    data_folder,
    library_folder,
)

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


def test_an_empty_home_is_none(homeless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be taken for the root folder."""
    monkeypatch.undo()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "")
    for folder in (cache_folder, data_folder):
        with pytest.raises(InputError, match="set HOME"):
            folder()
    assert library_folder(CONFIG) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(homeless))
    assert cache_folder() == homeless / "gpgpu-legacy"
    assert library_folder(CACHE) == homeless


def test_a_relative_folder_is_none(homeless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    with pytest.raises(InputError, match="XDG_CACHE_HOME is cache, which is no absolute path"):
        cache_folder()
    kept.keep("name", b"code")
    assert list(homeless.iterdir()) == []


def test_a_home_that_nobody_can_look_into_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's home is to other users; root may look into all, but not into a name too long."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/" + "x" * 5000)
    for folder in (cache_folder, data_folder):
        with pytest.raises(InputError, match=r"cannot be used: file name too long; set HOME"):
            folder()
    assert calibrated() == tuned_methods() == ()


# Of libraries ------------------------------------------------------------------------------------


def test_libraries_have_their_folders_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CACHE, CONFIG):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert library_folder(CACHE) == Path("/home/someone/.cache")
    assert library_folder(CONFIG) == Path("/home/someone/.config")
    monkeypatch.setenv(CONFIG, "relative")
    assert library_folder(CONFIG) is None


def test_what_can_be_written_is_found_without_making_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for name in (".", "new", "new/below", "linked/new"):
        assert can_write(tmp_path / name)
    for name in ("file", "file/below", "dangling", "dangling/below"):
        assert not can_write(tmp_path / name)
    assert not can_write(None)
    assert not can_write(Path("relative"))
    assert not can_write(Path("/dev/null"))
    assert sorted(tmp_path.iterdir()) == before


SCRIPT = """
import os, sys
from pathlib import Path
from gpgpu_legacy.present.plot import new_figure, save_figure
from gpgpu_legacy.runtime.driver_cache import quiet_driver_cache
quiet_driver_cache()
figure = new_figure(2, 2)
figure.subplots().plot([1, 2])
save_figure(figure, Path(sys.argv[1]))
print(os.environ.get("MPLCONFIGDIR", "-"), os.environ.get("MESA_SHADER_CACHE_DISABLE", "-"))
"""


@pytest.mark.parametrize(
    "environment",
    [{"HOME": "/dev/null"}, {"HOME": ""}, {"HOME": "here"}, {"MPLCONFIGDIR": "/dev/null/x"}],
)
def test_a_plot_needs_no_home_and_says_nothing_of_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    removed = {*VARIABLES, CACHE, CONFIG, "MPLCONFIGDIR", "MESA_SHADER_CACHE_DISABLE"}
    usual = {name: value for name, value in os.environ.items() if name not in removed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "plot.svg")],
        cwd=here,
        env={**usual, "TMPDIR": str(temporary), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    folder, disabled = done.stdout.split()
    assert folder.startswith(str(temporary))
    assert disabled == ("-" if "MPLCONFIGDIR" in environment else "true")
    assert (tmp_path / "plot.svg").stat().st_size > 1000
    assert list(temporary.iterdir()) == list(here.iterdir()) == []


def test_without_any_folder_a_plot_says_which_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(userdirs, "_TEMPORARY", ())
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="set TMPDIR"):
        userdirs.temporary_folder()
    assert list(tmp_path.iterdir()) == []
