"""The verdict on a program or a plan on a chip: one row per limit, and the answer.

A driver advertises limits and the chip has its own: rows have both, side by side. A limit that is
not known never counts as met; the answer then is "as far as is known".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.chips.catalogue import source_notes, value_text
from gpgpu_legacy.chips.profile import (
    UNLIMITED,
    Confidence,
    Fact,
    Number,
    Profile,
    ProfileKind,
    find_profile,
)
from gpgpu_legacy.count.resources import Resource
from gpgpu_legacy.errors import counted
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, Result, plain
from gpgpu_legacy.serial import Record

COMPILED = (
    "Compiled here, from Cg, HLSL, GLSL or Brook. Compilers of the time emitted more: cgc 1.2 and "
    "1.3 took 1.25 to 1.98 times as many instructions, so that what they made may not have loaded."
)


class Outcome(Enum):
    """The comparison of a number with a limit; the worst is the last."""

    WITHIN = "within"
    UNKNOWN = "unknown"
    EXCEEDED = "exceeded"


class LoadAnswer(Enum):
    """The joint answer of the limits, by the worst of their outcomes."""

    LOADS = "loads"
    AS_FAR_AS_KNOWN = "loads, as far as is known"
    DOES_NOT_LOAD = "does not load"


class Side(Record, kw_only=True):
    """A limit on one side: advertised by the driver, or the chip's own.

    allowed: a number, or words ("unlimited" among them); None if it is not known. at_least: the
    true limit may be higher. source, confidence: of this fact.
    """

    allowed: Number | str | None = None
    at_least: bool = False
    outcome: Outcome
    source: str | None = None
    confidence: Confidence | None = None

    def __str__(self) -> str:
        """The allowed number, for a table."""
        if self.allowed is None:
            return "unknown"
        return ("≥ " if self.at_least else "") + value_text(self.allowed)


class Row(Record, kw_only=True):
    """One limit: the number found, and what is allowed.

    outcome: the worse of both sides. where: the first place that exceeds the limit. advice: how to
    stay within it. program: the one concerned, if it is about one. passes: the numbers of the
    passes of a plan that use the program or what exceeds the limit, in words; pass_count: how many
    they are.
    """

    limit: str
    program: str = ""
    found: int | str
    outcome: Outcome
    advertised: Side | None
    native: Side | None
    where: str = ""
    advice: str = ""
    passes: str = ""
    pass_count: int = 0

    @property
    def sides(self) -> tuple[Side | None, Side | None]:
        """The driver's advertised limit and the chip's native one; None if it has no such limit."""
        return self.advertised, self.native


class ChainNode(Record):
    """A node of a program's texture dependency chain.

    line: of the instruction that opens it; None for the first node. why: the reason that it is
    opened. avoidable: whether another order of instructions would avoid it. advice: how to avoid
    it.
    """

    number: int
    line: int | None
    why: str
    avoidable: bool
    advice: str


class Expanded(Record):
    """Instructions of one kind that each take several native instructions.

    instruction: the first of them. operands: those that are moved, each with its pieces, such as
    `R1.yyww: xyw + z`. moves: one for each piece. fewest, most: native arithmetic instructions of
    each, from chips/native.py.
    """

    program: str
    lines: tuple[int, ...]
    instruction: str
    operands: tuple[str, ...]
    moves: int
    fewest: int
    most: int


class Verdict(Result, kw_only=True):
    """Whether a program or a plan loads on a chip, with a row for every limit that applies.

    plan: its name, or the name of a program that is checked by itself. parameters: of the plan.
    chip: of the profile. answer: by both sides, since nothing that exceeds a native limit can run
    on the chip. advertised: by the driver's limits. native: by the chip's own limits. nodes: the
    texture dependency chain of the program with most nodes. expanded: instructions that take
    several native ones, on a chip that lacks swizzles. pass_count: the number of passes that run in
    a plan; 0 for a program. compiled: whether a program was compiled here, from Cg, HLSL, GLSL or
    Brook.
    """

    plan: str
    parameters: dict[str, Plain]
    chip: str
    answer: LoadAnswer
    advertised: LoadAnswer
    native: LoadAnswer
    limits: tuple[Row, ...]
    nodes: tuple[ChainNode, ...] = ()
    expanded: tuple[Expanded, ...] = ()
    pass_count: int = 0
    compiled: bool = False

    def __repr__(self) -> str:
        over = ", ".join(dict.fromkeys(row.limit for row in self.exceeded))
        return f"<Verdict {self.plan} on {self.chip}: {self.answer.value}{': ' * bool(over)}{over}>"

    @property
    def status(self) -> int:
        """The exit code of a command: 1 if it does not load."""
        return int(self.answer is LoadAnswer.DOES_NOT_LOAD)

    @property
    def exceeded(self) -> tuple[Row, ...]:
        """The rows whose limit is exceeded."""
        return tuple(row for row in self.limits if row.outcome is Outcome.EXCEEDED)

    @property
    def unknown(self) -> tuple[Row, ...]:
        """The rows with a limit that is not known."""
        return tuple(
            row
            for row in self.limits
            if any(side and side.outcome is Outcome.UNKNOWN for side in row.sides)
        )

    @property
    def excesses(self) -> tuple[str, ...]:
        """Each limit that is exceeded, in words: `texture instructions 65 > 32`."""
        return tuple(dict.fromkeys(excess(row, *row.sides) for row in self.exceeded))

    # Tables -------------------------------------------------------------------------------------

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The limits that decide: exceeded ones and unknown ones.

        whole: all limits, the nodes of the texture dependency chain if there are too many of them,
        and the instructions that take several native ones.
        """
        chip = find_profile(self.chip)
        several = len({row.program for row in self.limits if row.program}) > 1
        shown = self.limits if whole else tuple(self._deciding())
        passes = ["passes"] * any(row.passes for row in shown)
        heads: tuple[str, ...] = (
            "limit", "found", "native", "result", "first exceeded by", "advertised", "sources",
            *passes,
        )  # fmt: skip
        rows: tuple[tuple[Entry, ...], ...] = tuple(
            (*_entries(row, several=several), *(row.passes for _ in passes)) for row in shown
        )
        if not shown:
            heads, rows = ("limits that it keeps",), ((len(self.limits),),)
        tags = (side.source for row in shown for side in row.sides if side and side.source)
        kept = sum(row.outcome is Outcome.WITHIN for row in self.limits)
        notes = (
            *(f"{row.limit}: {row.advice}." for row in shown if row.advice),
            *((COMPILED,) if self.compiled and not self.status else ()),
            *((f"It keeps {kept} other limits.",) if kept and shown and not whole else ()),
            *(chip.notes if whole else ()),
            *source_notes(tags),
        )
        grids = [Grid("verdict", self._caption(chip), heads, rows, notes)]
        over = (row.limit for row in self.limits if row.outcome is not Outcome.WITHIN)
        if whole and Resource.INDIRECTIONS.value in over:
            grids.append(_nodes_grid(self.nodes))
        if whole and self.expanded:
            grids.append(_expanded_grid(self.expanded, several=several))
        return grids

    def _deciding(self) -> Iterator[Row]:
        """The rows that exceed a limit and, for each unknown limit, the row that needs most."""
        unknown: dict[str, Row] = {}
        for row in self.limits:
            most = unknown.get(row.limit)
            if row.outcome is Outcome.EXCEEDED:
                yield row
            elif row.outcome is Outcome.UNKNOWN and (most is None or _more(row, most)):
                unknown[row.limit] = row
        yield from unknown.values()

    def _caption(self, chip: Profile) -> str:
        passes = f", {counted(self.pass_count, 'pass', 'passes')}," if self.pass_count else ""
        plan = titled(self.plan, self.parameters)
        text = f"{plan}{passes} on {chip.called}: {self.answer.value}."
        has_both = any(row.advertised and row.native for row in self.limits)
        if has_both and self.advertised is not self.native:
            text += f" By its advertised limits it {self.advertised.value}"
            text += f"; natively it {self.native.value}."
        return text


