"""The papers' tables of formulas, regenerated: counts of plans beside what was printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.coalescing import RULES, Rule, transactions
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.traffic import Counts, count_plan, fragments_per_pass
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import FormulaRow, PublishedTable


@dataclass(frozen=True, slots=True)
class Cell:
    """A column of a row: its value at (n, b), the published formula and the recovered one.

    value: None where passes differ from one another. counted: the formula that counts of real plans
    obey, as a sympy expression; None where they obey none of the papers' kind.
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
    """A row of a regenerated table.

    counts: all counts of the plan at (n, b). program_length: instructions of the method's only
    fragment program, lookups included.
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
        return all(cell.agrees for cell in self.cells)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The four columns that the papers print."""
        return self.passes, self.fragments_per_pass, self.per_fragment, self.total


@dataclass(frozen=True, slots=True)
class Table:
    """A published table with its rows regenerated at size n and block b."""

    published: PublishedTable
    size: int
    block: int
    rows: tuple[Row, ...]


def regenerate(size: int, block: int, paper: str | None = None) -> list[Table]:
    """The papers' tables of formulas, with counts of plans for n×n matrices and block b.

    paper: the id of one paper; all papers without. Raises InputError where the size or the block is
    out of range.
    """
    as_positive("the size", size)
    at = cache(_counted)  # of this call alone: shaders may change between two of them
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


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """A method's plan at a size and a block, and its counts."""

    plan: Plan
    counts: Counts

    def per_fragment(self, quantity: str) -> int | None:
        """A count for each fragment; None where fragments differ in it."""
        total, fragments = getattr(self.counts, quantity), self.counts.fragments
        return total // fragments if fragments and total % fragments == 0 else None


def _counted(method: Method, size: int, block: int) -> _Counted:
    plan = method.plan(Shape(size, size, size), Product(method.name, size, block).options)
    return _Counted(plan, count_plan(plan))


def _row(
    table: PublishedTable,
    published: FormulaRow,
    size: int,
    block: int,
    at: Callable[[Method, int, int], _Counted],
) -> Row:
    method = find_method(published.method)
    here = at(method, size, block)

    def cell(formula: str, quantity: Callable[[_Counted], int | None]) -> Cell:
        return Cell(quantity(here), formula, recover(lambda n, b: quantity(at(method, n, b))))

    return Row(
        method=method.name,
        label=published.label,
        passes=cell(published.passes, lambda counted: counted.counts.passes),
        fragments_per_pass=cell(
            published.fragments_per_pass, lambda counted: fragments_per_pass(counted.plan)
        ),
        per_fragment=cell(
            published.per_fragment, lambda counted: counted.per_fragment(table.quantity)
        ),
        total=cell(published.total, lambda counted: int(getattr(counted.counts, table.quantity))),
        counts=here.counts,
        lookups_per_fragment=here.counts.lookup // here.counts.fragments,
        program_length=sum(count_instructions(p).total for p in here.plan.programs()),
    )


def methods_of_tables() -> list[str]:
    """The methods in the tables of formulas, in their order."""
    rows = (row.method for paper in papers() for table in paper.tables for row in table.rows)
    return list(dict.fromkeys(rows))


@dataclass(frozen=True, slots=True)
class MethodCost:
    """The counts of a method at n×n.

    transacted: bytes that memory transactions move, by the name of the coalescing rule; None where
    the rule does not apply, since the method draws fragments, or where they cannot be counted.
    """

    method: Method
    block: int | None
    counts: Counts
    transacted: tuple[tuple[str, int | None], ...]


def every_method(size: int, block: int) -> list[MethodCost]:
    """The counts of every method, by year, for n×n matrices.

    block: of the methods that take any block; the others keep their default.
    """
    as_positive("the size", size)
    return [_method_cost(method, size, block) for method in methods()]


def _method_cost(method: Method, size: int, block: int) -> MethodCost:
    options = Options() if method.blocks else Product(method.name, size, block).options
    chosen = method.options(options)
    plan = method.plan(Shape(size, size, size), options)
    transacted = tuple((name, _transacted(plan, rule)) for name, rule in RULES.items())
    return MethodCost(method, chosen.block, count_plan(plan), transacted)


def _transacted(plan: Plan, rule: Rule) -> int | None:
    try:
        return transactions(plan, rule).bytes_transacted
    except PlanError:
        return None
