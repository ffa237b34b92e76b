"""Benchmarks: who takes part, how rounds and the budget go, what is written, compared and drawn."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import Command
from PIL import Image

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import other_work
from gpgpu_legacy.measure.bench.model import measure
from gpgpu_legacy.measure.bench.record import Bench, compare, read_bench
from gpgpu_legacy.measure.bench.table import bench_grids
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.entrants import Entrant, entrants
from gpgpu_legacy.measure.peers import peers
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.provenance import checkout
from gpgpu_legacy.serial import from_json

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
JIT = ("--method", "hall-carr-hart-multi", "--executor", "jit")


# Rounds and the budget, on a clock that goes by what is run ---------------------------------------


class Clock:
    """A clock, and entrants whose runs take what they are told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs: list[tuple[str, int]] = []

    def __call__(self) -> float:
        return self.now

    def entrant(
        self, name: str, seconds: Iterator[float] | Callable[[int], float], wrong: float = 0.0
    ) -> Entrant:
        """One whose runs give the product, but for `wrong` in one element."""

        @contextmanager
        def on_operands(a: Any, b: Any) -> Any:
            def one_run() -> tuple[float, Any]:
                self.runs.append((name, len(a)))
                spent = seconds(len(a)) if callable(seconds) else next(seconds)
                self.now += spent
                product = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
                product[0] += np.float32(wrong)
                return spent, product

            yield one_run

        return Entrant(name, "fake", "a clock", on_operands)


def test_entrants_take_turns_and_a_result_is_the_median_of_what_is_measured() -> None:
    clock = Clock()
    one = clock.entrant("one", iter([9.0, 9.0, 1.0, 5.0, 3.0]))  # a probe and a warm-up go first
    two = clock.entrant("two", repeat(2.0))
    found = measure([one, two], [8], 3, Budget(1e9, clock))
    assert [name for name, _ in clock.runs] == ["one", "one", "two", "two"] + ["one", "two"] * 3
    assert [score.samples for score in found.results] == [(1.0, 5.0, 3.0), (2.0, 2.0, 2.0)]
    assert [score.seconds for score in found.results] == [3.0, 2.0]
    assert found.results[1].gflops == pytest.approx(2 * 8**3 / 2.0 / 1e9)
    assert found.results[0].spread == (1.0, 5.0)
    assert found.spent_s == clock.now
    assert found.not_run == ()


def test_short_runs_are_repeated_within_a_round() -> None:
    clock = Clock()
    short = clock.entrant("short", repeat(Rounds().round_s / 4.5))
    shorter = clock.entrant("shorter", repeat(Rounds().round_s / 1e6))
    found = measure([short, shorter], [8], 2, Budget(1e9, clock))
    assert [len(score.samples) for score in found.results] == [2 * 4, 2 * Rounds().most_runs]
    names = [name for name, _ in clock.runs[4:]]
    most, warming = Rounds().most_runs, 2  # of which each takes 11 ms
    assert names == (["short"] * (warming + 4) + ["shorter"] * (most + most)) * 2


def test_what_does_not_fit_the_budget_is_not_begun_and_is_listed() -> None:
    clock = Clock()
    cubic = clock.entrant("cubic", lambda n: 1e-6 * n**3)
    quick = clock.entrant("quick", lambda n: 1e-9 * n**3)
    told: list[str] = []
    found = measure([cubic, quick], [64, 512], 5, Budget(10.0, clock), progress=told.append)
    assert [(s.method, s.size) for s in found.results] == [
        ("cubic", 64), ("quick", 64), ("quick", 512)
    ]  # fmt: skip
    [missing] = found.not_run
    assert (missing.method, missing.size) == ("cubic", 512)
    assert "up to 134 s" in missing.reason
    assert ("cubic", 512) not in clock.runs
    assert clock.now <= 10.0
    assert len(told) == 2 * 2 * 6


def test_the_budget_can_end_between_rounds() -> None:
    clock = Clock()
    found = measure([clock.entrant("one", repeat(1.0))], [8], 5, Budget(4.5, clock))
    assert found.results[0].samples == (1.0, 1.0)  # after a probe and a warm-up
    assert found.not_run == ()


@pytest.mark.parametrize(("size", "rows"), [(1024, 1024), (1025, 64)])
def test_the_error_is_against_float64_and_of_rows_where_matrices_are_large(
    size: int, rows: int
) -> None:
    clock = Clock()
    off = clock.entrant("off", repeat(100.0))
    [score] = measure([off], [size], 1, Budget(1e9, clock)).results
    assert score.rows_checked == rows
    assert score.max_relative_error < 2.0**-24  # the product was rounded once


