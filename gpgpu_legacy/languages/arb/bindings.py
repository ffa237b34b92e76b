"""The meanings of names: attributes, results, program parameters and state, and declared names.

Functions for dotted paths take the elements of a path. They return the binding that it names and
the elements that follow, usually a swizzle or a write mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from lark import Token

from gpgpu_legacy.isa.program import (
    DRAW_BUFFERS,
    Attribute,
    AttributeKind,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    ResultKind,
    ResultRegister,
    Temporary,
)
from gpgpu_legacy.isa.state_bindings import BindingError, StateElement, resolve
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.arb.syntax import PathElement
from gpgpu_legacy.languages.diagnostics import EarlierFaultError, FaultError, meant, shortened

ATTRIBUTES = "3.11.3.1"
PARAMETERS = "3.11.3.2"
RESULTS = "3.11.3.4"

_FAR = 10**9
"""Stands for every index of ten digits or more."""

Elements = Sequence[PathElement]
T = TypeVar("T")


def integer(token: Token) -> int:
    """The value of an INTEGER token, capped above all limits."""
    digits = token.lstrip("0")
    return int(digits or "0") if len(digits) < 10 else _FAR


def checked_index(token: Token, most: int, what: str, section: str) -> int:
    """The index that a token gives, less than `most`; FaultError if it is not.

    what: the name of the array, for the message. section: of the specification.
    """
    index = integer(token)
    if index < most:
        return index
    raise FaultError(
        f"{what}[{shortened(token)}] does not exist",
        f"there are {most}, from [0] to [{most - 1}]",
        section,
        token,
    )


def no_index(element: PathElement, section: str) -> None:
    """Raise FaultError if an element that is not an array has brackets."""
    if element.first is not None:
        raise FaultError(
            f"{shortened(element.name)} is not an array",
            "leave the index in brackets out",
            section,
            element.token,
        )


def single_index(element: PathElement, most: int, section: str) -> int:
    """The index in an element's brackets, 0 without brackets; FaultError for a range."""
    if element.first is None:
        return 0
    if element.last is not None:
        raise FaultError(
            f"{element.name} takes one index, not a range",
            f"as in {element.name}[0]",
            section,
            element.token,
        )
    return checked_index(element.first, most, element.name, section)


def no_suffix(rest: Elements, section: str) -> None:
    """Raise FaultError if a swizzle or mask follows a binding in a declaration."""
    if rest:
        raise FaultError(
            f"a declared binding takes no suffix, found .{shortened(rest[0].name)}",
            "give the swizzle or mask where the variable is used",
            section,
            rest[0].token,
        )


# Attributes --------------------------------------------------------------------------------------

_ATTRIBUTES = {kind.value: kind for kind in AttributeKind if kind.value.isalpha()}
_COLORS = {"primary": AttributeKind.COLOR, "secondary": AttributeKind.SECONDARY_COLOR}


def attribute(elements: Elements, limits: AssemblerLimits) -> tuple[Attribute, Elements]:
    """The attribute that a path with the head `fragment` names, and the elements that follow."""
    known = "the fragment attributes are fragment.color, .texcoord[n], .fogcoord and .position"
    item, kind = _second(elements, _ATTRIBUTES, known, ATTRIBUTES)
    if kind is AttributeKind.TEXCOORD:
        index = single_index(item, limits.texture_coordinate_sets, ATTRIBUTES)
        return Attribute(kind, index), elements[2:]
    no_index(item, ATTRIBUTES)
    if kind is not AttributeKind.COLOR or len(elements) == 2 or elements[2].name not in _COLORS:
        return Attribute(kind), elements[2:]
    no_index(elements[2], ATTRIBUTES)
    return Attribute(_COLORS[elements[2].name]), elements[3:]


def _second(
    elements: Elements, known: Mapping[str, T], expected: str, section: str
) -> tuple[PathElement, T]:
    """A binding's second element and its meaning; FaultError if it is missing or unknown."""
    no_index(elements[0], section)
    head = elements[0].name
    if len(elements) < 2:
        raise FaultError(f"{head} is incomplete", expected, section, elements[0].token)
    item = elements[1]
    if item.name in known:
        return item, known[item.name]
    problem = f"{head} has no {shortened(item.name)}"
    likely = meant(item.name, known, f"{head}.")
    raise FaultError(problem, likely + expected, section, item.token)


# Results -----------------------------------------------------------------------------------------


