"""The commands that run a plan: what they say of its times, and that a bar changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from commands import Command

from gpgpu_legacy.api.command.frame import SECTIONS, STUDIES
from gpgpu_legacy.runtime.executor import executors
from gpgpu_legacy.runtime.prepared import Observer, Prepared, RunResult

SMALL = ("run", "larson-mcallister", "n=4", "--executor", "numpy", "--no-check")


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run of a prepared plan has an observer, as they come."""
    seen: list[bool] = []
    plain = Prepared.run

    def spied(self: Prepared, operands: Any, observer: Observer | None = None) -> RunResult:
        seen.append(observer is not None)
        return plain(self, operands, observer)

    monkeypatch.setattr(Prepared, "run", spied)
    return seen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), [False]),
        (("--repeat", "2"), [False] * 3),
    ],
)
@pytest.mark.parametrize("terminal", [False, True])
def test_a_progress_bar_looks_into_no_run(
    run: Command, observed: list[bool], words: tuple[str, ...], expected: list[bool], terminal: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
        code, _, err = run(*SMALL, *words)
    assert code == 0
    assert bool(err) is terminal
    assert observed == expected


def test_doctor_says_what_executors_can_do(run: Command) -> None:
    found = {each["name"]: each for each in json.loads(run("doctor", "--json")[1])["executors"]}
    assert found.keys() == {executor.name for executor in executors()}
    assert "fp24" in found["numpy"]["arithmetics"]
    assert found["numpy"]["fuses_passes"] is False
    assert found["jit"]["fuses_passes"] is found["jit"]["exact"] is True
    assert found["gl-raster"]["passes"] == ["clears", "copies", "fragment passes"]
    assert found["numpy"]["denormals"] == found["jit"]["denormals"] == "kept"
    for each in found.values():
        assert (each["denormals"] is None) == (not each["works"])
        assert not (each["denormals"] == "flushed" and each["exact"])
    shown = run("doctor", "--all", "--format", "markdown")[1]
    assert "what it can do" in shown and "| count | instructions, lookups and bytes" in shown


@pytest.mark.parametrize(
    ("room", "files", "heavy"),
    [
        ("cli", SECTIONS.values(), {"numpy", "PIL", "rich", "msgspec", "lark"}),
        ("studies", [STUDIES], set()),
    ],
)
def test_the_files_of_commands_import_nothing_heavy(
    room: str, files: Iterable[dict[str, str]], heavy: set[str]
) -> None:
    modules = {f"gpgpu_legacy.{room}.{file}" for some in files for file in some.values() if file}
    code = f"import sys, {', '.join(modules)}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    everywhere = {"sympy", "moderngl", "numba", "llvmlite", "matplotlib"}
    assert not (heavy | everywhere) & {*done.stdout.split()}
