"""The page about caches says what the recorded cache tables say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

import pytest
from markdown_pages import ROOT

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.predict.model import memory_behind, predict_plan
from gpgpu_legacy.predict.prediction import Prediction
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.studies.shared.cache_rows import (
    BEFORE,
    BLOCKED,
    FLIGHTS,
    CacheTable,
    Judgement,
    Measure,
    Setting,
)

PAGE = ROOT / "docs" / "explanation" / "caches.md"
SCANNED, IN_TILES = ("scan", "linear", "8K,4way,64B"), ("tiled:8x8", "8x8", "8K,4way,64B")
STUDIED = ("tiled:8x8", "8x8", "32K,2way,128B")
TABLES = {256: "cache-table-256.json", 1024: "cache-table.json"}


@cache
def table(size: int) -> CacheTable:
    found = read_recorded(ROOT / "benchmarks" / TABLES[size], CacheTable)
    assert found.size == size and not found.not_run
    assert found.verdict and found.verdict == found.judged().verdict
    return found


@cache
def shares(size: int) -> dict[tuple[str, str, str], dict[tuple[str, int], float]]:
    """By raster order, layout and cache, then by method and number in flight: at the paper's b."""
    found: dict[tuple[str, str, str], dict[tuple[str, int], float]] = {}
    for judgement in table(size).judge():
        where = judgement.setting
        at = found.setdefault((where.raster, where.layout, where.cache), {})
        at[judgement.method, where.in_flight] = judgement.shares()[DEFAULT_BLOCK]
    return found


def number(ratio: float) -> str:
    return f"**{ratio:.3g}**" if ratio < 1.0 else f"{ratio:.3g}"


def markdown(heads: Iterable[str], marks: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, marks, *rows))


def ratios() -> str:
    rows = [
        (
            *place,
            *(" / ".join(number(at[method, n]) for method in BLOCKED) for n in FLIGHTS),
        )
        for place, at in shares(1024).items()
    ]
    heads = ("order", "layout", "cache", *(f"{n} in flight" for n in FLIGHTS))
    return markdown(heads, ("---",) * 3 + ("---:",) * len(FLIGHTS), rows)


def gigabytes() -> str:
    of = {row.case: row for row in table(1024).rows}
    rows = []
    for place in (SCANNED, IN_TILES, STUDIED):
        raster, layout, cached = place
        for method in (BEFORE, *BLOCKED):
            block = None if method == BEFORE else DEFAULT_BLOCK
            where = [
                Setting(cache=cached, raster=raster, layout=layout, in_flight=n) for n in FLIGHTS
            ]
            own = [of[setting.case_of(method, block)] for setting in where]
            moved = [own[0].bytes_requested, *(row.bytes_from_memory for row in own)]
            rows.append((*place, method, *(f"{count / 1e9:.3g}" for count in moved)))
    heads = ("order", "layout", "cache", "method", "requested")
    heads += tuple(f"{n} in flight" for n in FLIGHTS)
    return markdown(heads, ("---",) * 4 + ("---:",) * (1 + len(FLIGHTS)), rows)


@cache
def predictions() -> dict[tuple[str, str, int], Prediction]:
    """By raster order, layout and number in flight: n = 1024 on a GeForce 6800 Ultra."""
    p = find_product(BLOCKED[1]).builder(n=1024)
    memory = Memory((parse_cache("8K,4way,64B"),))
    return {
        (raster, layout, n): predict_plan(
            p,
            "geforce-6800-ultra",
            partial(memory_behind, memory, parse_access(layout, raster, in_flight=n)),
        )
        for raster, layout, _ in (SCANNED, IN_TILES)
        for n in (1, 64)
    }


def seconds(prediction: Prediction, name: str) -> float:
    [found] = [term.seconds for term in prediction.terms if term.name == name]
    assert found is not None
    return found


def limits() -> str:
    rows = []
    for (raster, layout, n), prediction in predictions().items():
        times = [f"{1e3 * seconds(prediction, name):.0f} ms" for name in LIMITS]
        rows.append((raster, layout, str(n), *times, f"{prediction.gflops:.1f} GFLOPS"))
    heads = ("order", "layout", "in flight", *LIMITS, "at most")
    return markdown(heads, ("---",) * 2 + ("---:",) * 4, rows)


LIMITS = ("lookups", "memory behind the cache")


@pytest.mark.parametrize("made", [ratios, gigabytes, limits])
def test_a_table_of_the_page_is_what_the_package_gives(
    made: Callable[[], str], update_golden: bool
) -> None:
    name = made.__name__
    text = PAGE.read_text(encoding="utf-8")
    begin = f"<!-- {name}: pytest --update-golden writes what stands here -->\n"
    before, rest = text.split(begin)
    written, after = rest.split(f"<!-- /{name} -->", 1)
    if update_golden:
        after = f"<!-- /{name} -->{after}"
        PAGE.write_text(before + begin + made() + after, encoding="utf-8")
        return
    assert written == made()


def words() -> str:
    return " ".join(PAGE.read_text(encoding="utf-8").split())


def counts(size: int, holds: Callable[[Judgement], bool], *methods: str) -> str:
    """In how many settings with each number in flight all of these methods are better."""
    judged = [one for one in table(size).judge() if one.method in methods]
    fails = {one.setting for one in judged if not holds(one)}
    every = {one.setting for one in judged}
    found = [sum(setting.in_flight == n for setting in every - fails) for n in FLIGHTS]
    return f"{', '.join(map(str, found[:-1]))} and {found[-1]}"


def better(measure: Measure) -> Callable[[Judgement], bool]:
    """Whether a method is better by a measure at the paper's b."""

    return lambda judgement: judgement.sign(measure, DEFAULT_BLOCK) > 0


def test_the_page_counts_settings_as_the_recorded_tables_do() -> None:
    text, more_reuse = words(), better(Measure.MORE_REUSE)
    single, multi = BLOCKED
    assert f"at b = 32 in {counts(1024, more_reuse, *BLOCKED)} of the 30 settings" in text
    assert f"The single-channel method is in {counts(1024, more_reuse, single)}, whatever" in text
    assert f"the multichannel method is in {counts(1024, more_reuse, multi)}." in text
    assert f"both are more coherent in {counts(256, more_reuse, *BLOCKED)}." in text
    best = counts(1024, lambda one: one.sign(Measure.MORE_REUSE, one.best) > 0, *BLOCKED)
    assert f"both methods are more coherent in {best}." in text
    assert f"in {counts(1024, better(Measure.FEWER_BYTES), *BLOCKED)} of the 30 settings." in text
