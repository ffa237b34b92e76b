"""Lists of chips: one row each, or everything known about one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpgpu_legacy.chips.profile import (
    UNLIMITED,
    Fact,
    Number,
    Profile,
    ProfileKind,
    all_sources,
    sources,
)
from gpgpu_legacy.present.grid import Entry, Grid, Result
from gpgpu_legacy.serial import as_record, with_fields

Value = bool | Number | str | tuple[str, ...]
Facts = dict[str, Fact[Value]]

SECTIONS = "hardware", "formats", "programs", "fixed_function", "advertised", "native"


class Chip(Result, omit_defaults=True):
    """Everything known about a chip or an API."""

    name: str
    title: str
    kind: ProfileKind
    aliases: tuple[str, ...]
    notes: tuple[str, ...]
    released: Fact[str] | None = None
    hardware: Facts | None = None
    formats: Facts | None = None
    programs: Facts | None = None
    fixed_function: Facts | None = None
    advertised: Facts | None = None
    native: Facts | None = None

    @property
    def facts(self) -> Iterator[tuple[str, Fact[Value]]]:
        """Every fact, with its name: "hardware: core clock, MHz"."""
        if self.released is not None:
            yield "released", self.released
        for section in SECTIONS:
            for field, fact in (getattr(self, section) or {}).items():
                name, unit = name_and_unit(field)
                yield f"{section.replace('_', ' ')}: {name}{', ' if unit else ''}{unit}", fact

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """One fact per row, and the sources."""
        heads = ("fact", "value", "source", "confidence", "note")
        rows = tuple(
            (name, fact_text(fact), fact.source, fact.confidence.value, fact.note)
            for name, fact in self.facts
        )
        also = (f"Also called {', '.join(self.aliases)}.",) if self.aliases else ()
        notes = (
            "Facts that are not listed are not known.",
            *also,
            *self.notes,
            *source_notes(fact.source for _, fact in self.facts),
        )
        return [Grid(self.name, f"{self.title}.", heads, rows, notes)]

    def limit(self, name: str) -> str:
        """A limit of programs, for a table: the native one if known, else the advertised one."""
        known = {**(self.advertised or {}), **(self.native or {})}
        return fact_text(known[name]) if name in known else "?"


class Chips(Result):
    """Chips and APIs. sources: by the tags of the facts."""

    chips: tuple[Chip, ...]
    sources: dict[str, str]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The chips and APIs, one per row."""
        heads = ("name", "title", "released", "ALU / TEX / all", "indirections", "temporaries")
        counts = "alu_instructions", "texture_instructions", "instructions"
        rows: tuple[tuple[Entry, ...], ...] = tuple(
            (
                chip.name,
                chip.title,
                chip.released.value if chip.released else None,
                " / ".join(map(chip.limit, counts)),
                chip.limit("indirections"),
                chip.limit("temporaries"),
            )
            for chip in self.chips
        )
        notes = (
            "Limits are native ones if known, else advertised ones. "
            "`gpgpu-legacy chips NAME` shows everything, with sources.",
        )
        return [Grid("chips", "Chips and API profiles.", heads, rows, notes)]


def chip(profile: Profile) -> Chip:
    """Everything that a profile says, as a record with tables."""
    tables: dict[str, Facts | None] = {
        section: {name: _finite(fact) for name, fact in getattr(profile, section).facts()} or None
        for section in SECTIONS
    }
    return as_record(Chip, profile, **tables)


def chips(profiles: Iterable[Profile]) -> Chips:
    """These chips, with the sources that the tags name."""
    return Chips(chips=tuple(map(chip, profiles)), sources=sources())


def _finite(fact: Fact[Value]) -> Fact[Value]:
    """JSON has no infinity: a limit that does not exist is "unlimited"."""
    return with_fields(fact, value="unlimited") if fact.value == UNLIMITED else fact


# Words for them ---------------------------------------------------------------------------------


def fact_text(fact: Fact[Value]) -> str:
    """A fact's value, or its range."""
    upper = "" if fact.up_to is None else f"–{value_text(fact.up_to)}"
    return value_text(fact.value) + upper


def value_text(value: object) -> str:
    """A fact's value, for tables."""
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def name_and_unit(field: str) -> tuple[str, str]:
    """A field of a profile in words, and its unit: core_clock_mhz is ("core clock", "MHz")."""
    for suffix, unit in _UNITS.items():
        if field.endswith(suffix):
            return _in_words(field.removesuffix(suffix)), unit
    return _in_words(field), ""


_UNITS = {
    "_mhz": "MHz",
    "_mib": "MiB",
    "_gb_per_s": "GB/s",
    "_g_per_s": "10⁹/s",
    "_gflops": "GFLOPS",
    "_us": "µs",
    "_texels": "texels",
}


def _in_words(field: str) -> str:
    return field.replace("_", " ").replace("alu ", "ALU ").replace("arb ", "ARB ")


def source_notes(tags: Iterable[str]) -> list[str]:
    """The sources behind these tags, each once."""
    return [f"{tag}: {all_sources()[tag]}." for tag in sorted(set(tags))]
