"""GL state as fragment programs name it: the tree of bindings, and each binding's canonical name.

The tree STATE follows section 3.11.3.2 of the extension and its tables X.2.2 to X.2.7. A canonical
name spells out the face, the index and the row, as in `state.material.front.ambient` or
`state.matrix.mvp.row[2]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from gpgpu_legacy.decorators import frozen


class Index(Enum):
    """Whether an element of a binding takes an index in brackets. An omitted index is 0."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@frozen
class StateNode:
    """An element of dotted bindings: a node of the tree STATE, with the nodes that may follow it.

    limit: the limit on the index, by its name in the assembler's Limits.
    implied: the element may be omitted, as `.front` may.
    """

    name: str
    following: tuple[StateNode, ...] = ()
    index: Index = Index.NONE
    limit: str = ""
    implied: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether a binding that ends here names a whole matrix."""
        return any(node.name == "row" for node in self.following)


def _leaves(names: str) -> tuple[StateNode, ...]:
    return tuple(StateNode(name) for name in names.split())


def _faces(names: str) -> tuple[StateNode, ...]:
    return (StateNode("front", _leaves(names), implied=True), StateNode("back", _leaves(names)))


ROWS = "matrix_rows"
"""The limit on a row's index: 4 in every implementation."""


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


@frozen
class StateElement:
    """An element of a binding in the text: a name, and perhaps an index or a range."""

    name: str
    first: int | None = None
    last: int | None = None


@frozen
class StateBinding:
    """What a binding names.

    vectors: the canonical names of its state vectors: one, or the rows of a matrix.
    is_single: it names one vector, and neither a matrix nor a range of rows.
    length: how many of the elements belong to the binding; a swizzle may follow.
    """

    vectors: tuple[str, ...]
    is_single: bool
    length: int


class BindingError(Exception):
    """A binding that names no state.

    at: the index of the element at fault; one past the last if an element is missing.
    choices: the names that are allowed there, if a name is at fault.
    """

    def __init__(self, problem: str, expected: str, at: int, choices: tuple[str, ...] = ()) -> None:
        """problem: what is wrong. expected: what to write instead."""
        super().__init__(f"{problem}; {expected}")
        self.problem, self.expected, self.at, self.choices = problem, expected, at, choices


def resolve(elements: Sequence[StateElement], limit: Callable[[str], int]) -> StateBinding:
    """The state that the elements of a binding name; the first one is `state`.

    limit: returns a limit by its name; an index must be less than it. Raises BindingError for
    elements that name no state.
    """
    node, at = STATE, 0
    names = [_written(node, elements[0], 0, limit)]
    while node.following and at + 1 < len(elements):
        at += 1
        node = _next(node, elements[at].name, at, names)
        names.append(_written(node, elements[at], at, limit))
    if not node.following:
        prefix, last = ".".join(names[:-1]), elements[at]
        if last.last is None:
            return StateBinding((f"{prefix}.{names[-1]}",), True, at + 1)
        assert last.first is not None
        rows = tuple(f"{prefix}.row[{row}]" for row in range(last.first, last.last + 1))
        return StateBinding(rows, False, at + 1)
    if node.is_matrix:
        prefix = ".".join(names)
        return StateBinding(tuple(f"{prefix}.row[{row}]" for row in range(4)), False, at + 1)
    written, choices = ".".join(names), _choices(node)
    raise BindingError(f"{written} is incomplete", _one_of(choices), len(elements), choices)


def _next(node: StateNode, name: str, at: int, names: list[str]) -> StateNode:
    """The node of that name after `node`; an implied one between them is added to `names`."""
    for following in node.following:
        if following.name == name:
            return following
    for implied in node.following:
        if not implied.implied:
            continue
        for following in implied.following:
            if following.name == name:
                names.append(implied.name)
                return following
    choices = _choices(node)
    raise BindingError(f"{'.'.join(names)} has no {name}", _one_of(choices), at, choices)


def _choices(node: StateNode) -> tuple[str, ...]:
    """The names that may follow a node."""
    own = [following.name for following in node.following]
    deeper = [d.name for f in node.following if f.implied for d in f.following]
    return tuple(dict.fromkeys(own + deeper))


def _one_of(choices: tuple[str, ...]) -> str:
    if len(choices) == 1:
        return f"expected .{choices[0]}"
    return f"expected one of {', '.join(f'.{choice}' for choice in choices)}"


def _written(node: StateNode, element: StateElement, at: int, limit: Callable[[str], int]) -> str:
    """The canonical text of one element; BindingError for a wrong index."""
    if node.index is Index.NONE:
        if element.first is not None:
            raise BindingError(f"{node.name} takes no index", "leave the brackets out", at)
        return node.name
    if element.first is None:
        if node.index is Index.REQUIRED:
            raise BindingError(f"{node.name} needs an index", f"as in {node.name}[0]", at)
        return f"{node.name}[0]"
    if element.last is not None and node is not _ROW:
        raise BindingError(f"{node.name} takes one index, not a range", f"as in {node.name}[0]", at)
    last, most = element.first if element.last is None else element.last, limit(node.limit)
    if element.last is not None and element.first > last:
        raise BindingError(
            f"the range {element.first}..{last} runs backwards", "put the smaller row first", at
        )
    if last >= most:
        raise BindingError(
            f"{node.name}[{last}] is out of range",
            f"the index is at most {most - 1}"
            if most
            else "the extension that has it is not supported",
            at,
        )
    return f"{node.name}[{element.first}]"
