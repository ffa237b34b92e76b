"""What dotted paths name: attributes, results, program parameters and state.

Every function takes the elements of a path and gives what it names, with the elements left over:
a swizzle or a mask, as a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from gpgpu_legacy.isa.ir import (
    DRAW_BUFFERS,
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    ResultKind,
    ResultRegister,
)
from gpgpu_legacy.isa.state_bindings import BindingError, Element, resolve
from gpgpu_legacy.languages.arb.diagnostics import FaultError, nearest, shortened
from gpgpu_legacy.languages.arb.limits import Limits
from gpgpu_legacy.languages.arb.syntax import PathElement

ATTRIBUTES = "3.11.3.1"
PARAMETERS = "3.11.3.2"
RESULTS = "3.11.3.4"

_FAR = 10**9
"""Stands for every index too large to be written in nine digits."""

Elements = Sequence[PathElement]


def integer(token: Token) -> int:
    """The value of an INTEGER token, cut off where no limit could allow it."""
    digits = token.lstrip("0")
    return int(digits or "0") if len(digits) < 10 else _FAR


def checked_index(token: Token, most: int, what: str, section: str) -> int:
    """The index, which must be less than `most`; `what` names the indexed thing in the message."""
    index = integer(token)
    if index < most:
        return index
    allowed = f"there are {most}, from [0] to [{most - 1}]"
    raise FaultError(f"{what}[{shortened(token)}] does not exist", allowed, section, token)


def no_index(element: PathElement, section: str) -> None:
    """Raise FaultError where the element has brackets."""
    if element.first is not None:
        problem = f"{shortened(element.name)} is no array"
        at = element.token
        raise FaultError(problem, "leave the index in brackets out", section, at)


def single_index(element: PathElement, most: int, section: str) -> int:
    """The index of an element, 0 where there are no brackets; a range is a fault."""
    if element.first is None:
        return 0
    if element.last is not None:
        problem = f"{element.name} takes one index, not a range"
        raise FaultError(problem, f"as in {element.name}[0]", section, element.token)
    return checked_index(element.first, most, element.name, section)


def no_suffix(rest: Elements, section: str) -> None:
    """Raise FaultError where something follows a binding in a declaration."""
    if rest:
        problem = f"a declared binding takes no suffix, found .{shortened(rest[0].name)}"
        expected = "give the swizzle or mask where the variable is used"
        raise FaultError(problem, expected, section, rest[0].token)


# Attributes --------------------------------------------------------------------------------------

_ATTRIBUTES = {
    "color": AttributeKind.COLOR,
    "texcoord": AttributeKind.TEXCOORD,
    "fogcoord": AttributeKind.FOGCOORD,
    "position": AttributeKind.POSITION,
}
_COLORS = {"primary": AttributeKind.COLOR, "secondary": AttributeKind.SECONDARY_COLOR}


def attribute(elements: Elements, limits: Limits) -> tuple[Attribute, Elements]:
    """What a path that begins with `fragment` names."""
    no_index(elements[0], ATTRIBUTES)
    item = elements[1] if len(elements) > 1 else None
    kind = None if item is None else _ATTRIBUTES.get(item.name)
    if item is None or kind is None:
        known = "the fragment attributes are fragment.color, .texcoord[n], .fogcoord and .position"
        raise _unknown("fragment", elements, _ATTRIBUTES, known, ATTRIBUTES)
    if kind is AttributeKind.TEXCOORD:
        index = single_index(item, limits.texture_coordinate_sets, ATTRIBUTES)
        return Attribute(kind, index), elements[2:]
    no_index(item, ATTRIBUTES)
    if kind is not AttributeKind.COLOR or len(elements) == 2 or elements[2].name not in _COLORS:
        return Attribute(kind), elements[2:]
    no_index(elements[2], ATTRIBUTES)
    return Attribute(_COLORS[elements[2].name]), elements[3:]


def _unknown(
    head: str, elements: Elements, known: Sequence[str] | dict[str, AttributeKind], expected: str,
    section: str,
) -> FaultError:  # fmt: skip
    """The fault of a binding that is incomplete, or whose second element is unknown."""
    if len(elements) < 2:
        at = elements[0].token
        return FaultError(f"{head} alone names nothing", expected, section, at)
    name = elements[1].name
    near = nearest(name, known)
    meant = f"did you mean {head}.{near}? " if near else ""
    at = elements[1].token
    return FaultError(f"{head} has no {shortened(name)}", meant + expected, section, at)


# Results -----------------------------------------------------------------------------------------


def result(
    elements: Elements, limits: Limits, options: Sequence[str]
) -> tuple[ResultRegister, Elements]:
    """What a path that begins with `result` names."""
    no_index(elements[0], RESULTS)
    names = {kind.value: kind for kind in ResultKind}
    item = elements[1] if len(elements) > 1 else None
    if item is None or item.name not in names:
        known = "results are result.color and result.depth"
        raise _unknown("result", elements, tuple(names), known, RESULTS)
    kind = names[item.name]
    if item.first is None:
        return ResultRegister(kind), elements[2:]
    if kind is ResultKind.DEPTH:
        no_index(item, RESULTS)
    if not any(option in options for option in DRAW_BUFFERS):
        problem = "color is no array without OPTION ARB_draw_buffers"
        expected = "write result.color, or that option after the header"
        raise FaultError(problem, expected, RESULTS, item.token)
    return ResultRegister(kind, single_index(item, limits.draw_buffers, RESULTS)), elements[2:]


# Parameters --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bound:
    """The parameters that a binding names: one, or (not `is_single`) as many as for an array."""

    parameters: tuple[Parameter, ...]
    is_single: bool
    rest: Elements


def parameters(elements: Elements, limits: Limits) -> Bound:
    """What a path that begins with `program` or `state` names."""
    return _OF_HEAD[elements[0].name](elements, limits)


def _program(elements: Elements, limits: Limits) -> Bound:
    no_index(elements[0], PARAMETERS)
    item = elements[1] if len(elements) > 1 else None
    known = "program parameters are program.local[n] and program.env[n]"
    if item is None or item.name not in ("local", "env"):
        raise _unknown("program", elements, ("local", "env"), known, PARAMETERS)
    if item.first is None:
        problem = f"program.{item.name} needs an index"
        raise FaultError(problem, known, PARAMETERS, item.token)
    is_local = item.name == "local"
    space = ParameterSpace.LOCAL if is_local else ParameterSpace.ENV
    most = limits.local_parameters if is_local else limits.environment_parameters
    first = checked_index(item.first, most, space.value, PARAMETERS)
    last = first
    if item.last is not None:
        last = checked_index(item.last, most, space.value, PARAMETERS)
    if last < first:
        problem = f"the range {first}..{last} runs backwards"
        expected = f"write {space.value}[{last}..{first}]"
        raise FaultError(problem, expected, PARAMETERS, item.first)
    found = tuple(Parameter(space, index) for index in range(first, last + 1))
    return Bound(found, item.last is None, elements[2:])


def _state(elements: Elements, limits: Limits) -> Bound:
    written = [Element(e.name, _index_of(e.first), _index_of(e.last)) for e in elements]
    try:
        binding = resolve(written, lambda limit: int(getattr(limits, limit)))
    except BindingError as error:
        raise _state_fault(error, elements) from None
    vectors = tuple(Parameter(ParameterSpace.STATE, binding=name) for name in binding.vectors)
    return Bound(vectors, binding.is_single, elements[binding.length :])


def _index_of(token: Token | None) -> int | None:
    return None if token is None else integer(token)


def _state_fault(error: BindingError, elements: Elements) -> FaultError:
    if error.at >= len(elements):
        last = elements[-1].token
        return FaultError(error.problem, error.expected, PARAMETERS, last)
    element = elements[error.at]
    near = nearest(element.name, error.choices) if error.choices else ""
    expected = f"did you mean .{near}? {error.expected}" if near else error.expected
    # A wrong index is at fault itself, a wrong name is where the name stands.
    token = element.token if error.choices or element.first is None else element.first
    return FaultError(error.problem, expected, PARAMETERS, token)


_OF_HEAD = {"program": _program, "state": _state}
