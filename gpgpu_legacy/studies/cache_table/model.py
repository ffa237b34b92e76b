"""The table that Hall, Carr & Hart 2003 does not have: what a cache makes of its Table 1.

Section 6 says that "the block structured approach should yield greater cache coherence than
previous methods"; nothing there measures it. Here the three methods of Table 1 go through a
simulated cache, at several blocks, and are compared by what they fetch from memory.

Three measures are compared, since bytes from memory alone say little about a cache. A larger block
reads and writes fewer partial sums, and four elements in a texel need fewer lookups: both lower the
bytes requested, with any cache and without one. The measure that is free of both effects is the
share of the bytes requested of A and B that comes from memory. Hit ratios are of reads only: a
write that does not allocate hits where blending has just read the same texel, and misses where it
goes to another texture; either way it goes to memory.

How many fragments are in flight decides as much as the cache does: neighbours that wait together
look up the same texels of A and B one after another, before any other texel evicts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from math import inf
from os import cpu_count
from threading import Event
from typing import Annotated

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.bounded import (
    Limit,
    Line,
    Meta,
    NotNegative,
    OneLine,
    PositiveInt,
    Several,
    Size,
    Whole,
)
from gpgpu_legacy.cache.access import MOST_IN_FLIGHT, Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.layout import parse_layout
from gpgpu_legacy.cache.raster import parse_raster
from gpgpu_legacy.cache.run import cache_run, operand_tallies, plan_trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record, Recorded, as_record, provenance

BEFORE = "larson-mcallister"
BLOCKED = ("hall-carr-hart-single", "hall-carr-hart-multi")

SIZE = 1024  # what the paper's Section 5.3 works out
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
CACHES = ("2K,4way,64B", "8K,4way,64B", "8K,fully,64B", "16K,4way,64B", "32K,2way,128B")
"""The texture caches of the time are unpublished. Hakura & Gupta 1997 find working sets of up to
16 KB and study 32 KB, 2-way, lines of 128 bytes. The fully associative cache of 8 KB separates
misses for want of capacity from misses for want of ways."""
RASTERS = ("scan", "tiled:8x8", "tiled:32x32")
LAYOUTS = ("linear", "8x8")
IN_FLIGHT = (1, 16, 64, 256)
"""How many fragments the chips of the time kept in flight is unpublished; it was more than one."""
SAVE_EVERY_S = 2.0
MOST_WORKERS = 256
"""The most simulations at a time: each takes memory, and processors have no more cores."""
ACCUMULATE = Accumulate.PING_PONG
"""Table 1 counts 2b + 2 texels per fragment and no copy; two textures used alternately request just
that."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A cache, an order of fragments and a texture layout, by their canonical names.

    in_flight: how many fragments are in flight; see `Access`.
    """

    cache: str
    raster: str
    layout: str
    in_flight: int = 1

    @property
    def access(self) -> Access:
        """The raster order, the layout and the fragments in flight."""
        return parse_access(self.layout, self.raster, in_flight=self.in_flight)

    def __str__(self) -> str:
        """The setting in a few words."""
        return f"{self.cache}, {self.access}"


@dataclass(frozen=True, slots=True)
class Case:
    """A method at a block (None where it has none) in a setting."""

    method: str
    block: int | None
    setting: Setting

    def __str__(self) -> str:
        """The case in a few words."""
        block = "" if self.block is None else f", b = {self.block}"
        return f"{self.method}{block}: {self.setting}"


InFlight = Annotated[int, Meta(ge=1, le=MOST_IN_FLIGHT)]


class CaseRecord(Record):
    """A case as the fields of a row. in_flight: 1 in a file that is older than the field."""

    method: Line
    block: Size | None
    cache: Line
    raster: Line
    layout: Line
    in_flight: InFlight = 1

    def __post_init__(self) -> None:
        """ValueError for a blocked method without a block; such a record is not read."""
        if self.block is None and self.method != BEFORE:
            raise ValueError(f"{self.method} has blocks; expected the block of this case")

    @property
    def setting(self) -> Setting:
        """The cache, the raster order, the layout and the fragments in flight."""
        return Setting(self.cache, self.raster, self.layout, self.in_flight)

    @property
    def case(self) -> Case:
        """The method, the block and the setting."""
        return Case(self.method, self.block, self.setting)


class Row(CaseRecord, kw_only=True):
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


class NotRun(CaseRecord, kw_only=True):
    """A case without a result, and why."""

    reason: Line


class RecordedVerdict(Record):
    """The verdict as it stood when a table was recorded; `verdict` makes it anew from the rows."""

    claim: OneLine
    against: OneLine
    sentences: Several[OneLine]


class CacheTable(Recorded, kw_only=True):
    """The table: n×n matrices, complete simulations only. spent_s: seconds in total.

    verdict: None in a table that was not recorded.
    """

    WHAT = "a table that `gpgpu-legacy cache-table --output` recorded"

    size: Size
    accumulate: Accumulate
    budget_s: Limit | None
    spent_s: NotNegative
    rows: Several[Row]
    not_run: Several[NotRun]
    verdict: RecordedVerdict | None = None

    @property
    def multiply_adds(self) -> int:
        """The multiply-adds of each product."""
        return self.size**3


# Cases --------------------------------------------------------------------------------------------


def settings(
    caches: Iterable[str],
    rasters: Iterable[str],
    layouts: Iterable[str],
    in_flight: Iterable[int] = (1,),
) -> tuple[Setting, ...]:
    """Every combination of these spellings; those that differ only in the cache are adjacent.

    Raises InputError for unknown spellings, and for a number in flight that Access refuses.
    """
    known = [str(parse_cache(text)) for text in caches]
    orders = [parse_raster(text).name for text in rasters]
    places = [parse_layout(text).name for text in layouts]
    numbers = [Access(in_flight=number).in_flight for number in in_flight]
    combined = product(
        dict.fromkeys(orders), dict.fromkeys(places), dict.fromkeys(numbers), dict.fromkeys(known)
    )
    return tuple(
        Setting(cache, raster, layout, number) for raster, layout, number, cache in combined
    )


# Running ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Products:
    """The products of a table: n×n matrices, by the blocked methods at several blocks."""

    size: int = SIZE
    blocks: tuple[int, ...] = BLOCKS
    accumulate: Accumulate = ACCUMULATE

    def __post_init__(self) -> None:
        as_positive("the size", self.size)

    def cases(self, where: Iterable[Setting]) -> tuple[Case, ...]:
        """All cases, setting by setting, the method before the paper first."""
        names = [(BEFORE, None), *product(BLOCKED, dict.fromkeys(self.blocks))]
        return tuple(Case(method, block, setting) for setting in where for method, block in names)

    def plan(self, case: Case, size: int | None = None) -> Plan:
        """The plan of a case; InputError where the block does not fit the method."""
        method, n = find_method(case.method), self.size if size is None else size
        if case.block is None:
            return method.plan(Shape(n, n, n))
        options = Options(block=case.block, accumulate=self.accumulate)
        return method.plan(Shape(n, n, n), options)


def make_table(
    products: Products,
    where: Sequence[Setting],
    budget: Budget,
    *,
    known: CacheTable | None = None,
    workers: int | None = None,
    progress: Callable[[str], object] = lambda _: None,
    save: Callable[[CacheTable], None] | None = None,
) -> CacheTable:
    """Simulate every case, several at a time, as far as the budget goes.

    known: a table of the same products, whose rows are kept, other cases included. workers: threads
    (default: one per core). progress: called after each case. save: called with the table so far
    when SAVE_EVERY_S or more have passed since it was last called, so that a table that is stopped
    can be resumed. A case that the budget cuts short is not among the rows. Raises InputError for
    numbers out of range, and for cases that cannot be simulated.
    """
    size, accumulate = products.size, products.accumulate
    Shape(size, size, size).checked()
    if known is not None and (known.size, known.accumulate) != (size, accumulate):
        raise InputError(
            f"the recorded rows are of n = {known.size}, {known.accumulate.value}, and not of "
            f"n = {size}, {accumulate.value}"
        )
    if workers is not None and workers < 1:
        raise InputError(f"there are {workers} workers; give at least 1")
    if workers is not None and workers > MOST_WORKERS:
        raise InputError(f"there are {workers} workers; give at most {MOST_WORKERS}")
    wanted = products.cases(where)
    rows_known = {row.case: row for row in known.rows} if known else {}
    others = _others(known, wanted) if known else []
    _check(products, wanted)
    started, saved, stopped = budget.spent_s, -inf, Event()

    def report(_: float) -> None:
        if stopped.is_set():
            raise _StoppedError

    reached: dict[Case, Row | NotRun] = {
        case: rows_known[case] for case in wanted if case in rows_known
    }

    def table() -> CacheTable:
        why = "the simulation was stopped before it"
        outcomes = [*others, *(reached.get(case) or _not_run(case, why) for case in wanted)]
        spent_s = budget.spent_s - started + (known.spent_s if known else 0.0)
        return CacheTable(
            **provenance(),
            size=size,
            accumulate=accumulate,
            budget_s=budget.seconds,
            spent_s=round(spent_s, 1),
            rows=tuple(outcome for outcome in outcomes if isinstance(outcome, Row)),
            not_run=tuple(outcome for outcome in outcomes if isinstance(outcome, NotRun)),
        )

    for case in reached:
        progress(str(case))
    with ThreadPoolExecutor(workers or cpu_count() or 1) as pool:
        futures = {
            pool.submit(_simulate, products, case, budget, report): case
            for case in wanted
            if case not in reached
        }
        try:
            for future in as_completed(futures):
                case = futures[future]
                reached[case] = future.result()
                progress(str(case))
                is_row = isinstance(reached[case], Row)
                if save is not None and is_row and budget.spent_s - saved >= SAVE_EVERY_S:
                    save(table())
                    saved = budget.spent_s
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return table()


def _others(known: CacheTable, wanted: Iterable[Case]) -> list[Row | NotRun]:
    """What a table says of other cases."""
    these, all_of = set(wanted), list[Row | NotRun]([*known.rows, *known.not_run])
    return [record for record in all_of if record.case not in these]


def _not_run(case: Case, reason: str) -> NotRun:
    return as_record(NotRun, case, case.setting, reason=reason)


class _StoppedError(Exception):
    """Another simulation failed, or the user interrupted the table."""


def _check(products: Products, wanted: Iterable[Case]) -> None:
    """InputError, before the long part, for a case that cannot be simulated.

    Its plan and the length of a line alone decide that.
    """
    different = {
        (case.method, case.block, parse_cache(case.setting.cache).line_bytes): case
        for case in wanted
    }
    for (_, _, line_bytes), case in different.items():
        plan_trace(products.plan(case, size=1), line_bytes, case.setting.access)


def _simulate(
    products: Products, case: Case, budget: Budget, report: Callable[[float], None]
) -> Row | NotRun:
    refusal = budget.refusal()
    if refusal is not None:
        return _not_run(case, refusal)
    plan = products.plan(case)
    result = cache_run(
        plan,
        Memory((parse_cache(case.setting.cache),)),
        case.setting.access,
        budget_s=budget.left_s,
        progress=report,
    )
    if not result.exact:
        left_out, iterations = result.iterations_left_out, result.iterations
        why = f"the budget was spent {left_out} of {iterations} iterations before the end"
        return _not_run(case, why)
    operands = operand_tallies(plan, result)
    return as_record(
        Row,
        case,
        case.setting,
        result,
        reads=sum(tally.reads for tally in result.regions),
        read_hits=sum(tally.read_hits for tally in result.regions),
        operand_bytes_requested=sum(tally.bytes_requested for tally in operands),
        operand_bytes_from_memory=sum(tally.bytes_from_memory for tally in operands),
    )
