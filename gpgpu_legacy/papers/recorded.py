"""Times recorded with this package, for claims that only a measurement decides: recorded.toml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gpgpu_legacy.serial import Line, Positive, Record, Several, Size, from_toml


class RecordedMove(Record):
    """The transfers of a product by a path: an executor, or another library."""

    device: Line
    path: Line
    method: Line
    size: Size
    upload_s: Positive
    readback_s: Positive
    where: Line


class RecordedTimes(Record):
    """recorded.toml."""

    move: Several[RecordedMove]


@cache
def recorded_times() -> RecordedTimes:
    """All of them."""
    return read_times(files("gpgpu_legacy.papers").joinpath("recorded.toml").read_text("utf-8"))


def read_times(text: str) -> RecordedTimes:
    """The times of a file's text; InputError if the text does not have that form."""
    return from_toml(text, RecordedTimes, "recorded.toml")
