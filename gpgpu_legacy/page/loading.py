"""Which blocks would have loaded where: the papers' methods on all chips, as compact data.

A chip's rows hardly change from one block to the next, so they are kept as runs: for each limit,
the first block of a run and the number of its statement, which many runs share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import inf
from operator import ne
from typing import TypeVar

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product
from gpgpu_legacy.chips.check_plan import check_on_each
from gpgpu_legacy.chips.profile import Profile, ProfileKind, all_sources, profiles
from gpgpu_legacy.chips.verdict import Answer, Outcome, Side, Verdict
from gpgpu_legacy.page.names import people
from gpgpu_legacy.papers.formulas.model import methods_of_tables
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.largest_block import steps_first

T = TypeVar("T")

SIZE = 1024
"""The n of the n×n matrices, as in the papers' tables."""

_BLOCKS = (*range(1, 9), 12, 16, 24, 32, 64, 128)
_BLOCKS_OF_KERNELS = 3  # the largest: the memory accesses of small ones are slow to follow

LETTERS = {Answer.LOADS: "y", Answer.AS_FAR_AS_KNOWN: "k", Answer.DOES_NOT_LOAD: "n"}
"""Answers, shorter."""

Run = tuple[int, int]
"""The index of the first block of a run, and the number of its statement."""

Found = dict[int, tuple[int | str | None, ...]]
"""A plan's use of each limit, by the limit's number and the block."""


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A method in one variant.

    first: whether it computes coordinates first, of as many steps as `fit` does on the chip.
    """

    method: Algorithm
    first: bool = False

    @property
    def name(self) -> str:
        """Its name in the address of the page."""
        return f"{self.method.name}{'-coordinates-first' if self.first else ''}"

    @property
    def choices(self) -> tuple[int, ...]:
        """The blocks to choose from; empty if all numbers are."""
        block = self.method.parameters.get("block")
        return () if block is None else tuple(block.choices.values())

    @property
    def blocks(self) -> tuple[int | None, ...]:
        """The blocks to begin with; None alone for a method without one."""
        if "block" not in self.method.parameters:
            return (None,)
        if self.choices:
            return self.choices[-_BLOCKS_OF_KERNELS:]
        return _BLOCKS

    def group(self, block: int | None, chip: Profile) -> int | None:
        """The steps whose coordinates are computed first; None if indirections do not ask for it.

        As it is written, a program takes an indirection for each step.
        """
        sides = (chip.advertised, chip.native)
        steps = min((side.indirections.value for side in sides if side.indirections), default=inf)
        most = min((side.temporaries.value for side in sides if side.temporaries), default=0)
        if not self.first or block is None or steps > block:
            return None
        return steps_first(self.method, (("n", SIZE),), int(most), block)

    def plan(self, block: int | None, group: int | None = None) -> Plan:
        """The plan of a product with that block, as it ran in its day."""
        given = dict(self.method.then) | ({"block": block} if block else {})
        return self.method.plan(n=SIZE, **given, **({"coordinates_first": group} if group else {}))


class SideData(Record):
    """A limit on one side. source: a tag."""

    outcome: Outcome
    allowed: int | float | str | None
    at_least: bool
    source: str | None


class Said(Record):
    """A statement about a limit: by the driver, by the chip, and the first thing to exceed it."""

    advertised: SideData | None
    native: SideData | None
    where: str
    advice: str


class ChipData(Record):
    """A chip or an API. year: None for an API."""

    name: str
    title: str
    kind: ProfileKind
    year: str | None
    notes: tuple[str, ...]


class OnChip(Record):
    """A case on a chip. limits: runs of statements, by the number of the limit. found: as a case
    has it, where the plan is another on this chip.

    answers: a letter of LETTERS for each block.
    """

    limits: dict[int, tuple[Run, ...]]
    answers: str
    found: Found = {}  # noqa: RUF012


class CaseData(Record):
    """A case. found: the plan's use of each limit, by the limit's number and the block."""

    name: str
    method: str
    title: str
    blocks: tuple[int | None, ...]
    found: Found
    chips: tuple[OnChip, ...]


class Loading(Record):
    """All of it. limits: the names behind numbers. said: the statements of runs."""

    size: int
    limits: tuple[str, ...]
    said: tuple[Said, ...]
    chips: tuple[ChipData, ...]
    cases: tuple[CaseData, ...]
    sources: dict[str, str]


def cases() -> tuple[LoadedCase, ...]:
    """The methods of the papers, and the default one with its coordinates computed first."""
    measured = (s.method for p in papers() for t in p.measured for s in t.series if s.method)
    names = dict.fromkeys((*methods_of_tables(), *measured))
    variant = LoadedCase(find_product(DEFAULT_PRODUCT), first=True)
    return (*(LoadedCase(find_product(name)) for name in names), variant)


@cache
def loading() -> Loading:
    """The papers' methods on all chips and APIs, at SIZE."""
    chips, numbers = profiles(), _Numbers()
    data = tuple(_case(case, chips, numbers) for case in cases())
    used = {side.source for said in numbers.said for side in (said.advertised, said.native) if side}
    return Loading(
        size=SIZE,
        limits=tuple(numbers.limits),
        said=tuple(numbers.said),
        chips=tuple(map(_chip, chips)),
        cases=data,
        sources={tag: text for tag, text in all_sources().items() if tag in used},
    )


