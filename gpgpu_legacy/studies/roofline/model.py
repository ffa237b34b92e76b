"""Rooflines: every method under the roofs of its executor, with published and measured times.

The x axis is arithmetic intensity: 2mln operations over the bytes that memory has to serve, if each
texel that a pass touches is served once in a pass. An executor that fuses passes has fewer passes,
and so a higher intensity than a chip that draws them one by one. The y axis is GFLOPS. So both
roofs hold for every point: the peak of arithmetic, and the memory's rate times the intensity. That
is the cache's rate where a cache holds all textures from one pass to the next.

Lookups, blending, shared memory and passes bound a product, too, but not by a line over this axis.
So each point also has a roof of its own: the bound that predict/model.py computes for it, which is
never above the two. A measured point above its own roof is an error, in the point or in the model.

A panel is for one executor of one machine, since rates belong to an executor. A calibrated profile
has the rates of its executor. A chip profile from data sheets has the rates of drawing; dispatches
have a panel of their own, with the peak of kernels and the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import calibration
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.timing import Budget, Rounds
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.predict.mispredictions import Origin, read_log
from gpgpu_legacy.predict.model import as_loaded, predict
from gpgpu_legacy.predict.prediction import Evidence
from gpgpu_legacy.predict.rates import as_lowered
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import Executor, executors
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.roofline.panel import Roof, RooflinePoint, RoofPanel

SLACK = 1.2
"""The factor by which a point may exceed a bound of measured rates, which are medians of runs."""

RUNS = 5
"""Rounds of a calibration, and of the methods."""


class Roofline(Result):
    """Panels of one or several executors. size: n of the methods that are predicted alone."""

    size: int
    panels: tuple[RoofPanel, ...]

    @property
    def status(self) -> int:
        """Whether there is a point that cannot be right."""
        return int(any(point.above for panel in self.panels for point in panel.points))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A table for each panel. whole: with where times are from."""
        return [
            panel.grid("roofline" if not number else f"roofline-{number + 1}", whole=whole)
            for number, panel in enumerate(self.panels)
        ]

    def plot(self, path: Path) -> None:
        """Draw a panel for each executor."""
        from gpgpu_legacy.studies.roofline.plot import draw_roofline

        draw_roofline(self.panels, self.size, path)


# Making it --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoofProduct:
    """A square product.

    seconds: how long it took; None to predict it alone. source: of that. whole_s: with transfers.
    """

    p: PlanBuilder
    seconds: float | None = None
    kind: str = ""
    where: str = ""
    executor: str | None = None
    source: str = ""
    whole_s: float | None = None


def roofline(chips: Sequence[Profile], size: int, reached: Iterable[RoofProduct] = ()) -> Roofline:
    """Every method's bound on each chip at n = size, and the times known there at any size.

    reached: further times, such as `recorded` or `measured` gives; each is a point on the chips of
    its executor and, unless that runs on the host, on those of data sheets.
    """
    known = tuple(reached)
    panels = [panel for chip in chips for panel in _panels(chip, size, known)]
    return Roofline(size=size, panels=tuple(panels))


def _panels(chip: Profile, size: int, known: Sequence[RoofProduct]) -> Iterator[RoofPanel]:
    if chip.executor is not None:
        own = [product for product in known if product.executor == chip.executor]
        yield _panel(chip, chip.executor, [*bounds(chip, size), *_cases(chip), *own])
        return
    host = {e.name for e in executors() if e.capabilities.is_of_host}
    lowering = {e.name: e.capabilities for e in executors() if e.capabilities.fuses_passes}
    there = [product for product in known if product.executor not in host]
    drawn = [product for product in there if product.executor not in lowering]
    yield _panel(chip, None, [*bounds(chip, size), *_cases(chip), *drawn])
    for name, capabilities in lowering.items():
        if own := [product for product in there if product.executor == name]:
            lowered = as_lowered(chip, tiled=capabilities.stages_texels)
            yield _panel(lowered, name, [*bounds(lowered, size), *own])


def _panel(chip: Profile, executor: str | None, reached: Iterable[RoofProduct]) -> RoofPanel:
    return RoofPanel(
        chip=chip.name,
        title=chip.title,
        executor=executor,
        roofs=tuple(_roofs(chip)),
        points=tuple(_point(chip, product) for product in reached),
    )


# Products ----------------------------------------------------------------------------------------


def bounds(chip: Profile, size: int) -> Iterator[RoofProduct]:
    """Every method that runs on the chip, with the largest block that loads, as in `predict`."""
    kernels = chip.programs.kernels
    for method in products():
        if kernels is None or kernels.value or not method.plan(n=1).dispatches:
            yield RoofProduct(as_loaded(method.builder(n=size), chip))


