"""GLSL compute shaders to Kernels: declarations, statements, and whole texts."""

from __future__ import annotations

from math import prod
from typing import Any

from gpgpu_legacy.isa.ir import Span
from gpgpu_legacy.kernel.ir import (
    Assign,
    Barrier,
    Component,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    LValue,
    SharedArray,
    Statement,
    StorageBuffer,
    Type,
    Uniform,
    Variable,
)
from gpgpu_legacy.kernel.limits import (
    DEEPEST_BLOCKS,
    DEEPEST_LOOPS,
    MOST_ARGUMENTS,
    MOST_INVOCATIONS,
    MOST_SHARED,
    TOO_DEEP,
    elements,
    refuse_two_readings,
)
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.glsl.expressions import TYPES, ExpressionReader
from gpgpu_legacy.languages.glsl.words import GLSL

_LOCAL_SIZE = ("local_size_x", "local_size_y", "local_size_z")

# Statements ---------------------------------------------------------------------------------------


class StatementReader(ExpressionReader):
    """Reads statements, and counts how deeply they are nested."""

    blocks = loops = 0

    def statement(self, statement: c.Statement) -> tuple[Statement, ...]:
        """The statements of one of the syntax tree; a block has any number."""
        self.count(1, statement.at)
        is_loop = isinstance(statement, c.For)
        self.blocks, self.loops = self.blocks + 1, self.loops + is_loop
        if self.blocks > DEEPEST_BLOCKS or self.loops > DEEPEST_LOOPS:
            raise self.error(TOO_DEEP, statement.at)
        statements = self._statement(statement)
        self.blocks, self.loops = self.blocks - 1, self.loops - is_loop
        return statements

    def _statement(self, statement: c.Statement) -> tuple[Statement, ...]:  # noqa: PLR0911
        match statement:
            case c.Block():
                with self.scope():
                    return tuple(s for part in statement.statements for s in self.statement(part))
            case c.Declare(declarations=(_, *_)):
                return tuple(self.declaration(d) for d in statement.declarations)
            case c.Evaluate(expression=c.Call(c.Name("barrier"), ())):
                return (Barrier(),)
            # It orders memory; here barrier() does that as well.
            case c.Evaluate(expression=c.Call(c.Name("memoryBarrierShared"), ())):
                return ()
            case c.Evaluate(expression=expression):
                return self.assignments(expression)
            case c.If(condition, yes, no):
                test = self.test(condition)
                return (If(test, self.statement(yes), self.statement(no) if no else ()),)
            case c.For(c.Declare() | c.Evaluate() as start, condition, step, body) if (
                condition and step
            ):
                with self.scope():
                    first, test = self.statement(start), self.test(condition)
                    return (For(first, test, self.assignments(step), self.statement(body)),)
        expected = "use if and for (start; condition; step)"
        raise self.error("kernels have no such statement", statement.at, expected)

    def test(self, condition: c.Expression) -> Expression:
        """A whole condition, within the limits."""
        return self.limited(self.condition(condition), condition.at)

    def declaration(self, d: c.Declaration) -> Declare:
        self.count(1, d.at)
        kind = self.type_of(d, value=d.value)
        initial = self.convert(self.whole(d.value), kind, d.value.at) if d.value else None
        return Declare(self.variable(d.name, kind, d.at), initial)

    def type_of(self, d: c.Declaration, *qualifiers: str, **parts: Any) -> Type:
        """The type of a declaration that has these qualifiers and parts, and no others."""
        type_ = c.TypeName(d.type.name, frozenset(qualifiers))
        if d.type.name not in TYPES or d != c.Declaration(type_, d.name, **parts):
            expected = f"expected {', '.join(kind.value for kind in Type)}; only shared has arrays"
            raise self.error(f"kernels have no {d.name} like this", d.at, expected)
        return TYPES[d.type.name]

    def assignments(self, x: c.Expression | None) -> tuple[Statement, ...]:
        """The assignments of a statement or of a loop's step."""
        match x:
            case None:
                return ()
            case c.Comma(items=items):
                return tuple(s for item in items for s in self.assignments(item))
            case c.Postfix():
                return self.assignments(x.assignment)
            case c.Assign():
                operator = x.operator[:-1]
                target, value = self.lvalue(x.target, is_read=bool(operator)), self.whole(x.value)
                if operator:
                    value = self.binary(operator, target, value, x.at)
                return (Assign(target, self.convert(value, target.type, x.at)),)
        raise self.error("this changes nothing", x.at, "expected an assignment, or barrier()")

    def lvalue(self, x: c.Expression, *, is_read: bool) -> LValue:
        """The target of an assignment. is_read: it also reads the old value, as += does."""
        if isinstance(x, c.Index):
            element = self.element(x, is_read=is_read, is_written=True)
            self.limited(element, x.at)
            return element
        target = self.whole(x)
        if isinstance(target, Variable):
            return target
        if isinstance(target, Component) and isinstance(target.vector, Variable):
            return target
        expected = "expected a variable, a component of one, or an element"
        raise self.error("this cannot be assigned to", x.at, expected)


# GLSL compute shaders to Kernels ------------------------------------------------------------------


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """Parse a compute shader that is in the subset.

    text: the whole shader. name: of the shader in messages, usually a file's path. Raises
    AssemblyError, with line and column, at the first construct outside the subset, and where a
    driver could read other statements than these: at directives other than #version, and at
    characters that end or continue lines only for some readers. Kernels have limits; see
    kernel/limits.py.
    """
    refuse_two_readings(text, name)
    unit = parse(text, name, words=GLSL)
    return _KernelReader(unit.texts).kernel(unit.items, text, name)


