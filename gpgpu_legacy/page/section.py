"""The parts of a page: the HTML of each without JavaScript, and the scripts that animate it."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.algorithms.registry import shipped_algorithms
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.files import Write, documentation_file
from gpgpu_legacy.serial import json_compact, json_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

NAMES = "names.js"
"""The name of the script that has people's names of algorithms, among those of a page."""


@frozen
class PageSection:
    """A part of a page.

    id: of its element, and its name on the command line. title: its heading. html: its content when
    no script runs, without the heading. data: for its script, as JSON; None if it has no script.
    scripts: the files in web/ that it needs, each after those that it calls. short: its name where
    the page lists its sections; by default the title.
    """

    id: str
    title: str
    html: str
    data: Any = None
    scripts: tuple[str, ...] = ()
    short: str = ""


def web_text(name: str) -> str:
    """The text of a file in web/."""
    return files("gpgpu_legacy.page").joinpath("web", name).read_text("utf-8")


def rendered(name: str, **values: Any) -> str:
    """The HTML of a template in web/, such as `sections/tables.html.j2`; the values are escaped."""
    return _environment().from_string(web_text(name)).render(values, term=term, people=people())


def embedded_json(value: object) -> str:
    """JSON for a script element: nothing in it ends the element."""
    return json_compact(value).replace("<", "\\u003c")


def data_url(write: Write, media_type: str) -> str:
    """A file's content as a data URL."""
    buffer = BytesIO()
    write(buffer)
    return f"data:{media_type};base64,{b64encode(buffer.getvalue()).decode('ascii')}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


# Words --------------------------------------------------------------------------------------------


@cache
def glossary() -> dict[str, str]:
    """The sentences of docs/glossary.md by word; several words may share one."""
    sentences: dict[str, str] = {}
    for entry in documentation_file("glossary.md").read_text("utf-8").split("\n\n")[1:]:
        words, _, meaning = entry.partition("\n: ")
        sentences |= dict.fromkeys(words.split(", "), " ".join(re.sub("[*`]", "", meaning).split()))
    return sentences


def term(word: str, shown: str = "") -> Markup:
    """A word as HTML, underlined; its sentence appears on hover, focus and tap.

    shown: what stands in the text, by default the word.
    """
    from markupsafe import Markup

    return Markup(
        '<span class="term" tabindex="0">{}<span class="meaning" role="tooltip">'
        "<strong>{}</strong> {}</span></span>"
    ).format(shown or word, word, glossary()[word])


_TITLES = {
    "larson-mcallister": "Larsen & McAllister",
    "hall-carr-hart-single": "Single-channel",
    "hall-carr-hart-multi": "Multichannel",
    "govindaraju-tiled": "Govindaraju’s tiles",
    "mali-sgemm": "Mali SGEMM",
    "opengl-compute-tiled": "OpenGL compute",
    "dobravec-bulic-host": "Dobravec & Bulić, host",
    "dobravec-bulic-global": "Dobravec & Bulić, global",
    "dobravec-bulic-shared": "Dobravec & Bulić, shared",
    "packed-2x2": "Packed 2×2",
}
"""People's names of algorithms whose own name is no title."""


@cache
def people() -> dict[str, str]:
    """The shipped algorithms' names for people, by their names on the command line."""
    return {
        a.name: f"{_TITLES.get(a.name, a.name.replace('-', ' ').capitalize())}, {a.year}"
        for a in shipped_algorithms()
    }


def names_script() -> str:
    """The text of the script: `peopleName(name)`, which returns other names as they are."""
    names = json_text(people())
    return f"const NAMES = {names};\nconst peopleName = (name) => NAMES[name] ?? name;\n"
