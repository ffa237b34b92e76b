"""Completion: what a shell is answered, and the scripts by which it asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command

HALLS = {"hall-carr-hart-single", "hall-carr-hart-multi"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpgpu-legacy study ro", {"roofline"}),
        ("gpgpu-legacy run hall", HALLS),
        ("gpgpu-legacy check --chip radeon-9700-p", {"radeon-9700-pro"}),
        ("gpgpu-legacy run x --executor gl-r", {"gl-raster"}),
        ("gpgpu-legacy audit dob", {"dobravec-bulic-2017"}),
        ("gpgpu-legacy study figure-", {"figure-2"}),
        ("gpgpu-legacy cache x --writes a", {"allocate"}),
        ("gpgpu-legacy bench larson-mcallister jaco", {"jacobi"}),
        ("gpgpu-legacy bench larson-mcallister hall-carr-hart-multi --rep", {"--repeat"}),
    ],
)
def test_what_may_stand_next(
    line: str, expected: set[str], run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GPGPU_LEGACY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    code, out, errors = run()
    assert (code, errors) == (0, "")
    assert {word.removeprefix("plain,") for word in out.split()} == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GPGPU_LEGACY_COMPLETE", f"{shell}_source")
    code, out, _ = run()
    assert code == 0 and f"_GPGPU_LEGACY_COMPLETE={shell}_complete" in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "gpgpu-legacy"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpgpu_legacy "$@"\n', "utf-8")
    program.chmod(0o755)
    script = """
eval "$(_GPGPU_LEGACY_COMPLETE=bash_source gpgpu-legacy)"
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
