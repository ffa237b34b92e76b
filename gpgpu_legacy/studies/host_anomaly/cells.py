"""Cells that the study's tables share."""

from __future__ import annotations

from gpgpu_legacy.present.grid import Numeral


def digits(value: float | None, places: int) -> Numeral | None:
    """A number with so many decimals; nothing for None."""
    return None if value is None else Numeral(f"{value:.{places}f}")


def span(values: tuple[float, float] | None, places: int) -> Numeral | None:
    """The smallest and the largest of several numbers; nothing for None."""
    if values is None:
        return None
    low, high = (f"{value:.{places}f}" for value in values)
    return Numeral(low if low == high else f"{low} to {high}")


def listed(sizes: tuple[int, ...]) -> str:
    """Sizes in a sentence."""
    return ", ".join(map(str, sizes))
