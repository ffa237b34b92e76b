"""Labels beside the lines and points that they name, in place of legends.

Where a label fits is known only once a figure is laid out, and depends a little on the format that
it is written in. `LabelLayout` lays a figure out, and then places its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import atan2, cos, degrees, hypot, inf, pi, sin
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox, ScaledTranslation, blended_transform_factory

INK = "#202124"
FINE_PRINT = 9.0
"""Points. In a figure of 8.5 inches that is shown 700 pixels wide, this is about 10 pixels."""

_LEADER = "#8a8a86"
_POINTS = 72.0  # in an inch
_GAP = 8.0  # points between axes and the labels of their lines
_BETWEEN = 1.5  # points between two labels
_CLEAR = 3.0  # points between a label and a line
_MARK = 10.0  # points along a mark
_LED = 14.0  # points from which a label has a leader
_RADII = (6.0, 9.0, 13.0, 18.0, 25.0, 34.0, 45.0, 58.0, 75.0, 95.0, 120.0, 150.0, 190.0, 240.0)
_DIRECTIONS = 24

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


@dataclass(frozen=True)
class Label:
    """A text that belongs to a point of the data."""

    x: float
    y: float
    text: str
    colour: str = INK


def label_ends(axes: Axes, labels: Sequence[Label], fontsize: float = FINE_PRINT) -> None:
    """Name lines right of the axes, each beside its end; x and y of a label are that end.

    Labels that would lie on one another are moved apart, and a leader joins each to its line. The
    figure is that of `new_figure`.
    """
    gap = ScaledTranslation(_GAP / _POINTS, 0.0, axes.figure.dpi_scale_trans)
    right = blended_transform_factory(axes.transAxes + gap, axes.transAxes)
    texts = [_annotation(axes, label, fontsize, right, "left") for label in labels]
    for text in texts:
        text.set_position((1.0, 0.5))
    _after_layout(axes, lambda: _settle_ends(axes, texts))


def label_lines(axes: Axes, fontsize: float = FINE_PRINT) -> None:
    """Name all lines that have a label at their ends; see `label_ends`."""
    labels = []
    for line in axes.get_lines():
        places = np.asarray(line.get_xydata())
        known = places[np.isfinite(places).all(axis=1)]
        text = str(line.get_label())
        if len(known) and not text.startswith("_"):
            x, y = map(float, known[-1])
            labels.append(Label(x, y, text, to_hex(line.get_color())))
    label_ends(axes, labels, fontsize)


def _settle_ends(axes: Axes, texts: Sequence[Annotation]) -> None:
    box = axes.get_window_extent()
    point = _pixels_a_point(axes)
    wanted = [axes.transData.transform(text.xy)[1] for text in texts]
    order = sorted(range(len(texts)), key=lambda number: wanted[number])
    heights = [_extent(texts[i]).height + _BETWEEN * point for i in order]
    centres = _apart([wanted[i] for i in order], heights, box.y0, box.y1)
    for i, centre in zip(order, centres, strict=True):
        texts[i].set_position((1.0, (centre - box.y0) / box.height))


def _apart(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centres of boxes from the lowest to the highest, next to the wanted ones, none on another.

    Boxes that would overlap make a stack, in the middle of what they want.
    """
    stacks: list[tuple[list[int], float]] = []  # the boxes, and the bottom of the lowest
    total = sum(heights)

    def bottom(boxes: Sequence[int]) -> float:
        below, starts = 0.0, []
        for i in boxes:
            starts.append(wanted[i] - heights[i] / 2 - below)
            below += heights[i]
        return max(low, min(float(np.mean(starts)), high - below)) if total <= high - low else low

    for i in range(len(wanted)):
        stack = ([i], bottom([i]))
        while stacks and stacks[-1][1] + sum(heights[j] for j in stacks[-1][0]) > stack[1]:
            boxes = [*stacks.pop()[0], *stack[0]]
            stack = (boxes, bottom(boxes))
        stacks.append(stack)
    centres = [0.0] * len(wanted)
    for boxes, start in stacks:
        below = start
        for i in boxes:
            centres[i] = below + heights[i] / 2
            below += heights[i]
    return centres


