"""The style of all plots, and how a figure is written."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import ceil, floor, inf, isfinite, log10
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.files import Write, check_writable, write_whole
from gpgpu_legacy.present.grid import fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLOURS = (
    "#202124", "#0067a5", "#b84a00", "#00795a", "#94407c", "#7d6200", "#5656c8", "#a3233a",
    "#3f6b00", "#007c91", "#6b5344", "#6a6a6a",
)  # fmt: skip
"""Colours of lines and of the words beside them: dark enough for words, and not told apart by red
and green alone.
"""

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)))
PAPER = "#fcfcf9"
INK, SOFT, GREY = "#202124", "#5c5c5c", "#7a7a7a"
WIDTH = 8.5
"""Inches. Nearly all figures have this width: at 700 pixels, their words are still legible."""

TEXT_POINTS, TITLE_POINTS = 9.5, 12.0
_SMALL = 9.0  # points of panels

_GRID = "#d8d8d2"
_DPI = 150
_POINTS = 72.0  # in an inch
_LEVEL_LABELS = 6  # more tick labels than these are rotated
_HEIGHT, _LABEL_HEIGHT = 4.6, 0.19  # inches of a chart, and of a line of words in it
_FRAME = 0.4  # inches of labels around panels
_MARGIN = 0.12  # inches around a head
_KEY = 0.3  # inches of a row that says what colours mean
_LINE = 1.4  # from one line of a head to the next, of the size of its letters


def new_figure(width_inches: float = WIDTH, height_inches: float = _HEIGHT) -> Figure:
    """An empty figure, drawn without a window, whose layout keeps axes and words apart.

    Raises InputError if Matplotlib has no folder to write to.
    """
    _import_fonts()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (width_inches, height_inches)
    figure = Figure(figsize=size, dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_panels(
    titles: Sequence[str],
    columns: int,
    height_inches: float,
    *,
    x: str = "",
    y: str,
    sharex: bool = True,
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel of the given height for each title, on common scales, and its axes.

    columns: the most. x, y: the words at its common axes.
    """
    columns = min(columns, len(titles))
    rows = ceil(len(titles) / columns)
    figure = new_figure(height_inches=rows * height_inches + _FRAME)
    places = figure.subplots(rows, columns, sharex=sharex, sharey=True, squeeze=False)
    for axes in places.flat[len(titles) :]:
        axes.set_axis_off()
    for axes, title in zip(places.flat, titles, strict=False):
        style_axes(axes)
        axes.set_title(title, fontsize=_SMALL, loc="left")
        axes.tick_params(labelsize=_SMALL)
    if x:
        figure.supxlabel(x, fontsize=10)
    figure.supylabel(y, fontsize=10)
    return figure, [*places.flat[: len(titles)]]


@cache
def _import_fonts() -> None:
    """Import Matplotlib's fonts, without its log message if the user has no home."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        import matplotlib.font_manager  # noqa: F401
    except OSError as error:
        raise InputError(f"Matplotlib has no folder to write to: {reason_of(error)}") from None
    finally:
        log.setLevel(level)


FORMATS = (".png", ".svg", ".pdf")
"""The endings of figures' names: a format of pixels, and two vector formats."""