def test_an_error_is_relative_to_the_largest_element() -> None:
    clock = Clock()
    wrong = clock.entrant("wrong", repeat(1.0), wrong=0.25)
    [score] = measure([wrong], [32], 1, Budget(1e9, clock), seed=3).results
    generator = np.random.default_rng(3)
    a, b = (generator.random((32, 32), np.float32).astype(float) - 0.5 for _ in range(2))
    assert score.max_relative_error == pytest.approx(0.25 / np.abs(a @ b).max(), rel=1e-5)


# Who takes part ----------------------------------------------------------------------------------


def names(entered: list[Entrant]) -> list[tuple[str, str, int | None]]:
    return [(e.method, e.executor, e.block) for e in entered if e.method != "driver-arbfp"]


def test_methods_by_executors_by_blocks_and_the_peers_that_there_are() -> None:
    entered = entrants(["larsen-mcallister", "hall-carr-hart-multi"], ["numpy", "jit"], [])
    assert entered[0].method == "numpy-blas"
    own = [e for e in names(entered) if e[0] not in {"numpy-blas", "cublas"}]
    assert own == [
        ("larson-mcallister", "numpy", None), ("larson-mcallister", "jit", None),
        ("hall-carr-hart-multi", "numpy", 32), ("hall-carr-hart-multi", "jit", 32),
    ]  # fmt: skip
    blocks = entrants(["hall-carr-hart-multi"], ["jit", "auto", "jit"], [8, 64], Accumulate.BLEND)
    own = [e for e in names(blocks) if e[0] not in {"numpy-blas", "cublas"}]
    assert ("hall-carr-hart-multi", "jit", 8) in own
    assert ("hall-carr-hart-multi", "jit", 64) in own
    assert len(set(own)) == len(own)
    assert all(e.accumulate is Accumulate.BLEND for e in blocks if e.block)


def test_peers_are_chosen_by_name() -> None:
    found = entrants(["larson-mcallister"], ["jit"], peer_names=["numpy-blas"])
    assert [e.method for e in found] == ["numpy-blas", "larson-mcallister"]
    with pytest.raises(InputError, match=r"choose from numpy-blas, .*driver-arbfp"):
        entrants(["larson-mcallister"], ["jit"], peer_names=["mkl"])


class Torch(ModuleType):
    """As much of torch as there has to be, with NumPy for a GPU."""

    def __init__(self, *, gpu: bool) -> None:
        super().__init__("torch")
        self.tf32_seen: list[bool] = []
        self.matmul_settings = SimpleNamespace(allow_tf32=True)
        self.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=self.matmul_settings))
        self.cuda = SimpleNamespace(
            is_available=lambda: gpu,
            get_device_name=lambda: "a GPU",
            synchronize=lambda: None,
        )

    class Tensor:
        def __init__(self, values: Any) -> None:
            self.values, self.device = values, "cuda"

        def cuda(self) -> Any:
            return self

        cpu = cuda

        def numpy(self) -> Any:
            return self.values

    def from_numpy(self, values: Any) -> Any:
        return self.Tensor(values)

    def empty(self, shape: tuple[int, int], device: str) -> Any:
        return self.Tensor(np.empty(shape, np.float32))

    def matmul(self, a: Any, b: Any, out: Any) -> None:
        self.tf32_seen.append(self.matmul_settings.allow_tf32)
        np.matmul(a.values, b.values, out=out.values)


