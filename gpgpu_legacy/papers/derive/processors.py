"""Processors beside graphics chips: their peaks, and what a blocked product asks of memory."""

from __future__ import annotations

import math

from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import printed_number

_FLOAT_BYTES = 4


@derivation
def processor_peak(inputs: Inputs, processor: str, precision: str = "single") -> float:
    """The peak GFLOPS of a processor in single or double precision."""
    by = inputs.processor(processor)
    of = {"single": by.flops_per_clock_single, "double": by.flops_per_clock_double}
    return by.clock_ghz.value * of[precision].value


@derivation
def share_of_processor_peak(inputs: Inputs, claim: str, processor: str) -> Value:
    """A printed rate in percent of a processor's peak in single precision."""
    return 100.0 * printed_number(inputs, claim) / processor_peak(inputs, processor)


@derivation
def memory_over_arithmetic(
    inputs: Inputs, processor: str, size: int, blocked: bool = True
) -> Value:
    """The time of memory over that of arithmetic, in an n×n product of floats at both peaks.

    blocked: three square blocks, of A, B and C, share the cache; without blocks, each of the n³
    steps fetches an element of B.
    """
    by = inputs.processor(processor)
    side = math.isqrt(by.cache_kib.value * 1024 // (3 * _FLOAT_BYTES)) if blocked else 1
    fetched = 2 * size**3 / side if blocked else size**3
    memory_s = _FLOAT_BYTES * fetched / (by.memory_gb_per_s.value * 1e9)
    return memory_s / (2 * size**3 / (processor_peak(inputs, processor) * 1e9))
