"""Which programs load: the assembler's verdict against the GL driver's own assembler.

The driver runs in a child process, because there are programs that Mesa aborts on. The assembler
has the driver's limits. Where the driver departs from the specification, the specification wins,
and MESA and NVIDIA say so by name.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from ctypes import byref, c_int
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import ATTRIBUTES, MATRICES, ROWS, VECTORS, Writer, joined, tokens

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS, AssemblerLimits
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.runtime.gl import compatibility
from gpgpu_legacy.runtime.gl.headers import GL

pytestmark = pytest.mark.gl

CORPUS = Path(__file__).parent.parent / "corpus"
HEADER = "!!ARBfp1.0\n"
SERVER = Path(__file__).with_name("accept_server.py")

# The driver, in a child process ---------------------------------------------------------------


class Driver:
    """Asks the child, and starts another when one has died."""

    def __init__(self, limits: AssemblerLimits, departures: Mapping[str, Departure]) -> None:
        self.limits, self.departures = limits, departures
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

    def ours(self, text: str) -> bool:
        """Whether the assembler takes the program, under the driver's limits."""
        try:
            assemble(text, limits=self.limits)
        except AssemblyError:
            return False
        return True

    def departs(self, text: str) -> bool:
        """Whether there is something in the program that the driver is known to get wrong."""
        found = {name for name, each in self.departures.items() if re.search(each.pattern, text)}
        ranges = re.findall(r"(\d+)\s*\.\.\s*(\d+)", text)
        if all(int(first) <= int(last) for first, last in ranges):
            found.discard(REVERSED)
        return bool(found)

    def close(self) -> None:
        if self.child is not None:
            self.child.communicate()
            self.child = None


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    context = compatibility.context()
    departures = {"Mesa": MESA, "NVIDIA": NVIDIA}
    known = next((found for mark, found in departures.items() if mark in context.version), {})
    made = Driver(limits_of(context), known)
    assert made.loads("!!ARBfp1.0\nEND"), "the child does not answer"
    yield made
    made.close()


# MAX_PROGRAM_…_ARB of ARB_fragment_program's header, and what OpenGL itself has limits for.
_PROGRAM_LIMITS = {
    "parameters": 0x88A9,
    "temporaries": 0x88A5,
    "attributes": 0x88AD,
    "local_parameters": 0x88B4,
    "environment_parameters": 0x88B5,
}
_CONTEXT_LIMITS = {
    "texture_coordinate_sets": 0x8871,
    "texture_image_units": 0x8872,
    "texture_units": GL.MAX_TEXTURE_UNITS,
    "lights": 0x0D31,
    "program_matrices": 0x862F,
    "draw_buffers": GL.MAX_DRAW_BUFFERS,
}


def limits_of(context: compatibility.Context) -> AssemblerLimits:
    """The driver's limits; of instructions we take fewer than drivers do."""
    found, value = {}, c_int()
    with context.current() as gl:
        for name, number in _PROGRAM_LIMITS.items():
            gl.glGetProgramivARB(GL.FRAGMENT_PROGRAM, number, byref(value))
            found[name] = value.value
        found |= {name: context.integer(number) for name, number in _CONTEXT_LIMITS.items()}
        assert gl.glGetError() == GL.NO_ERROR
    return replace(DEFAULT_LIMITS, **found)


def disagreements(driver: Driver, texts: list[str]) -> list[str]:
    return [
        f"we {'accept' if accepted else 'refuse'}: {text}"
        for text in texts
        if (accepted := driver.ours(text)) != driver.loads(text) and not driver.departs(text)
    ]


# Where drivers depart from the specification ---------------------------------------------------


@dataclass(frozen=True)
class Departure:
    """pattern: what programs with it have. example: one of them. valid: by the specification."""

    pattern: str
    example: str
    valid: bool


