"""What the assembler says of a fault, and where it says that it is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from difflib import get_close_matches

from lark import Token

from gpgpu_legacy.errors import AssemblyError, Diagnostic, utf8

MOST_FAULTS = 20
"""After so many the rest of the text is not looked at."""

_LONGEST_NAME = 40


class FaultError(Exception):
    """One fault, at a token or an offset; `whole` where only the whole text shows it."""

    def __init__(
        self, problem: str, expected: str, section: str, at: Token | int, *, whole: bool = False
    ) -> None:
        """Say what is wrong, what was expected, the section of the specification, and where."""
        super().__init__(problem)
        self.problem, self.expected, self.section = problem, expected, section
        self.offset = at if isinstance(at, int) else offset_of(at)
        self.whole = whole


class EarlierFaultError(Exception):
    """A statement that is wrong only because of a fault that is reported already."""


class Text:
    """A program's text, with the places of offsets in it."""

    def __init__(self, text: str, name: str) -> None:
        """Find where the lines begin; `name` is what messages call the text."""
        self.text, self.name = text, name
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def error(self, faults: Iterable[FaultError]) -> AssemblyError:
        """The exception that reports the faults, at least one."""
        diagnostics = tuple(self._diagnostic(fault) for fault in faults)
        first = diagnostics[0]
        return AssemblyError(
            str(first), self.text, first.line, first.column, self.name, diagnostics=diagnostics
        )

    def _diagnostic(self, fault: FaultError) -> Diagnostic:
        # What is missing at the end is shown behind the last thing there, not in an empty line.
        at_end = fault.offset >= len(self.text)
        line, column = self.position(len(self.text.rstrip()) if at_end else fault.offset)
        until = len(self.text) if fault.whole else fault.offset
        position = len(utf8(self.text[:until]))
        return Diagnostic(fault.problem, line, column, position, fault.expected, fault.section)


def offset_of(token: Token) -> int:
    """Where a token begins, in characters."""
    assert token.start_pos is not None
    return token.start_pos


def shortened(word: str) -> str:
    """A word as messages show it: of a very long one, the beginning."""
    return word if len(word) <= _LONGEST_NAME else f"{word[:_LONGEST_NAME]}..."


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is nearly `word`; empty where none is."""
    if len(word) > _LONGEST_NAME:
        return ""
    known = list(known)
    for same in (k for k in known if k.lower() == word.lower()):
        return same
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.6)), "")


def perhaps(word: str, known: Iterable[str], otherwise: str) -> str:
    """The question whether a near word was meant, or else `otherwise`."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near else otherwise
