"""Parses a text into a syntax tree, and reports a text that does not fit the grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from types import SimpleNamespace
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedToken

from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.languages.c import syntax as tree
from gpgpu_legacy.languages.c.literals import PRECEDENCE, number_of, text_of
from gpgpu_legacy.languages.c.preprocess import Preprocessed
from gpgpu_legacy.languages.c.tokens import KINDS, C, Lexeme, Tokens, Words
from gpgpu_legacy.languages.diagnostics import meant, shortened
from gpgpu_legacy.languages.grammars import open_grammar
from gpgpu_legacy.languages.language import (
    DEFAULT_OPTIONS,
    MOST_CHARACTERS,
    CompilerOptions,
)

DEEPEST = 200
"""The most levels of a tree, so that its readers may recurse."""


def parse(
    text: str,
    name: str,
    options: CompilerOptions = DEFAULT_OPTIONS,
    *,
    before: str = "",
    words: Words = C,
) -> tree.Unit:
    """The syntax tree of a text.

    name: the text's name in messages, usually a file's path. options: used are the folder from
    which #include reads (without one, no file), the root that no #include leaves (without one, the
    folder), and the macros. before: a text with the language's declarations. words: the language's.
    Raises AssemblyError at the first fault, and InputError for a text that is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{name} has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    texts = tree.Texts(name)
    tokens = Tokens(Preprocessed(text, texts, options, before), words)
    parser = _lark().parse_interactive()
    try:
        for token in tokens:
            items = parser.feed_token(token)
    except UnexpectedToken:
        raise _fault(tokens, texts, parser.accepts()) from None  # type: ignore[no-untyped-call]
    level: list[Any] = [items]
    for _ in range(DEEPEST):
        level = _below(level)
    if level:
        raise texts.error(f"this is nested more than {DEEPEST} levels deep", level[0].at)
    return tree.Unit(name, items, texts)


def _below(level: list[Any]) -> list[Any]:
    """The nodes directly below those of one level of a tree."""
    values = [part for node in level for part in tree.parts_of(node)]
    for value in values:
        if isinstance(value, tuple):
            values.extend(value)
    return [value for value in values if hasattr(value, "at")]


# The tree -----------------------------------------------------------------------------------------

_KEYWORDS = {"IF", "SWITCH", "CASE", "DEFAULT", "GOTO", "RETURN", "SIZEOF"}
_AS_WRITTEN = "If Switch Label Target Goto Jump Return Conditional Cast Unary SizeOf Index Name"
_ALIASES = {"vector": "float4", "matrix": "float4x4", "float": "float"}
_ALIASES |= {f"vec{n}": f"float{n}" for n in "234"}


def _flat(parts: Iterable[Any]) -> tuple[Any, ...]:
    """The statements of a block; a declaration that defines a struct becomes several."""
    return tuple(s for part in parts for s in (part if isinstance(part, tuple) else (part,)))


