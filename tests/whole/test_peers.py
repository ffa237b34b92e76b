"""Peers: libraries, and those of Python files, measured in turn with executors and compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from markdown_pages import ROOT
from test_benchmark import Known, bench, by_name, clearing, made, only, two_numbers

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Case
from gpgpu_legacy.measure.peers import read_peers
from gpgpu_legacy.serial import read_recorded

JACOBI = ROOT / "benchmarks" / "peers" / "jacobi.py"

TWICE = """
import numpy as np

_UNIT = 2.0

class Twice:
    def __init__(self, x, passes, scale=_UNIT):
        self.x, self.passes, self.scale, self.log = x, passes, scale, []
    def start(self):
        self.log.append("start")
        self.y = self.x.copy()
    def compute(self):
        self.log.append("compute")
        for _ in range(self.passes):
            self.y = np.float32(self.scale) * self.y
    def outputs(self):
        assert self.log == ["start", "compute"] * (len(self.log) // 2)
        return self.y
"""


def file(folder: Path, text: str) -> Path:
    path = folder / "peers.py"
    path.write_text(text, encoding="utf-8")
    return path


class Answer:
    """A peer whose answer is known."""

    def __init__(self, values: list[float]) -> None:
        self.values, self.calls = values, list[str]()

    def start(self) -> None:
        self.calls.append("start")

    def compute(self) -> None:
        self.calls.append("compute")

    def outputs(self) -> Any:
        self.calls.append("outputs")
        return {"y": np.array([self.values])}


# Files -------------------------------------------------------------------------------------------


def test_a_peer_gets_the_inputs_and_the_parameters_that_it_names(tmp_path: Path) -> None:
    [(name, opened)] = read_peers(str(file(tmp_path, TWICE))).items()
    x = np.array([1.0, 3.0], np.float32)
    peer = opened({"x": x, "other": x}, {"passes": 3, "n": 7})
    for _ in range(2):
        peer.start()
        peer.compute()
    assert name == "Twice"
    assert peer.outputs().tolist() == [8.0, 24.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def twice(x): ...", "no public class"),
        ("class _Hidden: ...", "no public class"),
        ("class Half:\n    def start(self): ...", "Half has no compute()"),
        ("class Broken(", "peers.py:1"),
        ("1 / 0", "peers.py:1: ZeroDivisionError"),
    ],
)
def test_a_file_without_a_whole_peer_is_refused_in_one_line(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(InputError) as raised:
        read_peers(str(file(tmp_path, text)))
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


# Measured ----------------------------------------------------------------------------------------


def test_a_peer_takes_its_turn_and_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Known("one", [1.0, 5.0]), Known("two", [1.0, 4.0]))
    answer = Answer([1.0, 5.0])

    def missing(inputs: Mapping[str, F32], parameters: Mapping[str, Any]) -> Answer:
        raise ImportError("there is no such library")

    peers = {"missing": missing, "answer": lambda *_: answer}
    result = bench(Case(made(clearing(), two_numbers), {}, peers=peers), rounds=2)
    found = by_name(result)
    assert list(found) == ["two_numbers", "answer", "one", "two"]
    assert [name for name, result in found.items() if result.is_peer] == ["answer"]
    assert found["answer"].max_error == 0.25  # |5 - 4| / 4
    assert found["answer"].max_peer_difference == 0.0
    assert found["one"].max_peer_difference == 0.0
    assert found["two"].max_peer_difference == 0.2  # |4 - 5| / 5
    assert [(skipped.executor, skipped.reason) for skipped in result.not_run] == [
        ("missing", "there is no such library")
    ]
    calls = [call for call in answer.calls if call != "outputs"]
    assert calls == ["start", "compute"] * (len(calls) // 2)
    assert answer.calls.count("outputs") == 1  # of many runs


# Those of benchmarks/ ----------------------------------------------------------------------------


def test_the_command_measures_peers_and_shows_them_again(run: Command, tmp_path: Path) -> None:
    path = str(tmp_path / "jacobi.json")
    words = ("jacobi", "n=4", "--executor", "jit", "--no-reference", "--repeat", "1", "--quiet")
    code, measured, _ = run("bench", *words, "--peers", str(JACOBI), "--output", path)
    assert code == 0
    bench = read_recorded(Path(path), Bench)
    assert {r.executor for r in bench.results} - {"CupyKernels"} == {"NumbaLoop", "jit"}
    assert all(r.max_peer_difference == 0.0 for r in bench.results)
    assert ": NumbaLoop" in measured
    assert run("bench", "--from", path) == (0, measured, "")
