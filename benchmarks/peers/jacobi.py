"""Jacobi's relaxation as one would write it today: peers of the algorithm `jacobi`.

    gpgpu-legacy bench jacobi passes=200 n=1024,2048,4096 --no-reference \
        --peers benchmarks/peers/jacobi.py

Both have the sums of shaders/jacobi/jacobi.fp in its order, on two arrays that take turns, with a
ring of zeros around them. So their bits are those of the program.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

try:
    import cupy
except ImportError:
    cupy = None

F32 = NDArray[np.float32]

_KERNEL = r"""
extern "C" __global__
void relax(const float* __restrict__ x, const float* __restrict__ b, float* __restrict__ y, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    int ring = n + 2, at = (row + 1) * ring + column + 1;
    float sum = (x[at - 1] + x[at + 1]) + (x[at - ring] + x[at + ring]);
    y[at] = (sum + b[row * n + column]) * 0.25f;
}
"""
_BLOCK = (32, 8)


class CupyKernels:
    """A CUDA kernel a pass through CuPy, a thread for each point."""

    def __init__(self, b: F32, passes: int) -> None:
        """b: the right side, n×n. passes: how many kernels run."""
        if cupy is None:
            raise ImportError("there is no CuPy; install it for a GPU of NVIDIA's")
        self.n, self.passes = len(b), passes
        self.kernel = cupy.RawKernel(_KERNEL, "relax")
        self.b = cupy.asarray(b)
        self.x, self.y = (cupy.zeros((self.n + 2, self.n + 2), cupy.float32) for _ in "xy")
        self.grid = tuple(-(-self.n // side) for side in _BLOCK)

    def start(self) -> None:
        """Begin with zeros, and wait for them."""
        self.x.fill(0.0)
        cupy.cuda.get_current_stream().synchronize()

    def compute(self) -> None:
        """Run all kernels, and wait for them."""
        x, y, n = self.x, self.y, np.int32(self.n)
        for _ in range(self.passes):
            self.kernel(self.grid, _BLOCK, (x, self.b, y, n))
            x, y = y, x
        cupy.cuda.get_current_stream().synchronize()
        self.x, self.y = x, y

    def outputs(self) -> F32:
        """The last x, without its ring."""
        inner: F32 = cupy.asnumpy(self.x[1:-1, 1:-1])
        return inner


@numba.njit(parallel=True)
def _relax(x: F32, b: F32, y: F32) -> None:
    quarter = np.float32(0.25)
    for row in numba.prange(1, x.shape[0] - 1):
        for column in range(1, x.shape[1] - 1):
            across = x[row, column - 1] + x[row, column + 1]
            along = x[row - 1, column] + x[row + 1, column]
            y[row, column] = ((across + along) + b[row - 1, column - 1]) * quarter


class NumbaLoop:
    """A loop by numba's `prange`, compiled for this processor."""

    def __init__(self, b: F32, passes: int) -> None:
        """b: the right side, n×n. passes: how often the loop runs."""
        self.b, self.passes = b, passes
        self.x, self.y = (np.zeros((len(b) + 2, len(b) + 2), np.float32) for _ in "xy")
        _relax(self.x, self.b, self.y)  # compiles

    def start(self) -> None:
        """Begin with zeros."""
        self.x.fill(0.0)

    def compute(self) -> None:
        """Run all passes."""
        x, y = self.x, self.y
        for _ in range(self.passes):
            _relax(x, self.b, y)
            x, y = y, x
        self.x, self.y = x, y

    def outputs(self) -> F32:
        """The last x, without its ring."""
        return self.x[1:-1, 1:-1]
