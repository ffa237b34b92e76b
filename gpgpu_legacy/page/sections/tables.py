"""The tables of the papers: published, derived, counted and measured, each with its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpgpu_legacy.count.closed_form import evaluate
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.page.recordings import TITLES, Time, recordings
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.audit.model import how_derived, printed
from gpgpu_legacy.papers.audit.result import VerdictRecord, Verdicts, recorded
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.formulas import CheckedCell, CheckedRow, CheckedTable, regenerate
from gpgpu_legacy.papers.measured_table import MS_PER_S
from gpgpu_legacy.papers.published.papers import (
    Claim,
    MeasuredCell,
    MeasuredTable,
    Paper,
    Series,
    papers,
)
from gpgpu_legacy.papers.published.schema import Key, PrintedMatrix, Quantity, Rule
from gpgpu_legacy.present.grid import plain, pretty

NAME = "tables"
"""The name of the section."""

# Verdicts -----------------------------------------------------------------------------------------


@frozen
class AuditedClaim:
    """A claim with its recorded verdict."""

    paper: Paper
    claim: Claim
    entry: VerdictRecord

    @property
    def name(self) -> str:
        """The paper's id, a slash and the claim's id: the value of `audit.claim` in the address."""
        return f"{self.paper.id}/{self.claim.id}"


def judged(paper: Paper, verdicts: Verdicts) -> dict[str, AuditedClaim]:
    """The claims of a paper with their verdicts, by the claims' ids and in their order.

    Raises InputError if the verdicts lack a claim.
    """
    claims = {}
    for claim in paper.claims:
        name = f"{paper.id} {claim.id}"
        if name not in verdicts.claims:
            raise InputError(
                f"no verdict is recorded on {name}; run `gpgpu-legacy audit --record FILE`"
            )
        claims[claim.id] = AuditedClaim(paper, claim, verdicts.claims[name])
    return claims


# The cells of the papers' tables ------------------------------------------------------------------

SIZE, BLOCK = 1024, 32
"""The n and b of the paper, at which formulas are evaluated."""


@frozen
class CellNumber:
    """A number of a cell, for people. how: its origin, in a sentence or more.

    command: what shows it.
    """

    text: str
    how: tuple[str, ...]
    command: str = ""


def _number(text: str, *how: str, command: str = "") -> CellNumber:
    """A number whose origin has these sentences, less empty ones."""
    return CellNumber(text, tuple(filter(None, how)), command)


@frozen
class CellLine:
    """A published cell: its row and column, and its counterparts in the other columns.

    claim: of the audit. value: of a formula, at SIZE and BLOCK.
    """

    row: str
    column: str
    claim: AuditedClaim
    published: CellNumber
    derived: CellNumber | None = None
    counted: CellNumber | None = None
    measured: CellNumber | None = None
    value: int | None = None


@frozen
class Cells:
    """A published table, cell by cell."""

    title: str
    caption: str
    notes: tuple[str, ...]
    lines: tuple[CellLine, ...]


def tables_of(paper: Paper, verdicts: Verdicts, here: Sequence[Time] = ()) -> list[Cells]:
    """The tables of a paper: formulas, measurements, then its printed matrices.

    here: what was timed on this machine.
    """
    maker = _TableMaker(paper, judged(paper, verdicts), _times(here))
    return [
        *map(maker.of_formulas, regenerate(SIZE, BLOCK, paper.id)),
        *map(maker.of_measurements, paper.measured),
        *map(maker.of_matrix, paper.matrices),
    ]


@frozen
class _TableMaker:
    """Makes the tables of a paper. times: recorded, by method and size."""

    paper: Paper
    claims: Mapping[str, AuditedClaim]
    times: Mapping[tuple[str | None, int], list[Time]]

    def of_formulas(self, table: CheckedTable) -> Cells:
        published = table.published
        lines = tuple(self._formula(table, row, column) for row in table.rows for column in _HEADS)
        caption = f"{published.where}: {published.caption} "
        caption += f"Counted at n = {SIZE}, b = {BLOCK}."
        return Cells(_title(table), caption, (published.note,), lines)

    def _formula(self, table: CheckedTable, row: CheckedRow, column: str) -> CellLine:
        claim = self.claims[f"{table.published.name}/{row.label}/{column}"]
        cell: CheckedCell = getattr(row, column)
        head = _HEADS[column].format(unit=table.published.unit)
        here = evaluate(cell.published, SIZE, BLOCK)
        times = self.times.get((row.method, SIZE), []) if column == "total" else []
        return CellLine(
            row=row.method,
            column=head,
            claim=claim,
            published=_number(
                pretty(cell.published),
                f"{self.paper.short}, {_title(table)}, {row.label}: {head}.",
                f"At n = {SIZE}, b = {BLOCK} it is {plain(here)}.",
                command=_audit(claim),
            ),
            derived=_recovered(cell, row),
            counted=_counted(cell, row, column, table),
            measured=_rates(times, row, table),
            value=here,
        )

    def of_measurements(self, table: MeasuredTable) -> Cells:
        lines: dict[str, CellLine] = {}
        for row in table.rows:
            for series in table.series:
                if cell := series.at(*row):
                    line = self._measurement(table, series, cell)
                    lines.setdefault(line.claim.name, line)
        return Cells(table.where, table.caption, table.notes, tuple(lines.values()))

    def _measurement(self, table: MeasuredTable, series: Series, cell: MeasuredCell) -> CellLine:
        is_by_threads = table.key is Key.THREADS and cell.threads is not None
        by_threads = f"/{cell.threads} threads" if is_by_threads else ""
        claim = self.claims[f"{table.name}/{series.label}/{cell.size}{by_threads}"]
        unit = "" if series.unit in series.label else f", {series.unit}"
        return CellLine(
            row=f"n = {cell.size}{by_threads.replace('/', ', ')}",
            column=f"{series.label}{unit}",
            claim=claim,
            published=_number(
                printed(claim.claim.published),
                f"{cell.where} of {self.paper.short}.",
                f"The text has {cell.printed}: {cell.repaired}." if cell.repaired else "",
                command=f"gpgpu-legacy tables {self.paper.id} --no-measure",
            ),
            derived=_derived(claim),
            counted=_counted_product(series, cell),
            measured=self._measured(series, cell) if series.quantity is Quantity.TIME else None,
        )

    def _measured(self, series: Series, cell: MeasuredCell) -> CellNumber | None:
        """The recorded times of a product, without transfers, or how to measure it."""
        if times := self.times.get((series.method, cell.size)):
            alone = f"{series.method}, the passes alone."
            return _number(_ms(times[0].seconds), alone, *map(_told, times))
        if series.method is None:
            return None
        how = f"No time of {series.method} at this n is recorded. The command measures it here."
        return _number("not recorded", how, command=f"gpgpu-legacy tables {self.paper.id}")

    def of_matrix(self, matrix: PrintedMatrix) -> Cells:
        lines = []
        for i, row in enumerate(matrix.digits, 1):
            for j in range(1, len(row) + 1):
                claim = self.claims[f"{matrix.id}[{i},{j}]"]
                said = claim.claim
                published = _number(said.quote, f"{said.where}.", command=_audit(claim))
                lines.append(CellLine(f"row {i}", f"column {j}", claim, published, _derived(claim)))
        title = f"Matrix {matrix.id}" if len(matrix.id) == 1 else matrix.id.capitalize()
        return Cells(title, f"{matrix.where}.", (), tuple(lines))


def _audit(claim: AuditedClaim) -> str:
    """The command that shows a claim."""
    return f"gpgpu-legacy audit {claim.paper.id} --verdict {claim.entry.verdict.value}"


def _derived(claim: AuditedClaim) -> CellNumber | None:
    """The audit's own value for a claim; None if it computes none."""
    if not claim.entry.computed:
        return None
    bound = {Rule.NOT_BELOW: "at least ", Rule.NOT_ABOVE: "at most "}.get(claim.claim.rule, "")
    unit = f" {claim.claim.unit}" if claim.claim.unit else ""
    how = (how_derived(claim.claim), claim.claim.reason, claim.entry.otherwise)
    return _number(f"{bound}{claim.entry.computed}{unit}", *how, command=_audit(claim))