_SPACE = r"(?:[ \t\r\n]|#[^\r\n]*)"
_DECLARES = r"\b(?:ALIAS|ATTRIB|OUTPUT|PARAM|TEMP)\b[^;]*"
_SWZ = r"\bSWZ(?:_SAT)?\b"
_AMONG_SELECTORS = r"(?:\s*,[^,;]*){0,3};"

REVERSED = "a range that runs backwards is accepted, or aborts the process"
MESA = {
    "white space before the header is accepted": Departure(
        r"\A\s+!!ARBfp1\.0", "\n!!ARBfp1.0\nEND", False
    ),
    "a comment that a bare carriage return ends is refused": Departure(
        r"#[^\r\n]*\r(?!\n)", f"{HEADER}# one\rEND", True
    ),
    "white space behind the point of a suffix is refused": Departure(
        rf"\.{_SPACE}", f"{HEADER}TEMP r; MOV r, r. xxyy; END", True
    ),
    "the names of texture targets are refused as identifiers": Departure(
        rf"{_DECLARES}\b(?:CUBE|RECT)\b", f"{HEADER}TEMP CUBE; END", True
    ),
    "01 and its like are accepted as selectors of SWZ": Departure(
        r"\bSWZ\b[^;]*,\s*[+-]?\s*0+[01]\b", f"{HEADER}TEMP r; SWZ r, r, 01, x, y, z; END", False
    ),
    REVERSED: Departure(
        r"\[\s*[1-9]\d*\s*\.\.",
        f"{HEADER}TEMP r; PARAM p[] = {{ program.env[5..2], 1 }}; MOV r, p[0]; END",
        False,
    ),
    "options of extensions that are not of the core one are accepted": Departure(
        r"OPTION\s+ARB_fragment_coord_(?:origin_upper_left|pixel_center)",
        f"{HEADER}OPTION ARB_fragment_coord_origin_upper_left; END",
        False,
    ),
    "a null character ends the text": Departure(r"\0", f"{HEADER}END\0", False),
    "the options of NV_fragment_program_option are refused": Departure(
        r"OPTION\s+NV_", f"{HEADER}OPTION NV_fragment_program; END", True
    ),
}
NVIDIA = {
    "words that begin and end statements are accepted as identifiers": Departure(
        rf"{_DECLARES}\b(?:ALIAS|ATTRIB|END|OPTION|OUTPUT|PARAM|TEMP)\b",
        f"{HEADER}TEMP END; END",
        False,
    ),
    "identifiers that begin with a digit are accepted": Departure(
        rf"{_DECLARES}[\s,]\d\w*\s*[,;=\[]", f"{HEADER}TEMP 2D; END", False
    ),
    "punctuation is accepted for the name of what is bound": Departure(
        r"\b(?:ATTRIB|OUTPUT|PARAM)\s*[^\w\s$=]+\s*=",
        f"{HEADER}OUTPUT + = result.depth; END",
        False,
    ),
    "a sign before the register of SWZ is accepted": Departure(
        rf"{_SWZ}[^,;]*,\s*[+-]", f"{HEADER}TEMP r; SWZ r, -r, x, y, z, w; END", False
    ),
    "a suffix of the register of SWZ is accepted": Departure(
        rf"{_SWZ}[^,;]*,[^,;]*\.\s*[xyzwrgba]{{1,4}}\s*,",
        f"{HEADER}TEMP r; SWZ r, r.x, 0, 1, x, y; END",
        False,
    ),
    "selectors of SWZ of both sets, xyzw and rgba, are accepted": Departure(
        rf"{_SWZ}(?=[^;]*,\s*[+-]?\s*[xyzw]{_AMONG_SELECTORS})"
        rf"(?=[^;]*,\s*[+-]?\s*[rgba]{_AMONG_SELECTORS})",
        f"{HEADER}TEMP r; SWZ r, r, x, y, b, a; END",
        False,
    ),
    "a texture image unit beyond the last is accepted": Departure(
        r"\btexture\s*\[\s*32\s*\]", f"{HEADER}TEMP r; TEX r, r, texture[32], 2D; END", False
    ),
    "a variable is accepted for a texture image unit": Departure(
        r"\b(?:TEX|TXB|TXP)(?:_SAT)?\b[^,;]*,[^,;]*,\s*(?!texture\b)[A-Za-z_$]\w*\s*,",
        f"{HEADER}TEMP r; TEX r, r, r, 2D; END",
        False,
    ),
}


