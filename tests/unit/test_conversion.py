"""Words of a call become the values that Typer itself makes of them; others are refused."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from gpgpu_legacy.cli.conversion import convert_plainly
from gpgpu_legacy.errors import InputError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


app = typer.Typer()
CALLS: list[dict[str, Any]] = []


@app.command()
def show(  # noqa: PLR0917
    word: str,
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    count: int = 3,
    ratio: float | None = None,
    colour: Colour = Colour.RED,
    sizes: Annotated[list[int] | None, typer.Option("--size")] = None,
    shape: Annotated[tuple[int, int, int] | None, typer.Option()] = None,
    small: Annotated[int, typer.Option(max=5)] = 1,
    output: Annotated[Path | None, typer.Option("-o")] = None,
    exact: bool = False,
) -> None:
    CALLS.append(dict(locals()))


def outcome(words: list[str], *, plainly: bool) -> Any:
    command = typer.main.get_command(app)
    if plainly:
        convert_plainly(command)
    try:
        command.main(words, standalone_mode=False)
    except Exception as error:
        return type(error).__name__, error.format_message()  # type: ignore[attr-defined]
    return CALLS.pop()


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["a", "b", "c"],
        ["a", "-", "--count", "-7", "--ratio", "1e-3", "--colour", "blue", "--exact"],
        ["a", "--size", "1", "--size", "2", "--shape", "1", "2", "3", "-o", "x/y.png"],
        ["a", "--small", "5"],
        ["a", "--ratio", "inf"],
        ["a", "--shape", "1", "2"],
        ["a", "--small", "6"],
        ["a", "--nothing"],
        [],
    ],
)
def test_a_call_gives_what_typer_gives(words: list[str]) -> None:
    assert outcome(words, plainly=True) == outcome(words, plainly=False)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--count", "x"], "--count is 'x'; give a whole number"),
        (["--count", "1.5"], "--count is '1.5'; give a whole number"),
        (["--count", ""], "--count is ''; give a whole number"),
        (["--ratio", "x"], "--ratio is 'x'; give a number"),
        (["--colour", "green"], "--colour is 'green'; choose from red, blue"),
        (
            ["--size", "1", "--size", "x"],
            "--size is 'x'; give a whole number; arguments stand before --size",
        ),
        (["--shape", "1", "2", "x"], "--shape is 'x'; give a whole number"),
    ],
)
def test_a_word_that_does_not_fit_is_refused_in_one_line(words: list[str], complaint: str) -> None:
    command = typer.main.get_command(app)
    convert_plainly(command)
    with pytest.raises(InputError) as caught:
        command.main(["a", *words], standalone_mode=False)
    assert str(caught.value) == complaint
