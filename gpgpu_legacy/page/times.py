"""The times of a report, as they are kept: on which executors, of which methods, when."""

from __future__ import annotations

from gpgpu_legacy.api.doctor import ExecutorRecord
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.papers.formulas.timing import Measured, MethodTimes, NotRun
from gpgpu_legacy.provenance import package_version
from gpgpu_legacy.serial import Record, Recorded, as_record, provenance


class ExecutorState(Record):
    """Whether an executor works here. detail: its device, or why not."""

    name: str
    works: bool
    detail: str


class ReportTimes(Recorded, kw_only=True):
    """The times of a report. version: of the package. size: n. block: b."""

    version: str | None
    size: int
    block: int
    executors: tuple[ExecutorState, ...]
    results: tuple[Measured, ...]
    not_run: tuple[NotRun, ...] = ()


def report_times(
    size: int, block: int, executors: tuple[ExecutorRecord, ...], times: MethodTimes
) -> ReportTimes:
    """The times of the methods at n×n and block b, with the executors of this machine."""
    return ReportTimes(
        **provenance(this_platform().driver),
        version=package_version(),
        size=size,
        block=block,
        executors=tuple(as_record(ExecutorState, executor) for executor in executors),
        results=times.measured,
        not_run=times.not_run,
    )