def _more(row: Row, other: Row) -> bool:
    """Whether one row has found more than another, if both are numbers."""
    return isinstance(row.found, int) and isinstance(other.found, int) and row.found > other.found


def _entries(row: Row, *, several: bool) -> tuple[Entry, ...]:
    """A row of the table. several: whether there are several programs, which rows then name."""
    tags = [f"{s.source} ({s.confidence.value})" for s in row.sides if s and s.confidence]
    return (
        f"{row.limit} ({row.program})" if several and row.program else row.limit,
        plain(row.found),
        str(row.native or "–"),
        "OVER" if row.outcome is Outcome.EXCEEDED else row.outcome.value,
        row.where,
        str(row.advertised or "–"),
        ", ".join(dict.fromkeys(tags)),
    )


def _nodes_grid(nodes: tuple[ChainNode, ...]) -> Grid:
    heads = ("node", "opened by", "how to avoid it")
    rows = tuple((Numeral(str(n.number)), n.why, n.advice) for n in nodes)
    caption = f"The {len(nodes)} nodes of the texture dependency chain (issue 24 of the spec)."
    return Grid("nodes", caption, heads, rows)


_SHOWN_LINES = 3


def _expanded_grid(expanded: tuple[Expanded, ...], *, several: bool) -> Grid:
    """The instructions that take several native ones. several: whether of several programs."""
    heads = ("lines", "the first of them", "operands in pieces", "moves", "native ALU instructions")
    rows = tuple(
        (
            f"{_lines(kind.lines)}{f' ({kind.program})' if several else ''}",
            kind.instruction,
            "; ".join(kind.operands),
            kind.moves,
            Numeral(f"{kind.fewest}–{kind.most}" if kind.fewest < kind.most else str(kind.most)),
        )
        for kind in expanded
    )
    notes = (
        "Each takes one more native instruction for every piece of an operand, or is split where "
        "that is fewer; a rectangle's coordinates are scaled by one more.",
    )
    caption = "Instructions that are more on the chip, by kind."
    return Grid("native", caption, heads, rows, notes)


