"""Files under names that nobody gave: who wrote them, and who may change them now."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.own_files import has_content, has_marks, locked, remove

MARKS = ("one", "two", "three")


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ("{ one two three", True),
        ("{ three one", True),
        ("{ one", False),
        (" { one two three", False),
        ("", False),
        ("{" + " " * 2**17 + "one two three", False),
    ],
)
def test_a_file_is_ours_by_its_beginning(tmp_path: Path, text: str, is_ours: bool) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert has_marks(path, "{", MARKS) == is_ours


def test_what_is_no_file_is_not_ours_and_not_empty(tmp_path: Path) -> None:
    assert not has_marks(tmp_path, "", ())
    assert not has_marks(tmp_path / "missing", "", ())
    assert not has_marks(Path("/dev/zero"), "", ())
    assert has_content(tmp_path)
    assert not has_content(tmp_path / "missing")
    (tmp_path / "empty").touch()
    assert not has_content(tmp_path / "empty")
    with pytest.raises(InputError, match="cannot be removed"):
        remove(tmp_path)
    remove(tmp_path / "missing")


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    path, inside = tmp_path / "count", []

    def add() -> None:
        for _ in range(20):
            with locked(path):
                inside.append(1)
                number = int(path.read_text()) if path.exists() else 0
                time.sleep(0.0005)
                path.write_text(str(number + 1))

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "80"
    assert [each.name for each in tmp_path.iterdir()] == ["count"]


def test_whoever_waits_too_long_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with (
        locked(path),
        pytest.raises(InputError, match=r"another process is changing .*file"),
        locked(path, longest_s=0.05),
    ):
        pass
    with locked(path, longest_s=0.05):
        pass


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "file"
    code = (
        "import sys, time; from pathlib import Path; from gpgpu_legacy.own_files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        with pytest.raises(InputError), locked(path, longest_s=0.05):
            pass
        holder.kill()
        holder.wait()
        with locked(path, longest_s=5.0):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_no_locks_stops_nobody(tmp_path: Path) -> None:
    with locked(tmp_path / "missing" / "file"):
        pass
    (tmp_path / ".file.lock").symlink_to(tmp_path / "thesis.tex")
    with locked(tmp_path / "file"):
        pass
    assert not (tmp_path / "thesis.tex").exists()
