"""All shortest paths in a graph, by Floyd and Warshall: each pass adds a node to pass through.

The graph is a matrix: element (i, j) is the length of the road from i to j, or infinity if there is
none. Pass k finds for every pair whether the path through k is shorter:

    d[i][j] = min(d[i][j], d[i][k] + d[k][j])

After pass k, d has the lengths of the shortest paths through nodes 0 to k alone. So after n passes
it has the shortest of all. The loops over i and j may run in any order, or all at once; the one
over k may not. On one processor these are three nested loops over n, as in a product of matrices.

A rectangle of n × n fragments covers all pairs at once, and Micikevicius drew it so. The algorithm
looks like a product of matrices, in which a pass can add up many k. Here each k needs the results
of the one before, so a pass adds one node.

The kernel is in Brook: a stream is gathered by row and column, and k is a number that depends on
the iteration. Infinity is a number like any other: float textures hold it, and a minimum drops it.

There are n passes, each with three lookups, an addition and a minimum for n² fragments.

- R. W. Floyd: Algorithm 97: Shortest path. Communications of the ACM 5(6), 1962.
- P. Micikevicius: General parallel computation on commodity graphics hardware: case study with the
  all-pairs shortest paths problem. PDPTA 2004.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder

ROADS = 3
"""About how many roads leave a node in a sample: one to the next node, and some at random."""


@algorithm(
    year=2004,
    source="Micikevicius 2004; Floyd 1962",
    summary="the shortest paths between all nodes of a graph, a node to go by in each pass",
    lacked="memory that fragments share, in which tiles of the matrix would go by several nodes",
    plays="n=24",
    gallery="""
    ![A matrix of few roads fills with the shortest paths](gallery/floyd-warshall.png)

    The shortest paths between the nodes of a graph; a pass asks whether they should go by one
    more node.

    ```shell
    gpgpu-legacy figure floyd-warshall n=24 --panels 8 --plot floyd-warshall.png
    ```
    """,
)
def floyd_warshall(n: Annotated[int, "nodes of the graph"] = 64) -> PlanBuilder:
    """The lengths of the shortest paths between all nodes, from the lengths of the roads."""
    p = PlanBuilder("floyd-warshall")
    size = as_positive("n", n)
    d = p.stream("lengths", "float", (size, size), given=True, sample=_roads)
    with p.repeat(n) as k:
        p.call(load_kernel("floyd_warshall/relax.br"), d, d, k, d)
    p.output("shortest", d)
    p.reference = _shortest
    return p


def _shortest(lengths: Any) -> Any:
    import numpy as np

    for k in range(len(lengths)):
        lengths = np.minimum(lengths, lengths[:, k, None] + lengths[k])
    return lengths


def _roads(rng: Any, shape: tuple[int, ...]) -> Any:
    """Random roads, and a circle of roads by which every node can be reached."""
    import numpy as np

    n = shape[0]
    is_road = (rng.random(shape) * n < ROADS - 1) | np.roll(np.eye(n, dtype=bool), 1, 1)
    return np.where(np.eye(n, dtype=bool), 0.0, np.where(is_road, rng.random(shape), np.inf))
