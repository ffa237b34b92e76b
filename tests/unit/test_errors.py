"""Messages of errors: one line for a terminal, whatever was given and is quoted in them."""

from __future__ import annotations

import moderngl
import pytest

from gpgpu_legacy import assemble, cli
from gpgpu_legacy.algorithms.registry import find_algorithm
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
    with pytest.raises(InputError, match=r"^jac\\x1b\[31mobi\\n is a program"):
        find_algorithm("jac\x1b[31mobi\n")


def test_a_program_keeps_a_line_for_each_fault() -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble("!!ARBfp1.0\nMOV a, 1;\nMOV b, 1;\nEND", "two\nlines\x1b.fp")
    lines = str(caught.value).split("\n")
    assert [line.partition(": ")[0] for line in lines[::3]] == [
        r"two\nlines\x1b.fp:2:5", r"two\nlines\x1b.fp:3:5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("n is 0; it must be at least 1"), 2, "n is 0; it must be at least 1"),
        (MemoryError("no 8 TiB"), 2, "too little memory for that (no 8 TiB); try smaller sizes"),
        (RecursionError(), 2, "nested too deeply; give a flatter one"),
        (FileNotFoundError(2, "No such file", "x\n.fp"), 2, r"x\n.fp: no such file"),
        (moderngl.Error("out of memory"), 2, "OpenGL failed: out of memory; try a smaller size"),
        (KeyboardInterrupt(), 130, "gpgpu-legacy: interrupted"),
        (KeyError("two\nlines"), 70, r"KeyError: 'two\nlines'; this is a fault of gpgpu_legacy"),
    ],
)
def test_whatever_a_command_raises_is_one_line(
    error: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The traceback is shown to those who ask, and a fault of ours has an exit code of its own."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.app, "main", fail)
    for words in (["list"], ["list", "--debug"]):
        monkeypatch.setattr("sys.argv", ["gpgpu-legacy", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = capsys.readouterr().err
        assert ended.value.code == code
        assert line in shown.splitlines()[-1]
        assert ("Traceback" in shown) == (len(words) == 2 and code != cli.INTERRUPTED)
