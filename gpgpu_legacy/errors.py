"""The errors of the package: nearly all are errors that a user can cause and mend.

Every message is one line that says what was wrong, what was expected and how to mend it. A program
with several faults has a message for each. The command line prints them and exits with code 2.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Diagnostic:
    """A fault in a program's text.

    line, column: its position in characters, both from 1. position: the same as an offset in bytes
    of the UTF-8 text, from 0, as PROGRAM_ERROR_POSITION reports it; the length of the text for a
    fault of the text as a whole. expected: what was expected and how to mend it. section: of the
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
    """A plan that no executor can run, or not the chosen one.

    problem: what is wrong, without the plan's name. place: in plan.json, such as
    `steps[3].body[0]`; empty if it is not known.
    """

    def __init__(self, problem: str, *, plan: str | None = None, place: str = "") -> None:
        """plan: the name of the plan, with which the message begins."""
        super().__init__(problem if plan is None else f"plan {plan}: {problem}")
        self.problem, self.place = problem, place


class InputError(GpgpuLegacyError):
    """Matrices, files, options or arguments that do not fit the request."""


class NoDeviceRoomError(PlanError):
    """A plan that needs more memory than a device has left; nothing stays allocated."""


class NoRoomError(InputError):
    """A request for more memory than this machine has left; nothing was allocated."""


class ExecutorUnavailableError(GpgpuLegacyError):
    """An executor that cannot run on this machine; the message says why."""


class GpgpuLegacyWarning(UserWarning):
    """Something that is allowed but probably a mistake; the message is one line."""


def is_of_opengl(error: BaseException) -> bool:
    """Whether moderngl raised it; without importing moderngl."""
    moderngl = sys.modules.get("moderngl")
    return moderngl is not None and isinstance(error, moderngl.Error)
