"""The loads and stores of a kernel: their numbers, and the error of one outside of its array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from math import prod
from typing import Any

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import Element, Kernel, Literal


def numbered(kernel: Kernel) -> Kernel:
    """The kernel with a number of its own for each load and store, the same in equal kernels."""
    numbers = count(1)
    body = _changed(kernel.body, lambda element: replace(element, number=next(numbers)))
    return replace(kernel, body=body)


def with_inside(kernel: Kernel, unproven: Collection[int]) -> Kernel:
    """A numbered kernel whose loads and stores are inside of their arrays, but those numbers."""

    def marked(element: Element) -> Element:
        return replace(element, is_inside=element.number not in unproven)

    return replace(kernel, body=_changed(kernel.body, marked))


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
    waiting = [node.body if isinstance(node, Kernel) else node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Element) and part.number == number:
            return part
        if isinstance(part, tuple):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, field.name) for field in fields(part)]
    return None


def _changed(node: Any, change: Callable[[Element], Element]) -> Any:
    """The node with each access in it changed, outer ones first. A frame for each level."""
    if isinstance(node, tuple):
        made = []
        for part in node:
            made.append(_changed(part, change))
        return tuple(made)
    if isinstance(node, Literal) or not is_dataclass(node) or isinstance(node, type):
        return node
    if isinstance(node, Element):
        node = change(node)
    parts = {}
    for field in fields(node):
        parts[field.name] = _changed(getattr(node, field.name), change)
    return replace(node, **parts)
