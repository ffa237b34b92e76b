"""GLSL compute shaders to Kernels: the grammar, and the declarations of a whole shader.

Each part of the language is a class that stands on the next one: declarations (here), statements,
expressions, conversions, names (scopes.py).
"""

from __future__ import annotations

from functools import cache
from math import prod

from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.grammars import open_grammar
from gpgpu_legacy.kernel.ir import Kernel, SharedArray, Statement, StorageBuffer, Type, Uniform
from gpgpu_legacy.kernel.limits import (
    MOST_ARGUMENTS,
    MOST_INVOCATIONS,
    MOST_SHARED,
    check_text,
    elements,
)
from gpgpu_legacy.kernel.statements import StatementReader
from gpgpu_legacy.kernel.trees import Node, tokens, trees


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """Parse a compute shader that is in the subset (kernel/grammar.lark).

    text: the whole shader. name: what messages call it, usually a file's path. Raises
    AssemblyError, with line and column, at the first construct outside of the subset, and where a
    driver could read other statements than these: at directives but #version, and at characters
    that end or continue lines for some readers only. A kernel has bounds; see kernel/limits.py.
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
