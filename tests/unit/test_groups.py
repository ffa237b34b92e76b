"""Groups of options: their fields are options of the command, and the command gets the group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gpgpu_legacy.cli.groups import grouped


@dataclass(frozen=True)
class Where:
    executor: Annotated[str, typer.Option("--executor", help="Where it runs.")] = "auto"
    exact: Annotated[bool, typer.Option("--exact")] = False
    sizes: Annotated[list[int], typer.Option("--size")] = field(default_factory=list)


@dataclass(frozen=True)
class Needed:
    name: Annotated[str, typer.Argument()]


app = typer.Typer()


@app.command()
@grouped
def show(needed: Needed, where: Where, seed: int = 3) -> None:
    """Show it."""
    print(needed, where, seed)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], (Needed("a"), Where(), 3)),
        (
            ["a", "--exact", "--executor", "jit", "--size", "1", "--size", "2", "--seed", "5"],
            (Needed("a"), Where("jit", True, [1, 2]), 5),
        ),
    ],
)
def test_fields_are_options(words: list[str], expected: tuple[object, ...]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.output.strip() == " ".join(map(str, expected))


def test_help_tells_of_them() -> None:
    help_text = CliRunner().invoke(app, ["--help"]).output
    assert "Where it runs." in help_text and "--exact" in help_text and "Show it." in help_text


def test_what_is_missing_is_asked_for() -> None:
    assert CliRunner().invoke(app, []).exit_code == 2
