"""The sections of the page, in the order in which they are shown."""

from __future__ import annotations

from importlib import import_module

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.page.section import Section

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
    """Raise InputError where there is no section of that name."""
    if name not in SECTIONS:
        raise InputError(
            f"{name!r} is no section of the page; expected one of {', '.join(SECTIONS)}"
        )


def section_of(name: str) -> Section:
    """The section of a name. Raises InputError where there is none of that name."""
    check_name(name)
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    section: Section = module.make_section()
    return section
