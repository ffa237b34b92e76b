"""Jacobi's relaxation as one would write it today: peers of the algorithm `jacobi`.

    gpgpu-legacy bench jacobi passes=200 n=1024,2048,4096 --no-reference \
        --peers benchmarks/peers/jacobi.py

Both compute the sums of shaders/jacobi/jacobi.fp in its order, on two arrays that take turns, with
a ring of zeros around them. So their bits are the program's.
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
    """A CUDA kernel for each pass, with a thread for each point; all passes are one CUDA graph.

    Launched one by one by Python, the kernels of a small grid would wait for their launches.
    """

    def __init__(self, b: F32, passes: int) -> None:
        """b: the right side, n×n. passes: how many kernels run."""
        if cupy is None:
            raise ImportError("there is no CuPy; install it for a GPU of NVIDIA's")
        kernel, n = cupy.RawKernel(_KERNEL, "relax"), len(b)
        self.b = cupy.asarray(b)
        self.x, y = (cupy.zeros((n + 2, n + 2), cupy.float32) for _ in "xy")
        grid = tuple(-(-n // side) for side in _BLOCK)
        kernel(grid, _BLOCK, (self.x, self.b, y, np.int32(n)))  # compiles
        self.first, self.stream = self.x, cupy.cuda.Stream(non_blocking=True)
        with self.stream:
            self.stream.begin_capture()
            for _ in range(passes):
                kernel(grid, _BLOCK, (self.x, self.b, y, np.int32(n)))
                self.x, y = y, self.x
            self.graph = self.stream.end_capture()
        self.kept = y

    def start(self) -> None:
        """Begin with zeros, and wait for them."""
        self.first.fill(0.0)
        cupy.cuda.Device().synchronize()

    def compute(self) -> float:
        """Run all kernels, and wait for them; the seconds are those between two events."""
        began, ended = cupy.cuda.Event(), cupy.cuda.Event()
        began.record(self.stream)
        self.graph.launch(self.stream)
        ended.record(self.stream)
        ended.synchronize()
        return 1e-3 * float(cupy.cuda.get_elapsed_time(began, ended))

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
