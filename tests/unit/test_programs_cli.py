"""The commands about programs, as their users type them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from PIL import Image

from gpgpu_legacy import assemble, disassemble
from gpgpu_legacy.files import shader_folder

EXAMPLES = shader_folder() / "examples"
IDENTITY = "!!ARBfp1.0\nTEX result.color, fragment.texcoord[0], texture[0], RECT;\nEND\n"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture
def cli(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Run the command line in an empty folder, which holds prog.fp."""
    monkeypatch.chdir(tmp_path)
    Path("prog.fp").write_text(IDENTITY)
    return lambda *arguments: Done(*run(*map(str, arguments)))


def refused(done: Done, *words: str) -> None:
    """One line on the error stream, nothing else, exit code 2."""
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("gpgpu-legacy: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


# exec --------------------------------------------------------------------------------------------


def test_an_array_in_and_an_array_out(cli: Cli) -> None:
    texels = np.random.default_rng(0).random((3, 5, 4)).astype(np.float32)
    np.save("a.npy", texels)
    done = cli("exec", "prog.fp", "--size", "5x3", "--texture", "0=a.npy", "-o", "c.npy")
    assert (done.code, done.err) == (0, "wrote c.npy\n")
    assert (np.load("c.npy") == texels).all()
    assert sorted(p.name for p in Path().iterdir()) == ["a.npy", "c.npy", "prog.fp"]


def test_each_texel_is_a_square_of_pixels(cli: Cli) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, 3)).astype(np.uint8)
    Image.fromarray(pixels).save("in.png")
    given = ("--size", "3x2", "--texture", "0=in.png,RECT,GL_RGBA8,nearest,clamp")
    cli("exec", "prog.fp", *given, "-o", "c.png", "--scale", 4)
    squares = np.kron(pixels, np.ones((4, 4, 1), np.uint8))
    assert np.array_equal(np.asarray(Image.open("c.png")), squares)
    refused(cli("exec", "prog.fp", *given, "-o", "c.npy", "--scale", 4), "c.npy", "give .png")
    refused(cli("exec", "prog.fp", *given, "-o", "d.png", "--scale", 0), "scale is 0")
    refused(cli("exec", "prog.fp", *given, "-o", "d.png", "--scale", 9999), "enlarge it less")
    assert not Path("d.png").exists()


