"""The register tile of native code: its numbers of rows and of vectors of fragments.

At every computing assignment, the analysis counts the live temporaries that vary along both axes,
along x alone and along y alone. Emitters load a texel where it is first read, row after row of the
tile: until then it takes no register, and texels that differ from row to row and are read only once
take one register together. A tile needs xy·rows·vectors + x·vectors + y·rows registers and one for
such texels. For rows·vectors results it loads x·vectors + y·rows values, texels included. The tile
with the fewest loads for a result is best, and of several the one with the fewest registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpgpu_legacy.isa.expressions import Read, Role, Variable
from gpgpu_legacy.isa.statements import (
    Assign,
    Break,
    Call,
    For,
    Statement,
    all_expressions,
    computes,
    statements_below,
    trip_count,
)
from gpgpu_legacy.isa.types import ALONG_X, ALONG_Y, EVERYWHERE, NOWHERE, Axes

MOST_ROWS, MOST_VECTORS = 8, 4
APART = (1, 2)
"""The shape for dependent lookups, which share nothing: while those of one vector wait, those of
the other are computed."""

SHORT_BODY = 16  # instructions; in a longer body, carried registers may be spilt


class Demand(NamedTuple):
    """The values that need registers at an assignment.

    both, x, y: live values that vary along both axes, along x alone, along y alone. in_turn: texels
    that are read here for the last time, and that each row loads in turn. along_y: those of them
    that a whole row shares.
    """

    both: int = 0
    x: int = 0
    y: int = 0
    in_turn: int = 0
    along_y: int = 0

    def registers(self, rows: int, vectors: int) -> int:
        """The registers for a tile of that shape."""
        values = self.both * rows * vectors + self.x * vectors + self.y * rows
        return values + min(self.in_turn, 1)


_Component = tuple[Variable, int]


def instruction_count(statements: Iterable[Statement]) -> int:
    """The number of instructions executed, in all trips."""
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

    carried: values that go from iteration to iteration. registers: the number of the processor's
    vector registers. wanted: a shape to use instead, up to MOST_ROWS and MOST_VECTORS.
    """
    if wanted is not None:
        return min(wanted[0], MOST_ROWS), min(wanted[1], MOST_VECTORS)
    if any(isinstance(value, Call) for value in all_expressions(statements)):
        return APART
    if any(isinstance(statement, Break) for statement in statements_below(statements)):
        return APART  # the fragments of a tile leave a loop together
    demands = demands_of(statements) or {Demand()}
    if instruction_count(statements) < SHORT_BODY:
        demands = {demand._replace(both=demand.both + carried) for demand in demands}
    best, least = (1, 1), (float("inf"), 0)
    for rows in range(1, MOST_ROWS + 1):
        for vectors in range(1, MOST_VECTORS + 1):
            needed = max(demand.registers(rows, vectors) for demand in demands)
            cost = (_loads(demands, rows, vectors) / (rows * vectors), needed)
            if needed <= registers and cost < least:
                best, least = (rows, vectors), cost
    return best


def _loads(demands: set[Demand], rows: int, vectors: int) -> float:
    """The loads of a tile.

    If nothing is shared, two vectors hide each other's latency, and a larger tile has no advantage.
    """
    x, y = max(d.x for d in demands), max(d.y + d.along_y for d in demands)
    return x * vectors + y * rows if x or y else max(rows * vectors, 2) ** 2


def demands_of(statements: Iterable[Statement]) -> set[Demand]:
    """The demands of all computing assignments, including their results.

    Axes and unread texels are tracked forwards, liveness backwards.
    """
    steps = list(_twice(statements))
    axes: dict[_Component, Axes] = {}
    unread = set[_Component]()
    states = []
    for step in steps:
        read, written = _read(step), _written(step)
        states.append((dict(axes), unread))
        is_load = read <= unread and not _emits(step)
        unread = unread | written if is_load else unread - read - written
        if isinstance(step, Assign):
            axes.update(dict.fromkeys(written, step.value.axes))
    demands, alive = set[Demand](), set[_Component]()
    for step, (before, unread) in zip(reversed(steps), reversed(states), strict=True):
        read, written = _read(step), _written(step)
        sources = alive - written | read
        if isinstance(step, Assign) and _emits(step):
            after = before | dict.fromkeys(written, step.value.axes)
            last_read = [before[place] for place in (unread & read) - alive]
            in_turn = Counter(kind for kind in last_read if kind.y)
            at_first = Counter(before.get(place, NOWHERE) for place in sources - (unread - read))
            at_last = Counter(
                after.get(place, NOWHERE) for place in alive - (unread - read) | written
            )
            most = (at_first - in_turn) | at_last
            kinds = (most[EVERYWHERE], most[ALONG_X], most[ALONG_Y])
            demands.add(Demand(*kinds, in_turn.total(), in_turn[ALONG_Y]))
        alive = sources
    return demands


def _emits(step: Statement) -> bool:
    """Whether code is emitted here; a texel that is only assigned is loaded when it is read."""
    return isinstance(step, Assign) and (computes(step.value) or not _written(step))


def _twice(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, with two trips of each loop, if it has as many."""
    for statement in statements:
        if isinstance(statement, For):
            for _ in range(min(trip_count(statement), 2)):
                yield from _twice(statement.body)
        else:
            yield statement


def _written(statement: Statement) -> set[_Component]:
    """The components of temporaries that a statement writes."""
    return _components(statement) if isinstance(statement, Assign) else set()


def _read(statement: Statement) -> set[_Component]:
    """The components of temporaries that a statement reads."""
    values = all_expressions([statement])
    return {place for v in values if isinstance(v, Read) for place in _components(v)}


def _components(place: Assign | Read) -> set[_Component]:
    is_temporary = place.variable.role is Role.TEMPORARY
    return {(place.variable, c) for c in place.components if is_temporary}
