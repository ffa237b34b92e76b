"""Which blocked method is better than its predecessor, in which settings, and by which measure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.rows import Row, Setting

if TYPE_CHECKING:
    from gpgpu_legacy.studies.cache_table.result import CacheTable


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row of a blocked method, and that of the method before it in the same setting."""

    row: Row
    before: Row

    @property
    def block(self) -> int:
        """The paper's b."""
        assert self.row.block is not None
        return self.row.block

    @property
    def bytes_from_memory(self) -> float:
        """Bytes of the blocked method over those of the other: the whole saving."""
        return self.row.bytes_from_memory / self.before.bytes_from_memory

    @property
    def bytes_requested(self) -> float:
        """Likewise: the saving without any cache."""
        return self.row.bytes_requested / self.before.bytes_requested

    @property
    def operand_bytes_requested(self) -> float:
        """Likewise, of A and B: fewer where a lookup returns four elements."""
        return self.row.operand_bytes_requested / self.before.operand_bytes_requested

    @property
    def operand_share(self) -> float:
        """Likewise, of the share of A's and B's bytes from memory; below 1 is more reuse."""
        return self.row.operand_share / self.before.operand_share


class Measure(Enum):
    """What "greater cache coherence" may mean."""

    FEWER_BYTES = "fewer bytes from memory"
    HIGHER_HIT_RATIO = "a higher hit ratio of reads"
    MORE_REUSE = "more reuse of A and B (a smaller share of their bytes from memory)"

    def sign(self, compared: Comparison) -> int:
        """1 where the blocked method is better by this measure, -1 where it is worse, else 0."""
        row, before = compared.row, compared.before
        better, worse = {
            Measure.FEWER_BYTES: (before.bytes_from_memory, row.bytes_from_memory),
            Measure.HIGHER_HIT_RATIO: (row.read_hit_ratio, before.read_hit_ratio),
            Measure.MORE_REUSE: (before.operand_share, row.operand_share),
        }[self]
        return (better > worse) - (better < worse)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A blocked method in a setting, at all its blocks, smallest block first."""

    setting: Setting
    method: str
    compared: tuple[Comparison, ...]

    @property
    def best(self) -> Comparison:
        """The comparison at the block with the fewest bytes from memory; of equals the smallest."""
        return min(self.compared, key=lambda compared: compared.row.bytes_from_memory)

    def at(self, block: int) -> Comparison | None:
        """The comparison at a block; None where it was not run."""
        return next((compared for compared in self.compared if compared.block == block), None)

    def blocks(self, measure: Measure, sign: int = 1) -> tuple[int, ...]:
        """The blocks at which the method is better by a measure, or (-1) worse, or (0) as good."""
        return tuple(compared.block for compared in self.compared if measure.sign(compared) == sign)

    def holds_everywhere(self, measure: Measure) -> bool:
        """Whether the method is better at a block and worse at none."""
        return bool(self.blocks(measure)) and not self.blocks(measure, -1)

    @property
    def worse_blocks(self) -> tuple[int, ...]:
        """The blocks that read more bytes from memory than the next smaller one."""
        return tuple(
            larger.block
            for smaller, larger in pairwise(self.compared)
            if larger.row.bytes_from_memory > smaller.row.bytes_from_memory
        )

    @property
    def largest_over_best(self) -> float:
        """Bytes from memory at the largest block over those at the best one."""
        return self.compared[-1].row.bytes_from_memory / self.best.row.bytes_from_memory


def judge(table: CacheTable) -> tuple[Judgement, ...]:
    """Every blocked method in every complete setting."""
    incomplete = {case.setting for case in table.not_run}
    before: dict[Setting, Row] = {}
    blocked: dict[tuple[Setting, str], list[Row]] = {}
    for row in table.rows:
        if row.setting in incomplete:
            continue
        if row.method == BEFORE:
            before[row.setting] = row
        else:
            blocked.setdefault((row.setting, row.method), []).append(row)
    return tuple(
        Judgement(
            setting,
            method,
            tuple(
                Comparison(row, before[setting])
                for row in sorted(rows, key=lambda row: row.block or 0)
            ),
        )
        for (setting, method), rows in blocked.items()
        if setting in before
    )
