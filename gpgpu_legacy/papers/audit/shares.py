"""The share of transfers in the time of a product, measured here beside the printed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import MeasuredJob, count_steps, measure
from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.measure.rounds import Rounds, median_timings
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.runs import product_job
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.runtime.executor import Executor, able
from gpgpu_legacy.serial import Record, as_record

METHOD, BLOCK = "hall-carr-hart-multi", 32  # the product of Section 5.1
SIZES = (128, 256, 512, 1024)
BUDGET_S = 60.0
ROUNDS = Rounds(count=3, most_runs=1)

_PAPER, _CLAIM = "hall-carr-hart-2003", "section-5.1-11-percent"


class Share(Record):
    """Seconds of one product's phases on an executor; None, with the reason, if it was not run.

    transfer_share: the part of the total that upload and read-back take, from 0 to 1.
    """

    executor: str
    device: str
    size: int
    upload_s: float | None = None
    compute_s: float | None = None
    readback_s: float | None = None
    reason: str = ""
    transfer_share: float | None = None


class Shares(Record):
    """What was measured.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1;
    None where it was too short to tell.
    """

    shares: tuple[Share, ...] = ()
    busy_share: float | None = None

    def grid(self) -> Grid:
        """The measured shares, in percent of the total, beside the paper's."""
        published = find_paper(_PAPER).claim(_CLAIM).published
        assert isinstance(published, int | float)
        heads = ("executor", "n", "total, ms", "upload, %", "compute, %", "read-back, %",
                 "transfer, %", "published, %", "device")  # fmt: skip
        rows = tuple(
            (
                share.executor,
                share.size,
                *_percent(share),
                published if share.size == SIZES[-1] else None,
                share.reason or share.device,
            )
            for share in self.shares
        )
        caption = (
            f"Share of transfers in the total time, measured here: {METHOD}, b = {BLOCK}, "
            f"medians of {ROUNDS.count} runs."
        )
        note = (
            "The paper's share is for n = 1024, with transfers at 200 MB/s and 4 GFLOPS assumed. "
            "Transfers move n² elements, the computation takes n³ steps. Where the device is the "
            "CPU, uploads and read-backs are copies in its own memory and cross no bus."
        )
        notes = (note, *busy_notes(self.busy_share))
        return Grid("transfer-shares", caption, heads, rows, notes)


NOTHING_MEASURED = Shares()


def count_shares() -> int:
    """The number of progress reports of `measure_shares`."""
    return count_steps(_jobs(_able()), ROUNDS)


def measure_shares(
    budget: Budget | None = None,
    *,
    executors: Sequence[Executor] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Shares:
    """Upload, computation and read-back of Section 5.1's product, by executor and size.

    budget: for all of it; 60 s without one. executors: all that can draw, without.
    """
    chosen = _able() if executors is None else executors
    jobs = _jobs(chosen)
    measured = measure(jobs, budget or Budget(BUDGET_S), ROUNDS, progress=progress)
    devices = {executor.name: executor.device() for executor in chosen}
    shares = {}
    for outcome in measured.outcomes:
        name, size = outcome.job.series, outcome.job.size
        taken = median_timings(outcome.checked[-len(outcome.samples) :])
        transfer_s = taken.upload_s + taken.readback_s
        total_s = transfer_s + taken.compute_s
        shares[name, size] = as_record(
            Share,
            taken,
            executor=name,
            device=devices[name],
            size=size,
            transfer_share=transfer_s / total_s if total_s else None,
        )
    for left in measured.not_run:
        name, size = left.job.series, left.job.size
        shares[name, size] = Share(
            executor=name, device=devices[name], size=size, reason=left.reason
        )
    return Shares(
        shares=tuple(shares[job.series, job.size] for job in jobs), busy_share=measured.busy_share
    )


def _able() -> list[Executor]:
    return able(Product(METHOD, 8, 4).plan)


def _jobs(executors: Sequence[Executor]) -> list[MeasuredJob]:
    return [
        product_job(executor.name, Product(METHOD, size, BLOCK), executor)
        for executor in executors
        for size in SIZES
    ]


def _percent(share: Share) -> tuple[float | None, ...]:
    """The total in ms, and in percent of it the three parts, and the transfers together."""
    if share.transfer_share is None:
        return (None,) * 5
    parts = [part or 0.0 for part in (share.upload_s, share.compute_s, share.readback_s)]
    total = sum(parts)
    return (1e3 * total, *(100.0 * part / total for part in parts), 100.0 * share.transfer_share)
