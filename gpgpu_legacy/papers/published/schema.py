"""The shape of papers/published/*.toml: a record for everything that a file may hold.

A paper has tables of formulas (`table`), tables of measurements (`measured`), matrices (`matrix`)
and claims: of the text (`claims`), and one for each cell of a table (`cells` says how a column is
recomputed). `left_out` lists the numbers that are not claims.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import TypeGuard

from gpgpu_legacy.serial import Record

Number = int | Decimal
Scalar = bool | int | float | str
Argument = Scalar | tuple[Scalar | tuple[str, ...], ...]
"""An argument of a function that recomputes a claim."""


class Quantity(Enum):
    """The contents of a column of measurements."""

    TIME = "time"
    RATE = "rate"
    RATIO = "ratio"


class Key(Enum):
    """The identity of a row of a table of measurements."""

    SIZE = "size"
    THREADS = "threads"


class Rate(Enum):
    """The rate that is derived from each time and size of a table, and shown with them."""

    NONE = ""
    GFLOPS = "GFLOPS"
    NS_PER_STEP = "ns / step"


class Rule(Enum):
    """The rule by which the computed value agrees with the published one.

    EQUAL: they are equal within the tolerance; texts are the same text. FORMULA: they are equal for
    all n and b. AT_LEAST, AT_MOST: the computed value is at least, or at most, the published one.
    WITHIN: all computed values lie between the two published numbers, tolerance included.
    HOLDS: the sentence is true. NOT_BELOW: ours is the least value that is possible; the published
    one is no smaller, tolerance included, which does not confirm it. NOT_ABOVE: the same of the
    greatest possible value. NONE: nothing decides it.
    """

    EQUAL = "equal"
    FORMULA = "formula"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHIN = "within"
    HOLDS = "holds"
    NOT_BELOW = "not below"
    NOT_ABOVE = "not above"
    NONE = "none"


class Printed:
    """What a paper prints: a number, several numbers, a formula or a sentence.

    value: numbers as int or float. step: the weight of the last printed digit, 0.01 in 3.57; of
    several numbers, that of the last one. Zeros at the end of a whole number weigh nothing: the
    step of 510 is 10.
    """

    __slots__ = ("step", "value")

    def __init__(self, value: float | str | tuple[float, ...], step: float) -> None:
        self.value, self.step = value, step

    @classmethod
    def from_plain(cls, plain: object) -> Printed:
        """Read a value of a TOML file; ValueError for one of another type."""
        if isinstance(plain, str):
            return cls(plain, 1.0)
        numbers = [n for n in (plain if isinstance(plain, list) else [plain]) if _is_number(n)]
        if not numbers or (isinstance(plain, list) and len(numbers) < len(plain)):
            raise ValueError("expected a number, an array of numbers or a string")
        values = tuple(n if isinstance(n, int) else float(n) for n in numbers)
        step = last_digit(numbers[-1])
        while isinstance(last := numbers[-1], int) and last and not last % (10 * step):
            step *= 10
        return cls(values if isinstance(plain, list) else values[0], step)


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def last_digit(number: Number) -> float:
    """The weight of a number's last printed digit: 0.01 for 3.57, 1 for 1831."""
    exponent = number.as_tuple().exponent if isinstance(number, Decimal) else 0
    assert isinstance(exponent, int)
    return float(10.0**exponent)


# Changes that turn verdicts ----------------------------------------------------------------------


class PlanChange(Record):
    """A change of the plan of a product.

    instruction: fragment programs lose the last instruction with this mnemonic; every: they lose
    all of them. text: what `becomes` replaces in kernels. iterations: how many fewer each Repeat
    has. rows: how many fewer each pass draws. texture_format: the name of the format that `becomes`
    replaces.
    """

    instruction: str = ""
    every: bool = False
    text: str = ""
    iterations: int = 0
    rows: int = 0
    texture_format: str = ""
    becomes: str = ""


class CellChange(Record):
    """A printed measurement, multiplied by `times`; by default of the claim's own size."""

    table: str
    series: str
    times: float
    size: int | None = None
    block: int | None = None


class FactChange(Record):
    """Another value of a fact in a chip's profile, such as `hardware.memory_mib`.

    For a processor, the fact is a plain name: `clock_ghz`.
    """

    chip: str
    fact: str
    value: Scalar


class ClaimChange(Record):
    """Another number in a claim of the same paper on which the changed claim stands."""

    id: str
    published: Printed


class Change(Record):
    """A change of an input of a claim: of its arguments, or of what its derivation reads."""

    arguments: dict[str, Argument] = {}  # noqa: RUF012 - each record has a dict of its own
    plan: PlanChange | None = None
    cell: CellChange | None = None
    fact: FactChange | None = None
    claim: ClaimChange | None = None


# What papers print -------------------------------------------------------------------------------


class FormulaRow(Record):
    """A row of a table of formulas in n and b.

    method: this package's name for it. label: the paper's. turned_by, rests_on: by column. cause:
    of the columns that rest on something.
    """

    method: str
    label: str
    passes: str
    fragments_per_pass: str
    per_fragment: str
    total: str
    turned_by: dict[str, Change] = {}  # noqa: RUF012 - each record has a dict of its own
    rests_on: dict[str, str] = {}  # noqa: RUF012
    cause: str = ""


class TableHead(Record):
    """The common fields of all tables.

    id: in a paper that was read, the paper's id, a slash and the table's.
    """

    id: str
    where: str
    caption: str

    @property
    def name(self) -> str:
        """The id without the paper's."""
        return self.id.partition("/")[2]


