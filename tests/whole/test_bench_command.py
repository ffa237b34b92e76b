"""The command `bench`: what is written and drawn."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from PIL import Image

from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.serial import from_json

JIT = ("hall-carr-hart-multi", "--executor", "jit", "--peer", "numpy-blas")


def test_a_small_run_gives_json_of_the_known_form(run: Command, tmp_path: Path) -> None:
    path, plot = tmp_path / "bench.json", tmp_path / "bench.png"
    code, out, _ = run(
        "bench", "hall-carr-hart-multi", "n=16,32", "block=8", "--executor", "numpy", "jit",
        "--repeat", "2", "--json", "-o", str(path), "--plot", str(plot),
    )  # fmt: skip
    assert code == 0
    data = json.loads(out)
    assert json.loads(path.read_text(encoding="utf-8")) == data
    assert {"device", "driver", "date", "seed", "repeat", "not_run"} <= data.keys()
    assert data["versions"]["numpy"] == np.__version__
    assert data["versions"]["python"] == sys.version.split()[0]
    rows = {(r["plan"], r["executor"], r["parameters"]["n"]): r for r in data["results"]}
    wanted = [("hall-carr-hart-multi", e, n) for e in ("numpy", "jit") for n in (16, 32)]
    for key in [*wanted, (None, "numpy-blas", 16), (None, "numpy-blas", 32)]:
        row = rows[key]
        assert row["case"] == f"n = {key[2]}"
        assert 0.0 <= row["max_error"] < 1e-6
        assert 0.0 < row["spread"][0] <= row["seconds"] <= row["spread"][1]
        assert row["runs"] >= 2
        assert row["parameters"].get("block") == (None if key[0] is None else 8)
        assert row["is_peer"] is (key[0] is None)
    with Image.open(plot) as picture:
        assert picture.width > 400


@pytest.mark.gl
def test_the_driver_s_own_program_is_a_peer_where_there_is_one(
    run: Command, ready: Callable[[str], Any]
) -> None:
    ready("gl-arbfp")
    words = ("larson-mcallister", "n=32", "--executor", "jit", "gl-arbfp", "--repeat", "1")
    code, out, _ = run("bench", *words, "--json")
    assert code == 0
    [driver] = [r for r in json.loads(out)["results"] if r["executor"] == "gl-arbfp"]
    assert (driver["plan"], driver["is_peer"]) == ("larson-mcallister", True)
    assert driver["max_error"] < 1e-6


def test_a_spent_budget_ends_cleanly_and_says_what_was_not_run(run: Command) -> None:
    code, out, _ = run("bench", "n=16,32", *JIT, "--budget", "0")
    assert code == 0
    assert "Not run; the budget was 0 s." in out
    assert "n = 16; n = 32" in out
    assert "How many times" not in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--peer", "mkl"], "there is no library mkl here"),
        (["--budget", "-1"], "the budget is -1"),
        (["-o", "bench.txt"], "bench.txt should end in .json"),
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


def result(seconds: float, executor: str = "jit", n: int = 100, **more: Any) -> dict[str, Any]:
    usual = {
        "case": f"n = {n}", "plan": "hall-carr-hart-multi", "parameters": {"n": n, "block": 32},
        "executor": executor, "is_reference": False, "is_peer": False, "device": None,
        "seconds": seconds, "spread": [seconds] * 2, "runs": 1, "first_run": False,
        "samples": [seconds], "gflops": 2e-9 * n**3 / seconds, "prepare_s": None, "upload_s": None,
        "readback_s": None, "max_error": 1e-7, "rows_checked": None, "max_difference": None,
        "max_peer_difference": None,
    }  # fmt: skip
    return {**usual, **more}


def library(seconds: float, n: int = 100) -> dict[str, Any]:
    return result(seconds, "numpy-blas", n, plan=None, parameters={"n": n}, is_peer=True)


def recorded(*results: dict[str, Any], device: str = "a chip", driver: str = "1") -> dict[str, Any]:
    return {
        "device": device, "driver": driver, "versions": {}, "settings": {}, "whole": False,
        "arithmetic": "fp32", "exact": False, "seed": 0, "repeat": 1, "budget_s": None,
        "spent_s": 1.0, "busy_share": None, "results": list(results), "not_run": [],
    }  # fmt: skip


def bench_of(*results: dict[str, Any], **more: Any) -> Bench:
    return from_json(json.dumps(recorded(*results, **more)), Bench, "a benchmark")


# Tables ------------------------------------------------------------------------------------------


def test_ratios_are_to_the_peers_of_the_same_case_plan_and_parameters() -> None:
    data = bench_of(
        result(0.5),
        result(0.5, parameters={"n": 100, "block": 8}),
        result(2.0, "gl-arbfp", is_peer=True),
        library(0.1),
        library(9.9, n=50),
    )
    [_, ratios] = data.grids()
    assert ratios.heads[-2:] == (": gl-arbfp", ": numpy-blas")
    assert [row[-2:] for row in ratios.rows] == [(4.0, 0.2), (None, 0.2)]
    assert [row[ratios.heads.index("block")] for row in ratios.rows] == [32, 8]
