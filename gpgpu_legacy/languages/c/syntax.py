"""The syntax tree of C-like text: Cg, HLSL, GLSL's kernels, Brook's kernels and host code.

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
"""The file, in spans, of what a language declares before a text."""

AT: Any = field(default=NOWHERE, compare=False)
"""A field of each node: where the text has it."""


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
    """A literal. suffix: f, h, x, u, l and the like, in lower case, and what `number_of` adds. A
    character is an int.
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
    """operator: = += -= *= /= %= &= |= ^= <<= >>=."""

    operator: str
    target: Expression
    value: Expression
    at: Span = AT


@frozen
class Comma:
    """Expressions in order; the last one's value counts. In `g[x, y]` it is the index."""

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
    of an array; None for `[]`. stream: of a Brook stream, `()` for `<>`, None if it is no stream.
    semantic: after the colon, in the text's own case. register: of `: register(s0)`, such as `s0`.
    prototype: the parameters of the function that it points to; type and pointers are then of the
    result.
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

    name: where it is, if the text gives it none. base: what stands after its colon. inner: the
    structs and enums that its fields define.
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
    """A function, or its prototype (body None). A kernel has `kernel` among its type's qualifiers,
    a reduction `reduce`. A last parameter of type void stands for `...`.
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
    """for; while is one without start and step. tests_first: it is no do … while."""

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
    """The texts of one compilation by their files: the main one's file is "".

    name: of the main one in messages. missing: files in <> that count as empty.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def file(self, at: Span) -> str:
        """The name of a place's file."""
        return str(PurePath(self.name).parent / at.file) if at.file else self.name

    def origin(self, at: Span) -> str:
        """A place's file, line and text, as the origin of an instruction; empty for no line."""
        if not at.line:
            return ""
        line = self._lines[at.file][at.line - 1].strip()
        return f"{at.file or PurePath(self.name).name}:{at.line}: {line}"

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {file: text.split("\n") for file, text in self.files.items()}

    def error(self, problem: str, at: Span, expected: str = "") -> AssemblyError:
        """The error that shows a fault in its line. expected: what was, or how to mend it."""
        missing = (f"<{name}> is not there, and counts as empty" for name in self.missing[:1])
        problem = "; ".join(part for part in (problem, expected, *missing) if part)
        return AssemblyError(problem, self.files[at.file], at.line, at.column, self.file(at))


@frozen
class Unit:
    """A whole text, preprocessed: its items in order."""

    name: str
    items: tuple[Item, ...]
    texts: Texts = field(default=Texts(""), compare=False)


def walk(tree: Any) -> Iterator[Any]:
    """A node, or each of a tuple, and all nodes below."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from walk(part)
    elif hasattr(tree, "at"):
        yield tree
        for name in tree.__slots__:
            yield from walk(getattr(tree, name))
