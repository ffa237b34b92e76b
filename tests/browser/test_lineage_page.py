"""The section about the lineage in a browser: its lists, its chart, its table and its address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from browser_pages import Opener

from gpgpu_legacy.sources import recorded_file

if TYPE_CHECKING:
    from playwright.sync_api import Page

OLD, NEW = "larson-mcallister", "packed-2x2"


def seconds(file: str, method: str) -> float:
    steps = json.loads(recorded_file(file).read_text("utf-8"))["results"]
    [found] = [step["seconds"] for step in steps if step["plan"] == method]
    return float(found)


def time_on(bench: dict[str, Any]) -> str:
    """The device of a benchmark's own results."""
    [device] = {result["device"] for result in bench["results"] if not result["is_peer"]}
    return str(device)


def choose(page: Page, label: str, value: str | int) -> None:
    page.get_by_label(label, exact=True).select_option(str(value))


def sentence(page: Page) -> str:
    return ungrouped(page.locator(".lineage-sentence").inner_text())


def cell(page: Page, method: str, device: str) -> str:
    row = page.locator(".lineage-table tbody tr", has_text=method)
    return ungrouped(row.locator(f'[data-label="{device}"]').inner_text())


def ungrouped(text: str) -> str:
    """A text with the digits of its numbers together."""
    return text.replace("\N{NARROW NO-BREAK SPACE}", "")


def test_ratios_are_to_the_origin_on_the_same_device(open_page: Opener) -> None:
    page = open_page("lineage")
    choose(page, "shown as", "ratio")
    for file, device in (
        ("lineage-h100.json", "H100, drawn"),
        ("lineage-cpu-llvmpipe.json", "two cores, drawn by llvmpipe"),
    ):
        ratio = seconds(file, OLD) / seconds(file, NEW)
        assert float(cell(page, NEW, device)) == pytest.approx(ratio, rel=5e-3)
        assert cell(page, OLD, device) == "1"
    assert "the same device at the same n" in page.locator(".lineage-table caption").inner_text()
    choose(page, "origin of ratios", NEW)
    assert cell(page, NEW, "H100, drawn") == "1"


def test_devices_and_sizes_are_chosen(open_page: Opener) -> None:
    page = open_page("lineage")
    choose(page, "method", OLD)
    choose(page, "device in colour", "cpu")
    choose(page, "size n", 4096)
    bench = json.loads(recorded_file("bench-cpu.json").read_text("utf-8"))
    [time] = [
        r["seconds"] for r in bench["results"] if (r["plan"], r["parameters"]["n"]) == (OLD, 4096)
    ]
    assert f"At n = 4096 on two cores, as native code, {OLD} takes {1e3 * time:.3g} ms" in sentence(
        page
    )
    assert f"{time_on(bench)} (benchmarks/bench-cpu.json)" in page.locator("#lineage").inner_text()
    assert f"lineage.method={OLD}" in page.url and "lineage.n=4096" in page.url
    choose(page, "method", NEW)
    assert (
        f"{NEW} was not recorded on two cores, as native code at n = 4096; n = 1024 was."
        == sentence(page)
    )
    choose(page, "device in colour", "cpu16")
    assert sentence(page).endswith("nor at any other size.")


def test_a_moment_and_nonsense_in_the_address(open_page: Opener) -> None:
    page = open_page(
        "lineage",
        at="lineage.method=mali-sgemm&lineage.device=h100-drawn&lineage.n=7",
    )
    assert sentence(page).startswith("At n = 1024 on H100, drawn, mali-sgemm takes ")
    said = page.locator("#lineage .said").inner_text()
    assert "lineage.n=7, which is none of 128, 256, 512, 1024" in said


def test_a_row_of_the_chart_unfolds_its_method(open_page: Opener) -> None:
    page = open_page("lineage")
    page.locator("#lineage .lineage-row").nth(2).click()
    method = page.locator("#lineage-hall-carr-hart-multi")
    assert method.get_attribute("open") is not None
    page.get_by_label("method", exact=True).focus()
    page.keyboard.press("ArrowUp")
    assert method.get_attribute("open") is None
    assert page.locator("#lineage-hall-carr-hart-single").get_attribute("open") is not None


@pytest.mark.parametrize("unit", ["gflops", "ms", "ratio"])
def test_labels_are_whole_and_no_line_goes_through_them(open_page: Opener, unit: str) -> None:
    page = open_page("lineage", at=f"lineage.unit={unit}")
    cut = page.evaluate(
        """() => {
            const { left, right } = document.querySelector("#lineage .chart")
                .getBoundingClientRect();
            return [...document.querySelectorAll("#lineage .chart text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < left || box.right > right;
            }).map((text) => text.textContent);
        }"""
    )
    assert cut == []
    touching = page.evaluate(
        """() => {
            const boxes = (all) => [...document.querySelectorAll(`#lineage .chart ${all}`)].map(
                (one) => one.getBoundingClientRect());
            const lines = [...boxes("path"), ...boxes("circle")];
            return boxes("text").filter((t) => lines.some((l) => l.left < t.right
                && l.right > t.left && l.top < t.bottom - 3 && l.bottom > t.top + 3)).length;
        }"""
    )
    assert page.locator("#lineage .chart path").count() > 1 and touching == 0
