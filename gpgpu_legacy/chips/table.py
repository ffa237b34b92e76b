"""Verdicts, chips and their sources, as tables; and the records of chips that become JSON."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.chips.profile import UNLIMITED, Fact, Kind, Number, Profile, all_sources, sources
from gpgpu_legacy.chips.verdict import ChainNode, Expanded, Outcome, Row, Side, Verdict, excess
from gpgpu_legacy.count.resources import Resource
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, plain
from gpgpu_legacy.serial import Record

_RESULTS = {Outcome.WITHIN: "within", Outcome.EXCEEDED: "OVER", Outcome.UNKNOWN: "unknown"}


Value = bool | Number | str | tuple[str, ...]


class ChipRecord(Record, omit_defaults=True):
    """Everything known about a chip or an API; what is unknown is absent."""

    name: str
    title: str
    kind: Kind
    aliases: tuple[str, ...]
    notes: tuple[str, ...]
    released: Fact[str] | None = None
    hardware: dict[str, Fact[Value]] | None = None
    formats: dict[str, Fact[Value]] | None = None
    programs: dict[str, Fact[Value]] | None = None
    advertised: dict[str, Fact[Value]] | None = None
    native: dict[str, Fact[Value]] | None = None


class ChipsRecord(Record):
    """Chips and APIs. sources: by the tags that the facts have."""

    chips: tuple[ChipRecord, ...]
    sources: dict[str, str]


# Verdicts -----------------------------------------------------------------------------------


def verdict_grids(verdict: Verdict, chip: Profile) -> list[Grid]:
    """One row per limit and, if it does not load, the passes of a plan that exceed a limit.

    If there are too many texture indirections, there is one row per node as well.
    """
    several = len({row.program for row in verdict.limits if row.program}) > 1
    heads = ("limit", "found", "native", "result", "first exceeded by", "advertised", "sources")
    rows = tuple(_verdict_row(row, several=several) for row in verdict.limits)
    advice = (f"{row.limit}: {row.advice}." for row in verdict.limits if row.advice)
    notes = (*advice, *chip.notes, *_source_notes(_tags(verdict)))
    grids = [Grid("verdict", _verdict_caption(verdict, chip), heads, rows, notes)]
    if any(row.pass_count for row in verdict.exceeded):
        grids.append(_passes_grid(verdict))
    if any(row.limit == Resource.INDIRECTIONS.value for row in verdict.exceeded):
        grids.append(_nodes_grid(verdict.nodes))
    if verdict.expanded:
        grids.append(_expanded_grid(verdict.expanded, several=several))
    return grids


def _passes_grid(verdict: Verdict) -> Grid:
    """The passes that would not have loaded: one row per limit that they exceed."""
    heads = ("passes", "number", "program or textures", "why")
    rows = tuple(
        (row.passes, row.pass_count, row.program or row.where, excess(row, *row.sides))
        for row in verdict.exceeded
        if row.pass_count
    )
    caption = f"The passes that exceed a limit, of {verdict.pass_count} passes."
    return Grid("passes", caption, heads, rows)


def _verdict_caption(verdict: Verdict, chip: Profile) -> str:
    text = f"{verdict.subject} on {chip.called}: {verdict.answer.value}."
    has_both = any(row.advertised and row.native for row in verdict.limits)
    if has_both and verdict.advertised is not verdict.native:
        text += f" By its advertised limits it {verdict.advertised.value}"
        text += f"; natively it {verdict.native.value}."
    return text


def _verdict_row(row: Row, *, several: bool) -> tuple[Entry, ...]:
    limit = f"{row.limit} ({row.program})" if several and row.program else row.limit
    return (
        limit,
        plain(row.found),
        allowed(row.native),
        _RESULTS[row.outcome],
        row.where,
        allowed(row.advertised),
        ", ".join(dict.fromkeys(_row_tags(row))),
    )


def allowed(side: Side | None) -> str:
    """What one side allows, for tables; a dash if it has no such limit."""
    if side is None:
        return "–"
    if side.allowed is None:
        return "unknown"
    return ("≥ " if side.at_least else "") + value_text(side.allowed)


def value_text(value: object) -> str:
    """A fact's value, for tables."""
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == UNLIMITED:
        return "unlimited"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _row_tags(row: Row) -> list[str]:
    return [f"{s.source} ({s.confidence.value})" for s in row.sides if s and s.confidence]


def _tags(verdict: Verdict) -> list[str]:
    sides = (side for row in verdict.limits for side in row.sides)
    return [side.source for side in sides if side and side.source]


def _source_notes(tags: list[str]) -> list[str]:
    return [f"{tag}: {all_sources()[tag]}." for tag in sorted(set(tags))]


