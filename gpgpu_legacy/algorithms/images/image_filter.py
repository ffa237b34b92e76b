"""A filter of pictures: a Gaussian blur in two passes, and a third pass that sharpens.

Each pixel of a blurred picture is a weighted mean of those around it. A Gaussian of x and y is the
product of one in x and one in y, so a pass along the rows and one along the columns do what a
single pass with a square of weights would do: 7 + 7 lookups in place of 49.

What the blur takes away is the picture's detail: edges, grain, letters. The third pass adds as much
of it again as you like, which photographers call an unsharp mask. An amount of −1 gives the blur
itself, and 0 the picture.

The programs are in Cg. The places of the seven pixels differ by constants, so the rasteriser
interpolates them, in seven of the eight sets of texture coordinates: the program computes none.
Beyond the picture's edge a rectangle texture repeats its last pixel. Jargstorff's framework for
image processing is built of such filters, a pass of a Cg program each.

There are three passes, with 7, 7 and 2 lookups for each pixel.

- F. Jargstorff: A framework for image processing. GPU Gems, Chapter 27, 2004.
"""

from __future__ import annotations

from math import exp
from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels

_FARTHEST = 100.0  # standard deviations from the middle; a Gaussian is 0 there

REACH = 3
"""How many pixels to each side the blur reads."""


@algorithm(
    year=2004,
    source="Jargstorff, GPU Gems, Chapter 27 (2004)",
    summary="a Gaussian blur of a picture in two passes, and an unsharp mask",
    lacked="memory that fragments share: each pixel is looked up seven times in a pass",
    plays="width=96 height=96",
    gallery=r"""
    ![Coloured rings, blurred along rows, then columns, and sharpened](gallery/image-filter.png)

    A Gaussian blur in two passes. The third adds what it took away.

    ```shell
    gpgpu-legacy figure image-filter width=96 height=96 --shown picture \
        --plot image-filter.png
    ```
    """,
)
def image_filter(
    width: Annotated[int, "pixels in a row"] = 256,
    height: Annotated[int, "pixels in a column"] = 256,
    sigma: Annotated[float, "the standard deviation of the Gaussian, in pixels"] = 1.5,
    amount: Annotated[float, "how much detail is added; -1 gives the blur"] = 1.0,
) -> PlanBuilder:
    """A picture of four channels with its detail made stronger, or weaker."""
    if not sigma > 0:
        raise InputError(f"sigma is {sigma}; it must be above 0")
    p = PlanBuilder("image-filter")
    size = as_positive("height", height), as_positive("width", width)
    bell = [exp(-0.5 * min(k / sigma, _FARTHEST) ** 2) for k in range(REACH + 1)]
    weights = [weight / (2 * sum(bell) - bell[0]) for weight in bell]
    picture = p.input("picture", *size, packing="image", sample=_rings)
    along_rows, blurred, result = (
        p.texture(name, width, height, format=picture.format.name)
        for name in ("along rows", "blurred", "filtered")
    )
    for source, into, (dx, dy) in ((picture, along_rows, (1, 0)), (along_rows, blurred, (0, 1))):
        p.draw(
            load_program("image_filter/blur.cg"),
            {0: source},
            into=into,
            texcoords={k + REACH: Texels(k * dx, k * dy) for k in range(-REACH, REACH + 1)},
            local={0: weights},
        )
    p.draw(
        load_program("image_filter/sharpen.cg"),
        {0: picture, 1: blurred},
        into=result,
        local={0: amount},
    )
    p.output("filtered", result, packing="image")
    p.reference = lambda picture: _filtered(picture, [*weights[:0:-1], *weights], amount)
    return p


def _filtered(picture: Any, weights: list[float], amount: float) -> Any:
    """The filtered picture, by NumPy."""
    import numpy as np

    blurred = picture
    for axis in (1, 0):
        padding = [(REACH * (one == axis),) * 2 for one in range(3)]
        padded = np.pad(blurred, padding, mode="edge")
        blurred = np.apply_along_axis(np.convolve, axis, padded, weights, mode="valid")
    return picture + amount * (picture - blurred)


def _rings(rng: Any, shape: tuple[int, ...]) -> Any:
    """Coloured rings that become narrower, with some grain; opaque."""
    import numpy as np

    height, width, _ = shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    rings = 0.5 + 0.4 * np.cos((x**2 + y**2)[..., None] * [12, 15, 18, 0])
    return np.clip(rings + rng.normal(0, 0.05, shape) * [1, 1, 1, 0] + [0, 0, 0, 1], 0, 1)
