"""Chips: facts of their profiles, and the blocks that fit."""

from __future__ import annotations

import math

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import UNLIMITED
from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.studies.largest_block.model import AS_WRITTEN, fit


@derivation
def chip_fact(inputs: Inputs, *, chip: str, fact: str) -> Value:
    """A number in a chip's profile, such as `hardware.memory_mib`."""
    section, _, name = fact.partition(".")
    value: float = getattr(getattr(inputs.profile(chip), section), name).value
    return value


@derivation
def is_unlimited(inputs: Inputs, *, chip: str, fact: str) -> Value:
    """Whether a limit in a chip's or an API's profile is unlimited."""
    return chip_fact(inputs, chip=chip, fact=fact) == UNLIMITED


@derivation
def clock_ghz(inputs: Inputs, *, chip: str) -> Value:
    """The clock of a chip's shader cores in GHz; of the whole chip where they have no other."""
    return _clock_ghz(inputs, chip)


def _clock_ghz(inputs: Inputs, chip: str) -> float:
    hardware = inputs.profile(chip).hardware
    clock = hardware.shader_clock_mhz or hardware.core_clock_mhz
    assert clock is not None
    return 1e-3 * clock.value


@derivation
def clock_against(inputs: Inputs, *, chip: str, processor: str) -> Value:
    """A chip's clock over a processor's."""
    return _clock_ghz(inputs, chip) / inputs.processor(processor).clock_ghz.value


@derivation
def largest_block(inputs: Inputs, *, method: str, chip: str, size: int) -> Value:
    """The largest b whose program, as it is written, loads by a chip's or an API's limits."""
    by, options = find_method(method), Options(accumulate=Accumulate.COPY)
    fits = fit(by, inputs.profile(chip), Shape(size, size, size), options).largest
    return min(largest.value or 0 for largest in fits if largest.program == AS_WRITTEN)


@derivation
def keeps_the_limits(inputs: Inputs, *, method: str, chip: str, size: int, block: int) -> Value:
    """Whether a plan's programs exceed no limit that is known of a chip or an API."""
    programs = inputs.product(method, size, block).plan.programs()
    return not any(check_program(p, inputs.profile(chip)).exceeded for p in programs)


@derivation
def largest_square_block(inputs: Inputs, *, threads: int) -> Value:
    """The largest b whose b×b threads are no more than a limit."""
    return math.isqrt(threads)


@derivation
def smallest_block_run(inputs: Inputs, *, table: str, series: str) -> Value:
    """The smallest b of a column of the paper's own measurements."""
    return min(cell.block or 0 for cell in inputs.paper.measurements(table).find(series).cells)
