"""A page: sections in one file that needs no network and includes their scripts and data."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.page.definitions import DEFINITIONS, definitions_script
from gpgpu_legacy.page.products import PRODUCTS, products_script
from gpgpu_legacy.page.section import PageSection, embedded_json, rendered, web_text
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.sources import package_version

TITLE = "Matrix products as GPUs did them"
_FIRST, _LAST = "base.js", "start.js"
_MADE = {DEFINITIONS: definitions_script, PRODUCTS: products_script}


def introduction() -> str:
    """The HTML below the title of the whole page."""
    return rendered("introduction.html.j2", papers=papers())


def page_text(title: str, introduction: str, sections: Sequence[PageSection]) -> str:
    """A page as HTML, self-contained.

    introduction: HTML that stands below the title.
    """
    from markupsafe import Markup

    data = {section.id: section.data for section in sections if section.data is not None}
    return rendered(
        "page.html.j2",
        title=title,
        introduction=Markup(introduction),
        sections=[(s.id, s.title, Markup(s.html), s.data is not None) for s in sections],
        style=Markup(web_text("style.css")),
        data=Markup(embedded_json(data)),
        script=Markup(joined_scripts(sections)),
        version=package_version(),
    )


def joined_scripts(sections: Sequence[PageSection]) -> str:
    """The scripts of sections, each once, in one module: all their top-level names differ.

    A browser that opens a file from disk imports no other file, so there are no imports.
    """
    named = dict.fromkeys((_FIRST, *(name for s in sections for name in s.scripts), _LAST))
    return "\n".join(map(script_text, named))


def script_text(name: str) -> str:
    """A script of web/, or a generated one."""
    return _MADE[name]() if name in _MADE else web_text(name)
