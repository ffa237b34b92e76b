"""The page of JSON outputs, which is made from types, names every field that a command prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markdown_pages import ROOT, generated

from gpgpu_legacy.predict import mispredictions
from gpgpu_legacy.serial import with_fields

PAGE = ROOT / "docs" / "reference" / "json.md"
LIFE = str(ROOT / "shaders" / "examples" / "life.fp")
COMMANDS = (
    "run larson-mcallister n=4 --executor numpy",
    "run reduction n=4 --executor numpy",
    f"exec {LIFE} --size 4 --texture 0=cells.npy --executor numpy --trace 1,1",
    "count larson-mcallister n=4 --over n",
    f"count {LIFE}",
    "check reduction n=4 --chip radeon-9700-pro",
    f"check {LIFE} --chip radeon-9700-pro",
    "predict reduction n=4 --chip radeon-9700-pro",
    "cache larson-mcallister n=4",
    "cache reduction n=4,8",
    "bench reduction n=4 --executor jit --repeat 1 --quiet",
    "trace reduction n=4 --texel 0,0 --instructions",
    "algorithms",
    "algorithms jacobi",
    "chips",
    "fit hall-carr-hart-multi --chip radeon-9700-pro",
    "doctor",
    "study roofline --chip xeon-jit",
    "study figure-2 --executor numpy",
    "study multichannel --executor numpy",
    "study precision packed-2x2 n=4",
    "study tiles --size 16 --tile 4 --cache 1K,fully,64B",
    "study mispredictions",
    "study packing --chip radeon-9700-pro --size 16",
    "tables n=4 --no-measure",
    "tables opengl-compute --no-measure",
    "audit mali-sdk-sgemm",
)
EVERYWHERE = {"schema", "package", "commit", "driver", "date", "busy_share"}
"""What kept results and measurements have, by the page's first paragraphs."""


@cache
def page() -> str:
    """The text of the page, with what is made from types."""
    text: str = generated.with_generated(PAGE.read_text(encoding="utf-8"))
    return text


def words_of(section: str, sections: dict[str, str]) -> set[str]:
    """The fields that a section names, and those of the sections that it refers to."""
    text = sections[section]
    others = set(re.findall(r"\]\(#([\w-]+)\)", text)) - {generated.anchor(section)}
    referred = [name for name in sections if generated.anchor(name) in others]
    found = {word for words in re.findall(r"`([\w.-]+)`", text) for word in words.split(".")}
    return found.union(*(words_of(name, sections) for name in referred))


def fields(data: object, by_name: set[str]) -> Iterator[str]:
    """The fields of an object, and of the objects in it; but for those whose keys are names."""
    if isinstance(data, list):
        for one in data:
            yield from fields(one, by_name)
    elif isinstance(data, dict):
        for name, value in data.items():
            yield name
            inner = [*value.values()] if name in by_name and isinstance(value, dict) else value
            yield from fields(inner, by_name)


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
    log = mispredictions.read_log()
    small = tuple(case for case in log.case if case.size <= 480)
    monkeypatch.setattr(mispredictions, "read_log", lambda: with_fields(log, case=small))
    first, *parts = re.split(r"^## ", page(), flags=re.MULTILINE)
    sections = {part.splitlines()[0]: part for part in parts}
    words = line.split()
    name = " ".join(words[:2]) if words[0] == "study" else words[0]
    assert set(re.findall(r"`(\w+)`", first)) >= EVERYWHERE
    by_name = set(re.findall(r"^\| `(?:\w+\.)*(\w+)` \| object by name", page(), re.MULTILINE))
    printed = set(fields(run_json(*words), by_name))
    assert printed - words_of(name, sections) - EVERYWHERE == set()
