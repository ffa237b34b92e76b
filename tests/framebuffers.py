"""Blends, masks, scissors and alpha tests for tests."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from gpgpu_legacy.plan.framebuffer import ADD, AlphaTest, Blend, Comparison, Equation, Factor
from gpgpu_legacy.plan.textures import FORMATS, Format, Rect

TARGETS = sorted(name for name, kept in FORMATS.items() if kept.is_drawn_to)

WEIGHTED = Blend(Equation.ADD, Factor.SRC_ALPHA, Factor.ONE_MINUS_SRC_ALPHA)
BLENDS = (None, ADD, WEIGHTED, Blend(Equation.MIN), Blend(Equation.REVERSE_SUBTRACT))

_DESTINATIONS = [factor for factor in Factor if factor is not Factor.SRC_ALPHA_SATURATE]
_CONSTANT = st.tuples(*[st.sampled_from((0.0, 0.25, 0.7, 1.0, -0.5, 2.0))] * 4)


@st.composite
def blends(draw: st.DrawFn, *, tame: bool = False) -> Blend | None:
    """In most cases None or a sum. tame: whether all weights are 0 or 1."""
    if draw(st.integers(0, 2)):
        return draw(st.sampled_from((None, None, ADD)))
    simple = (Factor.ONE, Factor.ZERO)
    source = draw(st.sampled_from(simple if tame else list(Factor)))
    destination = draw(st.sampled_from(simple if tame else _DESTINATIONS))
    return Blend(draw(st.sampled_from(Equation)), source, destination, draw(_CONSTANT))


@st.composite
def operations(
    draw: st.DrawFn, rect: Rect, target: Format, *, tame: bool = False
) -> Mapping[str, Any]:
    """The operations on a pass's fragments, as fields of a FragmentPass; often none."""
    given: dict[str, Any] = {"blend": draw(blends(tame=tame))}
    if draw(st.integers(0, 3)) == 0:
        letters = "rgba"[: target.channels]
        masks = [m for n in range(4) for m in combinations(letters, n + 1)]
        given["mask"] = "".join(draw(st.sampled_from(masks)))
    if draw(st.integers(0, 5)) == 0:
        x, y = draw(st.integers(0, rect.width - 1)), draw(st.integers(0, rect.height - 1))
        sizes = draw(st.integers(1, 70)), draw(st.integers(1, 20))
        given["scissor"] = Rect(rect.x + x, rect.y + y, *sizes)
    if draw(st.integers(0, 4)) == 0:
        # llvmpipe tests alphas as they are for 16 bits of fixed point. ARB_color_buffer_float: with
        # FIXED_ONLY they are clamped before if all buffers have fixed point.
        inside = (0.25, 0.5)
        reference = draw(st.sampled_from(inside if tame else (*inside, 0.0, 1.0, -1.0, 2.0)))
        given["alpha_test"] = AlphaTest(draw(st.sampled_from(Comparison)), reference)
    return given
