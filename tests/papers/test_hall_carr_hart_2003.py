"""Tables 1 and 2: counted from plans, and equal to what was printed. Formulas are retyped here."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.papers.formulas import (
    CheckedCell,
    CheckedRow,
    CheckedTable,
    benchmark_of,
    formula_tables,
    regenerate,
)
from gpgpu_legacy.present.grid import as_text

TABLE_1, TABLE_2 = "hall-carr-hart-2003/table-1", "hall-carr-hart-2003/table-2"
LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"
N, B = 1024, 32

Formula = Callable[[Fraction, Fraction], Fraction]

# As Section 5.1 and 5.2 print them, column by column: passes, fragments a pass, what a fragment
# costs, total.
PRINTED: dict[tuple[str, str], tuple[Formula, Formula, Formula, Formula]] = {
    (TABLE_1, LM): (
        lambda n, b: n, lambda n, b: n**2, lambda n, b: Fraction(16), lambda n, b: 16 * n**3,
    ),
    (TABLE_1, SINGLE): (
        lambda n, b: n / b, lambda n, b: n**2, lambda n, b: (2 * b + 2) * 4,
        lambda n, b: 8 * n**3 * (1 + 1 / b),
    ),
    (TABLE_1, MULTI): (
        lambda n, b: (n / 2) / b, lambda n, b: (n / 2) ** 2, lambda n, b: (2 * b + 2) * 16,
        lambda n, b: 4 * n**3 * (1 + 1 / b),
    ),
    (TABLE_2, LM): (
        lambda n, b: n, lambda n, b: n**2, lambda n, b: Fraction(2), lambda n, b: 2 * n**3,
    ),
    (TABLE_2, SINGLE): (
        lambda n, b: n / b, lambda n, b: n**2, lambda n, b: 2 * b + 4,
        lambda n, b: n**3 * (2 + 4 / b),
    ),
    (TABLE_2, MULTI): (
        lambda n, b: (n / 2) / b, lambda n, b: (n / 2) ** 2, lambda n, b: 3 * b + 4,
        lambda n, b: n**3 / 8 * (3 + 4 / b),
    ),
}  # fmt: skip
COLUMNS = ("passes", "fragments_per_pass", "per_fragment", "total")


@pytest.fixture(scope="module")
def tables() -> list[CheckedTable]:
    return regenerate(N, B)


def row_of(tables: list[CheckedTable], table: str, method: str) -> CheckedRow:
    [found] = [r for t in tables if t.published.id == table for r in t.rows if r.method == method]
    return found


def at(expression: Any, n: int, b: int) -> Fraction:
    """A sympy expression or a formula's text in n and b, at numbers."""
    from sympy import Rational, sympify

    found = sympify(expression)
    value = Rational(found.subs({s: {"n": n, "b": b}[s.name] for s in found.free_symbols}))
    return Fraction(int(value.p), int(value.q))


ROWS = pytest.mark.parametrize(("table", "method"), PRINTED, ids=lambda v: v.rpartition("/")[2])
PLACES = [(24, 3), (64, 8), (1024, 32), (1000, 1), (42, 7), (4096, 128)]


# The six rows ------------------------------------------------------------------------------------


@ROWS
def test_a_row_agrees_with_what_was_printed(
    tables: list[CheckedTable], table: str, method: str
) -> None:
    row = row_of(tables, table, method)
    assert row.agrees
    for name in COLUMNS:
        cell = getattr(row, name)
        assert isinstance(cell, CheckedCell)
        assert cell.agrees


@ROWS
def test_the_recovered_formulas_are_the_printed_ones_in_numbers(
    tables: list[CheckedTable], table: str, method: str
) -> None:
    row = row_of(tables, table, method)
    for name, printed in zip(COLUMNS, PRINTED[table, method], strict=True):
        cell = getattr(row, name)
        for n, b in PLACES:
            expected = printed(Fraction(n), Fraction(b))
            assert at(cell.counted, n, b) == expected
            assert at(cell.published, n, b) == expected


@ROWS
def test_the_values_are_the_formulas_at_the_size_and_block(
    tables: list[CheckedTable], table: str, method: str
) -> None:
    row = row_of(tables, table, method)
    for name, printed in zip(COLUMNS, PRINTED[table, method], strict=True):
        assert getattr(row, name).value == printed(Fraction(N), Fraction(B))


@pytest.mark.parametrize(("n", "b"), [(8, 2), (12, 1), (32, 4), (96, 16)])
@ROWS
def test_plans_of_other_sizes_are_counted_as_the_formulas_say(
    table: str, method: str, n: int, b: int
) -> None:
    own = {} if method == LM else {"block": b, "accumulate": Accumulate.COPY}
    counts = count_plan(find_product(method).plan(n=n, **own))
    passes, area, each, total = (f(Fraction(n), Fraction(b)) for f in PRINTED[table, method])
    quantity = counts.bytes_requested if table == TABLE_1 else counts.arithmetic
    assert counts.draws == passes
    assert counts.fragments == passes * area
    assert quantity == total == passes * area * each


# Numbers of the paper's text ---------------------------------------------------------------------


@pytest.mark.parametrize(("method", "texel"), [(SINGLE, 4), (MULTI, 16)])
def test_copies_stand_in_a_column_of_their_own(
    tables: list[CheckedTable], method: str, texel: int
) -> None:
    """A read and a write of each texel, pass by pass, and none of it in the paper's total."""
    counts = row_of(tables, TABLE_1, method).counts
    assert counts.copy_bytes == 2 * texel * counts.fragments
    other = count_plan(find_product(method).plan(n=N, block=B, accumulate="ping-pong"))
    assert other.copy_bytes == 0
    assert other.bytes_requested == counts.bytes_requested


# As JSON -----------------------------------------------------------------------------------------


def test_a_spent_budget_leaves_one_time_and_says_so_of_the_others() -> None:
    times = benchmark_of(64, 4).measure(Budget(0.0))
    assert len(times.results) == 1
    assert {left.plan for left in times.not_run} == {LM, SINGLE, MULTI}
    found = formula_tables(64, 4, times=times)
    assert found.date is not None
    text = as_text(found.grids())
    assert "the budget was spent" in text


@pytest.mark.parametrize(("size", "block"), [(0, 32), (-1, 32), (64, 0), (64, -2)])
def test_sizes_and_blocks_out_of_range_are_input_errors(size: int, block: int) -> None:
    with pytest.raises(InputError) as raised:
        regenerate(size, block)
    assert "\n" not in str(raised.value)
