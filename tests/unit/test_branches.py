"""Branches, loops and condition codes: what fragments execute, against loops written in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import program
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.machine import FragmentInputs, FragmentMachine
from gpgpu_legacy.isa.execute import execute
from gpgpu_legacy.isa.ir import (
    CONDITION,
    Attribute,
    AttributeKind,
    CodeTest,
    Instruction,
    Program,
    Selector,
    Src,
)
from gpgpu_legacy.lower.analysis.liveness import live_components

F32 = NDArray[np.float32]
X = (Selector.X,) * 4


def flow(mnemonic: str, relation: str = "", srcs: tuple[Src, ...] = ()) -> Instruction:
    test = CodeTest(relation, Src(CONDITION, X)) if relation else None
    return Instruction(mnemonic, None, srcs, test=test)


def built(*parts: str | Instruction) -> Program:
    """Lines of ARBfp1.0, of which those that begin with C set the condition code, and others."""
    lines = [part.removeprefix("C") for part in parts if isinstance(part, str)]
    text = program(*lines, temporaries="TEMP r, c;")
    known = iter(text.instructions)
    made = [
        replace(next(known), sets_condition=p.startswith("C")) if isinstance(p, str) else p
        for p in parts
    ]
    return replace(text, instructions=tuple(made))


def run(text: Program, x: F32) -> F32:
    attribute = Attribute(AttributeKind.TEXCOORD)
    machine = FragmentMachine(FragmentInputs({attribute: [x] * 4}, {}, {}, {}), {})
    with np.errstate(all="ignore"):
        execute(text, machine)
    return np.broadcast_to(machine.register(text.instructions[-1].dst.register)[0], x.shape)  # type: ignore[union-attr]


X_VALUES = np.array([[-3, -1, -0.0], [0.5, 40, np.nan]], np.float32)
REP = flow("REP", srcs=program("MOV r, {9};", temporaries="TEMP r;").instructions[0].srcs)
"""The number of trips."""


@pytest.mark.parametrize("relation", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_each_side_of_a_branch_is_executed_where_its_test_holds(relation: str) -> None:
    text = built(
        "CMOV c.x, fragment.texcoord[0];",
        flow("IF", relation),
        "MOV r.x, {1};",
        flow("ELSE"),
        "MOV r.x, {2};",
        flow("ENDIF"),
        "MOV result.color, r.x;",
    )
    compare = {"EQ": "__eq__", "NE": "__ne__", "LT": "__lt__", "LE": "__le__", "GT": "__gt__"}
    method = compare.get(relation, "__ge__")
    expected = [[1.0 if getattr(float(x), method)(0.0) else 2.0 for x in row] for row in X_VALUES]
    assert run(text, X_VALUES).tolist() == expected


def test_each_fragment_leaves_a_loop_where_it_breaks() -> None:
    text = built(
        "MOV r.x, fragment.texcoord[0];",
        REP,
        "CSUB c.x, r.x, {4};",
        flow("BRK", "GT"),
        "ADD r.x, r.x, {2};",
        flow("ENDREP"),
        "MOV result.color, r.x;",
    )
    expected = []
    for x in X_VALUES.reshape(-1).tolist():
        trips = next((n for n in range(9) if x + 2 * n > 4), 9)
        expected.append(x + 2 * trips)
    np.testing.assert_array_equal(run(text, X_VALUES).reshape(-1), np.float32(expected))


def test_what_a_masked_write_leaves_is_live() -> None:
    text = built(
        "MOV c, {1};", "CMOV r, fragment.texcoord[0];", "MOV c, r;", "MOV result.color, c;"
    )
    masked = replace(text.instructions[2], test=CodeTest("LT", Src(CONDITION, X)))
    assert live_components(text, ())[0] == ()
    kept = replace(text, instructions=(*text.instructions[:2], masked, text.instructions[3]))
    assert live_components(kept, ())[0] == (0, 1, 2, 3)
    assert run(kept, X_VALUES).reshape(-1).tolist()[:3] == [-3.0, -1.0, 1.0]


def test_a_trip_reads_what_the_trip_before_wrote() -> None:
    text = built(
        "MOV r.x, {1};",
        REP,
        "ADD c.y, c.y, r.x;",
        "MUL r.x, r.x, {2};",
        flow("ENDREP"),
        "MOV result.color, c.y;",
    )
    assert live_components(text, ())[3] == (0,)
    assert run(text, X_VALUES).tolist() == [[511.0] * 3] * 2


def test_a_loop_that_goes_on_too_long_is_said_with_its_fragment_and_line() -> None:
    rep = flow("REP", srcs=program("MOV r, {255};", temporaries="TEMP r;").instructions[0].srcs)
    text = built(*[rep] * 3, "ADD r, r, {1};", *[flow("ENDREP")] * 3, "MOV result.color, r;")
    with pytest.raises(InputError, match=r"fragment \(0, 0\) executes more than 65536"):
        run(text, X_VALUES)