def test_where_the_driver_departs_the_specification_wins(driver: Driver) -> None:
    for name, departure in driver.departures.items():
        text = departure.example
        assert driver.departs(text), name
        assert driver.ours(text) is departure.valid, name
        assert driver.loads(text) is not departure.valid, name


# The same verdict --------------------------------------------------------------------------------

FILES = sorted(CORPUS.glob("*/*.fp"))


@pytest.mark.parametrize("folder", ["valid", "programs", "invalid"])
def test_the_corpus_has_the_drivers_verdict(driver: Driver, folder: str) -> None:
    texts = [p.read_bytes().decode() for p in FILES if p.parent.name == folder]
    assert len(texts) > 10
    assert disagreements(driver, texts) == []


def assert_load_within_the_limits(driver: Driver, texts: list[str]) -> None:
    """Nearly all load; state.texenv[7], say, only where there are eight fixed-function units."""
    assert [text for text in texts if driver.ours(text) is not driver.loads(text)] == []
    assert sum(map(driver.ours, texts)) > 0.98 * len(texts)


def test_programs_in_the_whole_language_load(driver: Driver) -> None:
    texts = [Writer(Random(seed)).text() for seed in range(600)]
    assert all(map(assemble, texts))
    assert_load_within_the_limits(driver, texts)


def test_what_is_printed_loads(driver: Driver) -> None:
    texts = [disassemble(assemble(Writer(Random(seed)).text())) for seed in range(600, 1000)]
    assert_load_within_the_limits(driver, texts)


def test_one_construct_at_a_time_has_the_drivers_verdict(driver: Driver) -> None:
    """Right and wrong statements, a line each, and what may stand behind the header."""
    statements = (CORPUS / "statements.txt").read_text(encoding="ascii").splitlines()
    beginnings = (CORPUS / "beginnings.txt").read_text(encoding="ascii").splitlines()
    texts = [f"{HEADER}TEMP r;\n{each};\nEND\n" for each in statements]
    texts += [f"{HEADER}{each}\nEND\n" for each in beginnings]
    assert len(texts) > 300
    assert disagreements(driver, texts) == []


_PLACES = ("MOV r, {};", "PARAM p = {};", "PARAM p[] = {{ {} }};", "ATTRIB a = {};", "MOV {}, r;")


def test_bindings_load_wherever_they_may_stand_and_nowhere_else(driver: Driver) -> None:
    texts = [
        f"{HEADER}TEMP r;\n{statement.format(binding)}\nEND\n"
        for binding in (*VECTORS, *MATRICES, *ROWS[::3], *ATTRIBUTES)
        for statement in _PLACES
    ]
    assert disagreements(driver, texts) == []


# Tokens deleted, doubled, exchanged and put in --------------------------------------------------

_WORDS = """
    fragment program state result texture color texcoord position depth env local material
    light matrix mvp inverse row ambient front primary x y xyzw rgba xg r a 0 1 2 7 8 31 32
    255 256 .5 1e2 99999999999 + - .. . , ; = [ ] { } MOV ADD MAD RCP SWZ TEX KIL KIL_SAT
    MOV_SAT TEMP PARAM ATTRIB OUTPUT ALIAS OPTION END 1D 2D 3D CUBE RECT
"""


@settings(max_examples=400)
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
                words.insert(i, data.draw(st.sampled_from(_WORDS.split())))
            case "replace":
                words[i] = data.draw(st.sampled_from(_WORDS.split()))
        if not words:
            break
    assert disagreements(driver, [joined(words)]) == []
