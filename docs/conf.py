"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "gpgpu_legacy"
author = "The gpgpu_legacy authors"
version = release = version_of("gpgpu-legacy")
language = "en"

extensions = [
    "myst_nb",
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

html_theme = "furo"
html_title = f"gpgpu_legacy {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
copybutton_exclude = ".linenos, .gp, .go"
