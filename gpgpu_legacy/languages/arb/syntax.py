"""The syntax of statements: parses tokens into trees, by grammar.lark.

parser.py interprets the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product
from typing import Any

from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_analysis import Shift

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import (
    ARB,
    ARBFP,
    NV_OPTIONS,
    OPCODES,
    Form,
    Opcode,
    OperandKind,
)
from gpgpu_legacy.isa.program import TextureTarget, Vec4
from gpgpu_legacy.languages.arb.limits import LONGEST_NAME
from gpgpu_legacy.languages.diagnostics import FaultError, offset_of, shortened
from gpgpu_legacy.languages.grammars import open_grammar

# Tokens -------------------------------------------------------------------------------------------

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


REFUSED = "PK2H PK2US PK4B PK4UB UP2H UP2US UP4B UP4UB A0"
"""Words of NVIDIA's options that are not supported: packed numbers and the index of loops."""

_OF_NVIDIA = {
    **dict.fromkeys(("SHORT", "LONG"), "SIZE"),
    **dict.fromkeys(REFUSED.split(), "REFUSED"),
    **{"(": "_LPAREN", ")": "_RPAREN", "|": "_BAR", ":": "_COLON"},
}


@lru_cache(maxsize=16)
def words_of(options: tuple[str, ...] = ()) -> dict[str, str]:
    """The kind of token of each reserved word, and of some characters, with these options."""
    words = {word: word for word in ["ALIAS", "ATTRIB", "END", "OPTION", "OUTPUT", "PARAM", "TEMP"]}
    words |= dict.fromkeys(BINDINGS, "BINDING")
    last = max(map(NV_OPTIONS.index, options), default=-1)
    for row in OPCODES.values():
        if row.option in (ARB, *NV_OPTIONS[: last + 1]):
            kind = "FLOW" if row.form is Form.FLOW else "OPCODE"
            words |= dict.fromkeys(_written(row, nvidia=last >= 0), kind)
    if NV_OPTIONS[1] in options:
        words |= {"CAL": "FLOW", "RET": "FLOW"}
    return words | _OF_NVIDIA if options else words


def _written(row: Opcode, *, nvidia: bool) -> list[str]:
    """The spellings of an opcode: with _SAT, and with NVIDIA's precisions and C."""
    if not row.saturable:
        return [row.mnemonic]
    precisions = "RHX" if nvidia and row.form is not Form.SAMPLE else ""
    suffixes = product(("", *precisions), ("", *"C" * nvidia), ("", "_SAT"))
    return [row.mnemonic + "".join(parts) for parts in suffixes]


OPERANDS_OF = {
    mnemonic: [
        kind for kind in row.shape for _ in range(4 if kind is OperandKind.EXTENDED_SWIZZLE else 1)
    ]
    for mnemonic, row in OPCODES.items()
}
"""The operands of each opcode in the text, where an extended swizzle counts as four."""


def mnemonic_of(word: str) -> str:
    """The opcode without its suffixes."""
    bare = word.removesuffix("_SAT")
    return next((b for b in (bare, bare[:-1], bare[:-2]) if b in OPCODES), bare)


STARTERS = frozenset(words_of().values()) - {"BINDING"} | {"FLOW", "SIZE"}
"""The kinds of token that begin a statement or end the program, and occur nowhere else."""

END_OF_TEXT = "$END"

LONG_NAME = "LONG_NAME"
"""The kind of a name that is too long, which no rule accepts."""


