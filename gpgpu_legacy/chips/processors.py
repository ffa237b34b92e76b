"""Processors that papers compare graphics chips with: the records of processors.toml."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.chips.profile import Amount, Fact, Named, NamedFile, Rate, find_named, read_named
from gpgpu_legacy.serial import Line, Several


class Processor(Named):
    """A processor. flops_per_clock_*: at most, in vector instructions. cache_kib: the largest."""

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
