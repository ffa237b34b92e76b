"""The names that a program declares, and their meanings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lark import Token

from gpgpu_legacy.isa.program import Attribute, ParameterDeclaration, ResultRegister, Temporary
from gpgpu_legacy.languages.diagnostics import EarlierFaultError, FaultError, meant, shortened

VARIABLES = "3.11.3"

Symbol = Temporary | Attribute | ResultRegister | ParameterDeclaration


class Symbols:
    """The names declared so far."""

    def __init__(self) -> None:
        """No name is declared yet."""
        self._symbols: dict[str, Symbol] = {}
        self._unreported = set[str]()
        """Names about which no more faults are reported: their declaration has a fault, or they are
        undeclared and that has been reported.
        """

    def declare(self, token: Token, symbol: Symbol) -> None:
        """Declare a name; FaultError if it is declared already."""
        if token in self._symbols:
            raise FaultError(
                f"{shortened(token)} is declared twice", "give it another name", VARIABLES, token
            )
        self._symbols[str(token)] = symbol

    def predeclare(self, register: Temporary) -> None:
        """Declare a register that a program has without saying so."""
        self._symbols[register.name] = register

    def lookup(self, token: Token) -> Symbol:
        """The meaning of a name.

        Raises FaultError for an undeclared name, EarlierFaultError if that has been reported
        before.
        """
        symbol = self._symbols.get(str(token))
        if symbol is not None:
            return symbol
        if token in self._unreported:
            raise EarlierFaultError
        self._unreported.add(str(token))
        raise FaultError(
            f"{shortened(token)} is not declared",
            meant(token, self._symbols).strip() or "declare it before it is used",
            VARIABLES,
            token,
        )

    def give_up(self, read: Sequence[Token]) -> None:
        """Suppress faults about the names that a faulty statement should have declared.

        read: the tokens of the statement.
        """
        head = read[0]
        if head.type not in ("TEMP", "PARAM", "ATTRIB", "OUTPUT", "ALIAS"):
            return
        for before, token in pairwise(read):
            if token.type == "NAME" and (before is head or before.type == "_COMMA"):
                if head.type == "TEMP":
                    self._symbols.setdefault(str(token), Temporary(str(token)))
                self._unreported.add(str(token))
