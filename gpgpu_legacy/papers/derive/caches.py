"""Caches: lines, sets and pages."""

from __future__ import annotations

from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import ns_per_step
from gpgpu_legacy.papers.schema import Paper


@derivation
def lines_a_set(paper: Paper, *, size: int, sets: int, line_bytes: int) -> Value:
    """Cache lines that a walk down a column of n floats puts into each set that it uses."""
    used = {i * 4 * size // line_bytes % sets for i in range(size)}
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len(used)


@derivation
def pages_against(paper: Paper, *, size: int, neighbour: int, page_bytes: int) -> Value:
    """Memory pages a step of a walk down a column at one size, over those at another size."""
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes)


def _pages(size: int, page_bytes: int) -> float:
    return len({i * 4 * size // page_bytes for i in range(size)}) / size


@derivation
def pages_explain(
    paper: Paper, *, table: str, series: str, size: int, neighbour: int, page_bytes: int
) -> Value:
    """Whether the pages a step are more at one size than at another by as much as the time is."""
    steps = ns_per_step(paper, table, series)
    slower = steps[size] / steps[neighbour]
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes) >= slower
