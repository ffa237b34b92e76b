"""The host's memory simulated: against a plain LRU in Python, and what it says of the anomaly."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from pseudo_lru import PlainTrees

from gpgpu_legacy.cache.caches import Cache, Policy, parse_cache
from gpgpu_legacy.cache.host import Hierarchy, PageKind, Paging, measure
from gpgpu_legacy.chips.hosts import HostsFile, find_host
from gpgpu_legacy.chips.profile import read_named
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.host_misses import HostMisses, simulate_host
from gpgpu_legacy.studies.anomaly import FIT_SIZES

# The simulation against plain Python ------------------------------------------------------------

TINY = Hierarchy(
    l1=Cache(256, 2, 16),  # 8 sets
    l2=Cache(2048, 4, 16),  # 32 sets: two pages lie side by side
    dtlb=Cache(6 * 256, 2, 256),  # 3 sets of pages of 256 bytes
    entry_bytes=8,
    memory_bytes=1 << 16,
)


class PlainCache:
    """Sets of lines in order of use, with whether each is dirty."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]

    def use(self, line: int, dirty: bool) -> tuple[bool, tuple[int, bool] | None]:
        """Whether the line was there, and what was evicted for it."""
        held = self.sets[line % len(self.sets)]
        if line in held:
            held[line] |= dirty
            held.move_to_end(line)
            return True, None
        held[line] = dirty
        return False, held.popitem(last=False) if len(held) > self.ways else None


class PlainPseudo:
    """`PlainCache` with pseudo-LRU."""

    def __init__(self, cache: Cache, seed: int) -> None:
        self.trees = PlainTrees(cache, seed)

    def use(self, line: int, dirty: bool) -> tuple[bool, tuple[int, bool] | None]:
        hit, victim = self.trees.look(line, fill=True, dirty=dirty)
        return hit, (victim[0], bool(victim[1])) if victim else None


class PlainHost:
    """All of it by physical addresses, in bytes."""

    def __init__(self, frames: list[int], pages: int) -> None:
        self.frames, self.pages = frames, pages
        self.first = 0
        self.dtlb, self.l1 = PlainCache(3, 2), PlainCache(8, 2)
        self.l2: PlainCache | PlainPseudo = PlainCache(32, 4)
        self.counts = dict.fromkeys(
            ("accesses", "l1", "dtlb", "walk_l1", "l2", "walk_l2", "back"), 0
        )

    def access(self, address: int, write: bool) -> None:
        self.counts["accesses"] += 1
        page = address // 256
        if not self.dtlb.use(page, False)[0]:
            self.counts["dtlb"] += 1
            in_table, entry = divmod(self.first + page, 32)  # 32 entries a page
            of_table = self.pages + in_table
            self.load(self.frames[of_table] * 256 + entry * 8, False, "walk_")
        self.load(self.frames[page] * 256 + address % 256, write, "")

    def load(self, physical: int, write: bool, who: str) -> None:
        line = physical // 16
        found, evicted = self.l1.use(line, write)
        if found:
            return
        self.counts[f"{who}l1"] += 1
        found, gone = self.l2.use(line, False)
        self.counts[f"{who}l2"] += not found
        self.counts["back"] += gone is not None and gone[1]
        if evicted is not None and evicted[1]:
            _, gone = self.l2.use(evicted[0], True)
            self.counts["back"] += gone is not None and gone[1]


def plain_counts(
    addresses: list[int],
    writes: list[bool],
    paging: Paging,
    pages: int,
    first: int,
    *,
    l2: Cache = TINY.l2,
) -> tuple[int, ...]:
    host = PlainHost(paging.map(TINY.pages(pages * 256)).tolist(), pages)
    host.first = paging.first
    if l2.policy is not Policy.LRU:
        host.l2 = PlainPseudo(l2, paging.seed)
    before: tuple[int, ...] = ()
    for i, (address, write) in enumerate(zip(addresses, writes, strict=True)):
        if i == first:
            before = tuple(host.counts.values())
        host.access(address, write)
    return tuple(a - b for a, b in zip(host.counts.values(), before, strict=True))


RANDOM = Paging(PageKind.RANDOM, seed=3)
PAGINGS = [
    Paging(),
    RANDOM,
    Paging(fraction=0.3, seed=4),
    Paging(fraction=1.0, seed=5),
    Paging(PageKind.XNU, first=7),
    Paging(PageKind.XNU, 0.2, seed=6),
]


@pytest.mark.parametrize(
    ("paging", "pages", "piece"),
    [(PAGINGS[0], 14, 4000), *((paging, 40, 1000) for paging in PAGINGS[1:]), (RANDOM, 70, 77)],
    ids=str,
)
def test_random_accesses_find_what_they_do_in_plain_python(
    paging: Paging, pages: int, piece: int
) -> None:
    draw = np.random.default_rng(pages)
    here = np.cumsum(draw.integers(-40, 41, 4000)) * 4 % (pages * 256)
    far = draw.integers(0, pages * 64, 4000) * 4
    addresses = np.where(draw.random(4000) < 0.7, here, far)
    writes = draw.random(4000) < 0.3
    kinds = (2 * draw.integers(0, 3, 4000) + writes).astype(np.int16)

    def stream() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, 4000, piece):
            yield addresses[start : start + piece] // 4, kinds[start : start + piece]

    first, last = 1001, 3777
    [found] = measure(
        [(TINY, paging)], stream(),
        unit_bytes=4, bytes_in_use=pages * 256, first=first, last=last,
    )  # fmt: skip
    given = addresses[:last].tolist(), writes[:last].tolist(), paging, pages, first
    assert astuple(found) == plain_counts(*given)
    assert all(astuple(found))


