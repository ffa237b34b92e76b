"""Words of a call become the values that Typer itself makes of them, and the same errors."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from gpgpu_legacy.cli.conversion import convert_plainly


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
        ["a", "--count", "x"],
        ["a", "--count", "1.5"],
        ["a", "--count", ""],
        ["a", "--ratio", "x"],
        ["a", "--colour", "green"],
        ["a", "--size", "1", "--size", "x"],
        ["a", "--shape", "1", "2", "x"],
        ["a", "--shape", "1", "2"],
        ["a", "--small", "6"],
        ["a", "--nothing"],
        [],
    ],
)
def test_a_call_gives_what_typer_gives(words: list[str]) -> None:
    assert outcome(words, plainly=True) == outcome(words, plainly=False)
