"""The command `cache`: runs, sweeps and heat maps.

Expected values come from hand work, and from runs of the simulator, which its own tests compare
with plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from legible import check_legible
from matplotlib.figure import Figure
from PIL import Image

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run, memory_bytes

Command = Callable[..., tuple[int, str, str]]
JsonCommand = Callable[..., dict[str, Any]]
LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"


def as_rgb(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


# One run ------------------------------------------------------------------------------------------


def test_what_memory_and_writes_are_is_passed_on(run_json: JsonCommand) -> None:
    words = (
        "cache", MULTI, "n=16", "block=4", "accumulate=ping-pong", "largest_texture=6",
        "--per-texture", "--cache", "256,2way,32B,random", "--second-level", "1K,4way,64B",
        "--writes", "allocate", "--seed", "7", "--layout", "2x2", "--raster", "hilbert",
        "--quads",
    )  # fmt: skip
    data = run_json(*words)
    product_of = find_product(MULTI)
    plan = product_of.plan(n=16, block=4, accumulate="ping-pong", largest_texture=6)
    levels = (parse_cache("256,2way,32B,random"), parse_cache("1K,4way,64B"))
    memory = Memory(levels, per_texture=True, allocate=True, seed=7)
    result = cache_run(plan, memory, parse_access("2x2", "hilbert", quads=True))
    assert [data["hits"], data["bytes_from_memory"]] == [result.hits, result.bytes_from_memory]
    assert [each["hits"] for each in data["levels"]] == [each.hits for each in result.levels]
    assert data["regions"] == [asdict(region) for region in result.regions]
    assert data["allocate"] is data["per_texture"] is True
    assert (data["cache"], data["second_level"]) == ("256,2way,32B,random", "1K,4way,64B")
    assert memory_bytes(result) == data["bytes_from_memory"] + data["bytes_to_memory"]
    assert data["plan"] == MULTI
    assert {"n": 16, "block": 4, "accumulate": "ping-pong"}.items() <= data["parameters"].items()


def test_python_gives_what_the_command_prints(run_json: JsonCommand) -> None:
    data = run_json("cache", "jacobi", "n=16", "passes=2", "--cache", "512,2way,32B",
                    "--layout", "4x4", "--in-flight", "4")  # fmt: skip
    found = find("jacobi", n=16, passes=2).cache("512,2way,32B", layout="4x4", in_flight=4)
    assert {**found.as_dict(), "seconds": 0} == {**data, "seconds": 0}
    assert (data["plan"], data["parameters"]) == ("jacobi", {"n": 16, "passes": 2})
    assert repr(found).startswith(
        "<CacheRun: Through a cache: jacobi: n = 16, passes = 2, 512,2way,32B, scan, 4x4"
    )


def test_the_text_says_everything(run: Command) -> None:
    code, out, _ = run("cache", LM, "n=4", "--cache", "1K,fully,16B", "--all")
    assert code == 0
    # Hand work, as in the heat map below: 12 reads miss, and no write does.
    assert "256 accesses, reads and writes together: 244 hits and 12 misses" in out
    assert "95.31 %" in out
    assert "1\u202f024 bytes requested, 192 from memory (18.8 % of them), 256 to memory" in out
    for words in ("do not allocate", "raster order", "aligned to 4 KiB", "cold", "pass to pass"):
        assert words in out
    assert out.count("\n│ ") == 4  # A, B, C, in all


# Sweeps and the budget ----------------------------------------------------------------------------


def test_a_sweep_has_a_row_a_run_and_a_plot(
    run: Command, run_json: JsonCommand, tmp_path: Path
) -> None:
    words = (
        "cache", SINGLE, "n=16", "block=2,4", "--cache", "512,2way,32B",
        "1K,2way,32B", "--raster", "scan", "4x4", "--layout", "linear", "4x4",
    )  # fmt: skip
    data = run_json(*words)
    assert set(data) == {"runs", "not_run"}
    keys = [
        (each["parameters"]["block"], each["cache"], each["raster"], each["layout"])
        for each in data["runs"]
    ]
    assert sorted(keys) == sorted(
        product((2, 4), ("512,2way,32B", "1K,2way,32B"), ("scan", "tiled:4x4"), ("linear", "4x4"))
    )
    alone = run_json(
        "cache", SINGLE, "n=16", "block=4", "--cache", "1K,2way,32B", "--raster",
        "4x4", "--layout", "4x4",
    )  # fmt: skip
    found = data["runs"][keys.index((4, "1K,2way,32B", "tiled:4x4", "4x4"))]
    assert {**found, "seconds": 0} == {**alone, "seconds": 0}
    plot = tmp_path / "sweep.png"
    code, out, err = run(*words, "--plot", str(plot))
    assert code == 0, err
    assert out.count("\n│ ") == 16
    assert as_rgb(plot).std() > 5.0


def test_what_the_budget_leaves_out_is_said(run: Command, run_json: JsonCommand) -> None:
    words = ("cache", LM, "n=512", "--every-pass", "--quiet", "--budget")
    [cut_short] = run_json(*words, "0.05")["not_run"]
    assert cut_short["reason"] == "the budget was spent"
    nothing = run_json(*words, "0")
    assert nothing["runs"] == []
    [not_run] = nothing["not_run"]
    assert (not_run["parameters"]["n"], not_run["reason"]) == (512, "the budget was spent")
    code, out, _ = run(*words, "0")
    assert code == 0
    assert "Not run" in out


# Heat maps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("scan",), ("3x3",), ("scan", "--quads")])
def test_a_heat_map_by_hand(
    run: Command, tmp_path: Path, drawn_figures: list[Figure], order: tuple[str, ...]
) -> None:
    """Products at n = 4, a line a matrix row, room for all.

    A fragment makes 3 reads in each of 4 passes. Those at x = 0 are the first to read their rows of
    A and C: 2 of 12 miss. The one at (0, 0) is the first to read each row of B too: 6 of 12.
    """
    words = ("cache", LM, "n=4", "--cache", "1K,fully,16B", "--raster", *order)
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


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((LM, "--raster", "spiral"), "no raster order 'spiral'; choose from scan"),
        ((LM, "--cache", "3"), 'cache "3" has no ways'),
        ((LM, "--cache", "8K,3way,64B"), "not divide into sets of 3 lines of 64 bytes"),
        ((LM, "--quads", "--raster", "3x3"), "quads of 2x2 fragments do not fill tiles of 3x3"),
        ((LM, "n=4,x"), "n is 'x'; give a whole number"),
        ((LM, "--heat-map", "{tmp}/x.png", "--plot", "{tmp}/y.png"), "leave --plot out"),
        ((LM, "--heat-map", "{tmp}/none/x.png"), "there is no folder"),
        ((LM, "--heat-map", "{tmp}/x.png", "n=4,5"), "--heat-map draws one run"),
        ((LM, "--plot", "{tmp}/x.png"), "a parameter, as in n=256,512, or of --cache, --in-flight"),
        ((LM, "--in-flight", "0"), "in_flight is 0; it must be at least 1"),
        (("mali-sgemm", "--heat-map", "{tmp}/x.png", "n=4"), "draws no fragments"),
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