def test_everything_that_a_program_reads(cli: Cli) -> None:
    Path("prog.fp").write_text(
        """!!ARBfp1.0
TEMP R;
ADD R, program.local[2], program.env[1];
ADD R, R, fragment.texcoord[3];
ADD R, R, fragment.color;
ADD R, R, fragment.color.secondary;
ADD R.x, R, fragment.fogcoord;
ADD R, R, state.fog.color;
ADD R, R, state.matrix.modelview.row[3];
MOV result.color, R;
END"""
    )
    np.save("t.npy", np.full((4, 4), 1000.0))
    done = cli(
        "exec", "prog.fp", "--size", "2x1", "--local", "2=1,2,3,4", "--env", "1=10,20,30,40",
        "--texcoord", "3=t.npy", "--color", "0.5,0,0,0", "--secondary-color", "0,0.25,0,0",
        "--fogcoord", "7", "--state", "fog.color=0,0,1,0", "--exact",
        "--state", "matrix.modelview=1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,5", "-o", "c.npy",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert (np.load("c.npy") == [1018.5, 1022.25, 1034, 1049]).all()


def test_the_summary(cli: Cli) -> None:
    Path("prog.fp").write_text(
        "!!ARBfp1.0\nTEMP R;\nSUB R, fragment.position.x, 1;\nKIL R;\n"
        "MOV result.color, fragment.position;\nEND"
    )
    data = cli("exec", "prog.fp", "--size", "4x2", "--clear", "-1,0,0,0", "--json").data
    assert data["size"] == [4, 2]
    assert data["discarded"] == 2
    assert data["executor"] == "numpy"
    [buffer] = data["buffers"]
    assert buffer["r"] == {"min": -1, "max": 3.5, "mean": 1.625, "not_finite": 0}
    done = cli("exec", "prog.fp", "--size", "4x2")
    assert "2 of 8 fragments discarded" in done.out


def test_a_program_from_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(b"!!ARBfp1.0 MOV result.color, 3; END"))
    monkeypatch.setattr(sys, "stdin", text)
    assert cli("exec", "-", "--size", "1", "--json").data["buffers"][0]["r"]["max"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.npy", "--size", "1"], "a.npy is not a text file"),
        (["prog.fp"], "give the size of the rectangle to draw, as in --size 256x256"),
        (["prog.fp", "--size", "3x"], "--size is '3x'"),
        (["prog.fp", "--size", "3", "--texture", "0=a.txt"], "a.txt is not an array"),
        (["prog.fp", "--size", "3", "--texture", "0=a.npy,GL_FOO"], "--texture 0 has 'GL_FOO'"),
        (["prog.fp", "--size", "3", "--texture", "0=bad.npy"], "bad.npy is no .npy file"),
        (["prog.fp", "--size", "3", "--texture", "0=a.npy", "--texture", "0=a.npy"], "0 twice"),
        (["prog.fp", "--size", "3", "--texture", "0=a.npy", "--local", "0=1,2,3,4,5"], "1 to 4"),
        (["prog.fp", "--size", "3", "--local", "0=1,x"], "--local 0 is '1,x'; give numbers"),
        (["prog.fp", "--size", "3", "--state", "fog"], "--state is 'fog'; write it as in"),
        (["prog.fp", "--size", "3", "-o", "c.gif"], "c.gif cannot hold the colours"),
        (["prog.fp", "--size", "3", "--texture", "0=a.npy", "--trace", "3,3"], "no texel 3,3"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(cli: Cli, arguments: list[str], words: str) -> None:
    np.save("a.npy", np.ones((2, 2, 4)))
    for name in ("bad.npy", "bad.png", "a.txt"):
        Path(name).write_text("nonsense")
    refused(cli("exec", *arguments), words)


# check -------------------------------------------------------------------------------------------


def test_check_tells_what_programs_take(cli: Cli) -> None:
    done = cli("check", EXAMPLES / "life.fp", EXAMPLES / "blur.fp", "--json")
    assert done.code == 0
    life, blur = (one["taken"]["resources"] for one in done.data["programs"])
    assert life["texture_instructions"] == 9
    assert life["texture_indirections"] == 2
    assert blur["alu_instructions"] == 9
    assert "texture indirections" in cli("check", EXAMPLES / "life.fp").out


def test_check_prints_all_faults_with_carets(cli: Cli) -> None:
    Path("bad.fp").write_text("!!ARBfp1.0\nMOV result.colour, 1;\nMOV R0, 1;\nEND\n")
    done = cli("check", "bad.fp", EXAMPLES / "life.fp")
    assert done.code == 2
    assert "bad.fp:2:12: " in done.err
    assert "bad.fp:3:5: " in done.err
    assert done.err.count("^") == 2
    assert "life.fp uses" in done.out
    data = cli("check", "bad.fp", EXAMPLES / "life.fp", "--json").data["programs"]
    assert [len(each["diagnostics"]) for each in data] == [2, 0]
    assert [each["taken"] is None for each in data] == [True, False]
    first, second = data[0]["diagnostics"]
    assert (first["line"], first["column"], first["position"]) == (2, 12, 22)
    assert (second["line"], second["column"], second["position"]) == (3, 5, 37)


# count, translate, disassemble -------------------------------------------------------------------


def test_count(cli: Cli) -> None:
    done = cli("count", EXAMPLES / "blur.fp", "--texels", "0=rgba8", "--json")
    data = done.data
    assert data["per_fragment"] == {
        "arithmetic": 9, "lookup": 5, "kill": 0, "instructions": 14,
        "bytes_looked_up": 20, "bytes_written": 16, "bytes_requested": 36,
    }  # fmt: skip
    assert data["opcodes"] == {"ADD": 3, "MAD": 4, "MUL": 1, "SUB": 1, "TEX": 5}
    assert data["units"] == [
        {"unit": 0, "target": "RECT", "format": "rgba8", "lookups": 5, "bytes": 20}
    ]
    assert data["taken"]["resources"]["temporaries"] == 5
    plain = cli("count", EXAMPLES / "blur.fp", "--texels", "r32f", "--json").data["per_fragment"]
    assert (plain["bytes_looked_up"], plain["bytes_written"]) == (20, 4)
    assert "bytes requested" in cli("count", EXAMPLES / "phong.fp").out
    refused(cli("count", EXAMPLES / "blur.fp", "--texels", "rgb565"), "is 'rgb565'; choose from")
    refused(cli("count", EXAMPLES / "blur.fp", "--texels", "7=r32f"), "'7'")


def test_disassemble(cli: Cli) -> None:
    for path in sorted(EXAMPLES.glob("*.fp")):
        text = cli("disassemble", path).out
        program = assemble(path.read_text())
        assert text == disassemble(program)
        assert assemble(text) == program
    done = cli("disassemble", "prog.fp", "-o", "c.fp")
    assert (done.code, done.out) == (0, "wrote c.fp\n")
    assert Path("c.fp").read_text() == IDENTITY
    refused(cli("disassemble", "prog.fp", "-o", "gone/c.fp"), "there is no folder gone")


@pytest.mark.parametrize(
    ("language", "start"),
    [
        ("glsl", "#version 330 core\n"),
        ("glsl --exact-sampling", "#version 400 core\n"),
        ("glsl --host moderngl", '"""Draws'),
        ("glsl-es --host webgl", "<!doctype html>\n"),
        ("glsl-es", "#version 300 es\n"),
        ("numpy", '"""'),
    ],
)
def test_translate(cli: Cli, language: str, start: str) -> None:
    for path in sorted(EXAMPLES.glob("*.fp")):
        done = cli("translate", path, "--to", *language.split())
        assert done.code == 0, done.err
        assert done.out.startswith(start)
    text = done.out
    done = cli("translate", path, "--to", *language.split(), "-o", "c.txt")
    assert done.out == "wrote c.txt\n"
    assert Path("c.txt").read_text() == text


def test_a_program_that_does_not_assemble_is_shown_by_every_command(cli: Cli) -> None:
    Path("bad.fp").write_text("!!ARBfp1.0\nMOV result.colour, 1;\nEND\n")
    for arguments in (
        ["exec", "bad.fp", "--size", "1"],
        ["count", "bad.fp"],
        ["translate", "bad.fp", "--to", "numpy"],
        ["disassemble", "bad.fp"],
    ):
        done = cli(*arguments)
        assert done.code == 2
        assert done.err.startswith("gpgpu-legacy: bad.fp:2:12: ")
        assert done.err.count("^") == 1
