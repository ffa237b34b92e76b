"""Three exercises for a class, with answers to unfold."""

from __future__ import annotations

from gpgpu_legacy.page.exercises import (
    MULTI,
    SINGLE,
    WHITE,
    costs,
    loaded,
    saturation,
    texel_moment,
)
from gpgpu_legacy.page.section import Section, rendered


def make_section() -> Section:
    """The exercises. Their answers fold without a script, and links lead to moments of the page."""
    sums = saturation()
    single, multi = costs(SINGLE), costs(MULTI)
    html = rendered(
        "sections/exercises.html.j2",
        white=WHITE,
        sums=sums,
        single=single,
        multi=multi,
        blocks=list(zip(single.at, multi.at, strict=True)),
        texel_moment=texel_moment(),
        loaded=loaded(),
    )
    return Section("exercises", "Three exercises", html)