# Formulas ---------------------------------------------------------------------------------------

_HEADS = {
    "passes": "passes",
    "fragments_per_pass": "fragments / pass",
    "per_fragment": "{unit} / fragment",
    "total": "total {unit}",
}
"""Of the columns, by the fields of a row."""


def _title(table: CheckedTable) -> str:
    return table.published.name.replace("-", " ").capitalize()


def _recovered(cell: CheckedCell, row: CheckedRow) -> CellNumber | None:
    if cell.counted is None:
        return None
    same = "The same as the published formula, for all n and b."
    return _number(
        pretty(cell.counted),
        f"Solved in fractions from counts of plans of {row.method} at several n and b, and then "
        "checked at others.",
        same if cell.agrees else "Not the published formula.",
        command="gpgpu-legacy tables --no-measure",
    )


def _counted(
    cell: CheckedCell, row: CheckedRow, column: str, table: CheckedTable
) -> CellNumber | None:
    if cell.value is None:
        return None
    ways = {
        "passes": "The draws of the plan, without its copies.",
        "fragments_per_pass": "The area of the rectangle that each pass draws.",
        "per_fragment": f"A fragment makes {row.lookups_per_fragment} lookups, of "
        f"{row.program_length} instructions in all.",
        "total": f"{plain(row.passes.value)} passes of {plain(row.fragments_per_pass.value)} "
        f"fragments, each {plain(row.per_fragment.value)} {table.published.unit}.",
    }
    more = ""
    if column == "total" and table.published.quantity == "bytes_requested":
        more = f"In addition, the copies move {plain(row.counts.copy_bytes)} bytes."
    return _number(plain(cell.value), ways[column], more, command=_run(row.method, SIZE))


