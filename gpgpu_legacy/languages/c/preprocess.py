"""The preprocessor: pcpp with columns and bounds; its #include reads only a folder's files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from os.path import normpath, realpath
from pathlib import Path, PurePosixPath
from typing import Any

from pcpp import Preprocessor

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c.literals import Condition
from gpgpu_legacy.languages.c.syntax import BEFORE, Texts
from gpgpu_legacy.languages.language import MOST_CHARACTERS, CompilerOptions

DEEPEST_INCLUDES = 16
"""How deeply files include one another."""

DEEPEST_MACROS = 48
"""How deeply macros nest, in macros or in their arguments."""

LONGEST_MACRO = 2**11
"""Tokens of a macro's definition: pcpp's time grows with their square."""

MOST_EXPANDED = 2**17
"""Tokens that the macros of a text may become; those of nested macros count at each level."""

_STANDARD = (
    "assert brook ctype errno float limits math stdarg stdbool stddef stdint stdio stdlib string "
    "sys time unistd"
)
"""Headers, or their folders, that count as empty if the text's folder lacks them. So does any
header in <>.
"""

_COMMENTS = re.compile(
    r"""("(?:[^"\\\n]|\\[\s\S])*+"|'(?:[^'\\\n]|\\[^\n]{1,3})')"""
    r"""|//(?:[^\\\n]|\\[\s\S])*|/\*[\s\S]*?(\*/|\Z)"""
)
_LINE_ENDS = re.compile(r"\r\n?")
_NO_LINE_ENDS = re.compile("[\f\v\x1c-\x1e\x85\u2028\u2029]")  # except for str.splitlines
_BLANK = str.maketrans({"\n": "\\\n"})


class _LineNumber(int):
    """A token's line with its column; pcpp hands it on to the tokens of a macro's expansion."""

    column = 1


class Preprocessed:
    """A preprocessed text, which knows the place of each token in its own file."""

    def __init__(self, text: str, texts: Texts, options: CompilerOptions, before: str) -> None:
        """Preprocess a text; AssemblyError at a fault.

        texts: is given the text and those that it includes. before: the language's declarations.
        """
        self.texts = texts
        self._starts: list[int] = []
        self._places: list[tuple[_LineNumber, str, bool]] = []
        parts: list[str] = []
        length, end, follows_macro = 0, -1, False
        for token in _BoundedPreprocessor(texts, options).tokens(text, before):
            value, expanded = token.value, bool(token.expanded_from)
            if token.type in {"CPP_WS", "CPP_LINECONT"}:
                value = " "
            elif token.lexpos != end and (expanded or follows_macro):
                parts.append(" ")  # a macro's expansion does not join its neighbours
                length += 1
            end, follows_macro = token.lexpos + len(token.value), expanded
            self._starts.append(length)
            self._places.append((token.lineno, token.source, expanded))
            parts.append(value)
            length += len(value)
        self.text = "".join(parts)

    def span(self, offset: int) -> Span:
        """The place, in its own file, of an offset in the preprocessed text."""
        piece = bisect_right(self._starts, offset) - 1
        if piece < 0:
            return Span(1, 1)
        place, file, expanded = self._places[piece]
        return Span(
            int(place), place.column + (0 if expanded else offset - self._starts[piece]), file
        )


