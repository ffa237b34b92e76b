"""The command that draws figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.options import Argument, Option
from gpgpu_legacy.cli.shared import (
    SIZE_HELP,
    AsPrinted,
    ExecutorName,
    Seed,
    ShapeOption,
    TextureFormat,
    TransposeA,
    TransposeB,
    app,
    operand_files,
    options_from,
    shape_of,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.runtime.executor import Executor

_RANDOM_SIZE = 4


class FigureName(Enum):
    """The figures that can be drawn."""

    FIGURE_2 = "figure-2"
    MULTICHANNEL = "multichannel"


@dataclass(frozen=True)
class FigureMatrices:
    """The matrices to draw: from files, or random; by default the figure's own."""

    a: Annotated[
        Path | None,
        Argument(
            "[A]", "A: .npy, .csv, .mtx or a greyscale image, up to 16×16; for multichannel, 8×8."
        ),
    ] = None
    b: Annotated[
        Path | None,
        Argument("[B]", "B, likewise. Without A and B, the figure has its own matrices."),
    ] = None
    size: Annotated[
        int | None, Option("N", f"{SIZE_HELP} at random (default: the figure's own).")
    ] = None
    shape: ShapeOption = None
    seed: Seed = 0

    def operands(
        self,
        options: Options,
        own: tuple[ArrayLike, ...],
        random: Callable[[Shape, int], tuple[F32, ...]],
    ) -> tuple[F32, ...]:
        """The operands, checked. own: the figure's. random: makes some of a shape from a seed."""
        from gpgpu_legacy.algorithms.operands import check_operands
        from gpgpu_legacy.api.matrices import read_matrix

        files = operand_files(self.a, self.b, self.size, self.shape)
        if files is not None:
            own = tuple(map(read_matrix, files))
        elif self.size is not None or self.shape is not None:
            own = random(shape_of(self.size, self.shape, _RANDOM_SIZE), self.seed)
        return check_operands(own, options)


@dataclass(frozen=True)
class FigureOptions:
    """How the product of a figure is computed."""

    texture_format: TextureFormat = None
    transpose_a: TransposeA = False
    transpose_b: TransposeB = False
    as_printed: AsPrinted = False

    def options(self) -> Options:
        return options_from(self)


@app.command()
def figure(
    *,
    name: Annotated[
        FigureName, Argument("[NAME]", "figure-2 or multichannel.")
    ] = FigureName.FIGURE_2,
    matrices: FigureMatrices,
    chosen: FigureOptions,
    output: Annotated[
        Path | None,
        Option(
            "--plot",
            "-o",
            "--output",
            "FILE.png|gif",
            "The picture, or with --animate the animation (default: NAME.png or NAME.gif).",
        ),
    ] = None,
    executor: ExecutorName = "auto",
    animate: Annotated[
        bool, Option("Write a .gif of the passes instead; for multichannel, of the fragments.")
    ] = False,
) -> None:
    """Draw a figure from a run: larson-mcallister pass by pass, or the multichannel swizzles.

    figure-2 shows what Figure 2 of Hall, Carr & Hart 2003 demonstrates; it is made from the paper's
    words, not after its picture. multichannel shows what one fragment of hall-carr-hart-multi looks
    up, swizzles, multiplies and adds: equations (8) to (11).
    """
    from gpgpu_legacy.files import check_not_read, check_writable
    from gpgpu_legacy.present.pictures import save_png
    from gpgpu_legacy.runtime.registry import find_executor

    suffix = ".gif" if animate else ".png"
    path = output or Path(f"{name.value}{suffix}")
    if path.suffix.lower() != suffix:
        raise InputError(
            f"{path} should end in {suffix}; with --animate it is a .gif, without a .png"
        )
    check_writable(path)
    check_not_read(path, {"A": matrices.a, "B": matrices.b})
    figure_of = _figure_2 if name is FigureName.FIGURE_2 else _multichannel
    write, draw = figure_of(matrices, chosen.options(), lambda: find_executor(executor))
    if animate:
        write(path)
    else:
        save_png(draw(), path)
    print(f"wrote {path}")


_Writers = tuple[Callable[[Path], object], Callable[[], Any]]
"""What writes the animation of a figure, and what draws it."""


def _figure_2(
    matrices: FigureMatrices, given: Options, executor: Callable[[], Executor]
) -> _Writers:
    from gpgpu_legacy.studies.figure_2 import model, plot

    options = find_method("larson-mcallister").options(given)
    a, b = matrices.operands(
        options,
        (model.DEMONSTRATION_A, model.DEMONSTRATION_B),
        lambda shape, seed: model.random_demonstration(shape, options, seed),
    )
    shown = model.demonstrate(executor(), a, b, options)
    return partial(plot.animate_figure_2, shown), partial(plot.draw_figure_2, shown)


def _multichannel(
    matrices: FigureMatrices, given: Options, executor: Callable[[], Executor]
) -> _Writers:
    from gpgpu_legacy.studies.multichannel import model, plot

    if given.transpose_a or given.transpose_b:
        raise InputError("the picture shows equation (10), which transposes nothing; give A and B")
    options = find_method("hall-carr-hart-multi").options(given)
    own = model.DEMONSTRATION_X, model.DEMONSTRATION_Y
    x, y = matrices.operands(options, own, model.random_demonstration)
    shown = model.demonstrate(executor(), x, y)
    return partial(plot.animate_multichannel, shown), partial(plot.draw_multichannel, shown)
