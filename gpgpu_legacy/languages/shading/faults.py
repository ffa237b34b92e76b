"""Faults in a Cg text, found after it is parsed: each names its construct, and the first one ends
the compilation.
"""

from __future__ import annotations

from gpgpu_legacy.isa.ir import Span


class Fault(Exception):  # noqa: N818 — it becomes an AssemblyError, which is the error
    """What is wrong, what was expected, and where."""

    def __init__(self, problem: str, expected: str, at: Span) -> None:
        super().__init__(problem)
        self.problem, self.expected, self.at = problem, expected.strip(), at
