"""What a shader language offers to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpgpu_legacy.isa.ir import Program

MOST_CHARACTERS = 2**20
"""Of a program's text, and bytes of its file. The longest program that this package prints, an
unrolled product of 8192² matrices, has 700 000."""


@dataclass(frozen=True, slots=True)
class Language:
    """A shader language: a folder of languages/ has one, as LANGUAGE in its language.py.

    name: the language and its version.
    header: the characters that every program in it begins with, and none in another language.
    assemble: turns a text into a Program; its second argument is what messages call the text. It
    raises AssemblyError for a text that breaks the language's rules, and InputError for one of more
    than MOST_CHARACTERS.
    """

    name: str
    header: str
    assemble: Callable[[str, str], Program]
