"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor
(cache/host.py): some rows of C to warm up, then `rows` rows of C that are counted. An inner
iteration is one turn of the innermost loop, of which the product has n³.

The time model is a price for each miss of the DTLB and each line from memory, on top of all else:
    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, an iteration),
its prices (none below 0) fitted by least squares to the published times at FIT_SIZES and to no
other; all other sizes are predictions. Where the misses are the same at all of those sizes no price
of a miss can be had; then times that stand out are not fitted to. The base holds what an iteration
costs besides: the arithmetic, and a line from level 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cache.host import Hierarchy, HostCounts, Paging, measure
from gpgpu_legacy.cache.kernels import first_dispatch_addresses
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.runtime.devices import thread_count

FIT_SIZES = (480, 992, 1008, 1024, 1040, 1056)
"""n = 1024, where the time stands out most, its neighbours, and a size that the DTLB holds."""

PREDICTED_SIZES = (512, 560, 640, 720, 768, 800, 1280, 2048)
"""Further sizes, of which the paper says nothing about an anomaly; some have published times."""

PAGINGS = ("coloured", "off-colour:0.01", "random")
WARM_ROWS, ROWS = 1, 2
LARGEST_SIZE = 16384

METHOD = "dobravec-bulic-host"
WORD_BYTES = 4

_SAME_MISSES = 0.01  # an iteration: less than this apart, no price can be had from them
_SPIKE = 1.2  # times the median time an iteration of the sizes beside it
_BESIDE = 0.05  # of n: how far from it sizes lie beside it


@dataclass(frozen=True, slots=True)
class Found:
    """What the simulation found at a size, in the counted rows.

    iterations: inner iterations counted. An instance's numbers an iteration: `misses` (lines from
    memory, those that page walks need among them), and the parts.
    """

    size: int
    rows: int
    counts: HostCounts

    @property
    def iterations(self) -> int:
        return self.rows * self.size**2

    @property
    def misses(self) -> float:
        """Of level 2, by the program's own accesses and by page walks."""
        return (self.counts.l2_misses + self.counts.walk_l2_misses) / self.iterations

    @property
    def walk_misses(self) -> float:
        """Of level 2, by page walks."""
        return self.counts.walk_l2_misses / self.iterations

    @property
    def l1_misses(self) -> float:
        """Of level 1, by the program's own accesses."""
        return self.counts.l1_misses / self.iterations

    @property
    def dtlb_misses(self) -> float:
        """Each is one load by the page walk."""
        return self.counts.dtlb_misses / self.iterations

    @property
    def walk_l1_misses(self) -> float:
        """Of level 1, by page walks."""
        return self.counts.walk_l1_misses / self.iterations


@dataclass(frozen=True, slots=True)
class Prices:
    """The time model.

    dtlb_ns, miss_ns: of a miss of the DTLB, and of a line from memory; None where the sizes that it
    is fitted to tell nothing about it. sizes: what the prices are fitted to.
    """

    base_ns: float
    dtlb_ns: float | None
    miss_ns: float | None
    sizes: tuple[int, ...]

    def iteration_ns(self, found: Found) -> float:
        """The time of an inner iteration with the misses that were found."""
        dtlb_ns, miss_ns = self.dtlb_ns or 0.0, self.miss_ns or 0.0
        return self.base_ns + dtlb_ns * found.dtlb_misses + miss_ns * found.misses


@dataclass(frozen=True, slots=True)
class Row:
    """A size: what was found, predicted and published. Times in ms, of the whole product.

    predicted_ms: None where nothing was fitted, and for a spike where there is no price of a miss.
    spike_predicted: more than twice the misses that it takes to read each line of B once for as
    many columns of C as it has elements.
    """

    found: Found
    predicted_ms: float | None
    published_ms: float | None
    is_fitted: bool
    spike_predicted: bool

    @property
    def size(self) -> int:
        return self.found.size

    @property
    def predicted_ns(self) -> float | None:
        """Of an inner iteration."""
        return _per_iteration(self.predicted_ms, self.size)

    @property
    def published_ns(self) -> float | None:
        """Of an inner iteration."""
        return _per_iteration(self.published_ms, self.size)


def _per_iteration(milliseconds: float | None, size: int) -> float | None:
    return None if milliseconds is None else milliseconds * 1e6 / size**3


