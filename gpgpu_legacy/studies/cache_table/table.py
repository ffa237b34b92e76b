"""The cache table as text, JSON and a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import read_json
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.studies.cache_sweep.table import CONVENTIONS
from gpgpu_legacy.studies.cache_table.model import (
    BEFORE,
    CacheTable,
    Case,
    Judgement,
    Measure,
    NotRun,
    Row,
    Setting,
    judge,
)
from gpgpu_legacy.studies.cache_table.verdict import CLAIM, PAPER, blocks_run, blocks_text, verdict

_MB = 1e6
_COUNTS = (
    "accesses", "hits", "reads", "read_hits", "bytes_requested", "bytes_from_memory",
    "bytes_to_memory", "operand_bytes_requested", "operand_bytes_from_memory",
)  # fmt: skip


# The table ----------------------------------------------------------------------------------------


def cache_table_grids(table: CacheTable) -> list[Grid]:
    """A grid for each raster order and layout, then what was judged, and what was not run."""
    places = dict.fromkeys((r.case.setting.raster, r.case.setting.layout) for r in table.rows)
    grids = [_place_grid(table, *place) for place in places]
    judged = judge(table)
    if judged:
        grids.append(_judgement_grid(table, judged))
    if table.not_run:
        grids.append(_not_run_grid(table))
    return grids


def _place_grid(table: CacheTable, raster: str, layout: str) -> Grid:
    """Methods and blocks down, caches across."""
    found = [
        row
        for row in table.rows
        if (row.case.setting.raster, row.case.setting.layout) == (raster, layout)
    ]
    caches = list(dict.fromkeys(row.case.setting.cache for row in found))
    by_case = {(r.case.method, r.case.block, r.case.setting.cache): r for r in found}
    rows = []
    for method, block in dict.fromkeys((row.case.method, row.case.block) for row in found):
        here = [by_case.get((method, block, cache)) for cache in caches]
        requested = next(row.bytes_requested for row in here if row is not None)
        cells = [_cell(table, row) for row in here]
        rows.append((method, block, _megabytes(requested), *cells))
    caption = (
        f"Products at n = {table.size}, {table.accumulate.value}; raster order {raster}, texture "
        f"layout {layout}."
    )
    notes = (
        "Of each cache: megabytes (10⁶ bytes) from memory · hits, % of all accesses · bytes from "
        f"memory a multiply-add. {_WAYS[table.accumulate]} Writes do not allocate; all of them go "
        "to memory besides.",
    )
    heads = ("method", "b", "MB requested", *caches)
    return Grid(f"cache-table-{raster}-{layout}", caption, heads, tuple(rows), notes)


_WAYS = {
    Accumulate.PING_PONG: "Two textures take turns as framebuffer and as F, so that the bytes "
    "requested are those of the paper's Table 1.",
    Accumulate.COPY: "The framebuffer is copied to F after each pass, as listing (5) has it; the "
    "copy's bytes are counted here and are not in the paper's Table 1.",
    Accumulate.BLEND: "The framebuffer adds up, and there is no F.",
}


def _megabytes(count: int) -> Numeral:
    return Numeral(_in_megabytes(count))


def _in_megabytes(count: int) -> str:
    return f"{count / _MB:.4g}" if count < 1e4 * _MB else f"{count / _MB:.0f}"


def _cell(table: CacheTable, row: Row | None) -> Numeral | None:
    if row is None:
        return None
    each = row.bytes_from_memory / table.multiply_adds
    return Numeral(
        f"{_in_megabytes(row.bytes_from_memory)} · {100 * row.hit_ratio:.2f} · {each:.3g}"
    )


def _judgement_grid(table: CacheTable, judged: Sequence[Judgement]) -> Grid:
    heads = (
        "raster order", "layout", "cache", "method", "fewer bytes at b", "more read hits at b",
        "more reuse at b", "best b", "bytes", "requested", "A and B's share", "more at b",
        "largest / best",
    )  # fmt: skip
    labels = {row.method: row.label for row in find_paper(PAPER).tables[0].rows}
    run = blocks_run(table.rows)
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            each.setting.raster,
            each.setting.layout,
            each.setting.cache,
            labels.get(each.method, each.method),
            *(blocks_text(each.blocks(measure), run) or "none" for measure in Measure),
            each.best.block,
            Numeral(f"{each.best.bytes_from_memory:.3g}"),
            Numeral(f"{each.best.bytes_requested:.3g}"),
            Numeral(f"{each.best.operand_share:.3g}"),
            blocks_text(each.worse_blocks, run) or "none",
            Numeral(f"{each.largest_over_best:.3g}"),
        )
        for each in judged
    )
    notes = (
        f"Against {BEFORE} in the same setting. Best is the b of the fewest bytes from memory. The "
        "next three columns are there, over those of the other: bytes from memory, bytes requested "
        "(what is saved with no cache), and the share of the bytes looked up in A and B that came "
        "from memory (what the cache saves, whatever fewer partial sums and four elements in a "
        "texel save). More at b: than at the next smaller b.",
        CONVENTIONS,
    )
    return Grid("cache-verdict", "The blocked methods, setting by setting.", heads, rows, notes)


def _not_run_grid(table: CacheTable) -> Grid:
    rows = tuple(
        (
            each.case.method, each.case.block, each.case.setting.cache, each.case.setting.raster,
            each.case.setting.layout, each.reason,
        )
        for each in table.not_run
    )  # fmt: skip
    heads = ("method", "b", "cache", "raster order", "layout", "why")
    caption = f"Not run, with a budget of {table.budget_s:g} s."
    return Grid("not-run", caption, heads, rows)


# For other programs, and recorded -----------------------------------------------------------------


def cache_table_as_json(table: CacheTable) -> dict[str, Any]:
    """The table and its verdict; `read_cache_table` reads it back."""
    judged = judge(table)
    return {
        "size": table.size,
        "accumulate": table.accumulate.value,
        "budget_s": table.budget_s,
        "spent_s": round(table.spent_s, 1),
        "rows": [
            {
                **_case_as_json(row.case),
                **{name: getattr(row, name) for name in _COUNTS},
                "hit_ratio": round(row.hit_ratio, 6),
                "bytes_per_multiply_add": round(row.bytes_from_memory / table.multiply_adds, 6),
            }
            for row in table.rows
        ],
        "not_run": [{**_case_as_json(n.case), "reason": n.reason} for n in table.not_run],
        "verdict": {
            "claim": find_paper(PAPER).claim(CLAIM).quote,
            "against": BEFORE,
            "sentences": verdict(table),
            "settings": [_judgement_as_json(each) for each in judged],
        },
    }


def _case_as_json(case: Case) -> dict[str, Any]:
    return {"method": case.method, "block": case.block, **asdict(case.setting)}


def _judgement_as_json(each: Judgement) -> dict[str, Any]:
    best = each.best
    return {
        "method": each.method,
        **asdict(each.setting),
        "best_block": best.block,
        "bytes_from_memory": round(best.bytes_from_memory, 6),
        "bytes_requested": round(best.bytes_requested, 6),
        "operand_bytes_requested": round(best.operand_bytes_requested, 6),
        "operand_share": round(best.operand_share, 6),
        "read_hit_ratio": round(best.row.read_hit_ratio, 6),
        "read_hit_ratio_before": round(best.before.read_hit_ratio, 6),
        "fewer_bytes_at": list(each.blocks(Measure.FEWER_BYTES)),
        "higher_read_hit_ratio_at": list(each.blocks(Measure.HIGHER_HIT_RATIO)),
        "more_reuse_at": list(each.blocks(Measure.MORE_REUSE)),
        "more_bytes_than_next_smaller_at": list(each.worse_blocks),
        "largest_over_best": round(each.largest_over_best, 6),
    }


def recorded_text(data: dict[str, Any]) -> str:
    """The JSON of a table as it is recorded: a line a row, and of the verdict what people read.

    What follows from other numbers is left out; `--from` works it out again.
    """
    derived = ("hit_ratio", "bytes_per_multiply_add")
    rows = [{k: v for k, v in row.items() if k not in derived} for row in data["rows"]]
    verdict_data = {k: v for k, v in data["verdict"].items() if k != "settings"}
    small = {**data, "rows": [], "not_run": [], "verdict": verdict_data}
    text = json.dumps(small, indent=1, ensure_ascii=False)
    for name, found in (("rows", rows), ("not_run", data["not_run"])):
        if found:
            lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in found)
            text = text.replace(f'"{name}": []', f'"{name}": [\n{lines}\n ]', 1)
    return text + "\n"


def read_cache_table(path: Path) -> CacheTable:
    """A recorded table; InputError, in one line, for a file that holds none."""
    data = read_json(path, "rows")
    try:
        return CacheTable(
            _whole(data["size"]),
            Accumulate(data["accumulate"]),
            tuple(_row(each) for each in data["rows"]),
            tuple(NotRun(_case(each), str(each["reason"])) for each in data["not_run"]),
            float(data["budget_s"]),
            float(data["spent_s"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} holds no recorded cache table: {why}") from None


def _row(data: dict[str, Any]) -> Row:
    return Row(_case(data), *(_whole(data[name]) for name in _COUNTS))


def _case(data: dict[str, Any]) -> Case:
    block = data["block"]
    setting = Setting(str(data["cache"]), str(data["raster"]), str(data["layout"]))
    return Case(str(data["method"]), None if block is None else _whole(block), setting)


def _whole(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no whole number")
    return value


# The figure ---------------------------------------------------------------------------------------
