"""The errors of the package, most of which a user can cause and mend, and checks of arguments.

Every message is one line that says what was wrong, what was expected and how to mend it. A program
with several faults has a message for each. The command line prints them and exits with code 2. The
message of a check names the argument, its value and what it must be. Checks of integers accept
NumPy's, and return Python's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from operator import index
from typing import Any, TypeVar
from unicodedata import category

LONGEST_LINE = 1000
"""Characters of a message; a longer one, which quotes an input, loses its middle."""


def printable(text: str) -> str:
    """The text as one line for a terminal, with control characters escaped."""
    if len(text) > LONGEST_LINE:
        half = LONGEST_LINE // 2
        text = f"{text[:half]} … {text[-half:]}"
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if category(c) in _CONTROLS else c for c in text
    )


_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control and format characters, lone surrogates, and separators of lines."""


def reason_of(error: Exception) -> str:
    """The system's message, for the middle of a sentence."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


class GpgpuLegacyError(Exception):
    """The base class of all errors of the package."""

    def __str__(self) -> str:
        """The message in one line, whatever the names and values in it."""
        return printable(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message, without the frames that led to it."""
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Diagnostic:
    """A fault in a program's text.

    line, column: its position in characters, both from 1. position: its offset in the bytes of the
    UTF-8 text, from 0, as PROGRAM_ERROR_POSITION reports it; the length of the text for a fault of
    the text as a whole. expected: what was expected and how to mend it. section: of the
    specification; empty if no section applies.
    """

    problem: str
    line: int
    column: int
    position: int
    expected: str = ""
    section: str = ""

    def __str__(self) -> str:
        """The fault in one line, without its position."""
        section = f" (section {self.section})" if self.section else ""
        return "; ".join(part for part in (self.problem, self.expected) if part) + section


class AssemblyError(GpgpuLegacyError):
    """A program that does not assemble, with the faults in its text and their positions.

    diagnostics: all faults found, in the order of the text. problem: the first of them in one line.
    line, column, position, expected, section: those of the first fault. name: of the program.
    """

    def __init__(
        self,
        problem: str,
        text: str,
        line: int,
        column: int,
        name: str,
        *,
        diagnostics: tuple[Diagnostic, ...] = (),
    ) -> None:
        """problem: what is wrong at `line` and `column` (both from 1) of `text`.

        name: of the program in messages. diagnostics: the faults, if there are several or they say
        more than `problem`.
        """
        lines = text.split("\n")
        if not diagnostics:
            before = "\n".join([*lines[: line - 1], lines[min(line, len(lines)) - 1][: column - 1]])
            diagnostics = (Diagnostic(problem, line, column, len(utf8(before))),)
        first = diagnostics[0]
        self.diagnostics, self.name = diagnostics, name
        self.problem, self.line, self.column = str(first), first.line, first.column
        self.position, self.expected, self.section = first.position, first.expected, first.section
        super().__init__("\n".join(_shown(diagnostic, lines, name) for diagnostic in diagnostics))

    def __str__(self) -> str:
        """A line for each fault, over the line of the text and a caret."""
        return str(self.args[0])


def utf8(text: str) -> bytes:
    """The text in UTF-8. A lone surrogate, which UTF-8 lacks, takes three bytes, as in WTF-8."""
    return text.encode("utf-8", "surrogatepass")


_WIDEST = 120


