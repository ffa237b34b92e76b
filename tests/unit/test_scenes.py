"""Scenes: what the page is told of a plan is what the package says of it elsewhere."""

from __future__ import annotations

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.isa.opcodes import ARBFP
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.lower.emit.javascript import opcode_functions
from gpgpu_legacy.page.scenes import decoded_program
from gpgpu_legacy.plan.serialise import plan_record


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