@dataclass(frozen=True)
class Obstacles:
    """What labels keep off, in the data's coordinates.

    points: centres of marks. lines: each of places, which labels keep
    clear of. ceiling: a line, rising from left to right, that labels stay below.
    """

    points: Sequence[Place] = ()
    lines: Sequence[Sequence[Place]] = ()
    ceiling: Sequence[Place] = ()
    texts: Sequence[Any] = ()


def label_slope(
    axes: Axes, text: str, line: Sequence[Place], colour: str = INK, fontsize: float = FINE_PRINT
) -> None:
    """Name a line above it and along it, from the first of two of its places on."""
    drawn = axes.annotate(
        text, line[0], (0.0, 0.0), textcoords="offset points", fontsize=fontsize, color=colour,
        rotation_mode="anchor", verticalalignment="bottom",
    )  # fmt: skip
    drawn.set_in_layout(False)

    def settle() -> None:
        (x, y), (far_x, far_y) = axes.transData.transform(line)
        turn = atan2(far_y - y, far_x - x)
        drawn.set_rotation(degrees(turn))
        # A second line stands further left, by as much as it is higher.
        along, away = drawn.get_text().count("\n") * 2 * fontsize, 2 * _CLEAR
        drawn.set_position(
            (along * cos(turn) - away * sin(turn), along * sin(turn) + away * cos(turn))
        )

    _after_layout(axes, settle)


def label_points(
    axes: Axes, labels: Sequence[Label], obstacles: Obstacles, fontsize: float = FINE_PRINT
) -> None:
    """Name points of the axes where nothing else is, as near to each as there is room.

    A label that is further off has a leader. The figure is that of `new_figure`.
    """
    texts = [_annotation(axes, label, fontsize, "offset points", "center") for label in labels]
    for text in texts:
        text.set_in_layout(False)
    _after_layout(axes, lambda: _settle_points(axes, texts, obstacles))


def _settle_points(axes: Axes, texts: Sequence[Annotation], obstacles: Obstacles) -> None:
    point = _pixels_a_point(axes)
    room = _Room(axes, obstacles, point)
    for text in texts:
        extent = _extent(text)
        anchor = axes.transData.transform(text.xy).tolist()
        centre = room.find((anchor[0], anchor[1]), extent.width, extent.height)
        offset = ((centre[0] - anchor[0]) / point, (centre[1] - anchor[1]) / point)
        text.set_position(offset)
        arrow = text.arrow_patch
        assert arrow is not None
        box = _box(centre, extent.width, extent.height)
        arrow.set_visible(_distance(box, anchor) > _LED * point)


class _Room:
    """Which places of the axes are taken, in pixels."""

    def __init__(self, axes: Axes, obstacles: Obstacles, point: float) -> None:
        self.point = point
        self.frame = _as_box(axes.get_window_extent()).padded(-_CLEAR * point)
        marks = self._pixels(axes, obstacles.points)
        self.mark = _MARK * point
        self.marks = [_box(place, self.mark, self.mark) for place in marks]
        self.labels = [
            _as_box(text.get_window_extent()).padded(_BETWEEN * point) for text in obstacles.texts
        ]
        self.lines = [
            (begin, end)
            for line in obstacles.lines
            for begin, end in pairwise(self._pixels(axes, line))
        ]
        self.ceiling = np.array(self._pixels(axes, obstacles.ceiling))

    @staticmethod
    def _pixels(axes: Axes, places: Sequence[Place]) -> list[Place]:
        return (
            [(float(x), float(y)) for x, y in axes.transData.transform(places)]
            if len(places)
            else []
        )

    def find(self, anchor: Place, width: float, height: float) -> Place:
        """The centre of a free box of that size, near the anchor; it is taken from then on."""
        best, cost = anchor, inf
        for centre in _around(anchor, width, height, self.point):
            clash = self._clash(_box(centre, width, height), anchor, centre)
            if clash < cost:
                best, cost = centre, clash
            if not clash:
                break
        box = _box(best, width, height)
        self.labels.append(box.padded(_BETWEEN * self.point))
        if _distance(box, anchor) > _LED * self.point:
            self.lines.append((anchor, best))
        return best

    def _clash(self, box: _Box, anchor: Place, centre: Place) -> int:
        """How much is in the way of a label, and of its leader, which points at its centre."""
        clear = box.padded(_CLEAR * self.point)
        clash = 100 * (not _contains(self.frame, box)) + 50 * self._is_above(clear)
        clash += 40 * sum(_overlap(box, taken) for taken in (*self.marks, *self.labels))
        clash += sum(_crosses(clear, *line) for line in self.lines)
        if _distance(box, anchor) > _LED * self.point:
            own = _box(anchor, self.mark, self.mark)
            others = [mark for mark in self.marks if not _overlap(mark, own)]
            crossed = (*others, *self.labels)
            clash += 5 * sum(_crosses(taken, anchor, centre) for taken in crossed)
        return clash

    def _is_above(self, box: _Box) -> bool:
        if not len(self.ceiling):
            return False
        return bool(np.interp(box.x0, self.ceiling[:, 0], self.ceiling[:, 1]) < box.y1)


