"""Figure 2, alive: its numbers, its editor, its fragments and its address, in a browser."""

from __future__ import annotations

import re

import numpy as np
from browser_pages import Opener, View
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from gpgpu_legacy.algorithms.matmul.larson_mcallister import DEMONSTRATION_A, DEMONSTRATION_B

F32 = NDArray[np.float32]
HIDDEN = "not shown yet"

CALM = View(calm=True)
A, B = (np.array(matrix, np.float32) for matrix in (DEMONSTRATION_A, DEMONSTRATION_B))


def in_address(matrix: F32) -> str:
    rows = ("_".join(str(number).replace("e+", "e") for number in row) for row in matrix)
    return "~".join(rows)


def address(a: F32, b: F32, **more: object) -> str:
    words = {"A": in_address(a), "B": in_address(b), **more}
    return "&".join(f"figure-2.{name}={value}" for name, value in words.items())


def shown(page: Page, label: str) -> list[list[str]]:
    """The numbers of a picture, whole, without what is padding."""
    script = """(root) => [...root.querySelectorAll("[data-place]")].map((cell) =>
        [cell.dataset.place, cell.dataset.whole ?? cell.title.split(",")[0]])"""
    cells = page.locator(f'.elements[aria-label="{label}"]').evaluate(script)
    rows: dict[int, list[str]] = {}
    for place, text in cells:
        rows.setdefault(int(place.split(",")[0]), []).append(text)
    return list(rows.values())


def numbers(page: Page, label: str) -> F32:
    known = [[text.replace(HIDDEN, "nan") for text in row] for row in shown(page, label)]
    return np.array([[float(text) for text in row] for row in known], np.float32)


def assert_drawn(page: Page, expected: F32) -> None:
    """What is drawn, without the pixel that is asked for."""
    drawn = numbers(page, "Framebuffer")
    asked = np.isnan(drawn) | np.isnan(expected)
    assert np.array_equal(drawn[~asked], expected[~asked]) and asked.sum() <= 1


def said(page: Page) -> str:
    return page.locator(".figure2 > .said").inner_text()


def more(page: Page) -> Page:
    """The page, with what stands behind "More" unfolded."""
    page.get_by_text("More: other matrices").click()
    return page


def word(page: Page, name: str) -> str:
    """A word of the address, once it is written."""
    page.wait_for_timeout(400)
    found = re.search(rf"figure-2\.{name}=([^&]*)", page.url)
    assert found, page.url
    return found.group(1)


def test_a_fragment_is_opened_by_a_click_and_by_enter(open_page: Opener) -> None:
    page = open_page("figure-2", CALM)
    cells = page.get_by_role("grid", name="Framebuffer")
    cells.get_by_role("gridcell").nth(6).click()
    fragment = page.locator(".figure2-fragment")
    # The last pass multiplies A[1, 3] by B[3, 2].
    product = DEMONSTRATION_A[1][3] * DEMONSTRATION_B[3][2]
    expect(fragment).to_contain_text("row 2, column 3")
    expect(fragment.locator("li").nth(2)).to_contain_text(f"= {product}")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(fragment).to_contain_text("row 3, column 3")
    total = (A @ B)[2, 2]
    expect(fragment).to_contain_text(f"the true product is {total}")
    assert word(page, "texel") == "2_2"


def test_the_pass_is_marked_and_what_it_adds_is_shown(open_page: Opener) -> None:
    page = open_page("figure-2", CALM, at="figure-2.pass=3")  # the clear, and two passes
    places = "frames => frames.map(frame => frame.style.gridArea)"
    assert page.locator('.elements[aria-label="A"] .pass').evaluate_all(places) == ["1 / 2 / 5 / 3"]
    assert page.locator('.elements[aria-label="B"] .pass').evaluate_all(places) == ["2 / 1 / 3 / 5"]
    adds = page.locator('.elements[aria-label="What the pass adds"]').inner_text().split()
    outer = np.outer(A[:, 1], B[1]).ravel()
    assert np.allclose([float(text) for text in adds], outer, atol=6e-4)
    assert_drawn(page, A[:, :2] @ B[:2])
    expect(page.locator(".figure2-moment")).to_contain_text("column 2 of A")


TYPED = [
    ("abc", "is no number"),
    ("NaN", "is no number"),
    ("1e39", "beyond the largest number of float32"),
    ("0,5", "write 0.5"),
    ("", "an empty cell is no number"),
]


def test_nonsense_in_a_cell_is_said_and_the_matrix_stays(open_page: Opener) -> None:
    page = open_page("figure-2", CALM)
    changed = A.copy()
    changed[1, 0] = 0.375
    cell = page.get_by_label("A, row 2, column 1", exact=True)
    for typed, sentence in TYPED:
        cell.fill(typed)
        cell.blur()
        assert sentence.lower() in said(page).lower() and "keeps 0.125" in said(page)
        assert cell.input_value() == "0.125"
        assert_drawn(page, A @ B)
        cell.fill("3/8")
        cell.press("Enter")
        assert said(page) == ""
        assert np.array_equal(numbers(page, "A"), changed)
        assert_drawn(page, changed @ B)
        cell.fill("1/8")
        cell.press("Enter")


def test_a_moment_is_sent(open_page: Opener) -> None:
    page = more(open_page("figure-2", CALM))
    cell = page.get_by_label("B, row 4, column 4", exact=True)
    cell.fill("-0.1")
    page.get_by_role("grid", name="Framebuffer").get_by_role("gridcell").last.click()
    page.get_by_role("button", name="Back").click()
    page.wait_for_timeout(400)
    at = page.url.split("#")[1]
    other = open_page("figure-2", CALM, at=at)
    assert np.array_equal(numbers(other, "B"), numbers(page, "B"))
    assert numbers(page, "B")[3, 3] == np.float32(-0.1)
    assert_drawn(other, numbers(page, "Framebuffer"))
    for part in (".figure2-moment", ".figure2-fragment"):
        assert other.locator(part).inner_text() == page.locator(part).inner_text()
    other.wait_for_timeout(400)
    assert other.url.split("#")[1] == at
