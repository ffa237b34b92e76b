"""The tokens of a preprocessed text. They tell types from other names, as C's grammar needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from lark import Token

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c.preprocess import Preprocessed

MOST_TOKENS = 2**17
"""Tokens of a preprocessed text: the longest of Brook's own has 15 000."""


def token_pattern(word: str, suffixes: str, own: str = "") -> str:
    """A token's pattern: one of a language's own, a word, a number with a suffix, or a sign."""
    return rf"""\s*+(?:{own}
      (?P<WORD>{word})
    | (?P<NUMBER>(?:0[xX][0-9a-fA-F]{{1,99}}
        |(?:[0-9]+\.(?!\.)[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?|[0-9]{{1,99}})
        (?:{suffixes})?+(?!\w))
    | (?P<PUNCTUATION>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|&&|\|\||[<>=!+*/%&|^-]=
        |[][(){{}}.,;:?<>=!~+*/%&|^-])
    | (?P<OTHER>\S)
    )"""


_TOKEN = token_pattern(
    r"(?:::)?[A-Za-z_]\w*+(?:::[A-Za-z_]\w*+)*+",
    "[uUlL]{1,3}|[fFhHxX]",
    r"""
      (?P<SKIPPED>\[\s*(?:branch|flatten|loop|unroll)\b[^]]*\](?=\s*(?:for|while|if|do)\b)
        |__asm__\b[^;]*;
        |(?:shared\s+)?(?i:(?:vertex|pixel)(?:shader|fragment))\s+\w[^;]*;
        |<\s*(?:string|float[1-4]?|int|bool)\s+\w+\s*=(?:"[^"]*"|[^>"])*>)
    | (?P<BLOCK>(?:(?i:technique)\d*(?:\s+\w+)?|[A-Z]\w*State\s+\w+|(?P<VALUE>sampler_state))
        \s*(?:<(?:"[^"]*"|[^{}"])*>\s*)?\{)
    | (?P<INTEGER>(?:unsigned|signed|short|long|int|char)\b
        (?:\s+(?:unsigned|signed|short|long|int|char|double)\b)*+)
    | (?:struct|enum)\s+(?P<TAG>\w++)(?!\s*[{:])
    | (?P<GENERIC>(?:vector|matrix)\s*<\s*(?P<OF>\w+)\s*,\s*(?P<N>\d)\s*(?:,\s*(?P<M>\d)\s*)?>)
    | (?P<VOUT>vout\s*\[[^]]*\])
    | (?P<CHARACTER>L?'(?:[^'\\\n]|\\[^\n]{1,3})')
    | (?P<STRING>L?"(?:[^"\\\n]|\\.)*+")
    |""",
)
_POINTED = re.compile(r"\(\s*(\*[\s*]*\w+)\s*\)(?=\s*[\[(<])")
_BRACES = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[{}]')
_WORD_FOLLOWS = re.compile(r"\s+[A-Za-z_]")
_VALUE_FOLLOWS = re.compile(r"\s*=(?!=)")
_PARENTHESIS_FOLLOWS = re.compile(r"\s*\((?!\s*\*[\s*]*\w+\s*\)\s*[\[(<])")

