"""The errors that a user of the package can cause.

Every one of them says in one line what was wrong, what was expected and how to mend it (a program
with several faults, a line each and where); the command line prints it and exits with code 2.
"""

from __future__ import annotations

from dataclasses import dataclass


class GpgpuLegacyError(Exception):
    """Anything a user can cause and mend; the parent of all errors raised on purpose."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault of a program's text.

    line, column: its place, in characters, both from 1. position: the same as an offset in bytes of
    the UTF-8 text, from 0, as PROGRAM_ERROR_POSITION gives it: the length of the text where the
    fault shows only after the whole of it was read. expected: what was expected and how to mend it.
    section: of the specification; empty where there is none to name.
    """

    problem: str
    line: int
    column: int
    position: int
    expected: str = ""
    section: str = ""

    def __str__(self) -> str:
        """The fault in one line, without its place."""
        section = f" (section {self.section})" if self.section else ""
        return "; ".join(part for part in (self.problem, self.expected) if part) + section


class AssemblyError(GpgpuLegacyError):
    """A program that does not assemble: what is wrong with its text, and where.

    `diagnostics` are all faults found, in the order of the text; `line`, `column`, `position`,
    `expected` and `section` are the first one's, and `problem` is the first one in a line.
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
        """Point at `line` and `column` (both from 1) of `text`, the program called `name`.

        diagnostics: the faults, where there is more to say than the first one's problem and place.
        """
        lines = text.split("\n")
        if not diagnostics:
            before = "\n".join([*lines[: line - 1], lines[min(line, len(lines)) - 1][: column - 1]])
            diagnostics = (Diagnostic(problem, line, column, len(utf8(before))),)
        first = diagnostics[0]
        self.diagnostics, self.name = diagnostics, name
        self.problem, self.line, self.column = str(first), first.line, first.column
        self.position, self.expected, self.section = first.position, first.expected, first.section
        super().__init__("\n".join(_shown(each, lines, name) for each in diagnostics))


def utf8(text: str) -> bytes:
    """The text's bytes; lone surrogates, which no encoding has, take three as in WTF-8."""
    return text.encode("utf-8", "surrogatepass")


_WIDEST = 120


def _shown(diagnostic: Diagnostic, lines: list[str], name: str) -> str:
    """A diagnostic with its place, and the line (of a long one, a part) over a caret."""
    source = lines[min(diagnostic.line, len(lines)) - 1]
    start = 0 if len(source) <= _WIDEST else max(0, diagnostic.column - 1 - _WIDEST // 2)
    source = source[start : start + _WIDEST].ljust(diagnostic.column - 1 - start)
    printable = "".join(c if c.isprintable() or c == "\t" else " " for c in source)
    before = printable[: diagnostic.column - 1 - start]
    # Tabs stand before the caret too, so that it comes to stand where they put the fault.
    caret = "".join("\t" if c == "\t" else " " for c in before) + "^"
    place = f"{name}:{diagnostic.line}:{diagnostic.column}"
    return f"{place}: {diagnostic}\n  {printable.rstrip()}\n  {caret}"


class PlanError(GpgpuLegacyError):
    """A plan that no executor could carry out as it stands."""


class InputError(GpgpuLegacyError):
    """Matrices, files or options that do not fit what was asked for."""


class ExecutorUnavailableError(GpgpuLegacyError):
    """An executor that cannot run on this machine, and why."""
