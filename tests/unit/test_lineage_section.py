"""The section about the lineage: every method, counts as by hand, and times as recorded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.page.section import PageSection
from gpgpu_legacy.page.sections.lineage import make_section
from gpgpu_legacy.serial import plain


@pytest.fixture(scope="module")
def section() -> PageSection:
    return make_section()


def unfolded(section: PageSection, method: str) -> str:
    """What is unfolded of a method."""
    return section.html.split(f'<details id="lineage-{method}">')[1].split('<details id="')[0]


def row(section: PageSection, method: str, size: int) -> list[str]:
    """The cells of a method's counts and times at a size."""
    rows = re.findall(r"<tr><td.*?</tr>", unfolded(section, method), flags=re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    [found] = [each for each in cells if each[0] == str(size)]
    return [cell.replace("\N{NARROW NO-BREAK SPACE}", "") for cell in found]


def times(section: PageSection, **where: Any) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = plain(section.data)["times"]
    return [one for one in every if all(one[name] == value for name, value in where.items())]


def test_every_method_is_there_in_the_order_of_history(section: PageSection) -> None:
    named = re.findall(r'<details id="lineage-([\w-]+)">', section.html)
    assert named == [method.name for method in products()]
    assert [each["name"] for each in section.data["methods"]] == named
    for name in named:
        text = re.search(r"<pre[^>]*>(.*?)</pre>", unfolded(section, name), flags=re.DOTALL)
        assert text is not None and ("!!ARBfp1.0" in text[1] or "#version 430" in text[1])


def test_times_are_those_of_the_files(section: PageSection) -> None:
    lineage = json.loads(recorded_file("lineage-cpu-lowered.json").read_text("utf-8"))
    for step in (result for result in lineage["results"] if result["plan"]):
        [found] = times(section, device="cpu", n=1024, method=step["plan"])
        assert found["seconds"] == pytest.approx(step["seconds"], rel=1e-4)
        assert found["executor"] == step["executor"]
    bench = json.loads(recorded_file("bench-cpu.json").read_text("utf-8"))
    for result in bench["results"]:
        if result["parameters"]["n"] == 4096 and not result["is_peer"]:
            [found] = times(section, device="cpu", n=4096, method=result["plan"])
            assert found["seconds"] == pytest.approx(result["seconds"], rel=1e-4)
            assert found["file"] == "bench-cpu.json"