@dataclass(slots=True)
class _Numbers:
    """The statements, with their numbers."""

    limits: dict[str, int] = field(default_factory=dict)
    said: dict[Said, int] = field(default_factory=dict)


def _number(known: dict[T, int], one: T) -> int:
    """The number of a statement, a new one if it is not known."""
    return known.setdefault(one, len(known))


def _chip(profile: Profile) -> ChipData:
    released = (
        profile.released.value if profile.kind is ProfileKind.CHIP and profile.released else None
    )
    return as_record(ChipData, profile, year=released[:4] if released else None)


def _case(case: LoadedCase, chips: Sequence[Profile], numbers: _Numbers) -> CaseData:
    checked = {block: _checked(case, block, chips) for block in case.blocks}
    _refine(case, chips, checked)
    blocks = tuple(sorted(checked, key=lambda block: block or 0))
    by_block = [checked[block] for block in blocks]
    found = _found(by_block, numbers)
    on_chips = tuple(_on_chip(verdicts, found, numbers) for verdicts in zip(*by_block, strict=True))
    first = ", coordinates first where indirections ask for it" if case.first else ""
    return CaseData(
        name=case.name,
        method=case.method.name,
        title=f"{people()[case.method.name]}{first}",
        blocks=blocks,
        found=found,
        chips=on_chips,
    )


_Checked = tuple[Verdict, ...]
"""A plan on every chip."""


def _checked(case: LoadedCase, block: int | None, chips: Sequence[Profile]) -> _Checked:
    groups: dict[int | None, list[Profile]] = {}
    for chip in chips:
        groups.setdefault(case.group(block, chip), []).append(chip)
    found = {
        chip.name: verdict
        for group, those in groups.items()
        for chip, verdict in zip(those, check_on_each(case.plan(block, group), those), strict=True)
    }
    return tuple(found[chip.name] for chip in chips)


def _refine(
    case: LoadedCase, chips: Sequence[Profile], checked: dict[int | None, _Checked]
) -> None:
    """Add blocks between two of them where an answer changes, until it changes from b to b + 1."""
    known = sorted(block for block in checked if block is not None)
    between = [] if case.choices else list(pairwise(known))
    while between:
        low, high = between.pop()
        answers = ([verdict.answer for verdict in checked[block]] for block in (low, high))
        if high - low > 1 and ne(*answers):
            middle = (low + high) // 2
            checked[middle] = _checked(case, middle, chips)
            between += [(low, middle), (middle, high)]


def _found(by_block: Sequence[Sequence[Verdict]], numbers: _Numbers) -> Found:
    """The plans' use of each limit, over these chips."""
    taken: list[dict[str, int | str]] = [
        {row.limit: row.found for verdict in verdicts for row in verdict.limits}
        for verdicts in by_block
    ]
    limits = dict.fromkeys(limit for one in taken for limit in one)
    return {
        _number(numbers.limits, limit): tuple(one.get(limit) for one in taken) for limit in limits
    }


def _on_chip(verdicts: Sequence[Verdict], of_case: Found, numbers: _Numbers) -> OnChip:
    limits: dict[int, list[int | None]] = {}
    for index, verdict in enumerate(verdicts):
        for row in verdict.limits:
            limit = _number(numbers.limits, row.limit)
            advertised, native = map(_side, row.sides)
            said = as_record(Said, row, advertised=advertised, native=native)
            known = limits.setdefault(limit, [None] * len(verdicts))
            known[index] = _number(numbers.said, said)
    own = _found([[verdict] for verdict in verdicts], numbers)
    return OnChip(
        found={limit: found for limit, found in own.items() if found != of_case[limit]},
        limits={limit: _runs(row) for limit, row in limits.items()},
        answers="".join(LETTERS[verdict.answer] for verdict in verdicts),
    )


def _side(side: Side | None) -> SideData | None:
    return None if side is None else as_record(SideData, side)


def _runs(numbers: Iterable[int | None]) -> tuple[Run, ...]:
    """The runs of equal numbers: where each begins, and its number; -1 means none."""
    runs: list[Run] = []
    for index, number in enumerate(numbers):
        value = -1 if number is None else number
        if not runs or runs[-1][1] != value:
            runs.append((index, value))
    return tuple(runs)
