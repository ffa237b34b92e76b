"""What people call the algorithms: "Multichannel, 2003" for hall-carr-hart-multi."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.algorithms.registry import shipped_algorithms
from gpgpu_legacy.serial import json_text

NAMES = "names.js"
"""The name of the script that knows them, among those of a page."""

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
"""Of the others, the name is the title."""


@cache
def people() -> dict[str, str]:
    """The names of the shipped algorithms for people, by those of the command line."""
    return {
        a.name: f"{_TITLES.get(a.name, a.name.replace('-', ' ').capitalize())}, {a.year}"
        for a in shipped_algorithms()
    }


def names_script() -> str:
    """The text of the script: `peopleName(name)`; what is no algorithm's name stays as it is."""
    names = json_text(people())
    return f"const NAMES = {names};\nconst peopleName = (name) => NAMES[name] ?? name;\n"
