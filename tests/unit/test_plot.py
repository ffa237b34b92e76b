"""Figures in files: each format is what it says, and the same figure makes the same file."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command
from matplotlib.figure import Figure

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import FORMATS, new_figure, save_figure

BEGINNINGS = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


def save(path: Path) -> bytes:
    figure = new_figure(2.0, 1.5)
    figure.subplots().plot([1, 2, 4], clip_on=True)
    save_figure(figure, path, "A title")
    return path.read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format(tmp_path: Path, suffix: str) -> None:
    one, other = save(tmp_path / f"one{suffix}"), save(tmp_path / f"OTHER{suffix.upper()}")
    assert one.startswith(BEGINNINGS[suffix])
    assert one == other


def test_another_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"let it end in one of \.png, \.svg, \.pdf"):
        save(tmp_path / "one.jpg")
    assert not list(tmp_path.iterdir())


def test_a_sweep_has_a_line_for_each_combination_of_what_is_not_its_axis(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(
        "gpgpu_legacy.api.cache_plot.save_figure", lambda figure, *_: drawn.append(figure)
    )
    words = ("n=8", "block=2,4,8", "--layout", "linear", "4x4")
    code, _, errors = run(
        "cache", "hall-carr-hart-single", *words, "--plot", str(tmp_path / "s.png")
    )
    assert code == 0, errors
    left, _ = drawn[0].axes
    lines = {line.get_label(): list(line.get_xdata()) for line in left.lines}
    assert lines == {"linear": [2, 4, 8], "4x4": [2, 4, 8]}
