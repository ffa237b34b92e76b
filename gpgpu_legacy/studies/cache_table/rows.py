"""The cases of the cache table, and what their simulations count."""

from __future__ import annotations

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

    def __post_init__(self) -> None:
        """ValueError for counts that exclude one another; such a record is not read."""
        super().__post_init__()
        writes, write_hits = self.accesses - self.reads, self.hits - self.read_hits
        if writes < 1 or self.read_hits > self.reads or not 0 <= write_hits <= writes:
            raise ValueError("expected reads and writes among the accesses, and no more hits")

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
    def write_hit_ratio(self) -> float:
        """Writes that hit, over writes."""
        return (self.hits - self.read_hits) / (self.accesses - self.reads)

    @property
    def operand_share(self) -> float:
        """The bytes of A and B from memory, over those requested of them."""
        return self.operand_bytes_from_memory / self.operand_bytes_requested


class NotRun(Case, kw_only=True):
    """A case without a result, and why."""

    reason: Line
