"""The table of the blocked methods through caches: its rows, its verdict, and its files.

Expected values come from single simulations, from the paper's Table 1, and from hand work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command, JsonCommand
from PIL import Image

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.shared.cache_rows import CacheTable, Measure

LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"
TABLE = ("study", "cache-table")


SMALL = (
    *TABLE, "--size", "16", "--block", "1,2,4,8", "--cache", "256,2way,32B",
    "512,fully,32B", "--raster", "4x4", "--layout", "linear", "--in-flight", "1,16", "--quiet",
)  # fmt: skip


def test_the_table_at_a_small_size(run: Command, run_json: JsonCommand, tmp_path: Path) -> None:
    recorded, plot = tmp_path / "table.json", tmp_path / "table.png"
    data = run_json(*SMALL, "-o", str(recorded), "--plot", str(plot))
    assert len(data["rows"]) == 2 * 2 * (1 + 2 * 4)
    assert data["not_run"] == []
    n = 16
    for row in data["rows"]:
        b = row["block"]
        texels = {LM: 16 * n**3, SINGLE: b and 8 * n**3 * (b + 1) // b}.get(
            row["method"], b and 4 * n**3 * (b + 1) // b
        )
        assert row["bytes_requested"] == texels  # the paper's Table 1
        blocked = {"block": b, "accumulate": Accumulate.PING_PONG} if b else {}
        run_of = find_product(row["method"]).plan(n=n, **blocked)
        memory = Memory((parse_cache(row["cache"]),))
        access = parse_access(raster=row["raster"], in_flight=row["in_flight"])
        result = cache_run(run_of, memory, access, every_pass=True)
        assert (row["accesses"], row["hits"]) == (result.accesses, result.hits)
        assert row["bytes_from_memory"] == result.bytes_from_memory
        operands = [each for each in result.regions if each.name in {"A", "B"}]
        assert row["operand_bytes_from_memory"] == sum(e.bytes_from_memory for e in operands)
    written = json.loads(recorded.read_text("utf-8"))
    assert written == data
    assert recorded.read_text("utf-8").count("\n") < 100
    assert written["schema"] == 1 and written["date"] and written["package"]
    assert np.asarray(Image.open(plot).convert("RGB")).std() > 5.0
    assert run_json(*TABLE, "--from", str(recorded)) == data
    again = tmp_path / "again.json"
    run_json(*TABLE, "--from", str(recorded), "-o", str(again))
    assert again.read_text("utf-8") == recorded.read_text("utf-8")  # its date, too
    code, out, _ = run(*TABLE, "--from", str(recorded), "--all")
    assert code == 0
    text = " ".join(out.split())
    for sentence in data["verdict"]:
        assert f"• {sentence}" in text


def record(case: tuple[str, int | None, str], *counts: int) -> dict[str, Any]:
    """A row of a made-up table: 1000 accesses, 750 of them reads, 4 bytes each.

    counts: bytes from memory, those of A and B, and how many reads hit.
    """
    (method, block, cache), (from_memory, operands, hits) = case, counts
    return {
        "method": method, "block": block, "cache": cache, "raster": "scan", "layout": "linear",
        "in_flight": 1, "accesses": 1000, "hits": hits, "reads": 750, "read_hits": hits,
        "bytes_requested": 4000, "bytes_from_memory": from_memory, "bytes_to_memory": 1000,
        "operand_bytes_requested": 2000, "operand_bytes_from_memory": operands,
    }  # fmt: skip


def read_rows(
    path: Path, rows: list[dict[str, Any]], not_run: Sequence[dict[str, Any]] = ()
) -> CacheTable:
    """A table of these rows, from its file."""
    data = {
        "size": 64, "rows": rows, "not_run": not_run, "budget_s": 1.0, "spent_s": 1.0,
    }  # fmt: skip
    path.write_text(json.dumps(data))
    return read_recorded(path, CacheTable)


def test_the_verdict_by_hand(tmp_path: Path) -> None:
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
    table = read_rows(tmp_path / "table.json", rows)
    first, second = table.judge()
    assert (first.setting.cache, first.best, second.best) == (small, 8, 32)
    for measure in Measure:
        signs = [[one.sign(measure, block) for block in (8, 16, 32)] for one in (first, second)]
        assert signs == [[1, 0, -1], [1, 1, 1]]
    *_, grid = table.grids(whole=True)
    assert grid.rows == (("scan", "linear", small, 7.0), ("scan", "linear", large, 0.125))
    assert grid.heads[-1] == "single, 1"
    assert (
        f"Overall, {SINGLE} has a higher hit ratio of reads at every b in 1 of 2 settings with 1 "
        "in flight; at the b with the fewest bytes in 2 of 2 settings with 1 in flight; at b = 32, "
        "the paper's choice, in 1 of 2 settings with 1 in flight." in table.judged().verdict
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--block", "0"), "it must be at least 1"),
        (("--in-flight", "65537"), "in_flight is 65537; it must be at most 65536"),
        (("--from", "{tmp}/x.json", "--size", "4"), "leave --size out"),
        (("--cache", "64,direct,8B"), "does not hold whole elements"),
    ],
)  # fmt: skip
def test_bad_input_of_the_table_is_one_line(
    run: Command, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    words = tuple(word.replace("{tmp}", str(tmp_path)) for word in words)
    size = () if "--from" in words else ("--size", "4")
    code, out, err = run(*TABLE, *size, *words)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
