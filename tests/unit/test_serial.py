"""Records: there and back, what is refused, and what is said of it."""

from __future__ import annotations

import subprocess
from decimal import Decimal
from enum import Enum
from math import inf, nan
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import commit
from gpgpu_legacy.serial import (
    Record,
    Recorded,
    from_json,
    from_toml,
    json_fitted_text,
    json_text,
    plain,
    provenance,
    read_recorded,
    read_toml,
    toml_text,
    write_json,
)


class Colour(Enum):
    RED = "red"


class Point(Record, frozen=True, kw_only=True):
    x: int
    y: float | None = None


class Picture(Recorded, frozen=True, kw_only=True):
    WHAT: ClassVar[str] = "a picture"

    points: list[Point]
    colour: Colour = Colour.RED


PICTURE = Picture(points=[Point(x=1, y=0.5), Point(x=-2)])


def refused(text: str, kind: type = Picture) -> str:
    with pytest.raises(InputError) as raised:
        from_json(text, kind, "a.json")
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_record_comes_back_as_it_went(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", PICTURE)
    assert read_recorded(tmp_path / "a.json", Picture) == PICTURE
    assert from_toml(toml_text(PICTURE), Picture, "a.toml") == PICTURE


def test_what_fits_into_the_width_has_one_line() -> None:
    rows = {"rows": [Point(x=1), Point(x=2, y=nan)], "none": [], "inner": {"name": "µ"}}
    text = json_fitted_text(rows, 27)
    assert text.splitlines() == [
        "{",
        '  "rows": [',
        '    {"x": 1, "y": null},',
        '    {"x": 2, "y": null}',
        "  ],",
        '  "none": [],',
        '  "inner": {"name": "µ"}',
        "}",
    ]
    assert from_json(text, dict, "text") == plain(rows)


def test_json_is_indented_utf_8_and_has_no_nan() -> None:
    assert json_text({"é": [1, nan, -inf]}) == '{\n  "é": [\n    1,\n    null,\n    null\n  ]\n}\n'
    assert plain(PICTURE)["colour"] == "red"
    assert plain({"n": np.float32(0.5), "p": Path("a"), "v": np.arange(2)}) == {
        "n": 0.5, "p": "a", "v": [0, 1],
    }  # fmt: skip


def test_what_is_too_much_to_read_is_said_so(tmp_path: Path) -> None:
    def told(text: bytes, name: str = "a.json") -> str:
        (tmp_path / name).write_bytes(text)
        with pytest.raises(InputError) as raised:
            if name.endswith("toml"):
                read_toml(tmp_path / name, Picture)
            else:
                read_recorded(tmp_path / name, Picture)
        return str(raised.value)

    assert "more than 4194304 bytes" in told(b" " * (2**22 + 1))
    assert "more than 1048576 bytes" in told(b"#" * (2**20 + 1), "a.toml")
    assert "nested too deeply" in told(b"a=" + b"[" * 10**5, "a.toml")
    assert "more than 16 parts" in told(b"a." * 16 + b"a=1", "a.toml")
    assert "unknown field `a`" in told(b"a." * 15 + b"a=1", "a.toml")
    assert "too many digits" in told(b"schema=" + b"9" * 5000, "a.toml")
    assert "more than 64 bits" in told(b"schema=0x" + b"f" * 17, "a.toml")
    assert "nan is not a number" in told(b"a=nan", "a.toml")
    assert "1e999 is not a number" in told(b"a=1e999", "a.toml")
    assert "not UTF-8" in told(b'{"driver":"\xff"}')
    assert "the field `schema` is given twice" in told(b'{"schema":1,"schema":1,"points":[]}')
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"points": []}')
    assert read_recorded(tmp_path / "a.json", Picture).points == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"points": [{"x": "1"}]}', ["a.json, points[0].x: ", "expected `int`", "`str`"]),
        ('{"points": [{"x": 1, "z": 2}]}', ["a.json, points[0]: ", "`z`"]),
        ('{"points": 3}', ["a.json, points: ", "expected `array`"]),
        ("{}", ["a.json: ", "`points`"]),
        ("[]", ["a.json: ", "expected `object`"]),
        ("{", ["a.json cannot be read: "]),
        ('{"points": [], "colour": "blue"}', ["colour: ", "'blue'; choose from red"]),
        ('{"pionts": []}', ["unknown field `pionts`; did you mean `points`?"]),
        ('{"points": [{"xx": 1}]}', ["points[0]: ", "unknown field `xx`; did you mean `x`?"]),
    ],
)
def test_what_does_not_fit_is_said_with_its_path(text: str, words: list[str]) -> None:
    message = refused(text)
    for word in words:
        assert word in message


def test_toml_faults_are_of_one_line_too() -> None:
    with pytest.raises(InputError, match=r"^a\.toml, points\[0\]\.x: expected `int`, got `float`$"):
        from_toml("points = [{x = 1.5}]", Picture, "a.toml")
    with pytest.raises(InputError, match=r"^a\.toml cannot be read: "):
        from_toml("points = [", Picture, "a.toml")


def test_a_file_of_a_later_schema_is_refused() -> None:
    assert refused('{"schema": 2}') == "a.json, schema: invalid enum value 2; choose from 1"


def test_provenance_is_of_this_checkout() -> None:
    made = Picture(points=[], **provenance("a driver"))
    assert (made.schema, made.driver) == (1, "a driver")
    assert made.date is not None and made.date.endswith("+00:00")
    root = Path(__file__).parents[2]
    if (root / ".git").exists():
        words = ["git", "-C", str(root), "rev-parse", "HEAD"]
        head = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert commit() is not None and head.startswith(str(commit()).rstrip("+"))


class Digits:
    """Reads itself: a text of digits, or a number with a point."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def from_plain(cls, value: object) -> Digits:
        if not isinstance(value, str | Decimal):
            raise ValueError("expected digits")
        return cls(str(value))


class Cell(Record, frozen=True, kw_only=True):
    value: int | Decimal
    factor: float = 1.0
    digits: Digits | None = None


def test_decimals_keep_the_digits_of_the_text() -> None:
    cell = from_toml("value = 0.40\nfactor = 0.1\ndigits = 1.50", Cell, "a.toml", decimals=True)
    assert (str(cell.value), cell.factor) == ("0.40", 0.1)
    assert cell.digits is not None and cell.digits.text == "1.50"
    assert from_toml("value = 3", Cell, "a.toml", decimals=True).value == 3
