"""What a prediction is: terms in stages, each a count over a rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from gpgpu_legacy.chips.profile import Confidence, Profile
from gpgpu_legacy.serial import Record


class Stage(Enum):
    """What follows one another; the terms of one stage overlap."""

    DRAW = "drawing"
    WRITE = "writing"
    DISPATCH = "dispatches"
    COPY = "copies"
    CLEAR = "clears"
    PASS = "passes"
    RUN = "the run"
    UPLOAD = "upload"
    READBACK = "read-back"


TRANSFERS = frozenset({Stage.UPLOAD, Stage.READBACK})

MEMORY = frozenset({"memory", "memory behind the cache", "copies", "clears"})
"""The names of the terms that the chip's own memory serves."""


class RateFact(Record):
    """A number of a chip's profile that a rate follows from. name: its field in Hardware."""

    name: str
    value: bool | int | float | str
    source: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Rate:
    """How many per second, and the facts of the profile that it follows from.

    why: how it follows from them or, if `per_s` is None, what is missing.
    """

    per_s: float | None
    facts: tuple[RateFact, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One lower bound: a count of something, at a rate. unit: of the count."""

    name: str
    stage: Stage
    count: float
    unit: str
    rate: Rate

    @property
    def seconds(self) -> float | None:
        """Count over rate; None if the rate is not known."""
        return None if self.rate.per_s is None else self.count / self.rate.per_s


@dataclass(frozen=True, slots=True)
class Prediction:
    """The terms of a plan on a chip; those with a count of 0 are left out. plan: its name."""

    chip: Profile
    plan: str
    terms: tuple[Term, ...]

    def longest(self, stage: Stage) -> Term | None:
        """The longest known term of a stage; None if it has no term or no known one."""
        return _longest(term for term in self.terms if term.stage is stage)

    @property
    def bottleneck(self) -> Term | None:
        """The term that takes most of the compute time; None if no rate is known."""
        stages = (stage for stage in Stage if stage not in TRANSFERS)
        return _longest(term for stage in stages if (term := self.longest(stage)))

    @property
    def compute_s(self) -> float | None:
        """Seconds without transfers; None if no rate of the drawing or dispatches is known."""
        if self.longest(Stage.DRAW) is None and self.longest(Stage.DISPATCH) is None:
            return None
        return sum(self.stage_s(stage) or 0.0 for stage in Stage if stage not in TRANSFERS)

    @property
    def transfer_s(self) -> float | None:
        """Seconds of the transfers; None if one of their rates is not known."""
        times = [term.seconds for term in self.terms if term.stage in TRANSFERS]
        known = [seconds for seconds in times if seconds is not None]
        return sum(known) if len(known) == len(times) else None

    @property
    def total_s(self) -> float | None:
        """Seconds of computing and transfers; None if either is not known."""
        compute, transfers = self.compute_s, self.transfer_s
        return None if compute is None or transfers is None else compute + transfers

    @property
    def unknown(self) -> tuple[Term, ...]:
        """The terms whose rates are not known."""
        return tuple(term for term in self.terms if term.seconds is None)

    @property
    def memory_bytes(self) -> float:
        """Bytes that the chip's own memory serves, whether its rate is known or not."""
        return sum(term.count for term in self.terms if term.name in MEMORY)

    def stage_s(self, stage: Stage) -> float | None:
        """Seconds of one stage; None if it has no term or no known one."""
        term = self.longest(stage)
        return None if term is None else term.seconds


def _longest(terms: Iterable[Term]) -> Term | None:
    known = (term for term in terms if term.seconds is not None)
    return max(known, key=lambda term: term.seconds or 0.0, default=None)
