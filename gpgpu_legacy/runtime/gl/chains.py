"""Passes of few fragments that follow one another: one work group runs them in one dispatch.

A dispatch takes a GPU some microseconds, in which one work group computes thousands of fragments.
A solver on a small grid has many such passes, most of them of its reductions to one texel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, moved_alone
from gpgpu_legacy.lower.emit.glsl_groups import CHAIN
from gpgpu_legacy.lower.fused.content import (
    Arguments,
    Content,
    UnsupportedError,
    group_content,
    refuse_unsupported,
)
from gpgpu_legacy.plan.plan import CopyPass, Pass
from gpgpu_legacy.plan.textures import Texture

MOST_FRAGMENTS, MOST_DEPENDENT = 8192, 1024
"""Fragments of a pass in a chain, and of one with dependent lookups, whose code is longer. A work
group has only one multiprocessor.
"""

MOST_CHAINED = 24
"""Passes of a chain, which the driver compiles as one shader."""

FusedStep = FusedPasses | UnfusedRepeat | Pass
Link = tuple[Content, Arguments]


@frozen
class Question:
    """The question whether the first number of a texture, `condition`, is not below a number."""

    condition: str
    below: float

    @property
    def again(self) -> np.float32:
        """The least float32 that is not below that number."""
        rounded = np.float32(self.below)
        return np.nextafter(rounded, np.float32(np.inf)) if rounded < self.below else rounded


def chains(
    steps: Iterable[FusedStep], link: Callable[[FusedStep], Link | None], most_textures: int
) -> Iterator[list[tuple[FusedStep, Link | None]]]:
    """The steps in order, in lists. One work group may run all steps of a list together.

    link: see link_of; a step without a link is alone. most_textures: of a list.
    """
    together: list[tuple[FusedStep, Link | None]] = []
    for step in steps:
        own = link(step)
        if together:
            links = [before for _, before in together] + [own]
            textures = {name for some in links if some for name in some[1].textures}
            if not all(links) or len(links) > MOST_CHAINED or len(textures) > most_textures:
                yield together
                together = []
        together.append((step, own))
    if together:
        yield together


def link_of(step: FusedStep, textures: Mapping[str, Texture]) -> Link | None:
    """A step as a part of a chain; None unless it is a single pass of few fragments.

    textures: the plan's, by name.
    """
    moved = moved_alone(step, 1) if isinstance(step, CopyPass) else step
    if not isinstance(moved, FusedPasses) or moved.count * len(moved.passes) > 1:
        return None
    fragments = moved.width * moved.height
    if fragments > MOST_FRAGMENTS:
        return None
    content, arguments = group_content(moved, textures)
    try:
        refuse_unsupported(content)
    except UnsupportedError:
        return None
    depends = any(surface.extent for surface in content.surfaces)
    return None if depends and fragments > MOST_DEPENDENT else (content, arguments)


def across(width: int, height: int) -> int:
    """The fragments of a row that a chain computes at once, in a rectangle of this size.

    They are chosen for the fewest steps. Of equal choices the widest wins, because neighbours in a
    row are neighbours in memory.
    """
    threads, _ = CHAIN.threads
    powers = (threads >> n for n in range(threads.bit_length()))
    return min(powers, key=lambda side: -(-width // side) * -(-height * side // threads))
