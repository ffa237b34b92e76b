"""Would it have loaded? The papers' methods on the chips of their time, by the block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import inf

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product
from gpgpu_legacy.api.fit import steps_first
from gpgpu_legacy.chips.catalogue import source_notes
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import Profile, ProfileKind, profiles
from gpgpu_legacy.chips.verdict import LoadAnswer, Row, Verdict
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.page.section import PageSection, people, rendered
from gpgpu_legacy.papers.formulas import methods_of_tables
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record, as_record, fields_of

SIZE = 1024
"""The n of the n×n matrices, as in the papers' tables."""

USUAL = "radeon-9700-pro"
"""The chip to begin with."""

_BLOCKS = (*range(1, 9), 12, 16, 24, 32, 64, 128)
_BLOCKS_OF_KERNELS = 3  # the largest: the memory accesses of small ones are slow to follow


@frozen
class LoadedCase:
    """A method in one variant.

    first: whether it computes coordinates first, of as many steps as `fit` does on the chip.
    """

    method: Algorithm
    first: bool = False

    @property
    def choices(self) -> tuple[int, ...]:
        """The blocks to choose from; empty if any number is allowed."""
        block = self.method.parameters.get("block")
        return () if block is None else tuple(block.choices.values())

    @property
    def blocks(self) -> tuple[int | None, ...]:
        """The blocks to begin with; None alone for a method without one."""
        if "block" not in self.method.parameters:
            return (None,)
        return self.choices[-_BLOCKS_OF_KERNELS:] or _BLOCKS

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

    def plan(self, block: int | None, group: int | None) -> Plan:
        """The plan of a product with that block, as it ran in its day."""
        given = dict(self.method.then) | ({"block": block} if block else {})
        return self.method.plan(n=SIZE, **given, **({"coordinates_first": group} if group else {}))

    def on_chips(self, block: int | None) -> tuple[Verdict, ...]:
        """Its plan on every chip."""
        groups: dict[int | None, list[Profile]] = {}
        for chip in profiles():
            groups.setdefault(self.group(block, chip), []).append(chip)
        verdicts: dict[str, Verdict] = {}
        for group, chips in groups.items():
            plan = self.plan(block, group)
            verdicts |= {chip.name: check_plan(plan, chip) for chip in chips}
        return tuple(verdicts[chip.name] for chip in profiles())

    def verdicts(self) -> dict[int | None, tuple[Verdict, ...]]:
        """The verdicts on every chip, by block, with both sides of each change of an answer."""
        verdicts = {block: self.on_chips(block) for block in self.blocks}
        between = [] if self.choices else list(pairwise(block for block in verdicts if block))
        while between:
            low, high = between.pop()
            answers = [[verdict.answer for verdict in verdicts[block]] for block in (low, high)]
            if high - low > 1 and answers[0] != answers[1]:
                middle = (low + high) // 2
                verdicts[middle] = self.on_chips(middle)
                between += [(low, middle), (middle, high)]
        return dict(sorted(verdicts.items(), key=lambda item: item[0] or 0))


class Told(Record):
    """A verdict in words. reasons: the limits that are exceeded.

    uses: the number, in Loading's `uses`, of what it uses of each limit.
    """

    answer: LoadAnswer
    reasons: str
    uses: int


class ChipData(Record):
    """A chip or an API. year: of its release; or `API`.

    most: what it allows of each limit, as a number (or None) and in words.
    """

    name: str
    title: str
    year: str
    notes: tuple[str, ...]
    most: dict[str, tuple[int | float | None, str]]


class CaseData(Record):
    """A case. told: by chip and block, the number of its verdict in Loading's `told`."""

    name: str
    method: str
    title: str
    blocks: tuple[int | None, ...]
    told: tuple[tuple[int, ...], ...]


