"""Numbers in text: what people write, and not all that Python would take."""

from __future__ import annotations

import pytest

from gpgpu_legacy.errors import MOST_DIGITS, integer_in, natural_in, real_in

NEITHER = [
    "", " ", "x", "²", "１", "٣", "1_000", "0x10", "--1", "1 2", "7\n", "\t7", "\u00a07", "½", "+",
]  # fmt: skip


@pytest.mark.parametrize("text", NEITHER)
def test_what_is_no_number_in_ascii_digits_is_none(text: str) -> None:
    assert integer_in(text) is natural_in(text) is real_in(text) is None


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("-7", -7), ("+7", 7), (" 007 ", 7)])
def test_whole_numbers(text: str, number: int) -> None:
    assert integer_in(text) == number
    assert natural_in(text) == (number if text.strip().isdigit() else None)


def test_a_whole_number_has_as_many_digits_as_64_bits_have_and_no_more() -> None:
    assert integer_in(str(2**64 - 1)) == 2**64 - 1
    assert integer_in("9" * MOST_DIGITS) is not None
    assert integer_in("9" * (MOST_DIGITS + 1)) is integer_in("9" * 5000) is None


@pytest.mark.parametrize("text", ["1", "-1.", ".5", "1e3", "-1.5E-3", "inf", "-Infinity", "1e999"])
def test_real_numbers_are_those_of_python(text: str) -> None:
    assert real_in(text) == float(text)


@pytest.mark.parametrize("text", [".", "e3", "1e", "1,5", "in", "nano", "infinit"])
def test_parts_of_numbers_are_none(text: str) -> None:
    assert real_in(text) is None
