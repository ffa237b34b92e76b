"""Every command, with options of every kind in combinations that nobody has thought of.

Whatever the words are, a command ends with one of its exit codes, and complains in a few lines of
its own: never with a traceback, a fault of ours, or a warning of a library.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import click
import numpy as np
import pytest
from attacks import ATTACK
from PIL import Image

import gpgpu_legacy
from gpgpu_legacy import cli

SHADERS = Path(gpgpu_legacy.__file__).parent.parent / "shaders"

NONSENSE = (
    *("", " ", "-", "--", "-1", "0", "1_000", "0x10", "1e999", "nan", "-inf", "²", "١", "9" * 5000),
    *("1,,2", "=x", "a=b=c", "0=", "²=1,1,1,1", "99=1,1,1,1", "0=1,2,3", "[/old]", "[red]", "a\nb"),
    *("a\x1b[31mb", "\udcff", "%s", "{0}", ".", "nowhere/x.png", "x" * 300, "0x4", "tiled:0x0"),
    *("x.txt", "folder", "binary.fp", "empty.fp", "nested.json", "auto", "0K,0way,0B", "x.png"),
    *("picture.png", "nan.npy", "strings.npy", "huge.npy"),
)

WHAT = (
    *("larson-mcallister n=4", "hall-carr-hart-multi n=4 block=2", "mali-sgemm n=4", "weblas n=3"),
    *("jacobi n=5 passes=2", "bitonic-sort n=8", "game-of-life", "life width=4 generations=2"),
    *("recipe.py n=3", "nested.json", "good.fp", ""),
)
"""What a verb may be asked about, small."""

NAMED = (
    *(
        "n=4",
        "n=0",
        "n=-3",
        "n=²",
        "n=4,8",
        "n=",
        "m=2",
        "l=0",
        "x=1",
        "passes=2",
        "=4",
        "n=nan.npy",
    ),
    *("alpha=1e300", "beta=1e-320", "beta=nan", "texture_format=unorm8", "transpose_a=yes"),
    *("A=nan.npy", "B=strings.npy", "b=nan.npy", "cells=picture.png", "values=huge.npy", "b=5"),
)
"""Words that may be parameters and inputs."""

PLAUSIBLE = {
    "PAPER": ("hall-carr-hart-2003",),
    "PROG.fp": ("good.fp", "-"),
    "PROG.fp...": ("good.fp", "binary.fp"),
    "NAME": ("numpy", "h100", "radeon-9700-pro", "jit", "fp16", "figure-2", "jacobi", "x"),
    "N": ("4", "1", "7"),
    "B": ("1", "2"),
    "T": ("4", "2"),
    "TEXELS": ("8", "1"),
    "SECONDS": ("0",),
    "ROUNDS": ("1",),
    "RUNS": ("1", "2"),
    "ROWS": ("1",),
    "WxH": ("4x4", "3x1"),
    "W": ("3",),
    "H": ("2",),
    "NUMBER": ("1e300", "-0.5", "nan", "1e-320"),
    "[NAME=]FILE": ("out.npy", "x=out.npy", "C=out.csv", "x=out.png"),
    "UNIT=FILE[,TARGET][,FILTER][,WRAP]": ("0=picture.png", "0=nan.npy,2D", "0=x.png,RECT"),
    "I=X,Y,Z,W": ("0=1,2,3,4", "0=nan,inf,1e300,1e-320", "255=0,0,0,0"),
    "SET=NUMBERS": ("0=1,2,3,4", "7=nan,nan,nan,nan"),
    "R,G,B,A": ("1,0,0,1", "nan,inf,-inf,1e300"),
    "X,Y": ("0,0", "1,1", "99,99"),
    "SPEC": ("8K,4way,64B", "1K,direct,32B", "64B,1way,64B"),
    "ORDER": ("scan", "tiled:2x2", "morton", "hilbert"),
    "LAYOUT": ("linear", "4x4", "morton", "6d"),
    "FORMAT": ("rgba32f", "rgba8", "r32f"),
    "PAGING": ("coloured", "random", "miscoloured:0.5", "miscoloured:nan"),
    "LOW HIGH": ("0", "1", "nan"),
    "OLD NEW": ("bench.json", "nested.json"),
    "FILE.png|svg|pdf": ("out.png", "out.svg"),
    "FILE.png|gif": ("out.png", "out.gif"),
    "FILE.gif|apng": ("out.gif",),
    "JSON": ("out.json", "nested.json"),
    "FILE": ("out.png", "out.npy", "out.txt"),
    "FOLDER": ("folder", "out"),
    "DIR": ("folder", "out"),
}
"""What options of a metavar are meant for."""

ALWAYS = {"--size": "4", "--budget": "0", "--quiet": None, "--repeat": "1", "--workers": "1"}
"""What keeps a command short; its first value is in force where the case has no other."""

LEFT_OUT = {"--record", "--measure", "--help", "--machine", "--forget"}
"""Options that write into the checkout, take minutes, or forget what a machine has found out."""

SLOW = {
    "report", "page", "calibrate", "doctor", "tune", "audit", "bench",
    "study anomaly", "study cache-table", "study crossover", "study infer-cache", "study lineage",
    "study branching", "study mispredictions",
    "study precision", "study roofline",
}  # fmt: skip
"""Commands that take seconds whatever their options are; they only get words that do not fit."""

SECONDS = 30


def options_of(command: Any) -> list[Any]:
    return [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and not LEFT_OUT & set(parameter.opts)
    ]


def commands() -> dict[str, Any]:
    """Every command by its words."""
    found: dict[str, Any] = {}
    for name in cli.app.list_commands(click.Context(cli.app)):
        command = cli.app.get_command(click.Context(cli.app), name)
        if isinstance(command, click.Group):
            within = click.Context(command)
            own = command.list_commands(within)
            found |= {f"{name} {one}": command.get_command(within, one) for one in own}
        else:
            found[name] = command
    return found


COMMANDS = commands()


def value(random: Random, parameter: Any) -> str:
    """A word for an option or an argument, which may be one that it is meant for."""
    shape = (parameter.metavar or "").removesuffix(" …").removesuffix(",…")
    choices = PLAUSIBLE.get(shape) or PLAUSIBLE.get(shape.strip("[]"))
    if choices is None or random.random() < 0.3:
        return random.choice(NONSENSE)
    return random.choice(choices)


def case(random: Random, name: str) -> list[str]:
    """The words of a call."""
    command, words = COMMANDS[name], name.split()
    options, given = options_of(command), set[str]()
    chosen = random.sample(options, min(len(options), random.choice((0, 1, 1, 2, 3))))
    chosen += [o for o in options if o.required and o not in chosen and random.random() < 0.9]
    tail: list[str] = []
    for option in chosen:
        spelling = random.choice(option.opts)
        given |= set(option.opts)
        if option.is_flag:
            tail.append(spelling)
        elif option.nargs == 1 and random.random() < 0.2:
            tail.append(f"{spelling}={value(random, option)}")
        else:
            count = option.nargs if random.random() < 0.9 else option.nargs + 1
            tail += [spelling, *(value(random, option) for _ in range(count))]
    for spelling, word in ALWAYS.items():
        if spelling not in given and any(spelling in option.opts for option in options):
            tail += [spelling] if word is None else [spelling, word]
    head: list[str] = []
    for argument in [p for p in command.params if p.param_type_name == "argument"]:
        if argument.nargs < 0 and argument.metavar.startswith(("WHAT", "[NAME=", "[PAPER", "[n=")):
            what = random.choice(WHAT).split() if argument.metavar.startswith("WHAT") else ["n=4"]
            head += [*what, *random.sample(NAMED, random.choice((0, 0, 1, 2)))]
        elif argument.required or random.random() < 0.3:
            head.append(value(random, argument))
    if random.random() < 0.05:
        head.append(random.choice(NONSENSE))
    if name in SLOW:
        tail.append("--no-such-option")
    return [*words, *head, *tail]


class TooLongError(BaseException):
    """A command that has not ended in time."""


@contextmanager
def in_time(seconds: int) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files of every kind; what is kept for the user is kept in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "good.fp").write_text((SHADERS / "examples" / "life.fp").read_text())
    (tmp_path / "binary.fp").write_bytes(bytes(range(256)))
    (tmp_path / "empty.fp").write_bytes(b"")
    (tmp_path / "x.txt").write_text("x")
    (tmp_path / "nested.json").write_text("[" * 9000 + "]" * 9000)
    (tmp_path / "recipe.py").write_text("def f(n: int = 4):\n    return [1] * n\n")
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "picture.png")
    np.save(tmp_path / "nan.npy", np.full((4, 4), np.nan))
    np.save(tmp_path / "strings.npy", np.array(["a", "b"]))
    np.save(tmp_path / "huge.npy", np.full((4, 4), 1e300))
    return tmp_path


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm clock")
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_survives_any_words(
    name: str, folder: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    random = ATTACK.random(f"command lines, {name}")
    for _ in range(ATTACK.count(2, 25)):
        words = case(random, name)
        with warnings.catch_warnings(record=True) as warned, in_time(SECONDS):
            warnings.simplefilter("always")
            code, _, err = run(*words)
        assert code in {0, 1, 2}, (words, err)
        assert is_ours(err), (words, err)
        assert not warned, (words, [str(w.message) for w in warned])
    assert {path.name for path in folder.iterdir() if path.name.startswith(".")} == set()
    assert os.environ["GPGPU_LEGACY_TUNING"] == "off"
    assert sys.stdout is not None


def is_ours(said: str) -> bool:
    """Whether stderr has few lines, and no traceback or warning of somebody else."""
    lines = said.splitlines()
    return (
        len(lines) <= 70  # a program with 20 faults, over its lines and carets
        and all(len(line) < 1200 for line in lines)
        and not any("Traceback" in line or "Warning:" in line for line in lines)
    )