@dataclass(frozen=True, slots=True)
class Spike:
    """A size whose published time stands out, beside the sizes next to it (their means).

    An iteration's numbers: times in ns, misses of level 2 and of the DTLB. predicted_extra_ns: what
    the price makes of the misses that are more than beside it; asked_misses: how many misses would
    make up the published time; misses_without_walks: how many there are where page walks load
    nothing. matrices_bytes: A, B and C; memory_bytes: the machine's.
    """

    size: int
    beside: tuple[int, ...]
    published_ns: float
    published_ns_beside: float
    misses: float
    misses_beside: float
    misses_without_walks: float
    dtlb_misses: float
    dtlb_misses_beside: float
    walk_misses: float
    predicted_extra_ns: float | None
    asked_misses: float | None
    matrices_bytes: int
    memory_bytes: int

    @property
    def published_extra_ns(self) -> float:
        """By how much it stands out."""
        return self.published_ns - self.published_ns_beside

    @property
    def dtlb_miss_would_cost_ns(self) -> float | None:
        """What a DTLB miss would have to cost to explain it; None where there are no more of them.

        That is the paper's own explanation, paging, put to the test.
        """
        more = self.dtlb_misses - self.dtlb_misses_beside
        return self.published_extra_ns / more if more > 0.0 else None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One machine under one way of paging. prices: None where no times are published to fit."""

    host: Host
    paging: Paging
    prices: Prices | None
    rows: tuple[Row, ...]
    spikes: tuple[Spike, ...]

    def as_json(self) -> dict[str, Any]:
        """For other programs: misses are an inner iteration's, times in ms of the product."""
        prices = self.prices
        return {
            "machine": self.host.name,
            "title": self.host.title,
            "paging": str(self.paging),
            "seed": self.paging.seed,
            "fit": None
            if prices is None
            else {
                "sizes": list(prices.sizes),
                "base_ns": prices.base_ns,
                "dtlb_ns": prices.dtlb_ns,
                "miss_ns": prices.miss_ns,
            },
            "rows": [_row_as_json(row) for row in self.rows],
            "spikes": [_spike_as_json(spike) for spike in self.spikes],
        }


def _row_as_json(row: Row) -> dict[str, Any]:
    found = row.found
    return {
        "n": row.size,
        "misses_per_iteration": found.misses,
        "predicted_ms": row.predicted_ms,
        "published_ms": row.published_ms,
        "predicted_ns": row.predicted_ns,
        "published_ns": row.published_ns,
        "fitted": row.is_fitted,
        "spike_predicted": row.spike_predicted,
        "rows_counted": found.rows,
        "walk_misses_per_iteration": found.walk_misses,
        "l1_misses_per_iteration": found.l1_misses,
        "dtlb_misses_per_iteration": found.dtlb_misses,
        "walk_l1_misses_per_iteration": found.walk_l1_misses,
    }


def _spike_as_json(spike: Spike) -> dict[str, Any]:
    return {
        "n": spike.size,
        "beside": list(spike.beside),
        "published_extra_ns": spike.published_extra_ns,
        "predicted_extra_ns": spike.predicted_extra_ns,
        "misses_per_iteration": spike.misses,
        "misses_beside": spike.misses_beside,
        "misses_asked_for": spike.asked_misses,
        "misses_without_walks": spike.misses_without_walks,
        "dtlb_misses_per_iteration": spike.dtlb_misses,
        "dtlb_misses_beside": spike.dtlb_misses_beside,
        "dtlb_miss_would_cost_ns": spike.dtlb_miss_would_cost_ns,
        "walk_misses_per_iteration": spike.walk_misses,
        "matrices_bytes": spike.matrices_bytes,
        "memory_bytes": spike.memory_bytes,
    }


# Simulating ------------------------------------------------------------------------------------


def simulate_host(
    size: int,
    cases: Sequence[tuple[Hierarchy, Paging]],
    rows: int = ROWS,
    warm_rows: int = WARM_ROWS,
) -> list[Found]:
    """MulH of n×n matrices on each hierarchy and paging, in its steady state.

    The caches are empty at first; `warm_rows` rows of C go by before `rows` are counted. Raises
    InputError where C has fewer rows, or there is a size that is too large.
    """
    _check(size, rows, warm_rows)
    regions, stream = first_dispatch_addresses(
        find_method(METHOD).plan(Shape(size, size, size)), line_bytes=WORD_BYTES
    )
    a_row = size * (2 * size + 1)  # n steps of two loads and a store, for each of n elements
    found = measure(
        cases,
        stream,
        unit_bytes=WORD_BYTES,
        bytes_in_use=regions[-1].base + regions[-1].size_bytes,
        first=warm_rows * a_row,
        last=(warm_rows + rows) * a_row,
    )
    return [Found(size, rows, counts) for counts in found]


def _check(size: int, rows: int, warm_rows: int) -> None:
    if rows < 1 or warm_rows < 0 or size < rows + warm_rows:
        raise InputError(
            f"n = {size}: C has {size} rows; {warm_rows} to warm up and {rows} to count (at least "
            "1) are asked for"
        )
    if size > LARGEST_SIZE:
        raise InputError(f"n = {size}: the largest size that is taken is {LARGEST_SIZE}")


