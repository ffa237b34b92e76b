"""The Markdown pages of the project, and their blocks of code, as tests read them.

The language of a block says what the tests do with it:

- `shell`: commands, run one after another in a folder of the page's own;
- `python`: run, in one namespace for the page;
- any language with a `:caption: NAME` (in a `{code-block}`): a file that the reader saves;
- `text` or `json` straight after `shell` or `python`: what that block prints. A line that is only
  `…` stands for any lines, and a `…` in a line for any text.

A comment on the line before a block makes an exception of it:
`<!-- parsed only: REASON -->` (a shell block whose commands are held against the command line, not
run), `<!-- numbers vary: REASON -->` (an output in which only the words are compared), and
`<!-- not run: REASON -->`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def _of_docs(name: str) -> Any:
    """A module of the documentation, imported by its path: docs/ is no package."""
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


generated: Any = _of_docs("generated")
recorded: Any = _of_docs("recorded")

_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>parsed only|numbers vary|not run): (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)$",
    flags=re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+(?:[.,\u2009\u202f]\d+)*(?:e[+-]?\d+)?(?: (?:ns|µs|ms|s)\b)?")
RUN, OUTPUTS = ("shell", "python"), ("text", "json")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code. start, end: its text in the page. caption: the file's name, if it is one."""

    language: str
    text: str
    line: int
    start: int
    end: int
    caption: str = ""
    mark: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the reader saves it to a file."""
        return bool(self.caption)


@dataclass(frozen=True, slots=True)
class Step:
    """A block, and the block of its output, if the page has one."""

    block: Block
    output: Block | None

    @property
    def shown(self) -> str:
        """The text of both blocks."""
        return self.block.text + (self.output.text if self.output else "")


def pages() -> list[Path]:
    """The README and all pages of the documentation."""
    built = ROOT / "docs" / "_build"
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in found if built not in page.parents)]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code of a page, in order."""
    for match in _FENCE.finditer(text):
        body, start = match["body"], match.start("body")
        info = match["info"].strip()
        caption = ""
        if info.startswith("{code-block}"):
            info = info.removeprefix("{code-block}").strip()
            options = re.match(r"(?::[\w-]+:[^\n]*\n)+\n?", body)
            if options:
                named = re.search(r"^:caption: (.+)$", options[0], flags=re.MULTILINE)
                caption = named[1] if named else ""
                body, start = body[options.end() :], start + options.end()
        line = text.count("\n", 0, match.start("fence")) + 1
        yield Block(info, body, line, start, start + len(body), caption, match["mark"] or "")


def steps(text: str) -> Iterator[Step]:
    """The blocks of a page, each with the block of its output, if any."""
    found = list(blocks(text))
    for index, block in enumerate(found):
        following = found[index + 1] if index + 1 < len(found) else None
        if block.language in OUTPUTS and not block.is_file:
            continue
        is_output = (
            following is not None
            and block.language in RUN
            and following.language in OUTPUTS
            and not following.is_file
            and "\n#" not in (between := text[block.end : following.start])
            and len(between.split("\n\n")) <= 3
        )
        yield Step(block, following if is_output else None)


def shell_lines(text: str) -> list[str]:
    """The lines of a shell block; continued lines are joined, comments dropped."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = (shlex.join(shlex.split(line, comments=True)) for line in joined.splitlines())
    return [line for line in lines if line]


def inline_commands(text: str) -> list[str]:
    """The text after `gpgpu-legacy` between backticks in running text; a `…` is any word."""
    prose = _FENCE.sub("", text)
    found = re.findall(r"`gpgpu-legacy\s([^`]+)`", prose)
    return [" ".join(words.replace("…", "WORD").split()) for words in found]


def matches(expected: str, printed: str, *, numbers_vary: bool) -> bool:
    """Whether a block of output describes what was printed."""
    expected, printed = _plain(expected), _plain(printed)
    if numbers_vary:
        expected, printed = _without_numbers(expected), _without_numbers(printed)
    return re.fullmatch(_pattern(expected), printed, flags=re.DOTALL) is not None


def _plain(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _without_numbers(text: str) -> str:
    text = re.sub(r"([─━])+", r"\1", _NUMBER.sub("# ", text))
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines)


def _pattern(expected: str) -> str:
    parts = []
    for line in expected.splitlines():
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(map(re.escape, line.split("…"))) + r"\n")
    return "".join(parts)
