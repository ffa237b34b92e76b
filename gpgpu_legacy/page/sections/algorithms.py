"""The other algorithms, live: all of the package except the products of 2001 and 2003."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import FIELD
from gpgpu_legacy.algorithms.registry import shipped_algorithms
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.page.one_plan import PLAYED, played_plan
from gpgpu_legacy.page.products import METHODS
from gpgpu_legacy.page.section import PageSection, rendered


@frozen
class Small:
    """An algorithm at a size that fits the screen.

    says: what one sees. inputs: makes them; None takes the recipe's samples. step_ms: of a pass.
    frames: of the film, as numbers of passes; None takes some at equal distances. shows: its
    textures, by default all. sorts: whether frame k has runs of 2^k sorted numbers. places: whether
    its texels are places.
    """

    settings: Mapping[str, Any] = field(default_factory=lambda: {"n": 8})
    inputs: Callable[[], dict[str, F32]] | None = None
    step_ms: int = 600
    frames: Sequence[int] | None = None
    shows: Sequence[str] = ()
    sorts: bool = False
    places: bool = False
    says: str = (
        "Two 8×8 matrices are multiplied: the picture is the product, more of whose sums are whole "
        "after each pass."
    )


_GRID, _RELAXED = 32, 24
_STAGES = 12  # of the sort: the runs double, from 1 number to all 4096
_R_PENTOMINO = ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1))


def _pentomino() -> dict[str, F32]:
    """Five cells that live for more than a thousand generations, given room."""
    cells = np.zeros((_GRID, _GRID), np.float32)
    rows, columns = np.transpose(_R_PENTOMINO) + _GRID // 2
    cells[rows, columns] = 1
    return {"cells": cells}


def _two_charges() -> dict[str, F32]:
    """A positive and a negative charge."""
    charges = np.zeros((_RELAXED, _RELAXED), np.float32)
    third = _RELAXED // 3
    charges[third, third], charges[2 * third, 2 * third] = 1, -1
    return {"b": charges}


SMALL = {
    "bitonic-sort": Small(
        {"n": 1 << _STAGES},
        step_ms=400,
        frames=[k * (k + 1) // 2 for k in range(_STAGES + 1)],
        sorts=True,
        says="Each of 4096 numbers is compared with one partner in every pass; arcs join some of "
        "the partners. The runs that are sorted double from picture to picture of the strip.",
    ),
    "life": Small(
        {"width": _GRID, "height": _GRID, "generations": 120},
        _pentomino,
        step_ms=150,
        says="A cell counts its eight neighbours, lives on with two or three, and is born with "
        "three: five cells become a crowd, and what leaves at one edge comes in at the other.",
    ),
    "fluid": Small(
        {"n": 32, "steps": 24, "passes": 6},
        step_ms=40,
        shows=("smoke", "next smoke"),
        says="Warm smoke rises and curls: each texel looks up where its smoke came from, and the "
        "passes between keep the air from being pressed together.",
    ),
    "jacobi": Small(
        {"n": _RELAXED, "passes": 120},
        _two_charges,
        step_ms=150,
        says="Each texel becomes the mean of its four neighbours, and its charge: the influence "
        "of one positive and one negative charge spreads by a texel a pass.",
    ),
    "conjugate-gradient": Small(
        {"n": 8},
        step_ms=150,
        says="The same equation with fewer steps: sums over all texels, themselves passes, say how "
        "far to go, and in which direction.",
    ),
    "reduction": Small(
        {"n": 16},
        step_ms=1200,
        says="Each pass adds up two by two texels, so that the rectangle has half the side, until "
        "one texel holds the sum of all.",
    ),
    "prefix-sum": Small(
        {"n": 16},
        step_ms=1200,
        says="Each number adds the one 1, then 2, then 4, … places before it: in the end it is the "
        "sum of all before it.",
    ),
    "floyd-warshall": Small(
        {"n": 16},
        step_ms=300,
        says="Row i and column j hold the way from i to j. Pass k looks whether it is shorter by "
        "node k, in that row and that column: so a cross sweeps over the picture.",
    ),
    "fft": Small(
        {"n": 16},
        says="Each stage joins two numbers at a distance that doubles, first along rows and then "
        "along columns: what is spread over the picture gathers in few frequencies.",
    ),
    "n-body": Small(
        {"n": 48, "block": 8, "steps": 40, "step": 0.05},
        step_ms=60,
        shows=("bodies", "bodies.1"),
        places=True,
        says="Each dot is a body, a texel with its place. A pass adds the pull of eight others to "
        "its velocity; the disc turns, and clumps.",
    ),
    "mandelbrot": Small(
        {"width": 32, "height": 24, "trips": 36, "block": 6},
        step_ms=300,
        shows=("z", "after"),
        says="Each texel is a complex number, and a pass squares and adds six times: what gets "
        "far away from 0 never comes back, and what stays is the set.",
    ),
    "sparse-matrix-vector": Small(
        {"n": 16, "longest": 8, "block": 1},
        says="Each texel is a row's sum. A pass adds one entry of every row; those that have no "
        "more of them add zeros.",
    ),
    "image-filter": Small(
        {"width": 20, "height": 20},
        step_ms=1200,
        says="A texel becomes a mean of its row, then of its column: that blurs. The last pass "
        "adds what the blur took away, and edges stand out.",
    ),
}
"""The most beautiful first."""


def _small(algorithm: Algorithm) -> Small:
    """The size of a product, or of an algorithm that is not in SMALL."""
    if algorithm.field == FIELD:
        return Small()
    settings = dict(word.split("=") for word in algorithm.plays.split())
    return Small(settings, says=f"{algorithm.summary}.")


_FILM = ("frames", "shows", "sorts", "places", "says")


def make_section() -> PageSection:
    """The algorithms, each a plan that the page plays; those with kernels are named."""
    first = list(SMALL)
    shipped = sorted(
        shipped_algorithms(),
        key=lambda a: (first.index(a.name) if a.name in first else len(first), a.year or 0),
    )
    algorithms = [a for a in shipped if a.name not in METHODS]
    small = {a.name: SMALL.get(a.name) or _small(a) for a in algorithms}
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
                **{name: getattr(small[a.name], name) for name in _FILM},
                "played": played_plan(built[a.name], (small[a.name].inputs or dict)()),
            }
            for a in played
        ]
    }
    scripts = (*PLAYED, "player/film.js", "lesson/stage.js", "sections/algorithms.js")
    return PageSection("algorithms", "9. Not only matrices", html, data, scripts, "9 Sort and life")
