"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from generated import with_generated

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
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
smartquotes = False
default_role = "code"  # docstrings write code between single backticks
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "NDArray": "NDArray"}
nitpicky = True
# Types whose pages are elsewhere, or which a reader needs no page of.
nitpick_ignore_regex = [
    ("py:class", r"(collections|numpy|pathlib|types|enum|msgspec)\..*"),
    ("py:class", r"[\d.]+"),  # a bound in an annotation
    ("py:class", r"gpgpu_legacy\.\w+\..*|\w+"),
]

html_theme = "furo"
html_title = f"gpgpu_legacy {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: Any) -> None:
    """Put what the package knows about itself into the pages that ask for it."""
    app.connect("source-read", _insert_generated)
    app.connect("autodoc-process-docstring", _as_plain_text)
    app.connect("autodoc-process-signature", _with_short_types)


def _insert_generated(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = with_generated(source[0])


def _as_plain_text(
    _app: Any, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Docstrings are plain text with code between backticks; nothing else in them is markup."""
    for number, line in enumerate(lines):
        pieces = line.split("`")
        pieces[::2] = [re.sub(r"([\\|*])|_\b", r"\\\g<0>", piece) for piece in pieces[::2]]
        lines[number] = "`".join(pieces)


def _with_short_types(
    _app: Any, _what: str, _name: str, _thing: object, _options: object, given: Any, returned: Any
) -> tuple[str | None, str | None] | None:
    """A signature whose types read as in the source; None leaves what has none as it is."""
    if given is None:
        return None
    return _shortened(given), _shortened(returned)


def _shortened(text: str | None) -> str | None:
    if text is None:
        return None
    text = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
    array = r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?[\w.]+\]\]"
    return re.sub(array, "~numpy.ndarray", text)
