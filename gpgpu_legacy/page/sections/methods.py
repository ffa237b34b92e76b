"""The three methods of 2001 and 2003 side by side, on the same matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpgpu_legacy.count.closed_form import evaluate
from gpgpu_legacy.page.products import BLOCKS, METHODS, PRODUCT_SCRIPTS
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.formulas.model import regenerate
from gpgpu_legacy.papers.formulas.result import CheckedCell, CheckedRow, CheckedTable
from gpgpu_legacy.present.grid import Formula, plain

_SIZE, _BLOCK = 8, 2
_SIZES = (2, 4, 6, 8)
_TOTALS = {"bytes_requested": "bytes requested", "arithmetic": "arithmetic instructions"}


def make_section() -> PageSection:
    """The methods with their counts, and the closed forms of the papers' tables."""
    tables = [t for t in regenerate(_SIZE, _BLOCK) if t.published.quantity in _TOTALS]
    forms = _forms(tables)
    html = rendered(
        "sections/methods.html.j2", forms=forms, methods=METHODS, size=_SIZE, block=_BLOCK
    )
    data = {"sizes": _SIZES, "blocks": BLOCKS, "size": _SIZE, "block": _BLOCK, "forms": forms}
    own = ("sections/swizzles.js", "sections/method-program.js", "sections/methods.js")
    return PageSection(
        "methods",
        "The three methods of 2001 and 2003, side by side",
        html,
        data,
        (*PRODUCT_SCRIPTS, *own),
    )


def _forms(tables: list[CheckedTable]) -> list[dict[str, Any]]:
    """The closed forms of each quantity, for each method."""
    first = tables[0]
    quantities: list[tuple[str, str, CheckedTable, Callable[[CheckedRow], CheckedCell]]] = [
        ("passes", "passes", first, lambda row: row.passes),
        ("fragments", "fragments / pass", first, lambda row: row.fragments_per_pass),
        *(
            (t.published.quantity, _TOTALS[t.published.quantity], t, lambda row: row.total)
            for t in tables
        ),
    ]
    return [
        {
            "quantity": quantity,
            "label": label,
            "source": f"Table {table.published.id.rsplit('-', 1)[-1]}",
            "methods": {row.method: _form(of(row)) for row in table.rows if row.method in METHODS},
        }
        for quantity, label, table, of in quantities
    ]


def _form(cell: CheckedCell) -> dict[str, Any]:
    """Both formulas for people; `at` has the published one's value at each size and block."""
    return {
        "published": plain(Formula(cell.published)),
        "counted": plain(Formula(cell.counted or "")),
        "agrees": cell.agrees,
        "value": cell.value,
        "at": {
            f"{size},{block}": float(evaluate(cell.published, size, block))
            for size in _SIZES
            for block in BLOCKS
        },
    }
