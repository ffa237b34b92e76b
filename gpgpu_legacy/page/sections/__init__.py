"""The sections of the page, one module each, in the order in which they are shown.

A section shows results of other rooms and computes none of its own; scripts and templates are in
web/.
"""

from __future__ import annotations

from importlib import import_module

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.page.section import PageSection

SECTIONS: tuple[str, ...] = (
    "figure-2",
    "methods",
    "your-gpu",
    "tables",
    "audit",
    "loaded",
    "cache",
    "lineage",
    "algorithms",
    "exercises",
)
"""Their names; each is made by `make_section` of the module of that name, `-` written `_`."""


def check_name(name: str) -> None:
    """Raise InputError for an unknown section."""
    if name not in SECTIONS:
        raise InputError(
            f"{name!r} is no section of the page; expected one of {', '.join(SECTIONS)}"
        )


def section_of(name: str) -> PageSection:
    """The section of that name. Raises InputError for an unknown one."""
    check_name(name)
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    section: PageSection = module.make_section()
    return section
