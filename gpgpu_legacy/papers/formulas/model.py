"""The papers' tables of formulas, regenerated: counts of plans beside what was printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.coalescing import RULES, Rule, transactions
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.traffic import Counts, count_plan, fragments_per_pass
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import FormulaRow
from gpgpu_legacy.published.tables import PublishedTable


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of a row: its value at (n, b), what was published, what was recovered.

    value: None where passes differ from one another. counted: a sympy expression, or None where
    no closed form of the papers' kind gives the counts.
    """

    value: int | None
    published: str
    counted: Any

    @property
    def agrees(self) -> bool:
        """Whether the two formulas are the same for all n and b."""
        return same_formula(self.counted, self.published)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a regenerated table. counts: the plan's at (n, b), for the columns of our own.

    program_length: instructions of the (only) fragment program, lookups among them.
    """

    method: str
    label: str
    passes: Cell
    fragments_per_pass: Cell
    per_fragment: Cell
    total: Cell
    counts: Counts
    lookups_per_fragment: int
    program_length: int

    @property
    def agrees(self) -> bool:
        """Whether every column agrees."""
        cells = (self.passes, self.fragments_per_pass, self.per_fragment, self.total)
        return all(cell.agrees for cell in cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A published table with its rows regenerated at size n and block b."""

    published: PublishedTable
    size: int
    block: int
    rows: tuple[Row, ...]


def regenerate(size: int, block: int, paper: str | None = None) -> list[Table]:
    """Every table of the papers that is made of formulas, at n×n matrices and block b.

    paper: one paper's id; without, all. Raises InputError where the size or the block is out of
    range.
    """
    check_size(size)
    at = cache(_counted)
    return [
        Table(
            published,
            size,
            block,
            tuple(_row(published, row, size, block, at) for row in published.rows),
        )
        for chosen in papers()
        if paper in (None, chosen.id)
        for published in chosen.tables
    ]


def check_size(size: int) -> None:
    """InputError for a size below 1."""
    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")


def plan_of(method: Method, size: int, block: int) -> Plan:
    """The plan of a product of n×n matrices by a method as printed."""
    return method.plan(Shape(size, size, size), as_printed(method, block))


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """A method's plan at a size and a block, and its counts."""

    plan: Plan
    counts: Counts


def _counted(method: Method, size: int, block: int) -> _Counted:
    plan = plan_of(method, size, block)
    return _Counted(plan, count_plan(plan))


def as_printed(method: Method, block: int) -> Options:
    """A method's options as the papers have it: with the copy, where there is a choice."""
    return Options(
        block=None if "block" in method.refuses else block,
        accumulate=None if "accumulate" in method.refuses else Accumulate.COPY,
    )


def _per_fragment(counts: Counts, quantity: str) -> int | None:
    total = getattr(counts, quantity)
    return total // counts.fragments if counts.fragments and total % counts.fragments == 0 else None


def _row(
    table: PublishedTable,
    published: FormulaRow,
    size: int,
    block: int,
    at: Callable[[Method, int, int], _Counted],
) -> Row:
    method = find_method(published.method)
    here = at(method, size, block)
    counts = here.counts

    def cell(formula: str, quantity: Callable[[_Counted], int | None]) -> Cell:
        return Cell(quantity(here), formula, recover(lambda n, b: quantity(at(method, n, b))))

    return Row(
        method=method.name,
        label=published.label,
        passes=cell(published.passes, lambda made: made.counts.passes),
        fragments_per_pass=cell(
            published.fragments_per_pass, lambda made: fragments_per_pass(made.plan)
        ),
        per_fragment=cell(
            published.per_fragment, lambda made: _per_fragment(made.counts, table.quantity)
        ),
        total=cell(published.total, lambda made: int(getattr(made.counts, table.quantity))),
        counts=counts,
        lookups_per_fragment=counts.lookup // counts.fragments,
        program_length=sum(count_instructions(p).total for p in here.plan.programs()),
    )


def methods_of_tables() -> list[str]:
    """The methods that the tables are about, in their order."""
    rows = (row.method for paper in papers() for table in paper.tables for row in table.rows)
    return list(dict.fromkeys(rows))


@dataclass(frozen=True, slots=True)
class MethodCost:
    """What one method costs at n×n: 2001 and 2017 in one table.

    transacted: bytes that memory transactions move, by the name of the coalescing rule; None where
    the rule says nothing of the method, since it draws fragments, or where it is not countable.
    """

    method: Method
    block: int | None
    counts: Counts
    transacted: tuple[tuple[str, int | None], ...]


def every_method(size: int, block: int) -> list[MethodCost]:
    """Count every method there is, in the order of history, at n×n.

    block: of the methods whose blocks are free; the others keep their default.
    """
    check_size(size)
    return [_method_cost(method, size, block) for method in methods()]


def _method_cost(method: Method, size: int, block: int) -> MethodCost:
    options = Options() if method.blocks else as_printed(method, block)
    chosen = method.options(options)
    plan = method.plan(Shape(size, size, size), options)
    transacted = tuple((name, _transacted(plan, rule)) for name, rule in RULES.items())
    return MethodCost(method, chosen.block, count_plan(plan), transacted)


def _transacted(plan: Plan, rule: Rule) -> int | None:
    try:
        return transactions(plan, rule).bytes_transacted
    except PlanError:
        return None
