"""The page of one plan: its passes played, texture by texture, with its programs and counts.

Other pages play plans, too, by `played_plan` and the scripts in PLAYED.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.parameters import titled
from gpgpu_legacy.api.figures.figure import Figure, figure
from gpgpu_legacy.api.run import as_it_ran
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.opcodes import CostClass
from gpgpu_legacy.page.page import page_text
from gpgpu_legacy.page.scenes import PLAYER, scene_of
from gpgpu_legacy.page.section import PageSection, people, rendered
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import operands_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Texture
from gpgpu_legacy.present.colours import FAR, NOT_FINITE, ColourScale, ScaleKind
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.runtime.observed import places

PLAYED = (
    *PLAYER,
    "sections/numbers.js",
    "sections/element-grid.js",
    "sections/fragment-trace.js",
    "sections/played-product.js",
    "player/transport.js",
    "player/texels.js",
    "player/played-plan.js",
)
"""The scripts that play a plan, each after those that it calls."""

MOST_NUMBERS = 2**19
"""The most numbers in a page's inputs, which are text: with more, it would exceed 3 MB."""

MOST_WORK = 2**26
"""The most instructions, over all fragments of a plan, that the page's interpreter handles."""


def played_plan(
    p: PlanBuilder, inputs: Mapping[str, ArrayLike] | None = None, seed: int = 0
) -> dict[str, Any]:
    """The page's data to play a plan: `scene`, `operands`, `views` and `stops`, as JSON.

    inputs, seed: as for `run`. `operands` has each operand's float32 as base64; `views`, each
    texture's colour scale, as in `figure`; `stops`, the passes that end iterations of several
    passes. Raises InputError for a plan with kernels, for one that is too large, and for wrong
    operands.
    """
    p = as_it_ran(p, inputs, seed)
    plan = p.plan()
    _check(plan)
    given = operands_of(p, plan, inputs, seed)
    shown = figure(p, given)
    panels = (*shown.inputs, *shown.panels)
    scales = {one.panel.texture.name: one.scale for one in shown.shown(panels)}
    stops = {place.first: place.number for place, _ in places(plan) if place.is_mixed}
    return {
        "scene": scene_of(plan),
        "stops": [*stops.values()],
        "operands": {name: _operand(values) for name, values in given.items()},
        "views": {t.name: _view(shown, t, scales.get(t.name)) for t in plan.textures},
    }


def _check(plan: Plan) -> None:
    if plan.dispatches:
        raise InputError(
            f"{plan.name} dispatches kernels, which browsers do not run; a page plays plans of "
            "fragment programs, copies and clears"
        )
    numbers = sum(matrix.rows * matrix.columns for matrix in plan.operands)
    counts = count_plan(plan)
    work = counts.arithmetic + counts.lookup
    for what, count, most in (
        ("numbers in its inputs", numbers, MOST_NUMBERS),
        ("instructions in all its fragments", work, MOST_WORK),
    ):
        if count > most:
            raise InputError(
                f"{plan.name} has {plain(count)} {what}, and a page plays plans of at most "
                f"{plain(most)}; make it smaller, as in n=64"
            )


def _operand(values: F32) -> str:
    return b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode("ascii")


def _view(shown: Figure, texture: Texture, scale: ColourScale | None) -> dict[str, Any]:
    """How a texture is shown: see player/texels.js. scale: None if no pass reads or writes it."""
    colours = scale or ColourScale(ScaleKind.ONE_SIGN, 0.0, 1.0)
    return {
        "anchors": colours.anchors,
        "low": colours.low,
        "high": colours.high,
        "far": colours.far,
        "far_colour": FAR,
        "not_finite": NOT_FINITE,
        "channels": (0,) if scale is None else shown.channels(texture),
    }


# The page of a plan -------------------------------------------------------------------------------


def plan_page(p: PlanBuilder, inputs: Mapping[str, ArrayLike] | None = None, seed: int = 0) -> str:
    """A page that plays a plan in a browser, as HTML that needs no other file and no network.

    inputs, seed: as for `run`; the page holds the inputs.
    The page goes through the passes, shows every texture, and traces the fragment behind any texel.
    It runs on the reader's GPU by WebGL2, or on its own interpreter. Raises InputError for wrong
    operands, for a plan with kernels, which browsers do not run, and for a plan too large for a
    page.
    """
    p = as_it_ran(p, inputs, seed)
    plan, data = p.plan(), played_plan(p, inputs, seed)
    algorithm = p.family and p.family[0]
    html = rendered("sections/plan.html.j2", plan=plan, counts=count_plan(plan))
    sections = [PageSection("plan", "Its passes", html, data, (*PLAYED, "sections/plan.js"))]
    if algorithm and algorithm.recipe:
        text = rendered("sections/recipe.html.j2", text=algorithm.recipe)
        sections.append(PageSection("recipe", "Its recipe", text))
    if sources := _sources(plan):
        text = rendered("sections/source.html.j2", lines=sources)
        sections.insert(0, PageSection("source", "Its kernels, line by line", text))
    settings = titled("", p.parameters)
    about = rendered("sections/about-plan.html.j2", plan=plan, of=algorithm, settings=settings)
    return page_text(people().get(p.name, plan.name), about, sections)


def _sources(plan: Plan) -> list[tuple[str, list[int]]]:
    """The source lines of programs, each with the numbers of its instructions and lookups."""
    lines: dict[str, list[int]] = {}
    for instruction in chain(*(program.instructions for program in plan.programs())):
        if instruction.origin:
            counts = lines.setdefault(instruction.origin, [0, 0])
            counts[0] += 1
            counts[1] += instruction.opcode.cost is CostClass.LOOKUP
    return sorted(lines.items(), key=_place)


def _place(line: tuple[str, list[int]]) -> tuple[str, int]:
    """The file and the number of a line, from `drum.br:8: float around = …`."""
    file, number, _ = re.split(r":(\d+): ", line[0], maxsplit=1)
    return file, int(number)


# In a notebook ------------------------------------------------------------------------------------


@frozen
class Player:
    """A page that plays a plan; a notebook shows it in a frame. `player` makes one.

    name: of the plan. page: the page, as HTML that needs no other file and no network. height: of
    the frame, in pixels.
    """

    name: str
    page: str
    height: int

    def __repr__(self) -> str:
        return f"<Player of {self.name}>"

    def _repr_html_(self) -> str:
        """The page in a frame, for a notebook."""
        return (
            f'<iframe title="{escape(f"The passes of {self.name}")}" srcdoc="{escape(self.page)}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


@public
def player(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    height: int = 800,
    seed: int = 0,
) -> Player:
    """A player for a notebook: it goes through the passes of a plan on the reader's own GPU.

    p: a Pipeline. inputs, seed: as for `run`. height: of the frame, in pixels.
    Raises InputError for wrong inputs, and for a plan that browsers do not run.
    """
    return Player(p.name, plan_page(p, inputs, seed), height)
