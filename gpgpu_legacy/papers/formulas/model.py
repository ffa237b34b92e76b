"""The papers' tables of formulas, regenerated: counts of plans beside what was printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.coalescing import RULES, Rule, transactions
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.traffic import Counts, count_plan, fragments_per_pass
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.formulas.result import (
    NOTHING_TIMED,
    Cell,
    FormulaTables,
    MethodCost,
    MethodTimes,
    Row,
    Table,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import FormulaRow, PublishedTable
from gpgpu_legacy.serial import provenance


def formula_tables(
    size: int,
    block: int,
    paper: str | None = None,
    times: MethodTimes = NOTHING_TIMED,
    *,
    every: bool = False,
) -> FormulaTables:
    """The tables of a paper, or of all, at a size and a block.

    times: what was timed. every: whether to count every method. Raises what `regenerate` raises.
    """
    is_timed = bool(times.measured or times.not_run)
    return FormulaTables(
        **(provenance(this_platform().driver) if is_timed else {}),
        size=size,
        block=block,
        tables=tuple(regenerate(size, block, paper)),
        methods=tuple(every_method(size, block)) if every else (),
        times=times,
    )


def regenerate(size: int, block: int, paper: str | None = None) -> list[Table]:
    """The papers' tables of formulas, with counts of plans for n×n matrices and block b.

    paper: the id of one paper; all papers without. Raises InputError where the size or the block is
    out of range.
    """
    as_positive("the size", size)
    at = cache(_counted)  # of this call alone: shaders may change between two of them
    return [
        Table(
            id=published.id,
            rows=tuple(_row(published, row, size, block, at) for row in published.rows),
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


def _counted(method: str, size: int, block: int) -> _Counted:
    plan = Product(method, size, block).builder.plan()
    return _Counted(plan, count_plan(plan))


def _row(
    table: PublishedTable,
    published: FormulaRow,
    size: int,
    block: int,
    at: Callable[[str, int, int], _Counted],
) -> Row:
    here = at(published.method, size, block)

    def cell(formula: str, quantity: Callable[[_Counted], int | None]) -> Cell:
        counted = recover(lambda n, b: quantity(at(published.method, n, b)))
        return Cell(
            value=quantity(here),
            published=formula,
            counted=None if counted is None else str(counted),
            agrees=same_formula(counted, formula),
        )

    return Row(
        method=published.method,
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


def _transacted(plan: Plan, rule: Rule) -> int | None:
    try:
        return transactions(plan, rule).bytes_transacted
    except PlanError:
        return None
