"""What `gpgpu-legacy anomaly --json` prints. Misses are per iteration, times in ms per product."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.host_anomaly.anchors import Anchor
from gpgpu_legacy.studies.host_anomaly.evidence import Call, Outcome, lines_per_set, ways_between
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, Outlier, Row
from gpgpu_legacy.studies.host_anomaly.penalties import Penalties, Support
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES


class CallRecord(Record, frozen=True, kw_only=True):
    """A size with a published time: an outlier by simulated misses, by the published time.

    outcome: hit, miss, false alarm or neither. times_beside: the published time per iteration over
    that beside it. lines_a_set: of a column of B, at most.
    """

    n: int
    lines_a_set: int
    misses_per_iteration: float
    published_ns: float
    times_beside: float | None
    simulated_outlier: bool
    published_outlier: bool
    outcome: Outcome


class EvidenceRecord(Record, frozen=True, kw_only=True):
    """Outliers simulated and published, without any fit.

    ways: the fewest and the most that a column fills at the published outliers alone.
    """

    sizes: tuple[CallRecord, ...]
    hits: int
    misses: int
    false_alarms: int
    ways: tuple[int, int] | None


class SupportRecord(Record, frozen=True, kw_only=True):
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


class AnchorRecord(Record, frozen=True, kw_only=True):
    """The fit with another anchor; n is None for that without any. See anchors.Anchor."""

    n: int | None
    stride_bytes: int | None
    prefetchable: float
    fit: Penalties


class RowRecord(Record, frozen=True, kw_only=True):
    """A size. outlier_predicted: whether the simulated misses make its time an outlier."""

    n: int
    misses_per_iteration: float
    predicted_ms: float | None
    published_ms: float | None
    predicted_ns: float | None
    published_ns: float | None
    fitted: bool
    outlier_predicted: bool
    rows_counted: int
    walk_misses_per_iteration: float
    l1_misses_per_iteration: float
    dtlb_misses_per_iteration: float
    walk_l1_misses_per_iteration: float


class OutlierRecord(Record, frozen=True, kw_only=True):
    """A published outlier, beside its neighbours; see model.Outlier."""

    n: int
    beside: tuple[int, ...]
    published_extra_ns: float
    predicted_extra_ns: float | None
    published_extra_relative: float
    simulated_extra_relative: float | None
    misses_per_iteration: float
    misses_beside: float
    misses_asked_for: float | None
    misses_without_walks: float
    dtlb_misses_per_iteration: float
    dtlb_misses_beside: float
    dtlb_miss_would_cost_ns: float | None
    walk_misses_per_iteration: float
    matrices_bytes: int
    memory_bytes: int


class ModelRecord(Record, frozen=True, kw_only=True):
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
    evidence: EvidenceRecord
    fit: Penalties | None
    support: SupportRecord | None
    anchors: tuple[AnchorRecord, ...]
    rows: tuple[RowRecord, ...]
    outliers: tuple[OutlierRecord, ...]


class AnomalyRecord(ModelRecord, frozen=True, kw_only=True):
    """The first machine and paging, and under `models` all of them."""

    models: tuple[ModelRecord, ...]


def anomaly_record(anomalies: Sequence[Anomaly]) -> AnomalyRecord:
    """The anomalies as they are printed."""
    models = tuple(map(_model, anomalies))
    return AnomalyRecord(**fields_of(models[0]), models=models)


def _model(anomaly: Anomaly) -> ModelRecord:
    return ModelRecord(
        machine=anomaly.host.name,
        title=anomaly.host.title,
        about=anomaly.host.about,
        paging=str(anomaly.case.paging),
        policy=anomaly.case.policy.value,
        seed=anomaly.case.paging.seed,
        evidence=_evidence(anomaly),
        fit=anomaly.penalties,
        support=None if anomaly.support is None else _support(anomaly, anomaly.support),
        anchors=tuple(map(_anchor, anomaly.anchors)),
        rows=tuple(map(_row, anomaly.rows)),
        outliers=tuple(_outlier(anomaly, outlier) for outlier in anomaly.outliers),
    )


def _evidence(anomaly: Anomaly) -> EvidenceRecord:
    found, cache = anomaly.evidence, anomaly.case.hierarchy.l2

    def call_record(call: Call) -> CallRecord:
        return CallRecord(
            n=call.size,
            lines_a_set=lines_per_set(call.size, cache),
            misses_per_iteration=call.misses,
            published_ns=call.published_ns,
            times_beside=call.beside,
            simulated_outlier=call.is_simulated,
            published_outlier=call.is_published,
            outcome=call.outcome,
        )

    return EvidenceRecord(
        sizes=tuple(map(call_record, found.calls)),
        hits=found.count(Outcome.HIT),
        misses=found.count(Outcome.MISS),
        false_alarms=found.count(Outcome.FALSE_ALARM),
        ways=ways_between(found, cache),
    )


def _support(anomaly: Anomaly, rests_on: Support) -> SupportRecord:
    return SupportRecord(
        points=rests_on.points,
        parameters=rests_on.parameters,
        degrees_of_freedom=rests_on.degrees_of_freedom,
        saturated=rests_on.is_saturated,
        leverages=tuple(size.leverage for size in rests_on.sizes),
        left_out_ns=tuple(size.left_out_ns for size in rests_on.sizes),
        base_range_ns=rests_on.base_range_ns,
        dtlb_range_ns=rests_on.dtlb_range_ns,
        miss_range_ns=rests_on.miss_range_ns,
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


def _row(row: Row) -> RowRecord:
    simulated = row.simulated
    return RowRecord(
        n=row.size,
        misses_per_iteration=simulated.misses,
        predicted_ms=row.predicted_ms,
        published_ms=row.published_ms,
        predicted_ns=row.predicted_ns,
        published_ns=row.published_ns,
        fitted=row.is_fitted,
        outlier_predicted=row.outlier_predicted,
        rows_counted=simulated.rows,
        walk_misses_per_iteration=simulated.walk_misses,
        l1_misses_per_iteration=simulated.l1_misses,
        dtlb_misses_per_iteration=simulated.dtlb_misses,
        walk_l1_misses_per_iteration=simulated.walk_l1_misses,
    )


def _outlier(anomaly: Anomaly, outlier: Outlier) -> OutlierRecord:
    return OutlierRecord(
        n=outlier.size,
        beside=outlier.beside,
        published_extra_ns=outlier.published_extra_ns,
        predicted_extra_ns=outlier.predicted_extra_ns,
        published_extra_relative=anomaly.extra_time(outlier),
        simulated_extra_relative=anomaly.extra_misses(outlier),
        misses_per_iteration=outlier.misses,
        misses_beside=outlier.misses_beside,
        misses_asked_for=outlier.needed_misses,
        misses_without_walks=outlier.misses_without_walks,
        dtlb_misses_per_iteration=outlier.dtlb_misses,
        dtlb_misses_beside=outlier.dtlb_misses_beside,
        dtlb_miss_would_cost_ns=outlier.dtlb_miss_would_cost_ns,
        walk_misses_per_iteration=outlier.walk_misses,
        matrices_bytes=outlier.matrices_bytes,
        memory_bytes=outlier.memory_bytes,
    )
