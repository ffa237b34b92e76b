"""The section about the lineage in a browser: its chart, its lists and its address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from browser_pages import Opener

from gpgpu_legacy.files import recorded_file

if TYPE_CHECKING:
    from playwright.sync_api import Page

OLD, NEW = "larson-mcallister", "packed-2x2"


def seconds(file: str, method: str) -> float:
    steps = json.loads(recorded_file(file).read_text("utf-8"))["results"]
    [found] = [step["seconds"] for step in steps if step["plan"] == method]
    return float(found)


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def sentence(page: Page) -> str:
    return ungrouped(page.locator(".lineage-sentence").inner_text())


def ungrouped(text: str) -> str:
    """A text with the digits of its numbers together."""
    return text.replace("\N{NARROW NO-BREAK SPACE}", "")


def test_bytes_from_memory_come_first(open_page: Opener) -> None:
    page = open_page("lineage")
    recorded = json.loads(recorded_file("from-memory.json").read_text("utf-8"))
    bytes_of = recorded["from_memory"]
    choose(page, "method", "opengl-compute-tiled")
    per_byte = recorded["size"] ** 3 / bytes_of["opengl-compute-tiled"]
    times = bytes_of[OLD] / bytes_of["opengl-compute-tiled"]
    assert f": {per_byte:.3g} multiply-adds per byte from memory, {times:.3g} t" in sentence(page)


@pytest.mark.parametrize(
    ("device", "file"), [("h100-drawn", "lineage-h100.json"), ("cpu", "lineage-cpu-lowered.json")]
)
def test_times_are_chosen_with_their_device_and_size(
    open_page: Opener, device: str, file: str
) -> None:
    page = open_page("lineage")
    choose(page, "shown", f"{device}/1024")
    choose(page, "method", NEW)
    time = seconds(file, NEW)
    assert f"{1e3 * time:.3g} ms" in sentence(page)
    assert f"{seconds(file, OLD) / time:.3g} times those of Larsen" in sentence(page)
    assert f"benchmarks/{file}" in page.locator("#lineage").inner_text()
    assert f"lineage.shown={device}%2F1024" in page.url and f"lineage.method={NEW}" in page.url


def test_every_choice_has_dots_and_printed_times_are_rings(open_page: Opener) -> None:
    page = open_page("lineage")
    values = page.locator("#lineage-shown option").evaluate_all("all => all.map((o) => o.value)")
    for value in values:
        choose(page, "shown", value)
        dots = page.locator("#lineage circle:not(.printed)").count()
        assert dots >= 3 and page.locator("#lineage .chart .lineage-dot").count() >= dots
    choose(page, "shown", "h200/1024")
    # MulH of Dobravec & Bulic's Section 3.2, the sample's run, and Table 1's CPU and GPU.
    assert page.locator("#lineage circle.printed").count() == 4
    choose(page, "shown", "cpu16/1024")
    assert "was not recorded there" in sentence(page) or "ms" in sentence(page)
    choose(page, "method", NEW)
    assert "Packed 2×2, 2018 was not recorded there" in sentence(page)


def test_a_moment_and_nonsense_in_the_address(open_page: Opener) -> None:
    page = open_page("lineage", at="lineage.method=mali-sgemm&lineage.shown=h200/7")
    assert sentence(page).startswith("Mali SGEMM, 2012: ")
    said = page.locator("#lineage .said").inner_text()
    assert "lineage.shown=h200/7, which is none of memory, h100-drawn/" in said


def test_a_dot_unfolds_its_method(open_page: Opener) -> None:
    page = open_page("lineage")
    page.locator("#lineage .lineage-dot", has_text="Single-channel").click()
    method = page.locator("#lineage-hall-carr-hart-single")
    assert method.get_attribute("open") is not None
    page.get_by_label("method", exact=True).focus()
    page.keyboard.press("ArrowUp")
    assert method.get_attribute("open") is None
    assert page.locator(f"#lineage-{OLD}").get_attribute("open") is not None
