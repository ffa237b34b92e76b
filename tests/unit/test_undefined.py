"""What the specification leaves undefined: of which sources, in how many fragments, who is told."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.errors import GpgpuLegacyWarning

NAN, INF, PI = float("nan"), float("inf"), 3.1415927
BELOW, ABOVE = float(np.nextafter(np.float32(PI), np.float32(0))), 3.1416


def program(*lines: str) -> str:
    """A is the texel of the fragment's own column. The instruction in question is on line 3."""
    look = "!!ARBfp1.0 TEMP A, R;\nTEX A, fragment.texcoord[0], texture[0], RECT;"
    return "\n".join([look, *lines, "END"])


def told(text: str, *texels: tuple[float, ...], executor: str = "numpy", **more: Any) -> list[str]:
    """What is told of a row of fragments with these texels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        row = np.array([texels], np.float32)
        run_program(text, len(texels), 1, {0: ("RECT", row)}, executor=executor, **more)
    return [str(one.message) for one in caught if one.category is GpgpuLegacyWarning]


def parts(texts: list[str]) -> list[tuple[str, int]]:
    """Of each, the place and the opcode, and the number of fragments."""
    return [(text.split(" of ")[0], int(text.split()[-1])) for text in texts]


@pytest.mark.parametrize("executor", ["numpy", "jit"])
@pytest.mark.parametrize(
    ("line", "undefined", "defined"),
    [
        # 3.11.5.12: "If the scalar operand is zero or negative, the result is undefined."
        ("LG2 result.color, A.x;", [(-1,), (0,), (-0.0,), (-INF,)], [(1e-30,), (INF,), (NAN,)]),
        # 3.11.5.20: by LG2, so "it may not be possible to exponentiate correctly with a negative
        # base"; every machine has 0 for 0 to a positive power
        ("POW result.color, A.x, A.y;", [(-2, 2), (-1e-30, 3), (0, 0), (-0.0, -1)],
         [(0, 2), (2, -2)]),
        # OpenGL 1.4, 2.1.1: "a division by zero produces an unspecified result"
        ("RCP result.color, A.x;", [(0,), (-0.0,)], [(-1,), (1e-30,), (INF,)]),
        ("RSQ result.color, A.x;", [(0,), (-0.0,)], [(-4,), (4,), (NAN,)]),
        # 3.11.5.23: "If the scalar operand is not in the range [-PI,PI]"; SIN and COS have no such
        ("SCS result.color, A.x;", [(ABOVE,), (-4,), (INF,)], [(PI,), (-PI,), (BELOW,), (0,)]),
        ("SIN result.color, A.x;", [], [(4,), (INF,)]),
        # 3.11.6.2: "less than or equal to zero, the result vector is undefined"
        ("TXP result.color, A, texture[0], RECT;", [(1, 1, 0, 0), (1, 1, 0, -1)], [(1, 1, 0, 1)]),
        # a sign and a swizzle come before
        ("LG2 result.color, -A.y;", [(-1, 1)], [(1, -1)]),
    ],
)  # fmt: skip
def test_fragments_with_undefined_results_are_counted(
    line: str, undefined: list[tuple[float, ...]], defined: list[tuple[float, ...]], executor: str
) -> None:
    texels = [(*texel, *(0,) * (4 - len(texel))) for texel in (*undefined, *defined)]
    assert parts(told(program(line), *texels, executor=executor)) == (
        [(f"program:3:1: {line[:3]}", len(undefined))] if undefined else []
    )


COUNTED = program("RCP R, A.x;", "KIL A.y;", "MOV result.color, R;")


@pytest.mark.parametrize(
    ("more", "met"),
    [
        ({}, 2),  # a KIL discards one of three
        ({"scissor": (0, 0, 2, 1)}, 1),
        ({"alpha_test": "less,1"}, 0),  # 1/0 is infinite here
        # of (0, 2, 0) 2, of (∞, 1/2, ∞, 0) 1, of (0, 2, 0, ∞) 2; the fourth was the clear colour
        ({"passes": 3, "feedback": 0}, 2 + 1 + 2),
    ],
)
def test_only_fragments_that_are_written_count(more: dict[str, Any], met: int) -> None:
    texels = [(0, 1, 0, 0), (2, 1, 0, 0), (0, 1, 0, 0), (0, -1, 0, 0)]
    found = parts(told(COUNTED, *texels, **more))
    assert found == ([("program:3:1: RCP", met)] if met else [])


def test_a_plan_without_such_instructions_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpgpu_legacy.api.run.reference", lambda: None)
    assert told(program("ADD result.color, A, A;"), (1, 2, 3, 4), executor="jit") == []


def test_a_large_plan_is_not_counted_and_told_where_results_are_not_finite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpgpu_legacy.api.run.MOST_S", 0.0)
    text = program("RCP R, A.x;", "MIN result.color, A.y, R;")
    assert told(text, (0, 3, 0, 0), executor="jit") == []
    (found,) = told(text, (0, INF, 0, 0), executor="jit")
    assert found.startswith("program:3:1: RCP of 0 is undefined")
    assert found.endswith("fragments with it: not counted")


RECIPE = """
from gpgpu_legacy import Pipeline

def spots(n: int = 4):
    p = Pipeline("spots")
    x = p.texture("x", n, n)
    p.draw("spots.fp", into=x)
    p.output("x", x)
    return p
"""


def test_a_run_tells_it_once(tmp_path: Path, run: Command) -> None:
    text = "!!ARBfp1.0\nTEMP R;\nSUB R, fragment.position, 1.5;\nRSQ result.color, R.x;\nEND"
    (tmp_path / "spots.py").write_text(RECIPE)
    (tmp_path / "spots.fp").write_text(text)
    for more in (), ("--repeat", "2"):
        code, _, told = run("run", str(tmp_path / "spots.py"), "--executor", "jit", *more)
        assert code == 0
        assert told.count("spots.fp:4:1: RSQ of 0 is") == told.count("with it: 4\n") == 1
