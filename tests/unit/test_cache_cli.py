"""Caches from the command line: runs, sweeps, curves, heat maps, the table and its verdict.

Expected values come from a plain Python list of the accesses that Larson & McAllister's method
makes, through a list that is a fully associative LRU cache; from the counter; and from hand work.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gpgpu_legacy import cli
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.heat_map import heat_map
from gpgpu_legacy.cache.run import cache_run, memory_bytes
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.cache_sweep.heat_map import MARGIN
from gpgpu_legacy.studies.cache_sweep.model import asks, mapped_run
from gpgpu_legacy.studies.cache_sweep.table import heat_map_caption
from gpgpu_legacy.studies.cache_table import model as cache_table

Command = Callable[..., tuple[int, str, str]]
JsonCommand = Callable[..., dict[str, Any]]
LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"


@pytest.fixture
def run_json(run: Command) -> JsonCommand:
    """Run a command line with --json, and read what it prints."""

    def command(*words: str) -> dict[str, Any]:
        code, out, err = run(*words, "--json")
        assert code == 0, err
        data = json.loads(out)
        assert isinstance(data, dict)
        return data

    return command


def as_rgb(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


# Plain Python -------------------------------------------------------------------------------------

Place = tuple[int, int]
Access = tuple[str, int, int, bool, Place]
"""Texture, row, column, whether it is a write, and the fragment, y before x."""


def larson_mcallister(size: int, groups: list[list[Place]]) -> Iterator[Access]:
    """Figure 1 of Hall, Carr & Hart 2003: column i of A by row i of B, blended into C.

    groups: fragments that take each access in turn; one each, or a quad's.
    """
    for i in range(size):
        for group in groups:
            for texture, is_write in (("A", False), ("B", False), ("C", False), ("C", True)):
                for y, x in group:
                    row, column = {"A": (y, i), "B": (i, x), "C": (y, x)}[texture]
                    yield texture, row, column, is_write, (y, x)


def line_of(access: Access, size: int, line_bytes: int) -> int:
    """In linear r32f textures, each aligned to 4 KiB."""
    texture, row, column, _, _ = access
    base = "ABC".index(texture) * (-(-size * size * 4 // 4096) * 4096)
    return (base + (row * size + column) * 4) // line_bytes


def fully_associative(
    accesses: Iterable[Access], size: int, lines: int, line_bytes: int, *, allocate: bool = False
) -> list[tuple[Access, bool]]:
    """Each access with whether it hit an LRU cache of so many lines."""
    held: list[int] = []
    outcomes = []
    for access in accesses:
        line = line_of(access, size, line_bytes)
        hit = line in held
        if hit:
            held.remove(line)
        if hit or allocate or not access[3]:
            held.append(line)
            del held[:-lines]
        outcomes.append((access, hit))
    return outcomes


def scan(size: int) -> list[list[Place]]:
    return [[(y, x)] for y in range(size) for x in range(size)]


def tiles_of_3x3(size: int) -> list[list[Place]]:
    return [
        [(y, x)]
        for top, left in product(range(0, size, 3), repeat=2)
        for y in range(top, min(size, top + 3))
        for x in range(left, min(size, left + 3))
    ]


def quads(size: int) -> list[list[Place]]:
    order = ((0, 0), (0, 1), (1, 0), (1, 1))  # y before x: x goes first
    return [
        [(y + j, x + i) for j, i in order if y + j < size and x + i < size]
        for y, x in product(range(0, size, 2), repeat=2)
    ]


ORDERS = {("scan",): scan, ("3x3",): tiles_of_3x3, ("scan", "--quads"): quads}


# One run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS, ids="+".join)
@pytest.mark.parametrize("size", [6, 7])
def test_a_run_against_plain_python(
    run_json: JsonCommand, order: tuple[str, ...], size: int
) -> None:
    data = run_json(
        "cache", LM, "--size", str(size), "--cache", "192,fully,32B", "--raster", *order
    )
    outcomes = fully_associative(larson_mcallister(size, ORDERS[order](size)), size, 6, 32)
    assert data["accesses"] == len(outcomes) == 4 * size**3
    assert data["hits"] == sum(hit for _, hit in outcomes)
    assert data["misses"] == data["accesses"] - data["hits"]
    assert data["bytes_requested"] == 16 * size**3
    read_misses = Counter(access[0] for access, hit in outcomes if not access[3] and not hit)
    assert data["bytes_from_memory"] == 32 * sum(read_misses.values())
    assert data["bytes_to_memory"] == 4 * size**3
    assert set(data["by_texture"]) == set("ABC")
    for name, found in data["by_texture"].items():
        reads = [hit for access, hit in outcomes if access[0] == name and not access[3]]
        writes = [hit for access, hit in outcomes if access[0] == name and access[3]]
        assert (found["reads"], found["read_hits"]) == (len(reads), sum(reads))
        assert (found["writes"], found["write_hits"]) == (len(writes), sum(writes))
        assert found["bytes_from_memory"] == 32 * read_misses[name]
    assert (data["method"], data["size"], data["block"]) == (LM, size, None)
    assert (data["cache"], data["layout"], data["exact"]) == ("192,fully,32B", "linear", True)
    assert data["raster"] == {"3x3": "tiled:3x3"}.get(order[0], order[0])
    assert data["quads"] == ("--quads" in order)
    assert data["write_policy"] == "no-allocate"


@pytest.mark.parametrize("method", [method.name for method in methods()])
def test_bytes_requested_are_the_counters(run_json: JsonCommand, method: str) -> None:
    data = run_json("cache", method, "--size", "8")
    counts = count_plan(find_method(method).plan(Shape(8, 8, 8)))
    requested = sum(
        each["bytes_requested"]
        for name, each in data["by_texture"].items()
        if name not in {"As", "Bs", "A_s", "B_s"}  # shared arrays, which the counter has apart
    )
    assert requested == counts.bytes_requested + counts.copy_bytes
    assert data["raster"] == (None if counts.dispatches else "scan")
    assert data["accesses"] == sum(each["accesses"] for each in data["by_texture"].values())
    assert data["levels"][0] == {"hits": data["hits"], "misses": data["misses"]}


def test_what_memory_and_writes_are_is_passed_on(run_json: JsonCommand) -> None:
    words = (
        "cache", MULTI, "--size", "16", "--block", "4", "--accumulate", "ping-pong",
        "--per-texture", "--cache", "256,2way,32B,random", "--second-level", "1K,4way,64B",
        "--writes", "allocate", "--seed", "7", "--layout", "2x2", "--raster", "hilbert",
        "--quads", "--largest-texture", "6",
    )  # fmt: skip
    data = run_json(*words)
    plan = find_method(MULTI).plan(
        Shape(16, 16, 16),
        Options(block=4, accumulate=Accumulate.PING_PONG, largest_texture=6),
    )
    levels = (parse_cache("256,2way,32B,random"), parse_cache("1K,4way,64B"))
    memory = Memory(levels, per_texture=True, allocate=True, seed=7)
    result = cache_run(plan, memory, parse_access("2x2", "hilbert", quads=True))
    assert [data["hits"], data["bytes_from_memory"]] == [result.hits, result.bytes_from_memory]
    assert [each["hits"] for each in data["levels"]] == [each.hits for each in result.levels]
    assert data["write_policy"] == "allocate"
    assert (data["second_level"], data["per_texture"]) == ("1K,4way,64B", True)
    assert memory_bytes(result) == data["bytes_from_memory"] + data["bytes_to_memory"]


def test_turns_that_repeat_are_simulated_once_and_said_to_be(
    run: Command, run_json: JsonCommand
) -> None:
    words = ("cache", LM, "--size", "64", "--cache", "1K,fully,64B")
    quick, whole = run_json(*words), run_json(*words, "--every-pass")
    assert quick["turns_repeated"] > 0 == whole["turns_repeated"]
    assert quick["turns"] == whole["turns_simulated"] == 64
    same = ("accesses", "hits", "bytes_from_memory", "bytes_to_memory", "by_texture", "exact")
    assert [quick[name] for name in same] == [whole[name] for name in same]
    _, out, _ = run(*words)
    assert f"{quick['turns_simulated']} were simulated. {quick['turns_repeated']} repeat" in out


def test_the_text_says_everything(run: Command) -> None:
    code, out, _ = run("cache", LM, "--size", "4", "--cache", "1K,fully,16B")
    assert code == 0
    # Hand work, as in the heat map below: 12 reads miss, and no write does.
    assert "256 accesses, reads and writes together: 244 hits and 12 misses" in out
    assert "95.31 %" in out
    assert "1,024 bytes requested, 192 from memory (18.8 % of them), 256 to memory" in out
    for words in ("do not allocate", "raster order", "aligned to 4 KiB", "cold", "pass to pass"):
        assert words in out
    assert out.count("\n│ ") == 4  # A, B, C, in all


# Sweeps and the budget ----------------------------------------------------------------------------


def test_a_sweep_has_a_row_a_run_and_a_plot(
    run: Command, run_json: JsonCommand, tmp_path: Path
) -> None:
    words = (
        "cache", SINGLE, "--size", "16", "--block", "2", "4", "--cache", "512,2way,32B",
        "1K,2way,32B", "--raster", "scan", "4x4", "--layout", "linear", "4x4",
    )  # fmt: skip
    data = run_json(*words)
    assert set(data) == {"runs", "not_run"}
    keys = [tuple(each[k] for k in ("block", "cache", "raster", "layout")) for each in data["runs"]]
    assert sorted(keys) == sorted(
        product((2, 4), ("512,2way,32B", "1K,2way,32B"), ("scan", "tiled:4x4"), ("linear", "4x4"))
    )
    alone = run_json(
        "cache", SINGLE, "--size", "16", "--block", "4", "--cache", "1K,2way,32B", "--raster",
        "4x4", "--layout", "4x4",
    )  # fmt: skip
    found = data["runs"][keys.index((4, "1K,2way,32B", "tiled:4x4", "4x4"))]
    assert {**found, "seconds": 0} == {**alone, "seconds": 0}
    plot = tmp_path / "sweep.png"
    code, out, err = run(*words, "--plot", str(plot))
    assert code == 0, err
    assert out.count("\n│ ") == 16
    assert as_rgb(plot).std() > 5.0


def test_what_the_budget_leaves_out_is_said_and_not_counted(
    run: Command, run_json: JsonCommand
) -> None:
    words = ("cache", LM, "--size", "512", "--every-pass", "--quiet", "--budget")
    data = run_json(*words, "0.05")
    assert data["exact"] is False
    assert data["turns_left_out"] > 0
    assert data["accesses"] + data["accesses_left_out"] == 4 * 512**3
    _, out, _ = run(*words, "0.05")
    assert "The budget left out" in out
    nothing = run_json(*words, "0")
    assert nothing["runs"] == []
    [not_run] = nothing["not_run"]
    assert (not_run["size"], not_run["reason"]) == (512, "the budget was spent")
    code, out, _ = run(*words, "0")
    assert code == 0
    assert "Not run" in out


@pytest.mark.parametrize(
    "several", [("--cache", "1K,2way,64B", "2K,2way,64B"), ("--raster", "scan", "4x4", "hilbert")]
)
def test_a_sweep_without_blocks_has_a_plot_too(
    run: Command, tmp_path: Path, several: tuple[str, ...]
) -> None:
    plot = tmp_path / "sweep.png"
    words = ("--size", "16", *several, "--layout", "linear", "4x4", "--plot", str(plot))
    code, _, err = run("cache", LM, *words)
    assert code == 0, err
    assert as_rgb(plot).std() > 5.0


def test_progress_is_a_hundred_steps_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    @contextmanager
    def bar(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
        assert (what, total, quiet) == ("simulating", 200, False)
        yield told.append

    monkeypatch.setattr(cli.cache, "progress_bar", bar)
    asked: list[Any] = ["one", "other"]
    with cli.cache._progress("simulating", asked, quiet=False) as progress:
        report = progress(asked[0])
        assert report is not None
        for done, steps in ((0.0, 0), (0.015, 1), (0.5, 50), (0.5, 50), (1.0, 100)):
            report(done)
            assert told == ["one"] * steps


# Curves -------------------------------------------------------------------------------------------


def test_a_curve_is_that_of_plain_lru_caches(run_json: JsonCommand, tmp_path: Path) -> None:
    plot = tmp_path / "curve.png"
    words = ("cache", LM, "--size", "7", "--curve", "--cache", "1K,2way,32B")
    data = run_json(*words, "--plot", str(plot))
    accesses = list(larson_mcallister(7, scan(7)))
    assert data["accesses"] == len(accesses)
    assert data["cold_misses"] == len({line_of(access, 7, 32) for access in accesses})
    for point in data["curve"]:
        outcomes = fully_associative(accesses, 7, point["lines"], 32, allocate=True)
        assert point["misses"] == sum(not hit for _, hit in outcomes)
        assert point["bytes"] == 32 * point["lines"]
    misses = [point["misses"] for point in data["curve"]]
    assert data["curve"][0]["lines"] == 1 and misses[-1] == data["cold_misses"]
    assert misses == sorted(set(misses), reverse=True)
    assert as_rgb(plot).std() > 2.0


def test_several_curves(run: Command, run_json: JsonCommand) -> None:
    words = ("cache", SINGLE, "--size", "16", "--curve", "--block", "2", "4")
    data = run_json(*words)
    assert [each["block"] for each in data["curves"]] == [2, 4]
    code, out, _ = run(*words)
    assert code == 0
    assert out.count("misses of every fully associative LRU cache") == 2
    assert len(run_json(*words, "--budget", "0")["not_run"]) == 2


# Heat maps ----------------------------------------------------------------------------------------


def test_a_heat_map_by_hand(run: Command, tmp_path: Path) -> None:
    """Products at n = 4, a line a matrix row, room for all.

    A fragment makes 3 reads in each of 4 passes. Those at x = 0 are the first to read their rows of
    A and C: 2 of 12 miss. The one at (0, 0) is the first to read each row of B too: 6 of 12.
    """
    path = tmp_path / "map.png"
    words = ("cache", LM, "--size", "4", "--cache", "1K,fully,16B", "--heat-map", f"{path}")
    code, _, err = run(*words)
    assert code == 0, err
    picture = as_rgb(path)
    side = 256 // 4

    def pixel(x: int, y: int) -> tuple[int, ...]:
        """Of the fragment; row 0 is the lowest."""
        return tuple(picture[MARGIN + (3 - y) * side + side // 2, MARGIN + x * side + side // 2])

    def scale(share: float) -> tuple[int, ...]:
        """The colour of the picture's own scale, so far from its lowest to its highest ratio."""
        return tuple(picture[MARGIN + round(255 * (1.0 - share)), 2 * MARGIN + 256 + 5])

    assert pixel(0, 0) == scale(0.0)  # 6 of 12 hit, the lowest
    assert [pixel(0, y) for y in (1, 2, 3)] == [scale(2 / 3)] * 3  # 10 of 12
    assert {pixel(x, y) for x in (1, 2, 3) for y in range(4)} == {scale(1.0)}  # 12 of 12
    assert len({scale(0.0), scale(2 / 3), scale(1.0)}) == 3


