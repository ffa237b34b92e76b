"""The registry of shader languages."""

from __future__ import annotations

import pytest

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.languages.registry import disassemble, language_of, languages

ONE = "!!ARBfp1.0\nMOV result.color, 1;\nEND\n"


def test_each_language_has_a_name_and_a_header_of_its_own() -> None:
    names = [language.name for language in languages()]
    assert "ARB_fragment_program 1.0" in names
    assert len(set(names)) == len(names)
    headers = [language.header for language in languages() if language.header]
    assert not any(
        a.startswith(b) for i, a in enumerate(headers) for j, b in enumerate(headers) if i != j
    )


def test_a_text_is_in_the_language_of_its_header() -> None:
    language = language_of(ONE)
    assert language.name == "ARB_fragment_program 1.0"
    program = language.assemble(ONE, "one.fp")
    assert program.name == "one.fp"
    assert language.assemble(disassemble(program), "again") == program


@pytest.mark.parametrize("text", ["", "\n" + ONE, "!!VSF1.0\nEND\n", "MOV a, b;"])
def test_a_text_of_no_known_language_is_refused_at_its_header(text: str) -> None:
    with pytest.raises(AssemblyError, match=r"begins with !!ARBfp1\.0"):
        language_of(text).assemble(text, "odd.fp")
