"""What `gpgpu-legacy anomaly --json` prints. Misses are per iteration, times in ms per product."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, Outlier, Row
from gpgpu_legacy.studies.host_anomaly.penalties import Penalties


class RowRecord(Record, frozen=True, kw_only=True):
    """A size. spike_predicted: whether the simulated misses make its time an outlier."""

    n: int
    misses_per_iteration: float
    predicted_ms: float | None
    published_ms: float | None
    predicted_ns: float | None
    published_ns: float | None
    fitted: bool
    spike_predicted: bool
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
    """One machine with one paging. spikes: its published outliers."""

    machine: str
    title: str
    paging: str
    seed: int
    fit: Penalties | None
    rows: tuple[RowRecord, ...]
    spikes: tuple[OutlierRecord, ...]


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
        paging=str(anomaly.paging),
        seed=anomaly.paging.seed,
        fit=anomaly.penalties,
        rows=tuple(map(_row, anomaly.rows)),
        spikes=tuple(map(_outlier, anomaly.outliers)),
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
        spike_predicted=row.outlier_predicted,
        rows_counted=simulated.rows,
        walk_misses_per_iteration=simulated.walk_misses,
        l1_misses_per_iteration=simulated.l1_misses,
        dtlb_misses_per_iteration=simulated.dtlb_misses,
        walk_l1_misses_per_iteration=simulated.walk_l1_misses,
    )


def _outlier(outlier: Outlier) -> OutlierRecord:
    return OutlierRecord(
        n=outlier.size,
        beside=outlier.beside,
        published_extra_ns=outlier.published_extra_ns,
        predicted_extra_ns=outlier.predicted_extra_ns,
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
