"""The cases of the cache table, what their simulations count, and which method is better."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Annotated

from gpgpu_legacy.bounded import Line, Meta, PositiveInt, Size, Whole
from gpgpu_legacy.cache.access import MOST_IN_FLIGHT, Access, parse_access
from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.cache_table.defaults import BEFORE

InFlight = Annotated[int, Meta(ge=1, le=MOST_IN_FLIGHT)]


class Setting(Record):
    """A cache, an order of fragments and a texture layout, by their canonical names.

    in_flight: how many fragments are in flight; see `Access`. It is 1 in a file that is older than
    the field.
    """

    cache: Line
    raster: Line
    layout: Line
    in_flight: InFlight = 1

    @property
    def access(self) -> Access:
        """The raster order, the layout and the fragments in flight."""
        return parse_access(self.layout, self.raster, in_flight=self.in_flight)

    def case_of(self, method: str, block: int | None) -> Case:
        """A method in this setting, at a block where it has one."""
        return as_record(Case, self, method=method, block=block)

    def __str__(self) -> str:
        """The setting in a few words."""
        return f"{self.cache}, {self.access}"


class Case(Setting, kw_only=True):
    """A method at a block (None where it has none) in a setting."""

    method: Line
    block: Size | None

    def __post_init__(self) -> None:
        """ValueError for a blocked method without a block; such a record is not read."""
        if self.block is None and self.method != BEFORE:
            raise ValueError(f"{self.method} has blocks; expected the block of this case")

    @property
    def setting(self) -> Setting:
        """The cache, the raster order, the layout and the fragments in flight."""
        return as_record(Setting, self)

    def __str__(self) -> str:
        """The case in a few words."""
        block = "" if self.block is None else f", b = {self.block}"
        return f"{self.method}{block}: {self.setting}"


class Row(Case, kw_only=True):
    """The accesses of a case, and the bytes that they move.

    accesses, hits: reads and writes together. operand_…: of the bytes, those of A and B.
    """

    accesses: PositiveInt
    hits: Whole
    reads: PositiveInt
    read_hits: Whole
    bytes_requested: PositiveInt
    bytes_from_memory: PositiveInt
    bytes_to_memory: Whole
    operand_bytes_requested: PositiveInt
    operand_bytes_from_memory: PositiveInt

    @property
    def case(self) -> Case:
        """What the row is of."""
        return as_record(Case, self)

    @property
    def access_hit_ratio(self) -> float:
        """Hits over accesses."""
        return self.hits / self.accesses

    @property
    def read_hit_ratio(self) -> float:
        """Reads that hit, over reads."""
        return self.read_hits / self.reads

    @property
    def operand_share(self) -> float:
        """The bytes of A and B from memory, over those requested of them."""
        return self.operand_bytes_from_memory / self.operand_bytes_requested


class NotRun(Case, kw_only=True):
    """A case without a result, and why."""

    reason: Line


# Which method is better ---------------------------------------------------------------------------


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
    def operand_share(self) -> float:
        """The share of A's and B's bytes from memory, over the other's; below 1 is more reuse."""
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

    @property
    def worse_blocks(self) -> tuple[int, ...]:
        """The blocks that read more bytes from memory than the next smaller one."""
        return tuple(
            larger.block
            for smaller, larger in pairwise(self.compared)
            if larger.row.bytes_from_memory > smaller.row.bytes_from_memory
        )
