"""A reduction: the sum, the largest or the smallest element of a matrix, by halving the rectangle.

A fragment program writes only to its own texel, so there is no variable to which all fragments
could add. Krüger and Westermann draw a rectangle of half the width and half the height instead.
Each fragment combines four texels of the pass before, until one texel is left. Dot products, norms
and convergence tests of solvers need it. Buck and Purcell list it among the primitives of their
toolkit, beside map, sort and search.

The rectangle and the coordinates depend on the iteration, so all passes are one loop, in which two
textures alternate. The interpolated coordinates step by two texels from fragment to fragment. If n
is not a power of two, the matrix lies in the corner of a texture whose size is one. The rest of
that texture holds the neutral element: 0 for a sum, the least number for the largest.

There are log₂ n passes, which draw (n² - 1) / 3 fragments in all: each a fourth of the one before.

- J. Krüger, R. Westermann: Linear algebra operators for GPU implementation of numerical algorithms.
  SIGGRAPH 2003.
- I. Buck, T. Purcell: A toolkit for computation on GPUs. GPU Gems, Chapter 37, 2004.
"""

from __future__ import annotations

from typing import Annotated, Literal

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.textures import Texture

GREATEST = float.fromhex("0x1.fffffep127")
"""The greatest number of float32."""


_OPERATIONS = {"max": ("MAX", -GREATEST), "min": ("MIN", GREATEST), "sum": ("ADD", 0.0)}
"""The opcode of each operation, and its neutral element."""


@algorithm(
    year=2003,
    source="Krüger & Westermann 2003; Buck & Purcell, GPU Gems, Chapter 37 (2004)",
    summary="the sum, maximum or minimum of a matrix, by rectangles of half the size",
    lacked="writes to any other texel, atomic additions, memory that fragments share",
    plays="n=32",
    gallery="""
    ![64 numbers, the largest of each four, and of each four of those](gallery/reduction.png)

    The largest of 64 numbers: each pass draws a rectangle of half the width and half the
    height.

    ```shell
    gpgpu-legacy figure reduction n=8 --plot reduction.png
    ```
    """,
)
def reduction(
    n: Annotated[int, "rows and columns of the matrix"] = 1024,
    operation: Annotated[Literal["max", "min", "sum"], "what is computed"] = "max",
) -> PlanBuilder:
    """One value of an n×n matrix: its largest or smallest element, or its sum."""
    p = PlanBuilder("reduction")
    opcode, neutral = _OPERATIONS[operation]
    size = reduced_size(as_positive("n", n))
    x = p.texture("x", size, size, initial=None if size == n else neutral)
    y = p.texture("y", size, size)
    p.upload(p.operand("values", n, n), x, rect=(0, 0, n, n))
    reduce(p, x, y, opcode)
    p.output("value", x, rect=(0, 0, 1, 1), shape=())
    p.reference = lambda values: getattr(values, operation)()
    p.samples["values"] = lambda rng, shape: rng.uniform(-1.0, 1.0, shape)
    return p


def reduced_size(n: int) -> int:
    """The side of a texture in which an n×n matrix is reduced: the next power of two."""
    return 1 << (n - 1).bit_length()


def reduce(p: PlanBuilder, x: Texture, y: Texture, opcode: str) -> None:
    """Combine all texels of the square x in the one at (0, 0). y: a texture like x."""
    size = x.extent.width
    program = load_program("reduction/reduce.fp.j2", opcode=opcode)
    with p.repeat(size.bit_length() - 1) as i:
        side = size // 2 >> i
        # Fragment j has its centre at j + 0.5, and reads the centres 2j + 0.5 and 2j + 1.5.
        four = [
            Texels(s, t, width=2 * side, height=2 * side) for t in (-0.5, 0.5) for s in (-0.5, 0.5)
        ]
        p.draw(program, {0: x}, into=y, rect=(0, 0, side, side), texcoords=dict(enumerate(four)))
        p.swap(x, y)
