"""What tuning keeps: many processes at once, killed ones, and names that the environment gives."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import ATTACK, mutated_bytes

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.tuned import (
    TunedMethod,
    TuningFile,
    WayRecord,
    forget,
    keep,
    tuned_methods,
)
from gpgpu_legacy.serial import read_recorded

Command = Callable[..., tuple[int, str, str]]

WAY = WayRecord(executor="jit", block=8, accumulate=None, group=None, tile=None)


def tuned(method: str, seconds: float = 1e-3) -> TunedMethod:
    return TunedMethod(
        method=method,
        way=WAY,
        size=64,
        seconds=seconds,
        default_seconds=2e-3,
        trials=3,
        date="2003-07-27",
    )


_KEEP = """
import sys
from gpgpu_legacy.measure import tuned
from gpgpu_legacy.measure.platform import Platform
from gpgpu_legacy.measure.tuned import TunedMethod, WayRecord, keep
tuned.this_platform = lambda: Platform(sys.argv[3], "a driver")
way = WayRecord(executor="jit", block=8, accumulate=None, group=None, tile=None)
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    keep(TunedMethod(method=f"{sys.argv[1]}-{number}", way=way, size=64, seconds=1e-3,
                     default_seconds=2e-3, trials=3, date="2003-07-27"))
"""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "tuning.json"
    monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(path))
    return path


def keeper(name: str, count: int, device: str = "a device") -> subprocess.Popen[str]:
    """A process that keeps so many results, as soon as it is told to."""
    return subprocess.Popen(
        [sys.executable, "-c", _KEEP, name, str(count), device],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def started(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_six_at_once_keep_everything(kept: Path) -> None:
    each = ATTACK.count(5, 60)
    keepers = [keeper(f"m{n}", each, f"device {n % 2}") for n in range(6)]
    for process in keepers:
        started(process)
    for process in keepers:
        go(process)
    for process in keepers:
        process.communicate(timeout=120)
        assert process.returncode == 0
    found = {t.method for place in read_recorded(kept, TuningFile).places for t in place.kept}
    assert found == {f"m{n}-{number}" for n in range(6) for number in range(each)}
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_killed_processes_leave_a_whole_file_and_stop_nobody(kept: Path) -> None:
    random = ATTACK.random("killed while keeping")
    for number in range(ATTACK.count(1, 20)):
        process = keeper(f"m{number}", 1000)
        started(process)
        go(process)
        time.sleep(random.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
        before = time.perf_counter()
        keep(tuned(f"after-{number}"))
        assert time.perf_counter() - before < 5.0
        read_recorded(kept, TuningFile)
    assert {f"after-{n}" for n in range(ATTACK.count(1, 20))} == {t.method for t in tuned_methods()}


def test_a_damaged_file_is_kept_or_forgotten_whole_and_never_mixed(kept: Path) -> None:
    random = ATTACK.random("damaged tuning files")
    keep(tuned("hall-carr-hart-multi"))
    good = kept.read_bytes()
    for _ in range(ATTACK.count(20, 2000)):
        damaged = mutated_bytes(random, good)
        kept.write_bytes(damaged)
        try:
            keep(tuned("larson-mcallister"))
        except InputError as error:
            assert len(str(error).splitlines()) == 1
            assert kept.read_bytes() == damaged
            try:
                forget()
            except InputError:
                assert kept.read_bytes() == damaged
            else:
                assert not kept.exists()
        else:
            assert "larson-mcallister" in {method.method for method in tuned_methods()}


_OTHERS = {
    "thesis.tex": b"\\documentclass{article}\n% tuning {}\n",
    "notes.md": b'# Notes\n\n{"schema": 1, "package": "", "commit": "", "driver": "", "date": ""}',
    "data.json": b'{"schema": 1, "package": "x", "places": ["Ljubljana"]}',
    "bench.json": b'{"schema": 1, "package": "x", "commit": null, "results": []}',
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "space.txt": b" \n",
    "list.json": b"[1, 2, 3]",
    "latin.txt": "Öl".encode("latin-1"),
}


@pytest.mark.parametrize("name", _OTHERS)
def test_no_file_of_the_user_is_ever_touched(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    thesis = tmp_path / name
    thesis.write_bytes(_OTHERS[name])
    link = tmp_path / "link.json"
    link.symlink_to(thesis)
    search = ("--size", "8", "--budget", "0.01", "--executor", "numpy")
    for path in (thesis, link):
        monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(path))
        for words in (["--forget"], ["--forget", "larson-mcallister"], ["--show"], search):
            code, out, err = run("tune", *words)
            assert (code, out, err.count("\n")) == (2, "", 1)
    assert thesis.read_bytes() == _OTHERS[name]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["link.json", name])


def test_no_profile_of_the_user_is_replaced(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "this-numpy.toml"
    monkeypatch.setenv("GPGPU_LEGACY_PROFILES", str(tmp_path))
    for text in ("# my own\n", 'name = "this-numpy"\ntitle = "by hand"\nkind = "chip"\n', "\0"):
        own.write_text(text, encoding="utf-8")
        code, out, err = run("calibrate", "--executor", "numpy", "--budget", "0")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "move it away" in err
        assert own.read_text(encoding="utf-8") == text


_NONSENSE = (
    *("", " ", ".", "..", "/", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "\n"),
    *("x" * 300, "x/" * 3000, "\udcff", "é²", "[red]", "~", "missing/folder/file", "OFF", "*"),
)


@pytest.mark.parametrize("variable", ["GPGPU_LEGACY_TUNING", "GPGPU_LEGACY_PROFILES"])
def test_nonsense_in_the_environment_is_one_line_or_nothing(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    random = ATTACK.random(f"environment {variable}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for value in random.sample(_NONSENSE, ATTACK.count(3, len(_NONSENSE))):
        monkeypatch.setenv(variable, value)
        for words in (
            ["chips", "--json"],
            ["chips", "xeon-jit"],
            ["tune", "--show", "--json"],
            ["tune", "--forget"],
            ["run", "larson-mcallister", "--size", "2"],
            ["predict", "larson-mcallister", "--chip", "this", "--size", "4"],
        ):
            code, _, err = run(*words)
            assert code in (0, 2), (value, words, err)
            assert err.count("\n") <= 1, (value, words, err)
            assert "unexpected" not in err, (value, words, err)
    assert sorted(path.name for path in tmp_path.iterdir()) in ([], ["data"])