def _nodes_grid(nodes: tuple[ChainNode, ...]) -> Grid:
    heads = ("node", "opened by", "how to avoid it")
    rows = tuple((Numeral(str(n.number)), n.why, n.advice) for n in nodes)
    caption = f"The {len(nodes)} nodes of the texture dependency chain (issue 24 of the spec)."
    return Grid("nodes", caption, heads, rows)


_SHOWN_LINES = 3


def _expanded_grid(expanded: tuple[Expanded, ...], *, several: bool) -> Grid:
    """The instructions that are more natively. several: of several programs."""
    heads = ("lines", "the first of them", "operands in pieces", "moves", "native ALU instructions")
    rows = tuple(
        (
            f"{_lines(each.lines)}{f' ({each.program})' if several else ''}",
            each.instruction,
            "; ".join(each.operands),
            each.moves,
            Numeral(f"{each.fewest}–{each.most}" if each.fewest < each.most else str(each.most)),
        )
        for each in expanded
    )
    notes = (
        "Each takes one more native instruction for every piece of an operand, or is split where "
        "that is fewer; a rectangle's coordinates are scaled by one more.",
    )
    caption = "Instructions that are more on the chip, by kind."
    return Grid("native", caption, heads, rows, notes)


def _lines(lines: tuple[int, ...]) -> str:
    """Line numbers in words: three at most, and how many more there are."""
    shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
    more = len(lines) - _SHOWN_LINES
    return shown + (f" and {more} more" if more > 0 else "")


# Chips --------------------------------------------------------------------------------------


def chips_grid(chips: tuple[Profile, ...]) -> Grid:
    """All chips and APIs, one per row."""
    heads = ("name", "title", "released", "ALU / TEX / all", "indirections", "temporaries")
    rows = tuple(
        (chip.name, chip.title, chip.released.value if chip.released else None, *_limits(chip))
        for chip in chips
    )
    notes = (
        "Limits are native ones where they are known, else those advertised. "
        "`gpgpu-legacy chips NAME` shows everything, with sources.",
    )
    return Grid("chips", "Chips and API profiles.", heads, rows, notes)


def _limits(chip: Profile) -> tuple[Entry, Entry, Entry]:
    def text(name: str) -> str:
        fact = getattr(chip.native, name) or getattr(chip.advertised, name)
        return fact_text(fact) if fact else "?"

    counts = [text(n) for n in ("alu_instructions", "texture_instructions", "instructions")]
    return " / ".join(counts), text("indirections"), text("temporaries")


def fact_text(fact: Fact[Any]) -> str:
    """A fact's value, or its range."""
    upper = "" if fact.up_to is None else f"–{value_text(fact.up_to)}"
    return value_text(fact.value) + upper


def chip_grids(chip: Profile) -> list[Grid]:
    """Everything known about one chip: one fact per row, and the sources."""
    heads = ("fact", "value", "source", "confidence", "note")
    facts = list(chip.facts())
    rows = tuple(
        (
            _fact_name(place),
            fact_text(fact),
            fact.source,
            fact.confidence.value,
            fact.note,
        )
        for place, fact in facts
    )
    also = (f"Also called {', '.join(chip.aliases)}.",) if chip.aliases else ()
    notes = (
        "What is not listed is not known.",
        *also,
        *chip.notes,
        *_source_notes([fact.source for _, fact in facts]),
    )
    return [Grid(chip.name, f"{chip.title}.", heads, rows, notes)]


def _fact_name(place: str) -> str:
    """`hardware.core_clock_mhz` as "hardware: core clock, MHz"."""
    section, dot, field = place.rpartition(".")
    name, unit = name_and_unit(field)
    return f"{section}{': ' if dot else ''}{name}{', ' if unit else ''}{unit}"


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


def chip_record(chip: Profile) -> ChipRecord:
    """Everything known about one chip, for JSON."""
    sections: dict[str, dict[str, Fact[Value]]] = {}
    for place, fact in chip.facts():
        section, _, name = place.rpartition(".")
        if section:
            sections.setdefault(section, {})[name] = _finite(fact)
    return ChipRecord(
        name=chip.name,
        title=chip.title,
        kind=chip.kind,
        aliases=chip.aliases,
        notes=chip.notes,
        released=chip.released,
        **sections,
    )


def chips_record(chips: tuple[Profile, ...]) -> ChipsRecord:
    """All chips, with the sources that the tags name."""
    return ChipsRecord(chips=tuple(map(chip_record, chips)), sources=sources())


def _finite(fact: Fact[Value]) -> Fact[Value]:
    """JSON has no infinity: a limit that does not exist is "unlimited"."""
    if fact.value != UNLIMITED:
        return fact
    return Fact("unlimited", fact.source, fact.confidence, fact.note)
