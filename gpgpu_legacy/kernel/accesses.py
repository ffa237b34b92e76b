"""The loads and stores of a kernel: their numbers, and the error for one outside its array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count
from math import prod

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.ir import Element, Expression, Kernel, rebuild, walk


def numbered(kernel: Kernel) -> Kernel:
    """The kernel with its loads and stores numbered, in the same way in equal kernels."""
    numbers = count(1)
    return _with_accesses(kernel, lambda element: replace(element, number=next(numbers)))


def with_inside(kernel: Kernel, unproven: Collection[int]) -> Kernel:
    """A numbered kernel with all loads and stores marked as inside, except those numbers."""

    def marked(element: Element) -> Element:
        return replace(element, is_inside=element.number not in unproven)

    return _with_accesses(kernel, marked)


def _with_accesses(kernel: Kernel, change: Callable[[Element], Element]) -> Kernel:
    """The kernel with each of its loads and stores changed."""

    def changed(expression: Expression) -> Expression:
        return change(expression) if isinstance(expression, Element) else expression

    return replace(kernel, body=tuple([rebuild(s, changed) for s in kernel.body]))


def outside(kernel: Kernel, lengths: Mapping[str, int], number: int, index: int) -> PlanError:
    """The error for the access of that number. lengths: elements of the buffers, by name."""
    element = element_of(numbered(kernel), number)
    extents = {array.name: prod(array.extents) for array in kernel.shared}
    return outside_error(kernel, element, index, {**lengths, **extents}[element.array])


def outside_error(kernel: Kernel, element: Element, index: int, length: int) -> PlanError:
    """The error for an access outside an array of that length, from whichever machine finds it."""
    line = f":{element.line}" if element.line else ""
    return PlanError(
        f"{kernel.name}{line}: an invocation reaches outside of {element.array}, which has "
        f"{length} elements: its index is {index}; check the uniforms, the work groups and the "
        "guards"
    )


def element_of(kernel: Kernel, number: int) -> Element:
    """The load or store of that number in a numbered kernel."""
    accesses = (node for node in walk(*kernel.body) if isinstance(node, Element))
    return next(access for access in accesses if access.number == number)
