"""Finds the shader languages, and the language of a text.

To add a language, add a folder with a language.py that defines LANGUAGE.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import gpgpu_legacy.languages
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import Language, split_entry

if TYPE_CHECKING:
    from gpgpu_legacy.isa.kernel import Kernel


@cache
def languages() -> tuple[Language, ...]:
    """All shader languages, by name."""
    room = gpgpu_legacy.languages
    folders = (folder.name for folder in iter_modules(room.__path__) if folder.ispkg)
    names = (f"{room.__name__}.{folder}.language" for folder in folders)
    modules = (import_module(name) for name in names if find_spec(name))
    return tuple(sorted((module.LANGUAGE for module in modules), key=lambda one: one.name))


def language_of(text: str, name: str = "") -> Language:
    """The language of a text's header, or else of its file's suffix, or else of its sign.

    A text of another version is told so by the language's `assemble`, in an AssemblyError, and one
    without a known header by the first language's.
    """
    file = split_entry(name)[0].lower()
    for language in languages():
        if language.header and text.startswith(language.header.rstrip(".0123456789")):
            return language
    named = [one for one in languages() if file.endswith(one.suffixes)]
    signed = [one for one in languages() if re.search(one.sign, text)]
    return next(iter([*named, *reversed(signed), *languages()]))


def program_of(
    text: str, name: str, *, lenient: bool = False, mathematics: str = "", profile: str = ""
) -> Program:
    """The Program of a text in any shader language.

    lenient: whether to take what its language forbids and drivers took. mathematics, profile: of
    CompilerOptions, or empty.
    """
    from gpgpu_legacy.languages.arb.parser import with_header_first

    text = with_header_first(text) if lenient else text
    language = language_of(text, name)
    if language.compiles:
        asked = {"lenient": lenient, "mathematics": mathematics, "profile": profile}
        return language.assemble(text, name, **asked)
    if mathematics or profile:
        why = "has one meaning, and says its own profile"
        option = "mathematics" if mathematics else "profile"
        raise InputError(f"{language.name} {why}; leave {option} out")
    return language.assemble(text, name)


@lru_cache(maxsize=64)
def kernel_of(text: str, name: str) -> Kernel:
    """The kernel of a compute shader's text. name: of the text in messages."""
    from gpgpu_legacy.languages.glsl.kernels import parse_kernel

    return parse_kernel(text, name)


@public
def disassemble(program: Program) -> str:
    """The program's canonical text in its own language, which assembles to the same Program.

    program: what `assemble` returns; of a text in Cg or GLSL, ARB_fragment_program is its own
    language.
    """
    from gpgpu_legacy.languages.arb import printer
    from gpgpu_legacy.languages.texenv.printer import print_state

    return print_state(program.state) if program.state else printer.disassemble(program)
