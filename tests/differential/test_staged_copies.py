"""Texels that work groups stage, fetched one at a time or four, from textures of every layout.

The reference machine computes each fragment by itself, so it is the oracle; results are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from drawing import EXACT, assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from products import random_operands

from gpgpu_legacy.lower.emit.glsl_groups import emit_groups
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.executors import gl_compute as gl_compute_executor
from gpgpu_legacy.runtime.gl import compute as gl_compute
from gpgpu_legacy.runtime.gl import compute as recorder
from gpgpu_legacy.runtime.gl.compute import DeviceLimits
from gpgpu_legacy.runtime.machine import Machine, Tuning

pytestmark = pytest.mark.gl

NUMPY, COMPUTE = find_executor("numpy"), gl_compute_executor.EXECUTOR
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))

SHAPES = [
    None,
    GroupShape((8, 8), 4, 4, 8, 8, 4),
    GroupShape((4, 8), 4, 8, 4, 2, 4),
    GroupShape((8, 4), 2, 3, 16, 4, 1),
    GroupShape((5, 3), 1, 2, 6, 3, 1),
]


@dataclass(frozen=True)
class Walk:
    """Fragments that walk along a row of A and a column of B, and add the products up.

    passes, steps: how many there are, and steps of a pass. across, down: whether A and B lie
    transposed, so that the walk goes up in A and right in B. skipped: texels before the first one
    in a row of A and of B. spare: texels behind the last one.
    """

    width: int
    height: int
    passes: int
    steps: int
    transposed: tuple[bool, bool]
    skipped: tuple[int, int]
    spare: tuple[int, int]

    @property
    def length(self) -> int:
        return self.passes * self.steps

    def plan(self) -> Plan:
        p = PlanBuilder("walk")
        sizes = [(self.length, self.height), (self.width, self.length)]
        along = [(1, 0), (0, 1)]
        textures, places = [], {}
        with_rows = zip("AB", sizes, along, self.transposed, self.skipped, self.spare, strict=True)
        for name, (columns, rows), (right, up), turned, before, behind in with_rows:
            if turned:
                columns, rows, right, up = rows, columns, up, right  # noqa: PLW2901
            textures.append(p.input(name, rows, columns + before + behind))
            places[name] = (right, up, before)
        c = p.texture("C", self.width, self.height, format="r32f", initial=0.0)
        with p.repeat(self.passes) as i:
            texcoords = {}
            for n, name in enumerate("AB"):
                right, up, before = places[name]
                gone = self.steps * i
                texcoords[n] = [
                    self._corner(n, corner, (right, up), before, gone) for corner in CORNERS
                ]
            p.draw(self.program(places), dict(enumerate(textures)), into=c,
                   texcoords=texcoords, blend="add")  # fmt: skip
        p.output("C", c)
        return p.plan()

    def _corner(
        self, n: int, corner: tuple[int, int], way: tuple[int, int], before: int, gone: object
    ) -> tuple[object, object]:
        """Where a walk of a pass begins: a step is `way`, a fragment the other way."""
        right, up = way
        fragment = (corner[1] * self.height, corner[0] * self.width)[n]
        at = [before + 0.5 * right, 0.5 * up]
        at = [at[0] + fragment * up, at[1] + fragment * right]
        return at[0] + right * gone, at[1] + up * gone  # type: ignore[operator]

    def program(self, places: dict[str, tuple[int, int, int]]) -> str:
        lines = ["!!ARBfp1.0", "TEMP a, b, s, t, sum;", "MOV sum, 0;"]
        lines += ["MOV a, fragment.texcoord[0];", "MOV b, fragment.texcoord[1];"]
        for _ in range(self.steps):
            lines += ["TEX s, a, texture[0], RECT;", "TEX t, b, texture[1], RECT;"]
            lines += ["MAD sum.r, s, t, sum;"]
            for name, place in zip("AB", "ab", strict=True):
                right, up, _ = places[name]
                lines.append(f"ADD {place}, {place}, {{ {right}, {up}, 0, 0 }};")
        return "\n".join([*lines, "MOV result.color, sum;", "END"])


WALKS = st.builds(
    Walk,
    st.integers(1, 70),
    st.integers(1, 40),
    st.sampled_from([1, 2, 5, 8, 17, 32]),
    st.sampled_from([1, 1, 4, 8, 12]),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(st.sampled_from([0, 4, 8, 1, 3]), st.sampled_from([0, 4, 8, 2])),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
TRANSPOSED = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Storage buffers are read as a GPU reads them. The list is of the shaders' texts."""
    texts: list[str] = []

    def kept(*arguments: object, **options: object) -> object:
        code = emit_groups(*arguments, **options)  # type: ignore[arg-type]
        texts.append(code.text)
        return code

    monkeypatch.setattr(recorder, "emit_groups", kept)
    device = DeviceLimits(48 << 10, 8, Multiprocessors.of_gpu(4), 60_000)

    def tuned(_: object, tuning: Tuning | None) -> DeviceLimits:
        return replace(device, shape=tuning.group if tuning else None)

    monkeypatch.setattr(gl_compute, "_device", tuned)
    return texts


