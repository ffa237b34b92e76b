"""GLSL compute shaders to Kernels: declarations, statements, and whole texts."""

from __future__ import annotations

import re
from math import prod
from typing import Any, TypeVar

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.expressions import Array, Element, Read, Role, Variable
from gpgpu_legacy.isa.kernel import Kernel, StorageBuffer
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.isa.statements import Assign, Barrier, Declare, If, Loop, Statement, Store
from gpgpu_legacy.isa.types import Type
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.diagnostics import FaultError, Text
from gpgpu_legacy.languages.glsl.expressions import (
    TOO_DEEP,
    TYPES,
    ExpressionReader,
)
from gpgpu_legacy.languages.glsl.words import GLSL

MOST_TEXT = 2**16
"""Characters of a kernel; the longest here has 3 000."""

DEEPEST_BLOCKS = 40
"""How deeply ifs, fors and blocks are nested. Python reads 100 nested blocks."""

DEEPEST_LOOPS = 12
"""How deeply fors are nested. Python compiles 20 nested ones, three of which are ours."""

MOST_ARGUMENTS = 256
"""Uniforms and buffers of a kernel, and the bindings that a buffer may have: more than drivers
have.
"""

MOST_INVOCATIONS = 4096
"""Invocations of a work group: twice what GPUs allow."""

MOST_SHARED = 2**16
"""Elements of all shared arrays of a kernel; GPUs have less than 64 Ki floats of shared memory."""

S = TypeVar("S")
# Comments; and, as a group, what drivers may read differently, even in comments.
_READ_DIFFERENTLY = re.compile(
    r"//[^\n\r\\\0]*|/\*(?:[^*\r\\\0]|\*(?!/)|\r\n)*+|([\\\0]|\r(?!\n)|#(?!version ))"
)
_NAMES = [name for name in TYPES if name != "float4"]
_LOCAL_SIZE = ("local_size_x", "local_size_y", "local_size_z")


