"""What limits Hall, Carr & Hart's programs: by a simulator of our own and the paper's tables."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from commands import Command, JsonCommand
from PIL import Image

from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.studies.crossover import Crossover, crossover
from gpgpu_legacy.studies.shared.behind_cache import NO_CACHE, PERFECT
from gpgpu_legacy.studies.shared.cache_rows import settings

SINGLE, MULTI = "hall-carr-hart-single", "hall-carr-hart-multi"
CHIP, LOOKUPS, MEMORY = "radeon-9700-pro", 8 * 325e6, 19.84e9
"""A chip, its lookups a second at one clock, and its bytes a second."""
PACKED = {SINGLE: (1, 4), MULTI: (2, 16)}
"""Of how many rows and columns a texel has elements, and its bytes."""


def traffic(method: str, size: int, block: int, lines: int, line_bytes: int) -> int:
    """The bytes of all passes, fragment by fragment, behind a fully associative LRU cache."""
    split, texel = PACKED[method]
    n, held, moved = size // split, OrderedDict[tuple[str, int], None](), 0

    def touch(texture: str, row: int, column: int, *, writes: bool = False) -> int:
        line = (texture, (row * n + column) * texel // line_bytes)
        if line in held:
            held.move_to_end(line)
        elif not writes:
            held[line] = None
            if len(held) > lines:
                held.popitem(last=False)
            return line_bytes
        return texel if writes else 0

    for number, first in enumerate(range(0, n, block)):
        for i in range(n):
            for j in range(n):
                for m in range(first, first + block):
                    moved += touch("A", i, m) + touch("B", m, j)
                moved += touch(f"sums {number % 2}", i, j)
                moved += touch(f"sums {1 - number % 2}", i, j, writes=True)
    return moved


def small_map(block: int, *caches: str, size: int = 16) -> Crossover:
    where = settings(caches, ["scan"], ["linear"], [1])
    return crossover([find_profile(CHIP)], (size, block), where)


@pytest.mark.parametrize("block", [4, 32])
def test_the_edges_are_tables_1_and_2(block: int) -> None:
    """Without a cache: 2b + 2 transfers a fragment, and 2b + 4 or 3b + 4 instructions."""
    table, size = small_map(block, "512,fully,64B", size=64), 64
    for method, instructions in ((SINGLE, 2 * block + 4), (MULTI, 3 * block + 4)):
        split, texel = PACKED[method]
        none, perfect = (table.panels()[CHIP, method][edge][0] for edge in (NO_CACHE, PERFECT))
        lookups = (2 * block + 1) / LOOKUPS
        assert none.clocks("memory") == pytest.approx((2 * block + 2) * texel / MEMORY / lookups)
        assert none.clocks("arithmetic") == pytest.approx(instructions / (2 * block + 1))
        # Once a pass: b columns of A, b rows of B, and the two sums.
        n = size // split
        touched = (2 * block * n + 2 * n * n) * texel
        assert perfect.clocks("memory") == pytest.approx(touched / MEMORY / (n * n * lookups))


def test_the_claims_stand_on_the_map() -> None:
    """By hand, memory takes 0.53 and 2.1 clocks a lookup, and arithmetic 1.05 and 1.5."""
    *_, grid = small_map(32, "512,fully,64B", size=64).grids(whole=True)
    held = {(row[0], row[4]): row[5:7] for row in grid.rows}
    assert held == {
        (1, SINGLE): ("arithmetic", False),
        (1, MULTI): ("memory", True),
        (2, SINGLE): ("arithmetic", True),
        (2, MULTI): ("arithmetic", True),
        (3, MULTI): ("lookups", False),
    }


def test_a_map_is_drawn_and_read_again(run: Command, run_json: JsonCommand, tmp_path: Path) -> None:
    recorded, plot = str(tmp_path / "map.json"), tmp_path / "map.png"
    small = ("--size", "16", "--block", "4", "--cache", "1K,4way,64B", "--in-flight", "1,16")
    data = run_json("study", "crossover", *small, "-o", recorded, "--plot", str(plot))
    assert len(data["places"]) == 3 * 2 * 3 * 2  # chips, methods, a cache and two edges, in flight
    assert run_json("study", "crossover", "--from", recorded) == data
    assert np.asarray(Image.open(plot).convert("RGB")).std() > 5.0
    code, out, err = run("study", "crossover", *small, "--chip", "hall-carr-hart-model")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "hall-carr-hart-model has no rate of arithmetic: the profile has no" in err
