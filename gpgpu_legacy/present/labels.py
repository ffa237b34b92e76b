"""Labels beside the lines and points that they name, instead of legends.

Where a label fits is known only after a figure is laid out, and depends slightly on the format of
its file. `LabelLayout` lays a figure out, and then places its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import atan2, cos, degrees, sin
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox, ScaledTranslation, blended_transform_factory
from numpy.typing import ArrayLike, NDArray

INK = "#202124"
FINE_PRINT = 9.0
"""Points. In a figure of 8.5 inches that is shown 700 pixels wide, this is about 10 pixels."""

_POINTS = 72.0  # in an inch
_GAP = 8.0  # points between axes and the labels of their lines
_BETWEEN = 1.5  # points between two labels
_CLEAR = 3.0  # points between a label and a line
_MARK = 10.0  # points along a mark
_LED = 14.0  # points from which a label has a leader
_RADII = (6.0, 9.0, 13.0, 18.0, 25.0, 34.0, 45.0, 58.0, 75.0, 95.0, 120.0, 150.0, 190.0, 240.0)
_DIRECTIONS = 24

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Place = tuple[float, float]


class LabelLayout(ConstrainedLayoutEngine):
    """Matplotlib's constrained layout, after which labels take their places."""

    def __init__(self) -> None:
        super().__init__()
        self.settle: list[Callable[[], None]] = []

    def execute(self, fig: Figure) -> None:
        """Lay out the figure, then place its labels."""
        super().execute(fig)
        for settle in self.settle:
            settle()


class PlacedLabel(NamedTuple):
    """A text that belongs to a point of the data."""

    x: float
    y: float
    text: str
    colour: Any = INK


def label_lines(axes: Axes) -> None:
    """Name the lines that have a label right of the axes, each beside its end.

    Names that would lie on one another are moved apart, and a leader joins each to its line. The
    figure is that of `new_figure`.
    """
    gap = ScaledTranslation(_GAP / _POINTS, 0.0, axes.figure.dpi_scale_trans)
    right = blended_transform_factory(axes.transAxes + gap, axes.transAxes)
    texts = []
    for line in axes.get_lines():
        places = np.asarray(line.get_xydata())
        known = places[np.isfinite(places).all(axis=1)]
        text = str(line.get_label())
        if len(known) and not text.startswith("_"):
            label = PlacedLabel(known[-1][0], known[-1][1], text, line.get_color())
            texts.append(_annotation(axes, label, (1.0, 0.5), right, "left"))

    def settle() -> None:
        box = axes.get_window_extent()
        wanted = _pixels(axes, [text.xy for text in texts])[:, 1]
        order = np.argsort(wanted, kind="stable")
        between = _BETWEEN * _pixels_a_point(axes)
        heights = [texts[i].get_window_extent().height + between for i in order]
        for i, centre in zip(order, _apart(wanted[order], heights, box.y0, box.y1), strict=True):
            texts[i].set_position((1.0, (centre - box.y0) / box.height))

    if texts:
        _after_layout(axes, settle)


def _apart(wanted: F64, heights: Sequence[float], low: float, high: float) -> F64:
    """Centres of boxes from the lowest to the highest, near the wanted ones and without overlap.

    It is the isotonic regression of where the stack of all boxes would begin for each.
    """
    below = np.cumsum(heights) - heights
    starts = wanted - np.divide(heights, 2) - below
    boxes = range(len(starts))
    best = [
        max(min(np.mean(starts[j : k + 1]) for k in boxes[i:]) for j in boxes[: i + 1])
        for i in boxes
    ]
    return np.maximum(low, np.minimum(best, high - sum(heights))) + below + np.divide(heights, 2)


def label_slope(axes: Axes, text: str, line: Sequence[Place], colour: str) -> None:
    """Name a line above it and along it, from the first of two of its points on."""
    drawn = axes.annotate(
        text, line[0], (0.0, 0.0), textcoords="offset points", fontsize=FINE_PRINT, color=colour,
        rotation_mode="anchor", verticalalignment="bottom",
    )  # fmt: skip
    drawn.set_in_layout(False)

    def settle() -> None:
        (x, y), (far_x, far_y) = axes.transData.transform(line)
        turn = atan2(far_y - y, far_x - x)
        drawn.set_rotation(degrees(turn))
        # A second line starts further left, by as much as it is higher.
        along, away = text.count("\n") * 2 * FINE_PRINT, 2 * _CLEAR
        drawn.set_position(
            (along * cos(turn) - away * sin(turn), along * sin(turn) + away * cos(turn))
        )

    _after_layout(axes, settle)


class Obstacles(NamedTuple):
    """The obstacles for labels, in data coordinates.

    points: centres of marks. lines: lists of points that labels avoid. ceiling: a line, rising from
    left to right, below which labels stay.
    """

    points: Sequence[Place] = ()
    lines: Sequence[Sequence[Place]] = ()
    ceiling: Sequence[Place] = ()
    texts: Sequence[Text] = ()


def label_points(axes: Axes, labels: Sequence[PlacedLabel], obstacles: Obstacles) -> None:
    """Name points of the axes in free space, as near to each as there is room.

    A label further away has a leader. The figure comes from `new_figure`.
    """
    texts = [_annotation(axes, label, (0.0, 0.0), "offset points", "center") for label in labels]
    for text in texts:
        text.set_in_layout(False)
    _after_layout(axes, lambda: _settle_points(axes, texts, obstacles))


