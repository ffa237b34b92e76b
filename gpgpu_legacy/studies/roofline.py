"""Rooflines: every method under the roofs of its executor, with published and measured times.

The x axis is arithmetic intensity: 2mln operations over the bytes that memory has to serve, if each
texel that a pass touches is served once in a pass. An executor that fuses passes has fewer passes,
and so a higher intensity than a chip that draws them one by one. The y axis is GFLOPS. So both
roofs hold for every point: the peak of arithmetic, and the memory's rate times the intensity. Where
a cache holds all textures from one pass to the next, the cache's rate takes the memory's place.

Lookups, blending, shared memory and passes bound a product, too, but not by a line over this axis.
So each point also has a roof of its own: the bound that predict/model.py computes for it, which is
never above the two. A measured point above its own roof is an error, in the point or in the model.

A panel is for one executor of one machine, since rates belong to an executor. A calibrated profile
has the rates of its executor. A chip profile from data sheets has the rates of drawing; dispatches
have a panel of their own, with the peak of kernels and the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import chip_names
from gpgpu_legacy.api.command.words import BUDGET_S, Executors, Seconds, Size, warn_if_busy
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name, find_profile
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import calibration
from gpgpu_legacy.measure.bench import Bench, Setting
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.timing import Budget, Rounds
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.predict.mispredictions import Origin, read_log
from gpgpu_legacy.predict.model import THIS, as_loaded, predict
from gpgpu_legacy.predict.prediction import Evidence, as_lowered
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.present.plot import (
    COLOURS,
    INK,
    WIDTH,
    check_count,
    lines_of,
    new_figure,
    plain_number,
    save_figure,
    set_plain_numbers,
    style_axes,
)
from gpgpu_legacy.runtime.executor import Executor, executors
from gpgpu_legacy.serial import Record, as_record, read_recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLACK = 1.2
"""The factor by which a point may exceed a bound of measured rates, which are medians of runs."""

RUNS = 5
"""Rounds of a calibration, and of the methods."""


class Roof(Record):
    """A limit: flat, in GFLOPS at any intensity, or else in GB/s, GFLOPS per unit of intensity."""

    name: str
    gflops: float | None = None
    gb_per_s: float | None = None

    def at(self, intensity: float) -> float:
        """The GFLOPS that it allows at an intensity."""
        return self.gflops if self.gflops is not None else (self.gb_per_s or 0.0) * intensity

    def __str__(self) -> str:
        """The roof in words."""
        unit = "GB/s" if self.gflops is None else "GFLOPS"
        return f"{self.name}, {plain_number(self.at(1.0))} {unit}"


class RooflinePoint(Record):
    """A product of n×n matrices, n being the size, by a plan with these parameters.

    flops_per_byte: operations per byte that memory serves. bound_gflops: what the prediction
    allows; None if nothing is known. binds: its bottleneck, a term's name. gflops: as published or
    measured; None for a prediction alone. kind: published, plausible or measured. where: the
    paper's table, or the file. evidence: what the comparison with the bound shows. above: whether
    it exceeds its bound.
    """

    plan: str
    size: int
    parameters: dict[str, Setting]
    flops_per_byte: float
    bound_gflops: float | None
    binds: str
    gflops: float | None = None
    kind: str = ""
    where: str = ""
    evidence: Evidence | None = None
    above: bool = False

    @property
    def place(self) -> tuple[float, float]:
        """The intensity, and the GFLOPS: those reached, else those that are allowed, else 0."""
        height = self.bound_gflops if self.gflops is None else self.gflops
        return self.flops_per_byte, height or 0.0


class RoofPanel(Record):
    """The roofs of one executor of a machine, and the points under them.

    chip: the profile's name. title: of the machine. executor: None for a chip that draws pass by
    pass, by whatever executor.
    """

    chip: str
    title: str
    executor: str | None
    roofs: tuple[Roof, ...]
    points: tuple[RooflinePoint, ...]

    @property
    def name(self) -> str:
        """The machine and its executor; the title of a calibrated profile names both."""
        by = f", by {self.executor}" if self.executor else ""
        return self.title if self.title.endswith(by) else f"{self.title}{by}"

    def grid(self, name: str, *, whole: bool) -> Grid:
        """The points, one per row."""
        heads = ("plan", "n", "block", "flops / byte", "roof, GFLOPS", "bottleneck", "GFLOPS", "",
                 "evidence", *["time from"] * whole)  # fmt: skip
        rows = tuple(
            (
                point.plan,
                point.size,
                point.parameters.get("block"),
                point.flops_per_byte,
                point.bound_gflops,
                point.binds,
                point.gflops,
                f"{point.kind}{', ABOVE' * point.above}",
                point.evidence and point.evidence.value,
                *[point.where] * whole,
            )
            for point in self.points
        )
        notes = (
            *(f"Roof: {roof}." for roof in self.roofs),
            "Flops are 2n³. Bytes are those that memory serves, each texel once in a pass.",
            *(
                f"{p.plan} at n = {p.size} is above its roof on {self.name}: {p.gflops:.4g} GFLOPS "
                f"{p.kind}, but {p.binds} allows {p.bound_gflops:.4g} ({p.where})."
                for p in self.points
                if p.above
            ),
        )
        return Grid(name, f"Every method under the roof of {self.name}.", heads, rows, notes)


class Roofline(Result):
    """Panels of one or several executors. size: n of the methods that are predicted alone."""

    size: int
    panels: tuple[RoofPanel, ...]

    @property
    def status(self) -> int:
        """The exit code: 1 if a point is above its bound, which cannot be right."""
        return int(any(point.above for panel in self.panels for point in panel.points))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A table for each panel; whole: with the source of each time."""
        return [
            panel.grid(f"roofline-{number}" if number > 1 else "roofline", whole=whole)
            for number, panel in enumerate(self.panels, 1)
        ]

    def plot(self, path: Path) -> None:
        """Draw a panel for each executor: bounds are hollow, published and measured marks filled.

        A bound and the time reached at the same size are joined. Raises InputError if no profile
        has rates to draw a roof from, or for more than MOST_PANELS.
        """
        drawn = ((panel, [p for p in panel.points if p.place[1]]) for panel in self.panels)
        shown = [(panel, points) for panel, points in drawn if points]
        if not shown:
            names = ", ".join(dict.fromkeys(panel.title for panel in self.panels))
            raise InputError(f"the profile of {names} has no rates, so there is nothing to draw")
        check_count(len(shown), MOST_PANELS, "panels")
        figure = new_figure(height_inches=_PANEL_HEIGHT * len(shown))
        grid = figure.subplots(len(shown), squeeze=False)
        for axes, (panel, points) in zip(grid[:, 0], shown, strict=True):
            _draw(axes, panel, points)
        figure.align_ylabels()
        kinds = dict.fromkeys(p.kind for _, points in shown for p in points if p.gflops is not None)
        reached = "".join(f"   {_SIGNS.get(kind, '●')} {kind}" for kind in kinds)
        save_figure(
            figure,
            path,
            "Products under their roofs",
            f"○ bound of a method at n = {self.size}, of all that the prediction knows{reached}",
            "The roof is that of arithmetic and memory alone.",
        )


