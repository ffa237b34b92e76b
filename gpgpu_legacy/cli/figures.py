"""The commands that draw figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.shared import (
    AsPrinted,
    ExecutorName,
    Seed,
    ShapeOption,
    Size,
    TextureFormat,
    TransposeA,
    TransposeB,
    app,
    shape_of,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Matrices = tuple["ArrayLike", ...]


class FigureName(Enum):
    """The figures there are."""

    FIGURE_2 = "figure-2"
    MULTICHANNEL = "multichannel"


@app.command()
def figure(
    name: Annotated[FigureName, typer.Argument(help="Which one.")] = FigureName.FIGURE_2,
    a: Annotated[
        Path | None, typer.Argument(help="A, up to 16×16; to 8×8 for multichannel.")
    ] = None,
    b: Annotated[Path | None, typer.Argument(help="B; a demonstration's own without.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The .png to write.")
    ] = None,
    size: Size = None,
    shape: ShapeOption = None,
    seed: Seed = 0,
    texture_format: TextureFormat = None,
    transpose_a: TransposeA = False,
    transpose_b: TransposeB = False,
    as_printed: AsPrinted = False,
    executor: ExecutorName = "auto",
    animate: Annotated[
        bool, typer.Option(help="A .gif of the passes instead; for multichannel, of the fragments.")
    ] = False,
) -> None:
    """Draw a figure from a run: Figure 2 of Hall, Carr & Hart 2003, or the multichannel swizzles.

    figure-2 shows larson-mcallister pass by pass, multichannel what one fragment of
    hall-carr-hart-multi looks up, swizzles, multiplies and adds: equations (8) to (11).
    """
    from gpgpu_legacy.files import check_folder

    suffix = ".gif" if animate else ".png"
    path = output or Path(f"{name.value}{suffix}")
    if path.suffix.lower() != suffix:
        raise InputError(f"{path} should end in {suffix}; --animate writes .gif, else it is .png")
    check_folder(path)
    if (a is None) != (b is None):
        raise InputError("give both matrices, A and B, or neither")
    options = Options(
        texture_format=texture_format,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        as_printed=as_printed,
    )
    files = (a, b) if a is not None and b is not None else None
    if files and (size is not None or shape is not None):
        raise InputError("the matrices have their sizes; leave --size and --shape out")
    asked = None if size is None and shape is None else shape_of(size, shape, 4)
    _FIGURES[name](_Picture(options, files, asked, seed, executor), path, animate)
    print(f"wrote {path}")


@dataclass(frozen=True, slots=True)
class _Picture:
    """What a figure is drawn of. files: A and B; shape: of random ones; neither: our own."""

    options: Options
    files: tuple[Path, Path] | None
    shape: Shape | None
    seed: int
    executor: str

    def operands(self, own: Matrices, random: Callable[[Shape, int], Matrices]) -> Matrices:
        """The matrices to draw: from the files, or random ones, or else a figure's own."""
        from gpgpu_legacy.api.matrices import read_matrix

        if self.files is not None:
            return tuple(read_matrix(file) for file in self.files)
        return own if self.shape is None else random(self.shape, self.seed)


def _draw_figure_2(picture: _Picture, path: Path, animate: bool) -> None:
    from gpgpu_legacy.algorithms.operands import check_operands
    from gpgpu_legacy.runtime.registry import find_executor
    from gpgpu_legacy.studies.figure_2 import plot as figures

    chosen = find_method("larson-mcallister").options(picture.options)
    given = picture.operands(
        (figures.DEMONSTRATION_A, figures.DEMONSTRATION_B),
        lambda shape, seed: figures.random_demonstration(shape, chosen, seed),
    )
    a, b = check_operands(given, chosen)
    demonstration = figures.demonstrate(find_executor(picture.executor), a, b, chosen)
    if animate:
        figures.animate_figure_2(demonstration, path)
    else:
        figures.save_png(figures.draw_figure_2(demonstration), path)


def _draw_multichannel(picture: _Picture, path: Path, animate: bool) -> None:
    from gpgpu_legacy.algorithms.operands import check_operands
    from gpgpu_legacy.runtime.registry import find_executor
    from gpgpu_legacy.studies.figure_2.plot import save_png
    from gpgpu_legacy.studies.multichannel import plot as multichannel

    if picture.options.transpose_a or picture.options.transpose_b:
        raise InputError("the picture shows equation (10), which transposes nothing; give A and B")
    chosen = find_method("hall-carr-hart-multi").options(picture.options)
    given = picture.operands(
        (multichannel.DEMONSTRATION_X, multichannel.DEMONSTRATION_Y),
        multichannel.random_demonstration,
    )
    x, y = check_operands(given, chosen)
    demonstration = multichannel.demonstrate(find_executor(picture.executor), x, y)
    if animate:
        multichannel.animate_multichannel(demonstration, path)
    else:
        save_png(multichannel.draw_multichannel(demonstration), path)


_FIGURES: dict[FigureName, Callable[[_Picture, Path, bool], None]] = {
    FigureName.FIGURE_2: _draw_figure_2,
    FigureName.MULTICHANNEL: _draw_multichannel,
}
