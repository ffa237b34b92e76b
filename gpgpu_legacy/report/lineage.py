"""The lineage as a table and as a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpgpu_legacy.bench.lineage import Step
from gpgpu_legacy.report.files import write_whole
from gpgpu_legacy.report.render import Grid

_INK, _SOFT, _BAR, _PAPER, _LINE = "#1c1c1c", "#5c5c5c", "#4a7fb5", "#fbfbf9", "#d4d4ce"


def lineage_grid(size: int, steps: list[Step]) -> Grid:
    """The lineage as a table ready to be set."""
    heads = (
        "year",
        "method",
        "from",
        "what it lacked then",
        "multiply-adds / byte",
        "GFLOPS here",
        "of the ceiling",
        "executor",
    )
    rows = tuple(
        (
            str(step.method.year),
            step.method.name,
            step.method.paper,
            step.method.lacked,
            step.intensity,
            step.run.gflops,
            None if step.fraction is None else f"{100 * step.fraction:.3g} %",
            step.run.executor,
        )
        for step in steps
    )
    ceilings = {step.ceiling.name: step.ceiling for step in steps}
    devices = dict.fromkeys(f"{step.run.executor}: {step.run.device}" for step in steps)
    notes = (
        *(f"Ceiling: {c.name} on {c.device}, {c.gflops:.4g} GFLOPS." for c in ceilings.values()),
        f"Ran on {'; '.join(devices)}.",
        "Multiply-adds a byte are of the bytes that instructions ask for, before any cache.",
    )
    caption = f"The product of two {size}×{size} matrices by every method, in the order of history."
    return Grid("lineage", caption, heads, rows, notes)


def draw_lineage(size: int, steps: list[Step], path: Path) -> None:
    """A chart of GFLOPS by method, on a logarithmic axis, with the ceilings as lines.

    path: a .png. Raises InputError where it cannot be written.
    """
    from matplotlib.figure import Figure

    shown = [step for step in steps if step.run.gflops]
    figure = Figure(figsize=(10, 0.62 * len(shown) + 1.9), dpi=120, facecolor=_PAPER)
    axes = figure.add_subplot()
    axes.set_facecolor(_PAPER)
    rates = [step.run.gflops or 0.0 for step in shown]
    places = list(range(len(shown)))[::-1]
    axes.barh(places, rates, color=_BAR, height=0.6)
    axes.set_yticks(places, [f"{s.method.name}  {s.method.year}" for s in shown], color=_INK)
    axes.set_xscale("log")
    _label_bars(axes, places, shown)
    for ceiling in {step.ceiling.name: step.ceiling for step in shown}.values():
        axes.axvline(ceiling.gflops, color=_SOFT, linestyle="--", linewidth=1)
        axes.text(
            ceiling.gflops,
            len(shown) - 0.35,
            f"{ceiling.name} {ceiling.gflops:.3g} ",
            ha="right",
            va="bottom",
            color=_SOFT,
            fontsize=9,
        )
    axes.set_xlim(min(rates) / 3, 1.5 * max(*rates, *(s.ceiling.gflops for s in shown)))
    axes.set_xlabel("GFLOPS (2n³ over the compute time), logarithmic", color=_INK)
    axes.set_title(f"{size}×{size} matrices, by every method since 2001", loc="left", pad=26)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="x", color=_LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    figure.tight_layout()
    write_whole(path, lambda to: figure.savefig(to, format="png"))


def _label_bars(axes: Any, places: list[int], shown: list[Step]) -> None:
    for place, step in zip(places, shown, strict=True):
        text = f" {step.run.gflops:.3g}  on {step.run.executor}"
        axes.text(step.run.gflops, place, text, va="center", color=_INK, fontsize=9)
