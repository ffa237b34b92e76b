"""The recorded verdicts, and the changes since."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpgpu_legacy.papers.audit.model import Finding, printed, shown
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.serial import (
    OneLine,
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


class VerdictRecord(Record, kw_only=True):
    """A verdict, with what it rests on: numbers as people read them. cause: what decides it."""

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
