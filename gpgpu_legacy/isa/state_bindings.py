"""GL state as fragment programs name it: the tree of bindings, and each binding's canonical name.

The tree STATE follows section 3.11.3.2 of the extension and its tables X.2.2 to X.2.7. A canonical
name spells out the face, the index and the row, as in `state.material.front.ambient` or
`state.matrix.mvp.row[2]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpgpu_legacy.decorators import frozen


@frozen
class StateNode:
    """An element of dotted bindings: a node of the tree STATE, with the nodes that may follow it.

    limit: the limit on its index in brackets, by its name in the assembler's Limits; empty if it
    takes none. required: whether the index may not be omitted; an omitted one is 0.
    implied: the element may be omitted, as `.front` may.
    """

    name: str
    following: tuple[StateNode, ...] = ()
    limit: str = ""
    required: bool = False
    implied: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether a binding that ends here names a whole matrix."""
        return any(node.name == "row" for node in self.following)

    @property
    def paths(self) -> dict[str, tuple[StateNode, ...]]:
        """The names that may come next, each with its nodes: two if an implied one is omitted."""
        paths: dict[str, tuple[StateNode, ...]] = {node.name: (node,) for node in self.following}
        for node in self.following:
            for behind in node.following if node.implied else ():
                paths.setdefault(behind.name, (node, behind))
        return paths


def _leaves(names: str) -> tuple[StateNode, ...]:
    return tuple(StateNode(name) for name in names.split())


def _faces(names: str) -> tuple[StateNode, ...]:
    return (StateNode("front", _leaves(names), implied=True), StateNode("back", _leaves(names)))


ROWS = "matrix_rows"
"""The limit on a row's index: 4 in every implementation."""


_ROW = StateNode("row", (), ROWS, required=True)
_MODIFIED = (_ROW, *(StateNode(name, (_ROW,)) for name in ("inverse", "transpose", "invtrans")))

_LIGHT = (
    *_leaves("ambient diffuse specular position attenuation half"),
    StateNode("spot", _leaves("direction")),
)


STATE = StateNode(
    "state",
    (
        StateNode("material", _faces("ambient diffuse specular emission shininess")),
        StateNode("light", _LIGHT, "lights", required=True),
        StateNode("lightmodel", (StateNode("ambient"), *_faces("scenecolor"))),
        StateNode("lightprod", _faces("ambient diffuse specular"), "lights", required=True),
        StateNode("texenv", _leaves("color"), "texture_units"),
        StateNode("fog", _leaves("color params")),
        StateNode("depth", _leaves("range")),
        StateNode(
            "matrix",
            (
                StateNode("modelview", _MODIFIED, "modelview_matrices"),
                StateNode("projection", _MODIFIED),
                StateNode("mvp", _MODIFIED),
                StateNode("texture", _MODIFIED, "texture_coordinate_sets"),
                StateNode("palette", _MODIFIED, "palette_matrices", required=True),
                StateNode("program", _MODIFIED, "program_matrices", required=True),
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
    """The state that a binding names.

    vectors: the canonical names of its state vectors: one, or the rows of a matrix.
    is_single: whether it names one vector, and neither a matrix nor a range of rows.
    length: how many of the elements belong to the binding; a swizzle may follow.
    """

    vectors: tuple[str, ...]
    is_single: bool
    length: int


@dataclass(eq=False)
class BindingError(Exception):
    """A binding that names no state.

    problem: what is wrong. expected: what to write instead. at: the index of the element at fault;
    one past the last if an element is missing. choices: the names that are allowed there, if a name
    is at fault.
    """

    problem: str
    expected: str
    at: int
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.problem}; {self.expected}"


def resolve(elements: Sequence[StateElement], limit: Callable[[str], int]) -> StateBinding:
    """The state that the elements of a binding name; the first one is `state`.

    limit: returns a limit by its name; an index must be less than it. Raises BindingError for
    elements that name no state.
    """
    node, at = STATE, 0
    names = [_written(node, elements[0], 0, limit)]
    while node.following and at + 1 < len(elements):
        at += 1
        name = elements[at].name
        if name not in node.paths:
            raise _misnamed(f"{'.'.join(names)} has no {name}", node, at)
        *implied, node = node.paths[name]
        names += [*(omitted.name for omitted in implied), _written(node, elements[at], at, limit)]
    first, last = elements[at].first, elements[at].last
    if node.is_matrix:
        first, last = 0, 3
    elif node.following:
        raise _misnamed(f"{'.'.join(names)} is incomplete", node, len(elements))
    elif first is None or last is None:
        return StateBinding((".".join(names),), True, at + 1)
    else:
        names.pop()
    rows = (f"{'.'.join(names)}.row[{row}]" for row in range(first, last + 1))
    return StateBinding(tuple(rows), False, at + 1)


def _misnamed(problem: str, node: StateNode, at: int) -> BindingError:
    """The error for an element that has no name which may follow the node."""
    choices = tuple(node.paths)
    one_of = "one of " if len(choices) > 1 else ""
    expected = f"expected {one_of}{', '.join(f'.{choice}' for choice in choices)}"
    return BindingError(problem, expected, at, choices)


def _written(node: StateNode, element: StateElement, at: int, limit: Callable[[str], int]) -> str:
    """The canonical text of one element; BindingError for a wrong index."""
    if not node.limit:
        if element.first is not None:
            raise BindingError(f"{node.name} takes no index", "leave the brackets out", at)
        return node.name
    if element.first is None:
        if node.required:
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
