"""Faults in a Cg text, found after it is parsed: each names its construct, and the first one ends
the compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpgpu_legacy.isa.ir import Span

T = TypeVar("T")


class Fault(Exception):  # noqa: N818 — it becomes an AssemblyError, which is the error
    """What is wrong, what was expected, and where."""

    def __init__(self, problem: str, expected: str, at: Span) -> None:
        super().__init__(problem)
        self.problem, self.expected, self.at = problem, expected.strip(), at


class TooLong(Fault):
    """A text that does not fit a straight line."""


def fitted(compiled: Callable[..., T]) -> T:
    """What is compiled: into a straight line if it fits one, else with `branching`."""
    try:
        return compiled()
    except TooLong:
        return compiled(branching=True)
