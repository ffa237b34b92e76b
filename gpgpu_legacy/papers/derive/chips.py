"""Chips: facts of their profiles, and the blocks that fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.native import count_native, instruction_set
from gpgpu_legacy.chips.profile import UNLIMITED, Profile
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation, of_product
from gpgpu_legacy.studies.largest_block import AS_WRITTEN, fit


@derivation
def chip_fact(inputs: Inputs, chip: str, fact: str) -> Value:
    """A number in a chip's profile, such as `hardware.memory_mib`."""
    return inputs.fact(chip, fact).value


@derivation
def fastest_readback(inputs: Inputs, chip: str) -> Value:
    """The most MB/s that a chip's profile has for read-back."""
    return 1e3 * inputs.fact(chip, "hardware.readback_gb_per_s").most


@derivation
def is_unlimited(inputs: Inputs, chip: str, fact: str) -> Value:
    """Whether a limit in a chip's or an API's profile is unlimited."""
    return chip_fact(inputs, chip=chip, fact=fact) == UNLIMITED


@derivation
def clock_ghz(inputs: Inputs, chip: str) -> float:
    """The clock of a chip's shader cores in GHz; of the whole chip where they have no other."""
    hardware = inputs.profile(chip).hardware
    clock = hardware.shader_clock_mhz or hardware.core_clock_mhz
    assert clock is not None
    return 1e-3 * clock.value


@derivation
def clock_against(inputs: Inputs, chip: str, processor: str) -> Value:
    """A chip's clock over a processor's."""
    return clock_ghz(inputs, chip) / inputs.processor(processor).clock_ghz.value


@derivation
def largest_block(inputs: Inputs, method: str, chip: str, size: int) -> Value:
    """The largest b whose program, as it is written, loads by a chip's or an API's limits."""
    parameters = {"n": size, "accumulate": Accumulate.COPY}
    fits = fit(find_product(method), inputs.profile(chip), parameters).largest
    return min(largest.value or 0 for largest in fits if largest.program == AS_WRITTEN)


@derivation
def keeps_the_limits(inputs: Inputs, method: str, chip: str, size: int, block: int) -> Value:
    """Whether a plan's programs exceed no limit that is known of a chip or an API."""
    return not exceeds_a_limit(inputs, method, chip, size, block)


@derivation
def exceeds_a_limit(inputs: Inputs, method: str, chip: str, size: int, block: int) -> bool:
    """Whether a plan's programs exceed a limit of a chip or an API."""
    return _is_refused(inputs.product(method, size, block), inputs.profile(chip))


@cache
def _is_refused(product: Product, profile: Profile) -> bool:
    return any(check_program(program, profile).exceeded for program in product.plan.programs())


@derivation
def capability_fact(inputs: Inputs, capability: str, fact: str) -> Value:
    """A number of one of NVIDIA's compute capabilities, such as `block_threads`."""
    value: int = getattr(inputs.capability(capability), fact).value
    return value


@derivation
def cores_of_capabilities(inputs: Inputs, capabilities: Sequence[str]) -> Value:
    """Cores of a multiprocessor, by compute capability."""
    return tuple(float(inputs.capability(name).cores.value) for name in capabilities)


@derivation
def clocks_of_a_warp(inputs: Inputs, capability: str) -> Value:
    """Clocks in which the cores of a multiprocessor execute an instruction of a warp."""
    known = inputs.capability(capability)
    return math.ceil(known.warp_threads.value / known.cores.value)


@derivation
def threads_at_a_time(inputs: Inputs, chip: str, capability: str, blocks: Sequence[int]) -> Value:
    """Threads that a chip has at a time, at most, with blocks of b×b threads, for each b.

    By the limits on threads, warps and blocks of a multiprocessor; registers may leave fewer.
    """
    known = inputs.capability(capability)
    multiprocessors = inputs.fact(chip, "hardware.multiprocessors")
    numbers = []
    for threads in (b * b for b in blocks):
        resident = min(
            known.resident_blocks.value,
            known.resident_warps.value // math.ceil(threads / known.warp_threads.value),
            known.resident_threads.value // threads,
        )
        numbers.append(float(multiprocessors.value * resident * threads))
    return tuple(numbers)


@derivation
def has_memory_of_its_own(inputs: Inputs, chip: str) -> Value:
    """Whether a chip has memory of its own, and does not use the host's."""
    return not inputs.fact(chip, "hardware.shared_memory").value


@derivation
def largest_square_block(inputs: Inputs, capability: str, powers_of_two: bool = False) -> Value:
    """The largest b whose b×b threads are no more than a compute capability allows in a block."""
    b = math.isqrt(inputs.capability(capability).block_threads.value)
    return 1 << (b.bit_length() - 1) if powers_of_two else b


@derivation
def lookups_over_memory(inputs: Inputs, chip: str, bits: int, texels: int) -> Value:
    """The most bytes that texture units look up in a second, over those that memory gives.

    bits: of a texel. texels: that each lookup reads.
    """
    names = "texture_units", "core_clock_mhz", f"lookup_clocks_{bits}_bits", "memory_gb_per_s"
    units, clock, clocks, memory = (inputs.fact(chip, f"hardware.{n}").value for n in names)
    return texels * bits / 8 * units * clock * 1e-3 / clocks / memory


@of_product
def native_arithmetic(inputs: Inputs, product: Product, chip: str) -> Value:
    """Arithmetic instructions of a method's program, as a chip executes them, at the fewest."""
    known = inputs.profile(chip).programs.instruction_set
    assert known is not None
    chosen = instruction_set(known.value)
    return sum(count_native(program, chosen).fewest for program in product.plan.programs())


@derivation
def smallest_block_run(inputs: Inputs, table: str, series: str) -> Value:
    """The smallest b of a column of the paper's own measurements."""
    return min(cell.block or 0 for cell in inputs.paper.measurements(table).find(series).cells)