def _run(method: str, size: int, more: str = "") -> str:
    return f"gpgpu-legacy run {method} n={size}{more}"


def _rates(times: Sequence[Time], row: CheckedRow, table: CheckedTable) -> CellNumber | None:
    """The recorded times of a method, with rates by the table's counts."""
    total = row.total.value
    if not times or total is None:
        return None
    unit = {"bytes_requested": "GB/s requested"}.get(table.published.quantity, "G instructions/s")
    how = [_told(time, f", {plain(round(1e-9 * total / time.seconds))} {unit}") for time in times]
    return _number(_ms(times[0].seconds), *how, command=_run(row.method, SIZE))


# Measurements -----------------------------------------------------------------------------------


def _counted_product(series: Series, cell: MeasuredCell) -> CellNumber | None:
    """The memory requests of the timed product."""
    if series.method is None:
        return None
    product = Product(series.method, cell.size, cell.block, dynamic=series.dynamic)
    counts = product.counts
    has_block = cell.block is not None and "block" in product.builder.parameters
    block = f" block={cell.block}" if has_block else ""
    return _number(
        f"{plain(counts.bytes_requested)} bytes",
        f"{series.method} makes {plain(counts.global_loads)} loads and "
        f"{plain(counts.global_stores)} stores in global memory, "
        f"{plain(counts.shared_loads)} loads in shared memory, and "
        f"{plain(counts.arithmetic)} operations.",
        command=_run(series.method, cell.size, block),
    )


# Times ------------------------------------------------------------------------------------------


def _times(here: Sequence[Time]) -> dict[tuple[str | None, int], list[Time]]:
    """The recorded times by method and size, in the order of the devices, then times from here."""
    times: dict[tuple[str | None, int], list[Time]] = {}
    for time in (*recordings().times, *here):
        times.setdefault((time.method, time.size), []).append(time)
    return times


def _told(time: Time, rate: str = "") -> str:
    """A time in a sentence. rate: the text after the milliseconds."""
    device = TITLES.get(time.device, time.device)  # a time of this machine has its own title
    folder = "benchmarks/" if time.device in TITLES else ""
    return f"{device}: {_ms(time.seconds)}{rate} ({time.executor}; {folder}{time.file})."


def _ms(seconds: float) -> str:
    return f"{MS_PER_S * seconds:.4g} ms"


# The section --------------------------------------------------------------------------------------

_COLUMNS = ("derived", "counted", "measured")


def make_section(here: Sequence[Time] = ()) -> PageSection:
    """All tables, complete without a script; the script only chooses the cells to show.

    here: times from this machine, for a report.
    """
    verdicts = recorded()
    html = rendered(
        "sections/tables.html.j2",
        papers=[(paper, tables_of(paper, verdicts, here)) for paper in papers()],
        columns=columns_of,
        bars=bars_of,
        plain=plain,
        differing=lambda table: sum(
            line.claim.entry.verdict is AuditVerdict.DIFFERS for line in table.lines
        ),
        number=getattr,
    )
    return PageSection(NAME, "The tables", html, data={}, scripts=("sections/tables.js",))


def columns_of(table: Cells) -> list[str]:
    """The columns that have an entry in at least one line."""
    shown = [c for c in _COLUMNS if any(getattr(line, c) is not None for line in table.lines)]
    return ["published", *shown]


def bars_of(table: Cells) -> dict[str, list[tuple[CellLine, float]]]:
    """By column, the lines of formulas, each with its part of the column's largest value."""
    bars: dict[str, list[tuple[CellLine, float]]] = {}
    for line in table.lines:
        if line.value is not None:
            bars.setdefault(line.column, []).append((line, line.value))
    most = {column: max(value for _, value in lines) for column, lines in bars.items()}
    return {c: [(line, value / most[c]) for line, value in bars[c]] for c in bars if most[c]}