def tokens(text: str, start: int, words: Mapping[str, str]) -> Iterator[Token]:
    """The tokens from offset `start` on, then a token of type END_OF_TEXT.

    words: from words_of.

    Each token has its offset in characters. A character that belongs to no token becomes a token
    of type CHARACTER, so that the parser can report where it is.
    """
    position, match = start, _PATTERN.match(text, start)
    while match is not None:
        kind = match.lastgroup
        assert kind is not None
        value, position = match[kind], match.end()
        if kind == "NAME":
            kind = words.get(value, kind if len(value) <= LONGEST_NAME else LONG_NAME)
        elif kind == "CHARACTER":
            kind = words.get(value, kind)
        elif kind == "PUNCTUATION":
            kind = PUNCTUATION[value]
        yield Token(kind, value, position - len(value))
        match = _PATTERN.match(text, position)
    yield Token(END_OF_TEXT, "", len(text))


# The syntax of statements -------------------------------------------------------------------------

GRAMMAR_SECTION = "3.11.2"

# Records -----------------------------------------------------------------------------------------


@frozen
class PathElement:
    """One element of a dotted path: `texcoord[1]`, `row[0..3]` or `xyzw`."""

    token: Token
    first: Token | None
    last: Token | None

    @property
    def name(self) -> str:
        """The text before the brackets."""
        return str(self.token)


@frozen
class Path:
    """A dotted path: a variable or a binding, and perhaps a swizzle."""

    elements: tuple[PathElement, ...]

    @property
    def token(self) -> Token:
        """Its first token."""
        return self.elements[0].token


@frozen
class WrittenConstant:
    """A number, or a vector in braces.

    token: its first token. value: a number is replicated; missing components of a vector are 0, 0,
    1. suffix: an operand's swizzle, after a dot.
    """

    token: Token
    value: Vec4
    is_vector: bool = False
    suffix: Token | None = None


@frozen
class WrittenOperand:
    """An operand: a sign, then a path, a constant, or a texture target.

    absolute: whether it is between bars.
    """

    sign: Token | None
    item: Path | WrittenConstant | Token
    absolute: bool = False

    @property
    def token(self) -> Token:
        """Its first token."""
        if self.sign is not None:
            return self.sign
        return self.item if isinstance(self.item, Token) else self.item.token

    @property
    def word(self) -> str:
        """Its text without the sign, if that is one token; else empty."""
        match self.item:
            case Path(elements=(PathElement(token=word, first=None),)):
                return str(word)
            case WrittenConstant(token=word, is_vector=False, suffix=None):
                return str(word)
        return str(self.item) if isinstance(self.item, Token) else ""


Statement = Tree[Any]
"""A statement: its rule of the grammar, with tokens, paths, operands and constants below."""


@v_args(inline=True)
class _Parts(Transformer[Token, Any]):
    """Makes a record of each part of a statement."""

    operand = WrittenOperand
    path_element = PathElement

    def absolute(
        self, sign: Token | None, _inner: Token | None, item: Path | WrittenConstant
    ) -> WrittenOperand:
        return WrittenOperand(sign, item, absolute=True)

    def constant(self, value: WrittenConstant, suffix: Token | None) -> WrittenConstant:
        return replace(value, suffix=suffix)

    def path(self, *elements: PathElement) -> Path:
        return Path(elements)

    def vector(self, brace: Token, *numbers: WrittenConstant) -> WrittenConstant:
        if len(numbers) > 4:
            raise FaultError(
                "a vector has 1 to 4 components",
                "leave out what comes after the fourth",
                "3.11.3.2",
                numbers[4].token,
            )
        values = [number.value[0] for number in numbers]
        x, y, z, w = (*values, *(0.0, 0.0, 0.0, 1.0)[len(values) :])
        return WrittenConstant(brace, (x, y, z, w), is_vector=True)

    def signed_number(self, sign: Token | None, number: WrittenConstant) -> WrittenConstant:
        if sign is None:
            return number
        value = -number.value[0] if sign == "-" else number.value[0]
        return WrittenConstant(sign, (value,) * 4)

    def number(self, token: Token) -> WrittenConstant:
        return WrittenConstant(token, (float(token),) * 4)


@cache
def _lark() -> Lark:
    return open_grammar("gpgpu_legacy.languages.arb", start="statement", transformer=_Parts())


