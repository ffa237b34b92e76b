"""Conjugate gradients for Poisson's equation, until the residual is small.

Each iteration multiplies the matrix by a vector, takes two dot products, and adds multiples of
vectors. For Poisson's equation on a grid, a row of the matrix is four times a texel less its four
neighbours, so the matrix needs no texture. A dot product is a pass that multiplies elements, and a
reduction that leaves one texel. The next pass of all fragments looks that texel up, because a
program of 2003 has no other way to get a number that the chip has computed.

Three vectors change in each iteration: the solution, the residual, and the direction in which the
solution moves. A pass cannot read what it draws to, so each of them has two textures that take
turns. They have changed places when the loop ends after an odd number of iterations, and copies put
them back.

The loop ends when the residual's norm is below the tolerance. The program that draws has to know
that number, so it reads a texel back: that costs more than many passes, and Bolz et al. looked only
now and then, as `every` does.

With `matrix=rows` the matrix is an input, kept row after row as Bolz et al. did, and multiplied as
by `sparse-matrix-vector` with `rows=true`: each fragment loops over its own row, here of three to
five entries, which the GeForce 6 made possible. Columns count the texels of the grid, row after
row, and no vector needs a boundary. Any symmetric and positive definite matrix of as many entries
will do; the sample is Poisson's.

In exact arithmetic an n×n grid needs at most n² iterations. Here it needs two or three times n.

- J. Bolz, I. Farmer, E. Grinspun, P. Schröder: Sparse matrix solvers on the GPU: conjugate
  gradients and multigrid. SIGGRAPH 2003.
- J. Krüger, R. Westermann: Linear algebra operators for GPU implementation of numerical algorithms.
  SIGGRAPH 2003.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.algorithms.linear_algebra.jacobi import neighbours, patches
from gpgpu_legacy.algorithms.linear_algebra.sparse_matrix_vector import by_rows, times_by_rows
from gpgpu_legacy.algorithms.reduction.reduction import reduce, reduced_size
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.languages.brook.places import StreamPlace
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import Stream
from gpgpu_legacy.pipeline.values import Texels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpgpu_legacy.plan.textures import Texture

SHADERS = "conjugate_gradient/"
MOST_PER_SIDE = 8
"""The iterations that are allowed for each row of the grid."""

_LARGEST = 1e19  # tolerance, whose square a float32 holds


@algorithm(
    year=2003,
    source="Krüger & Westermann 2003; Bolz et al. 2003",
    summary="conjugate gradients for Poisson's equation on a grid, to a tolerance",
    aliases=("cg",),
    lacked="a condition on a computed number without reading it back",
    plays="n=12",
    gallery="""
    ![The same potential, after a few iterations](gallery/conjugate-gradient.png)

    The same equation by conjugate gradients, which need 67 iterations; the program reads one
    number back to see when to stop.

    ```shell
    gpgpu-legacy figure conjugate-gradient n=32 --texture x --plot conjugate-gradient.png
    ```
    """,
)
def conjugate_gradient(
    n: Annotated[int, "rows and columns of the grid, without its boundary"] = 64,
    tolerance: Annotated[float, "the norm of the residual at which it ends"] = 1e-3,
    every: Annotated[int, "iterations between two looks at the residual"] = 1,
    matrix: Annotated[Literal["stencil", "rows"], "a program, or an input by rows"] = "stencil",
) -> PlanBuilder:
    """The x that solves -∇²x = b on a grid, 0 around it, from x = 0."""
    if not 0 <= tolerance <= _LARGEST:
        raise InputError(f"tolerance is {tolerance}; it must be from 0 to {_LARGEST:g}")
    p = PlanBuilder("conjugate-gradient")
    n, edge = as_positive("n", n), 0 if matrix == "rows" else 1
    ring, size = n + 2 * edge, reduced_size(n)
    b = p.input("b", n, n, sample=patches)
    x, next_x = (p.texture(name, n, n, initial=0.0) for name in ("x", "next x"))
    r, next_r, product = (p.texture(name, n, n) for name in ("r", "next r", "Ap"))
    # For a stencil, the direction p has a ring of texels that are never drawn: the boundary, 0.
    d, next_d = (p.texture(name, ring, ring, initial=0.0) for name in ("p", "next p"))
    sums, other_sums = (p.texture(name, size, size, initial=0.0) for name in ("sum", "other sum"))
    rr, next_rr, dap = (p.texture(name, 1, 1) for name in ("r·r", "next r·r", "p·Ap"))
    whole, inner, at_inner = Texels(x=0, y=0), (edge, edge, n, n), Texels(edge, edge)
    laplacian, multiply, step = (
        load_program(f"{SHADERS}{name}.fp") for name in ("laplacian", "multiply", "step")
    )
    in_ring = (Texels(1, 1), Texels(0, 1), Texels(2, 1), Texels(1, 0), Texels(1, 2))

    def dot(into: Texture, one: Texture, other: Texture, place: Texels = whole) -> None:
        """Reduce a dot product to a texel. place: of the other vector's first texel."""
        p.draw(
            multiply,
            {0: one, 1: other},
            into=sums,
            rect=(0, 0, n, n),
            texcoords={0: whole, 1: place},
        )
        reduce(p, sums, other_sums, "ADD")
        p.copy(sums, into, source_rect=(0, 0, 1, 1))

    times_matrix = (
        partial(p.draw, laplacian, {0: d}, into=product, texcoords=dict(enumerate(in_ring)))
        if edge
        else _product_by_rows(p, d, product)
    )
    p.copy(b, r)
    p.copy(b, d, target_rect=inner)
    dot(rr, r, r)
    with p.repeat(until=rr, below=tolerance**2, at_most=MOST_PER_SIDE * n, every=every):
        times_matrix()
        dot(dap, product, d, Texels(x=edge, y=edge))
        quotient = {2: rr, 3: dap}
        p.draw(
            step,
            {0: x, 1: d, **quotient},
            into=next_x,
            texcoords={1: at_inner},
            local={0: 1.0},
        )
        p.draw(
            step,
            {0: r, 1: product, **quotient},
            into=next_r,
            texcoords={1: whole},
            local={0: -1.0},
        )
        dot(next_rr, next_r, next_r)
        p.draw(
            step,
            {0: next_r, 1: d, 2: next_rr, 3: rr},
            into=next_d,
            rect=inner,
            texcoords={0: whole, 1: Texels()},
            local={0: 1.0},
        )
        p.copy(next_rr, rr)
        p.swap(x, next_x)
        p.swap(r, next_r)
        p.swap(d, next_d)
    p.output("x", x)
    p.reference = lambda b, **rows: solved(b, tolerance, every, **rows)
    return p


