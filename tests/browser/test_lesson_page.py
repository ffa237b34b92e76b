"""The screens of the lesson: each asks, and shows what the passes did."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser_pages import PHONE, Opener, View
from playwright.sync_api import Page, expect

from gpgpu_legacy.algorithms.matmul.larson_mcallister import DEMONSTRATION_A, DEMONSTRATION_B
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.page.sections.lesson import BLOCKS, SIZE

CALM = View(calm=True)
A, B = (np.array(matrix) for matrix in (DEMONSTRATION_A, DEMONSTRATION_B))


def cell(page: Page, grid: str, row: int, column: int) -> str:
    """The number of a cell, its row and column from 0."""
    name = f"{grid}, row {row + 1}, column {column + 1}:"
    return (page.get_by_label(name).get_attribute("title") or "").split(",")[0]


def test_a_corner_that_is_dragged_turns_the_stripes(open_page: Opener) -> None:
    """At first every fragment of a row reads column 1; then the right ones read column 4."""
    page = open_page("stretch", CALM)
    texel = page.get_by_label("The texture of A, row 2, column 1:")
    texel.click()
    expect(page.locator("#stretch .told")).to_contain_text(
        "Yes. Its texture coordinate is (0.5, 1.5)"
    )
    assert [cell(page, "The rectangle", 1, x) for x in range(4)] == ["0.125"] * 4
    for corner in ("bottom right", "top right"):
        handle = page.get_by_role("button", name=f"The {corner} corner")
        for _ in range(12):
            handle.press("ArrowRight")
    # From s = 0.5 at the left edge to 3.5 at the right one, at the fragments' centres.
    columns = [int(0.5 + 3 * (x + 0.5) / 4) for x in range(4)]
    read = [float(cell(page, "The rectangle", 1, x)) for x in range(4)]
    assert read == [A[1, column] for column in columns]
    box = page.get_by_role("button", name="All four corners").bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] - 400, box["y"] + 9)
    page.mouse.up()
    assert [cell(page, "The rectangle", 3, x) for x in range(4)] == [str(A[3, 0])] * 4


def test_the_pixel_that_is_typed_is_compared(open_page: Opener) -> None:
    page = open_page("multiply", CALM)
    page.get_by_role("combobox", name="Pass").select_option(label="2")
    told = page.locator("#multiply .told")
    right = f"{A[1, 1] * B[1, 2]:.3f}"
    for typed, start in (("2", "Not yet."), ("1/2", "Not quite. You wrote 0.5"), (right, "Yes.")):
        hidden = page.get_by_label("The pass, row 2, column 3: not shown yet").count()
        assert hidden == (start != "Yes.")
        page.get_by_role("textbox").fill(typed)
        page.get_by_role("button", name="Answer").click()
        expect(told).to_contain_text(start)
        assert ("0.75 × 0.625 = 0.46875" in told.inner_text()) == (start != "Not yet.")
    page.get_by_role("textbox").fill("much")
    page.keyboard.press("Enter")
    expect(told).to_contain_text("is no number")
    expect(page.locator(".state")).to_contain_text("TEXTURE1 RECT MODULATE")


def test_a_pixel_is_right_once_no_pass_adds_to_it(open_page: Opener) -> None:
    page = open_page("add", CALM)
    told = page.locator("#add .told")
    assert not page.locator(".terms li").count()
    page.get_by_role("button", name="pass 2").click()
    expect(told).to_contain_text("Not yet.")
    page.get_by_role("button", name="pass 2").click()
    expect(told).to_contain_text(f"After pass 2 it holds {A[0, :2] @ B[:2, 0]}")
    for row in range(4):
        page.get_by_label(f"A, row {row + 1}, column 4", exact=True).fill("0")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="pass 3").click()
    expect(told).to_contain_text("Yes. After pass 3")
    page.get_by_label("The sum, row 3, column 2:").click()
    terms = page.locator(".terms li").all_inner_texts()
    sums = np.cumsum(A[2, :3] * B[:3, 1])
    ends = [float(text.split("= ")[1]) for text in terms]
    assert np.allclose(ends[:3], sums) and ends[3] == ends[2]


def test_8_bits_clip_where_the_sum_first_exceeds_1(open_page: Opener) -> None:
    page = open_page("eight-bits", CALM)
    sums = np.cumsum(A.T[:, :, None] * B[:, None, :], axis=0)
    first = next(n for n in range(4) if (sums[n] > 1 + 1 / 255).any())
    row, column = np.argwhere(sums[first] > 1 + 1 / 255)[0]
    page.get_by_label(f"In 8 bits, row {row + 1}, column {column + 1}:").click()
    expect(page.locator("#eight-bits .told")).to_contain_text(f"clips first, in pass {first + 1}")
    expect(page.locator("#eight-bits .right")).to_be_visible()
    expect(page.locator("#eight-bits .says")).to_contain_text("level 255 of 255")


def test_the_bars_and_lines_are_those_of_the_plans(open_page: Opener) -> None:
    page = open_page("programs", CALM)
    for typed in ("4", "2"):
        page.locator("#programs .question input").fill(typed)
        page.keyboard.press("Enter")
    titles = page.locator("#programs .strip figcaption").all_inner_texts()
    assert [title.split(": ")[1] for title in titles] == [
        "columns 1 and 2 × rows 1 and 2", "columns 3 and 4 × rows 3 and 4"
    ]  # fmt: skip
    slider = page.get_by_role("slider")
    for place, block in enumerate(BLOCKS):
        slider.fill(str(place))
        plan = find_product("hall-carr-hart-single").plan(n=SIZE, block=block)
        counts = count_plan(plan)
        passes, arithmetic, _, size, _, copied = page.locator("#programs dd").all_inner_texts()
        assert int(re.sub(r"\D", "", passes)) == counts.draws
        for said, count in (
            (arithmetic, counts.arithmetic),
            (size, counts.bytes_requested),
            (copied, counts.copy_bytes),
        ):
            unit = 1e9 if "billion" in said else 1e6
            assert float(said.split()[0]) == pytest.approx(count / unit, rel=0.006)
        shown = (page.locator(".listing").text_content() or "").strip()
        assert shown == disassemble(plan.programs()[0]).strip()
        for chip, largest in (("ATI Radeon 9700 Pro", 3), ("NVIDIA GeForce FX 5900 Ultra", 254)):
            does = "loads it" if block <= largest else "does not load it"
            expect(page.locator("#programs .says")).to_contain_text(f"The {chip} {does}")


def test_swizzles_join_the_channels_of_the_paper(open_page: Opener) -> None:
    page = open_page("channels", CALM)
    page.get_by_role("button", name="r", exact=True).click()
    expect(page.locator("#channels .told")).to_contain_text(
        "Yes. Channel r: the swizzles are .rrbb and .rgrg"
    )
    met = page.locator("#channels .wired .note")
    # Equation (9): X_rrbb Y_rgrg, then (10): X_ggaa Y_baba.
    for words in (
        "r: r with r; g: r with g; b: b with r; a: b with g",
        "r: g with b; g: g with a; b: a with b; a: a with a",
    ):
        expect(met).to_have_text(words)
        assert page.locator("#channels .wires path").count() == 8
        page.get_by_role("group", name="Instruction").get_by_role("button", name="Forward").click()
    # A quadrant is in a channel: A[2, 0] lies in b of the texel (0, 0), in its lower left.
    places = page.locator(".fold").first.locator("span.channel-b").first
    assert places.evaluate(
        "one => [one.style.getPropertyValue('--x'), one.style.getPropertyValue('--y')]"
    ) == ["0", "1"]


SCREENS = (
    "figure-2",
    "stretch",
    "multiply",
    "add",
    "eight-bits",
    "programs",
    "channels",
    "algorithms",
)


def test_the_figure_stands_on_the_first_screens(open_page: Opener) -> None:
    """The matrices, the stripes, the framebuffer and Play, on a notebook and on a phone."""
    for view, most in (
        (View(1366, 768, calm=True), 768),
        (View(PHONE.width, PHONE.height, calm=True), 1688),
    ):
        page = open_page(SCREENS, view)
        for part in (".cross", ".stripes", ".transport"):
            box = page.locator(f"#figure-2 {part}").first.bounding_box()
            assert box and box["y"] + box["height"] <= most, part
        assert page.evaluate("document.documentElement.scrollWidth") == view.width


def test_a_word_says_its_sentence_on_focus(open_page: Opener) -> None:
    page = open_page("stretch", CALM)
    word = page.locator(".term", has_text=re.compile("^fragment"))
    meaning = word.locator(".meaning")
    expect(meaning).to_be_hidden()
    word.focus()
    expect(meaning).to_contain_text("One pixel of the rectangle that a pass draws")


def test_it_plays_while_it_is_seen(open_page: Opener) -> None:
    page = open_page(("figure-2", "stretch", "add"))
    said = page.locator("#figure-2 .transport-said")
    expect(said).to_contain_text("pass 1 of 4")
    page.locator("#add .strip").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    stopped = said.text_content()
    page.wait_for_timeout(2000)
    assert said.text_content() == stopped


def test_figure_2_asks_what_a_pixel_will_hold(open_page: Opener) -> None:
    """The answer takes its reader to the pass that was asked for."""
    page = open_page("figure-2", CALM)
    told = page.locator("#figure-2 .told")
    asked = page.get_by_label("Framebuffer, row 1, column 1: not shown yet")
    expect(asked).to_have_text("?")
    page.get_by_role("button", name="To the beginning").click()
    for start in ("Not yet.", "Not quite."):
        page.locator(".figure2 .question input").fill("0.75")
        page.keyboard.press("Enter")
        expect(told).to_contain_text(start)
    expect(asked).to_have_count(0)
    held = A[0, :2] * B[:2, 0]
    expect(told).to_contain_text(f"Not quite. After pass 1 it holds {held[0]}, ")
    expect(told).to_contain_text(f"after pass 2 it holds {held.sum()}")
    expect(page.locator("#figure-2 .transport-said")).to_have_text("pass 2 of 4")
    page.locator(".figure2 .question input").fill(str(held.sum()))
    page.keyboard.press("Enter")
    expect(told).to_contain_text("Yes.")


def test_a_class_sees_one_screen_and_its_answer_by_a_key(open_page: Opener) -> None:
    page = open_page(("stretch", "multiply", "add"), CALM)
    page.goto(page.url.split("#")[0] + "?class#multiply")
    page.locator("html.started").wait_for()
    assert [page.locator(f"#{name}").is_visible() for name in ("stretch", "multiply", "add")] == [
        False, True, False
    ]  # fmt: skip
    told = page.locator("#multiply .told")
    page.get_by_role("button", name="Show me").click()
    expect(told).to_contain_text("Noted")
    page.keyboard.press("a")
    expect(told).to_contain_text("Unit 0 gives")
    page.keyboard.press("PageDown")
    expect(page.locator("#add")).to_be_visible()
    expect(page.locator("#multiply")).to_be_hidden()


def test_a_line_of_a_kernel_lights_its_instructions_and_texels(open_page: Opener) -> None:
    """Four neighbours of the marked texel."""
    page = open_page("kernel", CALM)
    told = page.locator("#kernel .told")
    lines = page.get_by_role("group", name="The kernel").get_by_role("button")
    lit = page.locator("#kernel code.acts")
    lines.nth(0).click()
    expect(told).to_contain_text("Not yet.")
    expect(lit).to_have_count(0)
    around = lines.filter(has_text="float around")
    around.click()
    expect(told).to_contain_text("Yes. It reads the four neighbours")
    assert len([line for line in lit.all_inner_texts() if line.startswith("TEX")]) == 4
    picture = page.get_by_role("application", name="The drum")
    for place in (
        "column 9, row 12",
        "column 11, row 12",
        "column 10, row 11",
        "column 10, row 13",
    ):
        expect(picture).to_have_attribute("aria-label", re.compile(f"Read: {place}"))
    lines.nth(0).hover()
    expect(lit).to_have_count(2)
    page.get_by_role("button", name="To the end").click()
    expect(page.locator("#kernel .transport-said")).to_have_text("60 of 60")
