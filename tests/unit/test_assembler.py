from __future__ import annotations

import re
from pathlib import Path
from random import Random
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import Writer

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.files import shader_folder, shader_text
from gpgpu_legacy.isa.opcodes import (
    ARBFP,
    OperandKind,
)
from gpgpu_legacy.isa.program import (
    Instruction,
    Parameter,
    ParameterSpace,
    Selector,
    Span,
    Src,
    Temporary,
)
from gpgpu_legacy.languages.arb.limits import HEADER, MOST_INSTRUCTIONS, AssemblerLimits
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.arb.syntax import words_of
from gpgpu_legacy.languages.registry import program_of

CORPUS = Path(__file__).parent.parent / "corpus"
VALID = sorted((CORPUS / "valid").glob("*.fp"))
INVALID = sorted((CORPUS / "invalid").glob("*.fp"))
PROGRAMS = sorted((CORPUS / "programs").glob("*.fp"))
X, Y, Z, W = Selector.X, Selector.Y, Selector.Z, Selector.W


def text(*lines: str) -> str:
    return "\n".join([HEADER, *lines, "END", ""])


def only_instruction(*lines: str) -> Instruction:
    [instruction] = assemble(text("TEMP R0, R1;", *lines)).instructions
    return instruction


def source(*lines: str) -> Src:
    return only_instruction(*lines).srcs[0]


def fault(of: str) -> AssemblyError:
    with pytest.raises(AssemblyError) as raised:
        assemble(of, name="some/where.fp")
    return raised.value


# The corpus --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_valid_program_is_what_its_comments_say(path: Path) -> None:
    """Lines that begin with `#=` are the program's canonical text, written by hand."""
    given_text = path.read_bytes().decode()
    canonical = re.findall(r"^#= (.*?)\r?$", given_text, re.MULTILINE)
    program = assemble(given_text)
    assert disassemble(program) == text(*canonical)
    assert assemble(text(*canonical)) == program


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_program_is_refused_where_it_is_wrong(path: Path) -> None:
    """The second line says where, and a part of the message."""
    given_text = path.read_text(encoding="utf-8")
    match = re.match(r"!!ARBfp1\.0\n# expect (\d+):(\d+) ?(.*)\n", given_text)
    assert match, "an invalid program begins with the header and `# expect LINE:COLUMN fragment`"
    line, column, fragment = int(match[1]), int(match[2]), match[3]
    error = fault(given_text)
    assert (error.line, error.column) == (line, column), str(error)
    assert fragment in error.problem


def test_the_corpus_is_there() -> None:
    assert len(VALID) > 15
    assert len(INVALID) > 140
    assert len(PROGRAMS) > 10


# Errors ------------------------------------------------------------------------------------------


def test_an_error_names_the_place_shows_the_line_and_points_at_it() -> None:
    error = fault(text("TEMP R0;", "  MOV R0, R7; # why not"))
    first, shown, caret = str(error).split("\n")
    assert first.startswith("some/where.fp:3:11: R7 ")
    assert shown.strip() == "MOV R0, R7; # why not"
    assert caret.index("^") == shown.index("R7")
    assert caret.strip() == "^"


def test_mesas_text_before_a_header_is_taken_if_asked() -> None:
    text = "# made by hand\n\n\t!!ARBfp1.0 # one\nMOV result.color, 1;\nEND"
    with pytest.raises(AssemblyError, match="--lenient"):
        assemble(text)
    program = program_of(text, "mesa.fp", lenient=True)
    assert program.instructions[0].span.line == 4
    assert assemble(text[text.index("!!") :]).instructions[0].dst == program.instructions[0].dst
    for wrong in ("x" + text, "# no header\nEND", ""):
        with pytest.raises(AssemblyError):
            program_of(wrong, "mesa.fp", lenient=True)


