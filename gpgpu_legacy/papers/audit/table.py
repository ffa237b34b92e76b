"""The audit as tables and as JSON, and the transfer's share measured beside the printed one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.api.products import Sampling, run_method
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.papers.audit.model import Finding, printed, shown
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.papers.derive import Rounded, Value
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, pretty
from gpgpu_legacy.published.claims import Published
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Rule
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import able
from gpgpu_legacy.serial import plain

# The verdicts -----------------------------------------------------------------------------------


def audit_grids(found: Sequence[Finding], listed: Sequence[Finding]) -> list[Grid]:
    """A table of verdicts a paper, then how many there are of each.

    found: all of them, which are counted. listed: those that the tables show.
    """
    papers = list(dict.fromkeys(each.paper.id for each in found))
    tables = [_verdicts([e for e in listed if e.paper.id == paper]) for paper in papers
              if any(e.paper.id == paper for e in listed)]  # fmt: skip
    return [*tables, summary_grid(found)]


def _verdicts(found: Sequence[Finding]) -> Grid:
    paper = found[0].paper
    heads = ("claim", "where", "published", "computed", "unit", "verdict", "why")
    rows = tuple(
        (
            each.claim.id,
            each.claim.where,
            _set(each, printed(each.claim.published)),
            _set(each, shown(each.computed)),
            each.claim.unit or "–",
            each.verdict.value,
            _why(each),
        )
        for each in found
    )
    return Grid(paper.id, f"{paper.short}: what it claims, recomputed.", heads, rows)


def _set(found: Finding, text: str) -> Numeral:
    """A value for the table, a formula as formulas are set there."""
    return Numeral((pretty(text) if found.claim.rule is Rule.FORMULA else text) or "–")


def _why(found: Finding) -> str:
    repaired = f"repaired in print: {found.claim.repaired}" if found.claim.repaired else ""
    return "; ".join(part for part in (found.reason, repaired) if part) or "–"


def summary_grid(found: Sequence[Finding]) -> Grid:
    """How many claims have each verdict, a paper a row."""
    counts = Counter((each.paper.id, each.verdict) for each in found)
    papers = {each.paper.id: each.paper for each in found}
    numbers = [[counts[name, verdict] for verdict in Verdict] for name in papers]
    names = [paper.short for paper in papers.values()]
    if len(names) > 1:
        names.append("all")
        numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (name, *row, sum(row)) for name, row in zip(names, numbers, strict=True)
    )
    heads = ("paper", *(verdict.value for verdict in Verdict), "claims")
    note = (
        "agrees: ours is the printed value, to its last digit where nothing else is said. "
        "rests-on: it agrees under an assumption, which is named. "
        "unchecked: nothing here decides it."
    )
    return Grid("verdicts", "Verdicts.", heads, rows, (note,))


def left_out_grid(papers: Sequence[Paper]) -> Grid:
    """The numbers that are no claims, and why."""
    rows = tuple(
        (paper.id, each.where, ", ".join(each.numbers), each.reason)
        for paper in papers
        for each in paper.left_out
    )
    return Grid("left-out", "Left out.", ("paper", "where", "numbers", "why"), rows)


# The transfer's share -----------------------------------------------------------------------------

SHARE_METHOD = "hall-carr-hart-multi"
SHARE_SIZES = (128, 256, 512, 1024)
SHARE_BLOCK = 32
SHARE_SAMPLING = Sampling(runs=3)
LONGEST_RUN_S = 20.0  # by the cube of the sizes' quotient; a longer one is not started


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds of one product's parts on an executor; None, and why, where it was not run."""

    executor: str
    device: str
    size: int
    upload_s: float | None
    compute_s: float | None
    readback_s: float | None
    reason: str = ""

    @property
    def transfer_share(self) -> float | None:
        """Upload and read-back over all of it."""
        parts = (self.upload_s, self.compute_s, self.readback_s)
        if None in parts or not sum(part or 0.0 for part in parts):
            return None
        return ((self.upload_s or 0.0) + (self.readback_s or 0.0)) / sum(p or 0.0 for p in parts)


def _able() -> list[Executor]:
    return list(able(find_method(SHARE_METHOD).plan(Shape(8, 8, 8), Options(block=4))))


def count_shares() -> int:
    """How many sizes on executors `measure_shares` goes through."""
    return len(_able()) * len(SHARE_SIZES)


