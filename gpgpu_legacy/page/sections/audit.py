"""The audit: every claim of the papers with its verdict, as they were last recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpgpu_legacy.page.cells import AuditedClaim, judged
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.audit.model import how_derived, off_in_words, printed
from gpgpu_legacy.papers.audit.record import recorded
from gpgpu_legacy.papers.audit.turning import words
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.present.grid import pretty
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import Rule

ORDER = (
    AuditVerdict.DIFFERS,
    AuditVerdict.RESTS_ON,
    AuditVerdict.POSSIBLE,
    AuditVerdict.UNCHECKED,
    AuditVerdict.AGREES,
)
"""The verdicts in the page's order: differing ones first, agreeing ones last."""

_MEANINGS = {
    AuditVerdict.DIFFERS: "ours is another value",
    AuditVerdict.RESTS_ON: "ours is the printed value, under an assumption that is named",
    AuditVerdict.POSSIBLE: "the printed value keeps a bound of ours, which does not confirm it",
    AuditVerdict.UNCHECKED: "we cannot decide it",
    AuditVerdict.AGREES: "ours is the printed value, to its last digit unless the claim says more",
}


def make_section() -> PageSection:
    """The bar of verdicts and all claims. Its script only filters them."""
    verdicts = recorded()
    found = [one for paper in papers() for one in judged(paper, verdicts).values()]
    counts = Counter(one.entry.verdict for one in found)
    causes = Counter(one.entry.cause for one in found if one.entry.cause)
    ordered = sorted(found, key=lambda one: ORDER.index(one.entry.verdict))
    html = rendered(
        "sections/audit.html.j2",
        claims=[_shown(one, causes) for one in ordered],
        bar=[(verdict.value, counts[verdict], _MEANINGS[verdict]) for verdict in ORDER],
        papers=[(paper.id, paper.short) for paper in papers()],
        causes=len(causes),
        recorded=(verdicts.date or "")[:10] or "an unknown day",
    )
    return PageSection(
        "audit",
        "The audit",
        html,
        data={"verdicts": [verdict.value for verdict in ORDER]},
        scripts=("sections/audit.js",),
    )


def _shown(one: AuditedClaim, causes: Counter[str]) -> dict[str, object]:
    """A claim in the form of its template."""
    claim, entry = one.claim, one.entry
    published = printed(claim.published)
    formula = claim.rule is Rule.FORMULA
    differs = entry.verdict is AuditVerdict.DIFFERS
    return {
        "name": one.name,
        "paper": one.paper.id,
        "short": one.paper.short,
        "where": claim.where,
        "verdict": entry.verdict.value,
        "title": claim.quote if claim.is_of_text and claim.quote else claim.where,
        "quote": claim.quote if claim.is_of_text else "",
        "published": pretty(published) if formula else published,
        "reading": "" if claim.reading is None else printed(claim.reading),
        "computed": pretty(entry.computed) if formula else entry.computed,
        "unit": claim.unit,
        "off": off_in_words(claim, entry.computed) if differs else "",
        "how": how_derived(claim),
        "arguments": _arguments(claim.arguments),
        "rests_on": claim.rests_on if entry.verdict is AuditVerdict.RESTS_ON else "",
        "reason": claim.reason,
        "otherwise": entry.otherwise,
        "repaired": claim.repaired,
        "turned_by": words(claim),
        "cause": entry.cause if causes[entry.cause] > 1 else "",
        "sharing": causes[entry.cause],
    }


def _arguments(arguments: Mapping[str, object]) -> str:
    """The arguments of a derivation, if they are short enough to be readable."""
    text = ", ".join(f"{name} = {value}" for name, value in arguments.items())
    return text if len(text) <= _SHORT else ""


_SHORT = 120
