"""The statements of a kernel: each node of the syntax tree as one or more of the IR."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token, Tree

from gpgpu_legacy.kernel.expressions import ExpressionReader
from gpgpu_legacy.kernel.ir import (
    Assign,
    Barrier,
    Component,
    Declare,
    For,
    If,
    Literal,
    LValue,
    Statement,
    Type,
    Variable,
)
from gpgpu_legacy.kernel.limits import DEEPEST_BLOCKS, DEEPEST_LOOPS, TOO_DEEP
from gpgpu_legacy.kernel.trees import Node, tokens, trees


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
        """What an assignment changes. is_read: it also reads the old value, as += does."""
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
