"""The peers that methods are measured against: the same product by today's own libraries.

A peer brings its operands to its device once. After that each call makes one product, and only the
product is timed. A whole call of a peer starts with matrices in the host's memory and ends with a
product there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.runtime.devices import processor

OneRun = Callable[[], tuple[float, F32]]
"""One product: its seconds, and the product."""

OnOperands = Callable[[F32, F32], AbstractContextManager[OneRun]]
"""Brings operands to where they are multiplied, as often as wanted until the block ends."""

WholeCall = Callable[[F32, F32], F32]
"""Multiplies two matrices in the host's memory, and gives the product there."""


_CUBLAS = "cuBLAS sgemm, no TF32"


@dataclass(frozen=True)
class Peer:
    """A library's own product of two matrices.

    name: what results call it. title: what people call it. through: the package that it is called
    through. device: in words. on_operands: brings both operands to the device, which is not timed,
    and frees them at the end. whole_call: the product, with the operands' way there and its way
    back. on_gpu: whether the device is a GPU.
    """

    name: str
    title: str
    through: str
    device: str
    on_operands: OnOperands
    whole_call: WholeCall
    on_gpu: bool = False


def peers() -> Iterator[Peer]:
    """The peers that this machine has."""
    yield Peer("numpy-blas", "NumPy's BLAS", "numpy", processor(), _numpy_run, np.matmul)
    cublas = _through_cupy() or _through_torch()  # a call through torch takes longer to begin
    if cublas is not None:
        yield cublas


@contextmanager
def _numpy_run(a: F32, b: F32) -> Iterator[OneRun]:
    """NumPy's matmul on float32, by the BLAS that it was built with."""
    product = np.empty((a.shape[0], b.shape[1]), np.float32)

    def one_run() -> tuple[float, F32]:
        started = perf_counter()
        np.matmul(a, b, out=product)
        return perf_counter() - started, product

    yield one_run


def _through_torch() -> Peer | None:
    """NVIDIA's cuBLAS in float32, TF32 off; None without torch or without a GPU for it."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        first, second = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        product = torch.empty((a.shape[0], b.shape[1]), device=first.device)

        def one_run() -> tuple[float, F32]:
            allowed = torch.backends.cuda.matmul.allow_tf32
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.cuda.synchronize()
            started = perf_counter()
            torch.matmul(first, second, out=product)
            torch.cuda.synchronize()
            seconds = perf_counter() - started
            torch.backends.cuda.matmul.allow_tf32 = allowed
            return seconds, product.cpu().numpy()

        yield one_run

    def whole_call(a: F32, b: F32) -> F32:
        with on_operands(a, b) as one_run:
            return one_run()[1]

    name = torch.cuda.get_device_name()
    return Peer("cublas", _CUBLAS, "torch", name, on_operands, whole_call, on_gpu=True)


def _through_cupy() -> Peer | None:
    """The same through cupy, which leaves TF32 off unless CUPY_TF32 asks for it."""
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

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        first, second = cupy.asarray(a), cupy.asarray(b)
        product: Any = cupy.empty((a.shape[0], b.shape[1]), cupy.float32)
        stream = cupy.cuda.get_current_stream()

        def one_run() -> tuple[float, F32]:
            stream.synchronize()
            started = perf_counter()
            cupy.matmul(first, second, out=product)
            stream.synchronize()
            return perf_counter() - started, cupy.asnumpy(product)

        yield one_run

    def whole_call(a: F32, b: F32) -> F32:
        product: F32 = cupy.asnumpy(cupy.matmul(cupy.asarray(a), cupy.asarray(b)))
        return product

    device = name.decode() if isinstance(name, bytes) else name
    return Peer("cublas", _CUBLAS, "cupy", device, on_operands, whole_call, on_gpu=True)
