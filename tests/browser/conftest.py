"""Fixtures of tests in a browser; without one they skip, and fail where REQUIRE_BROWSER=1."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from browser_pages import RENDERERS, Browsers, Modules, Opener, browser_path


def _missing(reason: str) -> NoReturn:
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
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
def renderer() -> str:
    """What draws; a test marked EACH_RENDERER gets each in software in turn."""
    return next(iter(RENDERERS))


@pytest.fixture
def open_page(browsers: Browsers, renderer: str, tmp_path: Path) -> Iterator[Opener]:
    """Opens a page: `open_page("cache", View(width=390))`; fails if a page of it complains."""
    opener = Opener(browsers, renderer, tmp_path)
    yield opener
    opener.close()
    assert opener.complaints == []


@pytest.fixture
def modules(open_page: Opener) -> Callable[..., Modules]:
    """Scripts to try: `modules("player/plan.js").run("new PlanOf(given).passes", scene)`."""
    return lambda *names: Modules(open_page, names)