# Cg lets a function say its profile before its type.
_WORDS = """
_LPAREN (
_RPAREN )
_LBRACKET [
_RBRACKET ]
LBRACE {
_RBRACE }
_COMMA ,
_SEMICOLON ;
_COLON :
_QUESTION ?
DOT .
ELLIPSIS ...
ARROW ->
EQUAL =
LESS <
GREATER >
STAR *
AMPERSAND &
SIGN + -
NOT ! ~
INCREMENT ++ --
ASSIGN += -= *= /= %= &= |= ^= <<= >>=
OPERATOR || && | ^ == != <= >= << >> / %
IF if
_ELSE else
FOR for
WHILE while
DO do
SWITCH switch
CASE case
DEFAULT default
GOTO goto
JUMP break continue discard
RETURN return
SIZEOF sizeof
STRUCT struct interface
ENUM enum
TYPEDEF typedef
QUALIFIER const volatile static extern register auto inline uniform varying in out inout
QUALIFIER packed shared precise row_major column_major kernel reduce iter
QUALIFIER arbfp1 arbvp1 fp20 fp30 fp40 vp20 vp30 vp40
QUALIFIER ps_1_1 ps_1_4 ps_2_0 ps_2_a ps_2_b ps_2_x ps_3_0 vs_1_1 vs_2_0 vs_3_0
"""
KINDS = {
    word: kind for line in _WORDS.splitlines()[1:] for kind, *words in [line.split()]
    for word in words
}  # fmt: skip
"""The kind of each token with a fixed spelling."""
_OPENING, _CLOSING = {*"([{"}, {*")]}"}
_TRAILING = {"const", "volatile"}
_STATEMENTS = {"discard", "interface"}
_BEFORE_STATEMENTS = {"", "_SEMICOLON", "LBRACE", "_RBRACE", "_RPAREN", "_ELSE", "DO", "_COLON"}

_NUMBERS = "float half fixed shortfixed double int uint bool char uchar schar short ushort"
_OPAQUE = "sampler texture texobj"
_OTHERS = (
    "samplerCube samplerRect Texture1D Texture2D Texture3D TextureCube SamplerState FILE size_t "
    "time_t clock_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
    "string void vector matrix FLOAT"
)
_SIZES = ("", *"1234", *(f"{n}x{m}" for n in "1234" for m in "1234"))
TYPES = {
    *(name + size for name in _NUMBERS.split() for size in _SIZES),
    *(name + kind for name in _OPAQUE.split() for kind in ("", "1D", "2D", "3D", "CUBE", "RECT")),
    *_OTHERS.split(),
}
_GLSL = {"vec2", "vec3", "vec4"}
_SOFT = {"sampler", "texture", "string", "vector", "matrix"} | _GLSL
"""Types that programs also use as names, in either case: they are types only before a word."""


def _integer(words: str) -> str:
    """The one word for a type of C's integers, such as `unsigned long int`."""
    parts = words.split()
    if "double" in parts:
        return "double"
    size = "long" * parts.count("long") or ("short" if "short" in parts else "int")
    if "char" in parts:
        size = "char"
    sign = "u" if "unsigned" in parts else "s" if size == "char" and "signed" in parts else ""
    return sign + size


@frozen
class Words:
    """The words of a language.

    kinds: the kind of each token with a fixed spelling. types: the built-in ones. soft: types that
    programs also use as names; without any, all types are reserved. token: a token's pattern.
    """

    kinds: Mapping[str, str]
    types: Collection[str]
    soft: Collection[str]
    token: str


C = Words(KINDS, TYPES, _SOFT, _TOKEN)
"""The words of C, Cg, HLSL and Brook together."""


class Lexeme(Token):
    """A token with its place."""

    __slots__ = ("at",)
    at: Span


