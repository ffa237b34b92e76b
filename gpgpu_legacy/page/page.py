"""A page: sections in one file that needs no network and includes their scripts and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpgpu_legacy.files import package_version
from gpgpu_legacy.page.definitions import DEFINITIONS, definitions_script
from gpgpu_legacy.page.products import PRODUCTS, products_script
from gpgpu_legacy.page.section import (
    NAMES,
    PageSection,
    embedded_json,
    names_script,
    rendered,
    web_text,
)
from gpgpu_legacy.page.sections import LEARN
from gpgpu_legacy.papers.published.papers import papers

TITLE = "Multiplying by drawing"
_FIRST, _LAST = "base.js", "start.js"
_MADE: dict[str, Callable[[], str]] = {
    NAMES: names_script,
    DEFINITIONS: definitions_script,
    PRODUCTS: products_script,
}


def introduction() -> str:
    """The HTML below the title of the whole page."""
    return rendered("introduction.html.j2", papers=papers())


def page_text(title: str, introduction: str, sections: Sequence[PageSection]) -> str:
    """A page as HTML, self-contained.

    introduction: HTML that stands below the title.
    """
    from markupsafe import Markup

    learn = [section for section in sections if section.id in LEARN]
    parts = {"learn": learn, "evidence": [s for s in sections if s not in learn]}
    styles = ("style.css", *(["lesson/lesson.css"] if learn else []))
    data = {section.id: section.data for section in sections if section.data is not None}
    return rendered(
        "page.html.j2",
        title=title,
        introduction=Markup(introduction),
        parts={name: _shown(part) for name, part in parts.items() if part},
        style=Markup("".join(map(web_text, styles))),
        data=Markup(embedded_json(data)),
        script=Markup(joined_scripts(sections)),
        version=package_version(),
    )


def _shown(sections: Sequence[PageSection]) -> list[dict[str, Any]]:
    """Sections as the template takes them."""
    from markupsafe import Markup

    return [
        {"id": s.id, "title": s.title, "short": s.short or s.title, "html": Markup(s.html)}
        for s in sections
    ]


def joined_scripts(sections: Sequence[PageSection]) -> str:
    """The scripts of sections, each once, in one module: all their top-level names differ.

    A browser that opens a file from disk imports no other file, so there are no imports.
    """
    named = dict.fromkeys((_FIRST, NAMES, *(name for s in sections for name in s.scripts), _LAST))
    return "\n".join(map(script_text, named))


def script_text(name: str) -> str:
    """A script of web/, or a generated one."""
    return _MADE[name]() if name in _MADE else web_text(name)
