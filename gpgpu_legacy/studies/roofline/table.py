"""A roofline as tables: one for each executor."""

from __future__ import annotations

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.roofline.model import Panel, Point, Roofline


def title_of(panel: Panel) -> str:
    """What a panel is of; the title of a calibrated profile names the executor."""
    by = f", by {panel.executor}" if panel.executor else ""
    return panel.title if panel.title.endswith(by) else f"{panel.title}{by}"


def above_text(point: Point, panel: Panel) -> str:
    """Why a point cannot be right, in a line."""
    return (
        f"{point.method} at n = {point.size} is above its roof on {title_of(panel)}: "
        f"{point.gflops:.4g} GFLOPS {point.kind}, but {point.binds} allows {point.bound_gflops:.4g}"
        f" ({point.where})"
    )


def roofline_grids(roofline: Roofline) -> list[Grid]:
    """A table for each panel: the points, one per row."""
    return [_grid(panel, number) for number, panel in enumerate(roofline.panels)]


def _grid(panel: Panel, number: int) -> Grid:
    rows = tuple(
        (
            p.method, p.size, p.block, p.flops_per_byte, p.flops_per_byte_requested,
            p.bound_gflops, p.binds, p.gflops, p.kind, "ABOVE" if p.above else "", p.where,
        )
        for p in panel.points
    )  # fmt: skip
    heads = (
        "method", "n", "b", "flops / byte", "/ byte requested", "roof, GFLOPS", "bottleneck",
        "GFLOPS", "", "", "time from",
    )  # fmt: skip
    notes = (
        *(f"Roof: {roof.name}, {_rate(roof.gflops, roof.gb_per_s)}." for roof in panel.roofs),
        "Flops are 2n³. Bytes are those that memory serves, each texel once in a pass.",
    )
    caption = f"Every method under the roof of {title_of(panel)}."
    return Grid("roofline" if not number else f"roofline-{number + 1}", caption, heads, rows, notes)


def _rate(gflops: float | None, gb_per_s: float | None) -> str:
    return f"{gflops:.4g} GFLOPS" if gflops is not None else f"{gb_per_s or 0.0:.4g} GB/s"
