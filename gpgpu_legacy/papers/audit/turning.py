"""Whether a verdict can change: judges a claim again after the change of an input that it names.

An agreement means something only if another input would have made a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.model import Finding, judge, printed
from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.published.claims import Claim
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import (
    CellChange,
    Change,
    ClaimChange,
    PlanChange,
    ProgramChange,
)
from gpgpu_legacy.serial import with_fields

T = TypeVar("T")


def turned(finding: Finding) -> Finding | None:
    """The finding after the change that the claim names; None if it names none.

    Raises InputError for a change of something that does not exist, or that our value does not
    depend on.
    """
    claim, paper = finding.claim, finding.paper
    change = claim.turned_by
    if change is None:
        return None
    arguments = {**claim.arguments, **change.arguments}
    changed = with_fields(claim, arguments=arguments, alternatives=())
    facts = {} if change.fact is None else {(change.fact.chip, change.fact.fact): change.fact.value}
    try:
        of_plans = change.plan or change.program
        inputs = Inputs(_changed_paper(paper, claim, change), facts, of_plans)
    except (KeyError, IndexError, StopIteration) as error:
        raise InputError(f"{finding.name}: turned_by changes what is not there: {error}") from error
    after = judge(paper, changed, inputs)
    if after.computed == finding.computed:
        raise InputError(f"{finding.name}: turned_by changes nothing that ours depends on")
    return after


def words(claim: Claim) -> str:
    """The change that a claim names, in words; empty if it names none."""
    change = claim.turned_by
    return "" if change is None else ", ".join(_words(change, claim.arguments.get("size")))


def _words(change: Change, own_size: object) -> Iterator[str]:
    yield from (f"{name} = {_value(value)}" for name, value in change.arguments.items())
    if change.program is not None:
        yield _of_program(change.program)
    if change.plan is not None:
        yield from _of_plan(change.plan)
    if change.cell is not None:
        size = own_size if change.cell.size is None else change.cell.size
        block = "" if change.cell.block is None else f", b = {change.cell.block},"
        yield f"{change.cell.table}/{change.cell.series}/{size}{block} times {change.cell.times:g}"
    if change.fact is not None:
        yield f"{change.fact.chip}'s {change.fact.fact} = {_value(change.fact.value)}"
    if change.claim is not None:
        yield f"{change.claim.id} = {printed(change.claim.published.value)}"


def _of_program(change: ProgramChange) -> str:
    if not change.instruction and not change.becomes:
        return f"a kernel without `{change.text.strip()}`"
    if not change.instruction:
        return f"a kernel with `{change.becomes}` for `{change.text}`"
    which = "any" if change.every else "its last"
    return f"a program without {which} {change.instruction}"


def _of_plan(change: PlanChange) -> Iterator[str]:
    if change.iterations:
        yield f"loops of passes shorter by {change.iterations}"
    if change.rows:
        yield f"rectangles lower by {change.rows}"
    if change.texture_format:
        yield f"textures of {change.becomes} for {change.texture_format}"


def _value(value: object, separator: str = "; ") -> str:
    if not isinstance(value, tuple | list):
        return str(value)
    return separator.join(_value(part, " ") for part in value)


# Changes of printed values ---------------------------------------------------------------------


def _changed_paper(paper: Paper, claim: Claim, change: Change) -> Paper:
    if change.cell is not None:
        return _with_cell(paper, change.cell, claim.arguments.get("size"))
    if change.claim is not None:
        return _with_claim(paper, change.claim)
    return paper


def _with_cell(paper: Paper, change: CellChange, own_size: object) -> Paper:
    table = paper.measurements(change.table)
    series = table.find(change.series)
    size = own_size if change.size is None else change.size
    meant = [cell.size == size and change.block in {None, cell.block} for cell in series.cells]
    if not any(meant):
        raise KeyError(f"{change.table}/{change.series}/{size}")
    cells = tuple(
        with_fields(cell, value=cell.value * change.times) if is_changed else cell
        for cell, is_changed in zip(series.cells, meant, strict=True)
    )
    columns = _exchanged(table.series, series, with_fields(series, cells=cells))
    measured = _exchanged(paper.measured, table, with_fields(table, series=columns))
    return with_fields(paper, measured=measured)


def _with_claim(paper: Paper, change: ClaimChange) -> Paper:
    claim = paper.claim(change.id)
    changed = with_fields(claim, published=change.published.value, reading=None)
    return with_fields(paper, claims=_exchanged(paper.claims, claim, changed))


def _exchanged(known: tuple[T, ...], old: T, new: T) -> tuple[T, ...]:
    """The same with one of them, that very object, exchanged."""
    return tuple(new if one is old else one for one in known)
