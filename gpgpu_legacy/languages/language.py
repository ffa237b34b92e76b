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
"""The most characters of a program's text, and bytes of its file. The longest program of this
package, an unrolled product of 8192² matrices, has 700 000 characters.
"""


@frozen
class Language:
    """A shader language, which the language.py of its folder defines as LANGUAGE.

    name: the language and its version. assemble: turns a text into a Program. Its arguments are the
    text, the text's name (usually a file's path) and, if the language `compiles`, CompilerOptions.
    It raises AssemblyError for a text that breaks the language's rules, and InputError for one of
    more than MOST_CHARACTERS. suffixes: the suffixes of its files, in lower case. header: the first
    characters of every program in the language, and of no other program; may be empty. sign: a
    pattern found in texts without a header; it decides if the file's suffix does not. compiles:
    whether `assemble` takes CompilerOptions. owns: whether a Program is in the language. print:
    gives a Program's canonical text.
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
    """A function that is imported only when it is called. place: `module:name`."""

    def call(*given: Any) -> Any:
        return resolve_name(place)(*given)

    return call


@frozen
class CompilerOptions:
    """Options for compiling a text in Cg, HLSL or GLSL.

    entry: the function to compile; if empty, main or the only one. folder: the text's folder, in
    which #include looks. root: a folder around it that #include does not leave. defines: macros and
    their values. lenient: whether to accept what GLSL ES forbids. mathematics: a key of MATHEMATICS
    in shading/library.py; if empty, the language's own. profile: a key of PROFILES in
    shading/emit.py, or empty.
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
