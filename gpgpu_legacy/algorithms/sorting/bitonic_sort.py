"""The bitonic sort: a network of comparisons that does not depend on the data.

Batcher's network sorts n numbers, n a power of two, in log₂ n stages. A stage makes sorted runs of
twice the length. It takes two runs, one ascending and one descending, and compares elements that
are half a new run apart, then a fourth, and so on down to neighbours. So stage k has k steps. In
each step, every element is compared once, with a partner that is known in advance.

That suits fragment programs. They cannot write to a computed position, so they cannot move an
element. Instead, each fragment looks up its own element and its partner's, and keeps the smaller or
the larger; the partner's fragment makes the same comparison again. Purcell et al. sort photons into
a grid in this way. Kipfer and Westermann leave more of the arithmetic to the rasteriser.

The numbers lie in a texture row after row. Its width is a power of two, too, so a partner is in the
same row or in the same column. The distance to the partner and the length of the runs are
parameters that depend on the iteration. The nested loop becomes one Repeat with tables of these
parameters, in which two textures alternate.

There are 1 + 2 + … + log₂ n = log₂ n (log₂ n + 1) / 2 passes.

- K. E. Batcher: Sorting networks and their applications. Spring Joint Computer Conference 1968.
- T. J. Purcell, C. Donner, M. Cammarano, H. W. Jensen, P. Hanrahan: Photon mapping on programmable
  graphics hardware. Graphics Hardware 2003.
- P. Kipfer, R. Westermann: Improved GPU sorting. GPU Gems 2, Chapter 46, 2005.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.loops import LoopExpression


@algorithm(
    year=2003,
    source="Purcell et al. 2003; Kipfer & Westermann, GPU Gems 2, Chapter 46 (2005)",
    summary="Batcher's bitonic network, a comparison with the partner in each pass",
    lacked="writes to a computed place (scatter); each comparison is made twice",
    plays="n=256",
    gallery=r"""
    ![256 numbers become sorted, row after row from the bottom](gallery/bitonic-sort.gif)

    Batcher's network: in each pass every texel is compared with a partner that is known in
    advance.

    ```shell
    gpgpu-legacy figure bitonic-sort n=256 \
        --no-captions --scale 12 --animate bitonic-sort.gif
    ```
    """,
)
def bitonic_sort(
    n: Annotated[int, "how many numbers, a power of two"] = 4096,
) -> PlanBuilder:
    """Sort n numbers in ascending order."""
    p = PlanBuilder("bitonic-sort")
    stages = as_positive("n", n).bit_length() - 1
    if n != 2**stages:
        raise InputError(f"n is {n}; a bitonic sort takes a power of two, such as {2 << stages}")
    width = 2 ** -(-stages // 2)
    x = p.input("values", n // width, width, shape=(n,))
    y = p.texture("y", width, n // width)
    with p.repeat(stages) as stage, p.repeat(stage + 1) as step:
        run, distance = 2 << stage, 1 << (stage - step)
        p.draw(
            load_program("bitonic_sort/compare.fp"),
            {0: x},
            into=y,
            local={
                0: _column_or_row(distance, width, lambda texels: 0.5 / texels),
                1: _column_or_row(run, width, lambda texels: 0.5 / texels),
                2: _column_or_row(distance, width, float),
            },
        )
        p.swap(x, y)
    p.output("sorted", x, shape=(n,))
    p.reference = _sorted
    return p


def _column_or_row(
    elements: LoopExpression, width: int, value: Any
) -> tuple[LoopExpression, LoopExpression, int, int]:
    """A parameter for a number of elements: in x along the row if they fit there, else in y.

    value: a function of the number of texels along that axis.
    """
    return (
        elements.map(lambda k: value(k) if k < width else 0.0),
        elements.map(lambda k: value(k // width) if k >= width else 0.0),
        0,
        0,
    )


def _sorted(values: Any) -> Any:
    import numpy as np

    return np.sort(values)
