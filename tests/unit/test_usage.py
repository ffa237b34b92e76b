"""What the option parser objects to is one line; the help lists every command and option."""

from __future__ import annotations

import sys
from importlib.metadata import version

import pytest
import typer

from gpgpu_legacy import cli
from gpgpu_legacy.cli.commands import COMMANDS, SECTIONS


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a call."""
    monkeypatch.setattr(sys, "argv", ["gpgpu-legacy", *words])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    code = stopped.value.code
    return code if isinstance(code, int) else 0, *capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--",), "a command is missing; see `gpgpu-legacy --help`"),
        (("run",), "run needs METHOD; see `gpgpu-legacy run --help`"),
        (("fit", "mali-sgemm"), "fit needs --chip NAME; see `gpgpu-legacy fit --help`"),
        (("runn",), "there is no command runn; did you mean run?"),
        (("nothing",), "there is no command nothing; see `gpgpu-legacy --help`"),
        (("run", "m", "--sise", "3"), "run has no option --sise; did you mean "),
        (("run", "m", "--shape", "1", "2"), "--shape needs 3 values"),
        (("run", "m", "--size"), "--size needs a value"),
        (("run", "m", "--json=1"), "--json is given a value; write it without one"),
        (
            ("chips", "a", "b"),
            "chips has too many arguments; leave out b; see `gpgpu-legacy chips --help`",
        ),
        (("run", "m", "--size", "1e3"), "--size is '1e3'; give a whole number"),
        (("translate", "x.fp", "--to", "hlsl"), "--to is 'hlsl'; choose from glsl, glsl-compute, "),
    ],
)
def test_a_mistake_in_a_call_is_one_line(
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, errors = call(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert errors.count("\n") == 1
    assert errors.startswith(f"gpgpu-legacy: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "larson-mcallister", "--size", "4", "--seed", "-1"), "seed is -1"),
        (("anomaly", "--seed", "-1"), "seed is -1"),
        (("run", "larson-mcallister", "--repeat", "0"), "--repeat is 0"),
        (("run", "larson-mcallister", "--anyway"), "--anyway is about a chip"),
        (("run", "mali-sgemm", "--size", "4", "--sdk-example"), "--sdk-example has matrices"),
        (("bench", "--block", "0"), "block is 0"),
        (("anomaly", "--rows", "0"), "rows is 0"),
        (("tables", "--json", "--format", "csv"), "give --json or --format csv, not both"),
        (("calibrate", "--executor", "numpy", "-o", "x.txt"), "x.txt should end in .toml"),
    ],
)
def test_values_out_of_range_and_contradictions_are_refused(
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, errors = call(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert errors.count("\n") == 1
    assert message in errors


def test_the_old_negations_of_flags_go_on_working(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("run", "larson-mcallister", "--size", "2", "--executor", "numpy", "--json")
    code, out, errors = call(monkeypatch, capsys, *words, "--exact", "--no-exact")
    assert code == 0
    assert errors == "gpgpu-legacy: --no-exact is deprecated; leave it out\n"
    assert out.startswith("{")


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_the_help_lists_every_command_by_subject(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, errors = call(monkeypatch, capsys, *words)
    assert (code, errors) == (0, "")
    headings = [heading for heading, commands in SECTIONS.items() if commands]
    assert set(headings) <= {"Run", "Programs", "Plans", "Chips", "Papers", "Measure"}
    assert [line[:-1] for line in out.splitlines() if line[:-1] in SECTIONS] == headings
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []
    assert "..." not in out.split("Options:")[1], "no sentence is cut"


def test_the_help_is_that_of_the_commands_with_their_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    command = typer.main.get_command(cli.app)
    with pytest.raises(SystemExit):
        command.main(["--help"], prog_name="gpgpu-legacy")
    whole = capsys.readouterr().out
    assert "Measure:" in whole
    assert call(monkeypatch, capsys, "--help") == (0, whole, "")
    assert call(monkeypatch, capsys, "--help", "run") == (0, whole, "")


def test_a_group_of_commands_shows_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, errors = call(monkeypatch, capsys, "plan")
    assert (code, errors) == (0, "")
    assert "Verbs:\n  run " in out


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_that_of_the_package(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, capsys, option) == (0, f"gpgpu-legacy {version('gpgpu-legacy')}\n", "")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_has_help_and_a_value_with_a_name(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = call(monkeypatch, capsys, command, "--help")
    options = [line for line in out.splitlines() if line.startswith(("  --", "  -o"))]
    assert options
    assert not [line for line in options if "<int>" in line or "<str>" in line or "<path>" in line]
    assert not [line for line in options if "<list" in line or "<float>" in line]