class PublishedTable(TableHead, rename={"rows": "row"}):
    """A table of formulas. quantity: the count that `per_fragment` and `total` are about."""

    quantity: str
    unit: str
    note: str
    rows: tuple[FormulaRow, ...]

    @property
    def quantities(self) -> dict[str, str]:
        """The quantity of each column, by its name in papers/derive/printed.py."""
        return {
            "passes": "draws",
            "fragments_per_pass": "fragments_per_pass",
            "per_fragment": f"{self.quantity}_per_fragment",
            "total": self.quantity,
        }


class CellEntry(Record):
    """A measured number. printed, repaired: what a damaged text has, and how it was read."""

    size: int
    value: Number
    block: int | None = None
    printed: str = ""
    repaired: str = ""


class SeriesHead(Record):
    """The contents of a column of measurements, and the method that runs the same here.

    method: this package's; None if nothing is run. executor: the one whose device corresponds to
    the paper's; if it can run, no other does. None for all executors. dynamic, beta: options of the
    method; where beta is not 0, a C is added.
    """

    label: str
    quantity: Quantity
    unit: str
    method: str | None = None
    executor: str | None = None
    dynamic: bool = False
    beta: float = 0.0


class SeriesEntry(SeriesHead, kw_only=True):
    """A column of a table of measurements. block: of the cells that have none of their own."""

    where: str
    cells: tuple[CellEntry, ...]
    block: int | None = None


class Ratio(Record):
    """A speed-up: the times of one series over those of another, both named by label."""

    label: str
    over: str
    under: str


class MeasuredHead(TableHead, rename={"ratios": "ratio"}):
    """A table of measurements, without its columns."""

    key: Key
    rate: Rate
    notes: tuple[str, ...]
    ratios: tuple[Ratio, ...] = ()


class MeasuredEntry(MeasuredHead, kw_only=True):
    """A table of measurements."""

    series: tuple[SeriesEntry, ...]


class Derived(Record):
    """The function of papers/derive/ that recomputes a value, with its arguments.

    over: for a quotient, the divisor: another function, `derive`, with all its arguments; or those
    arguments of the same function that differ. times: a factor.
    """

    arguments: dict[str, Argument] = {}  # noqa: RUF012 - each record has a dict of its own
    over: dict[str, Argument] | None = None
    times: float = 1.0


class Judged(Derived):
    """A value that is recomputed and gets a verdict.

    turned_by: a change of an input that takes the agreement away; a claim that agrees has one.
    cause: the name of what decides it, if several claims share that. rests_on: the assumption under
    which it agrees. reason: why ours differs, or why it is not checked.
    """

    turned_by: Change | None = None
    cause: str = ""
    rests_on: str = ""
    reason: str = ""
    alternatives: tuple[Alternative, ...] = ()


class PrintedMatrix(Judged, kw_only=True):
    """A printed matrix, a string of numbers for each row, and how an element is recomputed.

    rounding: the tolerance in addition to half of the last printed digit.
    """

    id: str
    where: str
    rows: tuple[str, ...]
    derive: str
    rounding: float = 0.0

    @property
    def digits(self) -> tuple[tuple[str, ...], ...]:
        """The elements, row by row, as they are printed."""
        return tuple(tuple(row.split()) for row in self.rows)


class Alternative(Derived, kw_only=True):
    """A claim recomputed under another assumption.

    assuming: the sentence that states it, without its end: our value and the unit. What a file
    leaves out is the claim's own; an alternative with a `derive` of its own takes none of the
    claim's arguments but the place of a cell.
    """

    assuming: str
    unit: str | None = None
    derive: str | None = None


class ColumnEntry(Judged, kw_only=True):
    """How the cells of a column are recomputed, each with its size as a further argument.

    Where rows are numbers of threads, a cell's block is a further argument, too. where: the
    column's place in the paper.
    """

    table: str
    series: str
    where: str
    derive: str
    rule: Rule = Rule.EQUAL


class ClaimHead(Judged, kw_only=True):
    """The fields of a claim; `gpgpu_legacy.papers.published.papers.Claim` describes them."""

    id: str
    where: str
    quote: str = ""
    unit: str = ""
    derive: str | None = None
    repaired: str = ""
    source: str = ""


class ClaimEntry(ClaimHead, kw_only=True):
    """A claim of the text. rule: EQUAL where there is a `derive` and nothing else is said."""

    published: Printed | None = None
    reading: Printed | None = None
    rule: Rule | None = None
    tolerance: float | None = None


class LeftOut(Record):
    """Numbers that are not claims about anything here, and why."""

    where: str
    numbers: tuple[str, ...]
    reason: str


class Citation(Record):
    """A paper's citation (`short` is how a text refers to it), and its numbers that are not claims.

    id: the name of its file, with hyphens.
    """

    id: str
    short: str
    authors: str
    title: str
    source: str
    left_out: tuple[LeftOut, ...] = ()


class PaperEntry(
    Citation,
    kw_only=True,
    rename={"tables": "table", "matrices": "matrix", "columns": "cells"},
):
    """A whole file: a paper's citation and what it prints."""

    tables: tuple[PublishedTable, ...] = ()
    measured: tuple[MeasuredEntry, ...] = ()
    matrices: tuple[PrintedMatrix, ...] = ()
    claims: tuple[ClaimEntry, ...] = ()
    columns: tuple[ColumnEntry, ...] = ()