def anomaly(
    cases: Sequence[tuple[Host, Paging]],
    published_ms: Mapping[int, float],
    sizes: Sequence[int],
    rows: int = ROWS,
    progress: Callable[[str], None] | None = None,
) -> list[Anomaly]:
    """Misses, predicted and published times at some sizes, for each machine and paging.

    published_ms: of MulH, by size. sizes: what is asked for; FIT_SIZES are simulated besides where
    a price is needed. Sizes that stand out are simulated without page walks too. progress: told of
    each size that is done. Sizes take turns on all cores.
    """
    shown = tuple(dict.fromkeys(sizes))
    wanted = _wanted(sizes, published_ms)
    for size in wanted:
        _check(size, rows, WARM_ROWS)
    beside = standing_out({n: published_ms[n] for n in wanted if n in published_ms})
    hierarchies = [(host.hierarchy, paging) for host, paging in cases]
    without_walks = [(replace(hierarchy, walks=False), paging) for hierarchy, paging in hierarchies]
    found: dict[int, list[Found]] = {}
    with ThreadPoolExecutor(thread_count()) as pool:
        waiting = {
            pool.submit(
                simulate_host, n, hierarchies + (without_walks if n in beside else []), rows
            ): n
            for n in wanted
        }
        try:
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                if progress is not None:
                    progress(f"n = {waiting[done]}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    made = []
    for i, (host, paging) in enumerate(cases):
        own = {size: each[i] for size, each in found.items()}
        prices = _prices(own, published_ms)
        rows_of = {size: _row(host, own[size], prices, published_ms.get(size)) for size in own}
        spikes = tuple(
            _spike(
                rows_of[n], [rows_of[near] for near in beside[n]], found[n][len(cases) + i], prices,
                host,
            )
            for n in shown if n in beside
        )  # fmt: skip
        made.append(Anomaly(host, paging, prices, tuple(rows_of[n] for n in shown), spikes))
    return made


def count_sizes(sizes: Sequence[int], published_ms: Mapping[int, float]) -> int:
    """How many sizes `anomaly` simulates."""
    return len(_wanted(sizes, published_ms))


def _wanted(sizes: Sequence[int], published_ms: Mapping[int, float]) -> list[int]:
    """All sizes to simulate, those that take longest first."""
    return sorted({*sizes, *(n for n in FIT_SIZES if n in published_ms)}, reverse=True)


def standing_out(published_ms: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """The sizes whose time an iteration stands out from those beside them, and which these are."""
    times = {n: ms / n**3 for n, ms in sorted(published_ms.items())}
    found = {}
    for size, time in times.items():
        near = tuple(n for n in times if 0 < abs(n - size) <= _BESIDE * size)
        if near and time > _SPIKE * median(times[n] for n in near):
            found[size] = near
    return found


# The time model --------------------------------------------------------------------------------


def _prices(found: Mapping[int, Found], published_ms: Mapping[int, float]) -> Prices | None:
    fitted = [found[size] for size in FIT_SIZES if size in published_ms]
    return fit(fitted, published_ms) if fitted else None


def fit(found: Sequence[Found], published_ms: Mapping[int, float]) -> Prices:
    """The prices, by least squares on the published times of these sizes."""
    from scipy.optimize import nnls

    priced = _differ([each.misses for each in found])
    if not priced:
        beyond = standing_out(published_ms)
        found = [each for each in found if each.size not in beyond]
    walked = _differ([each.dtlb_misses for each in found])
    sizes = tuple(each.size for each in found)
    columns = [
        [1.0 for _ in found],
        [each.dtlb_misses if walked else 0.0 for each in found],
        [each.misses if priced else 0.0 for each in found],
    ]
    times = [published_ms[size] * 1e6 / size**3 for size in sizes]
    base, walk, miss = nnls(np.array(columns).T, np.array(times))[0].tolist()
    return Prices(base, walk if walked else None, miss if priced else None, sizes)


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


def _row(host: Host, found: Found, prices: Prices | None, published_ms: float | None) -> Row:
    size = found.size
    spike = found.misses > 2 * WORD_BYTES / host.hierarchy.l2.line_bytes
    predicted = None
    if prices is not None and (prices.miss_ns is not None or not spike):
        predicted = prices.iteration_ns(found) * size**3 / 1e6
    is_fitted = prices is not None and size in prices.sizes
    return Row(found, predicted, published_ms, is_fitted, spike)


def _spike(
    row: Row, beside: Sequence[Row], without_walks: Found, prices: Prices | None, host: Host
) -> Spike:
    time, *times_beside = (each.published_ns for each in (row, *beside) if each.published_ns)
    time_beside = mean(times_beside)
    misses_beside = mean(each.found.misses for each in beside)
    price = None if prices is None else prices.miss_ns
    return Spike(
        size=row.size,
        beside=tuple(each.size for each in beside),
        published_ns=time,
        published_ns_beside=time_beside,
        misses=row.found.misses,
        misses_beside=misses_beside,
        misses_without_walks=without_walks.misses,
        dtlb_misses=row.found.dtlb_misses,
        dtlb_misses_beside=mean(each.found.dtlb_misses for each in beside),
        walk_misses=row.found.walk_misses,
        predicted_extra_ns=None if price is None else price * (row.found.misses - misses_beside),
        asked_misses=None if not price else misses_beside + (time - time_beside) / price,
        matrices_bytes=3 * WORD_BYTES * row.size**2,
        memory_bytes=host.hierarchy.memory_bytes,
    )
