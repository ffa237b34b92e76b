"""The whole page as people use it: each control, narrow and dark, by keys, and without scripts."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from browser_pages import PHONE, WIDE, Opener, View, section_of, turn
from PIL import Image

from gpgpu_legacy.page.page import TITLE, introduction, page_text
from gpgpu_legacy.page.sections import SECTIONS

HERE = Path(__file__).parent
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
MOST_BYTES = 2_200_000
MOST_STOPS = 140
STOP = ":not([tabindex='-1'])"
STILL = (".figure2-still img", ".lesson-still", "#cache tbody td", "#loaded tbody td",
         "[data-claim]", "[data-claim-of]", "#your-gpu td", "#algorithms td")  # fmt: skip
"""What stands without scripts."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("whole") / "page.html"
    sections = [section_of(name) for name in SECTIONS]
    file.write_text(page_text(TITLE, introduction(), sections), "utf-8")
    return file


def test_it_is_one_file_that_one_can_send(whole: Path) -> None:
    assert whole.stat().st_size < MOST_BYTES


def test_every_control_is_used(open_page: Opener, whole: Path) -> None:
    """On a phone, and those that only a wide page shows there; both look as they should."""
    page = open_page.open(whole, PHONE)
    look, use = ((HERE / name).read_text("utf-8") for name in ("look.js", "use_controls.js"))
    used: list[str] = []
    for view, part in product((PHONE, WIDE), ("learn", "evidence")):
        page.set_viewport_size({"width": view.width, "height": view.height})
        turn(page, part)
        assert page.evaluate(look) == []
        used = page.evaluate(use, used)
        assert page.evaluate(OVERFLOW) == 0
        assert page.evaluate(look) == []
    in_sections = {kind.split()[0] for kind in used}
    moving = {name for name in SECTIONS if page.locator(f"#{name}.live").count()}
    assert moving <= in_sections and len(moving) > len(SECTIONS) // 2


def test_tab_comes_to_each_control_and_one_sees_where_it_is(open_page: Opener) -> None:
    page = open_page("algorithms")
    page.locator("details").evaluate("(more) => { more.open = true; }")
    reached = []
    for _ in range(100):
        page.keyboard.press("Tab")
        here = page.evaluate("""() => {
            const at = document.activeElement;
            const { outlineStyle, outlineWidth } = getComputedStyle(at);
            const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
            const name = at.getAttribute("aria-label") ?? at.textContent;
            return at === document.body ? null : [at.tagName, name, seen];
        }""")
        if here is None:
            break
        reached.append(here)
    assert [control for control in reached if not control[2]] == []
    tags = [tag for tag, _, _ in reached]
    assert tags.count("CANVAS") == page.locator("canvas[tabindex]").count() > 1
    assert tags.count("BUTTON") == page.locator(f"main button{STOP}:visible").count() >= 5
    fields = page.locator("main :is(input, select):visible").count()
    assert tags.count("INPUT") + tags.count("SELECT") == fields >= 3
    assert len(reached) == len({tuple(map(str, control)) for control in reached})


def test_nonsense_in_every_word_of_the_address(open_page: Opener, whole: Path) -> None:
    names = "|".join(SECTIONS)
    scripts = whole.read_text("utf-8").rpartition('<script type="module">')[2]
    words = {*re.findall(rf'"((?:{names})\.[\w-]+)"', scripts)}
    assert len(words) > 5
    page = open_page.open(whole, PHONE, at="&".join(f"{w}=%3Cb%3E-{w}-" for w in words))
    said = " ".join(page.locator(".said").all_text_contents())
    # The audit is searched for any words.
    assert [word for word in words if f"<b>-{word}-" not in said] == ["audit.words"]
    assert page.locator("main b", has_text="-").count() == 0
    assert page.evaluate(OVERFLOW) == 0


def test_without_scripts_it_says_so_and_shows_what_is_known(open_page: Opener, whole: Path) -> None:
    page = open_page.open(whole, View(PHONE.width, PHONE.height, javascript=False))
    assert "JavaScript is off" in page.locator("noscript p").inner_text()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for name in SECTIONS:
        section = page.locator(f"#{name}")
        assert section.locator("h2").is_visible()
        assert len(section.inner_text()) > 150, name
    for still in STILL:
        assert page.locator(still).first.is_visible(), still
    assert page.evaluate(OVERFLOW) == 0
    assert page.locator("main :is(button, input, select):visible").count() == 0


def test_nothing_plays_by_itself_where_motion_is_reduced(open_page: Opener, whole: Path) -> None:
    page = open_page.open(whole, View(calm=True))
    state = "[...document.querySelectorAll('.transport-said')].map((said) => said.textContent)"
    for name in SECTIONS:
        turn(page, name)
        page.wait_for_timeout(100)
    before = page.evaluate(state)
    page.wait_for_timeout(1500)
    assert page.evaluate(state) == before and before
    moving = "document.getAnimations().filter(({ playState }) => playState === 'running').length"
    assert page.evaluate(moving) == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_section_is_seen(open_page: Opener, whole: Path, tmp_path: Path, dark: bool) -> None:
    """Its picture has more than its ground, which is dark where that is asked for."""
    page = open_page.open(whole, View(dark=dark))
    for view in (WIDE, PHONE):
        page.set_viewport_size({"width": view.width, "height": view.height})
        assert page.evaluate(OVERFLOW) == 0
        for name in SECTIONS:
            turn(page, name)
            page.locator(f"#{name}").wait_for()
            file = tmp_path / f"{name}.png"
            page.screenshot(path=file)
            pixels = np.asarray(Image.open(file).convert("L"), np.float64)
            assert pixels.shape == (view.height, view.width)
            ground = np.median(pixels)
            assert ground < 60 if dark else ground > 200, name
            assert 0.01 < np.mean(np.abs(pixels - ground) > 60) < 0.6, name


@pytest.mark.parametrize("part", ["learn", "evidence"])
def test_tab_stops_are_few_and_a_link_skips_to_the_first_section(
    open_page: Opener, whole: Path, part: str
) -> None:
    page = open_page.open(whole, at=part)
    controls = ("a[href]", "button:enabled", "select", "input:enabled", "summary", "[tabindex]")
    stops = page.locator(", ".join(f"{one}{STOP}:visible" for one in controls))
    assert stops.count() < MOST_STOPS
    first = page.locator(f"#{part} > section").first.get_attribute("id")
    skip = page.locator(f".skip[href='#{first}']")
    skip.focus()
    assert skip.evaluate("(skip) => skip.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = "(part) => document.activeElement.closest(`#${part} > section:first-of-type`) !== null"
    assert page.evaluate(inside, part)


@pytest.mark.parametrize("part", ["learn", "evidence"])
def test_a_handout_has_four_to_six_pages_and_no_controls(
    open_page: Opener, whole: Path, part: str
) -> None:
    page = open_page.open(whole, View(dark=True), at=part)
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert 4 <= pages <= 6
    page.emulate_media(media="print")
    words = ".element, .kernel button"  # buttons that are texts there
    controls = page.locator(f"nav:visible, main :is(button:not({words}), select):visible")
    heads = page.locator(".audit-dots th button:visible")  # which are headings there
    assert controls.count() == heads.count()
    assert page.locator(".figure2, .audit-dots").locator("visible=true").count() == 1
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