def test_the_old_spelling_of_heat_maps_works_with_a_line_on_stderr(
    run: Command, tmp_path: Path
) -> None:
    words = ("cache", LM, "--size", "4", "--quiet")
    new, old = tmp_path / "new.png", tmp_path / "old.png"
    code, _, err = run(*words, "--heat-map", str(new), "--heat-map-of", "A")
    assert (code, err) == (0, f"wrote {new}\n")
    code, _, err = run(*words, f"--hit-map={old}", "--hit-map-of", "A")
    assert code == 0
    assert err.splitlines() == [
        "gpgpu-legacy: --hit-map is deprecated; write --heat-map",
        "gpgpu-legacy: --hit-map-of is deprecated; write --heat-map-of",
        f"wrote {old}",
    ]
    assert (as_rgb(old) == as_rgb(new)).all()


@pytest.mark.parametrize("order", ORDERS, ids="+".join)
def test_a_heat_map_by_fragment_against_plain_python(order: tuple[str, ...]) -> None:
    size = 7
    plan = find_method(LM).plan(Shape(size, size, size))
    memory = Memory((parse_cache("192,fully,32B"),))
    result, found = heat_map(plan, memory, parse_access(raster=order[0], quads=len(order) > 1))
    hits = np.zeros((size, size), int)
    for access, hit in fully_associative(larson_mcallister(size, ORDERS[order](size)), size, 6, 32):
        hits[access[4]] += hit and not access[3]
    assert (found.reads == 3 * size).all()
    assert found.hits.tolist() == hits.tolist()
    assert result.exact


