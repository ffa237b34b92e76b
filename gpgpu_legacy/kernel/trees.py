"""The nodes of a kernel's syntax tree, as the grammar names them."""

from __future__ import annotations

from lark import Token, Tree

Node = Tree[Token]


def trees(node: Node) -> list[Node]:
    """The children of a node that are nodes."""
    return [child for child in node.children if isinstance(child, Tree)]


def tokens(node: Node) -> list[Token]:
    """The children of a node that are words of the text."""
    return [child for child in node.children if isinstance(child, Token)]
