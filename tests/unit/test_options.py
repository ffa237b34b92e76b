"""Options are the same everywhere: the spelling of lists, the defaults, the names of pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from gpgpu_legacy import cli
from gpgpu_legacy.cli.lists import Lists
from gpgpu_legacy.cli.shared import BUDGET_S, ROUNDS

Command = Callable[..., tuple[int, str, str]]


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its name, the verbs of groups among them."""
    for name, command in typer.main.get_command(cli.app).commands.items():  # type: ignore[attr-defined]
        verbs = getattr(command, "commands", None)
        if verbs is None:
            yield name, command
        else:
            yield from ((f"{name} {verb}", each) for verb, each in verbs.items())


EVERY = dict(commands())
OPTIONS = [
    (name, option)
    for name, command in EVERY.items()
    for option in command.params
    if option.param_type_name == "option" and not option.is_flag and not option.hidden
]
LISTS = [(name, option) for name, option in OPTIONS if option.multiple]

OFF = {
    "--animate", "--c", "--cache", "--chip", "--compare", "--coordinates-first", "--dump",
    "--feedback", "--field", "--follow", "--from", "--heat-map", "--heat-map-of", "--input",
    "--output", "--over", "--peers", "--plot", "--plots", "--record-to", "--resume",
    "--second-level", "--set", "--shape", "--trace",
}  # fmt: skip
"""Options without which something is not done, or is not asked for."""

NEEDED = {"--at", "--to", "--width", "--height"}


def names(option: Any) -> set[str]:
    return set(option.opts)


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
def test_the_help_shows_a_default(command: str, option: Any) -> None:
    is_shown = option.default is not None or "default" in option.help.lower()
    is_size_of_drawing = "--size" in names(option) and option.metavar == "WxH"
    assert is_shown or names(option) & (OFF | NEEDED) or is_size_of_drawing


def test_an_option_has_one_default() -> None:
    found: dict[str, set[object]] = defaultdict(set)
    for _, option in OPTIONS:
        if option.default is not None:
            found[option.opts[-1]].add(option.default)
    several = {name: values for name, values in found.items() if len(values) > 1}
    assert several == {
        "--repeat": {1, ROUNDS},  # a run is one; a measurement has rounds
        "--budget": {BUDGET_S, 600.0},  # the cache table takes hours, and goes on from a file
    }


def test_pictures_are_asked_for_by_one_option() -> None:
    plots = {name: option.metavar for name, option in OPTIONS if "--plot" in names(option)}
    assert {"bench", "lineage", "precision", "cache", "cache-table", "roofline", "anomaly"} <= set(
        plots
    )
    assert plots.pop("figure") == "FILE.png|gif"
    assert set(plots.values()) == {"FILE.png|svg|pdf"}


@pytest.mark.parametrize(("command", "option"), LISTS, ids=lambda x: getattr(x, "name", x))
def test_every_list_is_spelled_in_one_way(command: str, option: Any) -> None:
    assert isinstance(EVERY[command], Lists)
    assert option.metavar.endswith(" …")
    first, second = ("1=a", "2=b") if "=" in option.metavar else ("1", "2")
    if option.name == "verdict":
        first, second = "agrees", "differs"
    several = [option.opts[0], first, second]
    repeated = [option.opts[0], first, option.opts[0], second]
    assert parsed(EVERY[command], several, option) == parsed(EVERY[command], repeated, option)


def parsed(command: Any, words: list[str], option: Any) -> tuple[str, ...]:
    """The values that an option is given by words of a call."""
    context = typer.Context(command, info_name="x", resilient_parsing=True)
    with context:
        command.parse_args(context, list(words))
    values = context.params[option.name]
    assert len(values) == 2
    return tuple(map(str, values))


@pytest.mark.parametrize(
    "words",
    [
        ("count", "--format", "0=rgba8", "PROGRAM"),
        ("count", "--format", "rgba8", "PROGRAM"),
        ("count", "PROGRAM", "--format", "0=rgba8", "target=r32f"),
        ("cache", "--size", "16", "32", "hall-carr-hart-single"),
    ],
)
def test_an_argument_after_a_list_is_no_value(words: tuple[str, ...], run: Command) -> None:
    program = Path(__file__).parents[2] / "shaders" / "examples" / "blur.fp"
    code, _, err = run(*(word.replace("PROGRAM", str(program)) for word in words))
    assert (code, err) == (0, "")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_has_the_format_of_its_name(suffix: str, run: Command, tmp_path: Path) -> None:
    path = tmp_path / f"roof.{suffix}"
    code, _, err = run("roofline", "--size", "16", "--plot", str(path), "--json")
    assert (code, err) == (0, f"wrote {path}\n")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    "spelling", [("-o", "{}"), ("--output", "{}"), ("--output={}",), ("-o{}",)]
)
def test_the_old_spellings_of_plots_go_on_working(
    spelling: tuple[str, ...], run: Command, tmp_path: Path
) -> None:
    path = tmp_path / "roof.png"
    words = [word.format(path) for word in spelling]
    code, _, err = run("roofline", "--size", "16", "--json", *words)
    option = "-o" if spelling[0].startswith("-o") else "--output"
    assert code == 0 and path.is_file()
    assert err.startswith(f"gpgpu-legacy: {option} is deprecated; write --plot\n")


@pytest.mark.parametrize("command", ["roofline", "anomaly", "lineage", "cache-table", "precision"])
def test_a_plot_of_another_format_is_refused(command: str, run: Command, tmp_path: Path) -> None:
    code, out, err = run(command, "--plot", str(tmp_path / "x.gif"))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and ".png, .svg, .pdf" in err
    assert not list(tmp_path.iterdir())


def test_commas_in_lists_are_deprecated(run: Command) -> None:
    words = ("precision", "--size", "4", "--method", "larson-mcallister", "--json")
    code, old, err = run(*words, "--arithmetic", "fp32,fp16")
    assert (code, err.count("\n")) == (0, 1)
    assert err.endswith("are deprecated; write --arithmetic fp32 fp16\n")
    assert run(*words, "--arithmetic", "fp32", "fp16") == (0, old, "")