@pytest.mark.parametrize(
    "wrong",
    ["", " ", "\n!!ARBfp1.0\nEND", " !!ARBfp1.0\nEND", "!!arbfp1.0\nEND", "!!ARBfp2.0\nEND",
     "!!ARBvp1.0\nEND", "# first\n!!ARBfp1.0\nEND", "\ufeff!!ARBfp1.0\nEND", "!!ARBfp1.\nEND"],
)  # fmt: skip
def test_nothing_but_the_header_may_begin_a_program(wrong: str) -> None:
    error = fault(wrong)
    assert (error.line, error.column) == (1, 1)
    assert HEADER in error.problem


def test_the_caret_stands_under_the_fault_after_tabs_too() -> None:
    error = fault(text("\t\tMOV\tR9, R0;"))
    _, shown, caret = str(error).split("\n")
    assert (error.line, error.column) == (2, 7)
    assert caret.expandtabs().index("^") == shown.expandtabs().index("R9")


def test_a_carriage_return_alone_ends_a_comment() -> None:
    program = assemble(f"{HEADER}# TEMP R0;\rTEMP R1;\rMOV R1, 1;\rEND")
    assert program.temporaries == ("R1",)


@pytest.mark.parametrize("word", sorted(words_of()))
def test_no_reserved_word_can_be_declared(word: str) -> None:
    error = fault(text(f"TEMP {word};"))
    assert (error.line, error.column) == (2, 6)
    assert "reserved" in error.problem


# What text means ---------------------------------------------------------------------------------


def test_a_repeated_instruction_has_a_place_of_its_own() -> None:
    """The same text is read once: a semicolon in a comment changes nothing."""
    lines = ["TEMP R0, R1;", "MOV R0, R1; MOV R0, R1;", "MOV R0, # MOV R0, R1;", "R1; MOV R0, R1;"]
    instructions = assemble(text(*lines)).instructions
    assert [i.span for i in instructions] == [Span(3, 1), Span(3, 13), Span(4, 1), Span(5, 5)]
    assert set(instructions) == {instructions[0]}


@pytest.mark.parametrize(
    ("written", "value"),
    [("0", 0.0), ("12", 12.0), (".5", 0.5), ("1.", 1.0), ("1e-3", 0.001), ("1.5E2", 150.0),
     (".25e+2", 25.0), ("2.e1", 20.0), ("007", 7.0)],
)  # fmt: skip
def test_numbers(written: str, value: float) -> None:
    assert source(f"MOV R0, {written};").register == Parameter(
        ParameterSpace.CONSTANT, value=(value,) * 4
    )


# Printing ----------------------------------------------------------------------------------------


SHADERS = sorted(p.relative_to(shader_folder()).as_posix() for p in shader_folder().rglob("*.fp*"))


def choices(path: str) -> list[dict[str, int | str | bool]]:
    if not path.endswith(".j2"):
        return [{}]
    if path.startswith("reduction/"):
        return [{"opcode": opcode} for opcode in ("ADD", "MAX", "MIN")]
    if path.startswith("mandelbrot/"):
        return [{"steps": 6, "early": early} for early in (False, True)]
    if path.startswith("calibration/"):
        return [{"steps": s, "multiply_adds": m, "mask": ".x"} for s in (1, 16) for m in (1, 8)]
    return [
        {"block": b, "group": 4, "accumulate": way.value, "transpose_a": a, "transpose_b": not a}
        for b in (1, 2, 5, 32)
        for way in Accumulate
        for a in (False, True)
    ]


# Examples, rearranged variants and these algorithms' programs are ours; no paper has printed them.
_OURS = (
    r"^(examples|calibration|branching|bitonic_sort|jacobi|conjugate_gradient|fluid|reduction|mandelbrot)/"
    "|_coordinates_first"
)
OF_PAPERS = [path for path in SHADERS if not re.search(_OURS, path)]


