"""The sections of the page, one module each, in the order in which they are shown.

A section shows results of other rooms and computes none of its own; scripts and templates are in
web/.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def sections_of(names: Sequence[str]) -> list[PageSection]:
    """The sections of these names. Raises InputError for an unknown one."""
    for name in names:
        if name not in SECTIONS:
            raise InputError(
                f"{name!r} is no section of the page; expected one of {', '.join(SECTIONS)}"
            )
    modules = [import_module(f"{__name__}.{name.replace('-', '_')}") for name in names]
    return [module.make_section() for module in modules]
