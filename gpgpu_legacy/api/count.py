"""The cost of a plan: in total, by pass, and as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.algorithms.algorithm import ITERATIONS
from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.count.closed_form import ClosedForm, formulas
from gpgpu_legacy.count.instructions import BOUNDS
from gpgpu_legacy.count.traffic import ADDITIVE, Counts, PassCounts, count_by_pass, count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.numbers import PerIteration, numbers_text
from gpgpu_legacy.plan.plan import (
    CopyPass,
    FragmentPass,
    Pass,
    kind_of_pass,
    name_of_pass,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import rect_numbers
from gpgpu_legacy.present.grid import Formula, Grid, Result
from gpgpu_legacy.serial import Record, as_record

if TYPE_CHECKING:
    from gpgpu_legacy.pipeline.builder import PlanBuilder


class PassCount(Record):
    """Passes of a plan that do the same work, and their total cost.

    numbers: the passes' numbers from 1, in words. kind: draw, copy, clear or dispatch. program: the
    file name of the program or kernel. size: the rectangle in texels, as in `8×varying` if its
    height changes in a Repeat; empty for a clear and a dispatch.
    """

    numbers: str
    runs: int
    kind: str
    program: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    size: str
    counts: Counts


class Count(Result):
    """The cost of a plan. parameters: of the plan.

    operations: those that the algorithm states, such as 2n³; None if it states none. formulas:
    closed forms in the parameters `over`, by the name of the count; both are empty if none were
    asked for. branches: whether a program branches, so that numbers and formulas are bounds.
    """

    plan: str
    parameters: dict[str, Plain]
    operations: int | None
    total: Counts
    passes: tuple[PassCount, ...]
    over: tuple[str, ...]
    formulas: dict[str, ClosedForm]
    branches: bool = False

    def __repr__(self) -> str:
        return f"<Count {self.plan}: {self.total!r}>"

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The totals and, if they were asked for, the formulas. whole: the passes, too."""
        grids = [self._totals()]
        if whole:
            grids.append(self._passes())
        return [*grids, self._formulas()] if self.formulas else grids

    def _totals(self) -> Grid:
        counts = {"operations": self.operations}
        counts |= {name: getattr(self.total, name) for name in ADDITIVE}
        rows = tuple((_words(name), count) for name, count in counts.items() if count)
        caption = f"{titled(self.plan, self.parameters)}: counts"
        notes = (BOUNDS,) if self.branches else ()
        return Grid("counts", caption, ("count", "total"), rows, notes)

    def _passes(self) -> Grid:
        shown = [n for n in _OF_A_PASS if any(getattr(p.counts, n) for p in self.passes)]
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
            for one in self.passes
        )
        caption = f"{self.plan}: passes that do the same work, counted together"
        return Grid("passes", caption, heads, rows)

    def _formulas(self) -> Grid:
        rows = tuple(
            (_words(name), "no closed form found", None)
            if form.formula is None
            else (_words(name), Formula(form.formula), form.holds_for)
            for name, form in self.formulas.items()
            if form.formula != "0"
        )
        fixed = {n: value for n, value in self.parameters.items() if n not in self.over}
        caption = f"{titled(self.plan, fixed)}: formulas in {' and '.join(self.over)}"
        notes = ("Formulas are exact: solved for at some sizes, and checked at others.",)
        return Grid("formulas", caption, ("count", "formula", "for"), rows, notes)


_OF_A_PASS = (
    "fragments", "arithmetic", "lookup", "invocations", "bytes_requested", "copy_bytes",
    "clear_bytes",
)  # fmt: skip


def count(p: PlanBuilder, over: Sequence[str] | str = ()) -> Count:
    """Count a plan, in total and by pass.

    over: parameters of the algorithm that built it. Formulas in these are recovered from the counts
    of its plans at several sizes. Raises what count_plan raises, and InputError for an unknown
    parameter.
    """
    plan, over = p.plan(), (over,) if isinstance(over, str) else tuple(over)
    return Count(
        plan=plan.name,
        parameters=dict(p.parameters),
        operations=p.operations,
        total=count_plan(plan),
        passes=tuple(map(_pass_count, count_by_pass(plan))),
        over=over,
        formulas=_recovered(p, tuple(dict.fromkeys(over))) if over else {},
        branches=plan.branches,
    )


def _recovered(p: PlanBuilder, over: tuple[str, ...]) -> dict[str, ClosedForm]:
    algorithm: Any
    algorithm, given = p.family or (None, {})
    known = [*(algorithm.parameters if algorithm else ()), *p.has_loops * [ITERATIONS]]
    for name in over:
        if name not in known:
            has = ", ".join(known) or "none"
            raise InputError(f"{p.name} has no parameter {name}; its parameters are {has}")
    at = tuple(n for name in over if type(n := p.parameters.get(name)) is int and n > 0)
    return formulas(
        lambda **sizes: algorithm.plan(**{**given, **sizes}),
        over,
        at=at if len(at) == len(over) else None,
    )


def _pass_count(group: PassCounts) -> PassCount:
    return as_record(
        PassCount,
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


def _words(name: str) -> str:
    """The name of a count for people: `copy bytes`."""
    return name.replace("_", " ")
