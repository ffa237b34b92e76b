"""What NVIDIA's compute capabilities promise of a multiprocessor, from capabilities.toml."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.chips.profile import Amount, Fact, Named, NamedFile, find_named, read_named
from gpgpu_legacy.serial import Line, Several


class Capability(Named):
    """A compute capability. chips: whose multiprocessors have it.

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


class _File(NamedFile):
    """capabilities.toml."""

    capability: Several[Capability]


@cache
def capabilities() -> tuple[Capability, ...]:
    """All compute capabilities that are known here, in the file's order."""
    return read_named(_File, "capabilities.toml").capability


def find_capability(name: str) -> Capability:
    """The compute capability of that name; InputError, with the known names, if there is none."""
    return find_named(name, capabilities(), "compute capability")