def test_a_heat_map_by_texel_against_plain_python() -> None:
    size = 8  # a line is a row
    plan = find_method(LM).plan(Shape(size, size, size))
    memory = Memory((parse_cache("96,fully,32B"),))
    outcomes = fully_associative(larson_mcallister(size, scan(size)), size, 3, 32)
    for name in "ABC":
        _, found = heat_map(plan, memory, texture=name)
        reads = [access[1] for access, _ in outcomes if access[0] == name and not access[3]]
        hit = [access[1] for access, h in outcomes if access[0] == name and not access[3] and h]
        assert found.reads.tolist() == [[Counter(reads)[row]] * size for row in range(size)]
        assert found.hits.tolist() == [[Counter(hit)[row]] * size for row in range(size)]


def test_a_heat_map_of_blocked_layouts_copies_and_clears() -> None:
    plan = find_method(SINGLE).plan(Shape(20, 20, 20), Options(block=4))
    memory = Memory((parse_cache("1K,2way,64B"),))
    access = parse_access("4x4", "morton")
    result, found = heat_map(plan, memory, access)
    passes, reads = 5, 2 * 4 + 1
    assert (found.reads == passes * reads).all()
    by_name = {each.name: each for each in result.regions}
    of_copies = 20 * 20 * passes  # each reads C
    assert found.reads.sum() == sum(each.reads for each in result.regions) - of_copies
    assert by_name["C"].reads == of_copies
    _, of_f = heat_map(plan, memory, access, texture="F")
    blocks = of_f.reads.reshape(5, 4, 5, 4)
    assert (blocks == blocks[:, :1, :, :1]).all()  # a 4×4 block of r32f is a line
    assert blocks[:, 0, :, 0].sum() == by_name["F"].reads
    assert of_f.hits.reshape(5, 4, 5, 4)[:, 0, :, 0].sum() == by_name["F"].read_hits
    assert (of_f.all_reads, of_f.all_hits) == (by_name["F"].reads, by_name["F"].read_hits)


