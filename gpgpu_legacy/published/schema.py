"""The shape of published/*.toml, and its reader.

A paper has tables of formulas (`table`), tables of measurements (`measured`), matrices (`matrix`),
and claims: of the text (`claims`), and one a cell of every table. What it prints besides, and what
is no claim, is `left_out`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from gpgpu_legacy.errors import InputError


@dataclass(frozen=True, slots=True)
class Formulas:
    """A published row, in n and b, column by column."""

    passes: str
    fragments_per_pass: str
    per_fragment: str
    total: str


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of a published table: the method as this package names it, and as the paper does."""

    method: str
    label: str
    formulas: Formulas


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table. `quantity` names the count that its last columns are about."""

    id: str
    where: str
    caption: str
    quantity: str
    unit: str
    note: str
    rows: tuple[PublishedRow, ...]


class Quantity(Enum):
    """What a column of measurements is of."""

    TIME = "time"
    RATE = "rate"
    RATIO = "ratio"


class Key(Enum):
    """What tells the rows of a table of measurements apart."""

    SIZE = "size"
    THREADS = "threads"


class Rate(Enum):
    """What is derived from a time and the size, to stand beside it."""

    NONE = ""
    GFLOPS = "GFLOPS"
    NS_PER_STEP = "ns / step"


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A published number, for n×n matrices.

    value: in `unit`, repaired where `repaired` says how; `printed` is then what the text has.
    where: its place in the paper. block: b, for b×b threads; None where there are no blocks.
    step: what the last printed digit counts, 0.01 in 3.57.
    """

    size: int
    block: int | None
    value: float
    unit: str
    where: str
    printed: str
    repaired: str
    step: float = 1.0

    @property
    def threads(self) -> int | None:
        """Threads in a block."""
        return None if self.block is None else self.block**2


