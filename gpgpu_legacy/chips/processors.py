"""Processors that graphics chips are compared with, and NVIDIA's compute capabilities.

The records of processors.toml and capabilities.toml.
"""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.chips.profile import Amount, Fact, Named, NamedFile, Rate, find_named, read_named
from gpgpu_legacy.serial import Line, Several


class Processor(Named):
    """A processor. flops_per_clock_*: with vector instructions. cache_kib: the largest cache."""

    title: Line
    clock_ghz: Fact[Rate]
    flops_per_clock_single: Fact[Amount]
    flops_per_clock_double: Fact[Amount]
    cache_kib: Fact[Amount]
    memory_gb_per_s: Fact[Rate]


class ProcessorsFile(NamedFile):
    """processors.toml."""

    processor: Several[Processor]


@cache
def processors() -> tuple[Processor, ...]:
    """All processors, in the file's order."""
    return read_named(ProcessorsFile, "processors.toml").processor


def find_processor(name: str) -> Processor:
    """The processor of that name; InputError, with the known names, if there is none."""
    return find_named(name, processors(), "processor")


class Capability(Named):
    """A compute capability. chips: those whose multiprocessors have it.

    cores: of a multiprocessor, for operations on floats. block_threads: most threads of a block.
    resident_threads, resident_warps, resident_blocks: most of each that a multiprocessor has at a
    time.
    """

    chips: Line
    cores: Fact[Amount]
    warp_threads: Fact[Amount]
    block_threads: Fact[Amount]
    resident_threads: Fact[Amount]
    resident_warps: Fact[Amount]
    resident_blocks: Fact[Amount]


class _CapabilitiesFile(NamedFile):
    """capabilities.toml."""

    capability: Several[Capability]


@cache
def capabilities() -> tuple[Capability, ...]:
    """All known compute capabilities, in the file's order."""
    return read_named(_CapabilitiesFile, "capabilities.toml").capability


def find_capability(name: str) -> Capability:
    """The compute capability of that name; InputError, with the known names, if there is none."""
    return find_named(name, capabilities(), "compute capability")
