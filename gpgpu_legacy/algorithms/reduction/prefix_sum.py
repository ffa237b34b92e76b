"""Prefix sums by Hillis and Steele's scan, with twice the distance in each pass.

Element j of the result is the sum of the elements up to the j-th one. A loop does this with one
addition for each element, but every addition waits for the one before it. Hillis and Steele gave
all elements a processor each: in step i, every one adds the element 2ⁱ to its left, if there is
one. After step i each has the sum of the 2ⁱ⁺¹ elements that end with it.

That is many more additions than the loop has, but no fragment waits for another, and none writes
anywhere but to its own texel. Horn used the scan to drop the unwanted elements of a stream. With 1
for each wanted element and 0 for the others, the prefix sums give the places of the wanted ones.
Ray tracers, collision tests and Marching Cubes needed that, since a fragment program can only write
as many elements as it has fragments.

The kernel is in Brook. It gathers the element to the left, asks for its own position by indexof,
and has the distance as a number, which depends on the iteration. So all passes are one loop, in
which two textures alternate.

There are log₂ n passes, rounded up, and each looks up two elements for each of the n.

- W. D. Hillis, G. L. Steele: Data parallel algorithms. Communications of the ACM 29(12), 1986.
- D. Horn: Stream reduction operations for GPGPU applications. GPU Gems 2, Chapter 36, 2005.
"""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder


@algorithm(
    year=2005,
    source="Horn, GPU Gems 2, Chapter 36 (2005); Hillis & Steele 1986",
    summary="the sums of the first 1, 2, … n numbers, with twice the distance in each pass",
    aliases=("scan",),
    lacked="memory that fragments share: a scan that adds n times needs it, or twice the passes",
    plays="n=64",
    gallery="""
    ![32 numbers, and their sums over 2, 4, 8, 16 and all that came before](gallery/prefix-sum.png)

    Each pass adds the number that lies twice as far to the left as in the one before.

    ```shell
    gpgpu-legacy figure prefix-sum n=32 --plot prefix-sum.png
    ```
    """,
)
def prefix_sum(n: Annotated[int, "how many numbers"] = 1024) -> PlanBuilder:
    """The sums of the first 1, 2, … n numbers."""
    p = PlanBuilder("prefix-sum")
    x = p.stream("values", "float", as_positive("n", n), given=True)
    with p.repeat((n - 1).bit_length()) as i:
        p.call(load_kernel("prefix_sum/scan.br"), x, x, 2**i, x)
    p.output("sums", x)
    p.reference = lambda values: values.cumsum()
    return p