def _lines(lines: tuple[int, ...]) -> str:
    """Up to three line numbers in words, and the number of others."""
    shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
    more = len(lines) - _SHOWN_LINES
    return shown + (f" and {more} more" if more > 0 else "")


def excess(row: Row, *sides: Side | None) -> str:
    """A row that is exceeded on at least one of these sides, in words."""
    over = [side for side in sides if side and side.outcome is Outcome.EXCEEDED]
    numbers = [side.allowed for side in over if isinstance(side.allowed, int | float)]
    if numbers:
        return f"{row.limit} {row.found} > {min(numbers):g}"
    return f"{row.limit} ({row.found}; allowed: {over[0].allowed})"


# Making them ------------------------------------------------------------------------------------


def make_side(
    outcome: Outcome,
    allowed: Number | str | None,
    fact: Fact[Any] | None,
    *,
    at_least: bool = False,
) -> Side:
    """A limit on one side, with the source of the fact."""
    return Side(
        allowed="unlimited" if allowed == UNLIMITED else allowed,
        at_least=at_least,
        outcome=outcome,
        source=fact.source if fact else None,
        confidence=fact.confidence if fact else None,
    )


UNKNOWN_SIDE = Side(outcome=Outcome.UNKNOWN)
"""A limit that is not known."""


def feature_side(fact: Fact[Any] | None, *, lacks: bool, unit: str = "") -> Side:
    """What the chip has of a feature, in words. lacks: whether that is too little."""
    if fact is None:
        return UNKNOWN_SIDE
    allowed = f"{value_text(fact.value)}{unit}" if fact.value else "none"
    return make_side(Outcome.EXCEEDED if lacks else Outcome.WITHIN, allowed, fact)


def number_side(
    number: int, fact: Fact[Number] | None, *, most: int = 0, at_least: bool = False
) -> Side:
    """A number against a limit. at_least: the limit is a minimum, and may be higher.

    most: the upper end, if only a range from `number` on is known.
    """
    if fact is None:
        return UNKNOWN_SIDE
    if max(number, most) <= fact.value:
        return make_side(Outcome.WITHIN, fact.value, fact, at_least=at_least)
    higher = at_least or fact.value < number <= fact.most
    outcome = Outcome.UNKNOWN if higher or number <= fact.value else Outcome.EXCEEDED
    return make_side(outcome, fact.value, fact, at_least=higher)


def make_row(
    chip: Profile,
    limit: str,
    found: int | str,
    *sides: Side | None,
    where: str = "",
    advice: str = "",
) -> Row:
    """A row, whose outcome is the worse one of its sides.

    sides: the advertised and the native one; or one for both, of which an API keeps the first.
    """
    both = sides if len(sides) > 1 else (*sides, None if chip.kind is ProfileKind.API else sides[0])
    return Row(
        limit=limit,
        found=found,
        outcome=_worst(both),
        advertised=both[0],
        native=both[1],
        where=where,
        advice=advice,
    )


def make_verdict(name: str, chip: Profile, rows: Iterable[Row], **more: Any) -> Verdict:
    """A verdict of these rows, with their joint answer. more: its other fields."""
    limits = tuple(rows)
    return Verdict(
        plan=name,
        parameters={},
        chip=chip.name,
        answer=_ANSWERS[_worst(limits)],
        advertised=_ANSWERS[_worst(row.advertised for row in limits)],
        native=_ANSWERS[_worst(row.native for row in limits)],
        limits=limits,
        **more,
    )


_ANSWERS = dict(zip(Outcome, LoadAnswer, strict=True))


def _worst(parts: Iterable[Row | Side | None]) -> Outcome:
    outcomes = (part.outcome for part in parts if part)
    return max(outcomes, key=[*Outcome].index, default=Outcome.WITHIN)
