"""Plans with a change, to see which verdicts it turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.kernel.parser import parse_kernel
from gpgpu_legacy.plan.formats import FORMATS
from gpgpu_legacy.plan.plan import Blend, ComputePass, FragmentPass, Pass, Plan, Repeat
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.published.schema import PlanChange, ProgramChange

PlanOrProgramChange = PlanChange | ProgramChange


def changed(plan: Plan, change: PlanOrProgramChange) -> Plan:
    """The plan with a change; the same plan where it has nothing to change."""
    if isinstance(change, PlanChange):
        return _with_format(_with_fewer_steps(plan, change), change)
    return _each_pass(plan, lambda pass_: _with_program(pass_, change))


def without_blending(plan: Plan) -> Plan:
    """The plan whose passes write without reading the framebuffer."""
    return _each_pass(
        plan,
        lambda pass_: (
            replace(pass_, blend=Blend.NONE) if isinstance(pass_, FragmentPass) else pass_
        ),
    )


def _with_fewer_steps(plan: Plan, change: PlanChange) -> Plan:
    """The plan whose Repeats have fewer iterations, and whose passes draw fewer rows."""
    steps = tuple(
        Repeat(
            step.count - change.iterations,
            tuple(_with_fewer_rows(pass_, change.rows) for pass_ in step.body),
        )
        if isinstance(step, Repeat)
        else _with_fewer_rows(step, change.rows)
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _with_fewer_rows(pass_: Pass, rows: int) -> Pass:
    if not isinstance(pass_, FragmentPass) or not isinstance(pass_.rect, Rect):
        return pass_
    return replace(pass_, rect=replace(pass_.rect, height=pass_.rect.height - rows))


def _with_format(plan: Plan, change: PlanChange) -> Plan:
    """The plan with one format in place of another."""
    if not change.texture_format:
        return plan
    new = FORMATS[change.becomes]
    textures = tuple(
        replace(texture, format=new) if texture.format.name == change.texture_format else texture
        for texture in plan.textures
    )
    return replace(plan, textures=textures)


def _each_pass(plan: Plan, change: Callable[[Pass], Pass]) -> Plan:
    """The plan with each of its passes changed."""
    steps = tuple(
        replace(step, body=tuple(change(pass_) for pass_ in step.body))
        if isinstance(step, Repeat)
        else change(step)
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _with_program(pass_: Pass, change: ProgramChange) -> Pass:
    if isinstance(pass_, FragmentPass) and change.instruction:
        return replace(pass_, program=_without(pass_.program, change))
    if isinstance(pass_, ComputePass) and change.text:
        text = pass_.kernel.text.replace(change.text, change.becomes)
        return replace(pass_, kernel=parse_kernel(text, pass_.kernel.name))
    return pass_


def _without(program: Program, change: ProgramChange) -> Program:
    """The program without an instruction, its last or every one."""
    places = [n for n, i in enumerate(program.instructions) if i.mnemonic == change.instruction]
    lost = set(places if change.every else places[-1:])
    kept = tuple(i for n, i in enumerate(program.instructions) if n not in lost)
    return replace(program, instructions=kept)
