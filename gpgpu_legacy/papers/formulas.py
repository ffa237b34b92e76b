"""The papers' tables of formulas: counts of plans beside the printed formulas, and times here.

No formula is typed in here.
"""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.code_cache import recalled
from gpgpu_legacy.count.closed_form import same_formula
from gpgpu_legacy.count.coalescing import RULES, CoalescingRule, transactions
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.errors import PlanError, as_positive
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.timing import Rounds, this_platform
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.derive.printed import count, recovered
from gpgpu_legacy.papers.published.papers import find_paper, papers
from gpgpu_legacy.papers.published.schema import FormulaRow, PublishedTable
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.present.grid import Entry, Formula, Grid, RecordedResult
from gpgpu_legacy.runtime.executor import able
from gpgpu_legacy.serial import Record, as_record, provenance

ROUNDS = Rounds(count=3, most_runs=1, longest_s=1.0)


class CheckedCell(Record):
    """A column of a row: its value at (n, b), the published formula and the recovered one.

    value: None if passes differ from one another. counted: the formula that counts of real plans
    obey; None if they obey none of the papers' kind. agrees: whether the two are the same for all n
    and b.
    """

    value: int | None
    published: str
    counted: str | None
    agrees: bool


class CheckedRow(Record):
    """A row of a regenerated table.

    counts: all counts of the plan at (n, b). program_length: instructions of the method's only
    fragment program, lookups included.
    """

    method: str
    label: str
    passes: CheckedCell
    fragments_per_pass: CheckedCell
    per_fragment: CheckedCell
    total: CheckedCell
    counts: Counts
    lookups_per_fragment: int
    program_length: int

    @property
    def agrees(self) -> bool:
        """Whether every column agrees."""
        return all(cell.agrees for cell in self.cells)

    @property
    def cells(self) -> tuple[CheckedCell, ...]:
        """The four columns that the papers print."""
        return self.passes, self.fragments_per_pass, self.per_fragment, self.total


class CheckedTable(Record):
    """A published table, by its id, with its rows regenerated."""

    id: str
    rows: tuple[CheckedRow, ...]

    @property
    def published(self) -> PublishedTable:
        """The table as it is published."""
        return {t.id: t for paper in papers() for t in paper.tables}[self.id]


class MethodCost(Record):
    """The counts of a method at n×n.

    bytes_transacted: what memory transactions move, by the name of the coalescing rule; None where
    the rule does not apply, since the method draws fragments, or where they cannot be counted.
    """

    method: str
    year: int | None
    block: int | None
    counts: Counts
    bytes_transacted: dict[str, int | None]


class FormulaTables(RecordedResult, kw_only=True):
    """Tables at size n and block b, and the costs of every method if they were counted.

    Package, commit, driver and date are known where anything was timed.
    """

    size: int
    block: int
    tables: tuple[CheckedTable, ...]
    methods: tuple[MethodCost, ...] = ()
    times: Bench | None = None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A grid for each table, one of every method's costs and one of the times, if any."""
        every = [self._every_method()] if self.methods else []
        return [
            *map(self._analysis, self.tables),
            *every,
            *(self.times.grids() if self.times else ()),
        ]

    def _analysis(self, table: CheckedTable) -> Grid:
        published = table.published
        heads = [
            "method", "passes", "fragments / pass", f"{published.unit} / fragment",
            f"total {published.unit}", "published total", "recovered total", "agrees",
        ]  # fmt: skip
        own = _OWN_COLUMNS[published.quantity]
        rows = tuple(
            (
                row.method,
                *(cell.value for cell in row.cells),
                Formula(row.total.published),
                "none found" if row.total.counted is None else Formula(row.total.counted),
                row.agrees,
                *(value(row) for value in own.values()),
            )
            for row in table.rows
        )
        differences = (
            f"{row.method}, {head.replace(heads[4], 'total')}: published {cell.published}, "
            f"counted {cell.counted}."
            for row in table.rows
            for head, cell in zip(heads[1:5], row.cells, strict=True)
            if not cell.agrees
        )
        paper = find_paper(published.id.partition("/")[0])
        number = published.id.rsplit("-", 1)[-1]
        caption = (
            f"{paper.short}, Table {number} ({published.where}): {published.caption} "
            f"Values at n = {self.size}, b = {self.block}."
        )
        notes = (published.note, *differences)
        return Grid(published.id, caption, (*heads, *own), rows, notes)

    def _every_method(self) -> Grid:
        heads = (
            "method", "year", "b", "draws or dispatches", "arithmetic", "lookups or loads",
            "bytes requested", "multiply-adds / byte", "shared loads",
            *(f"bytes transacted, {name}" for name in self.methods[0].bytes_transacted),
        )  # fmt: skip
        rows = tuple(
            (
                cost.method,
                str(cost.year),
                cost.block,
                cost.counts.draws + cost.counts.dispatches,
                cost.counts.arithmetic,
                cost.counts.lookup + cost.counts.global_loads,
                cost.counts.bytes_requested,
                self.size**3 / cost.counts.bytes_requested,
                cost.counts.shared_loads or None,
                *cost.bytes_transacted.values(),
            )
            for cost in self.methods
        )
        note = (
            "Bytes transacted are those of global memory by a chip's coalescing rule: cc1.1 is the "
            "guide's of compute capability 1.1; cc1-least is the least of any chip of 1.x, for "
            "the GeForce 9400M, whose published times refute cc1.1; fermi is the Quadro 4000's. "
            "Fragment methods have none; for a method "
            "with a single invocation they are counted only if it is short."
        )
        caption = f"Every method, counted at n = {self.size}."
        return Grid("every-method", caption, heads, rows, (note,))


