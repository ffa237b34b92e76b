"""What NVIDIA's compute capabilities promise of a multiprocessor, from capabilities.toml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gpgpu_legacy.bounded import Line, OneLine, Several
from gpgpu_legacy.chips.profile import Amount, Fact, Named, check_named, find_named
from gpgpu_legacy.serial import Record, from_toml


class Capability(Named, frozen=True, kw_only=True):
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


class _File(Record, frozen=True, kw_only=True):
    """capabilities.toml. sources: by the tags that its facts have."""

    sources: dict[OneLine, OneLine]
    capability: Several[Capability]


@cache
def capabilities() -> tuple[Capability, ...]:
    """All compute capabilities that are known here, in the file's order."""
    text = files("gpgpu_legacy.chips").joinpath("capabilities.toml").read_text("utf-8")
    file = from_toml(text, _File, "capabilities.toml")
    check_named(file.capability, file.sources, "capabilities.toml")
    return file.capability


def find_capability(name: str) -> Capability:
    """The compute capability of that name; InputError, with the known names, if there is none."""
    return find_named(name, capabilities(), "compute capability")
