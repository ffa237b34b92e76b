"""The screens of the lesson, each with one idea: how drawing multiplies matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.fit import fit
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.files import shader_text
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.page.one_plan import PLAYED, played_plan
from gpgpu_legacy.page.products import LESSON_SCRIPTS, METHODS
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.pipeline.builder import PlanBuilder

SIZE, BLOCKS = 1024, (1, 2, 3, 4, 8, 16, 32)
"""The n and the values of b at which the lesson counts."""

_OLDEST, _SINGLE, _MULTI = METHODS
_QUANTITIES = ("draws", "arithmetic", "lookup", "bytes requested", "copy bytes")
"""What a screen shows, by the names that `count` prints."""


def make_screen(name: str) -> PageSection:
    """The screen of that name."""
    title, short, data_of = SCREENS[name]
    data = data_of()
    html = rendered(f"lesson/{name}.html.j2", **data)
    scripts = (*LESSON_SCRIPTS, *(PLAYED if "played" in data else ()), f"lesson/{name}.js")
    return PageSection(name, title, html, data, scripts, short)


def _costs(method: str, **given: Any) -> dict[str, int]:
    """What a product of two matrices of that size costs."""
    plan = find_product(method).plan(n=SIZE, **given)
    counts = count_plan(plan)
    return {
        **given,
        "draws": counts.draws,
        "texels across": plan.textures[0].extent.width,
        "lookup": counts.lookup,
        "arithmetic": counts.arithmetic,
        "bytes requested": counts.bytes_requested,
        "copy bytes": counts.copy_bytes,
    }


def _listing() -> dict[str, list[str]]:
    """The lines of the single-channel program: before its steps, of a step, and after them."""
    one, two = (
        disassemble(find_product(_SINGLE).plan(n=SIZE, block=block).programs()[0]).splitlines()
        for block in (1, 2)
    )
    step = len(two) - len(one)
    end = next(n for n, (line, other) in enumerate(zip(one, two, strict=False)) if line != other)
    return {"head": one[: end - step], "step": one[end - step : end], "tail": one[end:]}


def _limit(chip: str) -> dict[str, Any]:
    """The largest b of the single-channel program, as written, that a chip loads, and why."""
    profile = find_profile(chip)
    # `largest`: by the driver's limits, by the chip's own, and perhaps for the program rewritten.
    _, own, *_ = fit(find_product(_SINGLE), profile, {"n": SIZE}).largest
    return {"chip": profile.title.split(" (")[0], "block": own.value, "why": own.why}


def _programs() -> dict[str, Any]:
    return {
        "size": SIZE,
        "quantities": _QUANTITIES,
        "single": [_costs(_SINGLE, block=block) for block in (*BLOCKS, 64, 128, 254)],
        "limits": list(map(_limit, ("radeon-9700-pro", "geforce-fx-5900-ultra"))),
        "oldest": _costs(_OLDEST),
        "listing": _listing(),
    }


def _channels() -> dict[str, Any]:
    return {
        "size": SIZE,
        "blocks": BLOCKS,
        "quantities": ("texels across", *_QUANTITIES[1:]),
        "single": [_costs(_SINGLE, block=BLOCKS[-1])],
        "multi": [_costs(_MULTI, block=BLOCKS[-1])],
    }


CACHED_SIZE, CACHED_BLOCKS = 32, (1, 2, 4, 8, 16, 32)
"""The n and the values of b of products that go through small caches."""

CACHED, ORDERS = ("1K,fully,64B", "4K,fully,64B", "8K,fully,64B"), ("scan", "tiled:8x8")


def _why() -> dict[str, Any]:
    """What memory sends: the bytes `sent`, for each cache by the order of fragments and by b."""
    method = find_product(_SINGLE)
    plans = [method.plan(n=CACHED_SIZE, block=b, accumulate="ping-pong") for b in CACHED_BLOCKS]
    sides = {"row by row": CACHED_SIZE, "tile by tile of 8 × 8": 8}
    caches = list(map(parse_cache, CACHED))
    sent = [
        [
            [cache_run(plan, Memory((cache,)), access).bytes_from_memory for plan in plans]
            for access in (parse_access(raster=order) for order in ORDERS)
        ]
        for cache in caches
    ]
    return {
        "size": CACHED_SIZE,
        "line_bytes": caches[0].line_bytes,
        "texels": caches[0].line_bytes // plans[0].textures[0].format.texel_bytes,
        "blocks": CACHED_BLOCKS,
        "orders": [{"title": title, "side": side} for title, side in sides.items()],
        "caches": [
            {
                "title": f"{cache.lines} lines, {cache.size_bytes} bytes",
                "lines": cache.lines,
                "sent": of,
            }
            for cache, of in zip(caches, sent, strict=True)
        ],
    }


_FILE, _KERNEL = "examples/drum.br", "vibrate"
_DRUM, _TIMES = 32, 20


def _kernel() -> dict[str, Any]:
    """A kernel of Brook: its lines, the line of each instruction, and the drum that they move."""
    p = PlanBuilder("drum")
    before, now = p.input("before", _DRUM, _DRUM), p.input("now", _DRUM, _DRUM)
    following = p.texture("next", _DRUM, _DRUM)
    with p.repeat(_TIMES):
        for _ in range(3):  # textures, which take turns
            p.call(load_kernel(_FILE, _KERNEL), now, now, before, following)
            before, now, following = now, following, before
    p.output("skin", now)
    i, j = np.mgrid[:_DRUM, :_DRUM]
    stroke = np.maximum(1 - ((i - 12) ** 2 + (j - 10) ** 2) / 50, 0).astype(np.float32) ** 2
    [program] = p.plan().programs()
    places = (re.search(r":(\d+): ", i.origin) for i in program.instructions)
    origins = [int(place[1]) if place else 0 for place in places]
    lines = _lines(min(origins))
    return {
        "played": played_plan(p, {"before": stroke, "now": stroke}),
        "lines": [*lines.values()],
        "origins": [sum(first <= at for first in lines) - 1 for at in origins],
    }


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


SCREENS: dict[str, tuple[str, str, Callable[[], dict[str, Any]]]] = {
    "stretch": ("1. A rectangle reads a column", "1 Stretch", dict),
    "multiply": ("2. Two textures, one product", "2 Multiply", dict),
    "add": ("3. The framebuffer adds", "3 Add", dict),
    "eight-bits": ("4. What 8 bits did", "4 Eight bits", dict),
    "programs": ("5. A program of b steps", "5 Programs", _programs),
    "channels": ("6. Four channels at once", "6 Channels", _channels),
    "why": ("7. Why b?", "7 Why b", _why),
    "kernel": ("10. A kernel and its text", "10 Kernel", _kernel),
}
"""By name: the title, the name in the list of sections, and the function that makes the data."""
