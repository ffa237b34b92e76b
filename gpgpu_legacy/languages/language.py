"""The interface of a shader language to the rest of the package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Program

HLSL = (".fx", ".fxh", ".hlsl", ".psh")
"""Suffixes of HLSL."""

WITH_ENTRIES = (".cg", ".cgh", ".cgfx", *HLSL)
"""Suffixes of files that hold functions, each of which may be the program's entry."""

SHADERS = (".frag", ".glsl", ".fs", ".fsh")
"""Suffixes of files that hold a fragment shader in GLSL."""

MOST_CHARACTERS = 2**20
"""Characters of a program's text, and bytes of its file. The longest program of this package, an
unrolled product of 8192² matrices, has 700 000.
"""


@frozen
class Language:
    """A shader language: a folder of languages/ has one, as LANGUAGE in its language.py.

    name: the language and its version.
    header: the characters that begin every program in it, and no program in another language;
    empty without one. assemble: turns a text into a Program; its second
    argument is the text's name: a file's path, which split_entry can take more from. It
    raises AssemblyError for a text that breaks the language's rules, and InputError for one of more
    than MOST_CHARACTERS. suffixes: of files without a header.
    sign: a pattern that a text without a header has somewhere, if its file's suffix tells nothing.
    compiles: whether assemble takes CompilerOptions as keywords, too.
    """

    name: str
    header: str
    assemble: Callable[..., Program]
    suffixes: tuple[str, ...] = ()
    sign: str = "(?!)"
    compiles: bool = False


@frozen
class CompilerOptions:
    """What a text in Cg, HLSL or GLSL is compiled with.

    entry: the function; main or the only one if it is empty. folder: of the text, where #include
    looks. root: a folder around it that #include does not leave. defines: macros. lenient: whether
    to take what GLSL ES forbids. mathematics: of what languages define otherwise; the language's
    own if it is empty. profile: of PROFILES, or none.
    """

    entry: str = ""
    folder: Path | None = None
    root: Path | None = None
    defines: Mapping[str, str] = field(default_factory=dict)
    lenient: bool = False
    mathematics: str = ""
    profile: str = ""


DEFAULT_OPTIONS = CompilerOptions()

_TEXT = re.compile(r"[\n;]|^\s*!!")


def is_text(given: str) -> bool:
    """Whether a string is a program's or a kernel's text, and not the name of its file.

    A text has a line break or a semicolon, or begins with `!!`.
    """
    return _TEXT.search(given) is not None


_ENTRY = re.compile(
    rf"(.+({'|'.join(map(re.escape, WITH_ENTRIES + SHADERS))}))(:(\w*))?((,\w+(=[^,]*)?)*)", re.I
)


def split_entry(name: str) -> tuple[str, str, dict[str, str]]:
    """The file, the function and the macros of `FILE.cg:function,NAME=VALUE,NAME`.

    The function is empty, and there are no macros, where the name has none.
    """
    match = _ENTRY.fullmatch(name)
    if match is None:
        return name, "", {}
    macros = (word.partition("=") for word in match[5].split(",")[1:])
    return match[1], match[4] or "", {macro: value or "1" for macro, _, value in macros}


def compiled(compile_text: Callable[..., Program], text: str, name: str, **asked: Any) -> Program:
    """The Program of a text whose name is a file, maybe with an entry and macros.

    asked: its other options. #include reads files beside the text's own, and where that is below
    the current folder, in all of the current folder.
    """
    file, entry, defines = split_entry(name)
    folder, here = Path(file).resolve().parent, Path.cwd()
    root = here if folder.is_relative_to(here) else folder
    options = CompilerOptions(entry, folder, root, defines, **asked)
    return replace(compile_text(text, file, options), name=name)