def measure_shares(
    sizes: Sequence[int] = SHARE_SIZES, progress: Callable[[str], None] | None = None
) -> list[Share]:
    """Upload, compute and read-back of Section 5.1's product, on every executor that can draw."""
    return [
        share
        for executor in _able()
        for share in _shares_on(executor, sizes, progress or (lambda _: None))
    ]


def _shares_on(
    executor: Executor, sizes: Sequence[int], progress: Callable[[str], None]
) -> Iterator[Share]:
    device = executor.device()
    estimate = 0.0
    for size, after in zip(sizes, [*sizes[1:], sizes[-1]], strict=True):
        progress(f"n = {size} on {executor.name}")
        if estimate > LONGEST_RUN_S:
            reason = f"about {estimate:.2g} s by the size before"
            yield Share(executor.name, device, size, None, None, None, reason)
            estimate *= (after / size) ** 3
            continue
        options = Options(block=SHARE_BLOCK)
        operands = random_operands(Shape(size, size, size), options, seed=0)
        try:
            taken = run_method(
                SHARE_METHOD, options, operands, executor.name, SHARE_SAMPLING
            ).seconds
        except GpgpuLegacyError as error:
            yield Share(executor.name, device, size, None, None, None, str(error))
            continue
        yield Share(executor.name, device, size, taken.upload_s, taken.compute_s, taken.readback_s)
        estimate = taken.compute_s * (after / size) ** 3


def shares_grid(shares: Sequence[Share], published_percent: float) -> Grid:
    """What was measured, in percent of the total, beside the paper's."""
    heads = ("executor", "n", "total, ms", "upload, %", "compute, %", "read-back, %", "transfer, %",
             "published, %", "device")  # fmt: skip
    rows = tuple(
        (
            share.executor,
            share.size,
            *_percent(share),
            published_percent if share.size == SHARE_SIZES[-1] else None,
            share.reason or share.device,
        )
        for share in shares
    )
    caption = (
        f"Transfer's share of the total, measured here: {SHARE_METHOD}, b = {SHARE_BLOCK}, "
        f"medians of {SHARE_SAMPLING.runs}."
    )
    note = (
        "The paper's share is of n = 1024, with transfers at 200 MB/s and 4 GFLOPS assumed. "
        "Transfers are of n² elements and the computation of n³ steps. Where the device is the "
        "CPU, uploads and read-backs are copies in its own memory and cross no bus."
    )
    return Grid("transfer-shares", caption, heads, rows, (note,))


def _percent(share: Share) -> tuple[float | None, ...]:
    parts = (share.upload_s, share.compute_s, share.readback_s)
    total = sum(part or 0.0 for part in parts)
    transfer = share.transfer_share
    if transfer is None:
        return (None,) * 5
    return (1e3 * total, *(100.0 * (part or 0.0) / total for part in parts), 100.0 * transfer)


# As JSON ------------------------------------------------------------------------------------------


def audit_as_json(
    found: Sequence[Finding], listed: Sequence[Finding], shares: Sequence[Share] = ()
) -> dict[str, Any]:
    """The audit for other programs to read; see the README for the keys."""
    papers = {each.paper.id: each.paper for each in found}
    return {
        "claims": [_claim_as_json(each) for each in listed],
        "verdicts": {
            name: dict(Counter(e.verdict.value for e in found if e.paper.id == name))
            for name in papers
        },
        "left_out": [
            {"paper": name, **plain(each)}
            for name, paper in papers.items()
            for each in paper.left_out
        ],
        "transfer_shares": [
            {**asdict(share), "transfer_share": share.transfer_share} for share in shares
        ],
    }


def _claim_as_json(found: Finding) -> dict[str, Any]:
    claim = found.claim
    return {
        "paper": found.paper.id,
        "id": claim.id,
        "where": claim.where,
        "quote": claim.quote,
        "published": _plain(claim.published),
        "reading": _plain(claim.reading),
        "unit": claim.unit,
        "computed": _plain(found.computed),
        "off": found.off,
        "verdict": found.verdict.value,
        "reason": found.reason,
        "repaired": claim.repaired or None,
        "derived_by": claim.derive,
        "derived": found.how or None,
    }


def _plain(value: Value | Published) -> Any:
    return value.value if isinstance(value, Rounded) else value
