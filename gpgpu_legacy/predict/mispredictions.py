"""The log of mispredictions: what predict/model.py says beside what was published or measured.

Each case is a row of predict/mispredictions.toml, with the ratio that stood there when its reason
was written. A change of the model, of a profile or of a method moves a ratio, and shows.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.model import predict


class Origin(Enum):
    """Where a time comes from: a paper, a figure for plausibility, a recorded run."""

    PUBLISHED = "published"
    PLAUSIBLE = "plausible"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Case:
    """A product on a chip, how long it took, and why the prediction differs.

    seconds: of computing alone. where: the paper's table, or the file of recorded results.
    ratio: predicted over found, as recorded.
    """

    chip: str
    method: str
    size: int
    block: int | None
    accumulate: Accumulate | None
    seconds: float
    kind: Origin
    where: str
    ratio: float
    reason: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A case and today's prediction for it. tolerance: of the ratio, as a part of it."""

    case: Case
    predicted_s: float
    binds: str
    tolerance: float

    @property
    def ratio(self) -> float:
        """Predicted over found."""
        return self.predicted_s / self.case.seconds

    @property
    def holds(self) -> bool:
        """Whether the ratio is the recorded one."""
        return abs(self.ratio - self.case.ratio) <= self.tolerance * self.case.ratio


def read_cases() -> tuple[float, tuple[Case, ...]]:
    """The tolerance and the recorded cases."""
    text = files("gpgpu_legacy.predict").joinpath("mispredictions.toml").read_text("utf-8")
    data = tomllib.loads(text)
    return float(data["tolerance"]), tuple(_case(each) for each in data["case"])


def _case(data: dict[str, Any]) -> Case:
    accumulate = data.get("accumulate")
    return Case(
        chip=data["chip"],
        method=data["method"],
        size=data["size"],
        block=data.get("block"),
        accumulate=None if accumulate is None else Accumulate(accumulate),
        seconds=float(data["seconds"]),
        kind=Origin(data["kind"]),
        where=data["where"],
        ratio=float(data["ratio"]),
        reason=data["reason"],
    )


def compare_all() -> list[Compared]:
    """Today's prediction for every case.

    Raises GpgpuLegacyError for a case of which nothing can be predicted.
    """
    tolerance, cases = read_cases()
    return [compare(case, tolerance) for case in cases]


@cache
def _plan(method: str, size: int, block: int | None, accumulate: Accumulate | None) -> Plan:
    """A square product's plan; several chips have the same."""
    options = Options(block=block, accumulate=accumulate)
    return find_method(method).plan(Shape(size, size, size), options)


def compare(case: Case, tolerance: float) -> Compared:
    """Today's prediction for one case; raises as compare_all does."""
    plan = _plan(case.method, case.size, case.block, case.accumulate)
    found = predict(plan, find_profile(case.chip))
    if found.compute_s is None or found.bound is None:
        raise GpgpuLegacyError(f"nothing is known of {case.method} on {case.chip}")
    return Compared(case, found.compute_s, found.bound.name, tolerance)