@dataclass(frozen=True, slots=True)
class Series:
    """A column of published numbers, and what runs the same here.

    method: this package's; None where nothing is run. executor: the one whose device plays the
    part of the paper's, alone where it can run; None for all.
    dynamic, beta: options of the method; where beta is not 0, a C is added.
    """

    label: str
    quantity: Quantity
    unit: str
    method: str | None
    executor: str | None
    dynamic: bool
    beta: float
    cells: tuple[MeasuredCell, ...]

    def at(self, size: int, block: int | None) -> MeasuredCell | None:
        """The cell of that size, and of that block where both have one."""
        found = (cell for cell in self.cells if cell.size == size)
        return next((c for c in found if None in {block, c.block} or c.block == block), None)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A speed-up: the times of one series over those of another, both named by label."""

    label: str
    over: str
    under: str


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Times of a series in another table, brought to the size of this table's `series`."""

    label: str
    series: str
    table: str
    of: str


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A published table of measurements."""

    id: str
    where: str
    caption: str
    key: Key
    rate: Rate
    notes: tuple[str, ...]
    series: tuple[Series, ...]
    ratios: tuple[Ratio, ...]
    interpolations: tuple[Interpolation, ...]

    def find(self, label: str) -> Series:
        """The series of that label."""
        return next(series for series in self.series if series.label == label)

    @property
    def rows(self) -> tuple[tuple[int, int | None], ...]:
        """Size and block of each row, as printed; block is None where the rows are sizes."""
        cells = (cell for series in self.series for cell in series.cells)
        if self.key is Key.SIZE:
            return tuple(dict.fromkeys((cell.size, None) for cell in cells))
        return tuple(dict.fromkeys((c.size, c.block) for c in cells if c.block is not None))


@dataclass(frozen=True, slots=True)
class PrintedMatrix:
    """A matrix as it is printed, row after row: the digits, as text."""

    id: str
    where: str
    rows: tuple[tuple[str, ...], ...]


class Rule(Enum):
    """When what is computed agrees with what is published.

    EQUAL: the same but for the tolerance; texts are the same text. FORMULA: equal for all n and b.
    AT_LEAST, AT_MOST: what is computed is no less, or no more, than what is published.
    WITHIN: all that is computed lies between the two published numbers, the tolerance included.
    HOLDS: the sentence is true. FOUND: nothing is published; what is found rests on an assumption.
    NONE: nothing decides it.
    """

    EQUAL = "equal"
    FORMULA = "formula"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHIN = "within"
    HOLDS = "holds"
    FOUND = "found"
    NONE = "none"


Published = float | int | str | tuple[float, ...] | None
"""A number, a range, a formula or a sentence as it is printed; None where nothing is."""

Arguments = tuple[tuple[str, Any], ...]
"""Of a function, by name."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The same recomputed in another way; `assuming` says in which, before the value."""

    assuming: str
    unit: str
    derive: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a paper prints and that can be right or wrong.

    quote: the words it stands in, cut short. reading: the number that words are taken for, where
    `published` is words: 2 for twofold. tolerance: half of the last printed digit, if the
    data says nothing else. derive: a function of papers/derive/ that recomputes it, with these
    arguments; None where nothing does. rests_on: what has to be assumed for it to agree.
    reason: why ours differs, or why it is not checked. repaired: how a damaged text was read.
    """

    id: str
    where: str
    quote: str
    published: Published
    unit: str
    rule: Rule
    tolerance: float
    derive: str | None = None
    arguments: Arguments = ()
    rests_on: str = ""
    reason: str = ""
    repaired: str = ""
    alternatives: tuple[Alternative, ...] = ()
    reading: Published = None

    @property
    def expected(self) -> Published:
        """What is compared with: the published value, or what its words are taken for."""
        return self.published if self.reading is None else self.reading


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Numbers that are no claim about anything here, and why."""

    where: str
    numbers: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its citation (`short` is how a text refers to it), and what it printed.

    claims: of the text first, then of the tables and matrices, cell by cell.
    """

    id: str
    short: str
    authors: str
    title: str
    source: str
    tables: tuple[PublishedTable, ...]
    measured: tuple[MeasuredTable, ...]
    matrices: tuple[PrintedMatrix, ...]
    claims: tuple[Claim, ...]
    left_out: tuple[LeftOut, ...]

    def measurements(self, table: str) -> MeasuredTable:
        """The table of measurements of that name, without the paper's own; KeyError for another."""
        for each in self.measured:
            if each.id == f"{self.id}/{table}":
                return each
        raise KeyError(table)

    def matrix(self, name: str) -> PrintedMatrix:
        """The printed matrix of that name; KeyError where there is none."""
        for each in self.matrices:
            if each.id == name:
                return each
        raise KeyError(name)

    def claim(self, name: str) -> Claim:
        """The claim of that id; KeyError where there is none."""
        for each in self.claims:
            if each.id == name:
                return each
        raise KeyError(name)


@cache
def papers() -> tuple[Paper, ...]:
    """All papers in the package: those with formulas first, then by the names of their files."""
    folder = files("gpgpu_legacy.published")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    read = [_read_file(name, folder.joinpath(name).read_text("utf-8")) for name in names]
    return tuple(sorted(read, key=lambda paper: not paper.tables))


def _read_file(name: str, text: str) -> Paper:
    try:
        return read_paper(text)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise InputError(
            f"published/{name} is not a paper's data: {type(error).__name__}: {error}"
        ) from error


def find_paper(name: str) -> Paper:
    """The paper of that id; InputError, with the ids there are, for another."""
    for paper in papers():
        if paper.id == name:
            return paper
    known = ", ".join(paper.id for paper in papers())
    raise InputError(f"there is no paper {name}; choose from {known}")


def read_paper(text: str) -> Paper:
    """A paper from the text of its file. Decimals keep the digits that they are printed with."""
    data = tomllib.loads(text, parse_float=Decimal)
    tables = tuple(_table(data["id"], table) for table in data.get("table", ()))
    measured = tuple(_measured(data["id"], table) for table in data.get("measured", ()))
    matrices = tuple(_matrix(each) for each in data.get("matrix", ()))
    claims = (
        *(_claim(each) for each in data.get("claims", ())),
        *(claim for table in tables for claim in _formula_claims(table)),
        *_cell_claims(data["id"], measured, data.get("cells", ())),
        *(claim for each in data.get("matrix", ()) for claim in _element_claims(each)),
    )
    return Paper(
        id=data["id"],
        short=data["short"],
        authors=data["authors"],
        title=data["title"],
        source=data["source"],
        tables=tables,
        measured=measured,
        matrices=matrices,
        claims=claims,
        left_out=tuple(_left_out(each) for each in data.get("left_out", ())),
    )


