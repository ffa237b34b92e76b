"""The table that Hall, Carr & Hart 2003 does not have: its Table 1 through caches.

Section 6 says that "the block structured approach should yield greater cache coherence than
previous methods"; nothing there measures it. Here the three methods of Table 1 go through a
simulated cache, at several blocks, and are compared by what they fetch from memory.

Three measures are compared, since bytes from memory alone say little about a cache. A larger block
reads and writes fewer partial sums, and four elements in a texel need fewer lookups: both lower the
bytes requested, with any cache and without one. The measure that is free of both effects is the
share of the bytes requested of A and B that comes from memory. Hit ratios are of reads only. A
write, which allocates no line, hits where blending has just read the same texel, and misses where
it goes to another texture; either way it goes to memory.

The number of fragments in flight matters as much as the cache: neighbours that wait together
look up the same texels of A and B one after another, before any other texel evicts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from time import time
from typing import Annotated, Any

from gpgpu_legacy.algorithms.matmul.product import Accumulate, Sizes
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.command.frame import Kept, answers
from gpgpu_legacy.api.command.words import BLOCK, SIZE, Caches, Dask, Layouts, ManyInFlight, Rasters
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run, operand_tallies, plan_trace
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.measure.timing import Budget, BudgetSpentError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import as_record, provenance
from gpgpu_legacy.studies.shared.cache_rows import (
    BEFORE,
    BLOCKED,
    BLOCKS,
    CACHES,
    FLIGHTS,
    LAYOUTS,
    RASTERS,
    TABLE_SIZE,
    CacheTable,
    Setting,
    TableCase,
    TableNotRun,
    TableRow,
    settings,
)
from gpgpu_legacy.studies.shared.sweep import sweep, workers

SAVE_EVERY_S = 2.0


@frozen
class Products:
    """The products of a table: n×n matrices, by the blocked methods at several blocks.

    Partial sums alternate between two textures: that requests the 2b + 2 texels per fragment that
    Table 1 counts, and no copy.
    """

    size: int = TABLE_SIZE
    blocks: tuple[int, ...] = BLOCKS

    def cases(self, where: Iterable[Setting]) -> tuple[TableCase, ...]:
        """All cases, setting by setting, the method before the paper first."""
        names = [(BEFORE, None), *product(BLOCKED, dict.fromkeys(self.blocks))]
        return tuple(setting.case_of(method, block) for setting in where for method, block in names)

    def plan(self, case: TableCase) -> Plan:
        """The plan of a case; InputError if the block does not fit the method."""
        blocks: dict[str, Any] = {}
        if case.block is not None:
            blocks = {"block": case.block, "accumulate": Accumulate.PING_PONG}
        return find_product(case.method).plan(n=self.size, **blocks)


def make_table(
    products: Products,
    where: Sequence[Setting],
    budget: Budget,
    *,
    pool: Executor | None = None,
    save: Callable[[CacheTable], object] = lambda _: None,
) -> CacheTable:
    """Simulate every case within the budget; see `sweep`.

    budget: limits the time, and is told of each case. save: called with the table so far,
    SAVE_EVERY_S seconds or more after the last call. A case that the budget cuts short is in
    `not_run`. Raises InputError for numbers out of range, and for cases that cannot be simulated.
    """
    as_positive("the size", Sizes(products.size).shape.n)
    cases = products.cases(where)
    small = replace(products, size=1)
    for case in {(c.method, c.block, parse_cache(c.cache).line_bytes): c for c in cases}.values():
        plan_trace(small.plan(case), parse_cache(case.cache).line_bytes, case.access)
    saved, rows = -inf, dict[TableCase, TableRow]()

    def table() -> CacheTable:
        return CacheTable(
            **provenance(),
            size=products.size,
            budget_s=budget.seconds,
            spent_s=round(budget.spent_s, 1),
            rows=tuple(rows[case] for case in cases if case in rows),
            not_run=tuple(
                as_record(TableNotRun, case, reason="the simulation was stopped before its end")
                for case in cases
                if case not in rows
            ),
        ).judged()

    def done(item: tuple[Products, TableCase], row: TableRow | None) -> None:
        nonlocal saved
        budget.tell(str(item[1]))
        if row is not None:
            rows[item[1]] = row
            if budget.spent_s - saved >= SAVE_EVERY_S:
                save(table())
                saved = budget.spent_s

    shared = Budget(max(0.0, budget.left_s), time)  # a clock that other machines have, too
    sweep(partial(_simulate, shared), [(products, case) for case in cases], pool, done)
    return table()


def _simulate(budget: Budget, item: tuple[Products, TableCase]) -> TableRow | None:
    """The row of a case; None if the budget ends before it does."""
    products, case = item
    progress, memory = budget.until_spent(), Memory((parse_cache(case.cache),))
    try:
        progress(0.0)
        plan = products.plan(case)
        result = cache_run(plan, memory, case.access, progress=progress)
    except BudgetSpentError:
        return None
    operands = operand_tallies(plan, result)
    return as_record(
        TableRow,
        case,
        result,
        operand_bytes_requested=sum(tally.bytes_requested for tally in operands),
        operand_bytes_from_memory=sum(tally.bytes_from_memory for tally in operands),
    )


# The command --------------------------------------------------------------------------------------


@answers("study cache-table", plot="Plot the share of A and B from memory over b.")
def cache_table_command(
    *,
    size: Annotated[int, SIZE] = TABLE_SIZE,
    block: Annotated[tuple[int, ...], BLOCK] = BLOCKS,
    cache: Caches = CACHES,
    raster: Rasters = RASTERS,
    layout: Layouts = LAYOUTS,
    in_flight: ManyInFlight = FLIGHTS,
    budget: Annotated[float, "SECONDS", "Stop after this time; it may take hours."] = 600.0,
    dask: Dask = "",
    report: Kept,
) -> CacheTable:
    """Make the table that Hall, Carr & Hart 2003 does not have: its methods through caches.

    The verdict on "greater cache coherence" (Section 6) follows from the rows. Cases that do not
    fit the budget are listed; the defaults take minutes to hours to simulate. A table that is
    stopped goes on where it ended.
    """
    if recorded := report.read(CacheTable):
        return recorded
    where, products = settings(cache, raster, layout, in_flight), Products(size, block)
    cases = len(products.cases(where))
    with workers(dask) as pool, report.work("simulating", cases, budget) as within:
        return make_table(products, where, within, pool=pool, save=report.save)
