"""Roofline plots: every method under a chip's roof, with what was published and measured.

Along x stands arithmetic intensity, 2mln operations over the bytes that instructions ask for; along
y GFLOPS. The roofs are the chip's: its peak, its lookups, and its memory as if nothing were cached.
Caches may carry a product over the last of these, so each point has a roof of its own besides: what
hardware/predict.py bounds it by. A point above that is an error, of the point or of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.algorithms.method import Method
from gpgpu_legacy.algorithms.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.bench.mispredictions import read_cases
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.hardware.predict import predict
from gpgpu_legacy.hardware.profile import Fact, Profile
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.report.files import read_json, write_whole
from gpgpu_legacy.report.render import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLACK = 1.2
"""By what a measured point may stand above its bound: rates, too, are medians of runs."""

_INCHES, _DPI, _PAPER = (9.5, 5.6), 150, "#fcfcf9"
_COLOURS = (
    "#202124", "#1a56a8", "#b3261e", "#2e7d32", "#8a5a00", "#6a3d9a", "#00838f", "#ad1457",
    "#5d6d1e", "#7a7a7a", "#c2570c", "#3949ab",
)  # fmt: skip
_MARKS = {"published": "s", "plausible": "D", "measured": "o"}


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
        for case in read_cases()[1]
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
    data = read_json(path, "steps")
    shape = Shape(data["size"], data["size"], data["size"])
    for step in data["steps"]:
        options = Options(
            block=step["block"],
            accumulate=Accumulate(step["accumulate"]) if step.get("accumulate") else None,
        )
        yield _point(chip, step["method"], options, shape, (step["seconds"], "measured", str(path)))


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
    compute_s, bound = prediction.compute_s, prediction.bound
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


def above_text(found: Roofline, point: Point) -> str:
    """Why a point cannot be, in a line."""
    return (
        f"{point.method} at n = {point.size} stands above its roof on {found.chip.called}: "
        f"{point.gflops:.4g} GFLOPS {point.kind}, and {point.binds} allows {point.bound:.4g}; "
        f"{point.where}"
    )


def roofline_grid(found: Roofline) -> Grid:
    """The points as a table."""
    rows = tuple(
        (
            p.method, p.size, p.block, p.intensity, p.bound, p.binds, p.gflops, p.kind,
            "ABOVE" if p.is_above else "", p.where,
        )
        for p in found.points
    )  # fmt: skip
    heads = (
        "method", "n", "b", "flops / byte requested", "roof, GFLOPS", "binds", "GFLOPS", "", "",
        "found in",
    )  # fmt: skip
    caption = f"Every method under the roof of {found.chip.called}."
    return Grid("roofline", caption, heads, rows)


def roofline_as_json(found: Roofline) -> dict[str, Any]:
    """The same for other programs."""
    return {
        "chip": found.chip.name,
        "size": found.size,
        "roofs": [
            {"name": r.name, "gflops": r.gflops, "gb_per_s": r.gb_per_s} for r in found.roofs
        ],
        "points": [
            {
                "method": p.method,
                "size": p.size,
                "block": p.block,
                "flops_per_byte": p.intensity,
                "bound_gflops": p.bound,
                "binds": p.binds,
                "gflops": p.gflops,
                "kind": p.kind,
                "where": p.where,
                "above": p.is_above,
            }
            for p in found.points
        ],
    }


# The picture ------------------------------------------------------------------------------------


def draw_roofline(found: Roofline, path: Path) -> None:
    """Draw it as a .png: hollow marks are bounds, full ones what was found."""
    if not any(point.bound or point.gflops for point in found.points):
        raise InputError(f"nothing is known of {found.chip.called} to draw a roof of")
    write_whole(path, lambda to: _save(found, to))


def _save(found: Roofline, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=_INCHES, dpi=_DPI, facecolor=_PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor="white")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_points(axes, found)
    _draw_roofs(axes, found)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(_minor_label))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("operations a byte that instructions ask for, 2n³ over bytes requested")
    axes.set_ylabel("GFLOPS")
    axes.set_title(f"{found.chip.title}, n = {found.size}", loc="left", fontsize=10)
    axes.grid(visible=True, which="major", color="#d8d8d2", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7.5, framealpha=0.9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, format="png", facecolor=_PAPER)


def _minor_label(value: float, _: float) -> str:
    """2 and 5 of every power of ten have their numbers."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def _draw_points(axes: Axes, found: Roofline) -> None:
    names = list(dict.fromkeys(point.method for point in found.points))
    for point in found.points:
        colour = _COLOURS[names.index(point.method) % len(_COLOURS)]
        if point.gflops is None and point.bound:
            axes.plot(
                point.intensity, point.bound, "o", markersize=10, markerfacecolor="none",
                markeredgecolor=colour, label=f"{point.method}, bound",
            )  # fmt: skip
        elif point.gflops is not None:
            label = f"{point.method}, {point.kind}, n = {point.size}"
            mark = _MARKS.get(point.kind, "o")
            axes.plot(point.intensity, point.gflops, mark, markersize=5, color=colour, label=label)
            if point.is_above:
                axes.annotate("above its roof", (point.intensity, point.gflops), color="#b3261e")


def _draw_roofs(axes: Axes, found: Roofline) -> None:
    low, high = axes.get_xlim()
    peak = max((roof.gflops for roof in found.roofs if roof.gflops), default=None)
    lines = ("-", "--", "-.", ":", (0, (6, 2, 1, 2)))
    for number, roof in enumerate(found.roofs):
        line = lines[number % len(lines)]
        if roof.gflops is not None:
            xs, ys = [low, high], [roof.gflops, roof.gflops]
        else:
            assert roof.gb_per_s is not None
            end = high if peak is None else min(high, peak / roof.gb_per_s)
            xs, ys = [low, max(end, low)], [low * roof.gb_per_s, max(end, low) * roof.gb_per_s]
        axes.plot(xs, ys, linestyle=line, color="#666666", linewidth=1.4, label=roof.name)
    axes.set_xlim(low, high)