def _product_by_rows(p: PlanBuilder, d: Texture, product: Texture) -> Callable[[], Any]:
    """A function that multiplies d by a matrix given by rows; the sample is Poisson's."""
    import numpy as np

    n = d.extent.width
    places = np.pad(np.arange(n * n).reshape(n, n), 1, constant_values=-1)
    nine = np.lib.stride_tricks.sliding_window_view(places, (3, 3)).reshape(-1, 9)
    five = nine[:, [1, 3, 4, 5, 7]]
    inside = five >= 0

    def stored(name: str, entries: Any) -> Stream:
        return p.stream(name, "float", len(entries), given=True, sample=lambda *_: entries)

    values = stored("values", (inside * [-1, -1, 4, -1, -1])[inside])
    columns = stored("columns", five[inside])
    row = by_rows(p, (n, n), np.append(0, inside.sum(1).cumsum()), values, columns)
    elements = Stream(d.name, values.type, (d,), StreamPlace.whole((n * n,), n))
    return partial(p.call, *row, elements, p.texture("zero", n, n, initial=0.0), product)


def solved(b: NDArray[Any], tolerance: float, every: int, **rows: Any) -> NDArray[Any]:
    """The solution by NumPy. rows: the matrix, if it is not a stencil."""
    import numpy as np

    x, r, d, rr, done = np.zeros_like(b), b, b, (b * b).sum(), 0
    while done < MOST_PER_SIDE * len(b) and not (done % every == 0 and rr < tolerance**2):
        if rows:
            product = times_by_rows(d, 0, **rows)
        else:
            west, east, south, north = neighbours(np.pad(d, 1))
            product = 4 * d - west - east - south - north
        along = rr / (d * product).sum()
        x, r = x + along * d, r - along * product
        rr, before = (r * r).sum(), rr
        d, done = r + rr / before * d, done + 1
    return x
