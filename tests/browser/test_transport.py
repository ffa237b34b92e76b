"""Play, pause, steps, the slider and the keys, and what is made of a number in an address."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser_pages import Modules
from playwright.sync_api import Page

MADE = """(() => {
    globalThis.went = [];
    globalThis.transport = new Transport({label: "Pass", step: 40, go: (at) => went.push(at)});
    transport.shape(4);
    document.body.append(transport.root);
})()"""


@pytest.fixture
def page(modules: Callable[..., Modules]) -> Page:
    made = modules("player/transport.js")
    made.run(MADE)
    return made.page


def test_it_plays_to_the_end_and_again(page: Page) -> None:
    for _ in range(2):
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("transport.at === 4 && !transport.playing")
    assert page.evaluate("went") == [1, 2, 3, 4, 0, 1, 2, 3, 4]


def test_it_pauses_and_steps(page: Page) -> None:
    page.evaluate("transport.step = 1000; transport.play()")
    page.get_by_role("button", name="Pause").click()
    stopped = page.evaluate("transport.step = 10; transport.at")
    page.wait_for_timeout(100)
    assert page.evaluate("[transport.at, transport.playing]") == [stopped, False]
    page.evaluate("transport.to(2)")
    first, back, forward, end = "To the beginning", "Back", "Forward", "To the end"
    clicks = ((first, 0), (back, 0), (forward, 1), (end, 4), (forward, 4), (back, 3))
    for name, at in clicks:
        page.get_by_role("button", name=name).click(force=True)
        assert page.evaluate("[transport.at, went.at(-1)]") == [at, at]
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "Pass 3 of 4"
    assert page.locator(".transport-said").inner_text() == "3 of 4"


def test_the_keys_do_what_the_buttons_do(page: Page) -> None:
    slider = page.get_by_role("slider", name="Pass")
    slider.focus()
    for key, at in (("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3), ("Home", 0), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert page.evaluate("transport.at") == at
    page.evaluate("transport.step = 60_000")
    page.keyboard.press("Space")
    assert page.evaluate("transport.playing")
    page.keyboard.press("Space")
    assert not page.evaluate("transport.playing")


def test_it_is_played_faster_and_shaped_anew(page: Page) -> None:
    page.get_by_role("combobox", name="speed").select_option("16")
    page.evaluate("transport.play()")
    page.wait_for_function("went.length === 4")
    page.evaluate("transport.shape(2)")
    assert page.evaluate("[transport.at, transport.slider.max, transport.playing]") == [
        2,
        "2",
        False,
    ]
    assert page.evaluate("went") == [1, 2, 3, 4]


def test_iterations_are_stepped_and_played(page: Page) -> None:
    """Of two passes each, between a first pass and a last one."""
    page.evaluate("transport.shape(8, [3, 5, 7])")
    back, forward = "The iteration before", "The iteration after"
    for name, at in ((forward, 3), (forward, 5), (forward, 7), (forward, 8), (back, 7), (back, 5)):
        page.get_by_role("button", name=name).click()
        assert page.evaluate("transport.at") == at
    page.get_by_role("combobox", name="speed").select_option("by iterations")
    page.evaluate("transport.to(0); went.length = 0; transport.play()")
    page.wait_for_function("!transport.playing")
    assert page.evaluate("went") == [3, 5, 7, 8]
    page.evaluate("transport.shape(4)")
    assert page.get_by_role("button", name=forward).count() == 0
