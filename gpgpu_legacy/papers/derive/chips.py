"""Chips and processors: facts of their profiles, the blocks that fit, least and predicted times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.hosts import Capability, Host, Processor
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.rates import Rates
from gpgpu_legacy.studies.largest_block import fit

# Facts --------------------------------------------------------------------------------------------


def fact(inputs: Inputs, chip: str, fact: str, most: bool = False) -> Value:
    """A number in a profile, such as `hardware.memory_mib`, or of a processor or a capability.

    most: the largest, where boards or drivers differ.
    """
    known = inputs.fact(chip, fact)
    return known.most if most else known.value


def rate_over_memory(profile: Profile, request_bytes: int, bits: int = 0) -> Value:
    """The most bytes that texture units look up in a second, over those that memory gives.

    bits: of a texel; without, it is shared memory that serves requests.
    """
    rates = Rates(profile.hardware)
    requests = (rates.lookups(bits) if bits else rates.shared_memory()).per_second
    memory = rates.memory().per_second
    assert requests is not None and memory is not None
    return requests * request_bytes / memory


# Compute capabilities -----------------------------------------------------------------------------


def largest_square_block(capability: Capability, powers_of_two: bool = False) -> Value:
    """The largest b whose b×b threads are no more than a compute capability allows in a block."""
    b = math.isqrt(capability.block_threads.value)
    return 1 << (b.bit_length() - 1) if powers_of_two else b


def threads_at_a_time(
    inputs: Inputs, chip: str, capability: Capability, blocks: Sequence[int]
) -> Value:
    """Threads that a chip has at a time, at most, with blocks of b×b threads, for each b.

    By the limits on threads, warps and blocks of a multiprocessor; registers may leave fewer.
    """
    multiprocessors = inputs.fact(chip, "hardware.multiprocessors").value

    def at_a_time(threads: int) -> float:
        resident = min(
            capability.resident_blocks.value,
            capability.resident_warps.value // math.ceil(threads / capability.warp_threads.value),
            capability.resident_threads.value // threads,
        )
        return float(multiprocessors * resident * threads)

    return tuple(at_a_time(b * b) for b in blocks)


# Programs -----------------------------------------------------------------------------------------


def largest_block(profile: Profile, method: str, size: int) -> Value:
    """The largest b whose program, as it is written, loads by a chip's or an API's limits."""
    fits = fit(find_product(method), profile, {"n": size, "accumulate": Accumulate.COPY}).largest
    return min(largest.value or 0 for largest in fits if largest.coordinates_first is None)


def exceeds_a_limit(product: Product, profile: Profile) -> bool:
    """Whether a plan's programs exceed a limit of a chip or an API."""
    return any(check_program(program, profile).exceeded for program in product.plan.programs())


# A host -------------------------------------------------------------------------------------------


def least_host_time(product: Product, host: Host) -> Value:
    """Milliseconds of a host's additions, each of which waits for the one before it.

    All additions of one element's sum follow one another; those of different elements do, too, but
    for the few that a processor begins early.
    """
    additions = product.counts.arithmetic / 2
    return additions * host.double_add_clocks.value / host.clock_ghz.value * 1e-6


# Predictions --------------------------------------------------------------------------------------


def predicted_bottleneck(
    inputs: Inputs, product: Product, chip: str, cached: bool = True, lookup_clocks: int = 0
) -> Value:
    """The bottleneck of a product on a chip by `predict`: memory, lookups, arithmetic, …

    cached: False for a chip without a texture cache, where every lookup goes to memory.
    lookup_clocks: of four floats, if not those of the chip's profile.
    """
    if lookup_clocks:
        facts = {(chip, "hardware.lookup_clocks_128_bits"): lookup_clocks}
        inputs = replace(inputs, facts={**inputs.facts, **facts})
    moved = product.counts.bytes_requested + product.counts.copy_bytes
    profile = inputs.profile(chip)
    binds = predict(product.plan, profile, memory_bytes=None if cached else moved).binds
    assert binds is not None
    return binds.removesuffix(" behind the cache")


# Processors beside graphics chips -----------------------------------------------------------------

_FLOAT_BYTES = 4


def processor_peak(processor: Processor, precision: str = "single") -> float:
    """The peak GFLOPS of a processor in single or double precision."""
    per_clock: int = getattr(processor, f"flops_per_clock_{precision}").value
    return processor.clock_ghz.value * per_clock


def memory_over_arithmetic(processor: Processor, size: int, blocked: bool = True) -> Value:
    """The time of memory over that of arithmetic, in an n×n product of floats at both peaks.

    blocked: three square blocks, of A, B and C, share the cache; without blocks, each of the n³
    steps fetches an element of B.
    """
    side = math.isqrt(processor.cache_kib.value * 1024 // (3 * _FLOAT_BYTES)) if blocked else 1
    fetched = 2 * size**3 / side if blocked else size**3
    memory_s = _FLOAT_BYTES * fetched / (processor.memory_gb_per_s.value * 1e9)
    return memory_s / (2 * size**3 / (processor_peak(processor) * 1e9))