@pytest.mark.parametrize("path", OF_PAPERS)
def test_a_shader_is_tied_to_the_paper_line_by_line(path: str) -> None:
    """Each instruction's line has a comment, save the packed addition that the loop is made of."""
    for parameters in choices(path):
        for line in shader_text(path, **parameters).splitlines():
            code, _, comment = line.partition("#")
            if code.strip() in ("", HEADER, "END") or code.startswith(("TEMP", "ADD R0, R0, step")):
                continue
            assert comment.strip(), line


def test_a_negative_zero_stays_negative() -> None:
    [declaration] = assemble(disassemble(assemble(text("PARAM p = {-0.0, 0.0};")))).parameters
    assert [str(v) for v in declaration.parameters[0].value] == ["-0.0", "0.0", "0.0", "1.0"]


def test_a_number_too_large_for_a_float_is_an_infinity_that_can_be_printed() -> None:
    program = assemble(text("PARAM p = 1e999;"))
    assert assemble(disassemble(program)) == program


# Operands of every shape -------------------------------------------------------------------------


def round_trip(line: str) -> Instruction:
    program = assemble(text("TEMP R0, R1;", line))
    assert assemble(disassemble(program)) == program
    [instruction] = program.instructions
    return instruction


def test_a_kill_has_no_destination_and_does_not_saturate() -> None:
    assert round_trip("KIL -R1.wzyx;") == Instruction(
        "KIL", None, (Src(Temporary("R1"), (W, Z, Y, X), (True,) * 4),)
    )
    assert "KIL_SAT" in fault(text("TEMP R1;", "KIL_SAT R1;")).problem


@pytest.mark.parametrize("mnemonic", sorted(ARBFP))
def test_a_wrong_number_of_operands_is_counted_for_every_opcode(mnemonic: str) -> None:
    operands = {
        OperandKind.DESTINATION: ["R0"],
        OperandKind.VECTOR: ["R1"],
        OperandKind.SCALAR: ["R1.x"],
        OperandKind.REGISTER: ["R1"],
        OperandKind.EXTENDED_SWIZZLE: ["x", "y", "z", "w"],
        OperandKind.TEXTURE_UNIT: ["texture[0]"],
        OperandKind.TEXTURE_TARGET: ["RECT"],
    }
    row = ARBFP[mnemonic]
    written = [text for kind in row.shape for text in operands[kind]]
    assert round_trip(f"{mnemonic} {', '.join(written)};").mnemonic == mnemonic
    for wrong in (written[:-1], [*written, "R1"]):
        if wrong:
            line = f"{mnemonic} {', '.join(wrong)};"
            error = fault(text("TEMP R0, R1;", line))
            assert f"{mnemonic} takes {len(written)} operand" in error.problem
            assert f"found {len(wrong)}" in error.problem
            assert error.section == row.spec
            # Found at the comma before what is too much, or at the semicolon.
            at = line.rindex(",") if len(wrong) > len(written) else line.index(";")
            assert error.column == at + 1


# The whole language ------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=150)
def test_programs_in_the_whole_language_survive_being_printed(seed: int) -> None:
    program = assemble(Writer(Random(seed)).text())
    printed = disassemble(program)
    assert assemble(printed) == program
    assert disassemble(assemble(printed)) == printed


# Several faults ----------------------------------------------------------------------------------


def places(of: str) -> list[tuple[int, int]]:
    return [(d.line, d.column) for d in fault(of).diagnostics]


def test_independent_faults_are_reported_in_one_go_in_the_order_of_the_text() -> None:
    error = fault(
        text("TEMP R0;", "MVO R0, 1;", "MOV R0 1;", "MOV R0.yx, 1;", "MOV R0, state.fog;", "END")
    )
    assert [(d.line, d.column) for d in error.diagnostics] == [
        (3, 1), (4, 8), (5, 8), (6, 15), (8, 1),
    ]  # fmt: skip
    assert all(d.expected and d.section.startswith("3.11") for d in error.diagnostics)
    assert [line.split(":")[0] for line in str(error).split("\n")[::3]] == ["some/where.fp"] * 5