def _node(kind: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Makes a node of a rule's children except keywords, at the place of the first child."""
    return lambda c: kind(
        *(_plain(part) for part in c if getattr(part, "type", "") not in _KEYWORDS), at=c[0].at
    )


def _plain(part: Any) -> Any:
    if isinstance(part, tuple):  # declarations, in place of a statement
        return tree.Block(part, part[0].at)
    return str(part) if isinstance(part, Lexeme) else part


def _some(parts: list[Any]) -> tuple[Any, ...]:
    """The parts without those that the text leaves out."""
    return tuple(part for part in parts if part)


def _specifiers(parts: list[Any]) -> tuple[tree.TypeName, tree.Struct | tree.Enumeration | None]:
    layout = tuple(chain.from_iterable(part for part in parts if isinstance(part, tuple)))
    words = [part for part in parts if not isinstance(part, tuple)]
    (what,) = (word for word in words if getattr(word, "type", "") != "QUALIFIER")
    names = frozenset(str(word) for word in words if word is not what)
    if isinstance(what, tree.Enumeration):
        return tree.TypeName("int", names, what.at), what
    if isinstance(what, tree.Struct):
        return tree.TypeName(what.name, names, what.at, layout), what
    name = _ALIASES.get(what.lower(), str(what))
    return tree.TypeName(name, names, what.at, layout), None


def _structure(parts: list[Any]) -> tree.Struct:
    keyword, name, base, _brace, *parts = parts
    members = _flat(parts)
    fields = (f for m in members if isinstance(m, tree.Declare) for f in m.declarations)
    methods = (m for m in members if isinstance(m, tree.Function))
    inner = (m for m in members if isinstance(m, tree.Struct | tree.Enumeration))
    at = (name or keyword).at
    own = str(name or f"at {at.line}:{at.column}")
    return tree.Struct(
        own, tuple(fields), tuple(methods), str(base or ""), keyword == "interface",
        tuple(inner), at,
    )  # fmt: skip


def _declaration(parts: list[Any]) -> tuple[Any, ...]:
    (kind, struct), *declarators = parts
    declared = tuple(tree.Declaration(**{"type": kind, **d}) for d in _some(declarators))
    return (*getattr(struct, "inner", ()), *_some([struct, tree.Declare(declared, kind, kind.at)]))


def _typedef(parts: list[Any]) -> tuple[Any, ...]:
    keyword, (*structs, declare) = parts
    declarations = declare.declarations
    if structs and not structs[-1].name.isidentifier() and declarations:
        structs[-1] = replace(structs[-1], name=declarations[0].name)
        declarations = declarations[1:]
    return (*structs, *(tree.Typedef(d, keyword.at) for d in declarations))


# A declarator becomes the fields that it gives a Declaration.


def _nameless(parts: list[Any]) -> dict[str, Any]:
    stars, dimensions, stream = parts
    return {"name": "", "pointers": stars, "dimensions": dimensions, **(stream or {})}


def _named(parts: list[Any]) -> dict[str, Any]:
    stars, name, dimensions, stream, semantics, _equal, value = parts
    fields = _nameless([stars, dimensions, stream]) | semantics
    return {**fields, "name": str(name), "value": value, "at": name.at}


def _pointed(parts: list[Any]) -> dict[str, Any]:
    stars, name, what, _equal, value = parts
    inner = name.count("*")
    fields = {"name": name.strip("* \t"), "at": name.at, "value": value, "pointers": stars}
    if isinstance(what, dict):
        return {**fields, "pointers": stars + inner * ("stream" in what), **what}
    return {**fields, "dimensions": (None,) * inner + what}


def _function(parts: list[Any]) -> tree.Function:
    specifiers, stars, name, parameters, _const, semantics, *body = parts
    kind = specifiers[0] if specifiers else tree.TypeName("int", at=name.at)
    semantic, block = semantics.get("semantic", ""), body[0] if body else None
    return tree.Function(kind, stars or 0, str(name), parameters or (), block, semantic, name.at)


def _binary(parts: list[Any]) -> Any:
    """The tree of operands and the operators between them, split at those that bind least."""
    if len(parts) == 1:
        return parts[0]
    levels = [PRECEDENCE[operator.value] for operator in parts[1::2]]
    least = min(levels)
    places = [2 * n + 1 for n, level in enumerate(levels) if level == least]
    left = _binary(parts[: places[0]])
    for at, end in pairwise([*places, len(parts)]):
        left = tree.Binary(str(parts[at]), left, _binary(parts[at + 1 : end]), parts[at].at)
    return left


def _increment(operator: Lexeme, operand: Any) -> tree.Assign:
    one = tree.Number(1, at=operator.at)
    return tree.Assign(f"{operator[0]}=", operand, one, operator.at)


_MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "unit": _flat,
    "specifiers": _specifiers,
    "structure": _structure,
    "enumeration": lambda c: tree.Enumeration(str(c[1] or ""), _some(c[3:]), c[0].at),
    "layout": lambda c: tuple(c[1:]),
    "enumerator": lambda c: (str(c[0]), c[2]),
    "typedef": _typedef,
    "declaration": _declaration,
    "named": _named,
    "pointed": _pointed,
    "prototype": lambda c: {"prototype": c[0] or ()},
    "stars": lambda c: sum(star == "*" for star in c),
    "dimensions": tuple,
    "dimension": lambda c: c[0],
    "stream": lambda c: {"stream": _some(c[1:-1])},
    "semantics": lambda c: dict(chain.from_iterable(c)),
    "semantic": lambda c: [("register", str(c[1])) if c[1] else ("semantic", str(c[0]))],
    "skipped": lambda _: None,
    "array": lambda c: tree.Braces(c[2], c[0].at),
    "braces": lambda c: tree.Braces(_some(c[1:]), c[0].at),
    "function": _function,
    "parameters": lambda c: () if c == [tree.Declaration(tree.TypeName("void"), "")] else tuple(c),
    "parameter": lambda c: tree.Declaration(**{"type": c[0][0], "at": c[0][0].at, **c[1]}),
    "more": lambda c: tree.Declaration(tree.TypeName("void"), "", at=c[0].at),
    "nameless": _nameless,
    "block": lambda c: tree.Block(_flat(c[1:]), c[0].at),
    "evaluate": lambda c: tree.Evaluate(c[0], getattr(c[0], "at", tree.NOWHERE)),
    "for_": lambda c: tree.For(_flat(c[1:2])[0], c[2], c[3], _plain(c[4]), at=c[0].at),
    "while_": lambda c: tree.For(None, c[1], None, _plain(c[2]), at=c[0].at),
    "do_": lambda c: tree.For(None, c[3], None, _plain(c[1]), False, c[0].at),
    "comma": lambda c: tree.Comma(tuple(c), c[0].at),
    "assign": lambda c: tree.Assign(str(c[1]), c[0], c[2], c[1].at),
    "binary": _binary,
    "type_name": lambda c: tree.Declaration(c[0][0], "", c[1], c[2], at=c[0][0].at),
    "member": lambda c: tree.Member(c[0], str(c[2]), c[1] == "->", c[2].at),
    "call": lambda c: tree.Call(c[0], c[1] or (), c[0].at),
    "increment": lambda c: _increment(*c),
    "postfix": lambda c: tree.Postfix(_increment(*c[::-1]), c[1].at),
    "index_of": lambda c: tree.Call(tree.Name("indexof", c[0].at), (c[1],), c[0].at),
    "constructor": lambda c: _specifiers(c)[0],
    "arguments": tuple,
    "number": lambda c: tree.Number(*number_of(c[0]), at=c[0].at),
    "string": lambda c: tree.String(b"".join(map(text_of, c)), c[0].at),
} | {name.lower(): _node(getattr(tree, name)) for name in _AS_WRITTEN.split()}
"""Make the value of each rule of the grammar from its children."""


