"""Which programs load: the assembler's verdict against the GL driver's own assembler.

The driver runs in a child process, because there are programs that Mesa aborts on. Where it departs
from the specification, the specification wins, and DEPARTURES says so by name.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import ATTRIBUTES, MATRICES, OPCODES, ROWS, VECTORS, Writer, joined, tokens

from gpgpu_legacy.errors import AssemblyError, ExecutorUnavailableError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.runtime import gl_arbfp_context

CORPUS = Path(__file__).parent.parent / "corpus"
HEADER = "!!ARBfp1.0\n"
SERVER = Path(__file__).with_name("accept_server.py")

# The driver, in a child process ---------------------------------------------------------------


class Driver:
    """Asks the child, and starts another when one has died."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None

    def loads(self, text: str) -> bool | None:
        """Whether the driver loads the program; None where it dies of it."""
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self.child.stdin and self.child.stdout
        data = text.encode()
        try:
            self.child.stdin.write(struct.pack("<I", len(data)) + data)
            self.child.stdin.flush()
            answer = self.child.stdout.read(1)
        except BrokenPipeError:
            answer = b""
        if answer:
            return answer == b"1"
        self.close()
        return None

    def close(self) -> None:
        if self.child is not None:
            self.child.communicate()
            self.child = None


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    try:
        context = gl_arbfp_context.context()
    except ExecutorUnavailableError as error:
        if os.environ.get("REQUIRE_GL") == "1":
            pytest.fail(f"REQUIRE_GL=1, but {error}")
        pytest.skip(str(error))
    if "Mesa" not in context.version:
        pytest.skip(f"the assembler's default limits are Mesa's, and this is {context.renderer}")
    made = Driver()
    assert made.loads("!!ARBfp1.0\nEND"), "the child does not answer"
    yield made
    made.close()


def ours(text: str) -> bool:
    try:
        assemble(text)
    except AssemblyError:
        return False
    return True


def disagreements(driver: Driver, texts: list[str]) -> list[str]:
    return [
        f"we {'accept' if accepted else 'refuse'}: {text}"
        for text in texts
        if (accepted := ours(text)) != driver.loads(text) and not departs(text)
    ]


# Where Mesa departs from the specification ----------------------------------------------------

_SPACE = r"(?:[ \t\r\n]|#[^\r\n]*)"

REVERSED = "a range that runs backwards is accepted, or aborts the process"
DEPARTURES = {
    "white space before the header is accepted": r"\A\s+!!ARBfp1\.0",
    "a comment that a bare carriage return ends is refused": r"#[^\r\n]*\r(?!\n)",
    "white space behind the point of a suffix is refused": rf"\.{_SPACE}",
    "the names of texture targets are refused as identifiers": (
        r"\b(?:ALIAS|ATTRIB|OUTPUT|PARAM|TEMP)\b[^;]*\b(?:CUBE|RECT)\b"
    ),
    "01 and its like are accepted as selectors of SWZ": r"\bSWZ\b[^;]*,\s*[+-]?\s*0+[01]\b",
    REVERSED: r"\[\s*[1-9]\d*\s*\.\.",
    "options of extensions that are not of the core one are accepted": (
        r"OPTION\s+ARB_fragment_(?:program_shadow|coord_origin_upper_left|coord_pixel_center)"
    ),
    "a null character ends the text": r"\0",
}


def departs(text: str) -> bool:
    found = {name for name, pattern in DEPARTURES.items() if re.search(pattern, text)}
    ranges = re.findall(r"(\d+)\s*\.\.\s*(\d+)", text)
    if all(int(first) <= int(last) for first, last in ranges):
        found.discard(REVERSED)
    return bool(found)


EXAMPLES = {
    "white space before the header is accepted": ("\n!!ARBfp1.0\nEND", False),
    "a comment that a bare carriage return ends is refused": (f"{HEADER}# one\rEND", True),
    "white space behind the point of a suffix is refused": (
        f"{HEADER}TEMP r; MOV r, r. xxyy; END",
        True,
    ),
    "the names of texture targets are refused as identifiers": (f"{HEADER}TEMP CUBE; END", True),
    "01 and its like are accepted as selectors of SWZ": (
        f"{HEADER}TEMP r; SWZ r, r, 01, x, y, z; END",
        False,
    ),
    REVERSED: (
        f"{HEADER}TEMP r; PARAM p[] = {{ program.env[5..2], 1 }}; MOV r, p[0]; END",
        False,
    ),
    "options of extensions that are not of the core one are accepted": (
        f"{HEADER}OPTION ARB_fragment_program_shadow; END",
        False,
    ),
    "a null character ends the text": (f"{HEADER}END\0", False),
}


@pytest.mark.gl
@pytest.mark.parametrize("name", DEPARTURES)
def test_where_the_driver_departs_the_specification_wins(driver: Driver, name: str) -> None:
    text, valid = EXAMPLES[name]
    assert departs(text)
    assert ours(text) is valid
    assert driver.loads(text) is not valid


# The same verdict --------------------------------------------------------------------------------

FILES = sorted(CORPUS.glob("*/*.fp"))


@pytest.mark.gl
@pytest.mark.parametrize("folder", ["valid", "programs", "invalid"])
def test_the_corpus_has_the_drivers_verdict(driver: Driver, folder: str) -> None:
    texts = [p.read_bytes().decode() for p in FILES if p.parent.name == folder]
    assert len(texts) > 10
    assert disagreements(driver, texts) == []