LOOKUP_2D, LOOKUP_1D = (f"TEX R0, R0, texture[0], {target};" for target in ("2D", "1D"))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # A name whose declaration is wrong is known all the same, and an unknown one told once.
        (["PARAM p = state.foo;", "TEMP R0;", "MOV R0, p;", "ADD R0, p, p;"], [(2, 17)]),
        (["TEMP R0, texture, R1;", "MOV R0, R1;"], [(2, 10)]),
        (["TEMP R0;", "MOV R0, R7;", "MOV R0, R7;", "MOV R0, R8;"], [(3, 9), (5, 9)]),
        (["PARAM p = 1, q = 2;", "TEMP R0;", "ADD R0, p, q;"], [(2, 12)]),
        (["TEMP a;", "ALIAS b = c;", "MOV a, b;"], [(3, 11)]),
        # What an earlier statement makes a fault is one each time.
        (["TEMP R0;", LOOKUP_2D, LOOKUP_1D, LOOKUP_2D, LOOKUP_1D], [(4, 25), (6, 25)]),
        # A semicolon missing costs one fault, and the next statement is read.
        (["TEMP R0", "MOV R0, R0;", "MOV R0, R9;"], [(3, 1), (4, 9)]),
        (["TEMP R0;", "MOV R0, R0"], [(4, 1)]),
        (["TEMP R0;", "MOV R0, (1;", "MOV R0, 1;"], [(3, 9)]),
    ],
)
def test_one_mistake_is_one_fault(lines: list[str], expected: list[tuple[int, int]]) -> None:
    assert places(text(*lines)) == expected


def test_there_is_an_end_to_the_faults() -> None:
    assert len(fault(text(*["MVO R0, 1;"] * 100)).diagnostics) == 20


# Where, in bytes (3.11.1) ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "byte"),
    [
        (f"{HEADER}\nMOV R0, 1;\nEND", 15),
        (f"{HEADER}\r\n# é\r\nTEMP R0, R0;\r\nEND", 27),
        (f"{HEADER}#\U0001f600\nfoo;\nEND", 16),
        (f"{HEADER}\nTEMP R0;\n", 20),
        ("TEMP R0;", 0),
        (f"{HEADER}END\n END", 15),
    ],
)
def test_the_position_is_the_first_bad_byte(wrong: str, byte: int) -> None:
    assert fault(wrong).position == byte


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (AssemblerLimits(temporaries=2), "3 temporaries"),
        (AssemblerLimits(instructions=4), "5 instructions"),
        (AssemblerLimits(alu_instructions=2), "3 ALU instructions"),
        (AssemblerLimits(texture_instructions=1), "2 texture instructions"),
        (AssemblerLimits(attributes=2), "3 attributes"),
        (AssemblerLimits(parameters=3), "4 parameters"),
    ],
)
def test_what_is_too_much_is_found_when_all_is_read(limits: AssemblerLimits, what: str) -> None:
    """Equal constants, and state bound twice, count once; so do attributes."""
    given_text = text(
        "ATTRIB a = fragment.fogcoord;",
        "PARAM p[] = { 1, {1, 1, 1, 1}, state.fog.color };",
        "TEMP R0, R1, R2;",
        "TEX R0, fragment.texcoord[0], texture[0], 2D;",
        "ADD R0, state.fog.color, program.env[0];",
        "ADD R0, 1, a;",
        "MAD R0, {2}, fragment.color, fragment.fogcoord;",
        "KIL R0;",
    )
    assemble(given_text)
    with pytest.raises(AssemblyError) as raised:
        assemble(given_text, limits=limits)
    assert what in raised.value.problem
    assert raised.value.position == len(given_text)


