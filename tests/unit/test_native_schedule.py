"""The items of a native schedule: all orders that their waiting allows come to the same.

The meaning of an item (lower/emit/llvm_schedule.py) is written down a second time here, row by row
on numbers, and threads are played by a random choice of who goes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.lower.analysis.fusion import UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood, neighbourhood
from gpgpu_legacy.lower.emit import llvm_schedule as layout
from gpgpu_legacy.runtime import schedule
from gpgpu_legacy.runtime.devices import cache_bytes
from gpgpu_legacy.runtime.schedule import Stage, items_of, stage_of

Texels = list[list[int]]  # rows of numbers
REACH = 1  # to every side


def draw(textures: list[Texels], number: int, row: int, column: int, *, wraps: bool) -> None:
    """A fragment of a pass: made of what is around it in the texture that the last pass wrote."""
    source, target = textures[number % 2], textures[(number + 1) % 2]
    top, side = len(source) - 1, len(source[0]) - 1
    rows = [row + step for step in range(-REACH, REACH + 1)]
    rows = [r % len(source) if wraps else min(max(r, 0), top) for r in rows]
    columns = [min(max(column + step, 0), side) for step in range(-REACH, REACH + 1)]
    target[row][column] = hash((number, *(source[r][c] for r in rows for c in columns)))


@st.composite
def stages(draw: st.DrawFn) -> tuple[Stage, int]:
    """A stage of any shape that is allowed, and the passes of the Repeat."""
    passes, lag = draw(st.integers(1, 4)), draw(st.integers(REACH, 2))
    wraps, count = draw(st.booleans()), draw(st.integers(1, 4))
    lengths = [2 * passes * lag + draw(st.integers(0, 3)) for _ in range(count)]
    if count > 1 and not wraps:  # outer bands have one joint alone
        for outer in (0, -1):
            lengths[outer] -= draw(st.integers(0, passes * lag))
    bands = tuple(int(row) for row in np.cumsum([0, *lengths]))
    slant, chunk = draw(st.integers(REACH, 2)), draw(st.sampled_from((1, 2, 3, 100)))
    span = draw(st.sampled_from((1, 2, 100)))
    stage = Stage(passes, bands, draw(st.integers(1, 4)), wraps, lag, slant, chunk, span)
    return stage, draw(st.integers(1, 3 * passes))


def parts(
    item: NDArray[np.int64], stage: Stage, first: int, passes: int, textures: list[Texels]
) -> Iterator[None]:
    """An item of a stage that begins with a pass: it stops after every chunk of a pass."""
    height, width = len(textures[0]), len(textures[0][0])
    low, high = int(item[layout.LOW]), int(item[layout.HIGH])
    low_step, high_step = int(item[layout.LOW_STEP]), int(item[layout.HIGH_STEP])
    top = high + (passes - 1) * (high_step + stage.lag)
    for left in range(0, width + (passes - 1) * stage.slant, stage.span):
        for front in range(low, top, stage.chunk):
            for t in range(passes):
                start = max(front - t * stage.lag, low + t * low_step)
                end = min(front - t * stage.lag + stage.chunk, high + t * high_step)
                begin = max(left - t * stage.slant, 0)
                stop = min(left - t * stage.slant + stage.span, width)
                for row in range(start, end):
                    for column in range(begin, stop):
                        draw(textures, first + t, row % height, column, wraps=stage.wraps)
                yield


@settings(max_examples=100)
@given(stages(), st.integers(1, 4), st.integers(0, 2**32))
def test_every_order_gives_what_the_passes_give(
    made: tuple[Stage, int], threads: int, seed: int
) -> None:
    (stage, count), random = made, Random(seed)
    height, width, items = stage.bands[-1], stage.width, items_of(stage)
    textures = [
        [[random.getrandbits(40) for _ in range(width)] for _ in range(height)] for _ in range(2)
    ]
    expected, ended = deepcopy(textures), [0] * len(items)
    for number, row, column in product(range(count), range(height), range(width)):
        draw(expected, number, row, column, wraps=stage.wraps)
    order = iter([(s, n) for s in range(-(-count // stage.passes)) for n in range(len(items))])

    def thread() -> Iterator[None]:
        for number, place in order:
            item, first = items[place], number * stage.passes
            ring, begin = int(item[layout.RING]), int(item[layout.START])
            awaited = [
                begin + (int(item[layout.FROM]) + k) % ring for k in range(item[layout.AWAITED])
            ]
            wanted = number * item[layout.EACH] + item[layout.BASE]
            while any(ended[other] < wanted for other in awaited):
                yield
            yield from parts(item, stage, first, min(stage.passes, count - first), textures)
            ended[item[layout.COUNTER]] += 1

    running = [thread() for _ in range(threads)]
    while running:
        chosen = random.choice(running)
        for _ in range(random.choice((1, 5, 100))):
            if next(chosen, running) is running:
                running.remove(chosen)
                break
    assert textures == expected


@pytest.fixture(scope="module")
def relaxation() -> Neighbourhood:
    plan = jacobi.plan(n=16, passes=200)
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
