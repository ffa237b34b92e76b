"""Recorded files, damaged in every way: each is read right, or refused in one line.

What a file gives is not only read but used, as the commands use it: for tables, JSON and sentences.
Warnings are errors, so that no NaN, no infinity and no division by zero goes unseen.
"""

from __future__ import annotations

import json
import math
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attacks import ATTACK, mutated_bytes, mutated_json, mutated_text

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips import catalogue
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import calibrated
from gpgpu_legacy.errors import GpgpuLegacyError, GpgpuLegacyWarning
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.timing import this_platform
from gpgpu_legacy.measure.tuned import tuning_report
from gpgpu_legacy.papers.audit import result as audit
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.present.grid import Grid, RecordedResult, as_csv, as_text
from gpgpu_legacy.serial import json_text, read_recorded, toml_text
from gpgpu_legacy.studies.branching import Stripes
from gpgpu_legacy.studies.crossover import Crossover
from gpgpu_legacy.studies.infer_cache import InferredCache, read_curves
from gpgpu_legacy.studies.lineage import Lineage, LineageMemory
from gpgpu_legacy.studies.roofline import _roofs
from gpgpu_legacy.studies.shared.cache_rows import CacheTable

ROOT = Path(__file__).parents[2]
PLAN = find_product("hall-carr-hart-multi").plan(n=16)

LONGEST_S = 40.0
"""Of one file, on a busy machine."""


