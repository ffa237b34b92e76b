"""Text → syntax tree, and what is said of a text that does not fit the grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Transformer, v_args
from lark.exceptions import UnexpectedToken

from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.grammars import open_grammar
from gpgpu_legacy.languages.c import syntax as tree
from gpgpu_legacy.languages.c.preprocess import Options, Preprocessed
from gpgpu_legacy.languages.c.tokens import KINDS, Lexeme, Tokens
from gpgpu_legacy.languages.diagnostics import meant, shortened
from gpgpu_legacy.languages.language import MOST_CHARACTERS

DEEPEST = 200
"""Levels of a tree, so that whoever reads it may recurse."""


def parse(
    text: str,
    name: str,
    *,
    folder: Path | None = None,
    root: Path | None = None,
    defines: Mapping[str, str] = {},
    before: str = "",
) -> tree.Unit:
    """The syntax tree of a text.

    name: of the text in messages, usually a file's path. folder: of the text, from which #include
    reads; None for no file. root: the folder that no #include leaves, `folder` if it is not given.
    defines: macros. before: a text of what the language declares. Raises AssemblyError at the first
    fault.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{name} has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    texts = tree.Texts(name)
    tokens = Tokens(Preprocessed(text, texts, Options(folder, root, defines, before)))
    parser = _lark().parse_interactive()
    try:
        for token in tokens:
            items = parser.feed_token(token)
    except UnexpectedToken:
        raise _fault(tokens, texts, parser.accepts()) from None  # type: ignore[no-untyped-call]
    unit = tree.Unit(name, items, texts)
    level: list[Any] = [unit]
    for _ in range(DEEPEST):
        level = _below(level)
    if level:
        at = next((node.at for node in level if hasattr(node, "at")), tree.NOWHERE)
        raise texts.error(f"this is nested more than {DEEPEST} levels deep", at)
    return unit


def _below(level: list[Any]) -> list[Any]:
    """The nodes directly below those of one level of a tree."""
    values = [
        getattr(node, name)
        for node in level
        for name in node.__slots__
        if name not in {"at", "texts"}
    ]
    for value in values:
        if isinstance(value, tuple):
            values.extend(value)
    return [value for value in values if is_dataclass(value)]


# The tree -----------------------------------------------------------------------------------------

_PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in operators.split()
}
_NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9.]+(?:e[+-]?\d+)?)([a-z]*)")
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))")
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def _bytes(literal: str) -> bytes:
    """What a literal in quotes stands for."""

    def byte(match: re.Match[bytes]) -> bytes:
        code, octal, letter = match.groups()
        if letter:
            return bytes([_ESCAPES.get(letter[0], letter[0])])
        return bytes([(int(code, 16) if code else int(octal, 8)) & 255])

    return _ESCAPE.sub(byte, literal.lstrip("L")[1:-1].encode())


_ALIASES = {"vector": "float4", "matrix": "float4x4"}


