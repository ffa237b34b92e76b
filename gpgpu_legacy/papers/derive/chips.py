"""Chips and processors: facts of their profiles, the blocks that fit, least and predicted times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.chips.native import count_native, instruction_set
from gpgpu_legacy.chips.processors import Capability, Processor
from gpgpu_legacy.chips.profile import UNLIMITED, Profile
from gpgpu_legacy.count.coalescing import CC1_1
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.papers.derive.times import transfer_time
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Prediction
from gpgpu_legacy.predict.rates import Rates
from gpgpu_legacy.published.tables import MeasuredCell
from gpgpu_legacy.studies.largest_block import fit

# Facts --------------------------------------------------------------------------------------------


def chip_fact(inputs: Inputs, chip: str, fact: str) -> Value:
    """A number in a chip's profile, such as `hardware.memory_mib`."""
    return inputs.fact(chip, fact).value


def fastest_readback(inputs: Inputs, chip: str) -> Value:
    """The most MB/s that a chip's profile has for read-back."""
    return 1e3 * inputs.fact(chip, "hardware.readback_gb_per_s").most


def is_unlimited(inputs: Inputs, chip: str, fact: str) -> Value:
    """Whether a limit in a chip's or an API's profile is unlimited."""
    return inputs.fact(chip, fact).value == UNLIMITED


def clock_ghz(profile: Profile) -> float:
    """The clock of a chip's shader cores in GHz; of the whole chip if they have no other."""
    clock = profile.hardware.shader_clock_mhz or profile.hardware.core_clock_mhz
    assert clock is not None
    return 1e-3 * clock.value


def clock_against(profile: Profile, processor: Processor) -> Value:
    """A chip's clock over a processor's."""
    return clock_ghz(profile) / processor.clock_ghz.value


def has_memory_of_its_own(inputs: Inputs, chip: str) -> Value:
    """Whether a chip has memory of its own, and does not use the host's."""
    return not inputs.fact(chip, "hardware.shared_memory").value


def upload_over_readback(inputs: Inputs, chip: str) -> Value:
    """A chip's rate of uploads, over its bus, over that of read-back."""
    back = inputs.fact(chip, "hardware.readback_gb_per_s")
    return inputs.fact(chip, "hardware.bus_gb_per_s").value / back.value


def lookups_over_memory(inputs: Inputs, chip: str, bits: int, texels: int) -> Value:
    """The most bytes that texture units look up in a second, over those that memory gives.

    bits: of a texel. texels: that each lookup reads.
    """
    names = "texture_units", "core_clock_mhz", f"lookup_clocks_{bits}_bits", "memory_gb_per_s"
    units, clock, clocks, memory = (inputs.fact(chip, f"hardware.{n}").value for n in names)
    return texels * bits / 8 * units * clock * 1e-3 / clocks / memory


def shared_against_memory(profile: Profile) -> Value:
    """The rate of a chip's shared memory over that of its memory, each at its highest."""
    rates = Rates(profile.hardware)
    requests, memory = rates.shared_memory().per_second, rates.memory().per_second
    assert requests is not None and memory is not None
    request_bytes = 4 * CC1_1.banks  # a word from each bank
    return requests * request_bytes / memory


# Compute capabilities -----------------------------------------------------------------------------


def capability_fact(capability: Capability, fact: str) -> Value:
    """A number of one of NVIDIA's compute capabilities, such as `block_threads`."""
    value: int = getattr(capability, fact).value
    return value


def cores_of_capabilities(inputs: Inputs, capabilities: Sequence[str]) -> Value:
    """Cores of a multiprocessor, by compute capability."""
    return tuple(float(inputs.capability(name).cores.value) for name in capabilities)


def clocks_of_a_warp(capability: Capability) -> Value:
    """Clocks in which the cores of a multiprocessor execute an instruction of a warp."""
    return math.ceil(capability.warp_threads.value / capability.cores.value)


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