@pytest.mark.parametrize("text", ["2K,4way,16B,plru", "1536,12way,16B,random-plru"])
def test_each_policy_of_level_2_finds_what_it_does_in_plain_python(text: str) -> None:
    draw = np.random.default_rng(8)
    addresses = draw.integers(0, 30 * 64, 6000) * 4
    writes = draw.random(6000) < 0.3
    l2, paging = parse_cache(text), Paging(seed=5)
    [found] = measure(
        [(replace(TINY, l2=l2), paging)],
        iter([(addresses // 4, writes.astype(np.int16))]),
        unit_bytes=4,
        bytes_in_use=30 * 256,
        first=500,
        last=6000,
    )
    given = addresses.tolist(), writes.tolist(), paging, 30, 500
    assert astuple(found) == plain_counts(*given, l2=l2) != plain_counts(*given)


def test_a_hierarchy_that_is_not_simulated_is_refused() -> None:
    with pytest.raises(InputError, match="bits within a page"):
        Hierarchy(Cache(32768, 4, 64), Cache(1 << 20, 8, 64), TINY.dtlb, 8, 1 << 30)
    with pytest.raises(InputError, match="lines of one size"):
        Hierarchy(Cache(256, 2, 16), Cache(2048, 4, 32), TINY.dtlb, 8, 1 << 16)


# The machines ----------------------------------------------------------------------------------


def test_a_file_that_does_not_keep_to_the_form() -> None:
    table = '[sources]\nS002 = "a paper"\n[[host]]\nname = "one"\ntitle = "One"\naliases = []\n'
    table += 'about = "x"\n'
    with pytest.raises(InputError, match="host\\[0\\]: object missing required field `clock_ghz`"):
        read_named(HostsFile, "hosts.toml", table)


# What is found -----------------------------------------------------------------------------------

ORDINARY = (992, 1056, 1552)


@pytest.fixture(scope="module")
def misses() -> dict[tuple[str, str, int], HostMisses]:
    """By machine, paging and size; one row of C warms up and two are counted."""
    cases = [
        (find_host("core2-3mb"), Paging()),
        (find_host("core2-3mb"), Paging(fraction=0.01)),
        (find_host("core2-6mb"), Paging()),
    ]
    simulated = [(host.hierarchy, paging) for host, paging in cases]
    return {
        (host.name, str(paging), size): found
        for size in (*ORDINARY, 512, 1024, 1536)
        for (host, paging), found in zip(cases, simulate_host(size, simulated), strict=True)
    }


# The command --------------------------------------------------------------------------------------


def test_the_command_predicts_held_out_sizes(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Miss penalties come from 1024 and its neighbours, whether they are shown or not."""
    picture = tmp_path / "anomaly.png"
    code, out, err = run(
        "study", "anomaly", "n=256,1024", "--machine", "p8800", "--paging", "coloured",
        "--json", "--plot", str(picture),
    )  # fmt: skip
    assert code == 0 and f"wrote {picture}" in err
    assert picture.read_bytes().startswith(b"\x89PNG")
    [data] = json.loads(out)["models"]
    assert data["case"] == {
        "machine": "core2-3mb", "paging": "coloured", "policy": "lru", "seed": 0,
    }  # fmt: skip
    rows = {row["size"]: row for row in data["rows"]}
    assert list(rows) == [256, *FIT_SIZES]
    small, large = rows[256], rows[1024]
    assert small["published_ns"] is None and not small["is_fitted"]
    assert large["is_outlier"] and not small["is_outlier"]
    assert large["published_ns"] == 27893e6 / 1024**3 and large["is_fitted"]
    assert large["predicted_ns"] == pytest.approx(27893e6 / 1024**3, rel=0.01)
    fit = data["penalties"]
    fitted = fit["base_ns"] + fit["miss_ns"] * small["misses"]
    fitted += fit["dtlb_ns"] * small["dtlb_misses"]
    assert small["predicted_ns"] == pytest.approx(fitted)
    assert tuple(fit["sizes"]) == FIT_SIZES
    assert fit["miss_ns"] == pytest.approx(21.7, abs=0.5)
    [outlier] = data["outliers"]
    assert outlier["beside"] == [992, 1008, 1040, 1056]
    assert outlier["size"] == 1024 and outlier["extra_ns"] == pytest.approx(20.3, abs=0.05)
    assert (data["hits"], data["missed"], data["false_alarms"]) == (1, 0, 0)
    assert large["is_published_outlier"] and large["lines_a_set"] == 16
    rests_on = data["support"]
    assert rests_on["degrees_of_freedom"] == 0
    assert rests_on["points"] == [[480], [992, 1008, 1040, 1056], [1024]]
    low, high = rests_on["miss_range_ns"]
    assert 21.3 < low < fit["miss_ns"] < high < 21.8


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--paging", "red"), "write coloured, random, miscoloured:0.1"),
        (("--policy", "mru"), "policy is 'mru'; choose from lru, fifo, random, plru, random-plru"),
        (("n=0",), "n is 0; it must be at least 3"),
        (("n=64,many",), "n is 'many'; give a whole number"),
        (("m=3",), "the host's product has only a size"),
    ],
)
def test_errors_are_one_line(run, words: tuple[str, ...], complaint: str) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("study", "anomaly", "--paging", "coloured", *words)
    assert code == 2
    assert complaint in err and err.count("\n") == 1
