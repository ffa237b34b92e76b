"""The shape of work groups that compute tiles of fragments, and the usual shape for fused passes.

Each invocation has a register tile of columns × rows fragments of its group's tile, and executes
all iterations on them, partial sums in registers. Lookups that trips repeat (analysis/rerolling.py)
and that vary along one axis alone are wanted by a whole row or column of invocations: they are
staged in the group's shared memory, `k_depth` trips at a time. lower/tiling.py makes the code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.lower.analysis.rerolling import Step, live_segments
from gpgpu_legacy.lower.content import Content, OwnLookup
from gpgpu_legacy.lower.ir_types import EVERYWHERE


@dataclass(frozen=True, slots=True)
class GroupShape:
    """The shape of the code.

    threads: invocations of a group across and up. columns, rows: fragments of an invocation across
    and up, its register tile. k_depth: trips staged at a time. unroll: of these, how many are
    unrolled. adjacent: how many neighbouring fragments, across and up, an invocation has side by
    side.
    """

    threads: tuple[int, int] = (16, 16)
    columns: int = 4
    rows: int = 4
    k_depth: int = 16
    unroll: int = 8
    adjacent: int = 1

    @property
    def tile(self) -> tuple[int, int]:
        """Fragments of a group across and up."""
        return self.threads[0] * self.columns, self.threads[1] * self.rows


def group_shape(content: Content) -> GroupShape:
    """The usual shape: as many fragments an invocation as 64 numbers of a partial sum make.

    Where each fragment looks up texels that are its own or no whole row's or column's, as in a
    stencil, a large tile saves no lookup, and drivers take long to compile it: 2×2 fragments.
    """
    channels = max(content.surfaces[number].format.channels for number in content.owned)
    shape = GroupShape()
    if _is_stencil(content):
        shape = GroupShape(columns=2, rows=2, adjacent=2)
    elif channels == 1:
        shape = GroupShape(columns=8, rows=8, unroll=2, adjacent=4)
    trip = max(1, shape.columns * shape.rows * _longest_trip(content))
    unroll = max(1, min(shape.unroll, LONGEST_BODY // trip))
    return replace(shape, unroll=1 << (unroll.bit_length() - 1))


def _is_stencil(content: Content) -> bool:
    """Whether there are lookups of other fragments' texels, and all vary along both axes."""
    axes = [
        step.lookup.axes
        for draw in content.draws
        for segment in live_segments(draw)
        for step in segment.steps
        if step.lookup is not None and not isinstance(step.lookup, OwnLookup)
    ]
    return bool(axes) and all(both == EVERYWHERE for both in axes)


LONGEST_BODY = 1024
"""Operations on single numbers that trips are unrolled to; a longer body runs many times slower."""

_DOT_OPERATIONS = 7  # four products and their sums, which nothing contracts


def _longest_trip(content: Content) -> int:
    """Operations on single numbers of a trip of any of its programs, for one fragment."""
    segments = [segment for draw in content.draws for segment in live_segments(draw)]
    return max((sum(map(_operations, s.steps)) for s in segments if s.trips > 1), default=0)


def _operations(step: Step) -> int:
    if step.lookup is not None:
        return 0
    vector = OPCODES[step.instruction.mnemonic].form is Form.VECTOR
    return _DOT_OPERATIONS if vector else len(step.components)
