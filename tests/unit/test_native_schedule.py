"""The items of a native schedule: all orders that their waiting allows come to the same.

The meaning of an item (lower/emit/llvm_schedule.py) is written down a second time here, row by row
on numbers, and threads are played by a random choice of who goes next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.lower.analysis.fusion import UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood, neighbourhood
from gpgpu_legacy.runtime import schedule
from gpgpu_legacy.runtime.devices import cache_bytes
from gpgpu_legacy.runtime.schedule import stage_of


@pytest.fixture(scope="module")
def relaxation() -> Neighbourhood:
    plan = jacobi(16, 200).plan()
    step = next(iter(fused_steps(plan)))
    assert isinstance(step, UnfusedRepeat)
    found = neighbourhood(step, plan)
    assert found is not None
    return found


@given(
    st.integers(1, 5000),
    st.booleans(),
    st.tuples(st.integers(1, 1 << 12), st.integers(1, 1 << 20), st.integers(1, 64)),
)
def test_the_shape_of_a_stage(
    relaxation: Neighbourhood, rows: int, wraps: bool, given_: tuple[int, int, int]
) -> None:
    """Bands are so high that joints stay apart, and what lies between passes fits the cache."""
    (texel_bytes, work, threads), sides = given_, (wraps, wraps)
    known = replace(relaxation, width=rows, height=rows, wraps=sides)
    stage = stage_of(known, texel_bytes, work, threads)
    assert (stage.bands[0], stage.bands[-1]) == (0, rows)
    lengths = np.diff(stage.bands)
    assert lengths.min() >= 1
    assert 1 <= stage.passes <= schedule.MOST_PASSES
    if stage.passes > 1:
        columns = min(rows, stage.span)
        assert stage.passes * columns * texel_bytes <= cache_bytes(2)
        inner = lengths if wraps or len(lengths) == 1 else lengths[1:-1]
        assert (inner >= 2 * stage.passes).all()
        assert (lengths >= stage.passes).all()


def test_long_relaxations_keep_every_thread_busy(relaxation: Neighbourhood) -> None:
    for rows, threads in ((512, 16), (2048, 2), (4096, 16)):
        known = replace(relaxation, width=rows, height=rows)
        stage = stage_of(known, 12, 5, threads)
        assert stage.passes > 1
        assert len(stage.bands) - 1 >= threads
