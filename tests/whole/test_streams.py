"""Output reaches any stream: of any encoding, a pipe whose reader leaves, one that is closed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy.cli.shared import progress_bar
from gpgpu_legacy.present.plain import spelled_plainly

CALL = [sys.executable, "-m", "gpgpu_legacy"]


def call(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*CALL, *words], capture_output=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("n³ × b⁻¹² − 1 ≤ α·β …", "ascii", "n^3 x b^-12 - 1 <= alpha*beta ..."),
        ("n³ × b⁻¹ → “ć”", "cp1252", "n³ × b^-¹ -> “c”"),
        ("n³ × b", "utf-8", "n³ × b"),
        ("⌊n/2⌋ Ā 漢 \udc80", "ascii", "floor(n/2) A ? ?"),
    ],
)
def test_characters_that_an_encoding_lacks_are_spelled_plainly(
    text: str, encoding: str, expected: str
) -> None:
    assert spelled_plainly(text, encoding) == expected


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        *(("ascii", words) for words in (("methods",), ("--help",), ("chips", "h100"))),
        *((encoding, ("methods",)) for encoding in ("cp1252", "latin-1", "cp437")),
        *((encoding, ("run", "×→")) for encoding in ("ascii", "cp1252")),
    ],
)
def test_output_fails_on_no_encoding(encoding: str, words: tuple[str, ...]) -> None:
    done = call(*words, PYTHONIOENCODING=encoding)
    said = (done.stdout + done.stderr).decode(encoding)
    assert done.returncode == (2 if words[0] == "run" else 0)
    assert "Traceback" not in said
    assert ("Dobravec & Bulic" in said) is (words[0] in {"methods", "--help"})


def test_output_does_not_fail_in_the_c_locale() -> None:
    done = call("methods", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"alpha*AB + beta*C" in done.stdout


@pytest.mark.parametrize("words", ["methods", "--help", "chips --json"])
def test_a_reader_that_leaves_is_no_error(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [*CALL, *words.split()], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("words", "redirection", "code", "complaint"),
    [
        ("--version", ">&-", 0, ""),
        ("chips --json", ">&-", 0, ""),
        ("methods", "2>&-", 0, ""),
        *(
            (
                words,
                ">/dev/full",
                2,
                "gpgpu-legacy: standard output cannot be written: No space left on",
            )
            for words in ("methods", "--version", "chips --json")
        ),
    ],
)
def test_a_stream_that_takes_nothing(
    words: str, redirection: str, code: int, complaint: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *CALL, *words.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith(complaint) and done.stderr.count("\n") == bool(complaint)


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.parametrize("words", ["chips", "precision --size 4 --method larson-mcallister"])
def test_no_escape_code_where_no_color_is_set(words: str) -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"}
    running = subprocess.Popen(
        [*CALL, *words.split()], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # the terminal is gone when its last writer is
        pass
    os.close(ours)
    assert running.wait() == 0
    assert b"larson" in said or b"radeon" in said
    assert b"\x1b" not in said


def terminal_output(capsys: pytest.CaptureFixture[str], total: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        with progress_bar("measuring", total, quiet=False) as step:
            for number in range(total):
                assert isinstance(step, Callable)
                step(f"job {number}")
    return capsys.readouterr().err


def test_a_bar_without_steps_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal_output(capsys, 0) == ""
    assert "2/2" in terminal_output(capsys, 2)


def test_a_plain_bar_clears_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    said = terminal_output(capsys, 2)
    assert said.split("\r") == ["", "measuring 0/2", "job 0 1/2    ", "job 1 2/2", " " * 9, ""]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_command_goes_on_where_nobody_can_be_told() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>/dev/full', "sh", *CALL, "chips", "nothing"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.fixture(scope="module")
def chips() -> bytes:
    """What `chips` says."""
    return call("chips").stdout


@pytest.mark.parametrize(
    "environment",
    [
        {"COLUMNS": "²"},
        {"COLUMNS": "0", "LINES": "-1"},
        {"COLUMNS": "9" * 30},
        {"COLUMNS": "1000000000", "LINES": "x"},
        {"PYTHONIOENCODING": "idna"},
        {"PYTHONWARNINGS": "error"},
        {"PYTHONOPTIMIZE": "2"},
        {"TERM": "nonsense", "LANG": "xx_YY.nonsense"},
    ],
)
def test_an_odd_environment_changes_nothing(environment: dict[str, str], chips: bytes) -> None:
    done = call("chips", **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == chips


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('"$@" <&-', "gpgpu-legacy: standard input is closed; give the name of a file"),
        ('head -c 99 /dev/zero | "$@"', "gpgpu-legacy: standard input is not a text file; it co"),
        (
            "printf '\\377\\376' | \"$@\"",
            "standard input:1:1: a fragment program begins with !!ARB",
        ),
        (': | "$@"', "standard input:1:1: a fragment program begins with !!ARBfp1.0, with nothing"),
    ],
)
def test_standard_input_is_read_as_a_file_is(command: str, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", command, "sh", *CALL, "check", "-"], capture_output=True, check=False
    )
    complaint = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert complaint.startswith(said) or complaint.startswith(f"gpgpu-legacy: {said}")


def test_nothing_that_is_printed_is_taken_for_markup(tmp_path: Path) -> None:
    program = tmp_path / "proj [" / "old]" / "[red]:smile:.fp"
    program.parent.mkdir(parents=True)
    program.write_text("!!ARBfp1.0 MOV result.color, 1; END")
    done = subprocess.run(
        [*CALL, "check", f"proj [/old]/{program.name}"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"that proj [/old]/{program.name} uses" in done.stdout.decode()
