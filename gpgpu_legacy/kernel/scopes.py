"""The names that a kernel declares, scope by scope, and errors at places in its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lark import Token

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.kernel.ir import Literal, SharedArray, StorageBuffer, Type, Uniform, Variable
from gpgpu_legacy.kernel.trees import Node

Symbol = Variable | Uniform | Literal | StorageBuffer | SharedArray
"""What a name can stand for."""


class Scopes:
    """The names that a kernel declares, and what they stand for. text, name: of the kernel."""

    def __init__(self, text: str, name: str) -> None:
        """The outermost scope, without a name in it."""
        self.text, self.name = text, name
        self._scopes: list[dict[str, Symbol]] = [{}]
        self._names: set[str] = set()

    def error(self, problem: str, at: Token | Node) -> AssemblyError:
        """The error of a problem at that place in the text."""
        position = at if isinstance(at, Token) else at.meta
        line, column = getattr(position, "line", 1), getattr(position, "column", 1)
        return AssemblyError(problem, self.text, line or 1, column or 1, self.name)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of its own for what is declared while the block runs."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def declare(self, token: Token, symbol: Symbol) -> None:
        """Let a name stand for a symbol in the innermost scope, where it must be new."""
        if str(token) in self._scopes[-1]:
            raise self.error(f"{token} is declared twice in one scope; give it another name", token)
        self._scopes[-1][str(token)] = symbol

    def variable(self, token: Token, kind: Type) -> Variable:
        """A new private variable, renamed if another scope has a variable of that name."""
        name, number = str(token), 1
        while name in self._names:
            number += 1
            name = f"{token}_{number}"
        self._names.add(name)
        variable = Variable(kind, name)
        self.declare(token, variable)
        return variable

    def lookup(self, token: Token) -> Symbol:
        """What a name stands for here."""
        for scope in reversed(self._scopes):
            if str(token) in scope:
                return scope[str(token)]
        raise self.error(f"{token} is not declared; declare it before it is used", token)
