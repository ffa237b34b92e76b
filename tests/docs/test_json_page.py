"""The page of JSON outputs names every field that a command prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_pages import ROOT

PAGE = ROOT / "docs" / "reference" / "json.md"
LIFE = str(ROOT / "shaders" / "examples" / "life.fp")
COMMANDS = (
    "run larson-mcallister --size 4 --executor numpy",
    f"exec {LIFE} --size 4 --texture 0=cells.npy --executor numpy",
    "doctor",
    "predict larson-mcallister n=4 --chip radeon-9700-pro",
    "study roofline --chip xeon-jit n=16",
    "cache larson-mcallister n=4",
    "study tiles --size 16 --tile 4 --cache 1K,fully,64B",
    f"check {LIFE}",
    f"count {LIFE}",
    "methods",
    "algorithms",
    "chips",
    "fit hall-carr-hart-multi --chip radeon-9700-pro",
    "plan run reduction --set n=4 --executor numpy",
    "count reduction n=4",
    "check reduction n=4 --chip radeon-9700-pro",
    "plan trace reduction --set n=4 --at 0,0",
    "bench reduction n=4 --executor jit --repeat 1 --quiet",
)
BY_NAME = {
    "by_texture",
    "parameters",
    "outputs",
    "formulas",
    "resources",
    "opcodes",
    "sources",
    "versions",
}
"""Objects whose keys are names of the user's, or of a list elsewhere."""
LIKE = {"plan run": "run", "count": "run"}
"""Sections that refer to another."""


def sections() -> dict[str, set[str]]:
    """The words between backticks in each section, and those of the page's first paragraph."""
    first, *parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    common = set(re.findall(r"`([\w.]+)`", first))
    return {part.splitlines()[0]: common | set(re.findall(r"`([\w.]+)`", part)) for part in parts}


def fields(data: object, depth: int = 2) -> Iterator[str]:
    """The fields of an object, and of the objects directly in it."""
    if isinstance(data, list):
        for one in data[:1]:
            yield from fields(one, depth)
    elif isinstance(data, dict) and depth:
        for name, value in data.items():
            yield name
            if name not in BY_NAME:
                yield from fields(value, depth - 1)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_field_of_a_command_is_on_the_page(
    line: str,
    run_json: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    import numpy as np

    monkeypatch.chdir(tmp_path)
    np.save("cells.npy", np.zeros((4, 4, 4), np.float32))
    words = line.split()
    name = " ".join(words[:2]) if words[0] in {"plan", "study"} else words[0]
    known = sections()
    elsewhere = known.get(LIKE.get(name, ""), set())
    printed = set(fields(run_json(*words)))
    assert printed - known[name] - elsewhere == set()
