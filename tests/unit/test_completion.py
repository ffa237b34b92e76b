"""Completion: what a shell is answered, and the scripts that teach it to ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy.cli.commands import COMMANDS

Command = Callable[..., tuple[int, str, str]]

HALLS = {"hall-carr-hart-single", "hall-carr-hart-multi"}


@pytest.fixture
def complete(run: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], set[str]]:
    """What may stand at the end of a line, as bash is told."""

    def ask(line: str) -> set[str]:
        words = line.split(" ")
        monkeypatch.setenv("_GPGPU_LEGACY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        code, out, errors = run()
        assert (code, errors) == (0, "")
        return set(out.split())

    return ask


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpgpu-legacy ro", {"roofline"}),
        ("gpgpu-legacy run hall", HALLS),
        ("gpgpu-legacy run --chip radeon-9700-p", {"radeon-9700-pro"}),
        ("gpgpu-legacy run x --executor gl-r", {"gl-raster"}),
        ("gpgpu-legacy run x --arithmetic fp", {"fp32", "fp24", "fp16"}),
        ("gpgpu-legacy run x --texture-format rgba8", {"rgba8"}),
        ("gpgpu-legacy audit dob", {"dobravec-bulic-2017"}),
        ("gpgpu-legacy cache x --accumulate p", {"ping-pong"}),
        ("gpgpu-legacy run --exe", {"--executor"}),
        ("gpgpu-legacy plan tr", {"trace"}),
        ("gpgpu-legacy plan run hall", HALLS),
        ("gpgpu-legacy bench --method larson-mcallister hall", HALLS),
        ("gpgpu-legacy bench --method larson-mcallister hall-carr-hart-multi --rep", {"--repeat"}),
        ("gpgpu-legacy lineage --chart x.png --plo", {"--plot"}),
        ('gpgpu-legacy run "hall', HALLS),
    ],
)
def test_what_may_stand_next(
    line: str, expected: set[str], complete: Callable[[str], set[str]]
) -> None:
    assert complete(line) == expected


def test_all_commands_are_offered(complete: Callable[[str], set[str]]) -> None:
    assert complete("gpgpu-legacy ") == set(COMMANDS)


@pytest.mark.parametrize(
    ("shell", "separator"), [("zsh", '":"Hall, Carr'), ("fish", "\tHall, Carr")]
)
def test_other_shells_are_told_what_the_names_are(
    shell: str, separator: str, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GPGPU_LEGACY_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "gpgpu-legacy run hall-carr-hart-m")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    code, out, errors = run()
    assert (code, errors) == (0, "")
    assert f"hall-carr-hart-multi{separator}" in out and "single" not in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(
    shell: str, run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "HOME": str(tmp_path)})
    code, out, _ = run("--show-completion", shell)
    assert code == 0
    assert f"_GPGPU_LEGACY_COMPLETE=complete_{shell}" in out


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_an_unknown_shell_is_refused(option: str, run: Command) -> None:
    assert run(option, "tcsh") == (
        2, "", f"gpgpu-legacy: {option} is 'tcsh'; choose from bash, zsh, fish\n"
    )  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_installed(shell: str, tmp_path: Path) -> None:
    call = [sys.executable, "-m", "gpgpu_legacy", "--install-completion", shell]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=environment)
    assert f"{shell} completion installed in {tmp_path}" in done.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(f"complete_{shell}" in path.read_text(encoding="utf-8") for path in files)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "gpgpu-legacy"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpgpu_legacy "$@"\n', "utf-8")
    program.chmod(0o755)
    script = """
eval "$(gpgpu-legacy --show-completion bash)"
COMP_WORDS=(gpgpu-legacy run hall) COMP_CWORD=2
_gpgpu_legacy_completion gpgpu-legacy
echo "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert set(done.stdout.split()) == HALLS
