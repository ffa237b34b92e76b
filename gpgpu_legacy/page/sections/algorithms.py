"""The other algorithms, live: all of the package except the products of 2001 and 2003."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.registry import shipped_algorithms
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.page.played import PLAYED, played_plan
from gpgpu_legacy.page.section import PageSection, rendered

SHOWN_ELSEWHERE = ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi")
"""The algorithms that the page's first sections play."""


@dataclass(frozen=True)
class Small:
    """An algorithm at a size that fits the screen.

    inputs: makes them; None takes the recipe's samples. step_ms: of a pass. frames: of the film, as
    numbers of passes; None takes some at equal distances. shows: its textures, by default all.
    sorts: whether frame k has runs of 2^k sorted numbers.
    """

    settings: Mapping[str, Any] = field(default_factory=lambda: {"n": 8})
    inputs: Callable[[], dict[str, F32]] | None = None
    step_ms: int = 600
    frames: Sequence[int] | None = None
    shows: Sequence[str] = ()
    sorts: bool = False


_GRID, _GENERATIONS = 32, 120
_RELAXED, _RELAXATIONS = 24, 120
_STAGES = 12  # of the sort: the runs double, from 1 number to all 4096
_R_PENTOMINO = ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1))


def _pentomino() -> dict[str, F32]:
    """Five cells that live for more than a thousand generations, given room."""
    cells = np.zeros((_GRID, _GRID), np.float32)
    for row, column in _R_PENTOMINO:
        cells[_GRID // 2 + row, _GRID // 2 + column] = 1
    return {"cells": cells}


def _two_charges() -> dict[str, F32]:
    """A positive and a negative charge."""
    charges = np.zeros((_RELAXED, _RELAXED), np.float32)
    charges[_RELAXED // 3, _RELAXED // 3] = 1
    charges[2 * _RELAXED // 3, 2 * _RELAXED // 3] = -1
    return {"b": charges}


SMALL = {
    "bitonic-sort": Small(
        {"n": 1 << _STAGES},
        step_ms=400,
        frames=[k * (k + 1) // 2 for k in range(_STAGES + 1)],
        sorts=True,
    ),
    "life": Small(
        {"width": _GRID, "height": _GRID, "generations": _GENERATIONS}, _pentomino, step_ms=150
    ),
    "fluid": Small({"n": 32, "steps": 24, "passes": 6}, step_ms=40, shows=("smoke", "next smoke")),
    "jacobi": Small({"n": _RELAXED, "passes": _RELAXATIONS}, _two_charges, step_ms=150),
    "conjugate-gradient": Small({"n": 8}, step_ms=150),
    "reduction": Small({"n": 16}, step_ms=1200),
    "prefix-sum": Small({"n": 16}, step_ms=1200),
    "floyd-warshall": Small({"n": 16}, step_ms=300),
    "fft": Small({"n": 16}),
    "n-body": Small({"n": 8}),
    "image-filter": Small({"width": 24, "height": 24}, step_ms=1200),
}
"""The most beautiful first; all others are products, and multiply 8×8 matrices."""


def make_section() -> PageSection:
    """The algorithms, each a plan that the page plays; those with kernels are named."""
    first = list(SMALL)
    shipped = sorted(
        shipped_algorithms(),
        key=lambda a: (first.index(a.name) if a.name in first else len(first), a.year or 0),
    )
    algorithms = [a for a in shipped if a.name not in SHOWN_ELSEWHERE]
    small = {a.name: SMALL.get(a.name, Small()) for a in algorithms}
    built = {a.name: a.builder(**small[a.name].settings) for a in algorithms}
    plans = {name: p.plan() for name, p in built.items()}
    played = [a for a in algorithms if not plans[a.name].dispatches]
    kernels = [a for a in algorithms if plans[a.name].dispatches]
    html = rendered("sections/algorithms.html.j2", played=played, plans=plans, kernels=kernels)
    data = {
        "algorithms": [
            {
                "name": a.name,
                "source": a.source,
                "summary": a.summary,
                "lacked": a.lacked,
                "step": small[a.name].step_ms,
                "frames": small[a.name].frames,
                "shows": small[a.name].shows,
                "sorts": small[a.name].sorts,
                "played": played_plan(built[a.name], (small[a.name].inputs or dict)()),
            }
            for a in played
        ]
    }
    scripts = (*PLAYED, "player/film.js", "lesson/stage.js", "sections/algorithms.js")
    return PageSection("algorithms", "8. Not only matrices", html, data, scripts, "8 Sort and life")
