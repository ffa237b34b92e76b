"""The style of all plots, and how a figure is written."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.outputs import Write, check_writable, write_whole
from gpgpu_legacy.userdirs import CACHE, CONFIG, can_write, library_folder, temporary_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    "#202124", "#1a56a8", "#b3261e", "#2e7d32", "#8a5a00", "#6a3d9a", "#00838f", "#ad1457",
    "#5d6d1e", "#7a7a7a", "#c2570c", "#3949ab",
)  # fmt: skip
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)))
PAPER = "#fcfcf9"
GREY = "#7a7a7a"

_MATPLOTLIB = "MPLCONFIGDIR"
_GRID = "#d8d8d2"
_DPI = 150
_LEVEL_LABELS = 6  # more tick labels than these are rotated


def new_figure(width_inches: float = 8.0, height_inches: float = 5.2) -> Figure:
    """An empty figure, drawn without a window.

    Raises InputError where Matplotlib has no folder to write to.
    """
    _give_matplotlib_a_folder()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (width_inches, height_inches)
    figure = Figure(figsize=size, dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _give_matplotlib_a_folder() -> None:
    """Matplotlib needs a folder for its list of fonts, and complains where the user's is none."""
    if not sys.platform.startswith("linux") or "matplotlib" in sys.modules:
        return
    given = os.environ.get(_MATPLOTLIB)
    wanted = [Path(given).absolute()] if given else [library_folder(CONFIG), library_folder(CACHE)]
    if not all(can_write(folder) for folder in wanted):
        os.environ[_MATPLOTLIB] = str(temporary_folder())


FORMATS = (".png", ".svg", ".pdf")
"""The endings of figures' names: pixels, and two formats of lines that are sharp at any size."""

# Nothing in a file depends on when or in which process it was written.
_UNDATED = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_figure(path: Path) -> None:
    """InputError where no figure can be written to that path, as far as that is known before."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path} does not name a format for figures; let it end in one of {', '.join(FORMATS)}"
        )
    check_writable(path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure, whole or not at all, in the format that the path ends in; see FORMATS.

    The same figure makes the same file. Raises InputError for another format, and where the file
    cannot be written.
    """
    check_figure(path)
    write_whole(path, figure_of(figure, path.suffix.lower()))


def figure_of(figure: Figure, suffix: str) -> Write:
    """What fills a file with the figure, in one of FORMATS."""

    def write(to: IO[bytes]) -> None:
        from matplotlib import rc_context

        _take_dollars_literally(figure)
        with rc_context({"svg.hashsalt": "gpgpu_legacy"}), warnings.catch_warnings():
            # A box stands for a missing glyph, and what does not fit stands where it is.
            warnings.simplefilter("ignore", UserWarning)
            figure.savefig(to, format=suffix[1:], facecolor=PAPER, metadata=_UNDATED[suffix])

    return write


def _take_dollars_literally(figure: Figure) -> None:
    """Let dollar signs in names be dollar signs: matplotlib takes what is between two for TeX.

    Only the powers of ten at its own ticks are TeX.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)


def check_count(count: int, most: int, what: str) -> None:
    """InputError where a picture would have more of something than anybody could tell apart."""
    if count > most:
        raise InputError(f"a picture of {count} {what} shows nothing; draw at most {most}")


def style_axes(axes: Axes) -> None:
    """White ground, a light grid behind the curves, no frame at the top and on the right."""
    axes.set_facecolor("white")
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(axes: Axes, fontsize: float = 8) -> None:
    """A legend to the right of the axes, where it covers no curve."""
    axes.legend(fontsize=fontsize, framealpha=0.9, loc="center left", bbox_to_anchor=(1.0, 0.5))


def set_powers_of_two(axes: Axes, values: Sequence[int], name: Callable[[int], str] = str) -> None:
    """A logarithmic x axis, with a labelled tick at each of the values."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [name(value) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) > _LEVEL_LABELS:
        axes.tick_params(axis="x", labelrotation=60)


def set_plain_numbers(axes: Axes, *, minor: bool = False) -> None:
    """Label a logarithmic y axis 0.1, 1, 10. minor: its minor ticks have labels too."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    number = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(number)
    axes.yaxis.set_minor_formatter(number if minor else NullFormatter())
