"""The page of a plan inside of a notebook's cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from numpy.typing import ArrayLike

from gpgpu_legacy.page.one_plan import plan_page
from gpgpu_legacy.pipeline.builder import PlanBuilder


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
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    height: int = 800,
    seed: int = 0,
) -> Player:
    """A player for a notebook: it goes through the passes of a plan on the reader's own GPU.

    inputs, seed: as for `run`. height: of the frame, in pixels.
    Raises InputError for what does not fit, and for a plan that browsers do not run.
    """
    return Player(p.name, plan_page(p, inputs, seed), height)
