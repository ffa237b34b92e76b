"""The audit as the JSON of `audit` has it, and the verdicts as they are recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpgpu_legacy.bounded import OneLine
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_writable
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.papers.audit.model import Finding, printed, shown
from gpgpu_legacy.papers.audit.shares import NOTHING_MEASURED, Share, Shares
from gpgpu_legacy.papers.audit.turning import turned, words
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.papers.derive.registry import Rounded, Value
from gpgpu_legacy.provenance import checkout
from gpgpu_legacy.published.claims import Published
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.serial import (
    Record,
    Recorded,
    as_record,
    plain,
    provenance,
    read_recorded,
    write_json,
)

RECORD = Path(__file__).parent / "verdicts.json"
"""The verdicts as they were last recorded."""


class TurnedRecord(Record):
    """What a claim comes to after the change of the input that it names."""

    computed: Published
    verdict: Verdict


class ClaimRecord(Record):
    """A claim with its verdict. off: how far ours is from the published number, over that number.

    cause: of the difference. turned_by: the change of an input that takes the agreement away.
    turned: the claim after it, where that was asked for. derived_by, derived: the function that
    recomputes the claim, and what it does.
    """

    paper: str
    id: str
    where: str
    quote: str
    published: Published
    reading: Published
    unit: str
    computed: Published
    off: float | None
    verdict: Verdict
    reason: str
    repaired: str | None
    cause: str | None
    turned_by: str | None
    turned: TurnedRecord | None
    derived_by: str | None
    derived: str | None


class LeftOutRecord(Record):
    """Numbers of a paper that are no claim, and why."""

    paper: str
    where: str
    numbers: tuple[str, ...]
    reason: str


class Audit(Recorded, kw_only=True):
    """An audit. verdicts: how many claims have each verdict, by paper.

    busy_share: the part of the processors' time that other processes took while transfers were
    measured, from 0 to 1; None where it is not known.
    """

    claims: tuple[ClaimRecord, ...]
    verdicts: dict[str, dict[Verdict, int]]
    left_out: tuple[LeftOutRecord, ...]
    transfer_shares: tuple[Share, ...]
    busy_share: float | None = None


def audit_record(
    findings: Sequence[Finding],
    listed: Sequence[Finding],
    measured: Shares = NOTHING_MEASURED,
    *,
    turn: bool = False,
) -> Audit:
    """An audit as a record. findings: all of them, which are counted. listed: those to write.

    turn: whether to change the inputs that these name.
    """
    papers = {finding.paper.id: finding.paper for finding in findings}
    driver = this_platform().driver if measured.shares else None
    return Audit(
        **provenance(driver),
        claims=tuple(_claim(finding, turn=turn) for finding in listed),
        verdicts={
            name: dict(Counter(f.verdict for f in findings if f.paper.id == name))
            for name in papers
        },
        left_out=tuple(
            as_record(LeftOutRecord, left, paper=name)
            for name, paper in papers.items()
            for left in paper.left_out
        ),
        transfer_shares=measured.shares,
        busy_share=measured.busy_share,
    )


def _claim(finding: Finding, *, turn: bool) -> ClaimRecord:
    claim = finding.claim
    after = turned(finding) if turn else None
    return as_record(
        ClaimRecord,
        finding,
        claim,
        paper=finding.paper.id,
        computed=_plain(finding.computed),
        repaired=claim.repaired or None,
        cause=finding.cause if finding.verdict is Verdict.DIFFERS else None,
        turned_by=words(claim) or None,
        turned=None
        if after is None
        else TurnedRecord(computed=_plain(after.computed), verdict=after.verdict),
        derived_by=claim.derive,
        derived=finding.how or None,
    )


def _plain(value: Value) -> Published:
    return value.value if isinstance(value, Rounded) else value


# What was recorded --------------------------------------------------------------------------------


class VerdictRecord(Record, kw_only=True):
    """A verdict, with what it rests on: numbers as people read them. cause: of a difference."""

    published: OneLine = ""
    unit: OneLine = ""
    repaired: OneLine = ""
    computed: OneLine = ""
    verdict: Verdict
    cause: OneLine = ""
    otherwise: OneLine = ""


class Verdicts(Recorded, kw_only=True):
    """The verdicts on all claims, by the paper's id and the claim's."""

    WHAT = "verdicts that `gpgpu-legacy audit --record` wrote"

    claims: dict[OneLine, VerdictRecord]


def verdicts_of(findings: Iterable[Finding]) -> Verdicts:
    """What is recorded of these findings."""
    claims = {
        finding.name: as_record(
            VerdictRecord,
            finding,
            finding.claim,
            published=printed(finding.claim.published),
            computed=shown(finding.computed),
            cause=finding.cause if finding.verdict is Verdict.DIFFERS else "",
            otherwise="; ".join(finding.otherwise),
        )
        for finding in findings
    }
    return Verdicts(claims=claims, **provenance())


def recorded() -> Verdicts:
    """The verdicts as recorded; InputError where they are missing or cannot be read."""
    return read_recorded(RECORD, Verdicts)


def record_path(path: Path | None = None) -> Path:
    """Where verdicts are recorded: in `path`, else in the checkout that the package runs from.

    Raises InputError where there is no checkout, since an installed package is never written to,
    and where the file cannot be written.
    """
    if path is None and checkout() is None:
        raise InputError(
            "--record writes to a checkout of the project, and this package is installed; "
            "name a file with --record-to"
        )
    to = RECORD if path is None else path
    check_writable(to)
    return to


def record(findings: Iterable[Finding], path: Path) -> None:
    """Record the verdicts in a file."""
    write_json(path, verdicts_of(findings))


def changes(now: Verdicts, before: Verdicts, papers: Iterable[Paper]) -> list[str]:
    """A line for every difference between two records, in the claims of these papers."""
    ids = tuple(f"{paper.id} " for paper in papers)
    then = {name: entry for name, entry in before.claims.items() if name.startswith(ids)}
    lines = []
    for name in [*now.claims, *(name for name in then if name not in now.claims)]:
        if name not in then:
            lines.append(f"{name}: is new, with the verdict {now.claims[name].verdict.value}")
        elif name not in now.claims:
            lines.append(f"{name}: is gone; its verdict was {then[name].verdict.value}")
        else:
            lines += [f"{name}: {line}" for line in _differences(now.claims[name], then[name])]
    return lines


def _differences(now: VerdictRecord, then: VerdictRecord) -> Iterable[str]:
    was = plain(then)
    for name, is_now in plain(now).items():
        if is_now != was[name]:
            yield f"{name} was {was[name] or 'nothing'}, is {is_now or 'nothing'}"
