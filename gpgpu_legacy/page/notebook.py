"""The page of a plan inside of a notebook's cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from numpy.typing import ArrayLike

from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.page.one_plan import plan_page
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.plan.plan import Plan


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


def player(
    what: Plan | PlanBuilder | str,
    operands: Mapping[str, ArrayLike] | None = None,
    *,
    height: int = 800,
    seed: int = 0,
    **parameters: Any,
) -> Player:
    """A player for a notebook: it goes through the passes of a plan on the reader's own GPU.

    what: a Plan, a Pipeline, or the name of an algorithm or a recipe, as for `Pipeline.find`.
    operands: arrays by name, as `run_plan` takes them; without any, samples that depend on `seed`.
    height: of the frame, in pixels. parameters: of the algorithm or the recipe.
    Raises InputError for what does not fit, and for a plan that browsers do not run.
    """
    if isinstance(what, str):
        what = Pipeline.find(what, **parameters)
    elif parameters:
        raise InputError(
            f"{', '.join(parameters)} would be a parameter of an algorithm by name; build the plan "
            "with it"
        )
    samples = what.samples if isinstance(what, PlanBuilder) else {}
    plan = what.plan() if isinstance(what, PlanBuilder) else what
    given = sample_inputs(plan, samples, seed) if operands is None else operands
    return Player(plan.name, plan_page(plan, given), height)
