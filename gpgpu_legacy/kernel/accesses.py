"""The loads and stores of a kernel: their numbers, and the error of one outside of its array."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from math import prod
from typing import Any, TypeVar

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import Element, Kernel, Literal, Type

_Node = TypeVar("_Node")


def numbered(kernel: Kernel) -> Kernel:
    """The kernel with a number of its own for each load and store, the same in equal kernels."""
    return replace(kernel, body=_numbered(kernel.body, []))


def with_inside(kernel: Kernel, unproven: Collection[int]) -> Kernel:
    """A numbered kernel whose loads and stores are inside of their arrays, but those numbers."""
    return replace(kernel, body=_inside(kernel.body, unproven))


def outside(kernel: Kernel, lengths: Mapping[str, int], number: int, index: int) -> PlanError:
    """The error of the access of that number. lengths: elements of the buffers, by name."""
    element = element_of(numbered(kernel), number)
    assert element is not None
    extents = {array.name: prod(array.extents) for array in kernel.shared}
    return outside_error(kernel, element, index, {**lengths, **extents}[element.array])


def outside_error(kernel: Kernel, element: Element, index: int, length: int) -> PlanError:
    """The error of an access outside of an array of that length, wherever it comes to light."""
    line = f":{element.line}" if element.line else ""
    return PlanError(
        f"{kernel.name}{line}: an invocation reaches outside of {element.array}, which has "
        f"{length} elements: its index is {index}; check the uniforms, the work groups and the "
        "guards"
    )


def element_of(node: object, number: int) -> Element | None:
    """The load or store of that number in a numbered kernel, or in a part of it."""
    if isinstance(node, Element) and node.number == number:
        return node
    parts: tuple[object, ...] = ()
    if isinstance(node, tuple):
        parts = node
    elif isinstance(node, Kernel):
        parts = node.body
    elif is_dataclass(node):
        parts = tuple(getattr(node, field.name) for field in fields(node))
    found = (element_of(part, number) for part in parts)
    return next((element for element in found if element is not None), None)


def _rebuilt(node: Any, rebuild: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(rebuild, node))
    if isinstance(node, Literal | Type) or not is_dataclass(node) or isinstance(node, type):
        return node
    before = {field.name: getattr(node, field.name) for field in fields(node)}
    return replace(node, **{name: rebuild(part) for name, part in before.items()})


def _numbered(node: _Node, counted: list[None]) -> _Node:
    made: Any = node
    if isinstance(node, Element):
        counted.append(None)
        made = replace(node, number=len(counted))
    rebuilt: _Node = _rebuilt(made, lambda part: _numbered(part, counted))
    return rebuilt


def _inside(node: _Node, unproven: Collection[int]) -> _Node:
    made: Any = node
    if isinstance(node, Element):
        made = replace(node, is_inside=node.number not in unproven)
    rebuilt: _Node = _rebuilt(made, lambda part: _inside(part, unproven))
    return rebuilt