_END = Token(END_OF_TEXT, "")

LONGEST_STATEMENT = 2**16
"""Tokens of a statement: more than in the longest array that the default limits allow."""


def read_statement(head: Token, tokens: Iterator[Token], read: list[Token]) -> Statement:
    """Read one statement, up to its semicolon.

    head: its first token. read: the list that every further token is appended to. Raises
    FaultError at the first token that does not fit the grammar.
    """
    parser = _lark().parse_interactive()
    token = head
    try:
        parser.feed_token(head)
        for token in tokens:
            read.append(token)
            parser.feed_token(token)
            if token.type == "_SEMICOLON":
                break
            if len(read) >= LONGEST_STATEMENT:
                raise FaultError(
                    f"the statement has {len(read)} tokens and no end",
                    "expected ';'",
                    GRAMMAR_SECTION,
                    token,
                )
        statement: Statement = parser.feed_token(_END)
    except UnexpectedToken:
        accepts: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        raise _unexpected(read, accepts) from None
    return statement


def instruction_tables() -> dict[str, Any]:
    """Tables, as JSON, with which JavaScript parses an instruction by grammar.lark.

    words: a token's pattern in JavaScript, with the groups NAME, PUNCTUATION and so on. kinds: the
    kinds of words and punctuation that are not their group's name. start, end: the first state, and
    the one in which all is read. states: map the kind of the next token, or a rule's name, to the
    next state, or to -1 - n to reduce by rule n. rules: the name and length of each. forms: an
    example of each opcode.
    """
    parser: Any = open_grammar("gpgpu_legacy.languages.arb", start="instruction").parser
    table = parser.parser._parse_table
    rules: dict[tuple[str, int], int] = {}

    def target(action: Any, argument: Any) -> int:
        if action is Shift:
            return int(argument)
        rule = (str(argument.origin.name), len(argument.expansion))
        return -1 - rules.setdefault(rule, len(rules))

    states = [
        {str(kind): target(*then) for kind, then in table.states[n].items()}
        for n in range(len(table.states))
    ]
    words = _PATTERN.pattern.replace("?P<", "?<").replace("++", "+").replace("*+", "*")
    return {
        "words": words,
        "kinds": PUNCTUATION | words_of(),
        "start": table.start_states["instruction"],
        "end": table.end_states["instruction"],
        "states": states,
        "rules": [*rules],
        "forms": {name: form(Token("OPCODE", name)) for name in ARBFP},
    }


# What is expected where ----------------------------------------------------------------------

_TERMINALS = {kind: repr(text) for text, kind in PUNCTUATION.items()} | {
    "_DOT": "'.'",
    "_RANGE": "'..'",
    "NAME": "a name",
    "INTEGER": "an integer",
    "FLOAT": "a number",
    "SIGN": "a sign",
}
_OPERAND = {"NAME", "BINDING", "LBRACE", "FLOAT", "INTEGER", "TARGET"}
_BOUND = {"NAME", "BINDING"}

_FORMS = {
    "OPTION": "OPTION ARB_precision_hint_nicest;",
    "ATTRIB": "ATTRIB coord = fragment.texcoord[0];",
    "PARAM": "PARAM scale = program.local[0]; or PARAM p[2] = { 1, program.env[0] };",
    "TEMP": "TEMP R0, R1;",
    "OUTPUT": "OUTPUT color = result.color;",
    "ALIAS": "ALIAS other = R0;",
    "SIZE": "SHORT TEMP R0;",
    "FLOW": "ENDIF;",
    "IF": "IF GT.x;",
    "BRK": "BRK (GT.x);",
    "REP": "REP {8};",
    "LOOP": "LOOP {8, 0, 1};",
    "CAL": "CAL subroutine;",
    "RET": "RET;",
}
_OPERAND_FORMS = {
    OperandKind.DESTINATION: ("R0",),
    OperandKind.VECTOR: ("R1", "R2", "R3"),
    OperandKind.SCALAR: ("R1.x", "R2.x"),
    OperandKind.REGISTER: ("R1",),
    OperandKind.EXTENDED_SWIZZLE: ("x, -y, 0, 1",),
    OperandKind.TEXTURE_UNIT: ("texture[0]",),
    OperandKind.TEXTURE_TARGET: ("2D",),
}


