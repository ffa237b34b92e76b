"""Pages in a real browser: Chromium on a renderer of its own choice, and pages that complain.

A page is a file that is opened from disk, with the network refused. What it must not do (an error
in its console, a request, a section that failed) is kept in a list, which ends empty or fails.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpgpu_legacy.page import sections
from gpgpu_legacy.page.page import page_text, script_text
from gpgpu_legacy.page.section import PageSection

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Route

_OPENGL = ("--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist")
RENDERERS = {
    "llvmpipe": _OPENGL,
    "swiftshader": ("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    "hardware": _OPENGL,
}
"""The arguments that make Chromium draw with a renderer; for llvmpipe, Mesa is told so as well."""

SOFTWARE = ("llvmpipe", "swiftshader")
"""The renderers in software. The first is Mesa's, the second comes with Chromium."""

EACH_RENDERER = pytest.mark.parametrize("renderer", SOFTWARE)
"""Marks a test that runs on each renderer in software; others run on the first that is there."""

_RENDERER = """() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    const words = gl && gl.getExtension("WEBGL_debug_renderer_info");
    return words ? gl.getParameter(words.UNMASKED_RENDERER_WEBGL) : "";
}"""

# Pages are put together without the GPU, which costs a software renderer dearly: it draws what
# scripts draw, and nothing else.
_ARGUMENTS = ("--no-sandbox", "--disable-gpu-compositing", "--disable-gpu-rasterization")
_PATIENCE, _MOMENT = 300, 50  # looks at a page that starts, and the milliseconds between them
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@cache
def section_of(name: str) -> PageSection:
    """A section of the page by its name, made once for all tests that open it."""
    [section] = sections.sections_of([name])
    return section