def _table(paper: str, data: dict[str, Any]) -> PublishedTable:
    rows = tuple(_row(row) for row in data["row"])
    return PublishedTable(
        id=f"{paper}/{data['id']}",
        where=data["where"],
        caption=data["caption"],
        quantity=data["quantity"],
        unit=data["unit"],
        note=data["note"],
        rows=rows,
    )


def _row(data: dict[str, Any]) -> PublishedRow:
    names = ("passes", "fragments_per_pass", "per_fragment", "total")
    return PublishedRow(data["method"], data["label"], Formulas(*(data[name] for name in names)))


def _measured(paper: str, data: dict[str, Any]) -> MeasuredTable:
    return MeasuredTable(
        id=f"{paper}/{data['id']}",
        where=data["where"],
        caption=data["caption"],
        key=Key(data["key"]),
        rate=Rate(data["rate"]),
        notes=tuple(data["notes"]),
        series=tuple(_series(data["where"], series) for series in data["series"]),
        ratios=tuple(Ratio(**ratio) for ratio in data.get("ratio", ())),
        interpolations=tuple(
            Interpolation(**{**each, "table": f"{paper}/{each['table']}"})
            for each in data.get("interpolation", ())
        ),
    )


def _series(table: str, data: dict[str, Any]) -> Series:
    place = f"{table}, {data['where']}"
    return Series(
        label=data["label"],
        quantity=Quantity(data["quantity"]),
        unit=data["unit"],
        method=data.get("method"),
        executor=data.get("executor"),
        dynamic=data.get("dynamic", False),
        beta=float(data.get("beta", 0.0)),
        cells=tuple(_cell(place, data, cell) for cell in data["cells"]),
    )


def _cell(place: str, series: dict[str, Any], data: dict[str, Any]) -> MeasuredCell:
    block = data.get("block", series.get("block"))
    threads = "" if block is None else f", {block}×{block} threads"
    return MeasuredCell(
        size=data["size"],
        block=block,
        value=float(data["value"]),
        unit=series["unit"],
        where=f"{place}, {data['size']}×{data['size']}{threads}",
        printed=data.get("printed", ""),
        repaired=data.get("repaired", ""),
        step=_step(data["value"]),
    )


# Claims -----------------------------------------------------------------------------------------


def _step(value: object) -> float:
    """What the last printed digit of a number counts."""
    if not isinstance(value, Decimal):
        return 1.0
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return float(10.0**exponent)