def form(head: Token) -> str:
    """An example of a statement that begins with `head`."""
    if head.type != "OPCODE":
        return _FORMS.get(head) or _FORMS[head.type]
    row = OPCODES[mnemonic_of(head)]
    examples = {kind: iter(texts) for kind, texts in _OPERAND_FORMS.items()}
    return f"{head} {', '.join(next(examples[kind]) for kind in row.shape)};"


def quoted(token: Token) -> str:
    """A token, quoted for a message."""
    return "end of the text" if token.type == END_OF_TEXT else repr(shortened(str(token)))


def _unexpected(read: list[Token], accepts: set[str]) -> FaultError:
    """The fault of the last token read; accepts: the kinds of token that could follow there."""
    head, token = read[0], read[-1]
    comma = _comma_too_many(read)
    if comma is not None:
        return FaultError(
            f"unexpected ',' after the last operand of {head}",
            f"as in {form(head)}",
            GRAMMAR_SECTION,
            comma,
        )
    expected = f"expected {_listed(accepts)}, as in {form(head)}"
    problem = f"unexpected {quoted(token)}"
    if token.type == "CHARACTER":
        problem = f"unexpected character {quoted(token)}"
    elif token.type == "REFUSED":
        problem, expected = f"{token} is not supported", "compute it in another way"
    elif token.type == LONG_NAME:
        problem = f"{shortened(token)} is a name of {len(token)} characters"
        expected = f"a name has at most {LONGEST_NAME}"
    elif token.type in STARTERS | {"BINDING"} and "NAME" in accepts and "BINDING" not in accepts:
        problem = f"{token} is a reserved word and cannot name a variable"
        expected = f"choose another name, as in {form(head)}"
    elif token.type in STARTERS and "_SEMICOLON" in accepts:
        expected = "expected ';' at the end of the statement before it"
    elif token.type == "NAME" and _is_one_word(read[-2], token):
        word = read[-2] + token
        problem += f" in {shortened(word)!r}"
        if word.upper() in (target.value for target in TextureTarget):
            expected = f"did you mean {word.upper()}?"
    elif token.type in _OPERAND | {"SIGN"} and "_COMMA" in accepts:
        expected = f"expected ',' before it, as in {form(head)}"
    return FaultError(problem, expected, GRAMMAR_SECTION, token)


def _comma_too_many(read: list[Token]) -> Token | None:
    """The comma after an opcode's last operand, if the tokens read have one."""
    if read[0].type != "OPCODE":
        return None
    count = len(OPERANDS_OF[mnemonic_of(read[0])])
    commas, depth = [], 0
    for token in read[:-1]:
        depth += (token.type == "LBRACE") - (token.type == "_RBRACE")
        if token.type == "_COMMA" and depth == 0:
            commas.append(token)
    return commas[count - 1] if len(commas) >= count else None


def _is_one_word(number: Token, name: Token) -> bool:
    """Whether a name follows a number without a space, as in 2d or 1e."""
    if number.type not in ("INTEGER", "FLOAT", "TARGET"):
        return False
    return offset_of(number) + len(number) == offset_of(name)


def _listed(accepts: set[str]) -> str:
    """The tokens that fit, in words."""
    if accepts >= _OPERAND:
        return "a register, a binding or a constant"
    if accepts >= _BOUND:
        return "a name or a binding"
    kinds = accepts - {"INTEGER"} if "FLOAT" in accepts else accepts
    return " or ".join(sorted(_TERMINALS[kind] for kind in kinds if kind in _TERMINALS))
