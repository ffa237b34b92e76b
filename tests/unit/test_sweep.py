"""Sweeps on processes, which may die, and what the next sweep goes on from."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.studies.sweep import sweep, workers

Item = tuple[str, int]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path)


def square(item: Item) -> int | None:
    """The worker of 8 dies the first time, when 5 is known; 3 has no result the first time."""
    folder, n = item
    first = Path(folder, str(n))
    is_first = not first.exists()
    if n == 8 and is_first:
        while not Path(folder, "known").exists():
            time.sleep(0.01)
        first.touch()
        os._exit(1)
    first.touch()
    return None if n == 3 and is_first else n * n


def test_a_sweep_goes_on_from_what_dead_workers_left(folder: str) -> None:
    items = [(folder, n) for n in (5, 8, 3, 1)]
    done: list[Item] = []

    def note(item: Item, _: object) -> None:
        done.append(item)
        Path(folder, "known").touch()

    died = "the workers died; what is done is kept"
    with pytest.raises(InputError, match=died), workers() as pool:
        sweep(square, items[:2], pool, note)
    assert done == items[:1]
    Path(folder, "5").unlink()
    with workers() as pool:
        assert sweep(square, items[:2], pool) == [25, 64]
    assert not Path(folder, "5").exists()  # it was kept
    assert sweep(square, items[:2]) == [25, 64]
    assert Path(folder, "5").exists()  # a sweep that is whole forgets


def test_all_executors_give_the_same_and_what_is_none_is_tried_again(folder: str) -> None:
    items = [(folder, n) for n in (5, 3, 1)]
    with ThreadPoolExecutor(2) as pool:
        assert sweep(square, items, pool) == [25, None, 1]
    Path(folder, "1").unlink()
    assert sweep(square, items) == [25, 9, 1]
    assert not Path(folder, "1").exists()
