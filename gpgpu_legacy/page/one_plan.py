"""The page of one plan: its passes played, texture by texture, with its programs and counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import chain

from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.parameters import titled
from gpgpu_legacy.api.run import as_it_ran
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.decorators import public
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.page.page import page_text
from gpgpu_legacy.page.played import PLAYED, played_plan
from gpgpu_legacy.page.section import PageSection, people, rendered
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan


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
    """The lines that programs were compiled from: how many instructions and lookups each is."""
    lines: dict[str, list[int]] = {}
    for instruction in chain(*(program.instructions for program in plan.programs())):
        if instruction.origin:
            counts = lines.setdefault(instruction.origin, [0, 0])
            counts[0] += 1
            counts[1] += OPCODES[instruction.mnemonic].cost is CostClass.LOOKUP
    return sorted(lines.items(), key=_place)


def _place(line: tuple[str, list[int]]) -> tuple[str, int]:
    """The file and the number of a line, from `drum.br:8: float around = …`."""
    file, number, _ = re.split(r":(\d+): ", line[0], maxsplit=1)
    return file, int(number)


# In a notebook ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
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
