"""Messages of errors: one line for a terminal, whatever was given and is quoted in them."""

from __future__ import annotations

import pytest

from gpgpu_legacy import assemble, find_algorithm
from gpgpu_legacy.errors import AssemblyError, InputError, PlanError, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a plain line", "a plain line"),
        ("× ₂ … “é”\u00a0\u202f", "× ₂ … “é”\u00a0\u202f"),
        ("two\nlines\r\tand a tab", r"two\nlines\r\tand a tab"),
        ("\x1b[31mred\x7f\x00\x9b", r"\x1b[31mred\x7f\x00\x9b"),
        ("a\u202eb\u2028c\ud800", r"a\u202eb\u2028c\ud800"),
    ],
)
def test_a_message_is_one_line_without_controls(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(InputError(text)) == str(PlanError(text)) == shown


def test_a_long_message_keeps_its_ends() -> None:
    message = str(InputError(f"there is no {'x' * 100_000}; give another"))
    assert len(message) < 1100
    assert message.startswith("there is no xxx")
    assert message.endswith("xxx; give another")


def test_an_unknown_name_cannot_move_the_cursor() -> None:
    with pytest.raises(InputError, match=r"there is no algorithm jac\\x1b\[31mobi\\n"):
        find_algorithm("jac\x1b[31mobi\n")


def test_a_program_keeps_a_line_for_each_fault() -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble("!!ARBfp1.0\nMOV a, 1;\nMOV b, 1;\nEND", "two\nlines\x1b.fp")
    lines = str(caught.value).split("\n")
    assert [line.partition(": ")[0] for line in lines[::3]] == [
        r"two\nlines\x1b.fp:2:5", r"two\nlines\x1b.fp:3:5",
    ]  # fmt: skip
