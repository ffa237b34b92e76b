"""GL state as fragment programs name it: the tree of bindings, and each binding's canonical name.

The tree STATE follows section 3.11.3.2 of the extension and its tables X.2.2 to X.2.7. A canonical
name spells out everything, the face, the index and the row, as in `state.material.front.ambient`
or `state.matrix.mvp.row[2]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum


class Index(Enum):
    """Whether a step of a binding takes an index in brackets; one left out is 0."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class StateNode:
    """One step of a dotted binding, and the steps that may follow it.

    limit: which limit bounds the index, by its name in the assembler's Limits.
    implied: the step may be left out, as `.front` may.
    """

    name: str
    following: tuple[StateNode, ...] = ()
    index: Index = Index.NONE
    limit: str = ""
    implied: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether the binding up to here is a whole matrix."""
        return any(step.name == "row" for step in self.following)


def _leaves(names: str) -> tuple[StateNode, ...]:
    return tuple(StateNode(name) for name in names.split())


def _faces(names: str) -> tuple[StateNode, ...]:
    return (StateNode("front", _leaves(names), implied=True), StateNode("back", _leaves(names)))


ROWS = "matrix_rows"
"""The limit of a row's index, 4, which no implementation chooses."""


_ROW = StateNode("row", index=Index.REQUIRED, limit=ROWS)


_MODIFIED = (_ROW, *(StateNode(name, (_ROW,)) for name in ("inverse", "transpose", "invtrans")))


_REQUIRED, _OPTIONAL = Index.REQUIRED, Index.OPTIONAL


_LIGHT = (
    *_leaves("ambient diffuse specular position attenuation half"),
    StateNode("spot", _leaves("direction")),
)


STATE = StateNode(
    "state",
    (
        StateNode("material", _faces("ambient diffuse specular emission shininess")),
        StateNode("light", _LIGHT, _REQUIRED, "lights"),
        StateNode("lightmodel", (StateNode("ambient"), *_faces("scenecolor"))),
        StateNode("lightprod", _faces("ambient diffuse specular"), _REQUIRED, "lights"),
        StateNode("texenv", _leaves("color"), _OPTIONAL, "texture_units"),
        StateNode("fog", _leaves("color params")),
        StateNode("depth", _leaves("range")),
        StateNode(
            "matrix",
            (
                StateNode("modelview", _MODIFIED, _OPTIONAL, "modelview_matrices"),
                StateNode("projection", _MODIFIED),
                StateNode("mvp", _MODIFIED),
                StateNode("texture", _MODIFIED, _OPTIONAL, "texture_coordinate_sets"),
                StateNode("palette", _MODIFIED, _REQUIRED, "palette_matrices"),
                StateNode("program", _MODIFIED, _REQUIRED, "program_matrices"),
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Element:
    """One step of a binding as it is written: a name, and an index or a range of them."""

    name: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """What a written binding names.

    vectors: the canonical name of each state vector: one, or the rows of a matrix.
    is_single: it names one row or one vector, and neither a matrix nor a range.
    length: how many elements of what was written belong to it; a swizzle may follow.
    """

    vectors: tuple[str, ...]
    is_single: bool
    length: int


class BindingError(Exception):
    """A binding that names no state.

    at: the index of the element at fault; one past the last where something is missing.
    choices: the names that could stand there, where a name is at fault.
    """

    def __init__(self, problem: str, expected: str, at: int, choices: tuple[str, ...] = ()) -> None:
        """Say what is wrong, what was expected, and at which element."""
        super().__init__(f"{problem}; {expected}")
        self.problem, self.expected, self.at, self.choices = problem, expected, at, choices


def resolve(elements: Sequence[Element], limit: Callable[[str], int]) -> Binding:
    """The state that dotted elements name, from `state` on.

    limit: gives an index's limit by name; an index must be less. Raises BindingError.
    """
    step, at = STATE, 0
    names = [_written(step, elements[0], 0, limit)]
    while step.following and at + 1 < len(elements):
        at += 1
        step = _next(step, elements[at].name, at, names)
        names.append(_written(step, elements[at], at, limit))
    if not step.following:
        prefix, last = ".".join(names[:-1]), elements[at]
        if last.last is None:
            return Binding((f"{prefix}.{names[-1]}",), True, at + 1)
        assert last.first is not None
        rows = tuple(f"{prefix}.row[{row}]" for row in range(last.first, last.last + 1))
        return Binding(rows, False, at + 1)
    if step.is_matrix:
        prefix = ".".join(names)
        return Binding(tuple(f"{prefix}.row[{row}]" for row in range(4)), False, at + 1)
    written, choices = ".".join(names), _choices(step)
    raise BindingError(f"{written} names no value yet", _one_of(choices), len(elements), choices)


def _next(step: StateNode, name: str, at: int, names: list[str]) -> StateNode:
    """The step of that name after `step`; an implied one between the two is added to `names`."""
    for following in step.following:
        if following.name == name:
            return following
    for implied in step.following:
        if not implied.implied:
            continue
        for following in implied.following:
            if following.name == name:
                names.append(implied.name)
                return following
    choices = _choices(step)
    raise BindingError(f"{'.'.join(names)} has no {name}", _one_of(choices), at, choices)


def _choices(step: StateNode) -> tuple[str, ...]:
    """The names that may follow a step."""
    own = [following.name for following in step.following]
    deeper = [d.name for f in step.following if f.implied for d in f.following]
    return tuple(dict.fromkeys(own + deeper))


def _one_of(choices: tuple[str, ...]) -> str:
    if len(choices) == 1:
        return f"expected .{choices[0]}"
    return f"expected one of {', '.join(f'.{choice}' for choice in choices)}"


def _written(step: StateNode, element: Element, at: int, limit: Callable[[str], int]) -> str:
    """The canonical text of one element, its index checked."""
    if step.index is Index.NONE:
        if element.first is not None:
            raise BindingError(f"{step.name} takes no index", "leave the brackets out", at)
        return step.name
    if element.first is None:
        if step.index is Index.REQUIRED:
            raise BindingError(f"{step.name} needs an index", f"as in {step.name}[0]", at)
        return f"{step.name}[0]"
    if element.last is not None and step is not _ROW:
        raise BindingError(f"{step.name} takes one index, not a range", f"as in {step.name}[0]", at)
    last, most = element.first if element.last is None else element.last, limit(step.limit)
    if element.last is not None and element.first > last:
        problem = f"the range {element.first}..{last} runs backwards"
        raise BindingError(problem, "the smaller row comes first", at)
    if last >= most:
        problem = f"{step.name}[{last}] is out of range"
        allowed = (
            f"the index is at most {most - 1}"
            if most
            else "the extension that has it is not supported"
        )
        raise BindingError(problem, allowed, at)
    return f"{step.name}[{element.first}]"