def assert_as_the_reference(plan: Plan, group: GroupShape | None) -> None:
    operands = random_operands(plan)
    machine = Machine(exact=True, denormals=False, tuning=Tuning(group=group))
    found = COMPUTE.run(plan, operands, machine).outputs["C"]
    assert_same_bits(found, NUMPY.run(plan, operands, EXACT).outputs["C"])


@pytest.mark.parametrize("group", SHAPES)
@pytest.mark.usefixtures("hardware")
@settings(max_examples=3)
@given(WALKS)
def test_walks_through_textures_of_every_layout(group: GroupShape | None, walk: Walk) -> None:
    assert_as_the_reference(walk.plan(), group)


@pytest.mark.parametrize(("transposed", "steps"), list(zip(TRANSPOSED, (1, 8, 8, 1), strict=True)))
def test_aligned_texels_are_fetched_four_at_a_time(
    hardware: list[str], transposed: tuple[bool, bool], steps: int
) -> None:
    """Rows that begin at a multiple of four are; others, or a first texel beside one, are not."""
    group = GroupShape((8, 8), 4, 4, 8, 4, 4)
    for skipped, spare, aligned in (((0, 4), (0, 4), True), ((2, 1), (2, 3), False)):
        walk = Walk(32, 16, 32 // steps, steps, transposed, skipped, spare)
        hardware.clear()
        assert_as_the_reference(walk.plan(), group)
        assert ("= quads" in hardware[-1]) is aligned


@pytest.mark.usefixtures("hardware")
def test_loops_that_stage_textures_of_one_and_of_four_channels() -> None:
    p, n = PlanBuilder("two loops"), 32
    one, four = p.input("one", n, n + 1), p.input("four", n, 4 * n, packing="image")
    into = p.texture("sums", n, n, format="rgba32f", initial=0.0)
    lines = ["!!ARBfp1.0", "TEMP at, texel, sum;", "MOV sum, 0;"]
    for unit in range(2):  # the first begins beside a multiple of four
        lines.append(f"ADD at, fragment.texcoord[0], {{ {1 - unit}, 0, 0, 0 }};")
        look_up = f"TEX texel, at, texture[{unit}], RECT;"
        lines += [look_up, "MAD sum, texel, sum, texel;", "ADD at, at, { 1, 0, 0, 0 };"] * 16
    down = [(0.5, n * y) for _, y in CORNERS]
    p.draw("\n".join([*lines, "MOV result.color, sum;", "END"]), {0: one, 1: four}, into=into,
           texcoords={0: down})  # fmt: skip
    p.output("C", into)
    assert_as_the_reference(p.plan(), GroupShape((8, 8), 4, 4, 8, 8, 4))