class _KernelReader(ExpressionReader):
    """Reads a kernel: its declarations, and its statements, whose depth it counts."""

    blocks = loops = 0

    # Statements -----------------------------------------------------------------------------------

    def statement(self, statement: c.Statement) -> tuple[Statement, ...]:
        """The statements that a statement of the syntax tree becomes: a block, any number."""
        self.count(1, statement.at)
        outer = self.names, self.blocks, self.loops
        self.blocks, self.loops = self.blocks + 1, self.loops + isinstance(statement, c.For)
        if self.blocks > DEEPEST_BLOCKS or self.loops > DEEPEST_LOOPS:
            raise self.error(TOO_DEEP, statement.at)
        if isinstance(statement, c.Block | c.For):
            self.names = self.names.new_child()
        statements = self._statement(statement)
        self.names, self.blocks, self.loops = outer
        return statements

    def _statement(self, statement: c.Statement) -> tuple[Statement, ...]:  # noqa: PLR0911
        match statement:
            case c.Block(parts):
                return tuple(s for part in parts for s in self.statement(part))
            case c.Declare((_, *_) as declarations):
                return tuple(self.declaration(d) for d in declarations)
            case c.Evaluate(c.Call(c.Name("barrier"), ())):
                return (Barrier(),)
            # It orders memory accesses; here barrier() does so, too.
            case c.Evaluate(c.Call(c.Name("memoryBarrierShared"), ())):
                return ()
            case c.Evaluate(expression):
                return self.assignments(expression)
            case c.If(condition, yes, no):
                test = self.limited(self.condition(condition), condition.at)
                return (If(test, self.statement(yes), self.statement(no) if no else ()),)
            case c.For(start, condition, step, body) if start and condition and step:
                first = self.statement(start)
                test = self.limited(self.condition(condition), condition.at)
                return (Loop(first, test, self.assignments(step), self.statement(body)),)
        raise self.error(
            "kernels have no such statement; use if and for (start; condition; step)", statement.at
        )

    def declaration(self, d: c.Declaration) -> Declare:
        self.count(1, d.at)
        kind = self.type_of(d, value=d.value)
        initial = self.convert(self.whole(d.value), kind, d.value.at) if d.value else None
        return Declare(self.variable(d.name, kind, d.at), initial)

    def type_of(self, d: c.Declaration, *qualifiers: str, **parts: Any) -> Type:
        """The type of a declaration that has these qualifiers and parts, and no others."""
        type_ = c.TypeName(d.type.name, frozenset(qualifiers))
        if d.type.name not in TYPES or d != c.Declaration(type_, d.name, **parts):
            expected = f"expected {', '.join(_NAMES)}; only shared has arrays"
            raise self.error(f"kernels have no {d.name} like this", d.at, expected)
        return TYPES[d.type.name]

    def assignments(self, x: c.Expression | None) -> tuple[Statement, ...]:
        """The assignments of a statement or of a loop's step."""
        match x:
            case None:
                return ()
            case c.Comma(items):
                return tuple(s for item in items for s in self.assignments(item))
            case c.Postfix(assignment):
                return self.assignments(assignment)
            case c.Assign(operator, left, right):
                target, value = self.lvalue(left, is_read=operator != "="), self.whole(right)
                if operator != "=":
                    value = self.binary(operator[:-1], target, value, x.at)
                value = self.convert(value, target.type, x.at)
                if isinstance(target, Element):
                    return (Store(target, value),)
                return (Assign(target.variable, target.components, value),)
        raise self.error("this changes nothing; expected an assignment, or barrier()", x.at)

    def lvalue(self, x: c.Expression, *, is_read: bool) -> Element | Read:
        """The target of an assignment. is_read: it also reads the old value, as += does."""
        if isinstance(x, c.Index):
            return self.limited(self.element(x, is_read=is_read, is_written=True), x.at)
        match self.whole(x):
            case Read(variable=Variable(role=Role.LOCAL)) as own:
                return own
        problem = (
            "this cannot be assigned to; expected a variable, a component of one, or an element"
        )
        raise self.error(problem, x.at)

    # Declarations ---------------------------------------------------------------------------------

    def kernel(self, items: tuple[c.Item, ...], text: str, name: str) -> Kernel:
        body: tuple[Statement, ...] | None = None
        blocks: dict[str, c.Struct] = {}
        for item in items:
            match item:
                case c.Struct():
                    blocks[item.name] = item
                case c.Declare((), c.TypeName("in") as type_):
                    self.set_local_size(type_)
                case c.Declare((), type_) if type_.name in blocks:
                    self.storage_buffer(blocks[type_.name], type_)
                case c.Declare((_, *_) as declarations):
                    for declaration in declarations:
                        self.declaration_of_all(declaration)
                case c.Function(c.TypeName("void"), 0, "main", (), c.Block() as block, "") if (
                    body is None
                ):
                    body = self.statement(block)
                case _:
                    raise self.error(
                        "this is no part of a kernel; expected consts, uniforms, buffers, shared "
                        "arrays and void main()",
                        item.at,
                    )
            if len(self.all(Variable)) + len(self.all(StorageBuffer)) > MOST_ARGUMENTS:
                raise self.error(
                    f"a kernel has at most {MOST_ARGUMENTS} uniforms and buffers", item.at
                )
        if body is None:
            raise self.error("the kernel has no function main; add void main() { … }", Span(1, 1))
        return Kernel(
            self.local_size, self.all(Variable), self.all(StorageBuffer), self.all(Array),
            body, text, name,
        )  # fmt: skip

    def all(self, kind: type[S]) -> tuple[S, ...]:
        """The symbols of a kind that are declared outside of main."""
        return tuple(symbol for symbol in self.names.values() if isinstance(symbol, kind))

    def declaration_of_all(self, d: c.Declaration) -> None:
        """Read a declaration outside of main."""
        match [*d.type.qualifiers]:
            case ["uniform"]:
                uniform = Variable(d.name, self.type_of(d, "uniform"), Role.UNIFORM)
                self.declare(d.name, uniform, d.at)
            case ["const"] if d.value:
                kind, at = self.type_of(d, "const", value=d.value), d.value.at
                constant = self.folded(self.convert(self.whole(d.value), kind, at), at)
                self.declare(d.name, constant, d.at)
            case ["shared"]:
                self.shared_array(d)
            case _:
                problem = (
                    f"{d.name} is outside of main; make it uniform, shared, or const with a value"
                )
                raise self.error(problem, d.at)

    def layout(self, type_: c.TypeName, *known: str) -> dict[str, int]:
        """The numbers of a layout, by these names."""
        for name, _ in type_.layout:
            if name not in known:
                raise self.error(
                    f"this layout has no {name}; expected {', '.join(known)}", type_.at
                )
        return {name: self.extent(value) for name, value in type_.layout if value}

    def set_local_size(self, type_: c.TypeName) -> None:
        layout = self.layout(type_, *_LOCAL_SIZE)
        x, y, z = (layout.get(name, 1) for name in _LOCAL_SIZE)
        self.local_size = (x, y)
        if z != 1 or not 1 <= x * y <= MOST_INVOCATIONS:
            raise self.error(
                f"a work group of {x}×{y}×{z} invocations; it has from 1 to {MOST_INVOCATIONS}, "
                "in two dimensions",
                type_.at,
            )

    def storage_buffer(self, block: c.Struct, type_: c.TypeName) -> None:
        binding = self.layout(type_, "std430", "binding").get("binding", -1)
        field = block.fields[0] if block.fields else c.Declaration(type_, "")
        array = c.Declaration(c.TypeName("float"), field.name, dimensions=(None,))
        is_plain = block == c.Struct(block.name, (array,)) and block.name.isidentifier()
        if not is_plain or not 0 <= binding < MOST_ARGUMENTS:
            raise self.error(
                f"a storage buffer must hold float and have a binding less than {MOST_ARGUMENTS}, "
                "as in layout(binding = 0) buffer b { float x[]; };",
                block.at,
            )
        access = type_.qualifiers
        buffer = StorageBuffer(
            field.name, binding, "writeonly" not in access, "readonly" not in access
        )
        self.declare(field.name, buffer, field.at)

    def shared_array(self, d: c.Declaration) -> None:
        kind = self.type_of(d, "shared", dimensions=d.dimensions)
        extents = tuple(self.extent(extent) if extent else 0 for extent in d.dimensions)
        self.declare(d.name, Array(d.name, kind, extents), d.at)
        if (
            min(extents, default=0) < 1
            or sum(prod(array.extents) for array in self.all(Array)) > MOST_SHARED
        ):
            raise self.error(
                f"shared array {d.name} has {prod(extents)} elements; each extent is at least "
                f"1, and all shared arrays together have at most {MOST_SHARED} elements",
                d.at,
            )

    def extent(self, x: c.Expression) -> int:
        """An extent of an array, or another constant that is a whole number."""
        extent = self.folded(self.whole(x), x.at)
        if not extent.type.is_integer:
            raise self.error("expected a whole number", x.at)
        return int(extent.values[0])


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """Parse a compute shader that is in the subset.

    text: the whole shader. name: its name in messages, usually a file's path. Raises InputError for
    a text that is too long, and AssemblyError, with line and column, at the first construct outside
    the subset or beyond a limit. A driver is given the text itself, so directives other than
    #version are faults, and so are characters that end or continue lines only for some readers.
    """
    if len(text) > MOST_TEXT:
        raise InputError(f"{name} has {len(text)} characters; a kernel has at most {MOST_TEXT}")
    for match in _READ_DIFFERENTLY.finditer(text):
        if odd := match[1]:
            fault = FaultError(
                f"{odd!r} has no place in a kernel",
                "leave it out: the only directive is #version, and lines end with a line feed",
                "",
                match.start(),
            )
            raise Text(text, name).error([fault])
    unit = parse(text, name, words=GLSL)
    return _KernelReader(unit.texts).kernel(unit.items, text, name)