def result(
    elements: Elements, limits: AssemblerLimits, options: Sequence[str]
) -> tuple[ResultRegister, Elements]:
    """The result that a path with the head `result` names, and the elements that follow."""
    names = {kind.value: kind for kind in ResultKind}
    known = "results are result.color and result.depth"
    item, kind = _second(elements, names, known, RESULTS)
    if item.first is None:
        return ResultRegister(kind), elements[2:]
    if kind is ResultKind.DEPTH:
        no_index(item, RESULTS)
    if not any(option in options for option in DRAW_BUFFERS):
        raise FaultError(
            "result.color is not an array without OPTION ARB_draw_buffers",
            "write result.color, or add that option after the header",
            RESULTS,
            item.token,
        )
    return ResultRegister(kind, single_index(item, limits.draw_buffers, RESULTS)), elements[2:]


# Parameters --------------------------------------------------------------------------------------


def parameters(
    elements: Elements, limits: AssemblerLimits
) -> tuple[tuple[Parameter, ...], bool, Elements]:
    """The parameters that a path with the head `program` or `state` names.

    Returns them, whether they are a single vector and no range or matrix, and the elements that
    follow.
    """
    if elements[0].name == "state":
        return _state(elements, limits)
    spaces = {
        "local": (ParameterSpace.LOCAL, limits.local_parameters),
        "env": (ParameterSpace.ENV, limits.environment_parameters),
    }
    known = "program parameters are program.local[n] and program.env[n]"
    item, (space, most) = _second(elements, spaces, known, PARAMETERS)
    if item.first is None:
        raise FaultError(f"program.{item.name} needs an index", known, PARAMETERS, item.token)
    first = checked_index(item.first, most, space.value, PARAMETERS)
    last = checked_index(item.last or item.first, most, space.value, PARAMETERS)
    if last < first:
        raise FaultError(
            f"the range {first}..{last} runs backwards",
            f"write {space.value}[{last}..{first}]",
            PARAMETERS,
            item.first,
        )
    bound = tuple(Parameter(space, index) for index in range(first, last + 1))
    return bound, item.last is None, elements[2:]


def _state(
    elements: Elements, limits: AssemblerLimits
) -> tuple[tuple[Parameter, ...], bool, Elements]:
    written = [
        StateElement(e.name, *(None if t is None else integer(t) for t in (e.first, e.last)))
        for e in elements
    ]
    try:
        binding = resolve(written, lambda limit: int(getattr(limits, limit)))
    except BindingError as error:
        raise _state_fault(error, elements) from None
    vectors = tuple(Parameter(ParameterSpace.STATE, binding=name) for name in binding.vectors)
    return vectors, binding.is_single, elements[binding.length :]


def _state_fault(error: BindingError, elements: Elements) -> FaultError:
    if error.at >= len(elements):
        return FaultError(error.problem, error.expected, PARAMETERS, elements[-1].token)
    element = elements[error.at]
    expected = meant(element.name, error.choices, ".") + error.expected
    # Point at the wrong name, or at the wrong index itself.
    token = element.token if error.choices or element.first is None else element.first
    return FaultError(error.problem, expected, PARAMETERS, token)


# Declared names -----------------------------------------------------------------------------------

VARIABLES = "3.11.3"

Symbol = Temporary | Attribute | ResultRegister | ParameterDeclaration


class Symbols(dict[str, Symbol]):
    """The names declared so far."""

    def __init__(self) -> None:
        """Begin without names."""
        self._unreported = set[str]()
        """Names about which no more faults are reported: their declaration has a fault, or they are
        undeclared and that has been reported.
        """

    def declare(self, token: Token, symbol: Symbol) -> None:
        """Declare a name; FaultError if it is declared already."""
        if token in self:
            raise FaultError(
                f"{shortened(token)} is declared twice", "give it another name", VARIABLES, token
            )
        self[str(token)] = symbol

    def lookup(self, token: Token) -> Symbol:
        """The meaning of a name.

        Raises FaultError for an undeclared name, EarlierFaultError if that has been reported
        before.
        """
        if token in self:
            return self[token]
        if token in self._unreported:
            raise EarlierFaultError
        self._unreported.add(str(token))
        raise FaultError(
            f"{shortened(token)} is not declared",
            meant(token, self).strip() or "declare it before it is used",
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
                    self.setdefault(str(token), Temporary(str(token)))
                self._unreported.add(str(token))