# Making it --------------------------------------------------------------------------------------


@frozen
class RoofProduct:
    """A square product.

    seconds: how long it took; None to predict it alone. kind, where: as in `RooflinePoint`. source:
    of the time, as `Prediction.against` takes it.
    """

    p: PlanBuilder
    seconds: float | None = None
    kind: str = ""
    where: str = ""
    executor: str | None = None
    source: str = ""


def roofline(chips: Sequence[Profile], size: int, reached: Iterable[RoofProduct] = ()) -> Roofline:
    """Every method's bound on each chip at n = size, and the times known there at any size.

    reached: further times, such as `recorded` or `measured` gives; each is a point on the chips of
    its executor and, unless that runs on the host, on those of data sheets.
    """
    known = tuple(reached)
    panels = tuple(
        RoofPanel(
            chip=machine.name,
            title=machine.title,
            executor=executor,
            roofs=tuple(_roofs(machine)),
            points=tuple(_point(machine, one) for one in [*bounds(machine, size), *products]),
        )
        for chip in chips
        for machine, executor, products in _panels(chip, known)
    )
    return Roofline(size=size, panels=panels)


def _panels(
    chip: Profile, known: Sequence[RoofProduct]
) -> Iterator[tuple[Profile, str | None, list[RoofProduct]]]:
    """The panels of a chip: the profile of each, its executor, and the times known there."""
    if chip.executor is not None:
        own = [product for product in known if product.executor == chip.executor]
        yield chip, chip.executor, [*_cases(chip), *own]
        return
    host = {e.name for e in executors() if e.capabilities.is_of_host}
    lowering = {e.name: e.capabilities for e in executors() if e.capabilities.fuses_passes}
    there = [product for product in known if product.executor not in host]
    drawn = [product for product in there if product.executor not in lowering]
    yield chip, None, [*_cases(chip), *drawn]
    for name, capabilities in lowering.items():
        if own := [product for product in there if product.executor == name]:
            yield as_lowered(chip, tiled=capabilities.stages_texels), name, own


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
            yield RoofProduct(p, result.seconds, kind, where, result.executor)


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
    return as_record(
        RooflinePoint,
        product,
        plan=plan.name,
        size=plan.results[0].columns,
        parameters=dict(p.parameters),
        flops_per_byte=flops / prediction.memory_bytes,
        bound_gflops=bound,
        binds=prediction.binds or "",
        gflops=gflops,
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
    executors: Sequence[Executor], size: int, budget: Budget
) -> tuple[tuple[Profile, ...], Bench]:
    """Measure every method on n×n matrices, and the rates of executors for which none are kept.

    executors: those to measure. budget: calibrations take at most half of it, in equal shares.
    Returns the profiles of the executors, each kept by `calibrate` or measured now, and the times
    of the methods.
    """
    rates = {p.executor: p for p in calibrated() if p.name == calibrated_name(p.executor or "")}
    missing = [executor for executor in executors if executor.name not in rates]
    half = budget.share(2)
    for number, executor in enumerate(missing):
        share = half.share(len(missing) - number)
        ceilings = calibration.calibrate(executor, runs=RUNS, budget=share)
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
    bench = Benchmark(cases, peers=(), rounds=Rounds(RUNS)).measure(budget)
    return tuple(rates[executor.name] for executor in executors), bench


