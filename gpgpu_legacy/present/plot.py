"""Plots: what they look like, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INCHES, DPI = (8.0, 5.2), 150


PAPER = "#fcfcf9"


SIZE_LABEL = "size n of the n×n matrices"
LEVEL_LABELS = 6  # more of them are set at a slant


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: its file's name without suffix, and what draws it."""

    name: str
    draw: Callable[[Axes], None]


def save(plot: Plot, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor="white")
    plot.draw(axes)
    axes.grid(visible=True, which="major", color="#d8d8d2", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, framealpha=0.9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, format="png", facecolor=PAPER)
