"""The verdicts of an audit."""

from __future__ import annotations

from enum import Enum


class AuditVerdict(Enum):
    """The result of recomputing a claim.

    AGREES: ours is the published value, to its last digit unless the claim has another tolerance.
    DIFFERS: it is not. RESTS_ON: ours agrees, under an assumption. POSSIBLE: it keeps a bound that
    ours sets, which does not confirm it. UNCHECKED: nothing decides it.
    """

    AGREES = "agrees"
    DIFFERS = "differs"
    RESTS_ON = "rests-on"
    POSSIBLE = "possible"
    UNCHECKED = "unchecked"
