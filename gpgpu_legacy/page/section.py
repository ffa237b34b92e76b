"""The parts of a page: the HTML of each without JavaScript, and the scripts that animate it."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.files import Write
from gpgpu_legacy.page.glossary import term
from gpgpu_legacy.page.names import people
from gpgpu_legacy.serial import json_compact

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
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
