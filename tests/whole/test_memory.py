"""What a process may still take, and what is refused: made-up machines, containers and limits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier
from time import sleep
from types import SimpleNamespace

import psutil
import pytest

from gpgpu_legacy import find_executor
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.prepared import close_prepared
from gpgpu_legacy.api.run import run
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.plan import memory
from gpgpu_legacy.plan.memory import Room, free_memory, require_memory
from gpgpu_legacy.runtime import workers

GB = 10**9


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Sets what the machine has free; a fresh one is in no container and has no limits."""
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_OWN_CGROUPS", tmp_path / "own")

    def has(available: int) -> None:
        there = SimpleNamespace(available=available)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: there)

    has(8 * GB)
    return has


def limits(folder: Path, names: tuple[str, str], numbers: tuple[str, str], stat: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, number in zip(names, numbers, strict=True):
        (folder / name).write_text(f"{number}\n")
    (folder / "memory.stat").write_text(stat)


V2, V1 = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")


@pytest.mark.parametrize(
    ("own", "folder", "names"),
    [
        ("0::/a/b\n", "a", V2),  # a group further up
        ("0::/\n", ".", V2),  # as a container sees itself
        ("9:name=systemd:/\n4:cpu,memory:/docker/1\n0::/\n", "memory/docker/1", V1),
        ("4:memory:/docker/1\n", "memory", V1),  # its own group at the root
    ],
)
def test_a_container_is_a_limit(
    machine: Callable[..., None],
    tmp_path: Path,
    own: str,
    folder: str,
    names: tuple[str, str],
) -> None:
    (tmp_path / "own").write_text(own)
    word = "inactive_file" if names is V2 else "total_inactive_file"
    limits(tmp_path / "cgroup" / folder, names, (str(2 * GB), str(GB)), f"anon 5\n{word} {GB}\n")
    assert free_memory() == Room(2 * GB, "this container has")
    machine(GB)
    assert free_memory() == Room(GB, "this machine has")


def test_what_does_not_fit_is_refused_in_one_line(machine: Callable[..., None]) -> None:
    require_memory(8 * GB, "a thing", "make it smaller")
    with pytest.raises(InputError) as refused:
        require_memory(9 * GB, "a thing", "make it smaller")
    assert str(refused.value) == (
        "a thing needs about 9.0 GB, and this machine has 8.0 GB free; make it smaller"
    )


def test_plans_and_comparisons_ask_first(
    machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "SURELY_THERE", 0)
    p = find_product("hall-carr-hart-single").builder(n=64)
    inputs = sample_inputs(p.plan(), p.samples)
    run(p, inputs, executor="numpy")
    close_prepared()  # a plan that stays prepared needs nothing more
    machine(30_000)
    with pytest.raises(InputError, match="plan hall-carr-hart-single on numpy needs about 82 kB"):
        run(p, inputs, executor="numpy")
    with pytest.raises(InputError, match="--no-check"):
        run(p, inputs, executor="numpy", check=True)
    with pytest.raises(InputError, match="single with its inputs needs about 147 kB"):
        sample_inputs(p.plan(), p.samples)


# In processes of their own ---------------------------------------------------------------------


def in_child(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PEAK = """
import numpy as np, pathlib
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.runtime.executor import find_executor
executor = find_executor({executor!r})

def peak(n):
    plan = find_product({method!r}).plan(n=n, l=16, **{more})
    a, b = np.full((n, 16), 0.5, np.float32), np.full((16, n), 0.5, np.float32)
    status, reset = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")
    reset.write_text("5")
    lines = lambda: dict(line.split(":") for line in status.read_text().splitlines())
    before = int(lines()["VmRSS"].split()[0])
    with executor.prepare(plan) as prepared:
        result = prepared.run({{"A": a, "B": b}})
    return 1024 * (int(lines()["VmHWM"].split()[0]) - before), executor.memory_bytes(plan)

peak(64)
print(*peak(3000))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux alone tells peaks")
@pytest.mark.parametrize(
    ("executor", "method", "more"),
    [
        ("numpy", "hall-carr-hart-multi", {}),
        ("jit", "hall-carr-hart-single", {}),
        pytest.param("gl-raster", "hall-carr-hart-multi", {}, marks=pytest.mark.gl),
        pytest.param(
            "gl-raster", "larson-mcallister", {"texture_format": "unorm8"}, marks=pytest.mark.gl
        ),
        pytest.param("gl-compute", "hall-carr-hart-multi", {}, marks=pytest.mark.gl),
        pytest.param("gl-arbfp", "row-packed", {}, marks=pytest.mark.gl),
    ],
)
def test_the_estimate_of_a_plan_is_what_it_takes(
    executor: str, method: str, more: dict[str, str]
) -> None:
    """Measured as the peak of the resident memory of a child process."""
    if executor not in ("numpy", "jit") and find_executor(executor).is_hardware():
        pytest.skip("textures are in the GPU's memory")
    code = PEAK.format(executor=executor, method=method, more=more)
    taken, estimated = map(int, in_child(code).split())
    assert taken / 1.4 < estimated < 1.4 * taken


# Threads ---------------------------------------------------------------------------------------


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "thread_count", lambda: 4)
    workers._pool_of.cache_clear()
    yield
    workers._pool_of.cache_clear()


@pytest.mark.usefixtures("four_threads")
def test_all_pieces_are_done_once_by_threads() -> None:
    done: list[int] = []
    workers.share_out(lambda _, piece: done.append(piece), 100)
    assert sorted(done) == list(range(100))


@pytest.mark.usefixtures("four_threads")
def test_an_error_of_a_thread_is_raised_when_no_other_one_works() -> None:
    all_there, done = Barrier(4), list[int]()

    def task(worker: int, piece: int) -> None:
        all_there.wait()
        if worker == 1:
            raise ValueError(piece)
        sleep(0.05)
        done.append(piece)

    with pytest.raises(ValueError, match=r"[0-3]"):
        workers.share_out(task, 4)
    assert len(done) == 3
