"""Stam's stable fluids, as Harris wrote them for graphics hardware: smoke that rises in a box.

A time step has four parts, each of them passes that draw a rectangle. *Advect*: every texel asks
where its fluid came from, and takes the velocity, and the smoke, that were there. It asks backwards
since a fragment cannot write to any other texel than its own; Stam's method is stable for the same
reason. *Rise*: smoke pushes the fluid upwards, and a source adds smoke. *Pressure*: Jacobi's steps
solve Poisson's equation, whose right side says where more flows in than out. *Project*: the
gradient of the pressure is subtracted from the velocity, and the fluid is incompressible again.

Harris draws the box's walls as lines that negate the velocity beside them. Here a ring of texels
around the grid stays 0, and the pressure beyond a wall is that beside it, as CLAMP_TO_EDGE has it.

The place from which a texel is carried comes out of a lookup, so a chip that allows no dependent
lookups cannot run this.

- J. Stam: Stable fluids. SIGGRAPH 1999.
- M. J. Harris: Fast fluid dynamics simulation on the GPU. GPU Gems, Chapter 38, 2004.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.algorithms.linear_algebra.jacobi import neighbours
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUOYANCY = 0.06
"""The acceleration by a unit of smoke, in texels per squared unit of time."""

FADES = 0.995
"""The share of the smoke that is left after a time step."""


@algorithm(
    year=2004,
    source="Stam 1999; Harris, GPU Gems, Chapter 38 (2004)",
    summary="smoke that rises in a box: stable fluids, some fifty passes a time step",
    lacked="filters for float textures: the program mixes four texels itself",
    plays="n=32 steps=20",
    gallery=r"""
    ![Smoke that rises in a box](how-to/smoke.gif)

    Smoke in a box by Stam's stable fluids, some fifty passes for each time step.
    [Loops that end](how-to/loops-that-end.md) tells how it is written.

    ```shell
    gpgpu-legacy figure fluid n=64 --texture smoke \
        --no-captions --animate smoke.gif --scale 3 --frame-ms 60
    ```
    """,
)
def fluid(
    n: Annotated[int, "rows and columns of the grid, without its walls"] = 64,
    steps: Annotated[int, "time steps"] = 60,
    passes: Annotated[int, "Jacobi's steps for the pressure, in each time step"] = 40,
    time_step: Annotated[float, "of a step, in units of time"] = 1.0,
) -> PlanBuilder:
    """Smoke from a source, after some time steps of a fluid that is at rest at first."""
    p = PlanBuilder("fluid")
    n, ring, inner = as_positive("n", n), as_positive("n", n) + 2, (1, 1, n, n)
    source = p.input("source", n, n, sample=_disc)
    velocity, next_velocity = (
        p.texture(name, ring, ring, format="rgba32f", initial=0.0)
        for name in ("velocity", "next velocity")
    )
    smoke, next_smoke = (
        p.texture(name, ring, ring, initial=0.0) for name in ("smoke", "next smoke")
    )
    converges = p.texture("convergence", n, n)
    pressure, next_pressure = (p.texture(name, n, n) for name in ("pressure", "next pressure"))
    at = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
    around = {k: Texels(*offset) for k, offset in at.items()}
    of_ring = {k: Texels(x + 1, y + 1) for k, (x, y) in at.items()}  # seen from a grid without one
    of_grid = {k: Texels(x - 1, y - 1) for k, (x, y) in at.items()}  # seen from the ring
    advect, rise, emit, convergence, project = (
        load_program(f"fluid/{name}.fp")
        for name in ("advect", "rise", "emit", "convergence", "project")
    )
    with p.repeat(steps):
        for field, target, left in (
            (smoke, next_smoke, FADES),
            (velocity, next_velocity, 1.0),
        ):
            carried = {0: velocity, 1: field}
            p.draw(advect, carried, into=target, rect=inner, local={0: (time_step, left)})
        p.swap(smoke, next_smoke)
        p.swap(velocity, next_velocity)
        p.draw(
            emit,
            {0: smoke, 1: source},
            into=next_smoke,
            rect=inner,
            texcoords={0: Texels(x=0, y=0)},
            local={0: time_step},
        )
        p.swap(smoke, next_smoke)
        pushed = (0.0, BUOYANCY * time_step, 0.0, 0.0)
        p.draw(rise, {0: velocity, 1: smoke}, into=next_velocity, rect=inner, local={0: pushed})
        p.swap(velocity, next_velocity)
        p.draw(convergence, {0: velocity}, into=converges, texcoords=of_ring)
        p.clear(pressure)
        with p.repeat(passes):
            p.draw(
                load_program("jacobi/jacobi.fp"),
                {0: pressure, 1: converges},
                into=next_pressure,
                texcoords=around,
            )
            p.swap(pressure, next_pressure)
        p.draw(
            project,
            {0: velocity, 1: pressure},
            into=next_velocity,
            rect=inner,
            texcoords=of_grid,
        )
        p.swap(velocity, next_velocity)
    p.output("smoke", smoke, rect=inner)
    p.reference = lambda source: _flowed(source, steps, passes, time_step)
    return p


def _flowed(source: NDArray[Any], steps: int, passes: int, time_step: float) -> NDArray[Any]:
    """The smoke after all time steps, by NumPy."""
    import numpy as np

    n, ring = len(source), ((1, 1), (1, 1), (0, 0))
    place = np.stack(np.meshgrid(np.arange(1, n + 1), np.arange(1, n + 1)), -1).astype(float)
    state = np.zeros((n, n, 3))  # the velocity along x and y, and the smoke

    def at(texels: Any) -> Any:
        return np.clip(texels, 0, n + 1).astype(int)

    for _ in range(steps):
        from_ = place - time_step * state[..., :2]
        (x, y), (s, t) = np.moveaxis(np.array([np.floor(from_), from_ % 1]), -1, 1)
        s, t, state = s[..., None], t[..., None], np.pad(state, ring)
        low, high = (
            state[at(y + dy), at(x)] * (1 - s) + state[at(y + dy), at(x + 1)] * s for dy in (0, 1)
        )
        state = (low * (1 - t) + high * t) * [1, 1, FADES]
        state[..., 2] += time_step * source
        state[..., 1] += BUOYANCY * time_step * state[..., 2]
        u, v = np.moveaxis(np.pad(state, ring), -1, 0)[:2]
        (west, east), (south, north) = neighbours(u)[:2], neighbours(v)[2:]
        b, pressure = (west - east + south - north) / 2, np.zeros((n, n))
        for _ in range(passes):
            west, east, south, north = neighbours(np.pad(pressure, 1, mode="edge"))
            pressure = (west + east + south + north + b) / 4
        west, east, south, north = neighbours(np.pad(pressure, 1, mode="edge"))
        state[..., :2] -= np.stack([east - west, north - south], -1) / 2
    return state[..., 2]


def _disc(_: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A source near the floor, off the middle, which makes the plume lean."""
    import numpy as np

    rows, columns = shape
    y, x = np.mgrid[:rows, :columns]
    radius = max(1.0, columns / 12)
    away = (x - 0.42 * columns) ** 2 + (y - 0.15 * rows) ** 2
    return np.where(away < radius**2, 0.2, 0.0)
