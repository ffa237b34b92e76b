"""The errors of the methods' products with their bounds, as tables and as a record."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.precision.model import Accuracy

_HEADS = (
    "arithmetic",
    "data",
    "n",
    "largest error",
    "rms error",
    "bound",
    "error / bound",
    "saturated",
    "remark",
)
_NOTES = (
    "Errors and bounds are relative to the product's largest element; error / bound is the largest "
    "ratio of an element's error to its own bound.",
    "As it comes: A and B uniform in [0, 1). Scaled to fit: in [0, 1/√n).",
)
_WRONG_TEXELS = (
    "Wrong texels: the coordinates that the program computes are not numbers of the arithmetic, so "
    "it multiplies other elements."
)


def precision_grids(measured: Iterable[Accuracy]) -> list[Grid]:
    """A table for each method and texture format, in the order of measurement."""
    grids: list[Grid] = []
    for (method, texture_format), group in groupby(measured, panel_of):
        rows = list(group)
        notes = _NOTES if all(row.addresses for row in rows) else (*_NOTES, _WRONG_TEXELS)
        caption = (
            f"{method}, textures and framebuffer {texture_format}: the error against float64, and "
            "its bound."
        )
        entries = tuple(
            (
                row.arithmetic,
                row.data.value,
                row.size,
                _digits(row.max_error),
                _digits(row.rms_error),
                _digits(row.bound),
                _digits(row.of_bound),
                row.saturated,
                _remark(row),
            )
            for row in rows
        )
        grids.append(Grid(f"precision-{method}-{texture_format}", caption, _HEADS, entries, notes))
    return grids


class PrecisionRecord(Record):
    """The errors as they are written. seed: of the random matrices."""

    seed: int
    measurements: tuple[Accuracy, ...]


def precision_record(measured: Iterable[Accuracy], seed: int) -> PrecisionRecord:
    """The errors as they are written."""
    return PrecisionRecord(seed=seed, measurements=tuple(measured))


def panel_of(row: Accuracy) -> tuple[str, str]:
    """What rows of one table, or of one panel of the plot, share: method and texture format."""
    return row.method, row.texture_format


def _digits(value: float | None) -> Numeral | None:
    return None if value is None else Numeral(f"{value:.3g}")


def _remark(row: Accuracy) -> str:
    if not row.addresses:
        return "wrong texels"
    if row.saturated:
        return "all saturate" if row.saturated == row.size**2 else "some saturate"
    return ""