def _flat(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The statements of a block: a declaration is several, if it defines a struct."""
    return tuple(s for part in parts for s in (part if isinstance(part, tuple) else (part,)))


def _body(part: Any) -> Any:
    return tree.Block(part, part[0].at) if isinstance(part, tuple) else part


@v_args(inline=True)
class _Maker(Transformer[Lexeme, Any]):
    """Makes the tree, rule by rule of the grammar."""

    def unit(self, *items: Any) -> Any:
        return _flat(items)

    # Declarations: a declarator is the fields that it gives a Declaration.

    def specifiers(self, *parts: Any) -> Any:
        (what,) = (p for p in parts if not (isinstance(p, Lexeme) and p.type == "QUALIFIER"))
        names = frozenset(str(part) for part in parts if part is not what)
        if isinstance(what, tree.Struct):
            return tree.TypeName(what.name, names, what.at), what
        return tree.TypeName(_ALIASES.get(what, str(what)), names, what.at), None

    def structure(self, keyword: Any, name: Any, _base: Any, _brace: Any, *members: Any) -> Any:
        members = _flat(members)
        fields = (f for m in members if isinstance(m, tree.Declare) for f in m.declarations)
        methods = (m for m in members if isinstance(m, tree.Function))
        return tree.Struct(str(name or ""), tuple(fields), tuple(methods), (name or keyword).at)

    def enumeration(self, keyword: Any, name: Any, _brace: Any, *items: Any) -> Any:
        return tree.Enumeration(str(name or ""), tuple(i for i in items if i), keyword.at)

    def enumerator(self, name: Any, _equal: Any, value: Any) -> Any:
        return str(name), value

    def declaration(self, specifiers: Any, *declarators: Any) -> Any:
        kind, struct = specifiers
        declared = tuple(tree.Declaration(**{"type": kind, **d}) for d in declarators if d)
        declare = tree.Declare(declared, kind.at)
        return (struct, declare) if struct else (declare,)

    def typedef(self, keyword: Any, items: Any) -> Any:
        *structs, declare = items
        declarations = declare.declarations
        if structs and not structs[0].name and declarations:
            name = declarations[0].name
            structs = [replace(structs[0], name=name)]
            declarations = declarations[1:]
        return (*structs, *(tree.Typedef(d, keyword.at) for d in declarations))

    def named(self, stars: Any, name: Any, *rest: Any) -> Any:
        dimensions, stream, semantics, _, value = rest
        fields = {**self.nameless(stars, dimensions, stream), **semantics}
        return {**fields, "name": str(name), "value": value, "at": name.at}

    def pointed(self, stars: Any, name: Any, what: Any, _: Any, value: Any) -> Any:
        inner = name.count("*")
        fields = {"name": name.strip("* \t"), "at": name.at, "value": value, "pointers": stars}
        if isinstance(what, list):
            return {**fields, "pointers": stars + inner, "stream": tuple(what)}
        if what is None:
            return {**fields, "pointers": 1, "type": tree.TypeName("function", at=name.at)}
        return {**fields, "dimensions": (None,) * inner + what}

    def prototype(self, _parameters: Any) -> Any:
        return None

    def stars(self, *stars: Any) -> Any:
        return sum(star == "*" for star in stars)

    def dimensions(self, *dimensions: Any) -> Any:
        return dimensions

    def dimension(self, size: Any) -> Any:
        return size

    def stream(self, _less: Any, *extents: Any) -> Any:
        return [e for e in extents[:-1] if e]

    def semantics(self, *names: Any) -> Any:
        return {key: value for semantic in names for key, value in semantic.items()}

    def semantic(self, name: Any, register: Any) -> Any:
        return {"register": str(register)} if register else {"semantic": str(name)}

    def braces(self, brace: Any, *items: Any) -> Any:
        return tree.Braces(tuple(i for i in items if i), brace.at)

    def function(self, specifiers: Any, stars: Any, name: Any, *rest: Any) -> Any:
        parameters, semantics, *body = rest
        kind = specifiers[0] if specifiers else tree.TypeName("int", at=name.at)
        semantic, block = semantics.get("semantic", ""), body[0] if body else None
        return tree.Function(
            kind, stars or 0, str(name), parameters or (), block, semantic, name.at
        )

    def parameters(self, *parameters: Any) -> Any:
        if len(parameters) == 1 and parameters[0] == tree.Declaration(tree.TypeName("void"), ""):
            return ()
        return parameters

    def parameter(self, specifiers: Any, declarator: Any) -> Any:
        return tree.Declaration(**{"type": specifiers[0], "at": specifiers[0].at, **declarator})

    def nameless(self, stars: Any, dimensions: Any, stream: Any) -> Any:
        return {
            "name": "",
            "pointers": stars,
            "dimensions": dimensions,
            "stream": stream if stream is None else tuple(stream),
        }

    # Statements

    def block(self, brace: Any, *statements: Any) -> Any:
        return tree.Block(_flat(statements), brace.at)

    def evaluate(self, expression: Any) -> Any:
        return tree.Evaluate(expression, getattr(expression, "at", tree.NOWHERE))

    def if_(self, keyword: Any, condition: Any, yes: Any, no: Any) -> Any:
        return tree.If(condition, _body(yes), _body(no), keyword.at)

    def for_(self, keyword: Any, start: Any, condition: Any, step: Any, body: Any) -> Any:
        return tree.For(_flat((start,))[0], condition, step, _body(body), keyword.at)

    def while_(self, keyword: Any, condition: Any, body: Any) -> Any:
        return tree.For(None, condition, None, _body(body), keyword.at)

    def do(self, keyword: Any, body: Any, _while: Any, condition: Any) -> Any:
        return tree.DoWhile(_body(body), condition, keyword.at)

    def switch(self, keyword: Any, value: Any, body: Any) -> Any:
        return tree.Switch(value, _body(body), keyword.at)

    def label(self, keyword: Any, value: Any = None) -> Any:
        return tree.Label(value, keyword.at)

    def target(self, name: Any) -> Any:
        return tree.Target(str(name), name.at)

    def goto(self, keyword: Any, name: Any) -> Any:
        return tree.Goto(str(name), keyword.at)

    def jump(self, keyword: Any, condition: Any) -> Any:
        return tree.Jump(str(keyword), condition, keyword.at)

    def return_(self, keyword: Any, value: Any) -> Any:
        return tree.Return(value, keyword.at)

    # Expressions

    def comma(self, *items: Any) -> Any:
        return tree.Comma(items, items[0].at)

    def assign(self, target: Any, operator: Any, value: Any) -> Any:
        return tree.Assign(str(operator), target, value, operator.at)

    def conditional(self, condition: Any, yes: Any, no: Any) -> Any:
        return tree.Conditional(condition, yes, no, condition.at)

    def binary(self, first: Any, *rest: Any) -> Any:
        operands, operators = [first], list[Any]()

        def join(least: int) -> None:
            while operators and _PRECEDENCE[operators[-1].value] >= least:
                operator, right, left = operators.pop(), operands.pop(), operands.pop()
                operands.append(tree.Binary(str(operator), left, right, operator.at))

        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            join(_PRECEDENCE[operator.value])
            operators.append(operator)
            operands.append(operand)
        join(0)
        return operands[0]

    def cast(self, type_name: Any, operand: Any) -> Any:
        kind, stars, dimensions = type_name
        return tree.Cast(kind, stars, dimensions, operand, kind.at)

    def size(self, keyword: Any, what: Any) -> Any:
        if isinstance(what, tuple):
            kind, stars, dimensions = what
            return tree.SizeOf(kind, stars, dimensions, keyword.at)
        return tree.SizeOf(what, at=keyword.at)

    def type_name(self, specifiers: Any, stars: Any, dimensions: Any) -> Any:
        return specifiers[0], stars, dimensions

    def prefix(self, operator: Any, operand: Any) -> Any:
        return tree.Unary(str(operator), operand, operator.at)

    def postfix(self, operand: Any, operator: Any) -> Any:
        return tree.Postfix(str(operator), operand, operator.at)

    def index(self, base: Any, index: Any) -> Any:
        return tree.Index(base, index, base.at)

    def member(self, base: Any, operator: Any, name: Any) -> Any:
        return tree.Member(base, str(name), operator == "->", name.at)

    def call(self, function: Any, arguments: Any) -> Any:
        return tree.Call(function, arguments or (), function.at)

    def index_of(self, keyword: Any, name: Any) -> Any:
        return tree.Call(tree.Name("indexof", keyword.at), (self.name(name),), keyword.at)

    def constructor(self, name: Any, arguments: Any) -> Any:
        return tree.Call(tree.TypeName(str(name), at=name.at), arguments or (), name.at)

    def arguments(self, *arguments: Any) -> Any:
        return arguments

    def name(self, name: Any) -> Any:
        return tree.Name(str(name), name.at)

    def number(self, token: Any) -> Any:
        if token.endswith("'"):
            return tree.Number(_bytes(token)[0], at=token.at)
        match = _NUMBER.fullmatch(token.lower())
        assert match
        digits, suffix = match.groups()
        if digits.startswith("0x"):
            return tree.Number(int(digits, 16), suffix, token.at)
        if not digits.isdecimal() or suffix in ("f", "h", "x"):
            return tree.Number(float(digits), suffix, token.at)
        is_octal = digits[0] == "0" and not set(digits) & {"8", "9"}
        return tree.Number(int(digits, 8 if is_octal else 10), suffix, token.at)

    def string(self, *parts: Any) -> Any:
        return tree.String(b"".join(map(_bytes, parts)), parts[0].at)

    def skipped(self, _token: Any) -> Any:
        return None


@cache
def _lark() -> Lark:
    return open_grammar("gpgpu_legacy.languages.c", start="unit", transformer=_Maker())


# Faults -------------------------------------------------------------------------------------------

_WORDS = {kind: repr(word) for word, kind in KINDS.items()} | {
    "NAME": "a name",
    "TYPE": "a type",
    "$END": "the end of the text",
}
del _WORDS["QUALIFIER"]
_TYPES = {"TYPE", "QUALIFIER", "STRUCT"}
_STARTS = {"NAME", "NUMBER", "STRING", "CONSTRUCTOR", "SIZEOF", "_LPAREN", "INDEXOF"}
_STARTS |= {"SIGN", "STAR", "AMPERSAND", "NOT", "INCREMENT"}
_ENDS = {"_RPAREN", "_RBRACKET", "_RBRACE", "LBRACE", "_COMMA", "_SEMICOLON", "_COLON"}
_GROUPS = (
    ("RETURN", "a statement", {*KINDS.values(), *_STARTS, *_TYPES} - {"_RBRACE"}),
    ("TYPEDEF", "a declaration", {*_TYPES, "ENUM", "_SEMICOLON"}),
    ("TYPE", "a type", _TYPES),
    ("NUMBER", "an expression", _STARTS),
    ("OPERATOR", "an operator", {k for w, k in KINDS.items() if not w[0].isalpha()} - _ENDS),
)
"""What all of several kinds of token are called where the first of them could stand."""


def _fault(tokens: Tokens, texts: tree.Texts, accepts: set[str]) -> AssemblyError:
    """The fault at the last token read. accepts: what could stand there."""
    *_, before, token = [None, None, *tokens.read]
    assert token is not None
    if before is not None and before.type == "NAME" and token.type in {"NAME", "TYPE", "QUALIFIER"}:
        word = shortened(before)
        known = [*sorted(tokens.types), *filter(str.isalpha, KINDS)]
        return texts.error(f"{word} is not a type", before.at, meant(before, known).strip())
    expected = []
    for kind, words, kinds in _GROUPS:
        if kind in accepts:
            accepts = accepts - kinds - {kind}
            expected.append(words)
    expected = [*sorted(_WORDS[kind] for kind in accepts if kind in _WORDS), *expected]
    *most, last = expected
    listed = f"{', '.join(most)} or {last}" if most else last
    found = f"unexpected {str(shortened(token))!r}" if token else "the text ends too early"
    after = f" after {str(shortened(before))!r}" if before and token else ""
    return texts.error(found + after, token.at, f"expected {listed}")
