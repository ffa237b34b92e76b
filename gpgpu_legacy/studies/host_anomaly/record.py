"""What `gpgpu-legacy anomaly --json` prints. Misses are per iteration, times in ms per product."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.host_anomaly.anchors import Anchor
from gpgpu_legacy.studies.host_anomaly.evidence import Evidence
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, Row
from gpgpu_legacy.studies.host_anomaly.penalties import Penalties, Support
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES


class SupportRecord(Record):
    """What the fit rests on; see penalties.Support and penalties.FittedSize."""

    points: tuple[tuple[int, ...], ...]
    parameters: int
    degrees_of_freedom: int
    saturated: bool
    leverages: tuple[float, ...]
    left_out_ns: tuple[float | None, ...]
    base_range_ns: tuple[float, float] | None
    dtlb_range_ns: tuple[float, float] | None
    miss_range_ns: tuple[float, float] | None
    predicted: tuple[int, ...]


class AnchorRecord(Record):
    """The fit with another anchor; n is None for that without any. See anchors.Anchor."""

    n: int | None
    stride_bytes: int | None
    prefetchable: float
    fit: Penalties


class OutlierRecord(
    Record,
    rename={
        "size": "n",
        "misses": "misses_per_iteration",
        "needed_misses": "misses_asked_for",
        "dtlb_misses": "dtlb_misses_per_iteration",
        "walk_misses": "walk_misses_per_iteration",
    },
):
    """A published outlier, beside its neighbours; see model.Outlier."""

    size: int
    beside: tuple[int, ...]
    published_extra_ns: float
    predicted_extra_ns: float | None
    published_extra_relative: float
    simulated_extra_relative: float | None
    misses: float
    misses_beside: float
    needed_misses: float | None
    misses_without_walks: float
    dtlb_misses: float
    dtlb_misses_beside: float
    dtlb_miss_would_cost_ns: float | None
    walk_misses: float
    matrices_bytes: int
    memory_bytes: int


class ModelRecord(Record):
    """One machine with one paging and one policy of level 2. outliers: the published outliers.

    evidence: without any fit. support: what the fit rests on. anchors: the fit with other sizes in
    place of its anchor.
    """

    machine: str
    title: str
    about: str
    paging: str
    policy: str
    seed: int
    evidence: Evidence
    fit: Penalties | None
    support: SupportRecord | None
    anchors: tuple[AnchorRecord, ...]
    rows: tuple[Row, ...]
    outliers: tuple[OutlierRecord, ...]


class AnomalyRecord(ModelRecord):
    """The first machine and paging, and under `models` all of them."""

    models: tuple[ModelRecord, ...]


def anomaly_record(anomalies: Sequence[Anomaly]) -> AnomalyRecord:
    """The anomalies as they are printed."""
    models = tuple(map(_model, anomalies))
    return as_record(AnomalyRecord, models[0], models=models)


def _model(anomaly: Anomaly) -> ModelRecord:
    return as_record(
        ModelRecord,
        anomaly,
        anomaly.host,
        machine=anomaly.host.name,
        paging=str(anomaly.case.paging),
        policy=anomaly.case.policy.value,
        seed=anomaly.case.paging.seed,
        fit=anomaly.penalties,
        support=None if anomaly.support is None else _support(anomaly, anomaly.support),
        anchors=tuple(map(_anchor, anomaly.anchors)),
        outliers=tuple(
            as_record(
                OutlierRecord,
                outlier,
                published_extra_relative=anomaly.extra_time(outlier),
                simulated_extra_relative=anomaly.extra_misses(outlier),
            )
            for outlier in anomaly.outliers
        ),
    )


def _support(anomaly: Anomaly, rests_on: Support) -> SupportRecord:
    return as_record(
        SupportRecord,
        rests_on,
        saturated=rests_on.is_saturated,
        leverages=tuple(size.leverage for size in rests_on.sizes),
        left_out_ns=tuple(size.left_out_ns for size in rests_on.sizes),
        predicted=tuple(row.size for row in anomaly.predictions),
    )


def _anchor(anchor: Anchor) -> AnchorRecord:
    size = None if anchor.simulated is None else anchor.simulated.size
    return AnchorRecord(
        n=size,
        stride_bytes=None if size is None else size * WORD_BYTES,
        prefetchable=anchor.prefetchable,
        fit=anchor.penalties,
    )