def browser_path() -> str | None:
    """The browser: what the environment variable CHROMIUM names, or one on the PATH."""
    named = os.environ.get("CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else _PROGRAMS)), None)


@dataclass(frozen=True)
class View:
    """How a page is looked at. javascript: whether its scripts run. calm: with reduced motion."""

    width: int = 1280
    height: int = 800
    dark: bool = False
    calm: bool = False
    javascript: bool = True


WIDE = View()
PHONE = View(width=390, height=844)


class Browsers:
    """Browsers by their renderers, and their pages, which are kept: a new one takes a new process.

    complaints: what the pages must not do and did.
    """

    def __init__(self, playwright: Playwright, path: str) -> None:
        self.complaints: list[str] = []
        self._playwright, self._path = playwright, path
        self._started: dict[str, Browser] = {}
        self._words: dict[str, str] = {}
        self._contexts: dict[tuple[str, bool], BrowserContext] = {}
        self._idle: dict[BrowserContext, list[Page]] = {}

    def on(self, renderer: str) -> Browser:
        if renderer not in self._started:
            software = {"LIBGL_ALWAYS_SOFTWARE": "1"} if renderer == "llvmpipe" else {}
            self._started[renderer] = self._playwright.chromium.launch(
                executable_path=self._path,
                args=[*_ARGUMENTS, *RENDERERS[renderer]],
                env={**os.environ, **software},
            )
        return self._started[renderer]

    def draws_by(self, renderer: str) -> bool:
        """Whether a browser that is to draw by a renderer does."""
        if renderer not in self._words:
            page = self.on(renderer).new_page()
            self._words[renderer] = page.evaluate(_RENDERER).lower()
            page.close()
        return renderer in self._words[renderer]

    def page(self, renderer: str, view: View) -> Page:
        """An empty page that is looked at in a view."""
        context = self._context(renderer, view.javascript)
        idle = self._idle[context]
        page = idle.pop() if idle else self._new_page(context)
        page.bring_to_front()  # a page behind another has a frame a second, for which clicks wait
        page.set_viewport_size({"width": view.width, "height": view.height})
        page.emulate_media(
            media="null",
            color_scheme="dark" if view.dark else "light",
            reduced_motion="reduce" if view.calm else "no-preference",
        )
        return page

    def keep(self, page: Page) -> None:
        """Empties a page for its next use."""
        page.goto("about:blank")
        self._idle[page.context].append(page)

    def close(self) -> None:
        for browser in self._started.values():
            browser.close()

    def _context(self, renderer: str, javascript: bool) -> BrowserContext:
        key = renderer, javascript
        if key not in self._contexts:
            context = self.on(renderer).new_context(offline=True, java_script_enabled=javascript)
            context.set_default_timeout(_PATIENCE * _MOMENT)
            context.route("**/*", self._local)
            self._contexts[key], self._idle[context] = context, []
        return self._contexts[key]

    def _new_page(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and self.complaints.append(m.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _local(self, route: Route) -> None:
        """Lets a page read itself, and nothing else."""
        if route.request.is_navigation_request() and route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.complaints.append(f"asked for {route.request.url[:200]}")
            route.abort()


class Opener:
    """Opens pages in a browser. complaints: what they must not do and did; a test may clear it."""

    def __init__(self, browsers: Browsers, renderer: str, folder: Path) -> None:
        self.complaints = browsers.complaints
        self.complaints.clear()
        self._browsers, self._renderer, self._folder = browsers, renderer, folder
        self._pages: list[Page] = []

    def __call__(
        self, what: str | Sequence[str | PageSection], view: View = WIDE, at: str = ""
    ) -> Page:
        """A page of a section, or of several, that has started.

        at: what stands behind # in its address.
        """
        named = [what] if isinstance(what, str) else what
        made = [section_of(one) if isinstance(one, str) else one for one in named]
        return self.html(page_text("A page", "", made), view, at)

    def html(self, text: str, view: View = WIDE, at: str = "") -> Page:
        """A page of that HTML."""
        file = self._folder / f"page-{len(self._pages)}.html"
        file.write_text(text, "utf-8")
        return self.open(file, view, at)

    def open(self, file: Path, view: View = WIDE, at: str = "") -> Page:
        """A page that is a file on disk."""
        page = self._browsers.page(self._renderer, view)
        self._pages.append(page)
        page.goto(file.as_uri() + (f"#{at}" if at else ""))
        if view.javascript and page.locator("#data").count():
            self._wait(page)
        return page

    def close(self) -> None:
        """Gives the pages back; what their sections said when they failed is a complaint."""
        while self._pages:
            page = self._pages.pop()
            self.complaints += page.locator("section .failed").all_inner_texts()
            self._browsers.keep(page)

    def _wait(self, page: Page) -> None:
        """Waits until all sections have started, or the scripts have failed."""
        started = page.locator("html.started")
        for _ in range(_PATIENCE):
            if self.complaints or started.count():
                break
            page.wait_for_timeout(_MOMENT)
        assert started.count(), self.complaints or "the page has not started"


def turn(page: Page, at: str) -> None:
    """Changes what stands behind # in the address of an open page, as a link does."""
    page.evaluate("(at) => { location.hash = at; }", at)


_MODULE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Modules</title></head>
<body><script type="module">
SCRIPTS
globalThis.inside = (code, given) => eval(code);
</script></body></html>
"""


class Modules:
    """Scripts of web/ in a page of their own, in the scope of which a test runs code."""

    def __init__(self, opener: Opener, names: Sequence[str]) -> None:
        self._opener, self._names = opener, names

    @cached_property
    def page(self) -> Page:
        scripts = "\n".join(map(script_text, dict.fromkeys(("base.js", *self._names))))
        return self._opener.html(_MODULE.replace("SCRIPTS", scripts))

    def run(self, code: str, given: Any = None) -> Any:
        """The value of an expression, awaited, in which `given` is what is given as JSON."""
        return self.page.evaluate(
            "async ([code, given]) => await inside(code, given)", [code, given]
        )