@pytest.mark.parametrize(("option", "taken"), [("exp", 3), ("exp2", 4), ("linear", 2)])
def test_fog_takes_its_share_of_the_limits(option: str, taken: int) -> None:
    """3.11.4.5.1."""
    lines = [f"OPTION ARB_fog_{option};", "TEMP R0;", *["MOV R0, 1;"] * 10]
    assemble(text(*lines), limits=AssemblerLimits(instructions=10 + taken))
    with pytest.raises(AssemblyError, match=f"at most {10 - 1} are allowed with ARB_fog"):
        assemble(text(*lines), limits=AssemblerLimits(instructions=9 + taken))


def test_indices_obey_the_limits_given() -> None:
    given_text = text("TEMP R0;", "TEX R0, R0, texture[7], 2D;")
    assemble(given_text, limits=AssemblerLimits(texture_image_units=8))
    with pytest.raises(AssemblyError, match=r"texture\[7\] does not exist"):
        assemble(given_text, limits=AssemblerLimits(texture_image_units=4))


# Nonsense, and time ------------------------------------------------------------------------------

_MANY = 50_000


NONSENSE = {
    "one word": "x" * _MANY,
    "control characters": "\0\x01\x02\x1b",
    "half a character": "\ud800",
    "beyond ASCII": "é" * _MANY,
    "signs": "MOV R0, " + "-" * _MANY,
    "a vector without end": "PARAM p = {" + "1," * _MANY,
    "braces": "PARAM p = {" + "{" * _MANY,
    "brackets": "PARAM p[" * (_MANY // 2),
    "one name": "TEMP a" + ", a" * _MANY + ";",
    "swizzles": "MOV R0" + ".x" * _MANY + ";",
    "a number": "TEMP r; MOV r, program.env[" + "9" * _MANY + "];",
    "keywords": "MOV\n" * _MANY,
    "undeclared names": "MOV a, b;\n" * 1000,
    "a long array": "PARAM p[] = {" + "program.local[0..2047]," * 1000 + "1};",
    "carriage returns": "\r" * _MANY + "$",
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_refused_in_little_time_and_few_words(nonsense: str) -> None:
    started = perf_counter()
    error = fault(f"{HEADER}\n{nonsense}")
    assert perf_counter() - started < 5.0
    assert len(str(error)) < 20_000
    assert all(len(line) < 2_000 for line in str(error).split("\n"))


def test_a_text_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(InputError, match=r"^mine has 1048577 characters; .* at most 1048576$"):
        assemble("\n" * (2**20 + 1), "mine")


def test_a_name_has_a_length_up_to_which_it_is_read() -> None:
    longest = "n" * 128
    used = f"TEMP {longest}; MOV {longest}, 1; MOV result.color, {longest}; END"
    assert assemble(f"{HEADER}\n{used}").temporaries == (longest,)
    error = fault(f"{HEADER}\n{used.replace(longest, longest + 'n')}")
    assert "is a name of 129 characters; a name has at most 128" in error.problem
    assert (error.line, error.column) == (2, 6)


def test_all_arrays_together_have_a_most() -> None:
    """Each of 2048 elements, which alone is allowed: 32 of them are the most."""

    def declared(count: int) -> str:
        arrays = (f"PARAM p{n}[] = {{ program.local[0..2047] }};" for n in range(count))
        return "\n".join([HEADER, *arrays, "MOV result.color, p0[0];", "END"])

    assert len(assemble(declared(32)).parameters) == 32
    error = fault(declared(33))
    assert "the arrays up to p32 have 67584 elements; all arrays together have at most 65536" in (
        error.problem
    )


def test_a_program_has_at_most_so_many_instructions() -> None:
    """As many as the longest program here needs, and not as many as its characters allow."""
    text = "!!ARBfp1.0\nTEMP a;\n" + "MOV a,a;" * (MOST_INSTRUCTIONS + 1) + "\nEND"
    with pytest.raises(AssemblyError, match=rf"{MOST_INSTRUCTIONS + 1} .*{MOST_INSTRUCTIONS}"):
        assemble(text)
