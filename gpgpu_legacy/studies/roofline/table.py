"""A roofline as a table."""

from __future__ import annotations

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.roofline.model import Point, Roofline


def above_text(point: Point, chip: Profile) -> str:
    """Why a point cannot be right, in a line."""
    return (
        f"{point.method} at n = {point.size} is above its roof on {chip.called}: "
        f"{point.gflops:.4g} GFLOPS {point.kind}, but {point.binds} allows {point.bound_gflops:.4g}"
        f" ({point.where})"
    )


def roofline_grid(roofline: Roofline, chip: Profile) -> Grid:
    """The points, one per row."""
    rows = tuple(
        (
            p.method, p.size, p.block, p.flops_per_byte, p.bound_gflops, p.binds, p.gflops, p.kind,
            "ABOVE" if p.above else "", p.where,
        )
        for p in roofline.points
    )  # fmt: skip
    heads = (
        "method", "n", "b", "flops / byte requested", "roof, GFLOPS", "bottleneck", "GFLOPS", "",
        "", "time from",
    )  # fmt: skip
    caption = f"Every method under the roof of {chip.called}."
    return Grid("roofline", caption, heads, rows)
