"""Finds the shader languages, and the language of a text.

To add a language, add a folder with a language.py that defines LANGUAGE.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import gpgpu_legacy.languages
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import CompilerOptions, Language

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


def is_program_file(name: str) -> bool:
    """Whether a file is in a shader language, by its suffix."""
    file = split_entry(name)[0].lower()
    return any(file.endswith(language.suffixes) for language in languages())


def split_entry(name: str) -> tuple[str, str, dict[str, str]]:
    """The file, the function and the macros of `FILE.cg:function,NAME=VALUE,NAME`.

    The function is empty and there are no macros if the name has none, or if the file's language
    is not compiled.
    """
    match = _entry().fullmatch(name)
    if match is None:
        return name, "", {}
    macros = (word.partition("=") for word in match[4].split(",")[1:])
    return match[1], match[3] or "", {macro: value or "1" for macro, _, value in macros}


@cache
def _entry() -> re.Pattern[str]:
    suffixes = (suffix for one in languages() if one.compiles for suffix in one.suffixes)
    either = "|".join(map(re.escape, suffixes))
    return re.compile(rf"(.+(?:{either}))(:(\w*))?((?:,\w+(?:=[^,]*)?)*)", re.I)


def language_of(text: str, name: str = "") -> Language:
    """The language of a text's header, or else of its file's suffix, or else of its sign.

    A header counts whatever its version; `assemble` raises AssemblyError for an unknown version. A
    text that matches nothing gets the first language, whose `assemble` reports the fault.
    """
    file = split_entry(name)[0].lower()
    for language in languages():
        if language.header and text.startswith(language.header.rstrip(".0123456789")):
            return language
    named = [one for one in languages() if file.endswith(one.suffixes) and not one.header]
    signed = [one for one in languages() if re.search(one.sign, text)]
    return next(iter([*named, *reversed(signed), *languages()]))


def program_of(
    text: str, name: str, *, lenient: bool = False, mathematics: str = "", profile: str = ""
) -> Program:
    """The Program of a text in any shader language.

    name: usually its file's path, maybe with an entry and macros. lenient: whether to accept what
    the language forbids and drivers accepted. mathematics, profile: as in CompilerOptions;
    InputError for a language that is not compiled. #include reads files in the text's folder or, if
    that is below the current folder, anywhere in the current folder.
    """
    from gpgpu_legacy.languages.arb.parser import with_header_first

    text = with_header_first(text) if lenient else text
    language = language_of(text, name)
    if language.compiles:
        file, entry, defines = split_entry(name)
        folder, here = Path(file).resolve().parent, Path.cwd()
        root = here if folder.is_relative_to(here) else folder
        options = CompilerOptions(entry, folder, root, defines, lenient, mathematics, profile)
        return replace(language.assemble(text, file, options), name=name)
    if mathematics or profile:
        why = "has one meaning, and says its own profile"
        option = "mathematics" if mathematics else "profile"
        raise InputError(f"{language.name} {why}; leave {option} out")
    return language.assemble(text, name)


@lru_cache(maxsize=64)
def kernel_of(text: str, name: str) -> Kernel:
    """The kernel of a compute shader's text. name: the text's name in messages."""
    from gpgpu_legacy.languages.glsl.kernels import parse_kernel

    return parse_kernel(text, name)


def own_language(program: Program) -> Language:
    """The language of a Program; for a compiled one, ARB_fragment_program."""
    return next(language for language in languages() if language.owns(program))


@public
def disassemble(program: Program) -> str:
    """The program's canonical text in its own language, which assembles to the same Program.

    program: as `assemble` returns it. A program in Cg or GLSL is printed in ARB_fragment_program.
    """
    return own_language(program).print(program)
