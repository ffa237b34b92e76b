"""Output reaches any stream: of any encoding, a pipe whose reader leaves, one that is closed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpgpu_legacy.api.command.frame import Report

CALL = [sys.executable, "-m", "gpgpu_legacy"]


def call(command: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a shell does, in whose command "$@" is a call of ours."""
    return subprocess.run(
        ["sh", "-c", command, "sh", *CALL, *words],
        capture_output=True,
        check=False,
        encoding="latin-1",
        env={**os.environ, **environment},
    )


def test_output_fails_on_no_encoding() -> None:
    done = call('"$@"', "algorithms", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Dobravec & Buli?" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("words", [("algorithms",), ("--help",)])
def test_a_reader_that_leaves_is_no_error(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*CALL, *words], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_no_escape_code_where_no_color_is_set() -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"}
    words = ["study", "precision", "larson-mcallister", "n=4"]
    running = subprocess.Popen([*CALL, *words], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # the terminal is gone when its last writer is
        pass
    os.close(ours)
    assert running.wait() == 0
    assert b"larson" in said and b"\x1b" not in said


def test_progress_shows_its_steps_and_clears_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    report = Report(quiet=False)
    with report.progress("measuring", 2) as step:
        for number in range(2):
            step(f"job {number}")
    said = capsys.readouterr().err.split("\r")
    assert [line.strip() for line in said] == [
        "", "0/2 measuring", "1/2 job 0", "2/2 job 1", "", "",
    ]  # fmt: skip
    assert len({len(line) for line in said[1:-1]}) == 1
    with report.progress("measuring", 0) as step:
        step("job")
    assert not capsys.readouterr().err
