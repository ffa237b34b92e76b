"""The shape of work groups that run several iterations of passes that read neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpgpu_legacy.lower.analysis.neighbourhood import Reach


@dataclass(frozen=True, slots=True)
class TemporalShape:
    """The shape of the code.

    threads: invocations of a group across and up. columns, rows: fragments of an invocation: every
    threads[0]-th across, neighbours up. iterations: run in one go.
    """

    threads: tuple[int, int]
    columns: int
    rows: int
    iterations: int

    @property
    def tile(self) -> tuple[int, int]:
        """Fragments that a group computes, across and up."""
        return self.threads[0] * self.columns, self.threads[1] * self.rows

    def margins(self, reach: Reach) -> tuple[tuple[int, int], tuple[int, int]]:
        """How many fragments at the tile's edges are not stored: left and right, below and above.

        reach: of an iteration.
        """
        n = self.iterations
        return (n * reach.left, n * reach.right), (n * reach.down, n * reach.up)

    def stored(self, reach: Reach) -> tuple[int, int]:
        """Fragments of the tile that are stored, across and up; none where it is not positive."""
        (left, right), (down, up) = self.margins(reach)
        width, height = self.tile
        return width - left - right, height - down - up
