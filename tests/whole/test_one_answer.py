"""One question, one answer: what commands and the page print under one name is one number."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from commands import Command, JsonCommand

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.profile import ProfileKind, profiles
from gpgpu_legacy.page.sections import your_gpu
from gpgpu_legacy.page.sections.lesson import SCREENS
from gpgpu_legacy.page.sections.loaded import loading

SINGLE, MULTI = "hall-carr-hart-single", "hall-carr-hart-multi"
COUNTS = ("draws", "arithmetic", "lookup", "bytes_requested", "copy_bytes")
CHIPS = [profile.name for profile in profiles() if profile.kind is ProfileKind.CHIP]
DRAWN = random.Random(54)

Said = tuple[str, float | str]
"""Where something stands, and what stands there."""


def with_words(how: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in how.items()]


def counted(run_json: JsonCommand) -> Iterator[tuple[Any, Said]]:
    """The counts of products, by what is counted."""
    screens = [SCREENS[name][2]() for name in ("programs", "channels")]
    rows = [(method, row) for data in screens for method in (SINGLE, MULTI)
            for row in data.get(method.rpartition("-")[2], ())]  # fmt: skip
    rows.append(("larson-mcallister", screens[0]["oldest"]))
    for number, (method, row) in enumerate(rows):
        how = {"n": 1024} | ({"block": row["block"]} if "block" in row else {})
        total = run_json("count", method, *with_words(how))["total"]
        for name in COUNTS:
            key = (method, *how.values(), name)
            yield key, (f"the lesson, {number}", row[name.replace("_", " ")])
            yield key, ("count", total[name])
    tables = run_json("tables", "n=1024", "block=32", "--no-measure")
    for table in tables["tables"]:
        for row in table["rows"]:
            how = () if row["method"] == "larson-mcallister" else (32,)
            for name in COUNTS:
                key = (row["method"], 1024, *how, name)
                yield key, (f"tables, {table['id']}", row["counts"][name])
    for method in (SINGLE, MULTI):
        ran = run_json("run", method, "n=16", "block=4")["counts"]
        total = run_json("count", method, "n=16", "block=4")["total"]
        for name in (*COUNTS, "geometry_bytes"):
            yield (method, 16, 4, name), ("run", ran[name])
            yield (method, 16, 4, name), ("count", total[name])


def rated(run_json: JsonCommand) -> Iterator[tuple[Any, Said]]:
    """The blocks and rates of products on chips, where none asks for another block."""
    for rate in your_gpu._bounds():
        found = run_json("predict", rate.method, "n=1024", *with_words(dict(
            find_product(rate.method).then)), "--chip", rate.id)  # fmt: skip
        yield (rate.id, rate.method, "GFLOPS"), ("the page", rate.gflops)
        yield (rate.id, rate.method, "GFLOPS"), ("predict", found["gflops"])
    for chip in ("radeon-9700-pro", DRAWN.choice(CHIPS)):
        [panel] = run_json("study", "roofline", "--chip", chip)["panels"]
        for point in panel["points"]:
            if not point["kind"]:
                found = run_json("predict", point["plan"], "n=1024", "--chip", chip)
                expected = {
                    "bound_gflops": found["gflops"],
                    "binds": found["binds"] or "",
                    "parameters": found["parameters"],
                }
                for name, other in expected.items():
                    yield (chip, point["plan"], name), ("roofline", point[name])
                    yield (chip, point["plan"], name), ("predict", other)


def loaded(run_json: JsonCommand) -> Iterator[tuple[Any, Said]]:
    """What loads, and the largest block that does."""
    data = loading()
    names = [chip.name for chip in data.chips]
    for chip in ("geforce3", "geforce-9400m-g", "radeon-x800-xt", *DRAWN.sample(names, 2)):
        for case in data.cases:
            if case.name != case.method:
                continue
            block = DRAWN.choice(case.blocks)
            how = {"n": data.size, **dict(find_product(case.method).then)}
            how |= {} if block is None else {"block": block}
            asked = (case.method, *with_words(how), "--chip", chip)
            key = (chip, case.method, block)
            here = data.answers(case, names.index(chip))[block]
            yield (*key, "loads"), ("the page", here.value)
            yield (*key, "loads"), ("check", run_json("check", *asked)["answer"])
    for chip in ("radeon-9700-pro", "radeon-x800-xt", "ps-2-0", "ps-2-b"):
        for case in data.cases:
            if case.method == MULTI:
                fitted = run_json("fit", MULTI, f"n={data.size}", "--chip", chip)["largest"]
                of_chip = [one for one in fitted if one["limits"] == fitted[-1]["limits"]]
                first = case.name != case.method
                [value] = [
                    one["value"] for one in of_chip if bool(one["coordinates_first"]) == first
                ]
                words = data.largest(case, names.index(chip))
                yield (chip, case.name, "largest block"), ("fit", str(value))
                yield (chip, case.name, "largest block"), ("the page", words.split(", ")[0][4:])


@pytest.fixture
def answer(run: Command) -> JsonCommand:
    """What a command prints; its exit code says whether a plan loads."""
    return lambda *words: json.loads(run(*words, "--json")[1])


@pytest.mark.parametrize("answers", [counted, rated, loaded])
def test_two_places_give_one_answer(answers: Any, answer: JsonCommand) -> None:
    said = defaultdict(list)
    for question, here in answers(answer):
        said[question].append(here)
    pairs = [
        (question, *pair) for question, all_of in said.items() for pair in combinations(all_of, 2)
    ]
    assert len(pairs) > 20
    for question, (where, one), (elsewhere, other) in pairs:
        expected = pytest.approx(other) if isinstance(other, float) else other
        assert one == expected, (question, where, elsewhere)
