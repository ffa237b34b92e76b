"""A sparse matrix times a vector, added to another: rows of different lengths.

Most entries of the matrices that finite elements and networks give are 0, and only the others are
kept: for each row its values and their columns. The product reads x wherever a column says, one
dependent lookup after another.

A chip without loops has the same program for all rows. So rows are padded with zeros until all are
as long as the longest, and each pass adds b entries of every row, as Krüger & Westermann and the
time's other solvers drew it: the work is n times the longest row, whatever the others have.

Bolz et al. kept rows one after another, as in compressed row storage, and a pointer to each. Their
chip could not loop either: rows of one length were drawn together. With `rows=true` a row is a loop
that its fragment leaves by itself, which the GeForce 6 made possible: one pass, and no zeros.
Fragments of a block wait for the longest row among them, so `run` counts how often they diverge.
`conjugate-gradient` solves with such rows if `matrix=rows`.

The kernels are in Brook. A loop unrolls if its number of trips is compiled in, and becomes a REP
and a BRK if a stream holds that number. Sums run in the order of the entries either way, and have
the same bits as long as a zero adds nothing.

A padded product has L / b passes for a longest row of L entries, rounded up, and 3·L·n + n·L/b
lookups, the sum so far among them.

- J. Bolz, I. Farmer, E. Grinspun, P. Schröder: Sparse matrix solvers on the GPU: conjugate
  gradients and multigrid. SIGGRAPH 2003.
- J. Krüger, R. Westermann: Linear algebra operators for GPU implementation of numerical
  algorithms. SIGGRAPH 2003.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import Stream

KERNELS = "sparse_matrix_vector/rows.br"


@algorithm(
    year=2003,
    source="Bolz et al. 2003; Krüger & Westermann 2003",
    summary="a sparse matrix times a vector, with padded rows or a loop for each row",
    lacked="loops as long as a fragment's own row, until the GeForce 6",
    plays="n=48 longest=12 block=1",
    gallery="""
    ![Padded rows of a matrix, and the sums after each pass](gallery/sparse-matrix-vector.png)

    Rows of 1 to 16 entries stand upright in the picture: a program without loops adds their
    zeros, too. With `rows=true` each row is a loop as long as it is, and its fragment leaves
    it.

    ```shell
    gpgpu-legacy figure sparse-matrix-vector n=64 --executor numpy --plot sparse-matrix-vector.png
    ```
    """,
)
def sparse_matrix_vector(
    n: Annotated[int, "rows and columns of the matrix"] = 256,
    longest: Annotated[int, "entries of the longest row; the shortest has one"] = 16,
    block: Annotated[int, "entries of a row that a pass adds up"] = 4,
    rows: Annotated[bool, "whether each row is a loop, as long as the row"] = False,
) -> PlanBuilder:
    """Y + A·x for a sparse A: values and columns, padded or row after row with their extents."""
    import numpy as np

    p = PlanBuilder("sparse-matrix-vector")
    n, longest = as_positive("n", n), as_positive("longest", longest)
    block = as_positive("block", block)
    lengths = 1 + np.arange(n) * 7 % longest  # of a sample's rows, in steps of seven
    starts = np.append(0, lengths.cumsum())
    filled = rows or np.arange(longest)[:, None] < lengths  # entries by rows
    p.operations = 2 * int(starts[-1])
    extents: Any = int(starts[-1]) if rows else (longest, n)
    x, y = (
        p.stream(name, "float", n, given=True, sample=lambda rng, shape: rng.random(shape))
        for name in "xy"
    )
    values = p.stream(
        "values", "float", extents, given=True,
        sample=lambda rng, shape: rng.random(shape) * filled,
    )  # fmt: skip
    columns = p.stream(
        "columns", "float", extents, given=True,
        sample=lambda rng, shape: rng.integers(0, n, shape).astype(float),
    )  # fmt: skip
    if rows:
        p.call(*by_rows(p, n, starts, values, columns), x, y, y)
        p.reference = times_by_rows
    else:
        padded = load_kernel(KERNELS, "padded")
        with p.repeat(longest // block) as i:
            p.call(padded, values, columns, x, block * i, block, y, y)
        if longest % block:
            p.call(padded, values, columns, x, longest - longest % block, longest % block, y, y)
        p.reference = lambda x, y, values, columns: y + (values * x[columns.astype(int)]).sum(0)
    p.output("sum", y)
    return p


def by_rows(p: PlanBuilder, shape: Any, starts: Any, *entries: Stream) -> tuple[Any, ...]:
    """The kernel that loops over each row, and its arguments before x, y and their sum y + A·x.

    shape: of y. starts: where a sample's rows begin, and the last ends. entries: values, columns.
    """
    import numpy as np

    pairs = np.stack([starts[:-1], starts[1:]], 1)
    extents = p.stream(
        "extents", "float2", shape, given=True, sample=lambda _, shape: pairs.reshape(shape)
    )
    return load_kernel(KERNELS, "row"), extents, *entries


def times_by_rows(x: Any, y: Any, values: Any, columns: Any, extents: Any) -> Any:
    """The sum y + A·x by NumPy."""
    import numpy as np

    products = values * x.flat[columns.astype(int)]
    ends = extents.reshape(-1, 2).astype(int)
    return y + np.reshape([products[first:last].sum() for first, last in ends], x.shape)