def keeps_the_limits(product: Product, profile: Profile) -> Value:
    """Whether a plan's programs exceed no limit that is known of a chip or an API."""
    return not exceeds_a_limit(product, profile)


def exceeds_a_limit(product: Product, profile: Profile) -> bool:
    """Whether a plan's programs exceed a limit of a chip or an API."""
    return any(check_program(program, profile).exceeded for program in product.plan.programs())


def native_arithmetic(product: Product, profile: Profile) -> Value:
    """Arithmetic instructions of a method's program, as a chip executes them, at the fewest."""
    known = profile.programs.instruction_set
    assert known is not None
    chosen = instruction_set(known.value)
    return sum(count_native(program, chosen).fewest for program in product.plan.programs())


def smallest_block_run(cells: Sequence[MeasuredCell]) -> Value:
    """The smallest b of a column of the paper's own measurements."""
    return min(cell.block or 0 for cell in cells)


# A host -------------------------------------------------------------------------------------------


def least_host_time(product: Product, host: Host) -> Value:
    """Milliseconds of a host's additions, each of which waits for the one before it.

    All additions of one element's sum follow one another; those of different elements do, too, but
    for the few that a processor begins early.
    """
    additions = product.counts.arithmetic / 2
    return additions * host.double_add_clocks.value / host.clock_ghz.value * 1e-6


# Predictions --------------------------------------------------------------------------------------


def _prediction(product: Product, chip: Profile, *, cached: bool) -> Prediction:
    moved = product.counts.bytes_requested + product.counts.copy_bytes
    return predict(product.plan, chip, memory_bytes=None if cached else moved)


def _compute_s(product: Product, chip: Profile) -> float:
    seconds = _prediction(product, chip, cached=True).compute_seconds
    assert seconds is not None
    return seconds


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
    binds = _prediction(product, inputs.profile(chip), cached=cached).binds
    assert binds is not None
    return binds.removesuffix(" behind the cache")


def predicted_gflops(product: Product, profile: Profile) -> Value:
    """The most GFLOPS that a product reaches on a chip by `predict`."""
    return 2e-9 * product.size**3 / _compute_s(product, profile)


def transfer_share_predicted(
    inputs: Inputs, product: Product, profile: Profile, rate: str
) -> Value:
    """The share of transfers in the total, in percent, with the least time of a chip.

    The time is that of `predict`, so the share is the largest possible. rate: of transfers, as
    printed.
    """
    transfer_s = 1e-3 * transfer_time(inputs, product, rate)
    return 100.0 * transfer_s / (transfer_s + _compute_s(product, profile))


# Processors beside graphics chips -----------------------------------------------------------------

_FLOAT_BYTES = 4


def processor_peak(processor: Processor, precision: str = "single") -> float:
    """The peak GFLOPS of a processor in single or double precision."""
    per_clock: int = getattr(processor, f"flops_per_clock_{precision}").value
    return processor.clock_ghz.value * per_clock


def share_of_processor_peak(inputs: Inputs, claim: str, processor: Processor) -> Value:
    """A printed rate in percent of a processor's peak in single precision."""
    return 100.0 * inputs.number(claim) / processor_peak(processor)


def memory_over_arithmetic(processor: Processor, size: int, blocked: bool = True) -> Value:
    """The time of memory over that of arithmetic, in an n×n product of floats at both peaks.

    blocked: three square blocks, of A, B and C, share the cache; without blocks, each of the n³
    steps fetches an element of B.
    """
    side = math.isqrt(processor.cache_kib.value * 1024 // (3 * _FLOAT_BYTES)) if blocked else 1
    fetched = 2 * size**3 / side if blocked else size**3
    memory_s = _FLOAT_BYTES * fetched / (processor.memory_gb_per_s.value * 1e9)
    return memory_s / (2 * size**3 / (processor_peak(processor) * 1e9))