# Nothing in a file depends on when or in which process it was written.
_UNDATED = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_figure(path: Path | str) -> None:
    """Raise InputError if no figure can be written to that path, as far as is known in advance."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path} does not name a format for figures; let it end in one of {', '.join(FORMATS)}"
        )
    check_writable(path)


def save_figure(
    figure: Figure, path: Path | str, title: str, *sentences: str, key: Sequence[Line2D] = ()
) -> None:
    """Write the figure with a head, whole or not at all, in the format of the path's ending.

    title, sentences, key: see `add_head`. The same figure makes the same file. Raises InputError
    for another format than FORMATS, and if the file cannot be written.
    """
    check_figure(path)
    add_head(figure, title, *sentences, key=key)
    path = Path(path)
    write_whole(path, figure_of(figure, path.suffix.lower()))


def figure_of(figure: Figure, suffix: str) -> Write:
    """A function that writes the figure into a file, in one of FORMATS."""

    def write(to: IO[bytes]) -> None:
        from matplotlib import rc_context
        from matplotlib.text import Text

        for text in figure.findobj(Text):
            # Matplotlib would read what is between two dollar signs in names as TeX. Only the
            # powers of ten at its own ticks are TeX.
            if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
                text.set_parse_math(False)
        with rc_context({"svg.hashsalt": "gpgpu_legacy"}), warnings.catch_warnings():
            # A box replaces a missing glyph, and text that does not fit stays where it is.
            warnings.simplefilter("ignore", UserWarning)
            figure.savefig(to, format=suffix[1:], facecolor=PAPER, metadata=_UNDATED[suffix])

    return write


def check_count(count: int, most: int, what: str) -> None:
    """Raise InputError if a picture would have more items than anybody could distinguish."""
    if count > most:
        raise InputError(f"a picture of {count} {what} shows nothing; draw at most {most}")


def style_axes(axes: Axes) -> None:
    """Give axes a white ground, a light grid, and no frame at the top and on the right."""
    axes.set_facecolor("white")
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_head(figure: Figure, title: str, *sentences: str, key: Sequence[Line2D] = ()) -> None:
    """A title above all axes, and below it what the picture shows or what to see in it.

    key: the meanings of colours and marks, in a row below the sentences. Title and sentences are
    broken into lines as wide as the figure, which grows by their height: what was drawn before
    keeps its size.
    """
    width, height = figure.get_size_inches()
    room = width - 2 * _MARGIN
    parts = [(line, TITLE_POINTS, INK, "bold") for line in lines_of(title, room, TITLE_POINTS)]
    parts += [
        (line, TEXT_POINTS, SOFT, "normal")
        for sentence in sentences
        for line in lines_of(sentence, room, TEXT_POINTS)
    ]
    text = _MARGIN + sum(_LINE * points for _, points, _, _ in parts) / _POINTS
    head = text + (_KEY if key else 0.0)
    figure.set_size_inches(width, height + head)
    top = _MARGIN
    for line, points, colour, weight in parts:
        figure.text(
            _MARGIN / width, 1 - top / (height + head), line, fontsize=points, color=colour,
            weight=weight, verticalalignment="top",
        )  # fmt: skip
        top += _LINE * points / _POINTS
    if key:
        place = (_MARGIN / width, 1 - text / (height + head))
        figure.legend(
            handles=list(key), loc="upper left", bbox_to_anchor=place, ncols=len(key),
            frameon=False, fontsize=TEXT_POINTS, borderpad=0.3, borderaxespad=0.0,
        )  # fmt: skip
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0.0, 0.0, 1.0, height / (height + head)))  # type: ignore[call-arg]


def label_lines(axes: Axes) -> None:
    """List the labelled lines to the right of the axes, the one that ends highest first."""
    import numpy as np

    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]

    def end(line: Line2D) -> float:
        known = [y for y in np.asarray(line.get_ydata(), float).tolist() if isfinite(y)]
        return known[-1] if known else -inf

    axes.legend(
        handles=sorted(lines, key=end, reverse=True), loc="center left", bbox_to_anchor=(1.0, 0.5),
        frameon=False, fontsize=_SMALL, labelcolor="markeredgecolor", handlelength=1.6,
        borderaxespad=0.4, labelspacing=0.25,
    )  # fmt: skip


def lines_of(text: str, width_inches: float, points: float) -> list[str]:
    """A text broken into lines of at most that width; a word that is wider is cut."""
    length = partial(_inches, points=points)
    words = []
    for word in text.split():
        short = word
        while (inches := length(short)) > width_inches:
            short = f"{short[: int(len(short) * width_inches / inches) - 1]}…"
        words.append(short)
    return fill(words, width_inches, length)


def _inches(text: str, points: float) -> float:
    """The width of a line of bold letters, which are the wider ones."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(weight="bold", size=points)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / _POINTS


def height_for_labels(count: int) -> float:
    """The height in inches of a figure that has room for that many lines of words."""
    return max(_HEIGHT, 1.0 + _LABEL_HEIGHT * count)


def set_powers_of_two(axes: Axes, values: Sequence[int], name: Callable[[int], str] = str) -> None:
    """A logarithmic x axis, with a labelled tick at each of the values."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [name(value) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) > _LEVEL_LABELS:
        axes.tick_params(axis="x", labelrotation=60)


def set_plain_numbers(axes: Axes) -> None:
    """Label a logarithmic y axis 0.1, 1, 10; also in between if it spans few powers of ten.

    Call it when everything is drawn, since the ticks depend on the range of the axis.
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    low, high = axes.get_ylim()
    axes.yaxis.set_major_formatter(plain_number)
    axes.yaxis.set_minor_locator(NullLocator())
    if high < _NARROW * low:
        axes.yaxis.set_major_locator(FixedLocator(list(MaxNLocator(6).tick_values(low, high))))
        axes.set_ylim(low, high)
        return
    steps = next((steps for span, steps in _STEPS if high < span * low), (1,))
    first, last = floor(log10(low)), ceil(log10(high))
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.set_ylim(low, high)


_NARROW = 4.0  # spans up to which ticks are evenly spaced
_STEPS = (
    (8.0, (1, 2, 3, 4, 5, 6, 8)),
    (30.0, (1, 2, 3, 5)),
    (500.0, (1, 2, 5)),
)  # ticks in a power of ten, by the span of the axis


def plain_number(value: float, _: object = None) -> str:
    """The text of a number at a tick: 0.1, 10, 20,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
