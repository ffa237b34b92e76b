"""The fast Fourier transform in Stockham's order: nothing is shuffled, before or after.

A transform of n complex numbers is made of two transforms of n / 2, of the even and of the odd
elements. Each result is the sum of one element of each half; the second one is first turned by an
angle. Doing this log₂ n times takes n log₂ n steps in place of n².

The transform that most books print works in place and leaves its results in bit-reversed order. A
fragment program cannot work in place anyway, since it may not read the texture that it draws to.
Stockham's order makes use of that: in every pass, the two partners are half a row apart, and the
results are written where the next pass wants them.

The kernel is in Brook, with complex numbers as float2. It computes where its partners are and how
far to turn. Moreland and Angel, who published the first transform on graphics hardware, drew lines
instead, so that the rasteriser did that. A picture is transformed along its rows, then along its
columns: the same kernel, with another direction. With m=1 there are no columns to transform.

There are log₂ n + log₂ m passes over the n·m elements, and each looks up two. The inverse turns the
other way, and has a pass that divides by n·m.

- W. T. Cochran et al.: What is the fast Fourier transform? Proceedings of the IEEE 55(10), 1967.
- K. Moreland, E. Angel: The FFT on a GPU. Graphics Hardware 2003.
- I. Buck et al.: Brook for GPUs: stream computing on graphics hardware. SIGGRAPH 2004.
"""

from __future__ import annotations

from math import pi
from typing import Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder


@algorithm(
    year=2003,
    source="Moreland & Angel 2003; Buck et al. 2004; the order: Stockham, in Cochran et al. 1967",
    summary="the fast Fourier transform of a picture or a vector, a stage in each pass",
    lacked="memory that fragments share, in which a pass would do several stages",
    plays="n=32",
    gallery="""
    ![Ten stages, in which a spectrum becomes a heart](gallery/fft.png)

    The spectrum of a picture becomes the picture: five passes along its rows, then five along
    its columns.

    ```python
    import numpy as np

    y, x = np.mgrid[-1.2 : 1.35 : 32j, -1.3 : 1.3 : 32j]
    heart = (x**2 + y**2 - 1) ** 3 < x**2 * y**3
    waves = np.fft.ifft2(heart)
    np.save("waves.npy", np.stack([waves.real, waves.imag], axis=-1))
    ```

    ```shell
    gpgpu-legacy figure fft n=32 values=waves.npy --limits -0.2 0.2 --plot fft.png
    ```
    """,
)
def fft(
    n: Annotated[int, "columns, a power of two"] = 64,
    m: Annotated[int | None, "rows, a power of two; n if it is not given"] = None,
    inverse: Annotated[bool, "the inverse transform"] = False,
) -> PlanBuilder:
    """The transform of m rows of n complex numbers, along both; its zero frequency comes first."""
    p = PlanBuilder("fft")
    sizes = {"n": n, "m": n if m is None else m}
    for name, size in sizes.items():
        if as_positive(name, size) & (size - 1):
            near = 1 << size.bit_length()
            raise InputError(f"{name} is {size}; an fft takes a power of two, such as {near}")
    n, m = sizes.values()
    x = p.stream("values", "float2", (m, n), given=True)
    circle = 2 * pi if inverse else -2 * pi
    for size, along in ((n, (1, 0)), (m, (0, 1))):
        with p.repeat(size.bit_length() - 1) as i:
            share, step, apart = ([a * k for a in along] for k in (0.5 / 2**i, 2**i, size // 2))
            p.call(load_kernel("fft/fft.br", "stage"), x, share, step, apart, circle, x)
    if inverse:
        p.call(load_kernel("fft/fft.br", "scale"), x, 1 / (n * m), x)
    p.output("frequencies", x)
    p.reference = lambda values: _transformed(values, inverse)
    return p


def _transformed(values: Any, inverse: bool) -> Any:
    import numpy as np

    transform = np.fft.ifft2 if inverse else np.fft.fft2
    return transform(values.view(complex)[..., 0]).view(float).reshape(values.shape)