class _BoundedPreprocessor(Preprocessor):  # type: ignore[misc]
    def __init__(self, texts: Texts, options: CompilerOptions) -> None:
        super().__init__()
        self.texts, self.options = texts, options
        self.rewrite_paths: list[tuple[str, str]] = []
        self.expand_filemacro = False
        self.evaluator = lambda tokens, **_: Condition("".join(t.value for t in tokens))
        self.macros.clear()  # such as __TIME__
        self.depth = self.expanded = 0
        for name, value in options.defines.items():
            self.define(f"{name} {value}")
        self.opened: list[str] = []

    def tokens(self, text: str, before: str) -> Iterator[Any]:
        try:
            yield from self.file(before, BEFORE)
            yield from self.file(text, "")
        except (IndexError, AttributeError):  # pcpp reads past a directive's end
            self.on_error(
                "", self.lastdirective.lineno, f"#{self.lastdirective.value} is incomplete"
            )

    def file(self, text: str, file: str) -> Iterator[Any]:
        """The tokens of a text."""
        text = _NO_LINE_ENDS.sub(" ", _LINE_ENDS.sub("\n", text))
        self.texts.files[file] = text
        if sum(map(len, self.texts.files.values())) > MOST_CHARACTERS:
            raise InputError(
                f"{self.texts.name} and its includes have more than {MOST_CHARACTERS} characters"
            )

        def blank(match: re.Match[str]) -> str:
            if match[0].startswith("/*") and not match[2]:
                start = match.start()
                at = Span(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), file)
                raise self.texts.error("the comment has no end", at, "expected */")
            # A line's end in a comment must not end the directive around it.
            return match[1] or re.sub(r"[^\n]", " ", match[0]).translate(_BLANK)

        self.opened.append(file)
        yield from self.parsegen(_COMMENTS.sub(blank, text), None, file)
        self.opened.pop()

    def group_lines(self, input: str, abssource: str) -> Iterator[list[Any]]:
        """The lines of tokens that pcpp makes, with columns."""
        for line in super().group_lines(input, self.opened[-1]):
            start, number = line[0].lexpos, line[0].lineno
            for token in line:
                if token.lineno != number:  # a line after a continuation
                    start, number = token.lexpos, token.lineno
                token.lineno = _LineNumber(number)
                token.lineno.column = token.lexpos - start + 1
            yield line

    def define(self, tokens: Any) -> None:
        """Define a macro of bounded length, since pcpp's time grows with its square."""
        if len(tokens) > LONGEST_MACRO:
            self.on_error(
                "", self.lastdirective.lineno, f"the macro has more than {LONGEST_MACRO} tokens"
            )
        super().define(tokens)

    def expand_macros(self, tokens: list[Any], expanding_from: Any = ()) -> list[Any]:
        """Expand within bounds, a statement at a time: pcpp takes quadratic time."""
        self.depth += 1
        if self.depth > DEEPEST_MACROS:
            self.on_error("", self.linemacro, f"macros are nested more than {DEEPEST_MACROS} deep")
        result, start, parentheses = list[Any](), 0, 0
        for place, token in enumerate(tokens, 1):
            parentheses += (token.value == "(") - (token.value == ")")
            if place == len(tokens) or (token.value in {";", "{", "}"} and parentheses <= 0):
                result += super().expand_macros(tokens[start:place], list(expanding_from))
                start = place
        self.depth -= 1
        self.spend(len(result) if self.depth else 0)
        return result

    def collect_args(self, tokenlist: list[Any], ignore_errors: bool = False) -> Any:
        """Read a macro's arguments. tokenlist: a copy of the rest of the statement."""
        self.spend(len(tokenlist) >> 10)
        return super().collect_args(tokenlist, ignore_errors)

    def spend(self, tokens: int) -> None:
        self.expanded += tokens
        if self.expanded > MOST_EXPANDED:
            self.on_error("", self.linemacro, f"macros become more than {MOST_EXPANDED} tokens")

    def include(self, tokens: list[Any], original_line: list[Any]) -> Iterator[Any]:
        """The tokens of a file in the text's folder, or in that of the file that includes it."""
        place, written = tokens[0].lineno, "".join(token.value for token in tokens)
        name = re.split('[<">]', written)[1].replace("\\", "/")
        includer = self.opened[-1]
        folder = self.options.folder
        root = Path(realpath(self.options.root or folder or ""))
        for candidate in (normpath(PurePosixPath(includer).parent / name), normpath(name)):
            path = Path(realpath((folder or Path()) / candidate))
            if folder and path.is_relative_to(root) and path.is_file():
                break
        else:
            if re.split("[./]", name)[0] not in _STANDARD.split():
                if written[0] == '"':
                    self.on_error("", place, f'there is no file "{name}" in the program\'s folder')
                self.texts.missing.append(name)
            return
        if path in self.include_once:
            return
        if len(self.opened) > DEEPEST_INCLUDES:
            self.on_error("", place, f"#include is nested more than {DEEPEST_INCLUDES} deep")
        yield from self.file(read_text(path, MOST_CHARACTERS), candidate)

    def on_error(self, file: str, line: int, msg: str) -> None:
        """Raise a message of pcpp's as an AssemblyError."""
        column = getattr(line, "column", 1)
        at = Span(int(line) or 1, column, self.opened[-1])
        problem, due, _ = msg.partition(" due to ")  # the rest is Python's message
        expected = "expected whole numbers" if due else ""
        raise self.texts.error(problem[:1].lower() + problem[1:].rstrip(), at, expected)

    def on_directive_unknown(
        self, directive: Any, toks: list[Any], ifpassthru: bool, precedingtoks: list[Any]
    ) -> bool:
        """Ignore all but #error."""
        if directive.value == "error":
            self.on_error("", directive.lineno, "".join(["#error ", *(t.value for t in toks)]))
        return True
