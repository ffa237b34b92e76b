"""Random straight-line programs on the numpy machine and on the GL driver.

The numbers are chosen so that most operations are exact, and a program counts only where all of its
operations are: then both have to give the same, in whatever order a driver takes sums.

DRIVER_PROGRAMS=10000 pytest tests/differential/test_driver_programs.py checks that many of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from departures import driver_of
from drawing import F32, Image, draw_all
from driver_programs import MOST_JOINED, Watch, defined, joined, renamed, written
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import (
    ATTRIBUTES,
    PARAMETERS,
    STATE,
    TEXCOORD_SETS,
    UNITS,
    Reach,
    images,
    planes,
    program_texts,
    vec4,
)

from gpgpu_legacy.isa.opcodes import ARBFP, Form
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.plan.plan import AttributeCorners
from gpgpu_legacy.plan.textures import RGBA32F, Filter, Rect, Sampler
from gpgpu_legacy.runtime.executor import Executor

pytestmark = pytest.mark.gl

Ready = Callable[[str], Executor]

PROGRAMS = int(os.environ.get("DRIVER_PROGRAMS", "240"))
SIZE = (4, 4)  # sides by which slopes divide exactly
NUMBERS = st.sampled_from((0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 4.0, 0.25, -0.5, 3.0, -1.5))

# Lookups of cube maps and projected ones divide, which no number makes exact in general.
TARGETS = ("1D", "2D", "3D", "RECT")
EXACT = sorted(set(ARBFP) - {"TXP"})
JOINABLE = sorted(row.mnemonic for row in map(ARBFP.get, EXACT) if row.form is not Form.KILL)  # type: ignore[union-attr]

# Eight programs shrink for minutes; the message has the one that failed.
UNSHRUNK = settings(
    phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def driver(ready: Ready) -> Executor:
    return ready("gl-arbfp")


@dataclass(frozen=True)
class Scenery:
    """Programs, and what they read: the keyword arguments of draw_all."""

    programs: tuple[Program, ...]
    given: Mapping[str, Any]


@st.composite
def sceneries(
    draw: st.DrawFn, count: int, among: list[str], results: tuple[str, ...], *options: str
) -> Scenery:
    """So many programs of the whole language, on the same textures, parameters and state."""
    targets = tuple(draw(st.sampled_from(TARGETS)) for _ in range(UNITS))
    reach = Reach(targets, tuple(ATTRIBUTES), STATE, results, options)
    texts = [draw(program_texts(NUMBERS, 8, among, reach)) for _ in range(count)]
    rect = Rect(0, 0, *SIZE)
    vectors = st.dictionaries(st.integers(0, PARAMETERS - 1), vec4(NUMBERS))
    textures = {unit: draw(images(target, NUMBERS)) for unit, target in enumerate(targets)}
    return Scenery(
        tuple(renamed(defined(assemble(text))) for text in texts),
        {
            "textures": {unit: nearest(each) for unit, each in textures.items()},
            "texcoords": [draw(planes(n, rect)) for n in range(TEXCOORD_SETS)],
            "attributes": [
                AttributeCorners(kind, draw(planes(0, rect)).corners)
                for kind in ATTRIBUTES.values()
            ],
            "state": {binding: draw(vec4(NUMBERS)) for binding in STATE},
            "local": draw(vectors),
            "env": draw(vectors),
        },
    )


def nearest(image: Image) -> Image:
    wraps = (image.sampler.wrap_s, image.sampler.wrap_t, image.sampler.wrap_r)
    return replace(image, sampler=Sampler(Filter.NEAREST, *wraps))


def comparable(driver: Executor, among: list[str]) -> list[str]:
    """The opcodes whose results a driver gives exactly wherever they are floats."""
    return [mnemonic for mnemonic in among if mnemonic not in driver_of(driver).misses]


def given_to(driver: Executor, scenery: Scenery) -> Mapping[str, Any]:
    """What a driver is given: level attributes, where what it interpolates is not exact."""
    given = dict(scenery.given)
    if driver_of(driver).interpolation:
        for name in ("texcoords", "attributes"):
            given[name] = [replace(each, corners=each.corners[:1] * 4) for each in given[name]]
    return given


def by_machine(program: Program, given: Mapping[str, Any]) -> list[F32] | None:
    """What a program draws, or None where its operations are not all exact."""
    targets = (RGBA32F,) * program.color_outputs
    watch = Watch()
    draw_all(program, SIZE, targets=targets, machine=watch.machine, **given)
    return draw_all(program, SIZE, targets=targets, **given) if watch.exact else None


def assert_equal(found: F32, expected: F32, components: list[int], program: Program) -> None:
    np.testing.assert_array_equal(
        found[..., components], expected[..., components], disassemble(program)
    )


def test_random_programs(driver: Executor) -> None:
    compared, among = 0, comparable(driver, JOINABLE)

    @settings(UNSHRUNK, max_examples=-(-PROGRAMS // MOST_JOINED))
    @given(scenery=sceneries(MOST_JOINED, among, ("result.color", "result.depth")))
    def check(scenery: Scenery) -> None:
        nonlocal compared
        compared += compare_joined(driver, scenery)

    check()
    assert compared > PROGRAMS / 5  # of all programs, those whose operations are exact: some 30 %


def compare_joined(driver: Executor, scenery: Scenery) -> int:
    """Compare the programs that are exact; returns how many those are."""
    given = given_to(driver, scenery)
    expected = {
        program: texels[0]
        for program in scenery.programs
        if (texels := by_machine(program, given)) is not None
    }
    if not expected:
        return 0
    found = draw_all(
        *(joined(tuple(expected)), SIZE),
        targets=(RGBA32F,) * len(expected),
        executor=driver,
        **given,
    )
    for values, (program, texels) in zip(found, expected.items(), strict=True):
        assert_equal(values, texels, written(program).get(0, []), program)
    return len(expected)


def test_random_programs_that_discard_and_draw_to_two_targets(driver: Executor) -> None:
    results = ("result.color", "result.depth", "result.color[1]")
    among = comparable(driver, EXACT)

    @settings(UNSHRUNK, max_examples=-(-PROGRAMS // 16))
    @given(scenery=sceneries(1, among, results, "ARB_draw_buffers"))
    def check(scenery: Scenery) -> None:
        (program,), given = scenery.programs, given_to(driver, scenery)
        expected = by_machine(program, given)
        if expected is None:
            return
        targets = (RGBA32F,) * program.color_outputs
        found = draw_all(program, SIZE, targets=targets, executor=driver, **given)
        for index, components in written(program).items():
            assert_equal(found[index], expected[index], components, program)

    check()
