"""How passes are named to people: what a pass does, in a word, its program, and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePath

from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
)

_KINDS = {
    FragmentPass: "draw",
    CopyPass: "copy",
    ClearPass: "clear",
    ComputePass: "dispatch",
}


def kind_of_pass(pass_: Pass) -> str:
    """What a pass does, in a word: draw, copy, clear or dispatch."""
    return _KINDS[type(pass_)]


def name_of_pass(pass_: Pass) -> str:
    """The file name of the pass's program or kernel; empty for copies and clears."""
    match pass_:
        case FragmentPass():
            return PurePath(pass_.program.name).name
        case ComputePass():
            return PurePath(pass_.kernel.name).name
    return ""


def numbered_steps(plan: Plan) -> Iterator[tuple[tuple[range, ...], Step]]:
    """Each step that runs a pass, with its passes' numbers among all that run, from 1.

    A Repeat runs each of its passes at every len(body)-th number.
    """
    number = 1
    for step in plan.steps:
        body, count = passes_of(step), step.count if isinstance(step, Repeat) else 1
        end = number + count * len(body)
        if number < end:
            firsts = range(number, number + len(body))
            yield tuple(range(first, end, len(body)) for first in firsts), step
        number = end


def numbered_passes(plan: Plan) -> Iterator[tuple[range, Pass]]:
    """Each pass that runs, as the plan writes it, with its numbers."""
    for numbers, step in numbered_steps(plan):
        yield from zip(numbers, passes_of(step), strict=True)


def passes_of(step: Step) -> tuple[Pass, ...]:
    """The passes of a step, as the plan writes them."""
    return step.body if isinstance(step, Repeat) else (step,)


_MOST_SHOWN = 4
_MOST_IN_ORDER = 10_000


def numbers_text(numbers: Iterable[range]) -> str:
    """Numbers of passes in words: `1`, `2–9`, `1, 3, 5, … 99`."""
    in_order = tuple(numbers)
    if sum(map(len, in_order)) <= _MOST_IN_ORDER:  # one by one, so that several can run together
        in_order = tuple(range(n, n + 1) for n in sorted({*chain(*in_order)}))
    parts: list[range] = []
    for one in in_order:
        step = one[0] - parts[-1][-1] if parts else 0
        goes_on = step > 0 and all(len(p) == 1 or p.step == step for p in (parts[-1], one))
        parts.append(range(parts.pop()[0], one[-1] + 1, step) if goes_on else one)
    shown = list(map(_part_text, parts[:_MOST_SHOWN]))
    if len(parts) > _MOST_SHOWN:
        shown.append(f"… {parts[-1][-1]}")
    return ", ".join(shown)


def _part_text(numbers: range) -> str:
    if len(numbers) > 1 and numbers.step == 1:
        return f"{numbers[0]}–{numbers[-1]}"
    rest = [f"… {numbers[-1]}"] if len(numbers) > 3 else []
    return ", ".join([*map(str, numbers[:3]), *rest])
