"""Jacobi's relaxation of Poisson's equation, a step in each pass.

On a grid, the equation -∇²x = b becomes a linear system: four times each x, less its four
neighbours, is b. Jacobi's step solves every equation for its own x, with the neighbours of the step
before:

    x' = (west + east + south + north + b) / 4

All texels of x' depend only on the last x, so a rectangle computes them all at once. Fragment
programs do this best. In 2003, Bolz et al. and Goodnight et al. used relaxations of this kind in
their multigrid solvers, while Krüger and Westermann solved such systems by conjugate gradients.
Harris's fluids of 2004 get their pressure from Jacobi's steps.

A pass cannot read the texture that it draws to, so two textures alternate. A ring of texels around
the grid is never drawn. It is the boundary, on which x stays 0: the rectangle leaves it out, as
Harris's does, and the program needs no test for it. The rasteriser interpolates the coordinates of
the neighbours, so the program does not compute them.

There are as many passes as steps. Each of the n² fragments of a pass looks up five texels.

- J. Bolz, I. Farmer, E. Grinspun, P. Schröder: Sparse matrix solvers on the GPU: conjugate
  gradients and multigrid. SIGGRAPH 2003.
- N. Goodnight, C. Woolley, G. Lewin, D. Luebke, G. Humphreys: A multigrid solver for boundary value
  problems using programmable graphics hardware. Graphics Hardware 2003.
- J. Krüger, R. Westermann: Linear algebra operators for GPU implementation of numerical algorithms.
  SIGGRAPH 2003.
- M. J. Harris: Fast fluid dynamics simulation on the GPU. GPU Gems, Chapter 38, 2004.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATCHES = 8
"""The number of squares of a sample's b that are not 0."""


@algorithm(
    year=2003,
    source="Bolz et al. 2003; Goodnight et al. 2003; Harris, GPU Gems, Chapter 38 (2004)",
    summary="Jacobi's relaxation of Poisson's equation on a grid, a step in each pass",
    lacked="a sum over all texels in a pass, to see when to stop: the steps are counted out",
    plays="n=32 passes=200",
    gallery="""
    ![Charges, and a potential that spreads from them](gallery/jacobi.png)

    Jacobi's relaxation of Poisson's equation: each texel becomes the mean of its neighbours and
    a source, a thousand times.

    ```shell
    gpgpu-legacy figure jacobi n=32 passes=1000 --plot jacobi.png
    ```
    """,
)
def jacobi(
    n: Annotated[int, "rows and columns of the grid, without its boundary"] = 256,
    passes: Annotated[int, "steps of the relaxation"] = 50,
) -> PlanBuilder:
    """Steps of x' = (west + east + south + north + b) / 4, from x = 0; 0 around the grid."""
    p = PlanBuilder("jacobi")
    n, ring = as_positive("n", n), as_positive("n", n) + 2
    b = p.input("b", n, n, sample=patches)
    x, y = (p.texture(name, ring, ring, initial=0.0) for name in "xy")
    around = {1: Texels(-1, 0), 2: Texels(1, 0), 3: Texels(0, -1), 4: Texels(0, 1)}
    with p.repeat(passes):
        p.draw(
            load_program("jacobi/jacobi.fp"),
            {0: x, 1: b},
            into=y,
            rect=(1, 1, n, n),
            texcoords={0: Texels(x=0, y=0), **around},  # b has no ring
        )
        p.swap(x, y)
    p.output("x", x, rect=(1, 1, n, n))
    p.reference = lambda b: _relaxed(b, passes)
    return p


def _relaxed(b: NDArray[Any], passes: int) -> NDArray[Any]:
    """The x after all steps, by NumPy."""
    import numpy as np

    x = np.pad(np.zeros_like(b), 1)
    for _ in range(passes):
        west, east, south, north = neighbours(x)
        x[1:-1, 1:-1] = (west + east + south + north + b) / 4
    return x[1:-1, 1:-1]


def neighbours(ringed: Any) -> tuple[Any, ...]:
    """The neighbours west, east, south and north of all elements inside an array's outer ring."""
    return ringed[1:-1, :-2], ringed[1:-1, 2:], ringed[:-2, 1:-1], ringed[2:, 1:-1]


def patches(rng: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A b that is 0 except in a few squares, where it is 1 or -1."""
    import numpy as np

    b = np.zeros(shape)
    side = max(1, shape[0] // 16)
    for sign in (1.0, -1.0) * (PATCHES // 2):
        row, column = rng.integers(0, shape[0] - side + 1, 2)
        b[row : row + side, column : column + side] = sign
    return b