def _shown(grids: list[Grid], *records: object) -> None:
    text = as_text(grids) + as_csv(grids)
    assert "\x1b" not in text
    for grid in grids:
        for row in grid.rows:
            for entry in row:
                assert not isinstance(entry, float) or math.isfinite(entry), (grid.name, row)
    for record in records:
        json.loads(json_text(record), parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(name)


def _bench(path: Path) -> None:
    bench = read_recorded(path, Bench)
    _shown(bench.grids(whole=True), bench)


def _lineage(path: Path) -> None:
    lineage = read_recorded(path, Lineage)
    _shown(lineage.grids(whole=True), lineage)


def _from_memory(path: Path) -> None:
    memory = read_recorded(path, LineageMemory)
    assert all(memory.per_byte(method) > 0.0 for method in memory.from_memory)


def _cache_table(path: Path) -> None:
    table = read_recorded(path, CacheTable)
    _shown(table.grids(whole=True), table.judged())


def _study(kind: type[RecordedResult]) -> Callable[[Path], None]:
    def use(path: Path) -> None:
        table = read_recorded(path, kind)
        _shown(table.grids(whole=True), table)

    return use


def _curves(path: Path) -> None:
    read_curves(path)


def _tuning(path: Path) -> None:
    report = tuning_report()
    _shown(report.grids(), report)


def _verdicts(path: Path) -> None:
    found = read_recorded(path, audit.Verdicts)
    audit.changes(audit.recorded(), found, papers())


def _profile(path: Path) -> None:
    for chip in calibrated():
        listed = catalogue.chips([chip])
        for shown in (listed, *listed.chips, predict(PLAN, chip), check_plan(PLAN, chip)):
            _shown(shown.grids(whole=True), shown)
        list(_roofs(chip))


# The files, and what each is for ------------------------------------------------------------------

_FOUND = {
    "device": this_platform().device, "driver": this_platform().driver, "finished": True,
    "parameters": {"n": 64}, "seconds": 1e-3, "default_seconds": 2e-3, "trials": 7,
    "date": "2003-07-27",
}  # fmt: skip
_TUNING = {
    "schema": 1, "package": "1.0", "commit": None, "driver": None, "date": "2003-07-27",
    "kept": [
        {
            **_FOUND, "algorithm": "hall-carr-hart-multi",
            "way": {
                "executor": "jit", "block": 32, "accumulate": "copy", "group": None,
                "tile": [3, 2],
            },
        },
        {
            **_FOUND, "algorithm": "larson-mcallister",
            "way": {
                "executor": "gl-compute", "block": None, "accumulate": None, "tile": None,
                "group": {
                    "threads": [8, 8], "columns": 2, "rows": 4, "k_depth": 8, "unroll": 2,
                    "adjacent": 2,
                },
            },
        },
    ],
}  # fmt: skip


_USES = {
    "benchmarks/bench*.json": _bench,
    "benchmarks/lineage*.json": _lineage,
    "benchmarks/from-memory.json": _from_memory,
    "benchmarks/cache-table*.json": _cache_table,
    "benchmarks/branching.json": _study(Stripes),
    "benchmarks/crossover.json": _study(Crossover),
    "benchmarks/infer-cache.json": _study(InferredCache),
    "gpgpu_legacy/papers/published/curves/*.toml": _curves,
    "gpgpu_legacy/papers/audit/verdicts.json": _verdicts,
    "gpgpu_legacy/chips/profiles/**/*.toml": _profile,
}
"""What reads and uses the files of the checkout."""


def _few_rows(text: str) -> str:
    """A cache table of three settings, which takes a tenth of the time."""
    data = json.loads(text)
    data["rows"] = data["rows"][: 3 * 17]
    return json.dumps(data)


def _files() -> Iterator[tuple[str, str, Callable[[Path], None]]]:
    """The name of each file, its text, and what reads and uses it."""
    yield "tuning.json", json.dumps(_TUNING), _tuning
    for pattern, use in _USES.items():
        for path in sorted(ROOT.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            if path.name != "sources.toml":
                yield path.name, _few_rows(text) if use == _cache_table else text, use


FILES = tuple(_files())
NAMES = [name for name, _, _ in FILES]


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPGPU_LEGACY_TUNING", str(tmp_path / "tuning.json"))
    monkeypatch.setenv("GPGPU_LEGACY_PROFILES", str(tmp_path))


def is_refused(use: Callable[[Path], None], path: Path) -> bool:
    """Whether a file is refused in one line; it is used without a fault if it is not."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            use(path)
        except (GpgpuLegacyError, GpgpuLegacyWarning) as error:
            assert len(str(error).splitlines()) == 1, error
            assert str(error).strip()
            return True
        finally:
            assert time.perf_counter() - started < LONGEST_S
    return False


def data_of(name: str, text: str) -> Any:
    """What a file has, as JSON has it."""
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


def written(name: str, data: Any) -> str:
    return json.dumps(data) if name.endswith(".json") else toml_text(data)


@pytest.mark.parametrize(("name", "text", "use"), FILES, ids=NAMES)
def test_a_damaged_file_is_used_right_or_refused_in_one_line(
    tmp_path: Path, name: str, text: str, use: Callable[[Path], None]
) -> None:
    random, path = ATTACK.random(f"records {name}"), tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert not is_refused(use, path)
    for _ in range(ATTACK.count(2, 220)):
        path.write_bytes(damaged(random, name, text))
        is_refused(use, path)


def damaged(random: Random, name: str, text: str) -> bytes:
    """The file with one fault, in its bytes, its text, what it has, or a number of it."""
    kind = random.randrange(6)
    if kind == 0:
        return mutated_bytes(random, text.encode())
    data = data_of(name, text)
    numbers = [place for place, value in _leaves(data) if type(value) in (int, float)]
    if kind > 3 and numbers:
        _put(data, random.choice(numbers), "the number")
        word = random.choice((*_NUMBERS, *_WORDS[Path(name).suffix]))
        return written(name, data).replace('"the number"', word).encode()
    try:
        if kind > 1:
            return written(name, mutated_json(random, data)).encode()
    except (TypeError, ValueError, OverflowError):  # what TOML cannot say
        pass
    return mutated_text(random, text).encode("utf-8", "surrogatepass")


_NUMBERS = (
    *("0", "-1", "-0.0", "1e308", "-1e308", "5e-324", "1e-300", "1e999", "0.5", "1e15", "1e-15"),
    *("2147483647", "9223372036854775807", "9223372036854775808", "1" + "0" * 400, "9" * 5000),
)
_WORDS = {".json": ("NaN", "Infinity", "-Infinity"), ".toml": ("nan", "inf", "-inf")}


# Files that are no data at all --------------------------------------------------------------------

_MILLION = 10**6
_MONSTERS = {
    "deep lists": b"[" * _MILLION,
    "deep objects": b'{"a":' * _MILLION,
    "deep in a field": b'{"results":' + b"[" * _MILLION,
    "deep in an unknown field": b'{"zz":' + b"[" * _MILLION + b"]" * _MILLION + b"}",
    "many entries": b'{"results":[' + b"0," * 10**7 + b"0]}",
    "many objects": b'{"kept":[' + b"{}," * _MILLION + b"{}]}",
    "digits": b'{"schema":' + b"9" * _MILLION + b"}",
    "digits with a point": b'{"schema":0.' + b"9" * _MILLION + b"}",
    "twice": b'{"schema":1,"schema":1,"results":[],"device":"","driver":""}',
    "a mark": b'\xef\xbb\xbf{"schema":1}',
    "two bytes": '{"schema":1}'.encode("utf-16"),
    "zero bytes": b"\0" * 1000,
    "a half character": b'{"driver":"\\ud800"}',
    "no UTF-8": b'{"driver":"\xff\xfe"}',
    "nothing": b"",
    "a value": b"null",
    "deep in TOML": b"a=" + b"[" * 10**5,
    "deep tables in TOML": b"a=" + b"{a=" * 10**5,
    "a long key in TOML": b"a." * 10**5 + b"a=1",
    "a long quoted key in TOML": b'"="."a".' * 10**5 + b"a=1",
    "a long head in TOML": b"[" + b"a." * 10**5 + b"a]",
    "a long key in a table of TOML": b"b = {" + b"a . " * 10**5 + b"a=1}",
    "one long word in TOML": b"a" * 10**6,
    "many tables in TOML": b"".join(b"[a%d]\n" % n for n in range(60_000)),
    "many lists of tables in TOML": b"[[a]]\n" * 150_000,
    "digits in TOML": b"a=" + b"9" * 10**6,
    "hexadecimal digits in TOML": b"a=0x" + b"f" * 10**6,
}


_SOME = ATTACK.random("monsters").sample(list(_MONSTERS), ATTACK.count(5, len(_MONSTERS)))


@pytest.mark.parametrize("monster", _SOME)
@pytest.mark.parametrize("use", [_bench, _lineage, _cache_table, _tuning, _profile])
def test_monsters_are_refused_in_one_line_and_soon(
    tmp_path: Path, use: Callable[[Path], None], monster: str
) -> None:
    suffix = "x.toml" if use == _profile else "tuning.json"
    path = tmp_path / suffix
    path.write_bytes(_MONSTERS[monster])
    started = time.perf_counter()
    if monster != "nothing" or use != _tuning:
        assert is_refused(use, path)
    assert time.perf_counter() - started < 5.0


# Pictures -----------------------------------------------------------------------------------------


def _leaves(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _leaves(value, (*place, key))
    else:
        yield place, data


def _put(data: Any, place: tuple[Any, ...], value: object) -> None:
    for step in place[:-1]:
        data = data[step]
    data[place[-1]] = value
