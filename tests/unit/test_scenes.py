"""Scenes: what the page is told of a plan is what the package says of it elsewhere."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from products import METHODS_AND_WAYS, plan_of

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.isa.opcodes import ARBFP
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.lower.emit.javascript import opcode_functions
from gpgpu_legacy.page.scenes import decoded_program, scene_of
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan, Repeat
from gpgpu_legacy.plan.serialise import plan_record
from gpgpu_legacy.plan.textures import constant_rect


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_the_counts_of_passes_add_up_to_those_of_the_plan(
    method: Algorithm, way: Accumulate | None
) -> None:
    plan = plan_of(method, (5, 7, 3), way, block=2)
    total = dict.fromkeys(asdict(count_plan(plan)), 0)
    for pass_, counts in zip(passes(plan), counts_by_pass(plan), strict=True):
        for name, count in counts["fixed"].items():
            total[name] += count
        for name, count in counts["each"].items():
            total[name] += count * area(pass_)
    expected = asdict(count_plan(plan))
    outside = {"upload_bytes", "readback_bytes", "vertex_bytes", "vertices", "clear_bytes"}
    for name in expected.keys() - outside:
        assert total[name] == expected[name], name
    initial = sum(t.size_bytes for t in plan.textures if t.initial is not None)
    assert total["clear_bytes"] + initial == expected["clear_bytes"]


def counts_by_pass(plan: Plan) -> list[dict[str, dict[str, int]]]:
    """What a scene says of the cost of each pass, in the order in which they run."""
    counts = []
    for step, said in zip(plan.steps, scene_of(plan)["counts"], strict=True):
        counts += said * (step.count if isinstance(step, Repeat) else 1)
    return counts


def area(pass_: Pass) -> int:
    match pass_:
        case FragmentPass():
            return constant_rect(pass_.rect).area
        case CopyPass():
            return constant_rect(pass_.target_rect).area
    return 0


def test_instructions_have_the_lines_of_the_text_in_plan_json() -> None:
    plan = find_product("hall-carr-hart-multi").plan(n=6, block=3)
    (text,) = plan.programs()
    lines = plan_record(plan).programs["multi.fp"].splitlines()
    decoded = decoded_program(text)
    assert len(decoded["order"]) == len(text.instructions)
    for number, instruction in enumerate(text.instructions):
        assert lines[decoded["line"] - 1 + number] == print_instruction(instruction)
        assert decoded["forms"][decoded["order"][number]]["op"] == instruction.mnemonic


def test_every_opcode_has_a_function_that_rounds_each_operation() -> None:
    lines = {line.split(":")[0].strip(): line for line in opcode_functions().splitlines()}
    assert lines.keys() >= ARBFP.keys()
    assert "(a, b, c) => f(f(a * b) + c)" in lines["MAD"]
    assert "(a) => f(1 / f(Math.sqrt(Math.abs(a))))" in lines["RSQ"]
    assert "(a, b) => a > b ? b : a" in lines["MIN"]
