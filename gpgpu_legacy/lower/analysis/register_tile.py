"""How many rows and vectors of fragments native code works on at a time.

Counted are, after every assignment, the temporaries that are alive and vary along both axes, along
x alone or along y alone. A tile of so many rows and vectors needs xy·rows·vectors + x·vectors +
y·rows registers, and loads x·vectors + y·rows values for rows·vectors results: the fewer the
better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpgpu_legacy.lower.ir import (
    Assign,
    Call,
    For,
    Read,
    Role,
    Statement,
    Variable,
    all_expressions,
    expressions_of,
    trip_count,
    walk,
)
from gpgpu_legacy.lower.ir_types import ALONG_X, ALONG_Y, EVERYWHERE, NOWHERE, Axes

MOST_ROWS, MOST_VECTORS = 8, 4
SHORT_BODY = 16  # instructions; in a longer body, registers carried through it can be spilt

Demand = tuple[int, int, int]
"""Values alive that vary along both axes, along x alone, along y alone."""

_Component = tuple[Variable, int]


def instruction_count(statements: Iterable[Statement]) -> int:
    """How many instructions of programs are executed."""
    count = 0
    for statement in statements:
        if isinstance(statement, For):
            count += trip_count(statement) * instruction_count(statement.body)
        elif isinstance(statement, Assign) and statement.instruction is not None:
            count += 1
    return count


def register_tile(
    statements: Sequence[Statement],
    carried: int,
    registers: int,
    wanted: tuple[int, int] | None = None,
) -> tuple[int, int]:
    """The best shape for an iteration's statements: rows and vectors.

    carried: values that go from iteration to iteration. registers: vectors that the processor has.
    wanted: a shape that is taken for the best, as far as there can be such a one.
    """
    if any(isinstance(value, Call) for value in all_expressions(statements)):
        return 1, 1
    if wanted is not None:
        return min(wanted[0], MOST_ROWS), min(wanted[1], MOST_VECTORS)
    demands = _demands(statements) or {(0, 0, 0)}
    if instruction_count(statements) < SHORT_BODY:
        demands = {(xy + carried, x, y) for xy, x, y in demands}
    best, least = (1, 1), float("inf")
    for rows in range(1, MOST_ROWS + 1):
        for vectors in range(1, MOST_VECTORS + 1):
            needed = max(xy * rows * vectors + x * vectors + y * rows for xy, x, y in demands)
            cost = _loads(demands, rows, vectors) / (rows * vectors)
            if needed <= registers and cost < least:
                best, least = (rows, vectors), cost
    return best


def _loads(demands: set[Demand], rows: int, vectors: int) -> float:
    """Loads for a tile; where nothing is shared, a larger one has no advantage."""
    x, y = max(d[1] for d in demands), max(d[2] for d in demands)
    return x * vectors + y * rows if x or y else (rows * vectors) ** 2


def _demands(statements: Iterable[Statement]) -> set[Demand]:
    """What is alive after each assignment. It follows the axes forwards, what is alive back."""
    steps = list(_twice(statements))
    axes: dict[_Component, Axes] = {}
    overwritten = []
    for step in steps:
        written = _written(step)
        overwritten.append({place: axes.get(place, NOWHERE) for place in written})
        if isinstance(step, Assign):
            axes.update(dict.fromkeys(written, step.value.axes))
    demands, alive = set[Demand](), set[_Component]()
    for step, before in zip(reversed(steps), reversed(overwritten), strict=True):
        if isinstance(step, Assign):
            kinds = Counter(axes.get(place, NOWHERE) for place in alive)
            demands.add((kinds[EVERYWHERE], kinds[ALONG_X], kinds[ALONG_Y]))
        axes.update(before)
        alive = (alive - before.keys()) | set(_read(step))
    return demands


def _twice(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, those of a loop as one trip after another."""
    for statement in statements:
        if isinstance(statement, For):
            for _ in range(min(trip_count(statement), 2)):
                yield from _twice(statement.body)
        else:
            yield statement


def _written(statement: Statement) -> list[_Component]:
    """The components of temporaries that it writes."""
    if not isinstance(statement, Assign) or statement.variable.role is not Role.TEMPORARY:
        return []
    return [(statement.variable, c) for c in statement.components]


def _read(statement: Statement) -> Iterator[_Component]:
    """The components of temporaries that it reads."""
    for value in (part for whole in expressions_of(statement) for part in walk(whole)):
        if isinstance(value, Read) and value.variable.role is Role.TEMPORARY:
            yield from ((value.variable, c) for c in value.components)
