"""The audit: every claim of the papers with its verdict, as they were last recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.page.sections.tables import AuditedClaim, judged
from gpgpu_legacy.papers.audit.model import how_derived, off_in_words, printed, words
from gpgpu_legacy.papers.audit.result import recorded
from gpgpu_legacy.papers.audit.verdict import AuditVerdict, by_cause
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.papers.published.schema import Rule
from gpgpu_legacy.present.grid import pretty

_MEANINGS = {
    AuditVerdict.DIFFERS: "ours is another value",
    AuditVerdict.RESTS_ON: "ours is the printed value, under an assumption that is named",
    AuditVerdict.POSSIBLE: "the printed value keeps a bound of ours, which does not confirm it",
    AuditVerdict.UNCHECKED: "we cannot decide it",
    AuditVerdict.EXTERNAL: "it stands in another text than the paper",
    AuditVerdict.AGREES: "ours is the printed value, to its last digit unless the claim says more",
}


def make_section() -> PageSection:
    """A dot for each finding, by paper and verdict, and all claims, which its script filters."""
    verdicts = recorded()
    claims = [one for paper in papers() for one in judged(paper, verdicts).values()]
    sharing = Counter(map(_cause, claims))
    findings = by_cause((_cause(one), one.entry.verdict) for one in claims)
    counts = [Counter(findings.values()), Counter(one.entry.verdict for one in claims)]
    order = [*AuditVerdict]
    dots = sorted({(one.paper.id, one.entry.cause, _cause(one)) for one in claims})
    ordered = sorted(claims, key=lambda one: order.index(one.entry.verdict))
    html = rendered(
        "sections/audit.html.j2",
        claims=[_shown(one, sharing[_cause(one)]) for one in ordered],
        verdicts=[(v.value, *(of[v] for of in counts), _MEANINGS[v]) for v in order],
        papers=papers(),
        dots={
            (paper.id, verdict.value): [
                (cause, sharing[of])
                for id_, cause, of in dots
                if id_ == paper.id and findings[of] is verdict
            ]
            for paper in papers()
            for verdict in order
        },
        findings=len(findings),
        recorded=(verdicts.date or "")[:10] or "an unknown day",
    )
    return PageSection(
        "audit",
        "The audit",
        html,
        data={"verdicts": [verdict.value for verdict in order]},
        scripts=("sections/audit.js",),
    )


def _cause(one: AuditedClaim) -> str:
    """The paper, and the cause that decides the claim."""
    return f"{one.paper.id} {one.entry.cause}"


def _shown(one: AuditedClaim, sharing: int) -> dict[str, object]:
    """A claim, and its words for the template. sharing: how many claims have its cause."""
    claim, entry = one.claim, one.entry
    published = printed(claim.published)
    formula = claim.rule is Rule.FORMULA
    differs = entry.verdict is AuditVerdict.DIFFERS
    return {
        "of": one,
        "title": claim.quote if claim.is_of_text and claim.quote else claim.where,
        "quote": claim.quote if claim.is_of_text else "",
        "published": pretty(published) if formula else published,
        "reading": "" if claim.reading is None else printed(claim.reading),
        "computed": pretty(entry.computed) if formula else entry.computed,
        "off": off_in_words(claim, entry.computed) if differs else "",
        "how": how_derived(claim),
        "arguments": _arguments(claim.arguments),
        "rests_on": claim.rests_on if entry.verdict is AuditVerdict.RESTS_ON else "",
        "turned_by": words(claim),
        "sharing": sharing,
    }


def _arguments(arguments: Mapping[str, object]) -> str:
    """The arguments of a derivation, if they are short enough to be readable."""
    text = ", ".join(f"{name} = {value}" for name, value in arguments.items())
    return text if len(text) <= _SHORT else ""


_SHORT = 120
