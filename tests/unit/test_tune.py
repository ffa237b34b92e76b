"""The search for the fastest way: on landscapes made up, on a real product, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from fakes import FakeExecutor
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_algorithm, find_product
from gpgpu_legacy.api.matmul import matmul
from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.api.run import Run
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import tune as tuning
from gpgpu_legacy.measure import tuned
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.measure.tune import RefusedError, WaySearch, axes_of, tune
from gpgpu_legacy.measure.tuned import (
    Tuned,
    TunedWay,
    keep,
    tuned_here,
)
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, RunResult, Timings
from gpgpu_legacy.serial import as_record, with_fields

MULTI = find_product("hall-carr-hart-multi")
JIT_TILE = TunedWay("jit", 32, Accumulate.COPY, tile=(2, 3))


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of the test's own to keep results in."""
    path = tmp_path / "folder" / "tuning.json"
    monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(path))
    return path


# Landscapes --------------------------------------------------------------------------------------


class Landscape:
    """A machine whose every way takes what a function says, on a clock of its own."""

    def __init__(self, seconds: Callable[[TunedWay], float]) -> None:
        self.seconds, self.now, self.runs = seconds, 0.0, list[TunedWay]()

    def clock(self) -> float:
        return self.now

    def run(self, way: TunedWay) -> float:
        self.runs.append(way)
        seconds = self.seconds(way)
        self.now += seconds
        return seconds


BLOCKS = (8, 16, 32, 64, 128)
TILES = [(rows, strips) for rows in range(1, 9) for strips in range(1, 5)]


def axes(way: TunedWay) -> Iterator[tuple[str, list[TunedWay]]]:
    yield "executor", [with_fields(way, executor=e, tile=None) for e in ("jit", "gl-raster")]
    yield "block", [with_fields(way, block=block) for block in BLOCKS]
    yield "tile", [with_fields(way, tile=tile) for tile in TILES]


def valley(executor: str, block: int, tile: tuple[int, int]) -> Callable[[TunedWay], float]:
    """Seconds that fall towards one way from all sides."""

    def seconds(way: TunedWay) -> float:
        assert way.block is not None
        rows, strips = way.tile or (1, 1)
        far = abs(BLOCKS.index(way.block) - BLOCKS.index(block))
        far += abs(rows - tile[0]) + abs(strips - tile[1]) + 5 * (way.executor != executor)
        return 1.0 + 0.1 * far

    return seconds


@given(
    executor=st.sampled_from(["jit", "gl-raster"]),
    block=st.sampled_from(BLOCKS),
    tile=st.sampled_from(TILES),
    start=st.sampled_from(BLOCKS),
)
def test_the_best_way_of_a_valley_is_found(
    executor: str, block: int, tile: tuple[int, int], start: int
) -> None:
    land = Landscape(valley(executor, block, tile))
    found = WaySearch(axes, land.run, Budget(1e9, land.clock)).descend(TunedWay("jit", start))
    reached = land.seconds(found.way)
    assert reached == 1.0
    assert found.seconds == reached
    assert found.default_seconds == land.seconds(TunedWay("jit", start))
    assert found.finished


def test_the_budget_ends_a_search_with_the_best_so_far() -> None:
    land = Landscape(valley("jit", 128, (8, 4)))
    start = TunedWay("jit", 8)
    found = WaySearch(axes, land.run, Budget(60.0, land.clock)).descend(start)
    longest = max(land.seconds(way) for way in land.runs)
    assert land.now < 60.0 + longest
    assert not found.finished
    assert land.seconds(found.way) <= land.seconds(start)


def test_what_seemed_to_gain_by_luck_is_dropped_at_the_end() -> None:
    runs: dict[TunedWay, int] = {}

    def seconds(way: TunedWay) -> float:
        runs[way] = runs.get(way, 0) + 1
        if way.block == 64 and way.executor == "jit" and way.tile is None:
            return 0.5 if runs[way] <= 7 else 2.0  # fast until it is measured for good
        return 1.0

    land = Landscape(seconds)
    found = WaySearch(axes, land.run, Budget(1e9, land.clock)).descend(TunedWay("jit", 8))
    assert found.way == TunedWay("jit", 8)
    assert found.seconds == found.default_seconds == 1.0


# The axes of real methods ------------------------------------------------------------------------


@pytest.mark.gl
def test_axes_are_those_that_a_method_and_an_executor_have() -> None:
    def names(algorithm: str, way: TunedWay, **given: Any) -> list[str]:
        p = find_algorithm(algorithm).builder(n=256, **given)
        return [name for name, _ in axes_of(p, ["jit"])(way)]

    blocked = TunedWay("jit", 32, Accumulate.COPY)
    assert names("hall-carr-hart-multi", blocked) == ["executor", "block", "accumulate", "tile"]
    assert names("hall-carr-hart-multi", blocked, block=32) == ["executor", "accumulate", "tile"]
    assert names("larson-mcallister", TunedWay("gl-raster")) == ["executor"]
    assert names("jacobi", TunedWay("jit")) == ["executor", "tile"]
    assert names("dobravec-bulic-shared", TunedWay("jit", 16)) == ["executor", "block"]
    shapes = ["threads", "register tile", "adjacent", "K-depth", "unroll"]
    assert names("larson-mcallister", TunedWay("gl-compute")) == ["executor", *shapes]


# A real search -----------------------------------------------------------------------------------


