"""The audit, as it is shown, written and compared with its record.

Every claim has its verdict, and the tables say how many have each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from gpgpu_legacy.papers.audit.model import (
    Finding,
    how_derived,
    printed,
    shown,
    turned,
    words,
)
from gpgpu_legacy.papers.audit.verdict import AuditVerdict, count_findings
from gpgpu_legacy.papers.derive.inputs import Rounded, Value
from gpgpu_legacy.papers.published.papers import Claim, Paper, Published, find_paper
from gpgpu_legacy.papers.published.schema import Rule
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, RecordedResult, pretty
from gpgpu_legacy.serial import (
    OneLine,
    Record,
    Recorded,
    as_record,
    plain,
    provenance,
    read_recorded,
)

RECORD = Path(__file__).parent / "verdicts.json"
"""The verdicts as they were last recorded."""


class VerdictRecord(Record, kw_only=True):
    """A verdict, and the numbers behind it as people read them. cause: what decides it."""

    published: OneLine = ""
    unit: OneLine = ""
    repaired: OneLine = ""
    computed: OneLine = ""
    verdict: AuditVerdict
    cause: OneLine
    otherwise: OneLine = ""


class Verdicts(Recorded, kw_only=True):
    """The verdicts on all claims, by the paper's id and the claim's."""

    WHAT = "verdicts that `gpgpu-legacy audit --record` wrote"

    claims: dict[OneLine, VerdictRecord]


def verdicts_of(findings: Iterable[Finding]) -> Verdicts:
    """The record of these findings."""
    claims = {
        finding.name: as_record(
            VerdictRecord,
            finding,
            finding.claim,
            published=printed(finding.claim.published),
            computed=shown(finding.computed),
            otherwise=" ".join(finding.otherwise),
        )
        for finding in findings
    }
    return Verdicts(claims=claims, **provenance())


def recorded() -> Verdicts:
    """The recorded verdicts; InputError if they are missing or cannot be read."""
    return read_recorded(RECORD, Verdicts)


def changes(now: Verdicts, before: Verdicts, papers: Iterable[Paper]) -> list[str]:
    """A line for every difference between two records, in the claims of these papers."""
    ids = tuple(f"{paper.id} " for paper in papers)
    then = {name: entry for name, entry in before.claims.items() if name.startswith(ids)}
    lines = []
    for name in dict.fromkeys((*now.claims, *then)):
        if name not in then:
            lines.append(f"{name}: is new, with the verdict {now.claims[name].verdict.value}")
        elif name not in now.claims:
            lines.append(f"{name}: is gone; its verdict was {then[name].verdict.value}")
        else:
            was, is_now = plain(then[name]), plain(now.claims[name])
            lines += [
                f"{name}: {field} was {was[field] or 'nothing'}, is {is_now[field] or 'nothing'}"
                for field in is_now
                if is_now[field] != was[field]
            ]
    return lines


class Turned(Record):
    """The outcome of a claim after the change of the input that it names."""

    computed: Published
    verdict: AuditVerdict


class JudgedClaim(Record):
    """A claim with its verdict. off: how far ours is from the published number, over that number.

    cause: what decides it. turned_by: the change of an input that takes the agreement away.
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
    verdict: AuditVerdict
    reason: str
    repaired: str | None
    cause: str
    turned_by: str | None
    turned: Turned | None
    derived_by: str | None
    derived: str | None

    @property
    def claim(self) -> Claim:
        """The claim as it is published."""
        return find_paper(self.paper).claim(self.id)


class LeftOutNumbers(Record):
    """Numbers of a paper that are not claims, and why."""

    paper: str
    where: str
    numbers: tuple[str, ...]
    reason: str


class Audit(RecordedResult, kw_only=True):
    """An audit. claims: those with a verdict in `only`, or all if it is empty.

    findings, verdicts: how many causes and how many claims have each verdict, by paper. failed:
    claims that cannot be computed. changes: what differs from the recorded verdicts, where that was
    asked for.
    """

    claims: tuple[JudgedClaim, ...]
    only: tuple[AuditVerdict, ...] = ()
    findings: dict[str, dict[AuditVerdict, int]]
    verdicts: dict[str, dict[AuditVerdict, int]]
    left_out: tuple[LeftOutNumbers, ...]
    failed: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The exit code: 1 if a claim cannot be computed, or a verdict is not the recorded one."""
        return int(bool(self.failed or self.changes))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The claims that differ, or have the requested verdicts, and the numbers of all verdicts.

        Verdicts are counted by cause and by claim. whole: all claims, and the numbers that are not
        claims.
        """
        is_all = whole or self.only
        shown = [one for one in self.claims if is_all or one.verdict is AuditVerdict.DIFFERS]
        grids = [_verdicts(name, [*own]) for name, own in groupby(shown, lambda one: one.paper)]
        grids.append(_counts("findings", "Findings, by cause.", self.findings, _FINDINGS))
        grids.append(_counts("claims", "Their claims.", self.verdicts, _VERDICTS))
        if any(one.turned for one in self.claims):
            grids.append(_turned(self.claims))
        if whole:
            rows = tuple((o.paper, o.where, ", ".join(o.numbers), o.reason) for o in self.left_out)
            grids.append(Grid("left-out", "Left out.", ("paper", "where", "numbers", "why"), rows))
        for name, caption, lines in (
            ("failed", "Claims that cannot be computed.", self.failed),
            ("changes", "Differences from the recorded verdicts.", self.changes),
        ):
            if lines:
                grids.append(Grid(name, caption, (name,), tuple((line,) for line in lines)))
        return grids


