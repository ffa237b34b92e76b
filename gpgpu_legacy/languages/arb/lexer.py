"""The tokens of a fragment program's text (spec, section 3.11.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token

from gpgpu_legacy.isa.opcodes import OPCODES, RESERVED_WORDS
from gpgpu_legacy.languages.arb.limits import LONGEST_NAME

# One token after white space and comments. The last alternative matches any other character.
_PATTERN = re.compile(
    r"(?:[ \t\r\n]++|#[^\r\n]*+)*+"
    r"(?:(?P<NAME>[A-Za-z_$][A-Za-z0-9_$]*+)"
    r"|(?P<PUNCTUATION>[;,=\[\]{}+-])"
    r"|(?P<TARGET>[123]D(?![A-Za-z0-9_$]))"
    r"|(?P<FLOAT>(?:[0-9]++\.(?!\.)[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?|[0-9]++[eE][+-]?[0-9]++)"
    r"|(?P<INTEGER>[0-9]++)"
    r"|(?P<_RANGE>\.\.)"
    r"|(?P<_DOT>\.)"
    r"|(?P<HEADER>!!ARB[a-z]*[0-9.]*)"
    r"|(?P<CHARACTER>.))",
    re.DOTALL,
)

PUNCTUATION = {
    ";": "_SEMICOLON",
    ",": "_COMMA",
    "=": "_EQUAL",
    "[": "_LBRACKET",
    "]": "_RBRACKET",
    "{": "LBRACE",
    "}": "_RBRACE",
    "+": "SIGN",
    "-": "SIGN",
}

BINDINGS = ("fragment", "program", "result", "state", "texture")


def _reserved_kind(word: str) -> str:
    if word.removesuffix("_SAT") in OPCODES:
        return "OPCODE"
    return "BINDING" if word in BINDINGS else word


_RESERVED = {word: _reserved_kind(word) for word in RESERVED_WORDS}

STARTERS = frozenset(kind for kind in _RESERVED.values() if kind != "BINDING")
"""The kinds of token that begin a statement or end the program, and occur nowhere else."""

END_OF_TEXT = "$END"

LONG_NAME = "LONG_NAME"
"""The kind of a name that is too long, which stands nowhere."""


def tokens(text: str, start: int) -> Iterator[Token]:
    """The tokens from offset `start` on, then one of type END_OF_TEXT.

    Each token has its offset in characters. A character that belongs to no token becomes a token
    of type CHARACTER, so that the parser can report where it is.
    """
    position, match = start, _PATTERN.match(text, start)
    while match is not None:
        kind = match.lastgroup
        assert kind is not None
        value, position = match[kind], match.end()
        if kind == "NAME":
            kind = _RESERVED.get(value, kind if len(value) <= LONGEST_NAME else LONG_NAME)
        elif kind == "PUNCTUATION":
            kind = PUNCTUATION[value]
        yield Token(kind, value, position - len(value))
        match = _PATTERN.match(text, position)
    yield Token(END_OF_TEXT, "", len(text))
