"""What a plan costs, as a record and as tables: in total, by pass, and as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpgpu_legacy.count.by_pass import PassCounts, count_by_pass
from gpgpu_legacy.count.formulas import ClosedForm, Formulas
from gpgpu_legacy.count.traffic import ADDITIVE, Counts, count_plan
from gpgpu_legacy.plan.expand import rect_numbers
from gpgpu_legacy.plan.numbers import PerIteration
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass, numbers_text
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan, read_by, written_by
from gpgpu_legacy.present.grid import Entry, Formula, Grid
from gpgpu_legacy.serial import Record, as_record


class PassRecord(Record):
    """Passes of a plan that do the same work, and what they cost together.

    numbers: of the passes, from 1, in words. kind: draw, copy, clear or dispatch. program: the file
    name of the program or kernel. size: of the rectangle in texels, `8×varying` where it changes in
    a Repeat; empty for a clear and a dispatch.
    """

    numbers: str
    runs: int
    kind: str
    program: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    size: str
    counts: Counts


class PlanCounts(Record):
    """What a plan costs. parameters: of the recipe that made it.

    formulas: by the name of the count, in the parameters of `over`; both are empty if none were
    asked for.
    """

    plan: str
    parameters: dict[str, Any]
    counts: Counts
    passes: tuple[PassRecord, ...]
    over: tuple[str, ...]
    formulas: dict[str, ClosedForm]


def plan_counts(
    plan: Plan, parameters: Mapping[str, Any] | None = None, found: Formulas | None = None
) -> PlanCounts:
    """Count a plan, in total and by pass. found: its formulas, from count/formulas.py.

    Raises what count_plan raises.
    """
    return PlanCounts(
        plan=plan.name,
        parameters=dict(parameters or {}),
        counts=count_plan(plan),
        passes=tuple(map(_pass_record, count_by_pass(plan))),
        over=() if found is None else found.over,
        formulas={} if found is None else found.formulas,
    )


def _pass_record(group: PassCounts) -> PassRecord:
    return as_record(
        PassRecord,
        group,
        numbers=numbers_text(group.numbers),
        kind=kind_of_pass(group.pass_),
        program=name_of_pass(group.pass_),
        reads=tuple(dict.fromkeys(read_by(group.pass_))),
        writes=tuple(dict.fromkeys(written_by(group.pass_))),
        size=_size_text(group.pass_),
    )


def _size_text(pass_: Pass) -> str:
    match pass_:
        case FragmentPass(rect=rect) | CopyPass(source_rect=rect):
            *_, width, height = rect_numbers(rect)
            sides = ("varying" if isinstance(n, PerIteration) else str(n) for n in (width, height))
            return "×".join(sides)
    return ""


# Tables -----------------------------------------------------------------------------------------


def plan_counts_grids(report: PlanCounts) -> list[Grid]:
    """The totals, the passes and, if they were asked for, the formulas."""
    grids = [_totals_grid(report), _passes_grid(report)]
    return [*grids, _formulas_grid(report)] if report.formulas else grids


def _named(report: PlanCounts) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in report.parameters.items())
    return f"{report.plan} ({given})" if given else report.plan


def _totals_grid(report: PlanCounts) -> Grid:
    rows = tuple((_words(name), count) for name, count in _counts(report.counts) if count)
    return Grid("counts", f"{_named(report)}: counts", ("count", "total"), rows)


def _counts(counts: Counts) -> list[tuple[str, int]]:
    return [(name, getattr(counts, name)) for name in ADDITIVE]


def _words(name: str) -> str:
    """The name of a count for people: `copy bytes`."""
    return name.replace("_", " ")


_OF_A_PASS = (
    "fragments", "arithmetic", "lookup", "invocations", "bytes_requested", "copy_bytes",
    "clear_bytes",
)  # fmt: skip


def _passes_grid(report: PlanCounts) -> Grid:
    shown = [n for n in _OF_A_PASS if any(getattr(p.counts, n) for p in report.passes)]
    heads = ("passes", "runs", "what", "from", "to", "size", *map(_words, shown))
    rows = tuple(
        (
            one.numbers,
            one.runs,
            f"{one.kind} {one.program}".rstrip(),
            ", ".join(one.reads),
            ", ".join(one.writes),
            one.size,
            *(getattr(one.counts, name) for name in shown),
        )
        for one in report.passes
    )
    return Grid(
        "passes", f"{report.plan}: passes that do the same work, counted together", heads, rows
    )


def _formulas_grid(report: PlanCounts) -> Grid:
    rows = tuple(
        (_words(name), *_formula_entries(form))
        for name, form in report.formulas.items()
        if form.formula != "0"
    )
    over = " and ".join(report.over)
    notes = ("Formulas are exact: solved for at some sizes, and checked at others.",)
    heads = ("count", "formula", "for")
    return Grid("formulas", f"{report.plan}: formulas in {over}", heads, rows, notes)


def _formula_entries(form: ClosedForm) -> tuple[Entry, Entry]:
    if form.formula is None:
        return "no closed form found", None
    return Formula(form.formula), form.holds_for
