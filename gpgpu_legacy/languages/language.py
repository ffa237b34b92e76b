"""The interface of a shader language to the rest of the package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Program

MOST_CHARACTERS = 2**20
"""Characters of a program's text, and bytes of its file. The longest program of this package, an
unrolled product of 8192² matrices, has 700 000.
"""


@frozen
class Language:
    """A shader language: a folder of languages/ has one, as LANGUAGE in its language.py.

    name: the language and its version. assemble: turns a text into a Program; its second argument
    is the text's name, a file's path, and the third one CompilerOptions, if the language
    `compiles`. It raises AssemblyError for a text that breaks the language's rules, and InputError
    for one of more than MOST_CHARACTERS. suffixes: of its files, in lower case. header: the
    characters that begin every program in it, and no program in another language; empty without
    one. sign: a pattern that a text without a header has somewhere, if its file's suffix tells
    nothing. owns: whether a Program is in the language. print: its canonical text.
    """

    name: str
    assemble: Callable[..., Program]
    suffixes: tuple[str, ...]
    header: str = ""
    sign: str = "(?!)"
    compiles: bool = False
    owns: Callable[[Program], bool] = lambda _: False
    print: Callable[[Program], str] = str


def later(place: str) -> Callable[..., Any]:
    """A function that is imported when it is called. place: `module:name`."""

    def call(*given: Any) -> Any:
        return resolve_name(place)(*given)

    return call


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
