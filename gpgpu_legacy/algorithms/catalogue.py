"""Lists of algorithms: one row each, or everything about one."""

from __future__ import annotations

import re
from contextlib import suppress

from gpgpu_legacy.algorithms.algorithm import Algorithm, Unavailable
from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.present.grid import Grid, Numeral, Result
from gpgpu_legacy.serial import Record, as_record


class ParameterFacts(Record, rename={"plain_default": "default"}):
    """A parameter. values: the allowed ones, in words. default: null if none is fixed."""

    name: str
    values: str
    plain_default: Plain
    meaning: str

    @property
    def shown(self) -> str:
        """The default as text; empty if there is none."""
        text = "" if self.plain_default is None else str(self.plain_default)
        return text.lower() if isinstance(self.plain_default, bool) else text


class AlgorithmFacts(Result):
    """Everything about an algorithm.

    inputs: the names of its arrays; None in a list of many, for which no plan is built, and if no
    plan can be built without parameters.
    """

    name: str
    aliases: tuple[str, ...]
    year: int | None
    field: str
    source: str
    summary: str
    explanation: str
    lacked: str
    package: str
    parameters: tuple[ParameterFacts, ...]
    inputs: tuple[str, ...] | None = None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Its description and its parameters."""
        facts = {
            "what it does": self.summary,
            "field": self.field,
            "year": _year(self.year),
            "source": self.source,
            "what was lacking": self.lacked or None,
            "also called": ", ".join(self.aliases) or None,
            "from the package": self.package,
            "inputs": ", ".join(self.inputs or ()) or None,
        }
        rows = tuple((name, fact) for name, fact in facts.items() if fact is not None)
        parameters = tuple(
            (one.name, one.values, Numeral(one.shown) if one.shown else None, one.meaning)
            for one in self.parameters
        )
        heads = ("parameter", "values", "default", "meaning")
        return [
            Grid("algorithm", f"{self.name}.", ("fact", "value"), rows, self._paragraphs()),
            Grid("parameters", "Its parameters.", heads, parameters, (self._how_to_run(),)),
        ]

    def _paragraphs(self) -> tuple[str, ...]:
        """The explanation with an empty line between paragraphs, each of them one line.

        Indented lines and items of a list keep their lines.
        """
        lines = re.sub(r"(?<!\n)\n(?!\n|    |- ) *", " ", self.explanation).split("\n")
        return ("", *lines, "") if self.explanation else ()

    def _how_to_run(self) -> str:
        first = next(iter(self.parameters), None)
        example = f" {first.name}={first.shown or '…'}" if first is not None else ""
        return (
            f"Run it with `gpgpu-legacy run {self.name}{example}`; `gpgpu-legacy --help` lists "
            "what else can be done with it."
        )


class Catalogue(Result):
    """The algorithms, oldest first."""

    algorithms: tuple[AlgorithmFacts, ...]
    unavailable: tuple[Unavailable, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A table for each field; fields, and the algorithms in each, come oldest first."""
        fields: dict[str, list[AlgorithmFacts]] = {}
        for one in self.algorithms:
            fields.setdefault(one.field, []).append(one)
        notes = (
            *(f"{one.text[:1].upper()}{one.text[1:]}." for one in self.unavailable),
            "`gpgpu-legacy algorithms NAME` shows one, with its parameters; "
            "`gpgpu-legacy run NAME` runs it.",
        )
        return [
            Grid(
                field.replace(" ", "-"),
                f"{field[:1].upper()}{field[1:]}.",
                ("year", "name", "what it does", "source"),
                tuple((_year(one.year), one.name, one.summary, one.source) for one in members),
                notes if field == [*fields][-1] else (),
            )
            for field, members in fields.items()
        ]


def facts_of(algorithm: Algorithm, *, builds: bool = True) -> AlgorithmFacts:
    """Everything about an algorithm.

    builds: whether to build it for its inputs, if it can be built without parameters.
    """
    inputs = None
    if builds:
        with suppress(GpgpuLegacyError):  # a parameter without a default; a user's function fails
            inputs = tuple(algorithm.builder().operands)
    parameters = tuple(as_record(ParameterFacts, one) for one in algorithm.parameters.values())
    return as_record(AlgorithmFacts, algorithm, parameters=parameters, inputs=inputs)


def _year(year: int | None) -> Numeral | None:
    return None if year is None else Numeral(str(year))