def count_steps(executors: Sequence[Executor]) -> int:
    """The most steps that `measure_here` reports to its budget."""
    of_methods = len(products()) * (1 + RUNS)
    return len(executors) * (calibration.count_steps(RUNS) + of_methods)


# The picture ------------------------------------------------------------------------------------

MOST_PANELS = 6
"""The most panels in a picture."""

_MARKS = {"published": "s", "plausible": "D", "measured": "o"}
_SIGNS = {"published": "■", "plausible": "◆", "measured": "●"}
_PANEL_HEIGHT = 5.4  # inches
_SMALL, _TITLE = 9.0, 10.0  # points
_OUTSIDE, _ROOF = "#f0eee6", "#4a4a4a"
_ROOM = 2.0  # beyond the roofs and the points, as a factor
_SLOPE = 10.0  # how far left of its end a sloping roof begins, as a factor


def _draw(axes: Axes, panel: RoofPanel, points: Sequence[RooflinePoint]) -> None:
    style_axes(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_roofs(axes, panel.roofs, points)
    colours = dict(zip((one.name for one in products()), cycle(COLOURS), strict=False))
    plans = dict.fromkeys(p.plan for p in sorted(points, key=lambda p: -p.place[1]))
    for name in plans:
        colour, own = colours[name], [p for p in points if p.plan == name]
        reached = sorted((p for p in own if p.gflops is not None), key=lambda p: p.place)
        axes.plot([p.place[0] for p in reached], [p.place[1] for p in reached], color=colour,
                  linewidth=0.8, alpha=0.6)  # fmt: skip
        for point in own:
            if point.gflops is not None:
                axes.plot(*point.place, _MARKS.get(point.kind, "o"), markersize=5.5, color=colour)
                continue
            axes.plot(*point.place, "o", markersize=8.5, markerfacecolor="none",
                      markeredgecolor=colour, markeredgewidth=1.3)  # fmt: skip
            for other in (p for p in reached if p.size == point.size):
                places = zip(point.place, other.place, strict=True)
                axes.plot(*places, ":", color=colour, linewidth=1.1)
        sizes = ", ".join(map(str, sorted({p.size for p in reached})))
        label = f"{name}, n = {sizes}" if sizes else name
        axes.plot([], [], "o", color=colour, label=label)
    axes.xaxis.set_major_formatter(plain_number)
    set_plain_numbers(axes)
    axes.set_xlabel("arithmetic intensity: 2n³ operations per byte that memory serves")
    axes.set_ylabel("GFLOPS")
    title = "\n".join(lines_of(panel.name, WIDTH - 1.5, _TITLE))
    axes.set_title(title, loc="left", fontsize=_TITLE, color=INK)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=_SMALL)