def _cases(chip: Profile) -> Iterator[RoofProduct]:
    """The published and measured times that the log of mispredictions has of the chip."""
    for case in read_log().case:
        if case.chip == chip.name and not case.is_hypothetical:
            p = find_product(case.method).builder(**case.parameters)
            yield RoofProduct(p, case.seconds, case.origin.value, case.where, source=case.tag)


def recorded(path: Path) -> tuple[RoofProduct, ...]:
    """The measurements of a file that `bench` or `lineage` wrote; InputError for any other file."""
    return tuple(measured(read_recorded(path, Bench), str(path)))


def measured(bench: Bench, where: str) -> Iterator[RoofProduct]:
    """The methods of a benchmark; InputError for one of whole calls, which no roof here bounds."""
    if bench.whole:
        raise InputError(f"{where} has the times of whole calls; give a benchmark of computing")
    for result in bench.results:
        if result.is_own:
            try:
                p = find_product(str(result.plan)).builder(**result.parameters)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            kind = Origin.MEASURED.value
            yield RoofProduct(
                p, result.seconds, kind, where, result.executor, whole_s=result.whole_s
            )


# Points and roofs --------------------------------------------------------------------------------


def _point(chip: Profile, product: RoofProduct) -> RooflinePoint:
    p, plan, flops = product.p, product.p.plan(), product.p.operations
    assert flops is not None
    prediction = predict(plan, chip)
    seconds = prediction.compute_seconds
    bound = 1e-9 * flops / seconds if seconds else None
    gflops = 1e-9 * flops / product.seconds if product.seconds else None
    evidence = None if gflops is None else prediction.against(product.source)
    slack = SLACK if evidence is Evidence.CALIBRATION else 1.0
    return RooflinePoint(
        plan=plan.name,
        size=plan.results[0].columns,
        parameters=dict(p.parameters),
        flops_per_byte=flops / prediction.memory_bytes,
        flops_per_byte_requested=flops / count_plan(plan).bytes_requested,
        bound_gflops=bound,
        binds=prediction.binds or "",
        gflops=gflops,
        whole_gflops=1e-9 * flops / product.whole_s if product.whole_s else None,
        kind=product.kind,
        where=product.where,
        evidence=evidence,
        above=gflops is not None and bound is not None and gflops > slack * bound,
    )


def _roofs(chip: Profile) -> Iterator[Roof]:
    hardware = chip.hardware
    name = "arithmetic"
    for peak in (hardware.fragment_peak_gflops, hardware.compute_peak_gflops):
        if peak is not None:
            yield Roof(name=name, gflops=peak.most)
            name = "arithmetic of kernels"
    if hardware.memory_gb_per_s is not None:
        yield Roof(name="memory", gb_per_s=hardware.memory_gb_per_s.most)
    if hardware.cached_gb_per_s is not None and hardware.cached_mib is not None:
        name = f"memory, textures of {hardware.cached_mib.value} MiB"
        yield Roof(name=name, gb_per_s=hardware.cached_gb_per_s.most)


# This machine ------------------------------------------------------------------------------------


def measure_here(
    executors: Sequence[Executor],
    size: int,
    budget: Budget,
    progress: Callable[[str], object] = lambda _: None,
) -> tuple[tuple[Profile, ...], Bench]:
    """Measure every method on n×n matrices, and the rates of the executors that have none kept.

    executors: to measure. budget: calibrations take at most half of it, in equal shares. progress:
    called with a description of each measurement. Returns the profiles of the executors, each kept
    by `calibrate` or measured now, and the times of the methods.
    """
    rates = {p.executor: p for p in calibrated() if p.name == calibrated_name(p.executor or "")}
    missing = [executor for executor in executors if executor.name not in rates]
    half = budget.share(2)
    for number, executor in enumerate(missing):
        share = half.share(len(missing) - number)
        ceilings = calibration.calibrate(executor, runs=RUNS, budget=share, progress=progress)
        rates[executor.name] = calibration.profile_of(executor, ceilings)
    cases = []
    for method in products():
        small = method.plan(n=1)
        able = [
            executor.name
            for executor in executors
            if small.kinds <= executor.capabilities.passes
            and predict(small, rates[executor.name]).compute_seconds is not None
        ]
        cases += [Case(method.builder(n=size), executors=able)] * bool(able)
    bench = Benchmark(cases, peers=(), rounds=Rounds(RUNS)).measure(budget, progress)
    return tuple(rates[executor.name] for executor in executors), bench


def count_steps(executors: Sequence[Executor]) -> int:
    """The most progress reports of `measure_here`."""
    of_methods = len(products()) * (1 + RUNS)
    return len(executors) * (calibration.count_steps(RUNS) + of_methods)