_OWN_COLUMNS: dict[str, dict[str, Callable[[CheckedRow], Entry]]] = {
    "bytes_requested": {
        "copied, bytes": lambda row: row.counts.copy_bytes,
        "geometry, bytes": lambda row: row.counts.geometry_bytes,
    },
    "arithmetic": {
        "lookups / fragment": lambda row: row.lookups_per_fragment,
        "program with END": lambda row: row.program_length + 1,
    },
}


def formula_tables(
    size: int,
    block: int,
    paper: str | None = None,
    times: Bench | None = None,
    *,
    every: bool = False,
) -> FormulaTables:
    """The tables of a paper, or of all, at a size and a block.

    paper: its id. times: our own, to show below. every: whether to count every method. Raises
    InputError if the size or the block is out of range.
    """
    name = f"tables of formulas of {paper} at {size}, {block}"
    return FormulaTables(
        **(provenance(this_platform().driver) if times else {}),
        size=size,
        block=block,
        tables=tuple(recalled(name, lambda: regenerate(size, block, paper))),
        methods=tuple(every_method(size, block)) if every else (),
        times=times,
    )


def regenerate(size: int, block: int, paper: str | None = None) -> list[CheckedTable]:
    """The papers' tables of formulas, with counts of plans for n×n matrices and block b.

    paper: the id of one paper; by default all. Raises InputError if the size or the block is out of
    range.
    """
    as_positive("the size", size)
    return [
        CheckedTable(
            id=published.id,
            rows=tuple(_row(published, row, size, block) for row in published.rows),
        )
        for chosen in papers()
        if paper in (None, chosen.id)
        for published in chosen.tables
    ]


def _row(table: PublishedTable, published: FormulaRow, size: int, block: int) -> CheckedRow:
    product = Product(published.method, size, block)
    cells = {}
    for column, quantity in table.quantities.items():
        formula, known = getattr(published, column), recovered(product.method, quantity, None)
        cells[column] = CheckedCell(
            value=count(product, quantity),
            published=formula,
            counted=None if known is None else str(known),
            agrees=same_formula(known, formula),
        )
    counts = product.counts
    return as_record(
        CheckedRow,
        published,
        **cells,
        counts=counts,
        lookups_per_fragment=counts.lookup // counts.fragments,
        program_length=count(product, "program_length"),
    )


def methods_of_tables() -> list[str]:
    """The methods in the tables of formulas, in their order."""
    rows = (row.method for paper in papers() for table in paper.tables for row in table.rows)
    return list(dict.fromkeys(rows))


def every_method(size: int, block: int) -> list[MethodCost]:
    """The counts of every method, by year, for n×n matrices.

    block: of the methods that take any block; the others keep their default.
    """
    as_positive("the size", size)
    return [_method_cost(method, size, block) for method in products()]


def _method_cost(method: Algorithm, size: int, block: int) -> MethodCost:
    has_choices = "block" in method.parameters and method.parameters["block"].choices
    p = method.builder(n=size) if has_choices else Product(method.name, size, block).builder
    plan, chosen = p.plan(), p.parameters.get("block")
    assert chosen is None or isinstance(chosen, int)
    return MethodCost(
        method=method.name,
        year=method.year,
        block=chosen,
        counts=count_plan(plan),
        bytes_transacted={name: _transacted(plan, rule) for name, rule in RULES.items()},
    )


def _transacted(plan: Plan, rule: CoalescingRule) -> int | None:
    try:
        return transactions(plan, rule).bytes_transacted
    except PlanError:
        return None


def benchmark_of(size: int, block: int) -> Benchmark:
    """Every method of the tables on every executor that works here, on random n×n matrices.

    Raises InputError if the size or the block is out of range.
    """
    as_positive("the size", size)
    products = [Product(name, size, block) for name in methods_of_tables()]
    cases = [
        Case(product.builder, executors=[executor.name for executor in able(product.plan)])
        for product in products
    ]
    return Benchmark(cases, peers=(), has_reference=False, rounds=ROUNDS)