def test_the_caption_of_a_heat_map_counts_each_read_once() -> None:
    """A row of B is a line: all of its 8 texels have the line's numbers, its reads are 8³ in all.

    Pass k reads row k of B for every fragment, and it stays in the cache: a miss in each of 8.
    """
    [ask] = asks(
        find_method(LM), [Shape(8, 8, 8)], [Options()], [Memory((parse_cache("96,fully,32B"),))]
    )
    ran, found = mapped_run(ask, "B")
    assert "504 of 512 reads hit" in heat_map_caption(ran, found)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("no-such-method",), "there is no method no-such-method"),
        ((LM, "--layout", "diagonal"), "no texture layout 'diagonal'; choose from linear"),
        ((LM, "--raster", "spiral"), "no raster order 'spiral'; choose from scan"),
        ((LM, "--cache", "3"), 'cache "3" has no ways'),
        ((LM, "--cache", "8K,3way,64B"), "not whole sets of 3 × 64 bytes"),
        ((LM, "--cache", "8K,4way,48B"), "must be a power of two"),
        ((MULTI, "--cache", "1K,4way,8B"), "a line of 8 bytes does not hold whole texels"),
        ((SINGLE, "--block", "9000"), "does not fit a texture of 8192 texels"),
        ((SINGLE, "--block", "0"), "it must be at least 1"),
        ((LM, "--block", "4"), "takes no --block"),
        ((LM, "--quads", "--raster", "3x3"), "quads of 2x2 fragments do not fill tiles of 3x3"),
        ((LM, "--second-level", "8K,4way,32B"), "level 2 has lines of 32 bytes"),
        ((LM, "--size", "4", "--shape", "4", "4", "4"), "give --size or --shape, not both"),
        ((LM, "--budget", "-1"), "give a number of seconds, 0 or more"),
        ((LM, "--heat-map", "{tmp}/none/x.png"), "there is no folder"),
        ((LM, "--heat-map", "{tmp}/x.jpg"), "should end in .png"),
        ((LM, "--heat-map", "{tmp}/x.png", "--size", "4", "5"), "--heat-map draws one run"),
        ((LM, "--heat-map", "{tmp}/x.png", "--heat-map-of", "Q"), "no texture Q; choose from A"),
        ((LM, "--heat-map-of", "A"), "give --heat-map, the picture to draw"),
        ((LM, "--plot", "{tmp}/x.png"), "give several of --block, --cache, --size, --raster or"),
        ((LM, "--plot", "{tmp}/none/x.png", "--size", "4", "5"), "there is no folder"),
        ((LM, "--curve", "--per-texture"), "leave --heat-map, --every-pass"),
        ((LM, "--curve", "--writes", "no-allocate"), "leave --writes out or give allocate"),
        (("mali-sgemm", "--raster", "scan"), "have neither a raster order"),
        (("mali-sgemm", "--heat-map", "{tmp}/x.png", "--size", "4"), "with --heat-map-of"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    run: Command, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    code, out, err = run("cache", *(word.replace("{tmp}", str(tmp_path)) for word in words))
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# The table ----------------------------------------------------------------------------------------

SMALL = (
    "cache-table", "--size", "16", "--block", "1", "2", "4", "8", "--cache", "256,2way,32B",
    "512,fully,32B", "--raster", "4x4", "--layout", "linear", "--quiet",
)  # fmt: skip


def test_the_table_at_a_small_size(run: Command, run_json: JsonCommand, tmp_path: Path) -> None:
    recorded, plot = tmp_path / "table.json", tmp_path / "table.png"
    data = run_json(*SMALL, "-o", str(recorded), "--plot", str(plot))
    assert len(data["rows"]) == 2 * (1 + 2 * 4)
    assert data["not_run"] == []
    n = 16
    for row in data["rows"]:
        b = row["block"]
        texels = {LM: 16 * n**3, SINGLE: b and 8 * n**3 * (b + 1) // b}.get(
            row["method"], b and 4 * n**3 * (b + 1) // b
        )
        assert row["bytes_requested"] == texels  # the paper's Table 1
        run_of = find_method(row["method"]).plan(
            Shape(n, n, n),
            Options(block=b, accumulate=Accumulate.PING_PONG) if b else Options(),
        )
        memory = Memory((parse_cache(row["cache"]),))
        result = cache_run(run_of, memory, parse_access(raster=row["raster"]), every_pass=True)
        assert (row["accesses"], row["hits"]) == (result.accesses, result.hits)
        assert row["bytes_from_memory"] == result.bytes_from_memory
        operands = [each for each in result.regions if each.name in {"A", "B"}]
        assert row["operand_bytes_from_memory"] == sum(e.bytes_from_memory for e in operands)
    check_verdict(data)
    written = json.loads(recorded.read_text("utf-8"))
    assert written["verdict"]["sentences"] == data["verdict"]["sentences"]
    assert all(
        few.items() <= row.items() for few, row in zip(written["rows"], data["rows"], strict=True)
    )
    assert recorded.read_text("utf-8").count("\n") < 100
    assert written["schema"] == 1 and written["date"] and written["package"]
    assert as_rgb(plot).std() > 5.0
    assert run_json("cache-table", "--from", str(recorded)) == data
    code, out, _ = run("cache-table", "--from", str(recorded))
    assert code == 0
    for sentence in data["verdict"]["sentences"]:
        assert f"• {sentence}\n" in out


def check_verdict(data: dict[str, Any]) -> None:
    """Each judgement and the summing-up sentence, worked out from the rows."""
    names = ("cache", "raster", "layout")
    found = {(r["method"], r["block"], *(r[k] for k in names)): r for r in data["rows"]}
    fewer_at_every_b = 0
    for each in data["verdict"]["settings"]:
        place = tuple(each[name] for name in names)
        before = found[LM, None, *place]
        rows = [found[each["method"], b, *place] for b in (1, 2, 4, 8)]
        taken = [row["bytes_from_memory"] for row in rows]
        assert each["best_block"] == (1, 2, 4, 8)[taken.index(min(taken))]
        ratio = min(taken) / before["bytes_from_memory"]
        assert each["bytes_from_memory"] == pytest.approx(ratio, abs=1e-6)
        assert each["fewer_bytes_at"] == [
            row["block"] for row in rows if row["bytes_from_memory"] < before["bytes_from_memory"]
        ]
        assert each["higher_read_hit_ratio_at"] == [
            row["block"]
            for row in rows
            if row["read_hits"] * before["reads"] > before["read_hits"] * row["reads"]
        ]
        assert each["more_reuse_at"] == [
            row["block"]
            for row in rows
            if row["operand_bytes_from_memory"] * before["operand_bytes_requested"]
            < before["operand_bytes_from_memory"] * row["operand_bytes_requested"]
        ]
        assert each["largest_over_best"] == pytest.approx(taken[-1] / min(taken), abs=1e-6)
        never_more = all(count <= before["bytes_from_memory"] for count in taken)
        fewer_at_every_b += never_more and each["method"] == SINGLE and bool(each["fewer_bytes_at"])
    settings = len(data["verdict"]["settings"]) // 2
    [sentence] = [
        each
        for each in data["verdict"]["sentences"]
        if each.startswith(f"{SINGLE} has fewer bytes from memory")
    ]
    assert f"at every b in {fewer_at_every_b} of {settings} settings" in sentence


def record(case: tuple[str, int | None, str], *counts: int) -> dict[str, Any]:
    """A row of a made-up table: 1000 accesses, 750 of them reads, 4 bytes each.

    counts: bytes from memory, those of A and B, and how many reads hit.
    """
    (method, block, cache), (from_memory, operands, hits) = case, counts
    return {
        "method": method, "block": block, "cache": cache, "raster": "scan", "layout": "linear",
        "accesses": 1000, "hits": hits, "reads": 750, "read_hits": hits,
        "bytes_requested": 4000, "bytes_from_memory": from_memory, "bytes_to_memory": 1000,
        "operand_bytes_requested": 2000, "operand_bytes_from_memory": operands,
    }  # fmt: skip


def test_the_verdict_by_hand(run_json: JsonCommand, tmp_path: Path) -> None:
    small, large = "1K,4way,64B", "8K,4way,64B"
    rows = [
        record((LM, None, small), 1000, 500, 600),
        record((SINGLE, 8, small), 500, 250, 650),
        record((SINGLE, 16, small), 1000, 500, 600),
        record((SINGLE, 32, small), 4000, 3500, 100),
        record((LM, None, large), 800, 400, 700),
        record((SINGLE, 8, large), 400, 200, 710),
        record((SINGLE, 16, large), 200, 100, 720),
        record((SINGLE, 32, large), 100, 50, 730),
    ]
    path = tmp_path / "table.json"
    data = {
        "size": 64, "accumulate": "ping-pong", "rows": rows, "not_run": [], "budget_s": 1.0,
        "spent_s": 1.0,
    }  # fmt: skip
    path.write_text(json.dumps(data))
    said = run_json("cache-table", "--from", str(path))["verdict"]["sentences"]
    text = "\n".join(said)
    assert (
        f"{SINGLE} has fewer bytes from memory at every b in 1 of 2 settings (scan, linear with "
        f"{large}); at some b only in 1, the largest such b being 8 with {small}." in said
    )
    assert (
        f"{SINGLE} reads the fewest bytes from memory at b = 8 with {small}, 32 with {large}; by "
        "raster order and layout, at b = 8 to 32 with scan and linear. At its best b it reads "
        f"0.125 ({large}, scan, linear) to 0.5 ({small}, scan, linear) times the bytes of {LM}."
        in said
    )
    assert f"1 of 2 settings (scan, linear with {small}); the first such b is 16 with " in text
    assert f"b = 32 reads 8 times the bytes of b = 8 ({small}, scan, linear)" in text
    assert "its texels hold one element" in text
    assert f"0.125 to 0.5 times that of {LM}" in text
    assert (
        f"Overall, {SINGLE} has a higher hit ratio of reads at every b in 1 of 2 settings (scan, "
        f"linear with {large}); at the b with the fewest bytes in 2 of 2 settings; at b = 32, the "
        f"paper's choice, in 1 of 2 settings (scan, linear with {large})." in said
    )


def test_the_table_says_what_was_not_run(run: Command, run_json: JsonCommand) -> None:
    data = run_json(*SMALL, "--budget", "0")
    assert data["rows"] == []
    assert {each["reason"] for each in data["not_run"]} == {"the budget was spent"}
    assert len(data["not_run"]) == 18
    assert data["verdict"]["sentences"][0].endswith("No verdict.")
    code, out, _ = run(*SMALL, "--budget", "0")
    assert code == 0
    assert "Not run, with a budget of 0 s." in out


def test_what_a_table_checks_first_is_once_a_plan_and_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of it comes before the budget begins: hundreds of settings must not be hundreds of it."""
    checked = []
    monkeypatch.setattr(cache_table, "plan_trace", lambda plan, line, _: checked.append(line))
    where = cache_table.settings(
        ("1K,4way,64B", "2K,4way,64B", "2K,2way,128B"), ("scan", "morton"), ("linear", "8x8")
    )
    products = cache_table.Products(8, (1, 2), Accumulate.COPY)
    table = cache_table.make_table(products, where, Budget(0.0))
    assert Counter(checked) == {64: 5, 128: 5}  # one method without a block, two with two
    assert len(table.not_run) == 12 * 5


def test_a_table_is_resumed_and_judged_where_it_is_whole(
    run_json: JsonCommand, tmp_path: Path
) -> None:
    small, larger, all_of_it = (tmp_path / f"{name}.json" for name in ("a", "b", "c"))
    words = ("cache-table", "--size", "8", "--block", "2", "--raster", "scan", "--layout", "linear")
    first = run_json(*words, "--cache", "256,2way,32B", "-o", str(small))
    both = ("--cache", "512,2way,32B", "256,2way,32B", "--resume")
    data = json.loads(small.read_text())
    data["rows"][0]["hits"] += 1  # a mark, for rows to be known again by
    small.write_text(json.dumps(data))
    partly = run_json(*words, *both, str(small), "--budget", "0", "-o", str(larger))
    assert [row["hits"] for row in partly["rows"]] == [row["hits"] for row in data["rows"]]
    assert [each["cache"] for each in partly["not_run"]] == ["512,2way,32B"] * 3
    assert [each["cache"] for each in partly["verdict"]["settings"]] == ["256,2way,32B"] * 2
    assert partly["verdict"]["sentences"][-1] == (
        "3 cases were not simulated. The verdict therefore leaves out 1 of 2 settings: scan, "
        "linear with 512,2way,32B."
    )
    whole = run_json(*words, *both, str(larger), "-o", str(all_of_it))
    assert len(whole["rows"]) == 6
    assert whole["not_run"] == []
    assert whole["rows"][3]["hits"] == first["rows"][0]["hits"] + 1
    assert len(whole["verdict"]["settings"]) == 4


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--workers", "0"), "give at least 1"),
        (("--resume", "{tmp}/x.json"), "there is no file"),
        (("--size", "0"), "it must be at least 1"),
        (("--block", "0"), "it must be at least 1"),
        (("--cache", "8K"), "has no ways"),
        (("--raster", "spiral"), "no raster order"),
        (("--budget", "nan"), "give a number of seconds"),
        (("-o", "{tmp}/x.txt"), "should end in .json"),
        (("-o", "{tmp}/none/x.json"), "there is no folder"),
        (("--plot", "{tmp}/x.gif"), "should end in .png"),
        (("--from", "{tmp}/x.json"), "there is no file"),
        (("--from", "{tmp}/x.json", "--size", "4"), "leave what to simulate out"),
        (("--cache", "64,direct,8B"), "does not hold whole texels"),
    ],
)  # fmt: skip
def test_bad_input_of_the_table_is_one_line(
    run: Command, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    words = tuple(word.replace("{tmp}", str(tmp_path)) for word in words)
    size = () if {"--size", "--from"} & set(words) else ("--size", "4")
    code, out, err = run("cache-table", *size, *words)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_recorded_table_of_the_repository_reads(run_json: JsonCommand) -> None:
    recorded = Path(__file__).parents[2] / "benchmarks" / "cache-table.json"
    data = run_json("cache-table", "--from", str(recorded))
    assert len(data["rows"]) == 5 * 3 * 2 * (1 + 2 * 8)
    assert len(data["verdict"]["settings"]) == 60


def test_the_recorded_throughput_of_the_repository_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    script = import_module("cache_throughput")
    recorded = read_recorded(folder / "cache-throughput.json", script.Throughput)
    assert len(recorded.rows) == 12
    assert recorded.date is None  # it was recorded before files had a provenance


@pytest.mark.parametrize(
    "damage", [{"rows": [{}]}, {"size": "large"}, {"accumulate": "sideways"}, {"not_run": 3}]
)
def test_a_damaged_table_is_one_line(run: Command, tmp_path: Path, damage: dict[str, Any]) -> None:
    whole = {
        "size": 4, "accumulate": "copy", "rows": [], "not_run": [], "budget_s": 1.0, "spent_s": 1.0
    }  # fmt: skip
    path = tmp_path / "table.json"
    path.write_text(json.dumps({**whole, **damage}))
    code, _, err = run("cache-table", "--from", str(path))
    assert code == 2
    assert str(path) in err
    assert err.count("\n") == 1
