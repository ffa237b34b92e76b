"""Bodies that attract one another: all pairs, b of them in each pass.

Each of n bodies is pulled towards each other one, by the other's mass over the square of the
distance. A sum over all pairs is n² interactions of some twenty operations, and a body's place
takes only four numbers: no other simulation gives a chip so much to compute for what it reads. The
square of the distance has a small number added, so that two bodies that meet do not fly apart at
any speed. That is Plummer's softening.

A fragment is a body. It looks up b bodies one after another and adds what they do to its velocity;
the next pass does the same with the next b. A program without loops ends where the chip's
instructions do, on a Radeon 9700 after a handful of bodies. Elsen et al. wrote their kernel in
Brook, too, for a chip with loops.

The integrator is the leapfrog in the form of drift, kick, drift: places move by half a time step,
velocities change by a whole one, places move by the other half. It needs the forces once a step,
errs by the square of the step, and, run backwards, comes back to where it was.

The kernels are in Brook. The number of bodies in a pass is the length of a loop, so it is compiled
into the kernel; the first body depends on the iteration. If b does not divide n, a last pass has
the rest.

A time step has n / b + 2 passes, rounded up, and n² + 4n + 2·n²/b lookups.

- E. Elsen, V. Vishal, M. Houston, V. Pande, P. Hanrahan, E. Darve: N-body simulations on GPUs.
  arXiv:0706.3060, 2007.
- L. Nyland, M. Harris, J. Prins: Fast N-body simulation with CUDA. GPU Gems 3, Chapter 31, 2007.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder


@algorithm(
    year=2007,
    source="Elsen et al. 2007; Nyland, Harris & Prins, GPU Gems 3, Chapter 31 (2007)",
    summary="bodies that attract one another: all pairs, b of them in each pass",
    lacked="loops, and memory that fragments share: each looks up every body for itself",
    plays="n=64 steps=20",
    gallery="""
    ![The ways of 64 bodies that begin as a disc: two arms, and a core](gallery/n-body.png)

    A disc of 64 bodies that attract one another, 200 time steps: each fragment is a body, and
    adds up what four others do.

    ```python
    import matplotlib.pyplot as plt
    import numpy as np

    from gpgpu_legacy import find

    pipeline = find("n-body", n=64, steps=5)
    run = pipeline.run(exact=True)
    ways = [run.inputs["bodies"]]
    for _ in range(40):
        run = pipeline.run(bodies=run.moved, velocities=run.velocity, exact=True)
        ways.append(run.moved)
    x, y, *_ = np.moveaxis(ways, -1, 0)
    plt.figure(figsize=(5, 5))
    plt.plot(x, y, color="#2b6c8f", linewidth=0.5)
    plt.scatter(x[-1], y[-1], 12, color="#101a4f", zorder=2)
    plt.axis("equal")
    plt.axis("off")
    plt.savefig("n-body.png", bbox_inches="tight")
    ```
    """,
)
def n_body(
    n: Annotated[int, "bodies"] = 256,
    block: Annotated[int, "bodies that a pass adds up"] = 4,
    steps: Annotated[int, "time steps"] = 10,
    step: Annotated[float, "the length of a time step"] = 0.02,
    softening: Annotated[float, "what is added to the square of a distance"] = 0.01,
) -> PlanBuilder:
    """Where the bodies are after some time, from places with masses (x, y, z, m) and velocities."""
    p = PlanBuilder("n-body")
    n, block = as_positive("n", n), as_positive("block", block)
    body = p.stream("bodies", "float4", n, given=True, sample=_disc)
    velocity = p.stream("velocities", "float3", n, given=True, sample=_circling)
    drift, pull = (load_kernel("n_body/bodies.br", name) for name in ("drift", "pull"))

    def kick(first: Any, count: int) -> None:
        p.call(pull, body, body, first, count, step, softening, velocity, velocity)

    with p.repeat(steps):
        p.call(drift, body, velocity, step / 2, body)
        with p.repeat(n // block) as i:
            kick(block * i, block)
        if n % block:
            kick(n - n % block, n % block)
        p.call(drift, body, velocity, step / 2, body)
    p.output("moved", body)
    p.output("velocity", velocity)
    p.operations = 20 * steps * n * n  # as Nyland et al. count an interaction
    p.reference = lambda bodies, velocities: _moved(bodies, velocities, steps, step, softening)
    return p


def _moved(bodies: Any, velocities: Any, steps: int, step: float, softening: float) -> Any:
    """The bodies and velocities after all time steps, by NumPy."""
    x, v, masses = bodies[:, :3].copy(), velocities.copy(), bodies[:, 3]
    for _ in range(steps):
        x += step / 2 * v
        ways = x - x[:, None]
        v += step * ((masses * ((ways**2).sum(2) + softening) ** -1.5)[..., None] * ways).sum(1)
        x += step / 2 * v
    moved = bodies.copy()
    moved[:, :3] = x
    return {"moved": moved, "velocity": v}


def _disc(rng: Any, shape: tuple[int, ...]) -> Any:
    """Bodies in a spiral that fills a thin disc, with a total mass of 1."""
    import numpy as np

    n = shape[0]
    k = np.arange(n)
    radius, angle = np.sqrt((k + 0.5) / n), k * np.pi * (3 - 5**0.5)
    thickness = rng.normal(0, 0.02, n)
    return np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), thickness, np.full(n, 1 / n)], 1
    )


def _circling(rng: Any, shape: tuple[int, ...]) -> Any:
    """Velocities that turn the disc as a whole, nearly fast enough to keep it from falling in."""
    import numpy as np

    x, y, *_ = _disc(rng, shape).T
    return np.stack([-y, x, 0 * x], 1)
