"""The three methods side by side: their counts, the race, the channels that meet, the address."""

from __future__ import annotations

import numpy as np
import pytest
from browser_pages import EACH_RENDERER, Opener, View
from playwright.sync_api import Page, expect

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.published.papers import papers

CALM = View(calm=True)
METHODS = ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi")
COUNTED = {
    "Passes": "passes",
    "Fragments": "fragments",
    "Lookups": "lookup",
    "Arithmetic": "arithmetic",
    "Bytes requested": "bytes_requested",
    "Bytes copied": "copy_bytes",
}


def counters(page: Page) -> list[dict[str, tuple[int, int]]]:
    """Of each method, by the counter's name, what is counted and how much there will be."""
    script = """cards => cards.map(card => [...card.querySelectorAll("dt")].map(head =>
        [head.textContent, head.nextSibling.querySelector(".methods-count").textContent]))"""
    cards = page.locator(".methods-card").evaluate_all(script)
    read = [
        {name: text.replace("\N{NARROW NO-BREAK SPACE}", "").split(" of ") for name, text in card}
        for card in cards
    ]
    return [{name: (int(now), int(end)) for name, (now, end) in card.items()} for card in read]


@EACH_RENDERER
@pytest.mark.parametrize(
    ("n", "block", "mode"), [(8, 2, "copy"), (6, 4, "ping-pong"), (4, 1, "blend")]
)
def test_the_counts_are_those_of_the_plans(
    open_page: Opener, n: int, block: int, mode: str
) -> None:
    at = f"methods.n={n}&methods.block={block}&methods.mode={mode}"
    page = open_page("methods", CALM, at=at)
    for name, found in zip(METHODS, counters(page), strict=True):
        more = {"block": block, "accumulate": mode} if name != METHODS[0] else {}
        counts = count_plan(find_product(name).plan(n=n, **more))
        assert found == {
            label: (getattr(counts, count), getattr(counts, count))
            for label, count in COUNTED.items()
        }
    assert "equal, bit for bit" in page.locator(".methods-verdict").inner_text()


def test_the_papers_formulas_are_beside_the_counts(open_page: Opener) -> None:
    n, b = 8, 4
    page = open_page("methods", CALM, at=f"methods.n={n}&methods.block={b}")
    paper = next(paper for paper in papers() if paper.id == "hall-carr-hart-2003")
    for table in paper.tables:
        for row in table.rows:
            card = page.locator(".methods-card").nth(METHODS.index(row.method))
            value = eval(row.total, {"n": n, "b": b})
            expect(card).to_contain_text(f"= {int(value)}")
    odd = open_page("methods", CALM, at="methods.n=6&methods.block=4")
    expect(odd.locator(".methods-card").nth(2)).to_contain_text("before padding")


def test_one_slider_moves_the_three(open_page: Opener) -> None:
    page = open_page("methods", CALM, at="methods.at=4")
    halves = counters(page)
    assert all(now * 2 == end for card in halves for now, end in card.values())
    slider = page.get_by_role("slider", name="Progress")
    slider.press("End")
    assert all(now == end for card in counters(page) for now, end in card.values())
    slider.press("Home")
    assert all(now == 0 for card in counters(page) for now, _ in card.values())


def test_lines_join_the_channels_of_the_paper(open_page: Opener) -> None:
    page = open_page("methods", CALM, at="methods.instruction=5")
    picture = page.locator("svg.swizzles")
    # Equation (9): X_rrbb Y_rgrg.
    words = "r: r with r; g: r with g; b: b with r; a: b with g"
    assert words in (picture.get_attribute("aria-label") or "")
    assert picture.locator(".swizzles-line").count() == 8
    page.get_by_role("group", name="Instruction").get_by_role("button", name="Forward").click()
    # Equation (10): X_ggaa Y_baba.
    words = "r: g with b; g: g with a; b: a with b; a: a with a"
    assert words in (picture.get_attribute("aria-label") or "")
    marked = page.locator(".methods-program [aria-current]")
    expect(marked).to_contain_text("MAD R3, R1.ggaa, R2.baba, R3;")
    page.get_by_label("Program of").select_option("larson-mcallister")
    expect(marked).to_contain_text("MUL result.color, A, B;")
    assert picture.locator(".swizzles-line").count() == 2
    page.locator(".methods-program .trace-step").first.click()
    expect(page.locator(".swizzles-sentence")).to_contain_text("becomes the texel of A at")


def test_a_fragment_is_chosen_in_a_framebuffer(open_page: Opener) -> None:
    page = open_page("methods", CALM, at="methods.at=4")
    grid = page.get_by_role("grid", name="Framebuffer of Single-channel")
    grid.get_by_role("gridcell").nth(8 * 2 + 5).click()
    expect(page.locator(".methods-program")).to_contain_text("the fragment at (5, 2)")
    assert page.get_by_label("Program of").input_value() == "hall-carr-hart-single"
    frames = page.locator(".methods-card").nth(1).locator(".own")
    # The second pass of two products reads A[3, 3:5] and B[3:5, 6], counted from 1.
    places = frames.evaluate_all("frames => frames.map(frame => frame.style.gridArea)")
    assert sorted(places) == ["3 / 3 / 4 / 5", "3 / 6 / 4 / 7", "3 / 6 / 5 / 7"]


def test_a_moment_is_sent(open_page: Opener) -> None:
    page = open_page("methods", CALM, at="methods.n=6&methods.at=3&methods.instruction=4")
    page.get_by_label("Block b").select_option("4")
    page.get_by_label("The slider counts").select_option("instructions")
    page.wait_for_timeout(400)
    at = page.url.split("#")[1]
    seen = (counters(page), page.locator(".methods-program").inner_text())
    other = open_page("methods", CALM, at=at)
    assert (counters(other), other.locator(".methods-program").inner_text()) == seen


def test_the_matrices_of_figure_2_are_taken(open_page: Opener) -> None:
    page = open_page(
        ("figure-2", "methods"),
        CALM,
        at="methods.n=figure-2&figure-2.A=1_2~3_4~5_6&figure-2.B=1_2~3_4",
    )
    assert [card["Fragments"][1] for card in counters(page)] == [12, 6, 2]
    page.get_by_label("Columns", exact=True).fill("3")
    page.get_by_label("Columns", exact=True).blur()
    expect(page.locator(".methods-count").nth(1)).to_have_text("18 of 18")
    page.get_by_label("A, row 1, column 1", exact=True).fill("7")
    first = page.locator(".methods-card").first.locator(".methods-C .element").first
    assert first.inner_text() == "" or np.isclose(float(first.text_content() or "nan"), 13)
