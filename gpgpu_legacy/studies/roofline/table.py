"""Roofline plots: every method under a chip's roof, with what was published and measured.

Along x stands arithmetic intensity, 2mln operations over the bytes that instructions ask for; along
y GFLOPS. The roofs are the chip's: its peak, its lookups, and its memory as if nothing were cached.
Caches may carry a product over the last of these, so each point has a roof of its own besides: what
predict/model.py bounds it by. A point above that is an error, of the point or of the model.
"""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.roofline.model import Point, Roofline


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
