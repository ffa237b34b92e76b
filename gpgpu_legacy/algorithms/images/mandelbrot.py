"""The Mandelbrot set by escape time: how often z² + c stays within a circle.

For each complex number c, z begins at 0 and becomes z² + c again and again. If |z| once passes 2,
it goes to infinity; the number of steps before is the picture's shade. The algorithm asks for a
loop that each pixel leaves by itself, most of them after a few steps.

Until 2004 fragment programs had no such loop. A pass does a few steps, eight instructions each, as
many as a chip's programs have room for, and the next pass goes on with what the last one left.
Every pixel does all steps of all passes.

The GeForce 6 could leave a loop: `early=True` has a REP with a BRK, in NVIDIA's dialect, and a pass
may have 255 steps. But fragments run in blocks of about a thousand, and a block leaves when its
last fragment does. A run on numpy counts the instructions that fragments execute, and the blocks in
which they diverge.

There are trips / block passes, rounded up, with two lookups for each pixel. One more pass extracts
the number of steps.

- M. Harris, I. Buck: GPU flow-control idioms. GPU Gems 2, Chapter 34, 2005.
"""

from __future__ import annotations

from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import InputError, as_positive, as_whole
from gpgpu_legacy.isa.execute import MOST_TRIPS
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder


@algorithm(
    year=2005,
    source="Harris & Buck, GPU Gems 2, Chapter 34 (2005)",
    summary="the Mandelbrot set, with a loop that each fragment leaves, or without",
    lacked="loops that a fragment leaves by itself, until the GeForce 6",
    plays="width=96 height=72",
    gallery=r"""
    ![The Mandelbrot set, in bands of the steps that points around it take](gallery/mandelbrot.png)

    How often z² + c stays within a circle. Here each fragment leaves the loop by itself: it
    executes a third of the instructions that six steps a pass take, which all fragments do.

    ```shell
    gpgpu-legacy figure mandelbrot width=240 height=180 early=true block=48 --texture steps \
        --no-captions --executor numpy --plot mandelbrot.png
    ```
    """,
)
def mandelbrot(
    width: Annotated[int, "pixels in a row"] = 192,
    height: Annotated[int, "pixels in a column"] = 144,
    trips: Annotated[int, "the most steps"] = 48,
    block: Annotated[int, "steps of a pass, up to 255"] = 6,
    early: Annotated[bool, "leave the loop early, by NV_fragment_program2"] = False,
) -> PlanBuilder:
    """The steps before |z| passes 2, for complex numbers in r and g of a picture."""
    p = PlanBuilder("mandelbrot")
    size = as_positive("height", height), as_positive("width", width)
    trips = as_whole("trips", trips)
    if not 0 < block <= MOST_TRIPS:
        raise InputError(f"block is {block}; it must be from 1 to {MOST_TRIPS}")
    places = p.input("places", *size, packing="image", sample=_plane)
    z, after = (
        p.texture(name, width, height, initial=0.0, format="rgba32f") for name in ("z", "after")
    )
    steps = p.texture("steps", width, height, format="r32f")

    def go_on(count: int) -> None:
        program = load_program("mandelbrot/escape.fp.j2", steps=count, early=early)
        p.draw(program, {0: places, 1: z}, into=after)
        p.swap(z, after)

    with p.repeat(trips // block):
        go_on(block)
    if trips % block:
        go_on(trips % block)
    p.draw(load_program("mandelbrot/steps.fp"), {0: z}, into=steps)
    p.output("steps", steps)
    p.reference = lambda places: _steps(places, trips)
    return p


def _steps(places: Any, trips: int) -> Any:
    """The numbers of steps by NumPy, in float32."""
    import numpy as np

    x, y = np.moveaxis(np.asarray(places, np.float32), -1, 0)[:2]
    zx, zy, steps = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    with np.errstate(all="ignore"):
        for _ in range(trips):
            steps += zx * zx + zy * zy <= 4
            zx, zy = zx * zx - zy * zy + x, zx * zy * 2 + y
    return steps


def _plane(_: Any, shape: tuple[int, ...]) -> Any:
    """Complex numbers around the set, at one scale along both axes."""
    import numpy as np

    height, width, _ = shape
    reach = 1.25 * max(width / height, 1.0)
    y, x = np.mgrid[-1.25 : 1.25 : height * 1j, -reach - 0.75 : reach - 0.75 : width * 1j]
    return np.stack([x, y, 0 * x, 0 * x], -1).astype(np.float32)
