"""What the hardware room says, as tables and as JSON: verdicts, fits, chips and their sources."""

from __future__ import annotations

from math import isinf
from typing import Any

from gpgpu_legacy.chips.check import Outcome, Row, Side, Verdict
from gpgpu_legacy.chips.profile import Fact, Profile, sources
from gpgpu_legacy.count.resources import Node
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, plain

_STANDS = {Outcome.WITHIN: "within", Outcome.EXCEEDED: "OVER", Outcome.UNKNOWN: "unknown"}


# Verdicts -----------------------------------------------------------------------------------


def verdict_grids(verdict: Verdict) -> list[Grid]:
    """The limits, one a row; and where there are too many indirections, the nodes, one a row."""
    several = len({row.program for row in verdict.rows if row.program}) > 1
    heads = ("limit", "found", "advertised", "native", "stands", "what goes over", "sources")
    rows = tuple(_verdict_row(row, several=several) for row in verdict.rows)
    notes = (*_advice(verdict), *verdict.chip.notes, *_source_notes(_tags(verdict)))
    made = [Grid("verdict", _verdict_caption(verdict), heads, rows, notes)]
    if any(row.limit == "texture indirections" for row in verdict.exceeded):
        made.append(_nodes(verdict))
    return made


def _verdict_caption(verdict: Verdict) -> str:
    text = f"{verdict.subject} on {verdict.chip.called}: {verdict.answer.value}."
    sides = [row for row in verdict.rows if row.advertised and row.native]
    if sides and verdict.advertised is not verdict.native:
        text += f" By what is advertised it {verdict.advertised.value}"
        text += f"; natively it {verdict.native.value}."
    return text


def _verdict_row(row: Row, *, several: bool) -> tuple[Entry, ...]:
    limit = f"{row.limit} ({row.program})" if several and row.program else row.limit
    return (
        limit,
        _number(row.found),
        allowed(row.advertised),
        allowed(row.native),
        _STANDS[row.outcome],
        row.where,
        ", ".join(dict.fromkeys(_row_tags(row))),
    )


def _number(found: int | str) -> Entry:
    return found if isinstance(found, str) else plain(found)


def allowed(side: Side | None) -> str:
    """What one side allows, as people read it; a dash where it has no such limit."""
    if side is None:
        return "–"
    if side.allowed is None:
        return "unknown"
    return ("≥ " if side.at_least else "") + value_text(side.allowed)


def value_text(value: object) -> str:
    """A fact's value as people read it."""
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and isinf(value):
        return "unlimited"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _advice(verdict: Verdict) -> list[str]:
    return [f"{row.limit}: {row.advice}." for row in verdict.rows if row.advice]


def _row_tags(row: Row) -> list[str]:
    sides = (row.advertised, row.native)
    return [
        f"{side.fact.source} ({side.fact.confidence.value})" for side in sides if side and side.fact
    ]


def _tags(verdict: Verdict) -> list[str]:
    sides = (side for row in verdict.rows for side in (row.advertised, row.native))
    return [side.fact.source for side in sides if side and side.fact]


def _source_notes(tags: list[str]) -> list[str]:
    return [f"{tag}: {sources()[tag]}." for tag in sorted(set(tags))]


def _nodes(verdict: Verdict) -> Grid:
    heads = ("node", "opened by", "to do without it")
    rows = tuple((Numeral(str(n.number)), n.why, n.advice) for n in verdict.nodes)
    caption = f"The {len(verdict.nodes)} nodes of the texture dependency chain (issue 24)."
    return Grid("nodes", caption, heads, rows)


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """The same for other programs. A limit that does not exist is "unlimited"."""
    return {
        "subject": verdict.subject,
        "chip": verdict.chip.name,
        "answer": verdict.answer.value,
        "advertised": verdict.advertised.value,
        "native": verdict.native.value,
        "limits": [limit_as_json(row) for row in verdict.rows],
        "nodes": [_node_as_json(node) for node in verdict.nodes],
    }


def limit_as_json(row: Row) -> dict[str, Any]:
    return {
        "limit": row.limit,
        "program": row.program,
        "found": row.found,
        "outcome": row.outcome.value,
        "advertised": _side_as_json(row.advertised),
        "native": _side_as_json(row.native),
        "where": row.where,
        "advice": row.advice,
    }


def _side_as_json(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "allowed": _plain_value(side.allowed),
        "at_least": side.at_least,
        "outcome": side.outcome.value,
        "source": side.fact.source if side.fact else None,
        "confidence": side.fact.confidence.value if side.fact else None,
    }


def _plain_value(value: object) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return "unlimited" if isinstance(value, float) and isinf(value) else value


def _node_as_json(node: Node) -> dict[str, Any]:
    return {
        "number": node.number,
        "line": node.opener.span.line if node.opener else None,
        "why": node.why,
        "avoidable": node.avoidable,
        "advice": node.advice,
    }


# Chips --------------------------------------------------------------------------------------


def chips_grid(chips: tuple[Profile, ...]) -> Grid:
    """All chips and APIs, one a row."""
    heads = ("name", "what it is", "released", "ALU / TEX / all", "indirections", "temporaries")
    rows = tuple(
        (chip.name, chip.title, chip.released.value if chip.released else None, *_limits(chip))
        for chip in chips
    )
    notes = (
        "Limits are native ones where they are known, else as advertised or promised. "
        "`gpgpu-legacy chips NAME` gives everything, with sources.",
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
    """Everything known of one chip: a fact a row, and what the sources are."""
    heads = ("what", "value", "source", "confidence", "note")
    facts = list(chip.facts())
    rows = tuple(
        (
            place.replace("_", " ").replace(".", ": ", 1),
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


def chip_as_json(chip: Profile) -> dict[str, Any]:
    """Everything known of one chip, for other programs; what is unknown is absent."""
    data: dict[str, Any] = {
        "name": chip.name,
        "title": chip.title,
        "kind": chip.kind.value,
        "aliases": list(chip.aliases),
        "notes": list(chip.notes),
    }
    for place, fact in chip.facts():
        section, _, name = place.rpartition(".")
        (data.setdefault(section, {}) if section else data)[name] = _fact_as_json(fact)
    return data


def chips_as_json(chips: tuple[Profile, ...]) -> dict[str, Any]:
    """All chips, with what the sources' tags stand for."""
    return {"chips": [chip_as_json(chip) for chip in chips], "sources": sources()}


def _fact_as_json(fact: Fact[Any]) -> dict[str, Any]:
    data = {
        "value": _plain_value(fact.value),
        "source": fact.source,
        "confidence": fact.confidence.value,
    }
    if fact.up_to is not None:
        data["up_to"] = fact.up_to
    return data | ({"note": fact.note} if fact.note else {})


# Fits ---------------------------------------------------------------------------------------
