"""Sweeps on processes and clusters, which may die, and what the next sweep goes on from."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from commands import Command

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.studies.shared.sweep import sweep, workers

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


# A Dask cluster of processes on this machine ------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


def of_cluster(item: tuple[str, int]) -> int:
    """8 waits until the test is told of 5; 3 is an error that a user can cause."""
    folder, n = item
    if n == 3:
        raise InputError("3 is refused")
    while n == 8 and not Path(folder, "known").exists():
        time.sleep(0.01)
    return n * n


def test_a_cluster_computes_what_this_thread_does(cluster: Any, folder: str) -> None:
    address, items = cluster.scheduler_address, [(folder, n) for n in (5, 1, 4)]
    with workers(address) as pool:
        assert sweep(of_cluster, items, pool) == sweep(of_cluster, items)
    with pytest.raises(InputError, match="3 is refused"), workers(address) as pool:
        sweep(of_cluster, [(folder, 3)], pool)


def test_what_a_dead_cluster_has_done_is_kept(cluster: Any, folder: str) -> None:
    items = [(folder, n) for n in (5, 8)]
    died = f"the workers of {cluster.scheduler_address} died; what is done is kept"
    with pytest.raises(InputError, match=died), workers(cluster.scheduler_address) as pool:
        sweep(of_cluster, items, pool, lambda *_: cluster.close())
    Path(folder, "known").touch()
    begun: list[int] = []

    @wraps(of_cluster)
    def counted(item: Item) -> int:
        begun.append(item[1])
        return of_cluster(item)

    assert sweep(counted, items) == [25, 64]
    assert begun == [8]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_an_address_without_a_scheduler_is_one_line(
    run: Command, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("gpgpu_legacy.studies.shared.sweep.CONNECT_S", 0.5)
    code, out, err = run("study", "cache-table", "--dask", address)
    assert (code, out, err.count("\n")) == (2, "", 1)
    known = find_spec("distributed") is not None
    said = (
        f"no Dask scheduler answers at {address}" if known else "pip install 'gpgpu-legacy[dask]'"
    )
    assert said in err
