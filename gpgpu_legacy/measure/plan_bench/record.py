"""What a benchmark of plans records."""

from __future__ import annotations

from gpgpu_legacy.bounded import Limit, Line, NotNegative, Positive, Several, Share, Spread, Whole
from gpgpu_legacy.serial import Record, Recorded


class CaseRecord(Record):
    """A plan that was measured. parameters: that it was built with. passes: of all kinds."""

    case: Line
    plan: Line
    parameters: dict[str, int | float | str | bool | None]
    passes: Whole


class PlanResult(Record):
    """An executor on a plan, a peer of the plan's, or its reference function.

    executor: its name, or the peer's or the function's. is_reference: whether it is the function,
    which has float64 numbers and no preparation or transfers. is_peer: whether executors are
    measured against it: a program of today's, or an executor that runs the driver's own. seconds:
    the median of `samples`, of computing alone. spread: seconds of the fastest and the slowest
    sample. first_run: whether the only sample is a first run, because the budget ended before any
    that is measured. prepare_s: the first preparation. upload_s, readback_s: medians. over_fastest,
    over_reference: its seconds, over those of the fastest executor and of the function. max_error:
    the largest difference from the function, over its largest magnitude. max_difference: the same
    from the reference machine; 0 where all bits agree. max_peer_difference: the same from the first
    peer that is no executor. None where there is nothing to compare with, or where an infinity or a
    NaN takes part.
    """

    case: Line
    executor: Line
    is_reference: bool
    is_peer: bool
    device: Line
    seconds: Positive
    spread: Spread
    first_run: bool
    samples: tuple[NotNegative, ...]
    prepare_s: NotNegative | None
    upload_s: NotNegative | None
    readback_s: NotNegative | None
    over_fastest: NotNegative | None
    over_reference: NotNegative | None
    max_error: Limit | None
    max_difference: Limit | None
    max_peer_difference: Limit | None


class PlanSkipped(Record):
    """An executor, or the reference function, without a result for a plan, and why."""

    case: Line
    executor: Line
    reason: Line


class PlanBench(Recorded, kw_only=True):
    """A benchmark of plans, and what makes it reproducible.

    device: of the machine; results have their own. versions: of Python and the packages that times
    depend on. settings: what else they depend on; see measure/platform.py. arithmetic, exact: of
    the machine that plans ran on. repeat: rounds. budget_s, spent_s: seconds; budget_s is None
    without a limit. busy_share: the part of the processors' time that other processes took
    meanwhile, from 0 to 1.
    """

    WHAT = "a benchmark of plans that `gpgpu-legacy plan bench --output` recorded"

    device: Line
    versions: dict[Line, Line]
    settings: dict[Line, Line]
    arithmetic: Line
    exact: bool
    repeat: Whole
    budget_s: Limit | None
    spent_s: NotNegative
    busy_share: Share | None
    cases: Several[CaseRecord]
    results: Several[PlanResult]
    not_run: Several[PlanSkipped]