def _plain(value: Any) -> Any:
    """A value of the file with its decimals as floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return tuple(_plain(each) for each in value)
    return value


def _arguments(data: Mapping[str, Any]) -> Arguments:
    return tuple((name, _plain(value)) for name, value in data.items())


_CLAIM_KEYS = {
    "id", "where", "quote", "published", "unit", "rule", "tolerance", "derive", "arguments",
    "rests_on", "reason", "repaired", "alternatives", "reading",
}  # fmt: skip


def _claim(data: Mapping[str, Any]) -> Claim:
    unknown = data.keys() - _CLAIM_KEYS
    if unknown:
        raise ValueError(f"claim {data.get('id')}: there is no {', '.join(sorted(unknown))}")
    published, reading = data.get("published"), data.get("reading")
    derive = data.get("derive")
    number = published if reading is None else reading
    last = number[-1] if isinstance(number, list) else number
    return Claim(
        id=data["id"],
        where=data["where"],
        quote=data.get("quote", ""),
        published=_plain(published),
        unit=data.get("unit", ""),
        rule=Rule(data.get("rule", "equal" if derive else "none")),
        tolerance=float(data.get("tolerance", _step(last) / 2)),
        derive=derive,
        arguments=_arguments(data.get("arguments", {})),
        rests_on=data.get("rests_on", ""),
        reason=data.get("reason", ""),
        repaired=data.get("repaired", ""),
        alternatives=tuple(_alternative(data, each) for each in data.get("alternatives", ())),
        reading=_plain(reading),
    )


def _alternative(claim: Mapping[str, Any], data: Mapping[str, Any]) -> Alternative:
    arguments = {} if "derive" in data else claim.get("arguments", {})
    return Alternative(
        assuming=data["assuming"],
        unit=data.get("unit", claim.get("unit", "")),
        derive=data.get("derive", claim.get("derive", "")),
        arguments=_arguments({**arguments, **data.get("arguments", {})}),
    )


def _formula_claims(table: PublishedTable) -> Iterator[Claim]:
    """One a column of a row: the formula that counts of real plans obey has to be the same."""
    quantities = {
        "passes": "passes",
        "fragments_per_pass": "fragments_per_pass",
        "per_fragment": f"{table.quantity}_per_fragment",
        "total": table.quantity,
    }
    name = table.id.partition("/")[2]
    for row in table.rows:
        for column, quantity in quantities.items():
            yield Claim(
                id=f"{name}/{row.label}/{column}",
                where=f"{name.replace('-', ' ').capitalize()}, {row.label}, {column}",
                quote=table.caption,
                published=str(getattr(row.formulas, column)),
                unit="",
                rule=Rule.FORMULA,
                tolerance=0.0,
                derive="formula",
                arguments=(("method", row.method), ("quantity", quantity)),
            )


def _cell_claims(
    paper: str, tables: tuple[MeasuredTable, ...], recipes: list[dict[str, Any]]
) -> Iterator[Claim]:
    """One a cell of the measured tables. recipes: how columns are recomputed, where they are."""
    known = {(each["table"], each["series"]): each for each in recipes}
    for table in tables:
        name = table.id.partition("/")[2]
        for series in table.series:
            recipe = known.pop((name, series.label), None)
            for cell in series.cells:
                yield _cell_claim(paper, table, series, cell, recipe)
    if known:
        raise ValueError(f"{paper} has no columns {sorted(known)}")


def _cell_claim(
    paper: str,
    table: MeasuredTable,
    series: Series,
    cell: MeasuredCell,
    recipe: dict[str, Any] | None,
) -> Claim:
    place = f"{table.id.partition('/')[2]}/{series.label}/{cell.size}"
    if table.key is Key.THREADS and cell.threads is not None:
        place += f"/{cell.threads} threads"
    bare = Claim(
        id=place,
        where=cell.where,
        quote=cell.printed,
        published=cell.value,
        unit=cell.unit,
        rule=Rule.NONE,
        tolerance=cell.step / 2,
        reason="a time on a machine that is not here; "
        f"`gpgpu-legacy tables --paper {paper}` runs the same and sets it beside",
        repaired=cell.repaired,
    )
    if recipe is None:
        return bare
    told = _claim({**{k: v for k, v in recipe.items() if k not in {"table", "series"}},
                   "id": bare.id, "where": bare.where})  # fmt: skip
    here = (("size", cell.size),)
    return replace(
        bare,
        rule=told.rule,
        derive=told.derive,
        arguments=(*told.arguments, *here),
        rests_on=told.rests_on,
        reason=told.reason,
        alternatives=tuple(
            replace(each, unit=each.unit or cell.unit, arguments=(*each.arguments, *here))
            for each in told.alternatives
        ),
    )


def _matrix(data: Mapping[str, Any]) -> PrintedMatrix:
    rows = tuple(tuple(row.split()) for row in data["rows"])
    return PrintedMatrix(data["id"], data["where"], rows)


def _element_claims(data: Mapping[str, Any]) -> Iterator[Claim]:
    """One an element, by the function that makes the matrix."""
    matrix = _matrix(data)
    for i, row in enumerate(matrix.rows):
        for j, digits in enumerate(row):
            yield Claim(
                id=f"{matrix.id}[{i + 1},{j + 1}]",
                where=f"{matrix.where}, row {i + 1}, column {j + 1}",
                quote=digits,
                published=float(digits),
                unit="",
                rule=Rule.EQUAL,
                tolerance=_step(Decimal(digits)) / 2 + float(data.get("rounding", 0.0)),
                derive=data["derive"],
                arguments=(("row", i), ("column", j), *_arguments(data.get("arguments", {}))),
                rests_on=data.get("rests_on", ""),
            )


def _left_out(data: Mapping[str, Any]) -> LeftOut:
    return LeftOut(data["where"], tuple(data["numbers"]), data["reason"])