def _around(anchor: Place, width: float, height: float, point: float) -> Iterator[Place]:
    """Centres of boxes around a point, the nearest first; of equals the one to the right."""
    turns = sorted(range(_DIRECTIONS), key=lambda k: min(k, _DIRECTIONS - k))
    for radius in _RADII:
        for turn in turns:
            right, up = cos(2 * pi * turn / _DIRECTIONS), sin(2 * pi * turn / _DIRECTIONS)
            far_x, far_y = radius * point + width / 2, radius * point + height / 2
            yield anchor[0] + right * far_x, anchor[1] + up * far_y


# Boxes -------------------------------------------------------------------------------------------


class _Box(NamedTuple):
    """A rectangle in pixels. Matplotlib's own is slow where there are thousands."""

    x0: float
    y0: float
    x1: float
    y1: float

    def padded(self, by: float) -> _Box:
        return _Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)


def _as_box(box: Bbox) -> _Box:
    return _Box(*map(float, box.extents))


def _box(centre: Place, width: float, height: float) -> _Box:
    x, y = centre
    return _Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _contains(outer: _Box, inner: _Box) -> bool:
    return (
        outer.x0 <= inner.x0 and outer.y0 <= inner.y0
        and inner.x1 <= outer.x1 and inner.y1 <= outer.y1
    )  # fmt: skip


def _overlap(one: _Box, other: _Box) -> bool:
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)


def _distance(box: _Box, place: Iterable[float]) -> float:
    x, y = place
    return hypot(max(box.x0 - x, x - box.x1, 0.0), max(box.y0 - y, y - box.y1, 0.0))


def _crosses(box: _Box, begin: Place, end: Place) -> bool:
    """Whether a line has a point within a box: Liang and Barsky's clipping."""
    first, last = 0.0, 1.0
    for axis, (low, high) in enumerate(((box.x0, box.x1), (box.y0, box.y1))):
        start, step = begin[axis], end[axis] - begin[axis]
        if not step:
            if not low < start < high:
                return False
            continue
        near, far = sorted(((low - start) / step, (high - start) / step))
        first, last = max(first, near), min(last, far)
    return first < last


# Figures -----------------------------------------------------------------------------------------


class _LedText(Annotation):
    """A text with a leader, which takes no room in the layout.

    It ends in the axes, and to find out where it begins takes Matplotlib long.
    """

    def get_tightbbox(self, renderer: Any = None) -> Bbox:
        """Where the text lies, in pixels."""
        self.update_positions(renderer)
        return Text.get_window_extent(self, renderer)


def _annotation(axes: Axes, label: Label, fontsize: float, coords: Any, align: str) -> Annotation:
    leader = {
        "arrowstyle": "-", "color": _LEADER, "linewidth": 0.7, "shrinkA": 1.0, "shrinkB": 3.0,
        "relpos": (0.0, 0.5) if align == "left" else (0.5, 0.5),
    }  # fmt: skip
    text = _LedText(
        label.text, (label.x, label.y), (0.0, 0.0), xycoords="data", textcoords=coords,
        arrowprops=leader, annotation_clip=False, color=label.colour, fontsize=fontsize,
        horizontalalignment=align, verticalalignment="center", clip_on=False,
    )  # fmt: skip
    axes.add_artist(text)
    return text


def _extent(text: Annotation) -> Bbox:
    """How large a text is, without its leader, in pixels."""
    return Text.get_window_extent(text)


def _pixels_a_point(axes: Axes) -> float:
    return float(axes.figure.dpi) / _POINTS


def _after_layout(axes: Axes, settle: Callable[[], None]) -> None:
    engine = axes.figure.get_layout_engine()
    assert isinstance(engine, LabelLayout)
    engine.settle.append(settle)
