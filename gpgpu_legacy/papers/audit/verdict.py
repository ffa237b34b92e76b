"""What an audit may say of a claim."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """What became of a claim."""

    AGREES = "agrees"
    DIFFERS = "differs"
    RESTS_ON = "rests-on"
    UNCHECKED = "unchecked"
