"""Rooflines: every method under the roofs of its executor, with what was published and measured.

The x axis is arithmetic intensity: 2mln operations over the bytes that memory has to serve, if each
texel that a pass touches is served once in a pass. An executor that fuses passes has fewer passes,
and so a higher intensity than a chip that draws them one by one. The y axis is GFLOPS. So both
roofs hold for every point: the peak of arithmetic, and the memory's rate times the intensity. That
is the cache's rate where a cache holds all textures from one pass to the next.

Lookups, blending, shared memory and passes bound a product, too, but not by a line over this axis.
So each point also has a roof of its own: the bound that predict/model.py computes for it, which is
never above the two. A measured point above its own roof is an error, in the point or in the model.

A panel is for one executor of one machine, since that is what rates belong to. A calibrated profile
has the rates of its executor. The profile of a chip from data sheets has those of drawing; what is
dispatched instead has a panel of its own, with the peak of kernels and the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.predict.lowered import as_lowered
from gpgpu_legacy.predict.mispredictions import Origin, read_log
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.runtime.registry import executors
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.roofline.result import Panel, Point, Roof, Roofline

SLACK = 1.2
"""How far a measured point may exceed its bound, as a factor: rates are medians of runs too."""


@dataclass(frozen=True, slots=True)
class Product:
    """A square product. seconds: how long it took; None to predict it alone."""

    p: PlanBuilder
    seconds: float | None = None
    kind: str = ""
    where: str = ""
    executor: str | None = None


def roofline(chips: Sequence[Profile], size: int, reached: Iterable[Product] = ()) -> Roofline:
    """Every method's bound on each chip at n = size, and the times known there at any size.

    reached: further times, such as `recorded` or `measured` gives; each is a point on the chips of
    its executor and, unless that runs on the host, on those of data sheets. Raises InputError for a
    size of 0.
    """
    known = tuple(reached)
    panels = [panel for chip in chips for panel in _panels(chip, size, known)]
    return Roofline(size=size, panels=tuple(panels))


def _panels(chip: Profile, size: int, known: Sequence[Product]) -> Iterator[Panel]:
    if chip.executor is not None:
        own = [product for product in known if product.executor == chip.executor]
        yield _panel(chip, chip.executor, [*bounds(chip, size), *_cases(chip), *own])
        return
    host = {e.name for e in executors() if e.capabilities.is_of_host}
    there = [product for product in known if product.executor not in host]
    lowering = [e for e in executors() if e.capabilities.fuses_passes]
    names = {executor.name for executor in lowering}
    drawn = [product for product in there if product.executor not in names]
    yield _panel(chip, None, [*bounds(chip, size), *_cases(chip), *drawn])
    for executor in lowering:
        if own := [product for product in there if product.executor == executor.name]:
            lowered = as_lowered(chip, tiled=executor.capabilities.stages_texels)
            yield _panel(lowered, executor.name, [*bounds(lowered, size), *own])


def _panel(chip: Profile, executor: str | None, reached: Iterable[Product]) -> Panel:
    return Panel(
        chip=chip.name,
        title=chip.title,
        executor=executor,
        roofs=tuple(_roofs(chip)),
        points=tuple(_point(chip, product) for product in reached),
    )


# Products ----------------------------------------------------------------------------------------


def bounds(chip: Profile, size: int) -> Iterator[Product]:
    """Every method that runs on the chip."""
    kernels = chip.programs.kernels
    for method in products():
        if kernels is None or kernels.value or not method.plan(n=1).dispatches:
            yield Product(method.builder(n=size))


def _cases(chip: Profile) -> Iterator[Product]:
    """The published and measured times that the log of mispredictions has of the chip."""
    for case in read_log().case:
        if case.chip == chip.name:
            way = {"block": case.block, "accumulate": case.accumulate}
            given = {name: value for name, value in way.items() if value is not None}
            p = find_product(case.method).builder(n=case.size, **given)
            yield Product(p, case.seconds, case.kind.value, case.where)


def recorded(path: Path) -> tuple[Product, ...]:
    """The measurements of a file that `bench` or `lineage` wrote; InputError for any other file."""
    return tuple(measured(read_recorded(path, Bench), str(path)))


def measured(bench: Bench, where: str) -> Iterator[Product]:
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
            yield Product(p, result.seconds, kind, where, result.executor)


# Points and roofs --------------------------------------------------------------------------------


def _point(chip: Profile, product: Product) -> Point:
    p, plan, flops = product.p, product.p.plan(), product.p.operations
    if not flops:
        raise InputError("a product of size 0 has no operations; give a size of at least 1")
    prediction = predict(plan, chip)
    seconds = prediction.compute_seconds
    bound = 1e-9 * flops / seconds if seconds else None
    gflops = 1e-9 * flops / product.seconds if product.seconds else None
    return Point(
        plan=plan.name,
        size=plan.results[0].columns,
        parameters=dict(p.parameters),
        flops_per_byte=flops / prediction.memory_bytes,
        flops_per_byte_requested=flops / count_plan(plan).bytes_requested,
        bound_gflops=bound,
        binds=prediction.binds or "",
        gflops=gflops,
        kind=product.kind,
        where=product.where,
        above=gflops is not None and bound is not None and gflops > SLACK * bound,
    )


def _roofs(chip: Profile) -> Iterator[Roof]:
    hardware = chip.hardware
    of_fragments, of_kernels = hardware.fragment_peak_gflops, hardware.compute_peak_gflops
    if of_fragments is not None:
        yield Roof(name="arithmetic", gflops=of_fragments.most)
    if of_kernels is not None:
        name = "arithmetic" if of_fragments is None else "arithmetic of kernels"
        yield Roof(name=name, gflops=of_kernels.most)
    if hardware.memory_gb_per_s is not None:
        yield Roof(name="memory", gb_per_s=hardware.memory_gb_per_s.most)
    if hardware.cached_gb_per_s is not None and hardware.cached_mib is not None:
        name = f"memory, textures of {hardware.cached_mib.value} MiB"
        yield Roof(name=name, gb_per_s=hardware.cached_gb_per_s.most)