class Loading(Record):
    """All data of the section.

    limits: their names. uses: what verdicts use of each limit, once for those that use the same;
    None where a verdict lacks a limit.
    """

    size: int
    limits: tuple[str, ...]
    uses: tuple[tuple[int | str | None, ...], ...]
    told: tuple[Told, ...]
    chips: tuple[ChipData, ...]
    cases: tuple[CaseData, ...]

    def answers(self, case: CaseData, chip: int) -> dict[int | None, LoadAnswer]:
        """The answers for a case on a chip, by block."""
        told = (self.told[n].answer for n in case.told[chip])
        return dict(zip(case.blocks, told, strict=True))

    def largest(self, case: CaseData, chip: int) -> str:
        """The largest block that loads, in words."""
        answers = self.answers(case, chip).items()
        loads = [(block, a) for block, a in answers if a is not LoadAnswer.DOES_NOT_LOAD]
        if not loads:
            return "no"
        block, answer = loads[-1]
        known = "" if answer is LoadAnswer.LOADS else ", as far as is known"
        if block is None:
            return f"loads{known}"
        return f"b = {block}{' or more' if block == case.blocks[-1] else ''}{known}"


@cache
def loading() -> Loading:
    """The papers' methods on all chips and APIs, at SIZE; and one with its coordinates first."""
    measured = (s.method for p in papers() for t in p.measured for s in t.series if s.method)
    names = dict.fromkeys((*methods_of_tables(), *measured))
    cases = [*(LoadedCase(find_product(name)) for name in names)]
    cases.append(LoadedCase(find_product(DEFAULT_PRODUCT), first=True))
    verdicts = [case.verdicts() for case in cases]
    every = (verdict for own in verdicts for row in own.values() for verdict in row)
    limits = tuple(dict.fromkeys(row.limit for verdict in every for row in verdict.limits))
    uses: dict[tuple[int | str | None, ...], int] = {}
    told: dict[Told, int] = {}

    def number(verdict: Verdict) -> int:
        own = {row.limit: row.found for row in verdict.limits}
        used = uses.setdefault(tuple(map(own.get, limits)), len(uses))
        reasons = ", ".join(verdict.excesses)
        words = Told(answer=verdict.answer, reasons=reasons, uses=used)
        return told.setdefault(words, len(told))

    def data(case: LoadedCase, by_block: dict[int | None, tuple[Verdict, ...]]) -> CaseData:
        name, blocks = case.method.name, by_block.values()
        return CaseData(
            name=name + "-coordinates-first" * case.first,
            method=name,
            title=people()[name] + ", coordinates first where indirections ask for it" * case.first,
            blocks=tuple(by_block),
            told=tuple(tuple(map(number, of_chip)) for of_chip in zip(*blocks, strict=True)),
        )

    on_chips = zip(*(row for own in verdicts for row in own.values()), strict=True)
    return Loading(
        size=SIZE,
        cases=tuple(map(data, cases, verdicts)),
        chips=tuple(map(_chip, profiles(), on_chips)),
        limits=limits,
        uses=tuple(uses),
        told=tuple(told),
    )


def _chip(profile: Profile, verdicts: Sequence[Verdict]) -> ChipData:
    rows = {row.limit: row for verdict in verdicts for row in verdict.limits}
    tags = (side.source for row in rows.values() for side in row.sides if side and side.source)
    is_chip = profile.kind is ProfileKind.CHIP and profile.released
    return as_record(
        ChipData,
        profile,
        year=profile.released.value[:4] if is_chip and profile.released else "API",
        notes=(*profile.notes, *source_notes(tags)),
        most={limit: _most(row) for limit, row in rows.items()},
    )


def _most(row: Row) -> tuple[int | float | None, str]:
    """What the tighter side allows: a number, if it is one, and in words."""
    sides = [side for side in row.sides if side]
    numbers = [(side.allowed, str(side)) for side in sides if isinstance(side.allowed, int | float)]
    return min(numbers) if numbers else (None, ", ".join(dict.fromkeys(map(str, sides))))


def make_section() -> PageSection:
    """A table of the largest blocks, and the data of all limits for its script."""
    data = loading()
    language = data.limits.index("language")
    cases = [
        case for case in data.cases if data.uses[data.told[case.told[0][0]].uses][language]
    ]  # all blocks of a kernel are alike
    html = rendered(
        "sections/loaded.html.j2",
        size=data.size,
        cases=cases,
        rows=[
            (chip, [data.largest(case, n) for case in cases]) for n, chip in enumerate(data.chips)
        ],
    )
    fields = {**fields_of(data), "program": DEFAULT_PRODUCT, "chip": USUAL}
    scripts = ("choices.js", "sections/loaded.js")
    return PageSection("loaded", "Would it have loaded?", html, fields, scripts)
