"""The lineage as a chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import new_figure, save_figure, style_axes
from gpgpu_legacy.studies.lineage.record import Ceiling, Lineage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _SOFT, _BAR = "#1c1c1c", "#5c5c5c", "#4a7fb5"


def draw_lineage(lineage: Lineage, path: Path) -> None:
    """Write a chart of GFLOPS by method as a PNG, on a logarithmic axis, with ceilings as lines.

    Raises InputError where nothing was measured, or where the file cannot be written.
    """
    shown = [step for step in lineage.steps if step.gflops]
    if not shown:
        raise InputError("no method has GFLOPS, so there is nothing to draw; see the table")
    ceilings = lineage.ceilings
    figure = new_figure(10.0, 0.62 * len(shown) + 2.1)
    axes = figure.subplots()
    style_axes(axes)
    rates = [step.gflops or 0.0 for step in shown]
    places = list(range(len(shown)))[::-1]
    axes.barh(places, rates, color=_BAR, height=0.6)
    axes.set_yticks(places, [f"{step.method}  {step.year}" for step in shown], color=_INK)
    axes.set_xscale("log")
    for place, step, rate in zip(places, shown, rates, strict=True):
        text = f"{_rate(rate)}  on {step.executor} "
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0}
        axes.text(
            1.06 * rate,
            place,
            text,
            va="center",
            color=_INK,
            fontsize=9,
            bbox=box,
            zorder=3,
        )
    for number, ceiling in enumerate(ceilings):
        _draw_ceiling(axes, ceiling, len(shown) - 0.4 + 0.4 * number)
    highest = max(*rates, *(ceiling.gflops for ceiling in ceilings))
    axes.set_xlim(min(rates) / 3, highest * 3)
    axes.set_ylim(-0.6, len(shown) + 0.4 * len(ceilings) - 0.2)
    axes.set_xlabel("GFLOPS (2n³ over the compute time), logarithmic", color=_INK)
    size = lineage.size
    axes.set_title(f"{size}×{size} matrices, by every method since 2001", loc="left", color=_INK)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    save_figure(figure, path)


def _draw_ceiling(axes: Axes, ceiling: Ceiling, height: float) -> None:
    axes.axvline(ceiling.gflops, color=_SOFT, linestyle="--", linewidth=1)
    text = f"{ceiling.name} {_rate(ceiling.gflops)} "
    axes.text(ceiling.gflops, height, text, ha="right", va="bottom", color=_SOFT, fontsize=9)


def _rate(gflops: float) -> str:
    """Three digits, with no power of ten."""
    return f"{gflops:,.0f}" if gflops >= 100 else f"{gflops:.3g}"