@pytest.mark.gl
def test_programs_in_the_whole_language_load(driver: Driver) -> None:
    texts = [Writer(Random(seed)).text() for seed in range(600)]
    assert [text for text in texts if not ours(text) or not driver.loads(text)] == []


@pytest.mark.gl
def test_what_is_printed_loads(driver: Driver) -> None:
    texts = [disassemble(assemble(Writer(Random(seed)).text())) for seed in range(600, 1000)]
    assert [text for text in texts if not driver.loads(text)] == []


@pytest.mark.gl
def test_one_construct_at_a_time_has_the_drivers_verdict(driver: Driver) -> None:
    """Right and wrong statements, a line each, and what may stand behind the header."""
    statements = (CORPUS / "statements.txt").read_text(encoding="ascii").splitlines()
    beginnings = (CORPUS / "beginnings.txt").read_text(encoding="ascii").splitlines()
    texts = [f"{HEADER}TEMP r;\n{each};\nEND\n" for each in statements]
    texts += [f"{HEADER}{each}\nEND\n" for each in beginnings]
    assert len(texts) > 300
    assert disagreements(driver, texts) == []


@pytest.mark.gl
@pytest.mark.parametrize("opcode", sorted(OPCODES))
def test_operands_of_every_shape_have_the_drivers_verdict(driver: Driver, opcode: str) -> None:
    """Every opcode, with and without _SAT, with one to six operands of every sort."""
    operands = ("r", "r.x", "-r.wzyx", "2", "{1, 2}.x", "texture[0]", "2D", "x", "0")
    random, texts = Random(opcode), []
    for _ in range(120):
        count = random.choice((1, 2, 2, 3, 3, 4, 4, 6))
        written = ["r", *(random.choice(operands) for _ in range(count - 1))]
        name = opcode + random.choice(("", "", "_SAT"))
        texts.append(f"{HEADER}TEMP r, x;\n{name} {', '.join(written)};\nEND\n")
    assert disagreements(driver, texts) == []


_PLACES = ("MOV r, {};", "PARAM p = {};", "PARAM p[] = {{ {} }};", "ATTRIB a = {};", "MOV {}, r;")
_CHANGES = ("front", "row", "color", "inverse", "ambient", "x", "0", "9", ".", "[")


@pytest.mark.gl
def test_bindings_load_wherever_they_may_stand_and_nowhere_else(driver: Driver) -> None:
    texts = [
        f"{HEADER}TEMP r;\n{statement.format(binding)}\nEND\n"
        for binding in (*VECTORS, *MATRICES, *ROWS[::3], *ATTRIBUTES)
        for statement in _PLACES
    ]
    assert disagreements(driver, texts) == []


@pytest.mark.gl
def test_bindings_with_a_word_changed_have_the_drivers_verdict(driver: Driver) -> None:
    random, texts = Random(1), []
    for binding in (*VECTORS, *MATRICES, *ROWS[::5], *ATTRIBUTES):
        words = re.findall(r"[a-z]+|\d+|\S", binding)
        for _ in range(8):
            changed, at = list(words), random.randrange(1, len(words))
            changed[at : at + random.randrange(2)] = random.choices(_CHANGES, k=random.randrange(2))
            statement = random.choice(_PLACES[:3]).format("".join(changed))
            texts.append(f"{HEADER}TEMP r;\n{statement}\nEND\n")
    assert disagreements(driver, texts) == []


# Tokens deleted, doubled, exchanged and put in --------------------------------------------------

_WORDS = [
    "fragment",
    "program",
    "state",
    "result",
    "texture",
    "color",
    "texcoord",
    "position",
    "depth",
    "env",
    "local",
    "material",
    "light",
    "matrix",
    "mvp",
    "inverse",
    "row",
    "ambient",
    "front",
    "primary",
    "x",
    "y",
    "xyzw",
    "rgba",
    "xg",
    "r",
    "a",
    "0",
    "1",
    "2",
    "7",
    "8",
    "31",
    "32",
    "255",
    "256",
    ".5",
    "1e2",
    "99999999999",
    "+",
    "-",
    "..",
    ".",
    ",",
    ";",
    "=",
    "[",
    "]",
    "{",
    "}",
    "MOV",
    "ADD",
    "MAD",
    "RCP",
    "SWZ",
    "TEX",
    "KIL",
    "KIL_SAT",
    "MOV_SAT",
    "TEMP",
    "PARAM",
    "ATTRIB",
    "OUTPUT",
    "ALIAS",
    "OPTION",
    "END",
    "1D",
    "2D",
    "3D",
    "CUBE",
    "RECT",
]


@pytest.mark.gl
@settings(max_examples=600)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_mutations_have_the_drivers_verdict(driver: Driver, seed: int, data: st.DataObject) -> None:
    words = tokens(Writer(Random(seed), most=4).text())
    for _ in range(data.draw(st.integers(1, 2))):
        i, j = (data.draw(st.integers(0, len(words) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(("delete", "double", "exchange", "put in", "replace"))):
            case "delete":
                del words[i : i + 1]
            case "double":
                words.insert(i, words[i])
            case "exchange":
                words[i], words[j] = words[j], words[i]
            case "put in":
                words.insert(i, data.draw(st.sampled_from(_WORDS)))
            case "replace":
                words[i] = data.draw(st.sampled_from(_WORDS))
        if not words:
            break
    assert disagreements(driver, [joined(words)]) == []
