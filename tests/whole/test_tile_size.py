"""What a cache takes from memory for a product in tiles: formulas against exact simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpgpu_legacy.cache.access import Access
from gpgpu_legacy.cache.caches import Cache, parse_cache
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.studies.tiles import Cases, TileRow, Traffic, tile_table

TEXEL = 16  # bytes


def rows(size: int, block: int, tiles: list[int], caches: list[str], **more: Any) -> list[TileRow]:
    known = [parse_cache(text) for text in caches]
    cases = Cases(size, block, tiles, known, Access(**more))
    return list(tile_table(cases, Budget(inf)).rows)


def exact(fetches: int, texels: int) -> Traffic:
    """What a formula without a range says, and the simulation too."""
    number = fetches * texels * texels * TEXEL
    return Traffic(least=number, most=number, simulated=number)


# Any product, any fully associative cache ------------------------------------------------------


@st.composite
def assumed_cases(draw: st.DrawFn) -> Cases:
    """Up to 25 tiles, cut at the ends or not, in up to 6 passes."""
    line = draw(st.sampled_from([1, 2, 4]))
    block = line * draw(st.integers(1, 4))
    texels = block * draw(st.integers(1, 6))
    tile = line * draw(st.integers(1, 8))
    assume(tile * 5 >= texels)
    lines = draw(st.one_of(st.integers(1, 60), st.integers(1, 800)))
    cache = Cache(lines * line * TEXEL, lines, line * TEXEL)
    return Cases(2 * texels, block, [tile], [cache], Access())


@given(assumed_cases())
@settings(max_examples=20)
def test_simulation_is_within_the_formulas(cases: Cases) -> None:
    """Where least and most are one number, that is an exact equality."""
    [row] = tile_table(cases, Budget(inf)).rows
    assert row.assumed
    assert row.holds, row


@given(assumed_cases())
@settings(max_examples=15)
def test_a_cache_for_a_pass_of_a_tile_fetches_each_texel_n_over_t_times(cases: Cases) -> None:
    """It is large enough for a row of a tile and b rows of B, and too small for two tiles."""
    [tile], [cache], n, b = cases.tiles, cases.caches, cases.texels, cases.block
    w, tile = cases.line(cache), min(tile, n)
    lines = (b * tile + 2 * b + 2 * tile) // w
    assume(lines <= 2 * (n % tile or tile) * n // w)
    enough = Cache(lines * w * TEXEL, lines, w * TEXEL)
    [row] = tile_table(replace(cases, caches=[enough]), Budget(inf)).rows
    times = -(-n // tile)
    assert (row.a, row.b) == (exact(times, n), exact(times, n))


# The command -------------------------------------------------------------------------------------


def test_the_command_prints_a_table_or_json(run: Any) -> None:
    words = ("study", "tiles", "--size", "64", "--tile", "8", "--cache", "1M,fully,64B", "--quiet")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "As the formulas say, with such a cache and order: 1 of 1." in out
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    [row] = json.loads(out)["rows"]
    once = 32 * 32 * TEXEL
    assert row["a"] == row["b"] == {"least": once, "most": once, "simulated": once}
    assert row["sums"]["simulated"] == 2 * once


# What is refused ---------------------------------------------------------------------------------


def test_what_the_budget_leaves_out_is_listed() -> None:
    cases = Cases(128, 4, [8, 16], [parse_cache("8K,fully,64B")], Access())
    table = tile_table(cases, Budget(0.0))
    assert table.rows == ()
    assert table.not_run == ("T = 8, 8K,fully,64B", "T = 16, 8K,fully,64B")
