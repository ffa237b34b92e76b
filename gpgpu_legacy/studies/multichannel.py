"""A multichannel product in detail: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture draws a trace
of one fragment of hall-carr-hart-multi: the two texels that a step looks up, as its two
multiply-adds swizzle them, the products, and the sum.

The matrices are called X, Y and Z as in the equations, where A to H are the quadrants of X and Y.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.api.steps import TracedInstruction, Value, as_value
from gpgpu_legacy.api.trace import Trace, trace
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import COMPONENTS
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.plot import INK, new_figure, save_figure
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.studies.shared.operands import EXACT, ShownFactors, ShownProduct, matrices_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHOD = find_product("hall-carr-hart-multi")

LARGEST = 8
"""Rows and columns of the largest matrices to draw: numbers of larger ones do not fit."""

# Small integers, so that a reader can follow every product: digits of e, pi, the golden section,
# and the roots of 2, 5, 3 and 7.
DEMONSTRATION_X = ((2, 7, 1, 8), (3, 1, 4, 1), (5, 9, 2, 6), (1, 6, 1, 8))

DEMONSTRATION_Y = ((1, 4, 1, 4), (2, 2, 3, 6), (1, 7, 3, 2), (2, 6, 4, 5))

CHANNELS = "rgba"

_HEADS = ("X looked up", "Y looked up", "X swizzled", "Y swizzled", "product", "sum")


class MultiplyAdd(NamedTuple):
    """A multiply-add of the program with the lookups of its factors, as a trace has them."""

    x: TracedInstruction
    y: TracedInstruction
    step: TracedInstruction

    @property
    def product(self) -> Value:
        """The product of the swizzled texels, in float32."""
        x, y = (np.array(operand.value, np.float32) for operand in self.step.operands[:2])
        return as_value(x * y)

    @property
    def total(self) -> Value:
        """The sum so far."""
        return as_value(self.step.result or ())

    @property
    def channels(self) -> tuple[str, ...]:
        """The swizzles of X and of Y, in r, g, b and a."""
        letters = str.maketrans(COMPONENTS, CHANNELS)
        texts = (operand.text.partition(".")[2] for operand in self.step.operands[:2])
        return tuple(text.translate(letters) for text in texts)


class Multichannel(ShownFactors):
    """A multichannel product in one pass, and the trace of one of its fragments.

    a, b: X and Y. z: the product, float32. halves: the rows and columns of a quadrant of X, Y and
    Z, padding included. trace: of the fragment, with its instructions.
    """

    z: F32
    halves: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    trace: Trace

    @property
    def multiply_adds(self) -> list[MultiplyAdd]:
        """The instructions of the fragment that add a product of two looked-up texels."""
        adds, read = list[MultiplyAdd](), dict[str, TracedInstruction]()
        [visit] = self.trace.visits
        for step in visit.steps or ():
            match [read.get(o.text.partition(".")[0]) for o in step.operands[:-1]]:
                case [TracedInstruction() as x, TracedInstruction() as y]:
                    adds.append(MultiplyAdd(x, y, step))
            if step.texel is not None:
                read[step.destination or ""] = step
        return adds

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The multiply-adds of the fragment."""
        rows = []
        for add in self.multiply_adds:
            looked_up = (f"{_name(one)}: {_text(one.sampled or ())}" for one in add[:2])
            operands = zip(add.channels, add.step.operands, strict=False)
            swizzled = (f".{text}: {_text(operand.value)}" for text, operand in operands)
            rows.append((*looked_up, *swizzled, _text(add.product), _text(add.total)))
        where = self.trace.texel[::-1]
        caption = f"{METHOD.name}, {self.sizes}: the multiply-adds of fragment {where}."
        return [Grid("multichannel", caption, _HEADS, tuple(rows))]

    def plot(self, path: Path) -> None:
        """Draw the matrices with the fragment's texels framed, and its multiply-adds below."""
        adds, (column, row), (rows, columns) = self.multiply_adds, self.trace.texel, self.halves[2]
        figure = new_figure(height_inches=_MATRICES + _ROW * len(adds))
        upper, lower = figure.subfigures(2, 1, height_ratios=[_MATRICES, _ROW * len(adds)])  # type: ignore
        for part in (upper, lower):
            part.set_facecolor("none")
        texels = [lookup.texel for add in adds for lookup in add[:2] if lookup.texel]
        matrices = (self.a, self.b, self.z)
        for unit, axes in enumerate(upper.subplots(1, 3)):
            marked = [(t.y, t.x) for t in texels if t.unit == unit] or [(row, column)]
            _draw_matrix(axes, "XYZ"[unit], matrices[unit], self.halves[unit], marked)
        grid = lower.subplots(len(adds), len(_HEADS), squeeze=False)
        for axes, head in zip(grid[0], _HEADS, strict=True):
            axes.set_title(head, fontsize=_SMALL, weight="bold")
        for add, places in zip(adds, grid, strict=True):
            for axes, vector in zip(places, _vectors(add), strict=True):
                _draw_cells(axes, *(np.reshape([*part], (2, 2)) for part in vector))
        count, steps = rows * columns, len(adds) // 2
        first, second = ("X.{} × Y.{}".format(*add.channels) for add in adds[:2])
        save_figure(
            figure,
            path,
            "Multichannel matrix multiplication",
            f"Z = X × Y, {self.sizes}, by "
            f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass. A texel holds "
            "one element of each quadrant: in r, g, b and a, equation (8).",
            f"The fragment in row {row} and column {column} makes the four elements of Z that are "
            f"framed, all at once. {'Its one step' if steps == 1 else f'Each of its {steps} steps'}"
            f" looks up one texel of X and one of Y and multiplies them twice: {first}, equation "
            f"(9), and {second}; their sum is equation (10), and these multiply-adds are listing "
            "(11). A colour names the channel that a number was read from, the letters of a "
            "product its quadrants. After Hall, Carr & Hart 2003, Section 4.",
        )


