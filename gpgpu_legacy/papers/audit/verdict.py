"""The verdicts of an audit."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """The result of recomputing a claim.

    AGREES: ours is the published value, to its last digit unless the claim has another tolerance.
    DIFFERS: it is not. RESTS_ON: ours agrees, under an assumption. UNCHECKED: nothing decides it.
    """

    AGREES = "agrees"
    DIFFERS = "differs"
    RESTS_ON = "rests-on"
    UNCHECKED = "unchecked"
