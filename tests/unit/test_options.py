"""Options: made of annotated fields, the same everywhere, and refused in one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
import numpy as np
import pytest
from click.testing import CliRunner
from commands import Command as Call

from gpgpu_legacy.api.command.frame import Command
from gpgpu_legacy.api.command.options import WRITTEN, Argument, Option, Several
from gpgpu_legacy.api.command.words import BUDGET_S, ROUNDS, TABLES_BUDGET_S
from gpgpu_legacy.cli import app


@dataclass(frozen=True)
class Where:
    name: Annotated[str, Argument("NAME", "A name.")]
    exact: Annotated[bool, Option("Exactly.")] = False
    sizes: Annotated[Several[int], Option("--size", "N", "Sizes.")] = ()


def show(
    where: Where, last: Annotated[str, Argument("")] = "", seed: Annotated[int, Option("")] = 3
):
    print(where, last, seed)
    return ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a", (Where("a"), "", 3)),
        ("a --exact --size 1 2 --seed -5", (Where("a", True, (1, 2)), "", -5)),
        ("--size 1 --size 2 --exact a b", (Where("a", True, (1, 2)), "b", 3)),
        ("--size 1 a b", (Where("a", False, (1,)), "b", 3)),
        ("--size 1,2 3 a --size=4,5", (Where("a", False, (1, 2, 3, 4, 5)), "", 3)),
    ],
)
def test_fields_are_options_and_lists_end_before_arguments(
    words: str, expected: tuple[object, ...]
) -> None:
    result = CliRunner().invoke(Command("show", show, writes=True), words.split())
    assert result.output == " ".join(map(str, expected)) + "\n"


def commands(group: click.Group = app) -> Iterator[tuple[str, Command]]:
    """Every command with its name, those of groups among them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from commands(command) if isinstance(command, click.Group) else [(name, command)]


OPTIONS = [
    (name, option)
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option)
]


def test_options_have_help_a_name_for_their_value_and_one_default() -> None:
    defaults: dict[str, set[object]] = defaultdict(set)
    for name, option in OPTIONS:
        assert option.help, (name, option)
        assert option.is_flag or option.metavar or isinstance(option.type, click.Choice), option
        assert not option.multiple or option.metavar.endswith("…")
        if not option.is_flag and isinstance(option.default, int | float | str):
            defaults[option.opts[-1]].add(option.default)
    assert {name: values for name, values in defaults.items() if len(values) > 1} == {
        "--repeat": {1, ROUNDS},  # a run is one; a measurement has rounds
        "--budget": {BUDGET_S, TABLES_BUDGET_S, 600.0},  # the cache table simulates for hours
        "--size": {256, 1024},  # the tiles take a quick size
        "--block": {32, 4},  # the crossover is of a block that loads on all of its chips,
        "--layout": {"linear", "8x8"},  # and of tiles as those chips have them
        "--raster": {"scan", "tiled:8x8"},
    }


def test_every_option_that_writes_is_known() -> None:
    """Those whose help says that they write, or draw, and that take a path."""
    found = {
        max(option.opts, key=len)
        for _, option in OPTIONS
        if (option.metavar or "").startswith(("FILE", "DIR", "JSON", "FOLDER"))
        and (option.help or "").startswith(("Write", "Draw", "Plot", "Record"))
    }
    assert found <= WRITTEN
    assert {"--output", "--plot", "--record"} <= found


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("run", "no WHAT is given; give one algorithm's name"),
        ("fit mali-sgemm", "missing option '--chip'; see `gpgpu-legacy fit --help`"),
        ("runn", "there is no command runn; did you mean run?"),
        ("exec m --sise 3", "no such option --sise, did you mean --size or --passes? A parameter"),
        ("fit m --largest-texture 9", "A parameter has no dashes: largest_texture=…; see"),
        ("run m --seed", "option '--seed' requires an argument; see"),
        ("chips a b", "got unexpected extra argument (b); see `gpgpu-legacy chips --help`"),
        ("run m --seed 1e3", "invalid value for '--seed': '1e3' is not a whole number; see"),
        ("bench m --budget 1_0", "invalid value for '--budget': '1_0' is not a number; see"),
        ("translate x.fp --to hlsl", "there is no target hlsl; choose from arb, glsl, glsl-es"),
        ("run larson-mcallister n=4 --seed -1", "seed is -1"),
        ("tables --json --format csv", "give --json or --format csv, not both"),
    ],
)
def test_a_mistake_in_a_call_is_one_line(words: str, complaint: str, run: Call) -> None:
    code, out, errors = run(*words.split())
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("gpgpu-legacy: ")
    assert complaint in errors


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(4, dtype=np.float32))
    Path("link.npy").symlink_to("a.npy")
    Path("prog.fp").write_text("!!ARBfp1.0\nMOV result.color, 1;\nEND\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("run larson-mcallister A=a.npy B=a.npy -o ./link.npy", "link.npy is also read"),
        ("translate prog.fp --to glsl -o prog.fp", "prog.fp is also read, as 'WHAT [NAME"),
        ("exec prog.fp --size 4 --texture 0=a.npy -o a.npy", "a.npy is also read, as '--texture'"),
        ("exec prog.fp --size 4 -o new.png --animate ./new.png", "are both new.png; give two"),
        ("dump larson-mcallister n=4 -o prog.fp", "prog.fp is a file"),
    ],
)
def test_files_that_get_in_each_others_way(
    place: Path, words: str, complaint: str, run: Call
) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    code, out, err = run(*words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_plots_that_find_their_place_taken_are_refused_first(place: Path, run: Call) -> None:
    (place / "plots" / "dobravec-bulic-2017-figure-1.png").mkdir(parents=True)
    code, out, err = run("tables", "dobravec-bulic-2017", "--no-measure", "--plot", "plots")
    assert (code, out) == (2, "")
    assert err.endswith("figure-1.png is a folder; give the name of a file\n")
