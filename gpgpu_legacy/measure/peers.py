"""Peers: programs of today's that compute what a pipeline computes, and the libraries among them.

It is nobody's business how a peer does that: by a CUDA kernel a pass, or by a loop that a compiler
spreads over all cores. It brings the inputs to its device once. After that it starts, computes and
is asked for its outputs as often as wanted, and only computing is timed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.runtime.devices import processor


class PeerRun(Protocol):
    """A peer whose inputs are on its device."""

    def start(self) -> object:
        """Put everything as it is before the first pass; not timed."""

    def compute(self) -> object:
        """Run all passes, and return when they are done."""

    def outputs(self) -> Any:
        """What was computed: the output, or a mapping of outputs by name; not timed."""


OpenPeer = Callable[[Mapping[str, F32], Mapping[str, Any]], PeerRun]
"""Brings inputs, by name, to the peer's device, given the parameters that the plan was built with.

It may raise anything, such as where the device or a library is missing: a benchmark says so."""


@dataclass
class Calls:
    """A PeerRun that calls a function. back: what it returned, as the outputs."""

    call: Callable[[], Any]
    start: Callable[[], object] = lambda: None
    back: Callable[[Any], Any] = lambda found: found
    found: Any = None

    def compute(self) -> None:
        """Call it."""
        self.found = self.call()

    def outputs(self) -> Any:
        """What it gave."""
        return self.back(self.found)


# Libraries ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """A library's own product of two float32 matrices.

    name: what results call it. device: in words. matmul: as NumPy's.
    bring, back: arrays to the device, and from it. wait: until the device is done.
    """

    name: str
    device: str
    matmul: Callable[..., Any]
    bring: Callable[[F32], Any] = lambda array: array
    back: Callable[[Any], F32] = lambda array: array
    wait: Callable[[], object] = lambda: None

    def opened(self, a: F32, b: F32) -> Calls:
        """The product of two matrices, which are on the device then."""
        arrays = a, b, np.empty((a.shape[0], b.shape[1]), np.float32)
        left, right, product = map(self.bring, arrays)

        def multiply() -> Any:
            self.matmul(left, right, out=product)
            self.wait()
            return product

        return Calls(multiply, self.wait, self.back)

    def whole(self, a: F32, b: F32) -> F32:
        """The product, with the operands' way to the device and its way back."""
        return self.back(self.matmul(self.bring(a), self.bring(b)))


TITLES = {"numpy-blas": "NumPy's BLAS", "cublas": "cuBLAS sgemm, no TF32"}
"""What people call libraries, by the names that results have."""


def libraries() -> Iterator[Library]:
    """The libraries that this machine has."""
    yield Library("numpy-blas", processor(), np.matmul)
    if (cublas := _cublas()) is not None:
        yield cublas


def _cublas() -> Library | None:
    """NVIDIA's, in float32, through cupy, which leaves TF32 off unless CUPY_TF32 asks for it."""
    if os.environ.get("CUPY_TF32", "0") != "0":
        return None
    try:
        import cupy
    except ImportError:
        return None
    try:
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
    return Library(
        "cublas",
        f"{name.decode() if isinstance(name, bytes) else name}, through cupy",
        cupy.matmul,
        cupy.asarray,
        cupy.asnumpy,
        cupy.cuda.get_current_stream().synchronize,
    )
