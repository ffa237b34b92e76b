"""The syntax tree of C-like text: Cg, HLSL, GLSL, Brook's kernels and host code.

Nodes are frozen and know their place. Names are not resolved, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.program import Span

NOWHERE = Span(0, 0)

BEFORE = "predefined names"
"""The file name, in spans, of a language's declarations before a text."""

AT: Any = field(default=NOWHERE, compare=False)
"""A field of each node: its place in the text."""


@frozen
class TypeName:
    """A type as it is written.

    name: `float4`, `half3x3`, `sampler2D`, `void`, a struct's name; C's own are one word, such as
    `uint`, `ushort`, `schar`, `longlong`. qualifiers: `const`, `uniform`, `in`, `out`, `inout`,
    `static`, `kernel`, `reduce`, `iter`, `extern` and the like. layout: GLSL's qualifiers with
    their values.
    """

    name: str
    qualifiers: frozenset[str] = frozenset()
    at: Span = AT
    layout: tuple[tuple[str, Expression | None], ...] = ()


# Expressions --------------------------------------------------------------------------------------


@frozen
class Number:
    """A number or a character; a character is an int.

    suffix: f, h, x, u, l and the like, in lower case, and the U that `number_of` adds.
    """

    value: int | float
    suffix: str = ""
    at: Span = AT


@frozen
class String:
    """A string literal, with its escapes resolved; adjacent ones are joined."""

    value: bytes
    at: Span = AT


@frozen
class Name:
    """A variable's or a function's name."""

    name: str
    at: Span = AT


@frozen
class Unary:
    """A prefix operator: - + ! ~ * &. ++ and -- are assignments."""

    operator: str
    operand: Expression
    at: Span = AT


@frozen
class Postfix:
    """++ or -- after its operand: an assignment whose value is the one before it."""

    assignment: Assign
    at: Span = AT


@frozen
class Binary:
    """An operator between two operands, && and || included."""

    operator: str
    left: Expression
    right: Expression
    at: Span = AT


@frozen
class Conditional:
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression
    at: Span = AT


@frozen
class Assign:
    """An assignment. operator: = += -= *= /= %= &= |= ^= <<= >>=."""

    operator: str
    target: Expression
    value: Expression
    at: Span = AT


@frozen
class Comma:
    """Expressions in order, of which the last gives the value; also the index of `g[x, y]`."""

    items: tuple[Expression, ...]
    at: Span = AT


@frozen
class Index:
    """`base[index]`."""

    base: Expression
    index: Expression
    at: Span = AT


@frozen
class Member:
    """`base.name`, a swizzle included, or `base->name`."""

    base: Expression
    name: str
    arrow: bool = False
    at: Span = AT


@frozen
class Call:
    """`function(arguments)`; a method's function is a Member. `float4(…)` calls a TypeName."""

    function: Expression | TypeName
    arguments: tuple[Expression, ...]
    at: Span = AT


@frozen
class Cast:
    """`(type) operand`; the type is a declaration without a name."""

    type: Declaration
    operand: Expression
    at: Span = AT


@frozen
class SizeOf:
    """sizeof of an expression or of a type."""

    operand: Expression | Declaration
    at: Span = AT


@frozen
class Braces:
    """An initialiser, `{1, 2, {3, 4}}`."""

    items: tuple[Expression, ...]
    at: Span = AT


Expression = (
    Number | String | Name | Unary | Postfix | Binary | Conditional | Assign | Comma | Index
    | Member | Call | Cast | SizeOf | Braces
)  # fmt: skip


# Declarations -------------------------------------------------------------------------------------


@frozen
class Declaration:
    """One declared name: a variable, a parameter, or a field of a struct.

    name: empty for a parameter without one, and in a cast. pointers: the number of *. dimensions:
    an array's; None for `[]`. stream: a Brook stream's extents; `()` for `<>`, None if it is no
    stream. semantic: the word after the colon, in the text's own case. register: `s0` for
    `: register(s0)`. prototype: the parameters of the function that the name points to; type and
    pointers are then its result's.
    """

    type: TypeName
    name: str
    pointers: int = 0
    dimensions: tuple[Expression | None, ...] = ()
    stream: tuple[Expression, ...] | None = None
    semantic: str = ""
    register: str = ""
    prototype: tuple[Declaration, ...] | None = None
    value: Expression | None = None
    at: Span = AT