class Tokens:
    """The tokens of a text, in order, and the types that it has defined so far."""

    def __init__(self, source: Preprocessed, words: Words) -> None:
        self.source, self.text, self.words = source, source.text, words
        self.types, self._soft = set(words.types), set(words.soft)
        self.read: list[Lexeme] = []
        """The tokens so far."""

    def __iter__(self) -> Iterator[Lexeme]:
        position, typedef = 0, -1
        opened = self._opened = list[str]()
        pattern = re.compile(self.words.token, re.VERBOSE | re.DOTALL)
        while match := pattern.match(self.text, position):
            kind, position = str(match.lastgroup), match.end()
            start, value = match.start(kind), match[kind]
            previous = self.read[-1].type if self.read else ""
            if kind == "SKIPPED":
                continue
            if kind == "BLOCK":
                position = self._end_of_block(position)
                if not match["VALUE"]:
                    continue
                kind = "SKIPPED"
            elif kind == "PUNCTUATION":
                kind = self.words.kinds[value]
                pointed = _POINTED.match(self.text, start) if previous == "TYPE" else None
                if pointed:
                    kind, value, position = "POINTED", pointed[1], pointed.end()
                typedef = -1 if value == ";" and len(opened) == typedef else typedef
            elif kind == "WORD":
                is_new = len(opened) == typedef and previous in {"TYPE", "_RBRACE"}
                kind = self._kind(value, "STRUCT" if is_new else previous, position)
            elif kind in _MAKERS:
                kind, value = _MAKERS[kind](match)
                if kind == "TYPE" and _PARENTHESIS_FOLLOWS.match(self.text, position):
                    kind = "CONSTRUCTOR"
            if kind == "TYPEDEF":
                typedef = len(opened)
            elif kind in {"NAME", "POINTED"} and (len(opened) == typedef or previous == "STRUCT"):
                self.types.add(value.lstrip("* \t"))
            yield self._token(kind, value, start)
        yield self._token("$END", "", len(self.text.rstrip()))

    def _token(self, kind: str, value: str, start: int) -> Lexeme:
        if len(self.read) == MOST_TOKENS:
            raise self.source.texts.error(
                f"the text has more than {MOST_TOKENS} tokens", self.source.span(start)
            )
        if value in _OPENING:
            self._opened.append(value)
        elif value in _CLOSING:
            del self._opened[-1:]
        token = Lexeme(kind, value, start)
        token.at = self.source.span(start)
        self.read.append(token)
        return token

    def _kind(self, word: str, previous: str, position: int) -> str:
        """The kind of a word."""
        is_soft = word in self._soft or word.lower() in self.words.soft
        kind = self.words.kinds.get(word, "TYPE" if is_soft or word in self.types else "NAME")
        is_called = _PARENTHESIS_FOLLOWS.match(self.text, position)
        is_before_word = _WORD_FOLLOWS.match(self.text, position)
        if word == "indexof" and is_before_word:
            return "INDEXOF"
        is_set = _VALUE_FOLLOWS.match(self.text, position)
        is_next = previous == "STAR" or (
            previous == "_COMMA" and (is_set or self._opened[-1:] != ["("])
        )
        if (kind == "TYPE" and self._soft) and (
            previous == "TYPE" or (is_next and not is_called and not is_before_word)
        ):  # a variable that has a type's name
            self._soft.add(word)
            return "NAME"
        if (
            previous in {"DOT", "ARROW"}
            or (kind == "TYPE" and previous == "STRUCT")
            or (kind == "QUALIFIER" and not is_before_word and word not in _TRAILING)
            or (is_soft and not is_before_word and not (is_called and word in _GLSL))
            or (word in _STATEMENTS and (is_set or previous not in _BEFORE_STATEMENTS))
        ):
            return "NAME"
        return "CONSTRUCTOR" if kind == "TYPE" and is_called else kind

    def _end_of_block(self, position: int) -> int:
        """The end of the block that is open at a position."""
        depth = 1
        for brace in _BRACES.finditer(self.text, position):
            depth += (brace[0] == "{") - (brace[0] == "}")
            if not depth:
                return brace.end()
        return len(self.text)


_MAKERS: dict[str, Callable[[re.Match[str]], tuple[str, str]]] = {
    "INTEGER": lambda match: ("TYPE", _integer(match[0])),
    "TAG": lambda match: ("TYPE", match["TAG"]),
    "GENERIC": lambda match: ("TYPE", match["OF"] + "x".join(filter(None, match.group("N", "M")))),
    "VOUT": lambda match: ("QUALIFIER", "vout"),
    "CHARACTER": lambda match: ("NUMBER", match["CHARACTER"]),
}
"""Make a token's kind and text from a group of _TOKEN, where they are not its name and text."""