def _shown(diagnostic: Diagnostic, lines: list[str], name: str) -> str:
    """A diagnostic with its position, and the source line, cut if it is long, over a caret."""
    source = lines[min(diagnostic.line, len(lines)) - 1]
    start = 0 if len(source) <= _WIDEST else max(0, diagnostic.column - 1 - _WIDEST // 2)
    source = source[start : start + _WIDEST].ljust(diagnostic.column - 1 - start)
    shown = "".join(c if c.isprintable() or c == "\t" else " " for c in source)
    before = shown[: diagnostic.column - 1 - start]
    # Tabs before the caret put it below the fault, whatever their width.
    caret = "".join("\t" if c == "\t" else " " for c in before) + "^"
    position = f"{name}:{diagnostic.line}:{diagnostic.column}"
    return f"{printable(f'{position}: {diagnostic}')}\n  {shown.rstrip()}\n  {caret}"


class PlanError(GpgpuLegacyError):
    """A plan that no executor can run, or that the chosen one cannot run.

    problem: what is wrong, without the plan's name. place: in plan.json, such as
    `steps[3].body[0]`; empty if it is not known.
    """

    def __init__(self, problem: str, *, plan: str | None = None, place: str = "") -> None:
        """plan: the name of the plan, with which the message begins."""
        super().__init__(problem if plan is None else f"plan {plan}: {problem}")
        self.problem, self.place = problem, place


class InputError(GpgpuLegacyError):
    """Matrices, files, options or arguments that do not fit the request."""


class UnknownNameError(InputError, AttributeError, KeyError):
    """A name that a result or a block does not have, as an attribute or as an index."""


class NoDeviceRoomError(PlanError):
    """A plan that needs more memory than a device has left; nothing stays allocated."""


class NoRoomError(InputError):
    """A request for more memory than this machine has left; nothing was allocated."""


class ExecutorUnavailableError(GpgpuLegacyError):
    """An executor that cannot run on this machine; the message says why."""


class GpgpuLegacyWarning(UserWarning):
    """Something that is allowed but probably a mistake; the message is one line."""


def warn(text: str) -> None:
    """Issue a GpgpuLegacyWarning at the line of the caller's code, outside of the package."""
    import warnings

    frame, level = sys._getframe(1), 2
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(f"{package}."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, GpgpuLegacyWarning, stacklevel=level)


def is_of_opengl(error: BaseException) -> bool:
    """Whether an error is one of moderngl's. moderngl itself is not imported."""
    moderngl = sys.modules.get("moderngl")
    return moderngl is not None and isinstance(error, moderngl.Error)


# Checks of arguments -----------------------------------------------------------------------------

E = TypeVar("E", bound=Enum)

LONGEST_VALUE = 40
"""Characters of a value that messages quote; for a longer one they name the type."""


def as_integer(name: str, value: Any) -> int:
    """The value as an int; InputError for any other type, even for the float 3.0."""
    try:
        return index(value)
    except TypeError:
        raise InputError(f"{name} is {described(value)}; it must be an integer") from None


def as_positive(name: str, value: Any) -> int:
    """The value as an int of at least 1; InputError for others."""
    return as_whole(name, value, 1)


def as_whole(name: str, value: Any, least: int = 0) -> int:
    """The value as an int of at least `least`; InputError for others."""
    number = as_integer(name, value)
    if number < least:
        raise InputError(f"{name} is {described(number)}; it must be at least {least}")
    return number


def as_member(name: str, value: object, kind: type[E]) -> E:
    """The member of an Enum, given the member or its value; InputError for others."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(choice.value) for choice in kind)
        raise InputError(f"{name} is {described(value)}; choose from {known}") from None


def hint(name: str, known: Collection[str], otherwise: str = "") -> str:
    """Advice for an unknown name: the nearest name, or else, by default, a list of all."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else otherwise or f"choose from {', '.join(known)}"


def described(value: object) -> str:
    """The value for a message: its repr, or its type if the repr is long."""
    try:
        quoted = repr(value)
    except ValueError:  # an int of more digits than Python writes
        return kind_of(value)
    return kind_of(value) if "\n" in quoted or len(quoted) > LONGEST_VALUE else quoted


def shape_in_words(shape: tuple[int, ...]) -> str:
    """The shape of an array in messages: `3×4`, `a vector of 5`, `a single number`."""
    if len(shape) == 1:
        return f"a vector of {shape[0]}"
    return "×".join(map(str, shape)) or "a single number"


def listed(items: Iterable[object], word: str = "and") -> str:
    """Items as people list them: 1, 2 and 3."""
    *most, last = map(str, items)
    return f"{', '.join(most)} {word} {last}" if most else last


def counted(number: int, what: str, several: str = "") -> str:
    """A number of things in words: 1 pass, 2 passes. several: the plural, if not `what` with s."""
    return f"{number} {what if number == 1 else several or what + 's'}"


def kind_of(value: object) -> str:
    """The type of a value in words, such as `an int`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" or name == "ndarray" else f"a {name}"


# Numbers in texts -------------------------------------------------------------------------------

MOST_DIGITS = 20
"""Digits of a whole number in a text: 64 bits have no more, and no size is as large."""

_WHOLE = re.compile(rf" *[+-]?[0-9]{{1,{MOST_DIGITS}}} *")
_REAL = re.compile(
    r" *[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan) *", re.IGNORECASE
)


def integer_in(text: str) -> int | None:
    """The whole number in a text, of at most 20 digits; None for another text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def natural_in(text: str) -> int | None:
    """The whole number in a text, 0 or more and without a sign; None for another text."""
    return None if text.strip(" ")[:1] in {"+", "-"} else integer_in(text)


def pair_in(text: str) -> tuple[int, int] | None:
    """Two whole numbers, 0 or more, with a comma between them; None for another text."""
    first, second = (natural_in(part) for part in text.partition(",")[::2])
    return None if first is None or second is None else (first, second)


def real_in(text: str) -> float | None:
    """The number in a text, which may be NaN or an infinity; None for another text."""
    return float(text) if _REAL.fullmatch(text) else None
