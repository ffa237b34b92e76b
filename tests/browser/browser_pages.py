"""Pages in a real browser: Chromium on a renderer of its own choice, and pages that complain.

A page is a file that is opened from disk, with the network refused. What it must not do (an error
in its console, a request, a section that failed) is kept in a list, which ends empty or fails.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpgpu_legacy.page.page import page_text, script_text
from gpgpu_legacy.page.section import Section

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Route

RENDERERS = {
    "llvmpipe": ("--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist"),
    "swiftshader": ("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
}
"""The arguments that make Chromium draw with a renderer."""

EACH_RENDERER = pytest.mark.parametrize("renderer", tuple(RENDERERS))
"""Marks a test that runs on each renderer; others run on the first."""

_PATIENCE, _MOMENT = 300, 50  # looks at a page that starts, and the milliseconds between them
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def browser_path() -> str | None:
    """The browser: of the environment variable CHROMIUM, or found on the PATH."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, _PROGRAMS)), None)


@dataclass
class Browsers:
    """Browsers by their renderers, each started when it is first asked for."""

    playwright: Playwright
    path: str
    started: dict[str, Browser] = field(default_factory=dict)

    def on(self, renderer: str) -> Browser:
        if renderer not in self.started:
            self.started[renderer] = self.playwright.chromium.launch(
                executable_path=self.path, args=["--no-sandbox", *RENDERERS[renderer]]
            )
        return self.started[renderer]

    def close(self) -> None:
        for browser in self.started.values():
            browser.close()


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


class Opener:
    """Opens pages in a browser. complaints: what they must not do and did; a test may clear it."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.complaints: list[str] = []
        self.contexts: list[BrowserContext] = []

    def __call__(self, what: str | Sequence[Section], view: View = WIDE, at: str = "") -> Page:
        """A page that has started.

        what: its HTML, or its sections. at: what stands behind # in its address.
        """
        html = what if isinstance(what, str) else page_text("A page", "", what)
        file = self.folder / f"page-{len(self.contexts)}.html"
        file.write_text(html, "utf-8")
        return self.open(file, view, at)

    def open(self, file: Path, view: View = WIDE, at: str = "") -> Page:
        """A page that is a file on disk."""
        context = self.browser.new_context(
            offline=True,
            viewport={"width": view.width, "height": view.height},
            color_scheme="dark" if view.dark else "light",
            reduced_motion="reduce" if view.calm else "no-preference",
            java_script_enabled=view.javascript,
        )
        self.contexts.append(context)
        context.set_default_timeout(_PATIENCE * _MOMENT)
        context.route("**/*", self._local)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and self.complaints.append(m.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(file.as_uri() + (f"#{at}" if at else ""))
        if view.javascript and page.locator("#data").count():
            self._wait(page)
        return page

    def close(self) -> None:
        """Closes the pages; what their sections said when they failed is a complaint."""
        for context in self.contexts:
            for page in context.pages:
                self.complaints += page.locator("section .failed").all_inner_texts()
            context.close()

    def _wait(self, page: Page) -> None:
        """Waits until all sections have started, or the scripts have failed."""
        started = page.locator("html.started")
        for _ in range(_PATIENCE):
            if self.complaints or started.count():
                break
            page.wait_for_timeout(_MOMENT)
        assert started.count(), self.complaints or "the page has not started"

    def _local(self, route: Route) -> None:
        """Lets a page read itself, and nothing else."""
        if route.request.is_navigation_request() and route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.complaints.append(f"asked for {route.request.url[:200]}")
            route.abort()


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
        return self._opener(_MODULE.replace("SCRIPTS", scripts))

    def run(self, code: str, given: Any = None) -> Any:
        """The value of an expression, awaited, in which `given` is what is given as JSON."""
        return self.page.evaluate(
            "async ([code, given]) => await inside(code, given)", [code, given]
        )
