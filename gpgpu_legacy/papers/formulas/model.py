"""The papers' tables of formulas, regenerated: counts of plans beside the printed formulas."""

from __future__ import annotations

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.code_cache import recalled
from gpgpu_legacy.count.closed_form import same_formula
from gpgpu_legacy.count.coalescing import RULES, CoalescingRule, transactions
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import PlanError, as_positive
from gpgpu_legacy.measure.timing import this_platform
from gpgpu_legacy.papers.derive.counts import count, recovered
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.formulas.result import (
    NOTHING_TIMED,
    CheckedCell,
    CheckedRow,
    CheckedTable,
    FormulaTables,
    MethodCost,
    MethodTimes,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import FormulaRow, PublishedTable
from gpgpu_legacy.serial import as_record, provenance


def formula_tables(
    size: int,
    block: int,
    paper: str | None = None,
    times: MethodTimes = NOTHING_TIMED,
    *,
    every: bool = False,
) -> FormulaTables:
    """The tables of a paper, or of all, at a size and a block.

    times: our own. every: whether to count every method. Raises as `regenerate` does.
    """
    is_timed = bool(times.measured or times.not_run)
    name = f"tables of formulas of {paper} at {size}, {block}"
    return FormulaTables(
        **(provenance(this_platform().driver) if is_timed else {}),
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

    def cell(column: str, quantity: str) -> CheckedCell:
        formula, known = getattr(published, column), recovered(product.method, quantity, None)
        return CheckedCell(
            value=count(product, quantity),
            published=formula,
            counted=None if known is None else str(known),
            agrees=same_formula(known, formula),
        )

    counts = product.counts
    return as_record(
        CheckedRow,
        published,
        **{column: cell(column, quantity) for column, quantity in table.quantities.items()},
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