_FINDINGS = (
    "A finding is all claims with one cause, and has the first of their verdicts in this order."
)
_VERDICTS = (
    "rests-on: ours is the printed value under an assumption, which is named. possible: it keeps "
    "a bound that ours sets, which does not confirm it. unchecked: nothing here decides it. "
    "external: it stands in another text. agrees: ours is the printed value, to its last digit "
    "unless the claim has another tolerance."
)


def _counts(
    name: str, caption: str, of: Mapping[str, Mapping[AuditVerdict, int]], note: str
) -> Grid:
    """The numbers with each verdict, a row for each paper."""
    names = [find_paper(paper).short for paper in of]
    numbers = [[counts.get(verdict, 0) for verdict in AuditVerdict] for counts in of.values()]
    if len(names) > 1:
        names.append("all")
        numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (paper, *row, sum(row)) for paper, row in zip(names, numbers, strict=True)
    )
    heads = ("paper", *(verdict.value for verdict in AuditVerdict), name)
    return Grid("verdicts" if name == "claims" else name, caption, heads, rows, (note,))


def _verdicts(paper: str, claims: Sequence[JudgedClaim]) -> Grid:
    heads = ("claim", "where", "published", "computed", "unit", "verdict", "why")
    rows = tuple(
        (
            one.id,
            _place(one),
            _value(one, printed(one.published)),
            _value(one, shown(one.computed)),
            one.unit or "–",
            one.verdict.value,
            _why(one),
        )
        for one in claims
    )
    return Grid(paper, f"{find_paper(paper).short}: its claims, recomputed.", heads, rows)


def _place(one: JudgedClaim) -> str:
    """The place of a claim and, for the text, its words."""
    return f"{one.where}: “{one.quote}”" if one.claim.is_of_text and one.quote else one.where


def _value(one: JudgedClaim, text: str) -> Numeral:
    """A value for the table; formulas are written as they are in other tables."""
    return Numeral((pretty(text) if one.claim.rule is Rule.FORMULA else text) or "–")


def _why(one: JudgedClaim) -> str:
    is_shared = one.cause != one.id and one.claim.is_of_text
    cause = f"Its cause: {one.cause}." if is_shared else ""
    repaired = f"It is restored: {one.repaired}." if one.repaired else ""
    turns = f"It would turn with {one.turned_by}." if one.turned_by else ""
    return " ".join(filter(None, (one.reason, cause, repaired, turns))) or "–"


def _turned(claims: Sequence[JudgedClaim]) -> Grid:
    """The outcome of each claim after the change of an input that it names."""
    heads = ("claim", "computed", "changed input", "computed then", "verdict then")
    rows = tuple(
        (
            f"{one.paper} {one.id}",
            _value(one, shown(one.computed)),
            one.turned_by,
            _value(one, shown(one.turned.computed)),
            one.turned.verdict.value,
        )
        for one in claims
        if one.turned is not None
    )
    return Grid("turned", "Claims after the change of an input.", heads, rows)


# Made of findings -------------------------------------------------------------------------------


def audit_of(
    findings: Sequence[Finding],
    only: Sequence[AuditVerdict],
    changes: Sequence[str],
    *,
    turn: bool,
) -> Audit:
    """An audit of findings that lists the claims with some verdicts, and counts all.

    only: these verdicts; if empty, all claims are listed. turn: whether to change the inputs that
    the listed claims name.
    """
    of: dict[str, list[Finding]] = {}
    for finding in findings:
        of.setdefault(finding.paper.id, []).append(finding)
    return Audit(
        **provenance(),
        claims=tuple(_judged(f, turn=turn) for f in findings if not only or f.verdict in only),
        only=tuple(only),
        verdicts={name: dict(Counter(f.verdict for f in own)) for name, own in of.items()},
        findings={
            name: count_findings((f.cause, f.verdict) for f in own) for name, own in of.items()
        },
        left_out=tuple(
            as_record(LeftOutNumbers, left, paper=name)
            for name, own in of.items()
            for left in own[0].paper.left_out
        ),
        failed=tuple(f.claim.reason for f in findings if f.failed),
        changes=tuple(changes),
    )


def _judged(finding: Finding, *, turn: bool) -> JudgedClaim:
    claim, after = finding.claim, turned(finding) if turn else None
    return as_record(
        JudgedClaim,
        finding,
        claim,
        paper=finding.paper.id,
        computed=_plain(finding.computed),
        repaired=claim.repaired or None,
        turned_by=words(claim) or None,
        turned=after and as_record(Turned, after, computed=_plain(after.computed)),
        derived_by=claim.derive,
        derived=how_derived(claim) or None,
    )


def _plain(value: Value) -> Published:
    return value.value if isinstance(value, Rounded) else value
