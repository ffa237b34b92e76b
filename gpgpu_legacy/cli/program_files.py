"""Programs on the command line: FILE.fp, or - for standard input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.registry import PROGRAM
from gpgpu_legacy.cli.options import Argument, Several
from gpgpu_legacy.cli.words import split
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.isa.ir import Program

ProgramFile = Annotated[Path, Argument("PROG.fp", "A file with a program; - is standard input.")]


def program_files(words: Several[str]) -> tuple[Path, ...]:
    """The files, where every WHAT of these words is a program; else none."""
    whats, given = split(words)
    if not all(what == "-" or what.endswith(PROGRAM) for what in whats):
        return ()
    if whats and given:
        raise InputError(
            f"{whats[0]} is a program, which has no parameters; leave {next(iter(given))}= out"
        )
    return tuple(map(Path, whats))


def assembled(file: Path) -> Program:
    """The program of a file; raises AssemblyError for one that does not assemble."""
    from gpgpu_legacy.languages.registry import language_of

    text, name = read_program(file)
    return language_of(text).assemble(text, name)


def read_program(file: Path) -> tuple[str, str]:
    """The text of a program, and what messages call it."""
    from gpgpu_legacy.files import read_standard_input, read_text
    from gpgpu_legacy.languages.language import MOST_CHARACTERS

    if str(file) == "-":
        return read_standard_input(MOST_CHARACTERS), "standard input"
    return read_text(file, MOST_CHARACTERS), str(file)
