"""A chip's roofline, and where methods lie under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.chips.profile import Fact, Profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.predict.mispredictions import read_log
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.studies.lineage.record import read_lineage

SLACK = 1.2
"""By what a measured point may stand above its bound: rates, too, are medians of runs."""


@dataclass(frozen=True, slots=True)
class Roof:
    """A limit: GFLOPS at any intensity where it is flat, else GFLOPS a unit of intensity."""

    name: str
    gflops: float | None
    gb_per_s: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A method at a size. gflops: found, None where it is a prediction alone.

    bound: the GFLOPS that its own bounds allow; None where nothing is known. binds: the term.
    """

    method: str
    size: int
    block: int | None
    intensity: float
    bound: float | None
    binds: str
    gflops: float | None = None
    kind: str = ""
    where: str = ""

    @property
    def is_above(self) -> bool:
        """Whether it stands above its roof."""
        if self.gflops is None or self.bound is None:
            return False
        return self.gflops > SLACK * self.bound


@dataclass(frozen=True, slots=True)
class Roofline:
    """A chip's roofs and what stands under them."""

    chip: Profile
    size: int
    roofs: tuple[Roof, ...]
    points: tuple[Point, ...]

    @property
    def above(self) -> tuple[Point, ...]:
        """The points that cannot be."""
        return tuple(point for point in self.points if point.is_above)


def roofline(chip: Profile, size: int, recorded: Path | None = None) -> Roofline:
    """Every method's bound on a chip at n = size, and what was found on that chip at any size.

    recorded: a file of recorded results (`lineage --json`), whose points are put in too.
    """
    shape = Shape(size, size, size)
    kernels = chip.programs.kernels
    points = [
        _point(chip, each.name, Options(), shape)
        for each in methods()
        if kernels is None or kernels.value or not _dispatches(each)
    ]
    points += [
        _point(
            chip,
            case.method,
            Options(block=case.block, accumulate=case.accumulate),
            Shape(case.size, case.size, case.size),
            (case.seconds, case.kind.value, case.where),
        )
        for case in read_log().case
        if case.chip == chip.name
    ]
    if recorded is not None:
        points += _recorded(chip, recorded)
    return Roofline(chip, size, tuple(_roofs(chip)), tuple(points))


def _dispatches(method: Method) -> bool:
    """Whether a method runs kernels, which not every chip has."""
    passes = method.plan(Shape(1, 1, 1)).weighted_passes()
    return any(isinstance(each, ComputePass) for _, each in passes)


def _recorded(chip: Profile, path: Path) -> Iterator[Point]:
    lineage = read_lineage(path)
    shape = Shape(lineage.size, lineage.size, lineage.size)
    for step in lineage.steps:
        options = Options(
            block=step.block,
            accumulate=Accumulate(step.accumulate) if step.accumulate else None,
        )
        if step.seconds is not None:
            yield _point(chip, step.method, options, shape, (step.seconds, "measured", str(path)))


def _point(
    chip: Profile,
    method: str,
    options: Options,
    shape: Shape,
    found: tuple[float, str, str] | None = None,
) -> Point:
    known = find_method(method)
    plan, flops = known.plan(shape, options), 2 * shape.multiply_adds
    if not flops:
        raise InputError(f"a product of {shape.n} rows has no place in a roofline; give a size")
    prediction = predict(plan, chip)
    compute_s, bound = prediction.compute_s, prediction.bottleneck
    seconds, kind, where = found or (None, "", "")
    return Point(
        method,
        shape.n,
        known.options(options).block,
        flops / count_plan(plan).bytes_requested,
        1e-9 * flops / compute_s if compute_s else None,
        "" if bound is None else bound.name,
        1e-9 * flops / seconds if seconds else None,
        kind,
        where,
    )


def _roofs(chip: Profile) -> Iterator[Roof]:
    hardware = chip.hardware
    for name, peak in (
        ("fragment peak", hardware.fragment_peak_gflops),
        ("compute peak", hardware.compute_peak_gflops),
    ):
        if peak is not None:
            yield Roof(name, peak.value, None)
    staged = hardware.stages_lookups is not None and hardware.stages_lookups.value
    if not staged:  # tiles look up what they share once, and so less than instructions ask for
        yield from _lookup_roofs(chip)
    if hardware.memory_gb_per_s is not None:
        yield Roof("memory, nothing cached", None, hardware.memory_gb_per_s.value)


def _lookup_roofs(chip: Profile) -> Iterator[Roof]:
    hardware = chip.hardware
    measured = ((32, hardware.lookups_32_bits_g_per_s), (128, hardware.lookups_128_bits_g_per_s))
    clocks = ((32, hardware.lookup_clocks_32_bits), (128, hardware.lookup_clocks_128_bits))
    for (bits, rate), (_, taken) in zip(measured, clocks, strict=True):
        a_second = _lookups(chip, rate, taken)
        if a_second is not None:
            yield Roof(f"lookups of {bits} bits", None, a_second * bits / 8)


def _lookups(chip: Profile, rate: Fact[float] | None, clocks: Fact[float] | None) -> float | None:
    """10⁹ lookups a second."""
    if rate is not None:
        return rate.value
    units, clock = chip.hardware.texture_units, chip.hardware.core_clock_mhz
    if clocks is None or units is None or clock is None:
        return None
    return units.value * clock.value / clocks.value / 1e3
