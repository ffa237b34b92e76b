"""Processors: those compared with graphics chips, compute capabilities, and simulated hosts."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.cache.caches import Cache, parse_cache
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.chips.profile import (
    Amount,
    Fact,
    Name,
    Named,
    NamedFile,
    Rate,
    find_named,
    hyphenated,
    read_named,
)
from gpgpu_legacy.serial import Line, Several

# Processors --------------------------------------------------------------------------------------
#
# Processors that graphics chips are compared with, and NVIDIA's compute capabilities.
#
# The records of processors.toml and capabilities.toml.


class Processor(Named):
    """A processor. flops_per_clock_*: with vector instructions. cache_kib: the largest cache."""

    title: Line
    clock_ghz: Fact[Rate]
    flops_per_clock_single: Fact[Amount]
    flops_per_clock_double: Fact[Amount]
    cache_kib: Fact[Amount]
    memory_gb_per_s: Fact[Rate]


class ProcessorsFile(NamedFile):
    """The content of processors.toml."""

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
    """The content of capabilities.toml."""

    capability: Several[Capability]


@cache
def capabilities() -> tuple[Capability, ...]:
    """All known compute capabilities, in the file's order."""
    return read_named(_CapabilitiesFile, "capabilities.toml").capability


def find_capability(name: str) -> Capability:
    """The compute capability of that name; InputError, with the known names, if there is none."""
    return find_named(name, capabilities(), "compute capability")


# Hosts -------------------------------------------------------------------------------------------


class Host(Named):
    """A processor whose memory hierarchy is simulated.

    about: the evidence for and against this processor. l1 (of data), l2: caches, in `parse_cache`'s
    notation. prefetch_stride_bytes: the longest stride that its prefetchers follow; they are not
    simulated. double_add_clocks: the latency of an addition of doubles.
    """

    title: Line
    aliases: Several[Name]
    about: Line
    clock_ghz: Fact[Rate]
    l1: Fact[Line]
    l2: Fact[Line]
    dtlb_entries: Fact[Amount]
    dtlb_ways: Fact[Amount]
    page_bytes: Fact[Amount]
    page_table_entry_bytes: Fact[Amount]
    prefetch_stride_bytes: Fact[Amount]
    memory_gib: Fact[Amount]
    double_add_clocks: Fact[Amount]

    @property
    def hierarchy(self) -> Hierarchy:
        """The simulated memory hierarchy."""
        page = self.page_bytes.value
        return Hierarchy(
            l1=parse_cache(self.l1.value),
            l2=parse_cache(self.l2.value),
            dtlb=Cache(self.dtlb_entries.value * page, self.dtlb_ways.value, page),
            entry_bytes=self.page_table_entry_bytes.value,
            memory_bytes=self.memory_gib.value << 30,
        )


class HostsFile(NamedFile):
    """The content of hosts.toml."""

    host: Several[Host]


@cache
def hosts() -> tuple[Host, ...]:
    """All hosts, in the file's order."""
    return read_named(HostsFile, "hosts.toml").host


def find_host(name: str) -> Host:
    """The host of that name or alias; InputError, with the known names, if there is none."""
    plain = hyphenated(name)
    named = (host.name for host in hosts() if plain in {host.name, *host.aliases})
    return find_named(next(named, name), hosts(), "host")
