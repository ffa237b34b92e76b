"""The verdicts of an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum


class AuditVerdict(Enum):
    """The result of recomputing a claim, in the order in which people read them.

    DIFFERS: ours is not the published value. RESTS_ON: it is, under an assumption. POSSIBLE: the
    published value keeps a bound that ours sets, which does not confirm it. UNCHECKED: nothing
    decides it. EXTERNAL: it stands in another text than the paper. AGREES: ours is the published
    value, to its last digit unless the claim has another tolerance.
    """

    DIFFERS = "differs"
    RESTS_ON = "rests-on"
    POSSIBLE = "possible"
    UNCHECKED = "unchecked"
    EXTERNAL = "external"
    AGREES = "agrees"


def by_cause(claims: Iterable[tuple[str, AuditVerdict]]) -> dict[str, AuditVerdict]:
    """The verdict of each cause: the first, in the order above, of the verdicts of its claims."""
    order = [*AuditVerdict]
    ordered = sorted(claims, key=lambda claim: order.index(claim[1]), reverse=True)
    return dict(ordered)


def count_findings(claims: Iterable[tuple[str, AuditVerdict]]) -> dict[AuditVerdict, int]:
    """The number of causes with each verdict."""
    return dict(Counter(by_cause(claims).values()))