class _KernelReader(StatementReader):
    def __init__(self, texts: c.Texts) -> None:
        super().__init__(texts)
        self.uniforms: list[Uniform] = []
        self.buffers: list[StorageBuffer] = []
        self.shared: list[SharedArray] = []

    def kernel(self, items: tuple[c.Item, ...], text: str, name: str) -> Kernel:
        body: tuple[Statement, ...] | None = None
        blocks: dict[str, c.Struct] = {}
        for item in items:
            match item:
                case c.Struct():
                    blocks[item.name] = item
                case c.Declare(declarations=(), type=c.TypeName(name="in") as type_):
                    self.set_local_size(type_)
                case c.Declare(declarations=(), type=type_) if type_.name in blocks:
                    self.storage_buffer(blocks[type_.name], type_)
                case c.Declare(declarations=(_, *_)):
                    for declaration in item.declarations:
                        self.declaration_of_all(declaration)
                case c.Function(name="main", parameters=(), body=c.Block() as block) if (
                    body is None and item.type == c.TypeName("void")
                ):
                    body = self.statement(block)
                case _:
                    expected = "expected consts, uniforms, buffers, shared arrays and void main()"
                    raise self.error("this is no part of a kernel", item.at, expected)
        if body is None:
            problem = "the kernel has no function main"
            raise self.error(problem, Span(1, 1), "add `void main() { … }`")
        arrays = tuple(self.uniforms), tuple(self.buffers), tuple(self.shared)
        return Kernel(self.local_size, *arrays, body, text, name)

    def declaration_of_all(self, d: c.Declaration) -> None:
        """A declaration outside main."""
        match [*d.type.qualifiers]:
            case ["uniform"]:
                uniform = Uniform(self.type_of(d, "uniform"), d.name)
                self.uniforms.append(uniform)
                self.declare(d.name, uniform, d.at)
                self.count_arguments(d.at)
            case ["const"] if d.value:
                kind, at = self.type_of(d, "const", value=d.value), d.value.at
                constant = self.folded(self.convert(self.whole(d.value), kind, at), at)
                self.declare(d.name, constant, d.at)
            case ["shared"]:
                self.shared_array(d)
            case _:
                expected = "expected a uniform, a shared array, or a const with its value"
                raise self.error(f"{d.name} is declared outside of main", d.at, expected)

    def count_arguments(self, at: Span) -> None:
        if len(self.uniforms) + len(self.buffers) > MOST_ARGUMENTS:
            raise self.error(f"a kernel has at most {MOST_ARGUMENTS} uniforms and buffers", at)

    def layout(self, type_: c.TypeName, *known: str) -> dict[str, int]:
        """The numbers of a layout, by these names."""
        for name, _ in type_.layout:
            if name not in known:
                expected = f"expected {', '.join(known)}"
                raise self.error(f"this layout has no {name}", type_.at, expected)
        return {name: self.extent(value) for name, value in type_.layout if value}

    def set_local_size(self, type_: c.TypeName) -> None:
        layout = self.layout(type_, *_LOCAL_SIZE)
        x, y, z = (layout.get(name, 1) for name in _LOCAL_SIZE)
        if z != 1:
            expected = "set local_size_z to 1, or leave it out"
            raise self.error("work groups have two dimensions here", type_.at, expected)
        self.local_size = (x, y)
        if not 1 <= x * y <= MOST_INVOCATIONS:
            expected = f"it has from 1 to {MOST_INVOCATIONS}"
            raise self.error(f"a work group of {x}×{y} invocations", type_.at, expected)

    def storage_buffer(self, block: c.Struct, type_: c.TypeName) -> None:
        layout = self.layout(type_, "std430", "binding")
        field = block.fields[0] if block.fields else c.Declaration(type_, "")
        array = c.Declaration(c.TypeName("float"), field.name, dimensions=(None,))
        if block != c.Struct(block.name, (array,)) or "binding" not in layout:
            problem = "a storage buffer must hold float and have a binding"
            expected = "as in layout(binding = 0) buffer b { float x[]; };"
            raise self.error(problem, block.at, expected)
        if not 0 <= layout["binding"] < MOST_ARGUMENTS:
            raise self.error(f"a buffer's binding is less than {MOST_ARGUMENTS}", block.at)
        readable, writable = (
            access not in type_.qualifiers for access in ("writeonly", "readonly")
        )
        buffer = StorageBuffer(field.name, layout["binding"], readable, writable)
        self.buffers.append(buffer)
        self.declare(field.name, buffer, field.at)
        self.count_arguments(field.at)

    def shared_array(self, d: c.Declaration) -> None:
        kind = self.type_of(d, "shared", dimensions=d.dimensions)
        extents = tuple(self.extent(e) for e in d.dimensions if e)
        array = SharedArray(d.name, kind, extents)
        self.shared.append(array)
        if (
            len(extents) < max(len(d.dimensions), 1)
            or min(extents) < 1
            or elements(self.shared) > MOST_SHARED
        ):
            raise self.error(
                f"shared array {d.name} has {prod(extents)} elements; each extent is at least "
                f"1, and all shared arrays together have at most {MOST_SHARED} elements",
                d.at,
            )
        self.declare(d.name, array, d.at)

    def extent(self, x: c.Expression) -> int:
        """An extent of an array, or another constant that is a whole number."""
        extent = self.folded(self.whole(x), x.at)
        if not extent.type.is_integer:
            raise self.error("an extent is a whole number", x.at)
        return int(extent.value)
