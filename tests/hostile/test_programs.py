"""Mutated programs of all kinds: they assemble, or their faults are told, and nothing else happens.

What assembles is printed, translated and checked as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK, mutated_text
from language import Writer
from program_keys import program_key

from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.count.resources import resources
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.files import shader_folder
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.lower.analysis.program_warnings import program_warnings
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL_ES, compute_shader, fragment_shader
from gpgpu_legacy.lower.emit.hosts import host_code
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation
from gpgpu_legacy.lower.emit.to_numpy import numpy_source

CORPUS = Path(__file__).parents[1] / "corpus"

PIECES = (
    *[
        "TEMP",
        "PARAM",
        "ALIAS",
        "OUTPUT",
        "ATTRIB",
        "ADDRESS",
        "OPTION",
        "END",
        "KIL",
        "_SAT",
        "TEX",
    ],
    *("!!ARBfp1.0", "fragment.", "result.", "program.local[", "state.matrix.", "texture[0]", "2D"),
    *("[", "]", "{", "}", ";", ",", ".", "..", "=", "-", "#", "\n", "\r", " ", "\0", "\ufeff", "é"),
    *["0", "1e999", "99999999999", ".5", "1.", "0x1", "²", "xyzw", "rgba", "x", "�"],
    "a" * 129,
)


def texts(random: Random) -> Iterator[str]:
    """The package's shaders, the corpus, and programs made at random."""
    folders = ((shader_folder(), "*.fp"), (CORPUS / "valid", "*"), (CORPUS / "programs", "*"))
    files = [path for folder, kind in folders for path in sorted(folder.rglob(kind))]
    known = [path.read_text("utf-8") for path in files if path.is_file()]
    known += (CORPUS / "statements.txt").read_text("utf-8").splitlines()
    while True:
        yield random.choice(known) if random.random() < 0.3 else Writer(random).text()


def everything_about(program: Program) -> None:
    text = disassemble(program)
    assert assemble(text) == program
    key = program_key(program)
    fragment_shader(key)
    fragment_shader(key, GLSL_ES)
    compute_shader(key)
    for exact in (False, True):
        ast.parse(host_code(glsl_translation(program, exact=exact), is_page=False))
    ast.parse(numpy_source(program))
    resources(program)
    check_program(program, find_profile("radeon-9700-pro"))
    program_warnings(program, local_set=(), env_set=(), units_bound=(), pixel_sets=(0,))


def test_mutated_programs() -> None:
    """Of those that assemble, whose translation takes the time, one in four is translated."""
    random = ATTACK.random("programs")
    given = texts(random)
    counts = {"assembled": 0, "refused": 0}
    for number in range(ATTACK.count(1000, 100_000)):
        pieces = {"pieces": PIECES} if number % 2 else {}
        text = mutated_text(random, next(given), **pieces)
        try:
            program = assemble(text, "mutant")
        except AssemblyError as error:
            counts["refused"] += 1
            assert 1 <= len(error.diagnostics) <= 30
            assert all(each.line >= 1 and each.column >= 1 for each in error.diagnostics)
            continue
        counts["assembled"] += 1
        if counts["assembled"] % 4 == 0:
            everything_about(program)
    assert min(counts.values()) > 50


# Names -------------------------------------------------------------------------------------------

NAMES = (
    "a\n#version 100\nvoid main() { }",
    "a*/ injected /*",
    "a\\\ninjected",
    "a\r injected",
    '"""\nimport injected\n"""',
    "injected {0} {name} %s",
    "a\u2028injected",
)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_program_stands_in_what_is_made_of_it(name: str) -> None:
    text = "!!ARBfp1.0\nTEMP a, $b__c; MOV a, 1; MOV $b__c, a; MOV result.color, a; END"
    program = assemble(text, name)
    key = program_key(program)
    shaders = (fragment_shader, partial(fragment_shader, dialect=GLSL_ES), compute_shader)
    made = [*(shader(key) for shader in shaders), numpy_source(program), disassemble(program)]
    plain = program_key(assemble(text, "plain"))
    assert made[:3] == [shader(plain) for shader in shaders]
    assert made[3] == numpy_source(assemble(text, "plain"))
    translation = glsl_translation(program)
    kept = [line for line in translation.text.splitlines() if "injected" in line]
    assert all(line.startswith("// ") and not line.endswith("\\") for line in kept)
    ast.parse(host_code(translation, is_page=False))
    for each in made:
        assert "injected" not in each
        assert each.count("#version") <= 1
