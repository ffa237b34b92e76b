"""The table that Hall, Carr & Hart 2003 does not have: what a cache makes of its Table 1.

Section 6 says that "the block structured approach should yield greater cache coherence than
previous methods"; nothing there measures it. Here the three methods of Table 1 go through a
simulated cache, at several blocks, and are compared by what they take from memory.

Three things are compared, for bytes from memory alone do not tell of a cache. A larger block reads
and writes fewer partial sums, and four quadrants in a texel need fewer lookups: either lowers the
bytes requested, with any cache and with none. What is left of both is the share of the bytes looked
up in A and B that came from memory. Hit ratios are of reads: a write that does not allocate hits
where the same texel was read before, to blend, and misses where it goes to another texture; either
way it goes to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, product
from os import cpu_count
from threading import Event
from time import perf_counter

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cache.access import Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.layout import parse_layout
from gpgpu_legacy.cache.raster import parse_raster
from gpgpu_legacy.cache.run import cache_run, operand_tallies, plan_trace
from gpgpu_legacy.cache.simulate import Result
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan

BEFORE = "larson-mcallister"
BLOCKED = ("hall-carr-hart-single", "hall-carr-hart-multi")

SIZE = 1024  # what the paper's Section 5.3 works out
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
CACHES = ("2K,4way,64B", "8K,4way,64B", "8K,fully,64B", "16K,4way,64B", "32K,2way,128B")
"""Texture caches of the time are unpublished. Hakura & Gupta 1997 find working sets of up to 16 KB
and study 32 KB, 2-way, lines of 128 bytes. One of 8 KB in which no line is in another's way tells
what is for want of room and what is for want of ways."""
RASTERS = ("scan", "tiled:8x8", "tiled:32x32")
LAYOUTS = ("linear", "8x8")
ACCUMULATE = Accumulate.PING_PONG
"""Table 1 counts 2b + 2 texels a fragment, and no copy: two textures that take turns ask for just
that many."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A cache, an order of fragments and a texture layout, by their canonical names."""

    cache: str
    raster: str
    layout: str

    @property
    def access(self) -> Access:
        """The raster order and the layout."""
        return parse_access(self.layout, self.raster)

    def __str__(self) -> str:
        """The three in a few words."""
        return f"{self.cache}, {self.raster}, {self.layout}"


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


@dataclass(frozen=True, slots=True)
class Row:
    """What a case came to.

    accesses, hits: reads and writes together. operand_…: of the bytes, those of A and B.
    """

    case: Case
    accesses: int
    hits: int
    reads: int
    read_hits: int
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int
    operand_bytes_requested: int
    operand_bytes_from_memory: int

    @property
    def hit_ratio(self) -> float:
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
        """The bytes from memory of A and B, over those looked up in them."""
        return self.operand_bytes_from_memory / self.operand_bytes_requested


@dataclass(frozen=True, slots=True)
class NotRun:
    """A case without a result, and why."""

    case: Case
    reason: str


@dataclass(frozen=True, slots=True)
class CacheTable:
    """The table: n×n matrices, whole simulations only. spent_s: seconds, all told."""

    size: int
    accumulate: Accumulate
    rows: tuple[Row, ...]
    not_run: tuple[NotRun, ...]
    budget_s: float
    spent_s: float

    @property
    def multiply_adds(self) -> int:
        """Of each product."""
        return self.size**3


# Cases --------------------------------------------------------------------------------------------


def settings(
    caches: Iterable[str], rasters: Iterable[str], layouts: Iterable[str]
) -> tuple[Setting, ...]:
    """Every combination, the caches of a raster order and a layout together; InputError."""
    known = [str(parse_cache(text)) for text in caches]
    orders = [parse_raster(text).name for text in rasters]
    places = [parse_layout(text).name for text in layouts]
    combined = product(dict.fromkeys(orders), dict.fromkeys(places), dict.fromkeys(known))
    return tuple(Setting(cache, raster, layout) for raster, layout, cache in combined)


