"""The decimal places in which the sums of the listings differ."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.runtime.registry import reference

_SAMPLE, _BLOCK, _SEED = 96, 8, 0
_GLOBAL, _SHARED = "dobravec-bulic-global", "dobravec-bulic-shared"


@derivation
def decimals_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The decimal places of the largest and of the median difference between host and device.

    Sums of n products of random numbers in [least, 1): on the host in double, on the device in
    float, in the order of its kernel; 9216 elements of the product.
    """
    host, device = _host(size, least), _device(inputs, _GLOBAL, size, least)
    apart = np.abs(host.astype(np.float64) - device)
    return tuple(float(math.ceil(-math.log10(d))) for d in (apart.max(), np.median(apart)))


@derivation
def share_that_differs(inputs: Inputs, size: int, least: float, decimals: int) -> Value:
    """The share of elements, in percent, in which host and device differ when they are printed.

    The same sums as for decimals_that_differ, rounded to that many decimals.
    """
    host, device = _host(size, least), _device(inputs, _GLOBAL, size, least)
    printed = (np.rint(sums.astype(np.float64) * 10**decimals) for sums in (host, device))
    return 100.0 * float(np.mean(np.not_equal(*printed)))


@derivation
def kernels_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The number of elements, of 9216, in which the two kernels differ."""
    ours, theirs = (_device(inputs, method, size, least) for method in (_GLOBAL, _SHARED))
    return int(np.sum(ours != theirs))


_Floats = NDArray[np.float32]


@cache
def _operands(size: int, least: float) -> tuple[_Floats, _Floats]:
    generator = np.random.default_rng(_SEED)
    a, b = (
        generator.uniform(least, 1.0, shape).astype(np.float32)
        for shape in ((_SAMPLE, size), (size, _SAMPLE))
    )
    return a, b


def _host(size: int, least: float) -> _Floats:
    """MulH's sums: in double, one product after another, rounded to float at the end."""
    a, b = _operands(size, least)
    sums = np.zeros((_SAMPLE, _SAMPLE))
    for k in range(size):
        sums += np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64))
    return sums.astype(np.float32)


def _device(inputs: Inputs, method: str, size: int, least: float) -> _Floats:
    """A kernel's sums, by running it."""
    return _run(replace(inputs.product(method, size, _BLOCK), sample=_SAMPLE), least)


@cache
def _run(product: Product, least: float) -> _Floats:
    a, b = _operands(product.size, least)
    with reference().prepare(product.plan) as prepared:
        return prepared.run({"A": a, "B": b}).outputs["C"]