def test_cublas_is_a_peer_where_torch_has_a_gpu_and_computes_in_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = Torch(gpu=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", None)
    [_, cublas] = peers()
    assert (cublas.name, cublas.through, cublas.device) == ("cublas", "torch", "a GPU")
    a, b = np.eye(3, dtype=np.float32), np.arange(9, dtype=np.float32).reshape(3, 3)
    with cublas.on_operands(a, b) as one_run:
        seconds, product = one_run()
    assert seconds > 0.0
    assert product.tolist() == b.tolist()
    assert torch.tf32_seen == [False]
    assert torch.matmul_settings.allow_tf32 is True  # as it was
    assert cublas.whole_call(a, b).tolist() == b.tolist()
    assert torch.tf32_seen == [False, False]


# The command -------------------------------------------------------------------------------------


def test_a_small_run_gives_json_of_the_known_form(run: Command, tmp_path: Path) -> None:
    path, plot = tmp_path / "bench.json", tmp_path / "bench.png"
    code, out, _ = run(
        "bench", "--size", "16", "32", "--method", "hall-carr-hart-multi", "--executor", "numpy",
        "jit", "--block", "8", "--repeat", "2", "--json", "-o", str(path), "--plot", str(plot),
    )  # fmt: skip
    assert code == 0
    data = json.loads(out)
    assert json.loads(path.read_text(encoding="utf-8")) == data
    assert {"device", "driver", "date", "seed", "repeat", "not_run"} <= data.keys()
    assert data["versions"]["numpy"] == np.__version__
    assert data["versions"]["python"] == sys.version.split()[0]
    rows = {(r["method"], r["executor"], r["size"]): r for r in data["results"]}
    wanted = [("hall-carr-hart-multi", e, n) for e in ("numpy", "jit") for n in (16, 32)]
    for key in [*wanted, ("numpy-blas", "numpy", 16), ("numpy-blas", "numpy", 32)]:
        row = rows[key]
        assert 0.0 <= row["max_relative_error"] < 1e-6
        assert 0.0 < row["spread"][0] <= row["seconds"] <= row["spread"][1]
        assert row["runs"] >= 2
        assert row["block"] == (None if key[0] == "numpy-blas" else 8)
        assert row["peer"] is (key[0] == "numpy-blas")
    with Image.open(plot) as picture:
        assert picture.width > 400


def test_results_are_written_as_they_come(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, results = tmp_path / "bench.json", list[int]()

    def read(self: object) -> float:
        if path.exists():
            results.append(len(read_bench(path).results))
        if len(results) == 3:
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(other_work.OtherWork, "share", read)
    words = ("--size", "16", "32", *JIT, "--repeat", "2", "-o", str(path))
    code, _, _ = run("bench", *words)
    assert code != 0
    bench = read_bench(path)
    assert bench.results
    assert bench.package is not None
    assert (bench.commit is None) == (checkout() is None)


def test_a_busy_machine_is_warned_of_in_a_line(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_work.OtherWork, "share", lambda _: 0.5)
    code, out, err = run("bench", "--size", "16", *JIT, "--repeat", "1")
    assert code == 0
    assert err.count("\n") == 1
    assert "other processes used 50 % of the processor time" in err
    assert "Other processes used 50 %" in out


@pytest.mark.gl
def test_the_driver_s_own_program_is_a_peer_where_there_is_one(
    run: Command, ready: Callable[[str], Any]
) -> None:
    ready("gl-arbfp")
    code, out, _ = run("bench", "--size", "32", *JIT, "--repeat", "1", "--json")
    assert code == 0
    [driver] = [r for r in json.loads(out)["results"] if r["method"] == "driver-arbfp"]
    assert (driver["executor"], driver["of"]) == ("gl-arbfp", "hall-carr-hart-multi")
    assert driver["max_relative_error"] < 1e-6


def test_a_spent_budget_ends_cleanly_and_says_what_was_not_run(run: Command) -> None:
    code, out, _ = run("bench", "--size", "16", "32", *JIT, "--budget", "0")
    assert code == 0
    assert "Not run; the budget was 0 s." in out
    assert "16, 32" in out
    assert "How many times" not in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--size", "0"], "the size is 0"),
        (["--budget", "-1"], "the budget is -1"),
        (["-o", "bench.txt"], "bench.txt should end in .json"),
        (["--compare", "a.json", "b.json", "--plot", "c.png"], "--compare prints a table"),
    ],
)
def test_mistakes_are_refused_in_one_line(
    run: Command, words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("bench", *words, *JIT)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err


# Two runs ----------------------------------------------------------------------------------------


def result(seconds: float, **more: Any) -> dict[str, Any]:
    usual = {
        "method": "hall-carr-hart-multi", "executor": "jit", "size": 100, "block": 32,
        "seconds": seconds, "gflops": 2e-9 * 100**3 / seconds, "max_relative_error": 1e-7,
        "of": None, "peer": False, "device": None, "accumulate": None, "first_run": False,
        "spread": [seconds] * 2, "runs": 1, "samples": [seconds], "rows_checked": 100,
    }  # fmt: skip
    return {**usual, **more}


def recorded(*results: dict[str, Any], device: str = "a chip", driver: str = "1") -> dict[str, Any]:
    return {
        "device": device, "driver": driver, "versions": {}, "settings": {}, "whole": False,
        "seed": 0, "repeat": 1, "budget_s": None, "spent_s": 1.0, "busy_share": None,
        "results": list(results), "not_run": [],
    }  # fmt: skip


def bench_of(*results: dict[str, Any], **more: Any) -> Bench:
    return from_json(json.dumps(recorded(*results, **more)), Bench, "a benchmark")


def written(folder: Path, name: str, data: object) -> str:
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


def test_two_runs_are_compared_by_what_both_have(run: Command, tmp_path: Path) -> None:
    old = recorded(result(0.4), result(1.0, size=200), result(3.0, executor="gl-raster"))
    new = recorded(result(0.1), result(2.0, size=200), result(3.0, block=8))
    files = written(tmp_path, "old.json", old), written(tmp_path, "new.json", new)
    code, out, _ = run("bench", "--compare", *files, "--json")
    assert code == 0
    compared = json.loads(out)
    assert compared["comparable"] is True
    assert [(r["size"], r["ratio"]) for r in compared["ratios"]] == [(100, 4.0), (200, 0.5)]
    assert (compared["only_old"], compared["only_new"]) == (1, 1)
    code, out, _ = run("bench", "--compare", *files)
    assert code == 0
    assert "new / old" in out
    assert "1 result is in the old run alone" in out


@pytest.mark.parametrize("what", ["device", "driver"])
def test_runs_on_different_machines_are_not_compared(
    run: Command, tmp_path: Path, what: str
) -> None:
    old, new = recorded(result(0.4)), recorded(result(0.1), **{what: "another"})
    files = written(tmp_path, "old.json", old), written(tmp_path, "new.json", new)
    code, out, err = run("bench", "--compare", *files)
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert what in out
    assert "another" in out
    assert compare(read_bench(Path(files[0])), read_bench(Path(files[1]))).ratios == ()


def test_whole_calls_say_so_and_are_not_compared_with_computing_alone(
    run: Command, tmp_path: Path
) -> None:
    path = tmp_path / "whole.json"
    words = ("--method", "larson-mcallister", "--executor", "jit", "--size", "8", "--repeat", "1")
    code, out, _ = run("bench", *words, "--whole", "--quiet", "--output", str(path))
    assert code == 0
    assert "whole calls: from matrices in memory" in out
    bench = read_bench(path)
    assert bench.whole
    assert {r.method for r in bench.results} >= {"numpy-blas", "larson-mcallister"}
    alone = written(tmp_path, "alone.json", {**json.loads(path.read_text()), "whole": False})
    code, out, _ = run("bench", "--compare", str(path), alone)
    assert code == 0
    assert "timed 'whole calls' then, 'computing alone' now" in out


# Tables ------------------------------------------------------------------------------------------


def test_ratios_are_to_the_peers_of_the_same_size_method_and_block() -> None:
    data = bench_of(
        result(0.5),
        result(0.5, block=8),
        result(
            2.0, method="driver-arbfp", of="hall-carr-hart-multi", executor="gl-arbfp", peer=True
        ),
        result(0.1, method="numpy-blas", executor="numpy", block=None, peer=True),
        result(9.9, method="numpy-blas", executor="numpy", block=None, peer=True, size=50),
    )
    [_, ratios] = bench_grids(data)
    assert ratios.heads[-2:] == (": driver-arbfp", ": numpy-blas")
    [first, second] = [[e and e.text for e in row[-2:]] for row in ratios.rows]  # type: ignore[union-attr]
    assert first == ["4", "0.2"]
    assert second == [None, "0.2"]


def test_a_busy_machine_shows() -> None:
    steady = bench_of(result(1.0, spread=[0.9, 1.1]))
    busy = bench_of(result(1.0, spread=[0.2, 1.1]))
    assert "busy" not in as_text(bench_grids(steady))
    assert "busy" in as_text(bench_grids(busy))


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("bench-*.json")), ids=lambda p: p.name)
def test_recorded_benchmarks_still_read(path: Path) -> None:
    bench = read_bench(path)
    assert bench.results
    assert bench.schema == 1
    assert bench_grids(bench)


def test_a_recorded_benchmark_without_samples_says_how_many_runs_there_were() -> None:
    table = as_text(bench_grids(read_bench(BENCHMARKS / "bench-h100-raster.json")))
    assert "30" in next(line for line in table.splitlines() if "cublas" in line).split()
