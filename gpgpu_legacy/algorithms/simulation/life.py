"""Conway's Game of Life: a generation in each pass, on a torus.

A dead cell with three living neighbours comes to life. A living cell with two or three lives on.
All others are dead in the next generation. It is the simplest of the simulations whose state is a
texture. Cells of 8 bits are enough for it, so it ran on graphics hardware before there were floats
in fragments: James animated textures by such cellular automata in 2001. Harris et al. put real
numbers in the cells a year later, and simulated boiling and convection.

A fragment looks up its own cell and the eight neighbours. The texture repeats, which makes the grid
a torus. Rectangle textures do not repeat, so this is a 2D one with coordinates from 0 to 1, and the
program is told the size of a texel. It computes all coordinates before the first lookup, since each
lookup that depends on the one before is an indirection, and chips allowed few. Two textures
alternate.

There is a pass for each generation, and each looks up nine texels for each cell.

- M. Gardner: The fantastic combinations of John Conway's new solitaire game "life". Scientific
  American, October 1970.
- G. James: Operations for hardware-accelerated procedural texture animation. Game Programming Gems
  2, Chapter 5.8, 2001.
- M. J. Harris, G. Coombe, T. Scheuermann, A. Lastra: Physically-based visual simulation on graphics
  hardware. Graphics Hardware 2002.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.textures import UNORM8


@algorithm(
    year=2001,
    source="James, Game Programming Gems 2, Chapter 5.8 (2001); the game: Gardner 1970",
    summary="Conway's Game of Life on a torus, a generation in each pass",
    lacked="nothing but bits: a cell takes a byte at least, and is read nine times",
    plays="",
    gallery=r"""
    ![Cells that live and die on a torus](gallery/life.gif)

    Conway's Game of Life: a generation in each pass, and two textures that alternate.

    ```shell
    gpgpu-legacy figure life width=48 height=48 generations=80 \
        --no-captions --scale 5 --animate life.gif
    ```
    """,
)
def life(
    width: Annotated[int, "columns of the grid"] = 64,
    height: Annotated[int, "rows of the grid"] = 64,
    generations: Annotated[int, "how many follow the first"] = 100,
) -> PlanBuilder:
    """Generations of Conway's Game of Life on a torus; 1 lives and 0 does not."""
    p = PlanBuilder("life")
    texel = (1 / as_positive("width", width), 1 / as_positive("height", height), 0, 0)
    x = p.input(
        "cells", height, width, format=UNORM8.name, kind="2D",
        sample=lambda rng, shape: rng.random(shape) < 1 / 3,
    )  # fmt: skip
    y = p.texture("y", width, height, format=UNORM8.name, kind="2D")
    with p.repeat(generations):
        p.draw(
            load_program("examples/life.fp"), {0: (x, "NEAREST REPEAT")}, into=y, local={0: texel}
        )
        p.swap(x, y)
    p.output("cells", x)
    p.reference = lambda cells: _lived(cells, generations)
    return p


def _lived(cells: Any, generations: int) -> Any:
    """The cells after all generations, by NumPy."""
    import numpy as np

    for _ in range(generations):
        rows = cells + np.roll(cells, 1, 0) + np.roll(cells, -1, 0)
        around = rows + np.roll(rows, 1, 1) + np.roll(rows, -1, 1) - cells
        cells = np.where((around == 3) | ((around == 2) & (cells == 1)), 1.0, 0.0)
    return cells
