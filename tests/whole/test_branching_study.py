"""The ways to a fragment's own computation: by hand, and held against NumPy's own choice."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import on

from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.studies import branching
from gpgpu_legacy.studies.shared.operands import EXACT

AREA = 2048 * 1024
SHORT, LONG = 4, 5 + 2 * branching.STEPS
"""Instructions of the two passes with KIL: TEX, KIL, the computation (with a MOV) and MOV."""


@on("numpy", "jit", "gl-raster")
def test_all_ways_have_the_same_results(name: str) -> None:
    for way in branching.WAYS:
        p = branching.stripes(way, 4, 24, 10)
        given = sample_inputs(p.plan(), p.samples)
        x, mask = given["numbers"][..., 0], given["numbers"][..., 1] > 0
        assert mask[0].tolist() == ([False] * 4 + [True] * 4) * 3
        short = x * np.float32(0.5)
        for _ in range(branching.STEPS):
            x = (-x * x + x) * np.float32(3.75)
        found = find_executor(name).run(p.plan(), given, EXACT).outputs["result"]
        np.testing.assert_array_equal(found, np.where(mask, x, short))


@pytest.mark.parametrize(
    ("stripe", "quads", "blocks"), [(1, 1, 1), (4, 3 / 4, 1), (64, 33 / 64, 3 / 4)]
)
def test_squares_execute_what_any_of_their_fragments_does(
    stripe: int, quads: float, blocks: float
) -> None:
    """Sums of x and y span 3 numbers in a quad and 63 in a block: so many meet two stripes."""
    found = branching.counted(stripe)
    by_way = {name: (one.instructions, one.in_quads, one.in_blocks) for name, one in found.items()}
    both = SHORT + LONG
    assert by_way["selects"] == (both - 4,) * 3  # one TEX, CMP for two MOV, and no test
    assert by_way["KIL"] == (both,) * 3
    shares = np.array([0.5, quads, blocks])
    assert by_way["early depth"] == tuple(SHORT + LONG * shares)
    # TEX, MOVC, IF, ENDIF and MOV; then the MOV, the steps and ELSE; else the MUL.
    assert by_way["branch"] == tuple(5 + (LONG - 3) * shares + shares)


def test_a_chip_takes_its_arithmetic_and_the_clocks_of_a_branch() -> None:
    """A GeForce 6800 Ultra starts 16 instructions a clock of 400 MHz, and branches in 4 to 6."""
    executed = branching.counted(64)
    chip, older = map(find_profile, ("geforce-6800-ultra", "radeon-x800-xt"))
    branch = executed["branch"]
    least, most = branching.predicted(chip, "branch", branch) or (0, 0)
    assert least == pytest.approx(AREA * (branch.in_quads + 4) / 6.4e9)
    assert most == pytest.approx(AREA * (branch.in_blocks + 6) / 6.4e9)
    assert branching.predicted(chip, "KIL", executed["KIL"]) == (AREA * (SHORT + LONG) / 6.4e9,) * 2
    assert branching.predicted(older, "branch", branch) is None
