"""Peers: modern programs, of libraries or of users, that compute the same as a pipeline.

A peer may do that in any way: by a CUDA kernel for each pass, or by a loop that a compiler spreads
over all cores. It brings the inputs to its device once. After that it starts, computes and is asked
for its outputs as often as wanted, and only computing is timed.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from gpgpu_legacy.algorithms.algorithm import guarded, module_of, running
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.runtime.devices import processor


class PeerRun(Protocol):
    """A peer whose inputs are on its device."""

    def start(self) -> object:
        """Reset everything to the state before the first pass; not timed."""

    def compute(self) -> object:
        """Run all passes, and return when they are done.

        A float that it returns is the seconds of computing by the peer's own clock.
        """

    def outputs(self) -> Any:
        """Return the output, or a mapping of outputs by name; not timed."""


OpenPeer = Callable[[Mapping[str, F32], Mapping[str, Any]], PeerRun]
"""Brings inputs, by name, to the peer's device, given the parameters that the plan was built with.

It may raise any error, for example if the device or a library is missing: the benchmark reports
it.
"""


@dataclass
class Calls:
    """A PeerRun that calls a function.

    back: turns its result into outputs. seconds: takes the seconds of computing from its result;
    None if it has no clock.
    """

    call: Callable[[], Any]
    back: Callable[[Any], Any] = lambda result: result
    seconds: Callable[[Any], object] = lambda _: None
    result: Any = None

    def start(self) -> None:
        """Do nothing, since there is no state to reset."""

    def compute(self) -> object:
        """Call the function."""
        self.result = self.call()
        return self.seconds(self.result)

    def outputs(self) -> Any:
        """The outputs of the last call."""
        return self.back(self.result)


# Libraries ---------------------------------------------------------------------------------------


@frozen
class PeerLibrary:
    """A library's own product of two float32 matrices.

    name: what results call it. device: in words. matmul: as NumPy's. bring, back: copy an array to
    the device, and from it. seconds: makes a call, and gives its seconds by the device's clock if
    there is one.
    """

    name: str
    device: str
    matmul: Callable[..., Any]
    bring: Callable[[F32], Any] = lambda array: array
    back: Callable[[Any], F32] = lambda array: array
    seconds: Callable[[Callable[[], object]], object] = lambda call: call()

    def opened(self, a: F32, b: F32) -> PeerRun:
        """Bring two matrices to the device, to multiply them there as often as wanted."""
        arrays = a, b, np.empty((a.shape[0], b.shape[1]), np.float32)
        left, right, product = map(self.bring, arrays)
        multiply = partial(self.matmul, left, right, out=product)

        def call() -> tuple[object, F32]:
            seconds = self.seconds(multiply)
            return seconds, self.back(product)  # so the device rests, as between executors' runs

        return Calls(call, itemgetter(1), itemgetter(0))

    def whole(self, a: F32, b: F32) -> F32:
        """The product of two matrices, with all transfers."""
        return self.back(self.matmul(self.bring(a), self.bring(b)))


TITLES = {"numpy-blas": "NumPy's BLAS", "cublas": "cuBLAS sgemm, no TF32"}
"""The names of libraries for people, by their names in results."""


def libraries() -> Iterator[PeerLibrary]:
    """The libraries that this machine has."""
    yield PeerLibrary("numpy-blas", processor(), np.matmul)
    cublas = _through_cupy() or _through_torch()  # a call through torch takes longer to begin
    if cublas is not None:
        yield cublas


CALLS = 5
"""The calls of a library that are timed together; an earlier one runs while these are queued."""


def _by_events(
    event: Callable[[], Any],
    elapsed_ms: Callable[[Any, Any], float],
    call: Callable[[], object],
) -> float:
    """The mean seconds of queued calls by CUDA's events, so that no call waits for Python."""
    start, end = event(), event()
    call()
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return 1e-3 * elapsed_ms(start, end) / CALLS


def _through_torch() -> PeerLibrary | None:
    """NVIDIA's cuBLAS in float32; None without torch, without a GPU for it, or with TF32."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available() or torch.backends.cuda.matmul.allow_tf32:
        return None
    return PeerLibrary(
        "cublas",
        f"{torch.cuda.get_device_name()}, through torch",
        torch.matmul,
        lambda array: torch.from_numpy(array).cuda(),
        lambda tensor: tensor.cpu().numpy(),
        partial(
            _by_events,
            partial(torch.cuda.Event, enable_timing=True),
            torch.cuda.Event.elapsed_time,
        ),
    )


def _through_cupy() -> PeerLibrary | None:
    """The same through cupy; None without cupy, without a GPU, or if CUPY_TF32 asks for TF32."""
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
    return PeerLibrary(
        "cublas",
        f"{name.decode() if isinstance(name, bytes) else name}, through cupy",
        cupy.matmul,
        cupy.asarray,
        cupy.asnumpy,
        partial(_by_events, cupy.cuda.Event, cupy.cuda.get_elapsed_time),
    )


# Peers of a file ---------------------------------------------------------------------------------
#
# Every public class of the file is a peer; the class's name is the peer's. It is constructed with
# those of the plan's inputs (float32 arrays) and parameters that its constructor names, and is then
# a PeerRun.

METHODS = ("start", "compute", "outputs")


def read_peers(what: str) -> dict[str, OpenPeer]:
    """The peers of FILE.py, by name, in its order, or the one of FILE.py:NAME.

    The file's code is executed. Raises InputError for a file without peers, for a class that is not
    a peer, and for code that fails.
    """
    name, colon, chosen = what.partition(".py:")
    file = Path(f"{name}.py" if colon else what)
    if file.suffix != ".py":
        raise InputError(f"{file} holds no peers; give a Python file with a class for each")
    module = module_of(file)
    classes = {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_" and isinstance(value, type) and value.__module__ == module.__name__
    }
    if not classes:
        raise InputError(f"{file} has no public class; write one for each peer")
    if chosen:
        if chosen not in classes:
            raise InputError(f"{file} has no peer {chosen}; it has {', '.join(classes)}")
        classes = {chosen: classes[chosen]}
    for name, kind in classes.items():
        missing = [method for method in METHODS if not callable(getattr(kind, method, None))]
        if missing:
            raise InputError(
                f"{file}: {name} has no {missing[0]}(); a peer has {', '.join(METHODS)}"
            )
    return {name: partial(_opened, kind, file) for name, kind in classes.items()}


def _opened(
    kind: Callable[..., object],
    file: Path,
    inputs: Mapping[str, F32],
    parameters: Mapping[str, Any],
) -> PeerRun:
    known = {**parameters, **inputs}
    wanted = inspect.signature(kind).parameters.values()
    needed = [p.name for p in wanted if p.default is p.empty and p.name not in known]
    if needed:
        name = getattr(kind, "__name__", "the peer")
        raise InputError(f"{file}: {name} asks for {needed[0]}; the plan has {', '.join(known)}")
    with running(file):
        peer = kind(**{p.name: known[p.name] for p in wanted if p.name in known})
    # What its methods raise becomes one line with the place in the file.
    run: PeerRun = SimpleNamespace(**{name: guarded(getattr(peer, name), file) for name in METHODS})
    return run
