"""The sections of the page, one module each, in the order in which they are shown.

A section shows results of other rooms and computes none of its own; scripts and templates are in
web/.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module

from gpgpu_legacy.code_cache import recalled
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.page.section import PageSection

SCREENS = ("stretch", "multiply", "add", "eight-bits", "programs", "channels", "why", "kernel")
"""Screens of the lesson that one module makes."""

LEARN: tuple[str, ...] = (
    "figure-2",
    *SCREENS[:-1],
    "your-gpu",
    "algorithms",
    "kernel",
    "write",
    "exercises",
)
"""The sections of the lesson, by name."""

SECTIONS: tuple[str, ...] = (*LEARN, "tables", "audit", "loaded", "cache", "lineage")
"""All names. lesson.py makes the screens; for any other section, the module of its name (with `_`
for `-`) has `make_section`."""


def sections_of(names: Sequence[str]) -> list[PageSection]:
    """The sections of these names. Raises InputError for an unknown one."""
    for name in names:
        if name not in SECTIONS:
            raise InputError(
                f"{name!r} is no section of the page; expected one of {', '.join(SECTIONS)}"
            )
    return [recalled(f"section {name} of the page", partial(_section, name)) for name in names]


def _section(name: str) -> PageSection:
    is_screen = name in SCREENS
    module = import_module(f"{__name__}.{'lesson' if is_screen else name.replace('-', '_')}")
    section: PageSection = module.make_screen(name) if is_screen else module.make_section()
    return section
