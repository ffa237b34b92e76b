"""GLSL compute shaders to Kernels: the grammar, and the declarations of a whole shader.

Each part of the language is a class that builds on the next: declarations and statements here;
expressions, types and names in expressions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.grammars import open_grammar
from gpgpu_legacy.kernel.expressions import ExpressionReader, Node, tokens, trees
from gpgpu_legacy.kernel.ir import (
    Assign,
    Barrier,
    Component,
    Declare,
    For,
    If,
    Kernel,
    Literal,
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
    check_text,
    elements,
)

# Statements ---------------------------------------------------------------------------------------


class StatementReader(ExpressionReader):
    """Reads statements, and counts how deeply they are nested."""

    def __init__(self, text: str, name: str) -> None:
        """Outside of all blocks."""
        super().__init__(text, name)
        self.blocks = self.loops = 0

    def statement(self, node: Node) -> tuple[Statement, ...]:
        """The statements of a node of the syntax tree; a block has any number."""
        readers: dict[str, Callable[[Node], tuple[Statement, ...]]] = {
            "block": self.block,
            "declaration": self.declaration,
            "assignments": lambda n: tuple(self.assignment(child) for child in trees(n)),
            "if_statement": lambda n: (self.if_statement(n),),
            "for_statement": lambda n: (self.for_statement(n),),
            # memoryBarrierShared orders memory; here barrier() does that as well.
            "barrier": lambda n: (Barrier(),) if tokens(n)[0] == "barrier" else (),
        }
        reader = readers.get(node.data)
        self.count(1, node)
        if reader is None:
            return (self.assignment(node),)
        is_loop = node.data == "for_statement"
        self.blocks, self.loops = self.blocks + 1, self.loops + is_loop
        if self.blocks > DEEPEST_BLOCKS or self.loops > DEEPEST_LOOPS:
            raise self.error(TOO_DEEP, node)
        statements = reader(node)
        self.blocks, self.loops = self.blocks - 1, self.loops - is_loop
        return statements

    def block(self, node: Node) -> tuple[Statement, ...]:
        with self.scope():
            return tuple(s for child in trees(node) for s in self.statement(child))

    def declaration(self, node: Node) -> tuple[Statement, ...]:
        kind = Type(str(tokens(node)[0]))
        declared: list[Statement] = []
        for declarator in trees(node):
            token, value = declarator.children
            assert isinstance(token, Token)
            self.count(1, token)
            initial = None
            if isinstance(value, Tree):
                initial = self.convert(self.whole(value), kind, value)
            declared.append(Declare(self.variable(token, kind), initial))
        return tuple(declared)

    def assignment(self, node: Node) -> Assign:
        if node.data == "assign":
            left, operator, right = node.children
            assert isinstance(left, Tree) and isinstance(right, Tree)
            is_read = str(operator) != "="
            target, value = self.lvalue(left, is_read=is_read), self.whole(right)
            if is_read:
                value = self.binary(str(operator)[0], target, value, node)
        else:
            target = self.lvalue(trees(node)[0], is_read=True)
            value = self.binary(str(tokens(node)[0])[0], target, Literal(Type.INT, 1), node)
        return Assign(target, self.convert(value, target.type, node))

    def lvalue(self, node: Node, *, is_read: bool) -> LValue:
        """The target of an assignment. is_read: it also reads the old value, as += does."""
        if node.data == "indexed":
            element = self.element(node, is_read=is_read, is_written=True)
            self.limited(element, node)
            return element
        target = self.whole(node)
        if isinstance(target, Component) and not isinstance(target.vector, Variable):
            raise self.error(
                "only components of variables can be assigned to; assign to a variable first", node
            )
        if not isinstance(target, Variable | Component):
            raise self.error("expected a variable, an element or a component to assign to", node)
        return target

    def if_statement(self, node: Node) -> If:
        condition, then, *rest = trees(node)
        otherwise = self.statement(rest[0]) if rest else ()
        return If(self.whole_condition(condition), self.statement(then), otherwise)

    def for_statement(self, node: Node) -> For:
        start, condition, step, body = trees(node)
        with self.scope():
            return For(
                self.statement(start),
                self.whole_condition(condition),
                self.statement(step),
                self.statement(body),
            )


# GLSL compute shaders to Kernels ------------------------------------------------------------------


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """Parse a compute shader that is in the subset (kernel/grammar.lark).

    text: the whole shader. name: of the shader in messages, usually a file's path. Raises
    AssemblyError, with line and column, at the first construct outside the subset, and where a
    driver could read other statements than these: at directives other than #version, and at
    characters that end or continue lines only for some readers. Kernels have limits; see
    kernel/limits.py.
    """
    check_text(text, name)
    try:
        return _KernelReader(text, name).kernel(_parser().parse(text))
    except UnexpectedInput as error:
        column = max(error.column, 1)
        unexpected = str(getattr(error, "token", "") or getattr(error, "char", ""))
        problem = (
            f"unexpected {repr(unexpected) if unexpected else 'end of the text'}; kernels use the "
            "subset of GLSL in kernel/grammar.lark"
        )
        raise AssemblyError(problem, text, max(error.line, 1), column, name) from None


@cache
def _parser() -> Lark:
    return open_grammar("gpgpu_legacy.kernel", start="kernel", propagate_positions=True)


class _KernelReader(StatementReader):
    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.uniforms: list[Uniform] = []
        self.buffers: list[StorageBuffer] = []
        self.shared: list[SharedArray] = []

    def kernel(self, tree: Node) -> Kernel:
        body: tuple[Statement, ...] | None = None
        for node in trees(tree):
            match node.data:
                case "local_size":
                    self.set_local_size(node)
                case "storage_buffer":
                    self.storage_buffer(node)
                case "uniform":
                    kind, token = tokens(node)
                    uniform = Uniform(Type(str(kind)), str(token))
                    self.uniforms.append(uniform)
                    self.declare(token, uniform)
                    self.count_arguments(token)
                case "constant":
                    kind, token = tokens(node)
                    value = self.convert(self.whole(trees(node)[0]), Type(str(kind)), node)
                    self.declare(token, self.folded(value, node))
                case "shared":
                    self.shared_array(node)
                case "main":
                    body = self.statement(trees(node)[0])
        if body is None:
            raise self.error("the kernel has no function main; add `void main() { … }`", tree)
        return Kernel(
            self.local_size,
            tuple(self.uniforms),
            tuple(self.buffers),
            tuple(self.shared),
            body,
            self.text,
            self.name,
        )

    def count_arguments(self, at: Token | Node) -> None:
        if len(self.uniforms) + len(self.buffers) > MOST_ARGUMENTS:
            raise self.error(f"a kernel has at most {MOST_ARGUMENTS} uniforms and buffers", at)

    def layout(self, node: Node) -> dict[str, int]:
        ids = [child.children for child in trees(node) if child.data == "layout_id"]
        return {str(name): self.integer(value) for name, value in ids if isinstance(value, Token)}

    def set_local_size(self, node: Node) -> None:
        layout = self.layout(node)
        if layout.get("local_size_z", 1) != 1:
            raise self.error(
                "work groups have two dimensions here; set local_size_z to 1, or leave it out", node
            )
        self.local_size = (layout.get("local_size_x", 1), layout.get("local_size_y", 1))
        if not 1 <= self.local_size[0] * self.local_size[1] <= MOST_INVOCATIONS:
            raise self.error(
                f"a work group of {self.local_size[0]}×{self.local_size[1]} invocations; it has "
                f"from 1 to {MOST_INVOCATIONS}",
                node,
            )

    def storage_buffer(self, node: Node) -> None:
        layout, access = self.layout(node), {t for t in tokens(node) if t.type == "ACCESS"}
        _, kind, token = (t for t in tokens(node) if t.type != "ACCESS")
        if kind != Type.FLOAT.value or "binding" not in layout:
            raise self.error(
                "a storage buffer must hold float and have a binding, as in layout(binding = 0)",
                node,
            )
        if layout["binding"] >= MOST_ARGUMENTS:
            raise self.error(f"a buffer's binding is less than {MOST_ARGUMENTS}", node)
        buffer = StorageBuffer(
            str(token), layout["binding"], "writeonly" not in access, "readonly" not in access
        )
        self.buffers.append(buffer)
        self.declare(token, buffer)
        self.count_arguments(token)

    def shared_array(self, node: Node) -> None:
        kind, token = tokens(node)
        extents = [self.extent(child) for child in trees(node)]
        array = SharedArray(str(token), Type(str(kind)), tuple(extents))
        self.shared.append(array)
        if min(array.extents) < 1 or elements(self.shared) > MOST_SHARED:
            raise self.error(
                f"shared array {token} has {prod(array.extents)} elements; each extent is at least "
                f"1, and all shared arrays together have at most {MOST_SHARED} elements",
                node,
            )
        self.declare(token, array)

    def extent(self, node: Node) -> int:
        """An extent of an array."""
        extent = self.folded(self.whole(node), node)
        if not extent.type.is_integer:
            raise self.error("an extent is a whole number", node)
        return int(extent.value)