def test_a_small_search_keeps_a_way_that_gives_the_product(kept: Path) -> None:
    [found] = tune([MULTI.builder(n=32)], Budget(1.0), executors=["jit"]).kept
    assert found.way.executor == "jit"
    assert found.seconds <= found.default_seconds
    assert kept.is_file()
    assert tuned_here() == {MULTI.name: found}
    assert found.parameters == {"n": 32}
    a, b = np.eye(3), np.arange(9.0).reshape(3, 3)
    assert matmul(a, b, "hall-carr-hart-multi").tolist() == b.tolist()


class Counter(FakeExecutor):
    """An executor whose runs take no time; those of block 8 fail, and of block 4 are wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = list[int]()

    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        [draw, *_] = plan.only(FragmentPass)
        block = sum(i.mnemonic == "MAD" for i in draw.program.instructions) // 2
        self.blocks.append(block)
        if block == 8:
            raise MemoryError
        product = operands["A"] @ operands["B"] + np.float32(block == 4)
        return RunResult({"C": product}, Timings(0.0, 1.0, 0.0))


def test_a_way_is_prepared_once_and_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    monkeypatch.setattr(tuning, "find_executor", lambda *_: counter)
    one, two = (TunedWay("fake", block, Accumulate.COPY) for block in (2, 3))
    with closing(tuning.WayRunner(MULTI.builder(n=16), 0)) as products:
        for way in (one, two, one, two):
            products.run(way)
        for block, reason in ((8, "too little memory"), (4, "results differ")):
            with pytest.raises(RefusedError, match=reason):
                products.run(with_fields(one, block=block))
        assert [each.closed for each in counter.prepared] == [False, False, True, True]
    assert all(each.closed for each in counter.prepared)
    assert counter.blocks == [2, 3, 2, 3, 8, 4]


# What is kept ------------------------------------------------------------------------------------


def remembered(way: TunedWay = JIT_TILE) -> Tuned:
    return as_record(
        Tuned,
        tuned.this_platform(),
        finished=True,
        algorithm=MULTI.name,
        way=way,
        parameters={"n": 64},
        seconds=1.0,
        default_seconds=2.0,
        trials=7,
        date="2003-07-27",
    )


def test_auto_takes_the_tuned_way_where_nothing_else_was_asked_for() -> None:
    way = TunedWay("numpy", 8, Accumulate.BLEND)
    keep(remembered(way))
    a = np.arange(16.0).reshape(4, 4)

    def product(method: str = MULTI.name, executor: str = "auto", **given: Any) -> Run:
        return find(method, **given).run(A=a, B=a, executor=executor)

    found = product()
    assert found.executor == "numpy"
    assert (found.parameters["block"], found.parameters["accumulate"]) == (8, "blend")
    assert found.C.tolist() == matmul(a, a).tolist() == (a @ a).tolist()
    assert product(block=16).parameters["block"] == 16
    assert product(block=16, executor="jit").executor == "jit"
    assert product(executor="jit").parameters["block"] == 32


def test_tuning_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, run: Command) -> None:
    keep(remembered(TunedWay("numpy", 8, Accumulate.BLEND)))
    monkeypatch.setenv("GPGPU_LEGACY_TUNING", "off")
    assert find(MULTI.name).run(A=np.eye(4), B=np.eye(4)).parameters["block"] == 32
    code, out, _ = run("tune", "--show")
    assert code == 0 and "Tuning is off: GPGPU_LEGACY_TUNING=off" in out
    code, _, err = run("tune")
    assert code == 2
    assert "unset it" in err


def text_of(kept: Path) -> str:
    """What `keep` writes."""
    keep(remembered())
    return kept.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new"), [('"device":', '"devices":'), ('"jit"', '"quantum"'), ("]\n}", "")]
)
def test_a_damaged_file_is_told_of_in_a_line_and_is_not_replaced(
    run: Command, kept: Path, old: str, new: str
) -> None:
    damaged = text_of(kept).replace(old, new)
    kept.write_text(damaged, encoding="utf-8")
    for words in ("tune --show", "tune --forget", "run hall-carr-hart-multi n=4"):
        code, _, err = run(*words.split())
        assert (code, err.count("\n")) == (2, 1)
        assert str(kept) in err and "remove the file" in err
    with pytest.raises(InputError):
        keep(remembered())
    assert kept.read_text(encoding="utf-8") == damaged


# The command -------------------------------------------------------------------------------------


def test_a_search_from_the_command_line_is_shown_kept_and_forgotten(
    run: Command, kept: Path
) -> None:
    words = ("hall-carr-hart-single", "n=16", "--budget", "0.5", "--executor", "jit")
    code, out, _ = run("tune", *words)
    assert code == 0
    assert "hall-carr-hart-single" in out
    code, shown, _ = run("tune", "--show", "--json")
    data = json.loads(shown)
    assert data["file"] == str(kept)
    [one] = data["kept"]
    assert (one["algorithm"], one["parameters"]) == ("hall-carr-hart-single", {"n": 16})
    assert one["way"]["executor"] == "jit"
    keep(remembered())
    assert "Forgot hall-carr-hart-multi." in run("tune", "--forget", "hall-carr-hart-multi")[1]
    assert list(tuned_here()) == ["hall-carr-hart-single"]
    assert "Forgot hall-carr-hart-single." in run("tune", "--forget")[1]
    assert "Forgot nothing." in run("tune", "--forget")[1]
    assert "Nothing is tuned" in run("tune", "--show")[1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--budget", "nan"], "the budget is nan"),
        (["--show", "--forget"], "--show or --forget"),
        (["dobravec-bulic-host", "--executor", "gl-raster"], "gl-raster does not run"),
    ],
)
def test_mistakes_are_refused_in_one_line(
    run: Command, words: list[str], complaint: str, kept: Path
) -> None:
    code, out, err = run("tune", *words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err
    assert not kept.exists()
