"""The parts of a plan that are timed one by one; parts that do the same work are one.

A plan of many passes has few kinds of them: the passes of all tiles of a large product draw alike
and differ in their textures alone. So a part is a plan of its own, with its textures called by
their order, and equal parts are analysed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from gpgpu_legacy.plan.pass_names import PassNumbers
from gpgpu_legacy.plan.plan import (
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    read_by,
    written_by,
)


@dataclass(frozen=True, slots=True)
class Part:
    """Steps of a plan that do the same work.

    plan: of one of them, by itself. passes: of the first of them, as the whole plan writes them.
    numbers: of the passes of all of them. times: how many they are.
    """

    plan: Plan
    passes: tuple[Pass, ...]
    numbers: tuple[PassNumbers, ...]
    times: int


def parts_of(plan: Plan, *, apart: bool) -> tuple[Part, ...]:
    """The parts of a plan, in the order in which they first run.

    apart: every pass is a part; if not, a Repeat is one, so that its passes may be fused.
    """
    found: dict[Plan, list[tuple[tuple[PassNumbers, ...], Step]]] = {}
    for numbers, step in _steps(plan, apart=apart):
        found.setdefault(_by_itself(plan, step), []).append((numbers, step))
    return tuple(
        Part(part, _passes(same[0][1]), tuple(chain(*(n for n, _ in same))), len(same))
        for part, same in found.items()
    )


def _steps(plan: Plan, *, apart: bool) -> Iterator[tuple[tuple[PassNumbers, ...], Step]]:
    """The steps of a plan that run, with their passes' numbers; passes of a Repeat one by one."""
    number = 1
    for step in plan.steps:
        body, count = (step.body, step.count) if isinstance(step, Repeat) else ((step,), 1)
        numbers = tuple(PassNumbers(number + n, len(body), count) for n in range(len(body)))
        number += count * len(body)
        if not count or not body:
            continue
        if apart and isinstance(step, Repeat):
            yield from (((n,), Repeat(count, (p,))) for n, p in zip(numbers, body, strict=True))
        else:
            yield numbers, step


def _passes(step: Step) -> tuple[Pass, ...]:
    return step.body if isinstance(step, Repeat) else (step,)


def _by_itself(plan: Plan, step: Step) -> Plan:
    """A plan of one step, without transfers, its textures called by their order in the step."""
    used = (name for p in _passes(step) for name in (*read_by(p), *written_by(p)))
    names = {name: str(n) for n, name in enumerate(dict.fromkeys(used))}
    textures = tuple(
        replace(plan.texture(name), name=new, initial=None) for name, new in names.items()
    )
    renamed: Step
    if isinstance(step, Repeat):
        renamed = Repeat(step.count, tuple(_renamed(p, names) for p in step.body))
    else:
        renamed = _renamed(step, names)
    return Plan(plan.name, (), (), textures, (), (renamed,), ())


def _renamed(pass_: Pass, names: dict[str, str]) -> Pass:
    match pass_:
        case FragmentPass():
            bindings = tuple(replace(b, texture=names[b.texture]) for b in pass_.bindings)
            targets = tuple(names[target] for target in pass_.targets)
            return replace(pass_, bindings=bindings, targets=targets)
        case CopyPass():
            return replace(pass_, source=names[pass_.source], target=names[pass_.target])
        case ClearPass():
            return replace(pass_, target=names[pass_.target])
        case ComputePass():
            buffers = (b for b in pass_.buffers if b.texture in names)
            bound = tuple(BufferBinding(b.binding, names[b.texture]) for b in buffers)
            return replace(pass_, buffers=bound)