def cases(blocks: Sequence[int], where: Iterable[Setting]) -> tuple[Case, ...]:
    """All cases, setting by setting, the method before the paper first."""
    names = [(BEFORE, None), *product(BLOCKED, dict.fromkeys(blocks))]
    return tuple(Case(method, block, each) for each in where for method, block in names)


def plan_of(case: Case, size: int, accumulate: Accumulate) -> Plan:
    """The plan of a case; InputError where the block is none."""
    method = find_method(case.method)
    if case.block is None:
        return method.plan(Shape(size, size, size))
    options = Options(block=case.block, accumulate=accumulate)
    return method.plan(Shape(size, size, size), options)


# Running ------------------------------------------------------------------------------------------


def make_table(
    size: int,
    blocks: Sequence[int],
    where: Sequence[Setting],
    accumulate: Accumulate,
    budget_s: float,
    *,
    known: CacheTable | None = None,
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> CacheTable:
    """Simulate every case, several at a time, as far as the seconds go.

    known: a table of the same products, whose rows are taken as they are. workers: threads
    (default: one a core). progress: called once a case. A case that the budget cuts short is not
    among the rows. Raises InputError for what is out of range or there is not.
    """
    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    if not budget_s >= 0.0:
        raise InputError(f"the budget is {budget_s}; give a number of seconds, 0 or more")
    if known is not None and (known.size, known.accumulate) != (size, accumulate):
        raise InputError(
            f"the recorded rows are of n = {known.size}, {known.accumulate.value}, and not of "
            f"n = {size}, {accumulate.value}"
        )
    if workers is not None and workers < 1:
        raise InputError(f"there are {workers} workers; give at least 1")
    rows_known = {row.case: row for row in known.rows} if known else {}
    wanted = cases(blocks, where)
    for case in _unlike(wanted):
        _check(case, accumulate)
    started, stopped = perf_counter(), Event()

    def report(_: float) -> None:
        if stopped.is_set():
            raise _StoppedError

    def one(case: Case) -> Row | NotRun:
        if case in rows_known:
            return rows_known[case]
        return _simulate(case, size, accumulate, budget_s - (perf_counter() - started), report)

    found = []
    with ThreadPoolExecutor(workers or cpu_count() or 1) as pool:
        futures: list[Future[Row | NotRun]] = [pool.submit(one, case) for case in wanted]
        try:
            for case, future in zip(wanted, futures, strict=True):
                found.append(future.result())
                if progress is not None:
                    progress(str(case))
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    rows = tuple(each for each in found if isinstance(each, Row))
    not_run = tuple(each for each in found if isinstance(each, NotRun))
    spent_s = perf_counter() - started + (known.spent_s if known else 0.0)
    return CacheTable(size, accumulate, rows, not_run, budget_s, spent_s)


class _StoppedError(Exception):
    """Another simulation failed, or the user has had enough."""


def _unlike(wanted: Iterable[Case]) -> Iterable[Case]:
    """One case of each plan and line; whether a plan can be followed does not depend on more."""
    return {
        (each.method, each.block, parse_cache(each.setting.cache).line_bytes): each
        for each in wanted
    }.values()


def _check(case: Case, accumulate: Accumulate) -> None:
    """InputError, before the long part, for what cannot be followed."""
    setting, line_bytes = case.setting, parse_cache(case.setting.cache).line_bytes
    plan = plan_of(case, 1, accumulate)
    plan_trace(plan, line_bytes, setting.access)


def _simulate(
    case: Case,
    size: int,
    accumulate: Accumulate,
    left_s: float,
    report: Callable[[float], None],
) -> Row | NotRun:
    if left_s <= 0.0:
        return NotRun(case, "the budget was spent")
    plan, setting = plan_of(case, size, accumulate), case.setting
    memory = Memory((parse_cache(setting.cache),))
    result = cache_run(plan, memory, setting.access, budget_s=left_s, progress=report)
    if not result.exact:
        left_out, all_of_them = result.iterations_left_out, result.iterations
        return NotRun(
            case, f"the budget was spent {left_out} of {all_of_them} iterations before the end"
        )
    return _row(case, plan, result)


def _row(case: Case, plan: Plan, result: Result) -> Row:
    operands = operand_tallies(plan, result)
    return Row(
        case,
        result.accesses,
        result.hits,
        sum(each.reads for each in result.regions),
        sum(each.read_hits for each in result.regions),
        result.bytes_requested,
        result.bytes_from_memory,
        result.bytes_to_memory,
        sum(each.bytes_requested for each in operands),
        sum(each.bytes_from_memory for each in operands),
    )


# The verdict --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """A blocked row, and that of the method before it in the same setting."""

    row: Row
    before: Row

    @property
    def block(self) -> int:
        """The paper's b."""
        assert self.row.case.block is not None
        return self.row.case.block

    @property
    def bytes_from_memory(self) -> float:
        """Those of the blocked method over the other's: what is saved in all."""
        return self.row.bytes_from_memory / self.before.bytes_from_memory

    @property
    def bytes_requested(self) -> float:
        """Likewise: what is saved with no cache."""
        return self.row.bytes_requested / self.before.bytes_requested

    @property
    def operand_bytes_requested(self) -> float:
        """Likewise, of A and B: fewer where a lookup brings four elements."""
        return self.row.operand_bytes_requested / self.before.operand_bytes_requested

    @property
    def operand_share(self) -> float:
        """Likewise, of the share of A's and B's that came from memory: below 1 is more reuse."""
        return self.row.operand_share / self.before.operand_share


class Measure(Enum):
    """What "greater cache coherence" can be taken for."""

    FEWER_BYTES = "fewer bytes from memory"
    HIGHER_HIT_RATIO = "a higher hit ratio of reads"
    MORE_REUSE = "a smaller share of the bytes looked up in A and B from memory"

    def sign(self, compared: Comparison) -> int:
        """1 where the blocked method is the better one by this measure, -1 the worse, 0 neither."""
        row, before = compared.row, compared.before
        better, worse = {
            Measure.FEWER_BYTES: (before.bytes_from_memory, row.bytes_from_memory),
            Measure.HIGHER_HIT_RATIO: (row.read_hit_ratio, before.read_hit_ratio),
            Measure.MORE_REUSE: (before.operand_share, row.operand_share),
        }[self]
        return (better > worse) - (better < worse)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A blocked method in a setting, over all blocks that were run: smallest block first."""

    setting: Setting
    method: str
    compared: tuple[Comparison, ...]

    @property
    def best(self) -> Comparison:
        """The block of the fewest bytes from memory; the smallest of several."""
        return min(self.compared, key=lambda each: each.row.bytes_from_memory)

    def at(self, block: int) -> Comparison | None:
        """The comparison at a block; None where it was not run."""
        return next((each for each in self.compared if each.block == block), None)

    def blocks(self, measure: Measure, sign: int = 1) -> tuple[int, ...]:
        """The blocks at which the method is better by a measure, or (-1) worse, or (0) as good."""
        return tuple(each.block for each in self.compared if measure.sign(each) == sign)

    def holds_everywhere(self, measure: Measure) -> bool:
        """Whether the method is better at a block and worse at none."""
        return bool(self.blocks(measure)) and not self.blocks(measure, -1)

    @property
    def worse_blocks(self) -> tuple[int, ...]:
        """The blocks that take more bytes from memory than the next smaller one."""
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
    """Every blocked method in every setting of which no case is missing."""
    incomplete = {each.case.setting for each in table.not_run}
    before: dict[Setting, Row] = {}
    blocked: dict[tuple[Setting, str], list[Row]] = {}
    for row in table.rows:
        if row.case.setting in incomplete:
            continue
        if row.case.method == BEFORE:
            before[row.case.setting] = row
        else:
            blocked.setdefault((row.case.setting, row.case.method), []).append(row)
    return tuple(
        Judgement(
            setting,
            method,
            tuple(Comparison(row, before[setting]) for row in sorted(found, key=_block)),
        )
        for (setting, method), found in blocked.items()
        if setting in before
    )


def _block(row: Row) -> int:
    return row.case.block or 0
