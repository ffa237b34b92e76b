"""The log of mispredictions: predicted times beside published and measured ones.

Each case is an entry of mispredictions.toml. It has the name of its reason, which several cases
may share, and the ratio of both times when it was recorded. So a change of the model, a profile or
a method that moves a ratio is noticed.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from functools import cache
from importlib.resources import files

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.parameters import Plain, plainly
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Evidence
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.serial import (
    Line,
    OneLine,
    Positive,
    Record,
    Several,
    Share,
    Size,
    from_toml,
)


class Origin(Enum):
    """The origin of a time: a paper, a figure for plausibility, a recorded run."""

    PUBLISHED = "published"
    PLAUSIBLE = "plausible"
    MEASURED = "measured"


class LoggedTime(Record, kw_only=True):
    """A square product on a chip, its time, and the name of the reason why the prediction differs.

    size: n, of n×n matrices. as_printed: by the method's listing as it is printed. rule: of
    coalescing, in place of the profile's. seconds: compute time alone. where: the paper's table, or
    the file of recorded results. source: the tag of the time's source; of a table, the paper's id.
    ratio: predicted over actual time, as recorded.
    """

    chip: Line
    method: Line
    size: Size
    block: Size | None = None
    accumulate: Accumulate | None = None
    as_printed: bool = False
    rule: Line | None = None
    seconds: Positive
    origin: Origin
    where: Line
    source: Line = ""
    ratio: Positive
    name: Line

    @property
    def parameters(self) -> dict[str, Plain]:
        """The parameters of the product."""
        accumulate = plainly(self.accumulate)
        given = {
            "n": self.size, "block": self.block, "accumulate": accumulate,
            "as_printed": self.as_printed or None,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}

    @property
    def is_hypothetical(self) -> bool:
        """Whether the case assumes a listing or a rule that may be refuted."""
        return self.as_printed or self.rule is not None

    @property
    def tag(self) -> str:
        """The tag of the time's source."""
        return self.source or self.where.partition("/")[0]


class CaseLog(Record):
    """The contents of mispredictions.toml.

    tolerance: the relative change of a ratio that is allowed. reasons: by the names that cases
    give, since several share one.
    """

    tolerance: Share
    reasons: dict[Line, OneLine]
    case: Several[LoggedTime]


class Misprediction(Record):
    """A case beside today's prediction for it.

    binds: the bottleneck, a term's name. ratio: predicted over actual time; as_recorded: whether it
    is the case's. evidence: what the comparison shows. holds: whether the time is at least the
    bound; None if the prediction is no bound. reason: for the difference.
    """

    case: LoggedTime
    predicted_seconds: float
    binds: str
    ratio: float
    as_recorded: bool
    evidence: Evidence
    holds: bool | None
    reason: str


class Mispredictions(Result):
    """The whole log, compared with today's predictions."""

    mispredictions: tuple[Misprediction, ...]

    @property
    def status(self) -> int:
        """The exit code of a command: 1 if a ratio is not the recorded one."""
        return int(not all(row.as_recorded for row in self.mispredictions))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Predicted and actual times, their ratio and what it shows, and the reasons by name."""
        heads = (
            "chip", "method", "n", "b", "predicted, ms", "actual, ms", "predicted / actual",
            "evidence", "holds", "bottleneck", "actual time from", "name",
        )  # fmt: skip
        rows = tuple(
            (
                row.case.chip,
                row.case.method,
                row.case.size,
                row.case.block,
                1e3 * row.predicted_seconds,
                1e3 * row.case.seconds,
                row.ratio,
                row.evidence.value,
                row.holds,
                row.binds,
                row.case.where,
                row.case.name if row.as_recorded else f"WAS {row.case.ratio:.3g}: {row.case.name}",
            )
            for row in self.mispredictions
        )
        number = Counter((row.evidence, row.holds) for row in self.mispredictions)
        notes = (
            "holds: the time is at least a bound, which follows from data sheets alone. "
            f"{number[Evidence.BOUND, True]} bounds hold; {number[Evidence.BOUND, False]} do not, "
            "and what they assume is refuted.",
            f"{number[Evidence.CALIBRATION, None]} calibrations (rates measured on the machine "
            f"that gave the time) and {number[Evidence.CIRCULAR, None]} circular comparisons (a "
            "rate from the source of the time) are no bounds, and their ratios confirm nothing.",
        )
        reasons = {row.case.name: row.reason for row in self.mispredictions}
        caption = "Predicted against published and measured."
        return [
            Grid("mispredictions", caption, heads, rows, notes),
            Grid("reasons", "Why they differ.", ("name", "reason"), tuple(reasons.items())),
        ]


@cache
def read_log() -> CaseLog:
    """The contents of mispredictions.toml; InputError if a case names no reason."""
    name = "mispredictions.toml"
    text = files("gpgpu_legacy.predict").joinpath(name).read_text("utf-8")
    log = from_toml(text, CaseLog, name)
    for case in log.case:
        if case.name not in log.reasons:
            raise InputError(
                f"{name}: {case.method} on {case.chip} has the name {case.name!r}; "
                f"choose from {', '.join(log.reasons)}"
            )
    return log


def reached_shares() -> list[float]:
    """The shares of bounds that published times reach, where the bound holds."""
    return [
        case.ratio
        for case in read_log().case
        if case.origin is Origin.PUBLISHED and not case.is_hypothetical and case.ratio <= 1
    ]


def compare_all() -> Mispredictions:
    """Every case beside today's prediction."""
    return Mispredictions(mispredictions=tuple(map(compare, read_log().case)))


@cache
def _plan(method: str, parameters: tuple[tuple[str, Plain], ...]) -> Plan:
    """The plan of a square product, which several chips share."""
    return find_product(method).plan(**dict(parameters))


def compare(case: LoggedTime) -> Misprediction:
    """A case beside today's prediction, of a chip whose rates are known."""
    plan, log = _plan(case.method, tuple(case.parameters.items())), read_log()
    prediction = predict(plan, find_profile(case.chip), rule=case.rule)
    assert prediction.compute_seconds is not None and prediction.binds is not None
    ratio, evidence = prediction.compute_seconds / case.seconds, prediction.against(case.tag)
    return Misprediction(
        case=case,
        predicted_seconds=prediction.compute_seconds,
        binds=prediction.binds,
        ratio=ratio,
        as_recorded=abs(ratio - case.ratio) <= log.tolerance * case.ratio,
        evidence=evidence,
        holds=ratio <= 1.0 if evidence is Evidence.BOUND else None,
        reason=log.reasons[case.name],
    )
