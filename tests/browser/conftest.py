"""Fixtures of tests in a browser; without one they skip, and fail where REQUIRE_BROWSER=1.

What is drawn by llvmpipe, which needs OpenGL, skips without it, and fails where REQUIRE_GL=1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from browser_pages import SOFTWARE, Browsers, Modules, Opener, browser_path


def _missing(reason: str, required: str = "REQUIRE_BROWSER") -> NoReturn:
    if os.environ.get(required) == "1":
        pytest.fail(f"{required}=1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browsers() -> Iterator[Browsers]:
    """The browsers of the session."""
    from playwright.sync_api import sync_playwright

    path = browser_path()
    if path is None:
        _missing("neither the PATH nor CHROMIUM leads to a Chromium")
    with sync_playwright() as playwright:
        browsers = Browsers(playwright, path)
        yield browsers
        browsers.close()


@pytest.fixture
def renderer(browsers: Browsers) -> str:
    """What draws, in software; a test marked EACH_RENDERER gets each in turn."""
    return next(filter(browsers.draws_by, SOFTWARE), SOFTWARE[-1])


@pytest.fixture
def open_page(browsers: Browsers, renderer: str, tmp_path: Path) -> Iterator[Opener]:
    """Opens a page: `open_page("cache", View(width=390))`; fails if a page of it complains."""
    if renderer in SOFTWARE and not browsers.draws_by(renderer):
        required = "REQUIRE_GL" if renderer == "llvmpipe" else "REQUIRE_BROWSER"
        _missing(f"the browser does not draw by {renderer} here", required)
    opener = Opener(browsers, renderer, tmp_path)
    yield opener
    opener.close()
    assert opener.complaints == []


@pytest.fixture
def modules(open_page: Opener) -> Callable[..., Modules]:
    """Scripts to try: `modules("player/plan.js").run("new PlanOf(given).passes", scene)`."""
    return lambda *names: Modules(open_page, names)
