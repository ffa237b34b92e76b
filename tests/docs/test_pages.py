"""Every command and every snippet of the README and the documentation runs as it is printed."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from markdown_pages import (
    OUTPUTS,
    ROOT,
    RUN,
    Step,
    blocks,
    generated,
    inline_commands,
    matches,
    pages,
    shell_lines,
    steps,
)
from PIL import Image

from gpgpu_legacy import cli
from gpgpu_legacy.cli import app
from gpgpu_legacy.runtime.executor import Executor

NAMES = [str(page.relative_to(ROOT)) for page in pages()]
PICTURE = re.compile(r"!\[[^\]]*\]\(([^):]+)\)")
FRAMEBUFFERS = "gl-raster"
"""The executor without which a page that names it is skipped."""
IN_CHECKOUT = ("shaders", "figures", "benchmarks")
"""The folders that a reader's commands find in a checkout."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a reader of one page works in; what Python imports from it is forgotten."""
    for name in IN_CHECKOUT:
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", NAMES)
def test_every_snippet_of_a_page_runs(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ready: Callable[[str], Executor],
    update_golden: bool,
) -> None:
    text, space = read(name), {"__name__": "page"}
    printed: list[tuple[Step, str]] = []
    for step in steps(text):
        if not step.block.mark and FRAMEBUFFERS in step.shown:
            ready(FRAMEBUFFERS)
        _run(step, space, f"{name}:{step.block.line}", monkeypatch)
        out, err = capsys.readouterr()
        if step.output is not None and step.output.mark != "not run":
            printed.append((step, err + out))
    pictures = [(ROOT / name).parent / place for place in PICTURE.findall(text)]
    drawn = [picture.resolve() for picture in pictures if Path(picture.name).is_file()]
    if update_golden:
        _write_outputs(name, text, printed)
        for picture in drawn:
            shutil.copy(picture.name, picture)
        return
    for picture in drawn:
        check_picture(Path(picture.name), picture)
    for step, output in printed:
        assert step.output is not None
        vary = step.output.mark == "numbers vary"
        assert matches(step.output.text, output, numbers_vary=vary), (
            f"{name}:{step.output.line} expects\n{step.output.text}\nand this is printed:\n{output}"
        )


def check_picture(drawn: Path, shown: Path) -> None:
    """The picture that a page's commands draw is the one that it shows, but for rounding."""
    with Image.open(drawn) as ours, Image.open(shown) as theirs:
        frames = getattr(ours, "n_frames", 1)
        assert (ours.size, frames) == (theirs.size, getattr(theirs, "n_frames", 1))
        for frame in {0, frames // 2, frames - 1}:
            ours.seek(frame)
            theirs.seek(frame)
            pair = [np.asarray(one.convert("RGB"), np.int16) for one in (ours, theirs)]
            assert np.abs(pair[0] - pair[1]).mean() < 2, f"{shown}, frame {frame}"


def _write_outputs(name: str, text: str, printed: list[tuple[Step, str]]) -> None:
    """Replace the outputs that are not what was printed, the last one first."""
    for step, output in reversed(printed):
        assert step.output is not None
        vary = step.output.mark == "numbers vary"
        if not matches(step.output.text, output, numbers_vary=vary):
            lines = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
            text = text[: step.output.start] + lines + "\n" + text[step.output.end :]
    (ROOT / name).write_text(text, encoding="utf-8")


def _run(step: Step, space: dict[str, Any], where: str, patch: pytest.MonkeyPatch) -> None:
    block = step.block
    if block.is_file:
        Path(block.caption).parent.mkdir(exist_ok=True)
        Path(block.caption).write_text(block.text, encoding="utf-8")
    if block.mark == "not run":
        return
    if block.language == "python" and not block.is_file:
        exec(compile(block.text, where, "exec"), space)
    if block.language != "shell":
        return
    for line in shell_lines(block.text):
        if block.mark == "parsed only":
            check_shell(line)
        else:
            code = _run_shell(line, where, patch)
            assert code == 0 or step.output is not None, f"{where}: {line} exits with {code}"


def _run_shell(line: str, where: str, patch: pytest.MonkeyPatch) -> int:
    """Run a line in this process; its exit code. `NAME=value` before a command sets it."""
    program, *words = shlex.split(line)
    while "=" in program:
        name, _, value = program.partition("=")
        patch.setenv(name, value)
        program, *words = words
    patch.setattr(sys, "argv", [program, *words])
    if program == "python":
        patch.setattr(sys, "argv", words)
        runpy.run_path(words[0], run_name="__main__")
        return 0
    assert program == "gpgpu-legacy", f"{where}: {line} is neither run nor marked"
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def check_shell(line: str) -> None:
    """A line that is not run: a command of ours by its parser, a target by the Makefile."""
    program, *words = shlex.split(line)
    if program == "gpgpu-legacy":
        parse(words)
    elif program == "make":
        assert re.search(rf"^{words[0]}:", read("Makefile"), flags=re.MULTILINE), line
    else:
        assert program in ("pip", "apt", "python", "git", "cd"), line


def parse(words: list[str]) -> None:
    """Read the words as the command line reads them, without running the command."""
    command: Any = app
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name, *words = words
        command = command.get_command(click.Context(command), name)
        assert command is not None, name
    if not words or words == ["--help"]:
        return
    if hasattr(command, "commands"):
        assert words[0] in {option for one in command.params for option in one.opts}, words[0]
    else:
        command.make_context(command.name, words)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_in_the_text_of_a_page_is_one(name: str) -> None:
    for words in inline_commands(read(name)):
        if not words.startswith("COMMAND"):
            parse(shlex.split(words))


@pytest.mark.parametrize("name", NAMES)
def test_a_block_says_what_it_is(name: str) -> None:
    languages = {*RUN, *OUTPUTS, "glsl", "toml", "bibtex", "{toctree}", "{include}", "{eval-rst}"}
    text = generated.PART.sub("", read(name))
    for block in blocks(text):
        language = block.language.split()[0] if block.language else ""
        assert language in languages or block.is_file, f"{name}:{block.line}: {block.language!r}"
    printed = {step.output for step in steps(text)}
    for block in blocks(text):
        if block.language in OUTPUTS and not block.is_file:
            assert block in printed or block.mark, f"{name}:{block.line}: nothing prints this"
