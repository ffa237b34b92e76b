"""The page in a browser: it opens from disk, alone, and what goes wrong in one is not missed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser_pages import EACH_RENDERER, Modules, Opener
from test_write_page import read_alike

from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.page.one_plan import plan_page
from gpgpu_legacy.page.section import PageSection


@EACH_RENDERER
def test_floats_are_drawn_on_the_renderer_that_is_named(
    open_page: Opener, renderer: str, modules: Callable[..., Modules]
) -> None:
    code = """(() => {
        const gl = document.createElement("canvas").getContext("webgl2");
        const words = gl.getExtension("WEBGL_debug_renderer_info").UNMASKED_RENDERER_WEBGL;
        return [gl.getParameter(words), gl.getExtension("EXT_color_buffer_float") !== null];
    })()"""
    words, floats = modules().run(code)
    assert renderer in words.lower() and floats


def test_a_plan_s_page_plays_to_its_end(open_page: Opener) -> None:
    """Whatever its address asks for."""
    html = plan_page(find("bitonic-sort", n=16))
    page = open_page.html(html, at="%ff/plan=9e99&pass=-1")
    page.get_by_role("button", name="To the end").click()
    assert "bit for bit" in page.locator(".plan > .note").inner_text()


@pytest.mark.parametrize(
    ("html", "complaint"),
    [
        ("<script>console.error('broken')</script>", "broken"),
        ("<script>missing()</script>", "missing is not defined"),
        ("<img src='https://example.org/a.png' alt=''>", "example.org"),
        ("<section><p class='failed'>It fails.</p></section>", "It fails."),
    ],
)
def test_a_page_complains(open_page: Opener, html: str, complaint: str) -> None:
    open_page.html(f"<title>Wrong</title><body>{html}")
    open_page.close()
    assert complaint in " ".join(open_page.complaints)
    open_page.complaints.clear()


def test_a_section_that_fails_says_so_and_the_page_goes_on(open_page: Opener) -> None:
    sections = [
        PageSection("unknown", "No script", "<p>static</p>", data={}),
        PageSection("still", "Still", "<p>No script is needed.</p>"),
    ]
    page = open_page(sections)
    assert "does not move here" in page.locator("#unknown .failed").inner_text()
    open_page.close()
    assert len(open_page.complaints) == 1
    open_page.complaints.clear()


def test_texts_are_read_as_the_assembler_reads_them(modules: Callable[..., Modules]) -> None:
    """A tenth of those of test_write_page.py."""
    read_alike(modules, 100)
