"""The list of the methods, as a record and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record, from_attributes

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method


class MethodRecord(Record):
    """A method as it is listed. year: of the paper, or of the API that it is about."""

    name: str
    aliases: tuple[str, ...]
    year: int
    paper: str
    summary: str


class MethodList(Record):
    """The methods, in the order of history."""

    methods: tuple[MethodRecord, ...]


def method_list(methods: Iterable[Method]) -> MethodList:
    """The methods as they are listed."""
    return MethodList(methods=from_attributes(tuple[MethodRecord, ...], tuple(methods)))


def methods_grid(methods: Iterable[Method]) -> Grid:
    """The methods as a table."""
    rows = tuple(
        (
            method.name,
            ", ".join(method.aliases),
            Numeral(str(method.year)),
            method.paper,
            method.summary,
        )
        for method in methods
    )
    heads = ("method", "alias", "year", "paper", "what it does")
    return Grid("methods", "The methods, in the order of history.", heads, rows)