@cache
def _lark() -> Lark:
    return open_grammar(
        "gpgpu_legacy.languages.c", start="unit", transformer=SimpleNamespace(**_MAKERS)
    )


# Faults -------------------------------------------------------------------------------------------

_OTHERS = {"NAME": "a name", "TYPE": "a type", "$END": "the end of the text"}
_TYPES = {"TYPE", "QUALIFIER", "STRUCT", "ENUM", "LAYOUT"}
_STARTS = {"NAME", "NUMBER", "STRING", "CONSTRUCTOR", "SIZEOF", "_LPAREN", "INDEXOF"}
_STARTS |= {"TYPE", "SIGN", "STAR", "AMPERSAND", "NOT", "INCREMENT"}
_ENDS = {"_RPAREN", "_RBRACKET", "_RBRACE", "LBRACE", "_COMMA", "_SEMICOLON", "_COLON"}
_BEFORE_STATEMENT = {"_SEMICOLON", "LBRACE", "_RBRACE", "_RPAREN", "_ELSE", "_COLON"}
_GROUPS = (
    ("RETURN", "a statement", {*KINDS.values(), *_STARTS, *_TYPES} - {"_RBRACE"}),
    ("TYPEDEF", "a declaration", {*_TYPES, "_SEMICOLON"}),
    ("QUALIFIER", "a type", _TYPES),
    ("NUMBER", "an expression", _STARTS),
    ("OPERATOR", "an operator", {k for w, k in KINDS.items() if not w[0].isalpha()} - _ENDS),
)
"""Names for several kinds of token together, used where the first of them could stand."""


def _fault(tokens: Tokens, texts: tree.Texts, accepts: set[str]) -> AssemblyError:
    """The fault at the last token read. accepts: the kinds of token that could stand there."""
    own = tokens.words.kinds
    *_, before, token = [None, *tokens.read]
    assert token is not None
    read = ["_SEMICOLON"] * 3 + [one.type for one in tokens.read]
    needs_type = token.type == "NAME" and accepts & {"NAME", "TYPE"} == {"TYPE"}
    unknown = token if needs_type else None
    begins = read[-3] in _BEFORE_STATEMENT or read[-4:-2] == ["FOR", "_LPAREN"]
    if begins and read[-2] == "NAME" and token.type in {"NAME", "TYPE", "QUALIFIER"}:
        unknown = before
    if unknown and unknown not in tokens.types:
        known = [*sorted(tokens.types), *filter(str.isidentifier, own)]
        problem = f"{shortened(unknown)} is not a type"
        return texts.error(problem, unknown.at, meant(unknown, known).strip())
    expected = []
    for kind, words, kinds in _GROUPS:
        if kind in accepts:
            accepts = accepts - kinds - {kind}
            expected.append(words)
    spelled = {kind: repr(word) for word, kind in own.items()} | _OTHERS
    expected = [*sorted(spelled[kind] for kind in accepts & {*spelled}), *expected]
    *most, last = expected
    listed = f"{', '.join(most)} or {last}" if most else last
    problem = f"unexpected {str(shortened(token))!r}" if token else "the text ends too early"
    after = f" after {str(shortened(before))!r}" if before and token else ""
    return texts.error(problem + after, token.at, f"expected {listed}")
