"""Programs of whatever length, and files that are none: refused in one line, in little time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from attacks import ATTACK

from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.language import MOST_CHARACTERS

END = "MOV result.color, 0;\nEND\n"
SHARE, MOST = 2**15, MOST_CHARACTERS - 200


def named(form: str, count: int) -> str:
    return "".join(form.replace("@", f"n{i:x}") for i in range(count))


def repeated(piece: str, start: str = "", end: str = END) -> Callable[[int], str]:
    return lambda size: start + piece * ((size - len(start) - len(end)) // len(piece)) + end


def declared(form: str, end: str = END) -> Callable[[int], str]:
    """Declarations that differ in their names, which have up to 6 characters."""
    return lambda size: named(form, size // (len(form) + 5 * form.count("@"))) + end


GROWING: dict[str, Callable[[int], str]] = {
    "lines": repeated("\n"),
    "byte order marks": repeated("\ufeff"),
    "comments": repeated("#\n"),
    "one comment": repeated("#"),
    "one name": repeated("a", "TEMP ", ";"),
    "a swizzle": repeated("x", "MOV result.color, fragment.position.", ";"),
    "a mask": repeated("xy", "MOV result.color.", ", 0;"),
    "names of a TEMP": lambda size: f"TEMP {named('@,', size // 9)} a;",
    "TEMPs": declared("TEMP @;"),
    "PARAMs": declared("PARAM @=1;"),
    "arrays": declared("PARAM @[]={program.local[0..2047]};"),
    "ALIASes": declared("TEMP @;ALIAS a@=@;"),
    "ranges of one array": repeated("program.local[0..2047],", "PARAM p[]={", "1};"),
    "elements of one array": repeated("1,", "PARAM p[]={", "1};"),
    "a vector": repeated("1,", "PARAM p={", "1};"),
    "digits": repeated("9", "MOV result.color, ", ";END"),
    "an exponent": repeated("9", "MOV result.color, 1e", ";END"),
    "a size": repeated("9", "PARAM p[", "]={1};"),
    "braces": repeated("{", "MOV result.color, "),
    "signs": repeated("-", "MOV result.color, "),
    "operands": repeated(",a", "ADD a"),
    "options": repeated("OPTION ARB_fog_exp;"),
    "semicolons": repeated(";"),
    "other characters": repeated("@"),
    "undeclared names": declared("MOV @,0;"),
    "typing errors": lambda size: (
        named("TEMP aaaaaaaaaaaaaaaaaaaa@;", size // 33) + named("MOV aaaaaaaaaaaaaaaab@, 0;", 30)
    ),
    "moves": repeated("MOV a,a;", "TEMP a;"),
    "extended swizzles": repeated("SWZ a,a,x,-y,0,1;", "TEMP a;"),
    "lookups": repeated("TEX a,a,texture[0],2D;", "TEMP a;"),
}


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING.keys())
def test_time_grows_with_the_text_and_messages_do_not(text: Callable[[int], str]) -> None:
    """Instructions take the longest: up to 12 µs a character on a quiet core.

    What is left of the two seconds is for faults, whose number is bounded.
    """
    given = "!!ARBfp1.0\n" + text(ATTACK.count(SHARE, MOST))
    assert len(given) <= MOST_CHARACTERS
    started = process_time()
    try:
        assemble(given)
    except AssemblyError as error:
        assert len(error.diagnostics) <= 30
        assert len(str(error)) < 40_000
    assert process_time() - started < 2.0 + 30e-6 * len(given)


# Files that are none -----------------------------------------------------------------------------


def test_a_huge_sparse_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sparse.fp"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match=r"has more than 1000 bytes, the most"):
        read_text(path, 1000)


def test_commands_refuse_what_is_endless_within_little_memory(tmp_path: Path) -> None:
    """In a child with 2 GB of addresses: devices, pipes, and standard input without an end."""
    os.mkfifo(tmp_path / "pipe.fp")
    (tmp_path / "zeros.fp").symlink_to("/dev/zero")
    files = [str(tmp_path / name) for name in ("zeros.fp", "pipe.fp")]
    commands = [("check", files[0]), ("count", "-"), ("disassemble", files[1])]
    for command in commands:
        with Path("/dev/zero").open("rb") as zeros:
            ended = subprocess.run(
                [sys.executable, "-m", "gpgpu_legacy", *command],
                stdin=zeros,
                capture_output=True,
                text=True,
                timeout=60,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)),
                check=False,
            )
        assert ended.returncode == 2, ended
        assert "Traceback" not in ended.stderr
        assert len(ended.stderr.splitlines()) <= 3  # a fault has a line of text and a caret
