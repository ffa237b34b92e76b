"""The algorithms as they are listed: one after the other, or everything about one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record, as_record, from_attributes

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm
    from gpgpu_legacy.algorithms.installed import Unavailable


class ParameterRecord(Record, rename={"plain_default": "default"}):
    """A parameter. values: what may be given, in words. default: null where none is fixed."""

    name: str
    values: str
    plain_default: int | float | str | bool | None
    meaning: str


class AlgorithmRecord(Record):
    """An algorithm as it is listed."""

    name: str
    aliases: tuple[str, ...]
    year: int | None
    field: str
    source: str
    summary: str
    explanation: str
    lacked: str
    package: str
    parameters: tuple[ParameterRecord, ...]


class UnavailableRecord(Record):
    """What another package offers and cannot be used."""

    name: str
    package: str
    reason: str


class AlgorithmList(Record):
    """The algorithms, oldest first."""

    algorithms: tuple[AlgorithmRecord, ...]
    unavailable: tuple[UnavailableRecord, ...]


def algorithm_record(algorithm: Algorithm) -> AlgorithmRecord:
    """Everything about one."""
    parameters = from_attributes(tuple[ParameterRecord, ...], (*algorithm.parameters.values(),))
    return as_record(AlgorithmRecord, algorithm, parameters=parameters)


def algorithm_list(
    algorithms: Iterable[Algorithm], unavailable: Iterable[Unavailable]
) -> AlgorithmList:
    """All of them."""
    return AlgorithmList(
        algorithms=tuple(map(algorithm_record, algorithms)),
        unavailable=from_attributes(tuple[UnavailableRecord, ...], tuple(unavailable)),
    )


def algorithms_grids(
    algorithms: Iterable[Algorithm], unavailable: Iterable[Unavailable]
) -> list[Grid]:
    """All of them: a table for each field, the oldest first, in each of them the oldest first."""
    fields: dict[str, list[Algorithm]] = {}
    for one in algorithms:
        fields.setdefault(one.field, []).append(one)
    grids = [
        Grid(
            field.replace(" ", "-"),
            f"{field[:1].upper()}{field[1:]}.",
            ("year", "name", "what it does", "source"),
            tuple((_year(one), one.name, one.summary, one.source) for one in members),
        )
        for field, members in fields.items()
    ]
    notes = (
        *(f"{one.text[:1].upper()}{one.text[1:]}." for one in unavailable),
        "`gpgpu-legacy algorithms NAME` shows one, with its parameters; "
        "`gpgpu-legacy run NAME` runs it.",
    )
    return [*grids[:-1], replace(grids[-1], notes=notes)]


def algorithm_grids(algorithm: Algorithm) -> list[Grid]:
    """Everything about one: what it is, and its parameters."""
    facts = {
        "what it does": algorithm.summary,
        "field": algorithm.field,
        "year": _year(algorithm),
        "source": algorithm.source,
        "what was lacking": algorithm.lacked or None,
        "also called": ", ".join(algorithm.aliases) or None,
        "from the package": algorithm.package,
    }
    rows = tuple((name, fact) for name, fact in facts.items() if fact is not None)
    parameters = tuple(
        (one.name, one.values, Numeral(one.shown) if one.shown else None, one.meaning)
        for one in algorithm.parameters.values()
    )
    heads = ("parameter", "values", "default", "meaning")
    return [
        Grid("algorithm", f"{algorithm.name}.", ("fact", "value"), rows, _paragraphs(algorithm)),
        Grid("parameters", "Its parameters.", heads, parameters, (_how_to_run(algorithm),)),
    ]


def _paragraphs(algorithm: Algorithm) -> tuple[str, ...]:
    """The explanation with an empty line between paragraphs, each of them one line.

    What is indented, and the items of a list, keep their lines.
    """
    lines: list[str] = []
    for paragraph in algorithm.explanation.split("\n\n"):
        lines.append("")
        begins = True
        for line in paragraph.splitlines():
            if begins or line.startswith(("    ", "- ")):
                lines.append(line)
            else:
                lines[-1] += f" {line.strip()}"
            begins = False
    return (*lines, "") if algorithm.explanation else ()


def _year(algorithm: Algorithm) -> Numeral | None:
    return None if algorithm.year is None else Numeral(str(algorithm.year))


def _how_to_run(algorithm: Algorithm) -> str:
    first = next(iter(algorithm.parameters.values()), None)
    example = f" {first.name}={first.shown or '…'}" if first is not None else ""
    return (
        f"Run it with `gpgpu-legacy run {algorithm.name}{example}`; `gpgpu-legacy --help` lists "
        "what else can be done with it."
    )
