"""A kernel of Brook beside its program: a drum, and what each line of the kernel reads."""

from __future__ import annotations

import re

import numpy as np

from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.page.played import PLAYED, played_plan
from gpgpu_legacy.page.products import LESSON_SCRIPTS
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.sources import shader_text

_FILE, _KERNEL = "examples/drum.br", "vibrate"
_SIDE, _ROUNDS = 32, 20


def make_section() -> PageSection:
    """The kernel's lines, the line of each instruction, and the drum that they move."""
    p = PlanBuilder("drum")
    before, now = p.input("before", _SIDE, _SIDE), p.input("now", _SIDE, _SIDE)
    following = p.texture("next", _SIDE, _SIDE)
    with p.repeat(_ROUNDS):
        for _ in range(3):  # textures, which take turns
            p.call(load_kernel(_FILE, _KERNEL), now, now, before, following)
            before, now, following = now, following, before
    p.output("skin", now)
    i, j = np.mgrid[:_SIDE, :_SIDE]
    stroke = np.maximum(1 - ((i - 12) ** 2 + (j - 10) ** 2) / 50, 0).astype(np.float32) ** 2
    [program] = p.plan().programs()
    found = [re.search(r":(\d+): ", i.origin) for i in program.instructions]
    origins = [int(each[1]) if each else 0 for each in found]
    lines = _lines(min(origins))
    data = {
        "played": played_plan(p, {"before": stroke, "now": stroke}),
        "lines": [*lines.values()],
        "origins": [sum(first <= at for first in lines) - 1 for at in origins],
    }
    html = rendered("lesson/kernel.html.j2", program=program)
    scripts = (*LESSON_SCRIPTS, *PLAYED, "lesson/kernel.js")
    return PageSection("kernel", "10. A kernel and its text", html, data, scripts, "10 Kernel")


def _lines(first: int) -> dict[int, str]:
    """The kernel from its first line on: its statements, by the numbers of their lines."""
    lines: dict[int, str] = {}
    begun = 0
    for number, line in enumerate(shader_text(_FILE).splitlines()[first - 1 :], first):
        begun = begun or number
        lines[begun] = f"{lines[begun]}\n  {line.strip()}" if begun in lines else line
        if line.endswith((";", "{", "}")):
            begun = 0
        if line == "}":
            break
    return lines
