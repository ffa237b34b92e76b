"""Rooflines: every method under a chip's roofs, with what was published and measured.

The x axis is arithmetic intensity, 2mln operations over the bytes that instructions request; the y
axis is GFLOPS. The roofs are the chip's: its peak, its lookups, and its memory as if nothing were
cached. A cache may lift a product above the last one, so each point also has a roof of its own: the
bound that predict/model.py computes for it. A point above that is an error, in the point or in the
model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.predict.mispredictions import Case, Origin, read_log
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.rates import VECTOR_BITS, WORD_BITS, Rates
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.lineage.record import read_lineage

SLACK = 1.2
"""How far a measured point may exceed its bound, as a factor: rates are medians of runs too."""


class Roof(Record, frozen=True, kw_only=True):
    """A limit: GFLOPS at any intensity if it is flat, else GB/s, GFLOPS per unit of intensity."""

    name: str
    gflops: float | None = None
    gb_per_s: float | None = None


class Point(Record, frozen=True, kw_only=True):
    """A method at a size.

    flops_per_byte: operations per byte requested. bound_gflops: what the prediction allows; None if
    nothing is known. binds: its bottleneck, a term's name. gflops: as published or measured; None
    for a prediction alone. kind: of origin; where: the paper's table, or the file. above: whether
    it exceeds its bound.
    """

    method: str
    size: int
    block: int | None
    flops_per_byte: float
    bound_gflops: float | None
    binds: str
    gflops: float | None = None
    kind: str = ""
    where: str = ""
    above: bool = False


class Roofline(Record, frozen=True, kw_only=True):
    """A chip's roofs, and the points under them. chip: its name."""

    chip: str
    size: int
    roofs: tuple[Roof, ...]
    points: tuple[Point, ...]

    @property
    def above(self) -> tuple[Point, ...]:
        """The points that cannot be right."""
        return tuple(point for point in self.points if point.above)


def roofline(chip: Profile, size: int, recorded: Path | None = None) -> Roofline:
    """Every method's bound on a chip at n = size, and the times known on that chip at any size.

    recorded: a file that `lineage --json` wrote, whose measurements become points too. Raises
    InputError for a size of 0, and for a file that holds no lineage.
    """
    products = [*_bounds(chip, size), *_cases(chip)]
    if recorded is not None:
        products += _recorded(recorded)
    points = tuple(_point(chip, product) for product in products)
    return Roofline(chip=chip.name, size=size, roofs=tuple(_roofs(chip)), points=points)


@dataclass(frozen=True, slots=True)
class _Product:
    """A square product. seconds: how long it took; None to predict it alone."""

    method: str
    size: int
    options: Options
    seconds: float | None = None
    kind: str = ""
    where: str = ""


def _bounds(chip: Profile, size: int) -> Iterator[_Product]:
    """Every method that runs on the chip."""
    kernels = chip.programs.kernels
    for method in methods():
        if kernels is None or kernels.value or not method.plan(Shape(1, 1, 1)).dispatches:
            yield _Product(method.name, size, Options())


def _cases(chip: Profile) -> Iterator[_Product]:
    """The published and measured times that the log of mispredictions has of the chip."""
    return (_of_case(case) for case in read_log().case if case.chip == chip.name)


def _of_case(case: Case) -> _Product:
    options = Options(block=case.block, accumulate=case.accumulate)
    kind = case.kind.value
    return _Product(case.method, case.size, options, case.seconds, kind, case.where)


def _recorded(path: Path) -> Iterator[_Product]:
    lineage, kind = read_lineage(path), Origin.MEASURED.value
    for step in lineage.steps:
        if step.seconds is not None:
            options = Options(block=step.block, accumulate=step.accumulate)
            yield _Product(step.method, lineage.size, options, step.seconds, kind, str(path))


def _point(chip: Profile, product: _Product) -> Point:
    size, method = product.size, find_method(product.method)
    if not size:
        raise InputError("a product of size 0 has no operations; give a size of at least 1")
    shape = Shape(size, size, size)
    plan, flops = method.plan(shape, product.options), 2 * shape.multiply_adds
    prediction = predict(plan, chip)
    compute_s, bottleneck = prediction.compute_s, prediction.bottleneck
    bound = 1e-9 * flops / compute_s if compute_s else None
    gflops = 1e-9 * flops / product.seconds if product.seconds else None
    return Point(
        method=product.method,
        size=size,
        block=method.options(product.options).block,
        flops_per_byte=flops / count_plan(plan).bytes_requested,
        bound_gflops=bound,
        binds="" if bottleneck is None else bottleneck.name,
        gflops=gflops,
        kind=product.kind,
        where=product.where,
        above=gflops is not None and bound is not None and gflops > SLACK * bound,
    )


def _roofs(chip: Profile) -> Iterator[Roof]:
    hardware, rates = chip.hardware, Rates(chip.hardware)
    if hardware.fragment_peak_gflops is not None:
        yield Roof(name="fragment peak", gflops=hardware.fragment_peak_gflops.most)
    if hardware.compute_peak_gflops is not None:
        yield Roof(name="compute peak", gflops=hardware.compute_peak_gflops.most)
    if not rates.stages_lookups:  # tiles look up what they share once: less than is requested
        for bits in (WORD_BITS, VECTOR_BITS):
            per_s = rates.lookups(bits).per_s
            if per_s is not None:
                yield Roof(name=f"lookups of {bits} bits", gb_per_s=1e-9 * per_s * bits / 8)
    if hardware.memory_gb_per_s is not None:
        yield Roof(name="memory, nothing cached", gb_per_s=hardware.memory_gb_per_s.most)