@frozen
class Struct:
    """A struct's definition, or an interface's, whose methods have no bodies.

    name: its place, if the text gives it none. base: the name after its colon. inner: the structs
    and enums that its fields define.
    """

    name: str
    fields: tuple[Declaration, ...]
    methods: tuple[Function, ...] = ()
    base: str = ""
    is_interface: bool = False
    inner: tuple[Struct | Enumeration, ...] = ()
    at: Span = AT


@frozen
class Typedef:
    """A typedef: its declaration names the new type."""

    declaration: Declaration
    at: Span = AT


@frozen
class Enumeration:
    """An enum: its names, with values where the text gives them."""

    name: str
    items: tuple[tuple[str, Expression | None], ...]
    at: Span = AT


@frozen
class Function:
    """A function, or its prototype (body None).

    A kernel has `kernel` among its type's qualifiers, a reduction `reduce`. A last parameter of
    type void stands for `...`.
    """

    type: TypeName
    pointers: int
    name: str
    parameters: tuple[Declaration, ...]
    body: Block | None
    semantic: str = ""
    at: Span = AT


# Statements ---------------------------------------------------------------------------------------


@frozen
class Block:
    """`{ … }`."""

    statements: tuple[Statement, ...]
    at: Span = AT


@frozen
class Declare:
    """The names that one statement declares, maybe none, with the type before them."""

    declarations: tuple[Declaration, ...]
    type: TypeName
    at: Span = AT


@frozen
class Evaluate:
    """An expression for its effect; None for a lone semicolon."""

    expression: Expression | None
    at: Span = AT


@frozen
class If:
    """if, with or without else."""

    condition: Expression
    yes: Statement
    no: Statement | None = None
    at: Span = AT


@frozen
class For:
    """A loop; while and do have no start and step. tests_first: False for do … while."""

    start: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement
    tests_first: bool = True
    at: Span = AT


@frozen
class Switch:
    """switch; its body holds the labels."""

    value: Expression
    body: Statement
    at: Span = AT


@frozen
class Label:
    """`case value:`; None for `default:`."""

    value: Expression | None = None
    at: Span = AT


@frozen
class Jump:
    """break, continue, or discard (which may have a condition in old Cg: `discard x < 0`)."""

    kind: str
    condition: Expression | None = None
    at: Span = AT


@frozen
class Goto:
    """goto."""

    label: str
    at: Span = AT


@frozen
class Target:
    """`label:`, where a goto leads."""

    label: str
    at: Span = AT


@frozen
class Return:
    """return, with a value or without."""

    value: Expression | None = None
    at: Span = AT


Statement = (
    Block | Declare | Evaluate | If | For | Switch | Label | Jump | Return | Goto | Target | Struct
    | Typedef | Enumeration
)  # fmt: skip

Item = Function | Struct | Typedef | Enumeration | Declare


@dataclass(frozen=True)
class Texts:
    """The texts of one compilation by file; the main text's file is "".

    name: the main text's name in messages. missing: files in <> that count as empty.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def file(self, at: Span) -> str:
        """The name of a place's file."""
        return str(PurePath(self.name).parent / at.file) if at.file else self.name

    def origin(self, at: Span) -> str:
        """A place's file, line and text, as the origin of an instruction; empty without a line."""
        if not at.line:
            return ""
        line = self._lines[at.file][at.line - 1].strip()
        return f"{at.file or PurePath(self.name).name}:{at.line}: {line}"

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {file: text.split("\n") for file, text in self.files.items()}

    def error(self, problem: str, at: Span, expected: str = "") -> AssemblyError:
        """The error that shows a fault in its line. expected: what was expected, or advice."""
        missing = (f"<{name}> is not there, and counts as empty" for name in self.missing[:1])
        problem = "; ".join(part for part in (problem, expected, *missing) if part)
        return AssemblyError(problem, self.files[at.file], at.line, at.column, self.file(at))


@frozen
class Unit:
    """A whole text, preprocessed: its items in order."""

    name: str
    items: tuple[Item, ...]
    texts: Texts = field(default=Texts(""), compare=False)

    @property
    def functions(self) -> list[Function]:
        """Its functions that have bodies."""
        return [item for item in self.items if isinstance(item, Function) and item.body]


def walk(tree: Any) -> Iterator[Any]:
    """A node, or each node of a tuple, and all nodes below them."""
    if hasattr(tree, "at"):
        yield tree
    for part in parts_of(tree):
        yield from walk(part)


def parts_of(tree: Any) -> tuple[Any, ...]:
    """What a tuple or a node consists of: nodes, tuples, and values without parts."""
    if isinstance(tree, tuple):
        return tree
    return tuple(getattr(tree, name) for name in tree.__slots__) if hasattr(tree, "at") else ()