def _settle_points(axes: Axes, texts: Sequence[Annotation], obstacles: Obstacles) -> None:
    """Place each text where the least is in its way; of equal places, in the nearest one."""
    point = _pixels_a_point(axes)
    frame = axes.get_window_extent().padded(-_CLEAR * point).extents
    marks = _boxes(_pixels(axes, obstacles.points), _MARK * point)
    taken = [text.get_window_extent().padded(_BETWEEN * point).extents for text in obstacles.texts]
    lines = [
        np.array(pair).ravel() for line in obstacles.lines for pair in pairwise(_pixels(axes, line))
    ]
    ceiling = _pixels(axes, obstacles.ceiling)
    # Of equals, the direction to the right comes first.
    turns = np.array(sorted(range(_DIRECTIONS), key=lambda k: min(k, _DIRECTIONS - k)))
    around = np.exp(2j * np.pi * turns / _DIRECTIONS).view(float).reshape(-1, 2)
    for text in texts:
        [anchor] = _pixels(axes, [text.xy])
        size = np.array(text.get_window_extent().size)
        reach = np.multiply(_RADII, point)[:, None, None] + size / 2
        centres = (anchor + around * reach).reshape(-1, 2)
        boxes, clear = _boxes(centres, size), _boxes(centres, size + 2 * _CLEAR * point)
        off = np.maximum(np.maximum(boxes[:, :2] - anchor, anchor - boxes[:, 2:]), 0.0)
        is_led = np.hypot(*off.T) > _LED * point
        leaders = np.hstack([np.broadcast_to(anchor, centres.shape), centres])
        is_own = _overlap(marks, _boxes(anchor[None], _MARK * point))[:, 0]
        inward = (boxes - frame) * (1, 1, -1, -1)
        clash = 100 * (inward < 0).any(axis=1) + 40 * _overlap(boxes, [*marks, *taken]).sum(axis=1)
        clash += _crosses(clear[:, None], lines).sum(axis=1)
        passed = _crosses([*marks[~is_own], *taken], leaders[:, None]).sum(axis=1)
        clash += 5 * is_led * passed
        if len(ceiling):
            clash += 50 * (np.interp(clear[:, 0], *ceiling.T) < clear[:, 3])
        best = int(clash.argmin())
        text.set_position((centres[best] - anchor) / point)
        assert text.arrow_patch is not None
        text.arrow_patch.set_visible(bool(is_led[best]))
        [box] = _boxes(centres[best, None], size + 2 * _BETWEEN * point)
        taken.append(box)
        if is_led[best]:
            lines.append(leaders[best])


# Boxes, of x0, y0, x1 and y1 in pixels ------------------------------------------------------------


def _pixels(axes: Axes, places: Sequence[Place]) -> F64:
    return axes.transData.transform(np.reshape(places, (-1, 2)))


def _boxes(centres: F64, size: ArrayLike) -> F64:
    return np.hstack([centres - np.divide(size, 2), centres + np.divide(size, 2)])


def _overlap(some: ArrayLike, others: ArrayLike) -> Mask:
    """Which boxes, in rows, overlap which other ones."""
    one, other = np.reshape(some, (-1, 1, 4)), np.reshape(others, (1, -1, 4))
    apart: Mask = (one[..., :2] >= other[..., 2:]) | (other[..., :2] >= one[..., 2:])
    return np.invert(apart.any(axis=-1))


def _crosses(boxes: ArrayLike, lines: ArrayLike) -> Mask:
    """Which lines have a point within which boxes: Liang and Barsky's clipping."""
    box, line = (np.asarray(x, float) if np.size(x) else np.empty((0, 4)) for x in (boxes, lines))
    start, step = line[..., :2], line[..., 2:] - line[..., :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(box[..., :2] - start) / step, (box[..., 2:] - start) / step])
    first, last = ends.min(axis=0).max(axis=-1), ends.max(axis=0).min(axis=-1)
    crosses: Mask = np.maximum(first, 0.0) < np.minimum(last, 1.0)
    return crosses


# Figures -----------------------------------------------------------------------------------------


class _LedText(Annotation):
    """A text with a leader, which takes no room in the layout.

    The leader ends in the axes, and Matplotlib is slow to find where it begins.
    """

    def get_window_extent(self, renderer: Any = None, dpi: Any = None) -> Bbox:
        """The box of the text, in pixels."""
        if renderer is not None:
            self.update_positions(renderer)
        return Text.get_window_extent(self, renderer, dpi)


def _annotation(
    axes: Axes, label: PlacedLabel, place: Place, coords: Any, align: str
) -> Annotation:
    leader = {
        "arrowstyle": "-", "color": "#8a8a86", "linewidth": 0.7, "shrinkA": 1.0, "shrinkB": 3.0,
        "relpos": (0.0, 0.5) if align == "left" else (0.5, 0.5),
    }  # fmt: skip
    text = _LedText(
        label.text, (label.x, label.y), place, xycoords="data", textcoords=coords,
        arrowprops=leader, annotation_clip=False, color=label.colour, fontsize=FINE_PRINT,
        horizontalalignment=align, verticalalignment="center", clip_on=False,
    )  # fmt: skip
    axes.add_artist(text)
    return text


def _pixels_a_point(axes: Axes) -> float:
    return float(axes.figure.dpi) / _POINTS


def _after_layout(axes: Axes, settle: Callable[[], None]) -> None:
    engine = axes.figure.get_layout_engine()
    assert isinstance(engine, LabelLayout)
    engine.settle.append(settle)
