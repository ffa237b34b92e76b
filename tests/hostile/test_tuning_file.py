"""What tuning keeps: damaged files, those of others, and names that the environment gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import ATTACK, mutated_bytes

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.measure.tuned import Tuned, Way, keep, tuned_here
from gpgpu_legacy.serial import as_record

Command = Callable[..., tuple[int, str, str]]

WAY = Way("jit", 8)


def tuned(algorithm: str, seconds: float = 1e-3) -> Tuned:
    return as_record(
        Tuned,
        this_platform(),
        finished=True,
        algorithm=algorithm,
        way=WAY,
        parameters={"n": 64},
        seconds=seconds,
        default_seconds=2e-3,
        trials=3,
        date="2003-07-27",
    )


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "tuning.json"
    monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(path))
    return path


def test_a_damaged_file_is_read_whole_or_left_alone(kept: Path) -> None:
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
        else:
            assert "larson-mcallister" in tuned_here()


_OTHERS = {
    "thesis.tex": b"\\documentclass{article}\n% tuning {}\n",
    "bench.json": b'{"schema": 1, "package": "x", "commit": null, "results": []}',
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
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
    search = ("larson-mcallister", "n=8", "--budget", "0.01", "--executor", "numpy")
    for path in (thesis, link):
        monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(path))
        for words in (["--forget"], ["--forget", "larson-mcallister"], ["--show"], search):
            code, out, err = run("tune", *words)
            assert (code, out, err.count("\n")) == (2, "", 1)
    assert thesis.read_bytes() == _OTHERS[name]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["link.json", name])


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
