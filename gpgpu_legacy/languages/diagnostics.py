"""Faults in a program's text: what is wrong, what was expected, and where."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from lark import Token

from gpgpu_legacy.errors import AssemblyError, Diagnostic, utf8
from gpgpu_legacy.isa.program import Span

MOST_FAULTS = 20
"""After this many faults the assembler stops reading."""

_LONGEST_NAME = 40

MOST_COMPARED = 500
"""A misspelt word is compared with at most so many known words: each takes up to 0.1 ms."""


@dataclass(eq=False)
class FaultError(Exception):
    """One fault of a text.

    section: the specification's section. at: the token at fault, or an offset in characters. A
    fault of the whole text, such as a program that is too long, is at the text's length.
    """

    problem: str
    expected: str
    section: str
    at: Token | int

    @property
    def offset(self) -> int:
        """The offset of the fault, in characters."""
        return offset_of(self.at)


class EarlierFaultError(Exception):
    """A statement is wrong only because of an earlier fault; this is not reported."""


class Text:
    """A program's text, which turns offsets into lines and columns."""

    def __init__(self, text: str, name: str) -> None:
        """name: the text's name in messages, usually a file's path."""
        self.text, self.name = text, name
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def position(self, at: Token | int) -> Span:
        """The line and the column of a token, or of an offset in characters."""
        offset = offset_of(at)
        line = bisect_right(self._starts, offset)
        return Span(line, offset - self._starts[line - 1] + 1)

    def error(self, faults: Iterable[FaultError]) -> AssemblyError:
        """The exception that reports these faults; there is at least one."""
        diagnostics = tuple(self._diagnostic(fault) for fault in faults)
        first = diagnostics[0]
        return AssemblyError(
            str(first), self.text, first.line, first.column, self.name, diagnostics=diagnostics
        )

    def _diagnostic(self, fault: FaultError) -> Diagnostic:
        # Something missing at the end is shown after the last token, not on an empty line.
        at_end = fault.offset >= len(self.text)
        at = self.position(len(self.text.rstrip()) if at_end else fault.offset)
        position = len(utf8(self.text[: fault.offset]))
        return Diagnostic(
            fault.problem, at.line, at.column, position, fault.expected, fault.section
        )


def offset_of(at: Token | int) -> int:
    """The offset of a token, in characters; an offset stays as it is."""
    offset = at if isinstance(at, int) else at.start_pos
    assert offset is not None
    return offset


def shortened(word: str) -> str:
    """A word for a message; a very long one is cut off."""
    return word if len(word) <= _LONGEST_NAME else f"{word[:_LONGEST_NAME]}..."


def meant(word: str, known: Iterable[str], before: str = "") -> str:
    """A question that suggests the known word most similar to `word`, with a space at its end.

    Empty if none of the first MOST_COMPARED words is similar. before: put before the known word.
    """
    if len(word) > _LONGEST_NAME:
        return ""
    known = list(islice(known, MOST_COMPARED))
    same = [k for k in known if k.lower() == word.lower()]
    near = [*same, *get_close_matches(word, [] if same else known, n=1, cutoff=0.6)]
    return f"did you mean {before}{near[0]}? " if near else ""
