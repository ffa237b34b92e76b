"""The command `cache`: runs, sweeps, curves and heat maps.

Expected values come from a plain Python list of the accesses that Larson & McAllister's method
makes, through a list that is a fully associative LRU cache; from the counter; and from hand work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from legible import check_legible
from matplotlib.figure import Figure
from PIL import Image

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.heat_map import heat_map
from gpgpu_legacy.cache.layout import LAYOUTS
from gpgpu_legacy.cache.raster import RASTERS
from gpgpu_legacy.cache.run import cache_run, memory_bytes
from gpgpu_legacy.cli.shared import LAYOUT_HELP, RASTER_HELP
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.studies.cache_sweep.model import Orders, mapped_run, product_cases
from gpgpu_legacy.studies.cache_sweep.table import heat_map_caption

Command = Callable[..., tuple[int, str, str]]
JsonCommand = Callable[..., dict[str, Any]]
LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"


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
    assert quick["iterations_repeated"] > 0 == whole["iterations_repeated"]
    assert quick["iterations"] == whole["iterations_simulated"] == 64
    same = ("accesses", "hits", "bytes_from_memory", "bytes_to_memory", "by_texture", "exact")
    assert [quick[name] for name in same] == [whole[name] for name in same]
    _, out, _ = run(*words)
    assert (
        f"{quick['iterations_simulated']} were simulated. {quick['iterations_repeated']} repeat"
        in out
    )


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
    assert data["iterations_left_out"] > 0
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


@pytest.mark.parametrize("several", [("--curve",), ("--block", "2", "4")])
def test_nothing_is_drawn_of_what_the_budget_left_out(
    run: Command, tmp_path: Path, several: tuple[str, ...]
) -> None:
    plot = tmp_path / "none.svg"
    code, _, err = run(
        "cache", SINGLE, "--size", "16", *several, "--budget", "0", "--plot", str(plot), "--quiet"
    )
    assert (code, err.count("\n")) == (2, 1)
    assert "the budget was spent before a run was complete; give a larger --budget" in err
    assert not plot.exists()


def test_a_product_of_no_size_has_no_heat_map(run: Command, tmp_path: Path) -> None:
    plot = tmp_path / "none.png"
    code, _, err = run("cache", SINGLE, "--size", "0", "--heat-map", str(plot), "--quiet")
    assert (code, plot.exists()) == (2, False)
    assert f"{SINGLE} has no passes to map; give a size of at least 1" in err


# Heat maps ----------------------------------------------------------------------------------------


def test_a_heat_map_by_hand(run: Command, tmp_path: Path, drawn_figures: list[Figure]) -> None:
    """Products at n = 4, a line a matrix row, room for all.

    A fragment makes 3 reads in each of 4 passes. Those at x = 0 are the first to read their rows of
    A and C: 2 of 12 miss. The one at (0, 0) is the first to read each row of B too: 6 of 12.
    """
    words = ("cache", LM, "--size", "4", "--cache", "1K,fully,16B")
    code, _, err = run(*words, "--heat-map", str(tmp_path / "map.png"))
    assert code == 0, err
    [figure] = drawn_figures
    check_legible(figure)
    axes, scale = figure.axes
    [image] = axes.images
    wanted = np.full((4, 4), 1.0)
    wanted[1:, 0], wanted[0, 0] = 10 / 12, 6 / 12
    assert image.get_array().tolist() == wanted.tolist()
    assert image.origin == "lower"
    assert image.get_extent() == [-0.5, 3.5, -0.5, 3.5]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column (x)", "row (y)")
    assert scale.get_ylim() == (0.5, 1.0)
    words_shown = " ".join(text.get_text() for text in figure.texts)
    assert "180 of 192 reads hit" in words_shown


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
    memory = Memory((parse_cache("96,fully,32B"),))
    [case] = product_cases(find_method(LM), [Shape(8, 8, 8)], [Options()], [memory], Orders())
    ran, found = mapped_run(case, "B")
    assert "504 of 512 reads hit" in heat_map_caption(ran, found)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((LM, "--raster", "spiral"), "no raster order 'spiral'; choose from scan"),
        ((LM, "--cache", "3"), 'cache "3" has no ways'),
        ((LM, "--cache", "8K,3way,64B"), "not divide into sets of 3 lines of 64 bytes"),
        ((LM, "--quads", "--raster", "3x3"), "quads of 2x2 fragments do not fill tiles of 3x3"),
        ((LM, "--size", "4", "--shape", "4", "4", "4"), "give --size or --shape, not both"),
        ((LM, "--heat-map", "{tmp}/none/x.png"), "there is no folder"),
        ((LM, "--heat-map", "{tmp}/x.png", "--size", "4", "5"), "--heat-map draws one run"),
        ((LM, "--heat-map", "{tmp}/x.png", "--heat-map-of", "Q"), "no texture Q; choose from A"),
        ((LM, "--heat-map-of", "A"), "name the picture with --heat-map"),
        ((LM, "--plot", "{tmp}/x.png"), "--cache, --size, --in-flight, --raster or"),
        ((LM, "--curve", "--per-texture"), "leave --heat-map, --every-pass"),
        ((LM, "--in-flight", "0"), "in_flight is 0; it must be at least 1"),
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


def test_the_help_names_every_raster_order_and_layout() -> None:
    assert all(spelling.form in RASTER_HELP for spelling in RASTERS)
    assert all(spelling.form in LAYOUT_HELP for spelling in LAYOUTS)