def _draw_roofs(axes: Axes, roofs: Sequence[Roof], points: Sequence[RooflinePoint]) -> None:
    """Draw each roof up to the ceiling, and shade what is above the ceiling.

    The ceiling is the highest flat roof or the highest sloping one, whichever is lower.
    """
    xs, ys = zip(*(point.place for point in points), strict=True)
    flats = [roof for roof in roofs if roof.gflops is not None]
    slopes = [roof for roof in roofs if roof.gflops is None]
    ends = [flat.at(1.0) / slope.at(1.0) for flat in flats for slope in slopes]
    low, high = min([*xs, *(end / _SLOPE for end in ends)]), max([*xs, *ends])
    at = np.geomspace(low / _ROOM, high * _ROOM, 200)
    kinds = [np.array([[r.at(x) for x in at] for r in kind]) for kind in (flats, slopes) if kind]
    top = _ROOM * max(*ys, *(roof.at(high) for roof in flats or slopes))
    axes.set_xlim(at[0], at[-1])
    axes.set_ylim(min(ys) / _ROOM, top)
    if kinds:
        ceiling = np.min([kind.max(axis=0) for kind in kinds], axis=0)
        axes.fill_between(at, ceiling, np.maximum(ceiling, top), color=_OUTSIDE, linewidth=0)
        for roof, heights in zip([*flats, *slopes], np.concatenate(kinds), strict=True):
            below = np.where(heights <= ceiling * (1 + 1e-9), heights, np.nan)
            style = "-" if roof.gflops is not None else "--"
            axes.plot(at, below, style, color=_ROOF, linewidth=1.5, label=str(roof))


# The command --------------------------------------------------------------------------------------


@answers("study roofline", plot="Draw the roofline.")
def roofline_command(
    *,
    size: Size,
    chip: Annotated[
        tuple[str, ...],
        "NAME",
        "See `gpgpu-legacy chips`; `this` is this machine, measured (default: h100-sxm5).",
        chip_names,
    ] = (),
    timed: Annotated[
        tuple[Path, ...],
        "--from",
        "JSON",
        "Add the times that `study lineage` or `bench` recorded.",
    ] = (),
    executor: Executors = (),
    budget: Seconds = BUDGET_S,
    report: Report,
) -> Roofline:
    """Show every method under the roofs of chips, with published and measured times.

    With `--chip this`, all methods are measured on this machine's executors, and so are the rates
    of those that `gpgpu-legacy calibrate` has not kept. A point above its roof cannot be right: the
    table names it, and the exit code is 1.
    """
    names = list(dict.fromkeys(chip or ["h100-sxm5"]))
    is_here = any(name.strip().lower() == THIS for name in names)
    if executor and not is_here:
        raise InputError("--executor applies to this machine; give --chip this, too")
    chips = [find_profile(name) for name in names if name.strip().lower() != THIS]
    reached = [product for path in timed for product in recorded(path)]
    if is_here:
        here = calibration.calibratable(executor)
        with report.work("measuring", count_steps(here), budget) as within:
            profiles, bench = measure_here(here, size.n, within)
        warn_if_busy(bench.busy_share)
        chips += profiles
        reached += measured(bench, "measured here")
    return roofline(chips, size.n, reached)
