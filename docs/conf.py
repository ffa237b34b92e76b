"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from generated import options_in, told_in

project = "gpgpu_legacy"
author = "The gpgpu_legacy authors"
version = release = version_of("gpgpu-legacy")
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.githubpages",  # or its server leaves out _static
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # tests/docs/test_executed_notebooks.py executes them and compares
exclude_patterns = ["_build"]  # what was built before
smartquotes = False
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # annotations name types that have no page

autodoc_default_options = {
    "members": True,
    "inherited-members": "Struct, BaseException, Exception, object",
    "member-order": "groupwise",
}
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "F32": "F32"}
default_role = "code"

html_theme = "furo"
html_title = f"gpgpu_legacy {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
copybutton_exclude = ".linenos, .gp, .go"


def as_rst(text: str) -> str:
    """A docstring's text, in which only what is between backticks is markup, as RST."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"[*|\\]|_(?!\w)", r"\\\g<0>", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"\\ ``{piece}``\\ " for piece in pieces[1::2]]
    return "".join(pieces)


def with_fields(
    _app: Any, what: str, _name: str, thing: Any, _options: Any, lines: list[str]
) -> None:
    """Turn a docstring of ours, `name: meaning.`, into a list of parameters or of fields."""
    is_class = what in ("class", "exception")
    fields: dict[str, str] = {}
    found: list[str] = []
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        if paragraph.startswith((">>>", "    ")):
            found += ["::", "", *(f"    {line}" for line in paragraph.splitlines()), ""]
            continue
        names = _fields_of(thing) if is_class else options_in(thing) if callable(thing) else ()
        text, told = told_in(paragraph, names)
        found += [as_rst(text), ""]
        fields |= told
    role = "ivar" if is_class else "param"
    lines[:] = [*found, *(f":{role} {name}: {as_rst(text)}." for name, text in fields.items()), ""]


def _fields_of(kind: Any) -> set[str]:
    names = (vars(base).get("__annotations__", ()) for base in kind.__mro__)
    return {name for own in names for name in own} | {
        word for word in re.findall(r"\w+", kind.__doc__ or "") if hasattr(kind, word)
    }


def setup(app: Any) -> None:
    """Have autodoc call what turns our docstrings into RST."""
    app.connect("autodoc-process-docstring", with_fields)
