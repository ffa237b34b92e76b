"""Processors that papers compare graphics chips with: the records of processors.toml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gpgpu_legacy.bounded import Line, OneLine, Several
from gpgpu_legacy.chips.profile import Amount, Fact, Named, Rate, check_named, find_named
from gpgpu_legacy.serial import Record, from_toml


class Processor(Named, frozen=True, kw_only=True):
    """A processor. flops_per_clock_*: at most, in vector instructions. cache_kib: the largest."""

    title: Line
    clock_ghz: Fact[Rate]
    flops_per_clock_single: Fact[Amount]
    flops_per_clock_double: Fact[Amount]
    cache_kib: Fact[Amount]
    memory_gb_per_s: Fact[Rate]


class _ProcessorsFile(Record, frozen=True, kw_only=True):
    """processors.toml. sources: by the tags that its facts have."""

    sources: dict[OneLine, OneLine]
    processor: Several[Processor]


@cache
def processors() -> tuple[Processor, ...]:
    """All processors, in the file's order."""
    text = files("gpgpu_legacy.chips").joinpath("processors.toml").read_text("utf-8")
    return read_processors(text)


def find_processor(name: str) -> Processor:
    """The processor of that name; InputError, with the known names, if there is none."""
    return find_named(name, processors(), "processor")


def read_processors(text: str) -> tuple[Processor, ...]:
    """The processors of a file's text; InputError if the text does not have that form."""
    file = from_toml(text, _ProcessorsFile, "processors.toml")
    check_named(file.processor, file.sources, "processors.toml")
    return file.processor
