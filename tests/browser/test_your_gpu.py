"""On your GPU: products are timed when a button is pressed, and stop when one is."""

from __future__ import annotations

import re
from itertools import product

import pytest
from browser_pages import EACH_RENDERER, PHONE, WIDE, Opener, View, section_of
from playwright.sync_api import Page, expect

from gpgpu_legacy.page.section import Section
from gpgpu_legacy.page.sections.your_gpu import METHODS, SIZES

PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def section() -> Section:
    return section_of("your-gpu")


def rows(page: Page) -> list[list[str]]:
    script = "all => all.map(row => [...row.cells].map(cell => cell.innerText))"
    found: list[list[str]] = page.locator(".yours-live tbody tr").evaluate_all(script)
    return found


def started(page: Page, most: int) -> None:
    page.get_by_label("up to n =").select_option(str(most))
    page.get_by_role("button", name="Start").click()


@EACH_RENDERER
def test_products_are_timed_and_right(open_page: Opener, section: Section, renderer: str) -> None:
    page = open_page([section])
    assert rows(page) == []
    started(page, SIZES[0])
    expect(page.locator(".yours-progress")).to_contain_text("Done", timeout=PATIENCE_MS)
    assert renderer in page.locator(".yours-progress").inner_text().lower()
    found = rows(page)
    assert [row[0] for row in found] == [str(SIZES[0])] * len(METHODS)
    assert [row[1].partition(",")[0] for row in found] == list(METHODS)
    for _, _, runs, ms, gflops, checked, _ in found:
        assert 1 <= int(runs) <= 9
        assert float(ms) * float(gflops) == pytest.approx(2e-6 * SIZES[0] ** 3, rel=0.02)
        assert re.fullmatch(r"64 elements: none beyond the rounding bound, at most [\d.]+ % of it",
                            checked)  # fmt: skip


def test_a_wrong_product_is_said(open_page: Opener, section: Section) -> None:
    products = [dict(product) for product in section.data["products"][:1]]
    scene = products[0]["scene"]
    text = scene["shaders"]["texts"][0]
    fragment = text["fragment"].replace("target0 = colour0;", "target0 = colour0 * 1.001;")
    wrong = {**text, "fragment": fragment}
    products[0]["scene"] = {**scene, "shaders": {**scene["shaders"], "texts": [wrong]}}
    data = {**section.data, "products": products}
    page = open_page([Section(section.id, section.title, section.html, data, section.scripts)])
    started(page, SIZES[0])
    expect(page.locator(".yours-progress")).to_contain_text("Done", timeout=PATIENCE_MS)
    [[*_, checked, _]] = rows(page)
    assert re.fullmatch(r"\d+ of 64 elements beyond the rounding bound", checked)


def test_it_stops_and_starts_again(open_page: Opener, section: Section) -> None:
    page = open_page([section])
    started(page, SIZES[-1])
    page.get_by_role("button", name="Stop").click()
    progress = page.locator(".yours-progress")
    expect(progress).to_contain_text("Stopped", timeout=PATIENCE_MS)
    assert len(rows(page)) < len(SIZES) * len(METHODS)
    started(page, SIZES[0])
    expect(progress).to_contain_text("Done", timeout=PATIENCE_MS)
    assert len(rows(page)) == len(METHODS)


NO_WEBGL = "HTMLCanvasElement.prototype.getContext = () => null"
LACKING = """(() => {
    const getExtension = WebGL2RenderingContext.prototype.getExtension;
    WebGL2RenderingContext.prototype.getExtension = function (name) {
        return name === "%s" ? null : getExtension.call(this, name);
    };
})()"""


def test_without_webgl2_it_says_so(open_page: Opener, section: Section) -> None:
    page = open_page([section])
    page.evaluate(NO_WEBGL)
    started(page, SIZES[0])
    expect(page.locator(".yours-progress")).to_contain_text("gives the page no WebGL2")
    assert page.get_by_role("button", name="Start").is_enabled()


def test_what_a_gpu_lacks_is_said_of_each_product(open_page: Opener, section: Section) -> None:
    page = open_page([section])
    page.evaluate(LACKING % "EXT_float_blend")
    started(page, SIZES[0])
    expect(page.locator(".yours-progress")).to_contain_text("Done", timeout=PATIENCE_MS)
    said = {row[1].partition(",")[0]: row[5] for row in rows(page)}
    assert "does not blend floats" in said["larson-mcallister"]
    assert "none beyond" in said["hall-carr-hart-multi"]


def test_nothing_overflows(open_page: Opener, section: Section) -> None:
    page = open_page([section], PHONE)
    started(page, SIZES[0])
    expect(page.locator(".yours-progress")).to_contain_text("Done", timeout=PATIENCE_MS)
    page.locator("#your-gpu summary").click()
    for width, colours in product((PHONE.width, WIDE.width), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": PHONE.height})
        page.emulate_media(color_scheme=colours)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_without_javascript_times_from_elsewhere_stand(open_page: Opener, section: Section) -> None:
    page = open_page([section], View(javascript=False))
    page.locator("#your-gpu summary").click()
    assert page.locator("#your-gpu td", has_text="benchmarks/").first.is_visible()
