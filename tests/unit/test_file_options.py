"""The files of a command: none is written twice, or both read and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpgpu_legacy import cli
from gpgpu_legacy.cli.file_options import WRITTEN

Call = Callable[..., tuple[int, str, str]]

PROGRAM = "!!ARBfp1.0\nTEX result.color, fragment.position, texture[0], RECT;\nEND\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(4, dtype=np.float32))
    Path("link.npy").symlink_to("a.npy")
    Path("other.npy").hardlink_to("a.npy")
    Path("prog.fp").write_text(PROGRAM)
    Path("c.json").write_text("{}")
    np.save("figure-2.png", np.eye(4, dtype=np.float32))
    Path("figure-2.png.npy").rename("figure-2.png")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("run larson-mcallister a.npy a.npy -o a.npy", "a.npy is also read, as A"),
        ("run larson-mcallister a.npy a.npy -o ./link.npy", "link.npy is also read, as A"),
        ("run larson-mcallister a.npy a.npy --output other.npy", "other.npy is also read, as A"),
        ("run larson-mcallister --c a.npy --beta 1 -o a.npy", "also read, as --c"),
        ("disassemble prog.fp -o prog.fp", "prog.fp is also read, as PROG.fp"),
        ("translate prog.fp --to glsl -o prog.fp", "prog.fp is also read, as PROG.fp"),
        ("exec prog.fp --size 4 --texture 0=a.npy -o a.npy", "a.npy is also read, as --texture"),
        ("exec prog.fp --size 4 -o new.png --animate ./new.png", "are both new.png; give two"),
        ("bench --from c.json -o c.json", "c.json is also read, as --from"),
        ("figure figure-2 figure-2.png a.npy", "figure-2.png is also read, as A"),
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


@pytest.mark.parametrize(
    "words",
    [
        "run larson-mcallister a.npy a.npy --executor numpy -o new.npy",
        "disassemble prog.fp -o new.fp",
        f"disassemble prog.fp -o {'n' * 250}",
    ],
)
def test_files_that_do_not(place: Path, words: str, run: Call) -> None:
    code, _, err = run(*words.split())
    assert (code, err) == (0, "")


def test_words_of_any_length_are_no_files(place: Path, run: Call) -> None:
    code, _, err = run("run", "x" * 5000, "-o", "new.npy")
    assert (code, err.count("\n")) == (2, 1)


def test_every_option_that_writes_is_known() -> None:
    """Those whose help says that they write, or draw, and that take a path."""
    found = set()
    for command in _commands(cli.typer.main.get_command(cli.app)):
        for parameter in command.params:
            metavar, said = parameter.metavar or "", getattr(parameter, "help", None) or ""
            takes_file = metavar.startswith(("FILE", "DIR", "JSON", "FOLDER"))
            if takes_file and said.startswith(("Write", "Draw", "Plot", "Record")):
                found.add(max(parameter.opts, key=len))
    assert found - WRITTEN == {"--from"}  # "Draw recorded results with --plot"
    assert {"--output", "--plot", "--record-to"} <= found


def _commands(group: object) -> list:
    inner = getattr(group, "commands", None)
    return [group] if inner is None else [c for each in inner.values() for c in _commands(each)]


def test_a_dump_has_its_place_before_the_product_is_computed(place: Path, run: Call) -> None:
    code, out, err = run("run", "larson-mcallister", "--size", "4", "--dump", "prog.fp")
    assert (code, out) == (2, "") and "prog.fp is a file" in err