def _name(lookup: TracedInstruction) -> str:
    """The texel as the equations name it, such as X(1, 0)."""
    assert lookup.texel is not None
    return f"{'XY'[lookup.texel.unit or 0]}({lookup.texel.y}, {lookup.texel.x})"


def _text(texel: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in texel)


def demonstrate(
    executor: Executor,
    p: PlanBuilder,
    given: Mapping[str, ArrayLike] | None = None,
    seed: int | None = None,
    texel: tuple[int, int] | None = None,
) -> Multichannel:
    """Run hall-carr-hart-multi on an executor, and trace one of its fragments.

    p: the builder of the product, of 1 to 8 rows and columns. One pass computes the whole sum,
    whatever its block. given: A and B. Without them they are random integers from 0 to 9, or the
    picture's own where these fit and there is no seed. texel: the fragment's x and y; by default
    the second of row 0, if there is one. Raises InputError for other sizes, and for parameters
    other than the sizes.
    """
    own = {"A": DEMONSTRATION_X, "B": DEMONSTRATION_Y}
    operands = matrices_for(p, LARGEST, given, own, seed=seed, sample=_digits)
    sizes = {name: p.parameters[name] for name in ("m", "l", "n")}
    at_once = METHOD.builder(**sizes, block=-(-len(operands["B"]) // 2))
    plan = at_once.plan()
    x, y, z = (plan.texture(name).extent for name in ("A", "B", "C"))
    texel, by = texel or (min(1, z.width - 1), 0), executor.name
    return Multichannel(
        a=operands["A"],
        b=operands["B"],
        z=executor.run(plan, operands, EXACT).outputs["C"],
        halves=((x.height, x.width), (y.height, y.width), (z.height, z.width)),
        trace=trace(at_once, texel, operands, "C", executor=by, machine=EXACT, instructions=True),
    )


def _digits(rng: np.random.Generator, shape: tuple[int, ...]) -> F32:
    return rng.integers(0, 10, shape).astype(np.float32)


# The picture --------------------------------------------------------------------------------------

# Each channel has a light colour for its cells.
_FILLS: dict[str, Colour] = {
    "r": (250, 214, 208),
    "g": (211, 238, 205),
    "b": (208, 224, 250),
    "a": (238, 230, 206),
}
_MARK = "#e25c0c"
# The quadrants' letters in equation (8), by channel.
_QUADRANTS = {"X": str.maketrans(CHANNELS, "ABCD"), "Y": str.maketrans(CHANNELS, "EFGH")}

_MATRICES, _ROW = 2.9, 1.0  # inches of the matrices, and of a multiply-add
_SMALL = 9.0  # points


_Vector = tuple[Sequence[float], Sequence[str], Sequence[str]]
"""Four numbers, the channels that colour them, and their names."""


def _vectors(add: MultiplyAdd) -> Iterator[_Vector]:
    """The vectors of a multiply-add, one for each of _HEADS."""
    for lookup in add[:2]:
        yield lookup.sampled or (), CHANNELS, CHANNELS
    quadrants = []
    for matrix, letters, operand in zip("XY", add.channels, add.step.operands, strict=False):
        yield operand.value, letters, letters
        quadrants.append(letters.translate(_QUADRANTS[matrix]))
    yield add.product, CHANNELS, [*map("".join, zip(*quadrants, strict=True))]
    yield add.total, CHANNELS, CHANNELS


def _draw_matrix(
    axes: Axes, name: str, values: F32, half: tuple[int, int], marked: Sequence[tuple[int, int]]
) -> None:
    """Draw a matrix in its four quadrants, with the elements of the marked texels framed.

    half: rows and columns of a quadrant, with the zeros that fill its texture. marked: in one row
    or one column.
    """
    from matplotlib.patches import Rectangle

    rows, columns = half
    padded = np.pad(values, [(0, 2 * n - size) for n, size in zip(half, values.shape, strict=True)])
    channels = np.repeat(np.repeat([["r", "g"], ["b", "a"]], rows, 0), columns, 1)
    _draw_cells(axes, padded, channels, np.full(padded.shape, ""))
    letters = CHANNELS.translate(_QUADRANTS.get(name, {}))
    axes.set_title(f"{name}: {', '.join(letters)}" if name in _QUADRANTS else name, fontsize=_SMALL)
    (top, first), (bottom, last) = min(marked), max(marked)
    for down, right in np.ndindex(2, 2):
        corner = (right * columns + first - 0.5, down * rows + top - 0.5)
        size = (last - first + 1, bottom - top + 1)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=_MARK, linewidth=2))
    axes.axhline(rows - 0.5, color=INK, linewidth=1.2)
    axes.axvline(columns - 0.5, color=INK, linewidth=1.2)


def _draw_cells(axes: Axes, values: F32, channels: NDArray[Any], names: NDArray[Any]) -> None:
    """Draw numbers, each after its name, in cells that have the colours of channels."""
    axes.imshow([[_FILLS[str(channel)] for channel in row] for row in channels], aspect="auto")
    axes.set_axis_off()
    for (i, j), value in np.ndenumerate(values):
        axes.text(
            j, i, f"{names[i, j]} {value:.3g}".strip(), fontsize=_SMALL, ha="center", va="center"
        )


# The command --------------------------------------------------------------------------------------


@answers("study multichannel", plot="Draw a fragment.")
def multichannel_command(product: ShownProduct) -> Multichannel:
    """Draw one fragment of hall-carr-hart-multi: its lookups, swizzles, products and sums.

    These are equations (8) to (11) of Hall, Carr & Hart 2003, in one pass. Matrices have up to 8
    rows and columns.
    """
    return product.given_to(demonstrate, METHOD.name)
