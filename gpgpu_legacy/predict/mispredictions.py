"""The log of mispredictions: predicted times beside published and measured ones.

Each case is a row of mispredictions.toml. It has the ratio of both times from when its reason was
written, so that a change of the model, a profile or a method that moves a ratio is noticed.
"""

from __future__ import annotations

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
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.serial import (
    Line,
    OneLine,
    Positive,
    Record,
    Several,
    Share,
    Size,
    as_record,
    from_toml,
    with_fields,
)


class Origin(Enum):
    """The origin of a time: a paper, a figure for plausibility, a recorded run."""

    PUBLISHED = "published"
    PLAUSIBLE = "plausible"
    MEASURED = "measured"


class LoggedTime(Record, kw_only=True):
    """A square product on a chip, its time, and the reason that the prediction differs.

    size: n, of n×n matrices. seconds: compute time alone. where: the paper's table, or the file of
    recorded results. ratio: predicted over actual time, as recorded.
    """

    chip: Line
    method: Line
    size: Size
    block: Size | None = None
    accumulate: Accumulate | None = None
    seconds: Positive
    kind: Origin
    where: Line
    ratio: Positive
    reason: OneLine

    @property
    def parameters(self) -> dict[str, Plain]:
        """The parameters of the product."""
        given = {"n": self.size, "block": self.block, "accumulate": plainly(self.accumulate)}
        return {name: value for name, value in given.items() if value is not None}


class CaseLog(Record):
    """mispredictions.toml. tolerance: the relative change of a ratio that is allowed.

    reasons: by the keys that cases have in the file, since several share one.
    """

    tolerance: Share
    reasons: dict[Line, OneLine]
    case: Several[LoggedTime]


class Misprediction(Record):
    """A case beside today's prediction for it.

    ratio: predicted over actual time; recorded_ratio: the same when the reason was written; holds:
    whether they agree. binds: the bottleneck, a term's name.
    """

    chip: str
    method: str
    size: int
    block: int | None
    predicted_seconds: float
    found_seconds: float
    ratio: float
    recorded_ratio: float
    holds: bool
    binds: str
    kind: Origin
    where: str
    reason: str


class Mispredictions(Result):
    """The whole log, compared with today's predictions."""

    mispredictions: tuple[Misprediction, ...]

    @property
    def status(self) -> int:
        """The exit code of a command: 1 if a ratio is not the recorded one."""
        return int(not all(row.holds for row in self.mispredictions))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Predicted and actual times, their ratio, and the reason for it."""
        heads = (
            "chip", "method", "n", "b", "predicted, ms", "actual, ms", "predicted / actual",
            "bottleneck", "actual time from", "reason",
        )  # fmt: skip
        rows = tuple(
            (
                row.chip,
                row.method,
                row.size,
                row.block,
                1e3 * row.predicted_seconds,
                1e3 * row.found_seconds,
                row.ratio,
                row.binds,
                row.where,
                row.reason if row.holds else f"WAS {row.recorded_ratio:.3g}: {row.reason}",
            )
            for row in self.mispredictions
        )
        notes = (
            "A prediction is a lower bound. A ratio under 1 is time that the model does not "
            "explain; a ratio over 1 is a bound that does not hold.",
        )
        caption = "Predicted against published and measured."
        return [Grid("mispredictions", caption, heads, rows, notes)]


@cache
def read_log() -> CaseLog:
    """The recorded cases, each with its reason in words, and their tolerance."""
    name = "mispredictions.toml"
    return log_of(files("gpgpu_legacy.predict").joinpath(name).read_text("utf-8"), name)


def log_of(text: str, name: str) -> CaseLog:
    """The cases of a file's text; InputError if the text does not have that form."""
    log = from_toml(text, CaseLog, name)
    return with_fields(log, case=tuple(_explained(case, log.reasons) for case in log.case))


def _explained(case: LoggedTime, reasons: dict[str, str]) -> LoggedTime:
    if case.reason not in reasons:
        raise InputError(
            f"mispredictions.toml: {case.method} on {case.chip} has the reason {case.reason!r}; "
            f"choose from {', '.join(reasons)}"
        )
    return with_fields(case, reason=reasons[case.reason])


def compare_all() -> Mispredictions:
    """Every case beside today's prediction."""
    log = read_log()
    rows = (compare(case, log.tolerance) for case in log.case)
    return Mispredictions(mispredictions=tuple(rows))


def compare(case: LoggedTime, tolerance: float) -> Misprediction:
    """A case beside today's prediction, of a chip whose rates are known."""
    plan = _plan(case.method, tuple(case.parameters.items()))
    prediction = predict(plan, find_profile(case.chip))
    assert prediction.compute_seconds is not None and prediction.binds is not None
    return compared(case, prediction.compute_seconds, prediction.binds, tolerance)


@cache
def _plan(method: str, parameters: tuple[tuple[str, Plain], ...]) -> Plan:
    """The plan of a square product, which several chips share."""
    return find_product(method).plan(**dict(parameters))


def compared(case: LoggedTime, predicted_s: float, binds: str, tolerance: float) -> Misprediction:
    """A case beside a prediction of its seconds, whose bottleneck is the term `binds`."""
    ratio = predicted_s / case.seconds
    return as_record(
        Misprediction,
        case,
        predicted_seconds=predicted_s,
        found_seconds=case.seconds,
        ratio=ratio,
        recorded_ratio=case.ratio,
        holds=abs(ratio - case.ratio) <= tolerance * case.ratio,
        binds=binds,
    )
