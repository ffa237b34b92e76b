"""Whether a figure can be read: no text is cut off, small, on another or crossed by a line.

Matplotlib's own objects answer, as they lie when the figure is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

SHOWN_PIXELS, LEAST_PIXELS = 700, 9.9
"""The width of a figure in the documentation, and the least height of its letters there."""

DPI = (72, 150)
"""The resolution of SVG and PDF, and of PNG."""


def check_legible(figure: Figure) -> None:
    """Raise AssertionError if a text of the figure cannot be read in some format."""
    own = figure.dpi
    for dpi in DPI:
        figure.set_dpi(dpi)
        figure.draw_without_rendering()
        _check(figure)
    figure.set_dpi(own)


def extent(text: Text) -> Bbox:
    """The box of a text, without the leader of an annotation."""
    return Text.get_window_extent(text)


def _check(figure: Figure) -> None:
    texts = [text for text in _texts(figure) if text.get_visible() and text.get_text().strip()]
    frame = figure.bbox.padded(1.0)
    width = figure.get_figwidth()
    boxes = {text: extent(text) for text in texts}
    for text, box in boxes.items():
        words = text.get_text()
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1, f"{words} is cut off at a side"
        assert frame.y0 <= box.y0 and box.y1 <= frame.y1, f"{words} is cut off above or below"
        pixels = float(text.get_fontsize()) / 72 * SHOWN_PIXELS / width
        assert pixels >= LEAST_PIXELS, f"{words} is {pixels:.1f} pixels high"
    upright = [text for text in texts if text.get_rotation() % 90 == 0]
    inner = [(text.get_text(), boxes[text].padded(-0.7)) for text in upright]
    for (one, box), (other, other_box) in combinations(inner, 2):
        overlap = Bbox.intersection(box, other_box)
        assert overlap is None or not overlap.width or not overlap.height, f"{one} is on {other}"
    for axes in figure.axes:
        drawn = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
        lines = [_places_along(line) for line in drawn]
        for text in axes.texts:
            if text in upright:
                crossing = any(_has_one_of(boxes[text].padded(-0.7), places) for places in lines)
                assert not crossing, f"a line goes through {text.get_text()}"


def _texts(figure: Figure) -> Iterator[Text]:
    """All texts that are drawn; of the labels of ticks, only those in view."""
    ticks = set[Text]()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels, shown = _tick_labels(axes, axis)
            ticks |= labels
            yield from shown
    yield from (text for text in figure.findobj(Text) if text not in ticks and _is_on(text))


def _is_on(text: Text) -> bool:
    return text.axes is None or text.axes.axison or text in text.axes.texts


def _tick_labels(axes: Axes, axis: Axis) -> tuple[set[Text], list[Text]]:
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    low, high = sorted(axis.get_view_interval())
    in_view = [tick for tick in ticks if low <= tick.get_loc() <= high and axes.axison]
    return {label for tick in ticks for label in (tick.label1, tick.label2)}, [
        tick.label1 for tick in in_view
    ]


def _places_along(line: Line2D) -> NDArray[np.float64]:
    """Many places along a line, in pixels: a column of x and one of y."""
    path = line.get_transform().transform_path(line.get_path())
    ends = np.asarray(path.vertices, np.float64)
    begin, end = ends[:-1, None], ends[1:, None]
    known = np.isfinite(begin + end).all(axis=(1, 2))
    steps = np.linspace(0.0, 1.0, 400)[:, None]
    return (begin[known] + steps * (end[known] - begin[known])).reshape(-1, 2)


def _has_one_of(box: Bbox, places: NDArray[np.float64]) -> bool:
    x, y = places.T
    return bool(((box.x0 < x) & (x < box.x1) & (box.y0 < y) & (y < box.y1)).any())
