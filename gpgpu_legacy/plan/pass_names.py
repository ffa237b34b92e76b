"""How passes are named to people: what a pass does, in a word, its program, and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class PassNumbers:
    """The numbers of a pass among all passes that run, from 1: a Repeat runs it every `step`
    passes.

    A pass outside of Repeats has a count of 1.
    """

    first: int
    step: int = 1
    count: int = 1

    @property
    def last(self) -> int:
        """The largest of the numbers."""
        return self.first + self.step * (self.count - 1)

    @property
    def numbers(self) -> range:
        """All of them."""
        return range(self.first, self.last + 1, self.step)


def numbered_steps(plan: Plan) -> Iterator[tuple[tuple[PassNumbers, ...], Step]]:
    """Each step that runs a pass, with the numbers of its passes, in their order."""
    number = 1
    for step in plan.steps:
        body, count = (step.body, step.count) if isinstance(step, Repeat) else ((step,), 1)
        if body and count:
            yield tuple(PassNumbers(number + n, len(body), count) for n in range(len(body))), step
            number += count * len(body)


def numbered_passes(plan: Plan) -> Iterator[tuple[PassNumbers, Pass]]:
    """Each pass that runs, as the plan writes it, with its numbers."""
    for numbers, step in numbered_steps(plan):
        yield from zip(numbers, passes_of(step), strict=True)


def passes_of(step: Step) -> tuple[Pass, ...]:
    """The passes of a step, as the plan writes them."""
    return step.body if isinstance(step, Repeat) else (step,)


_MOST_SHOWN = 4
_MOST_IN_ORDER = 10_000


def numbers_text(numbers: Iterable[PassNumbers]) -> str:
    """Numbers of passes in words: `1`, `2–9`, `1, 3, 5, … 99`."""
    parts: list[PassNumbers] = []
    for one in _one_by_one(tuple(numbers)):
        merged = _merged(parts[-1], one) if parts else None
        if merged is not None:
            parts.pop()
        parts.append(one if merged is None else merged)
    shown = list(map(_part_text, parts[:_MOST_SHOWN]))
    if len(parts) > _MOST_SHOWN:
        shown.append(f"… {parts[-1].last}")
    return ", ".join(shown)


def _one_by_one(numbers: tuple[PassNumbers, ...]) -> Iterable[PassNumbers]:
    """The numbers in order, one by one, so that those of several passes can be merged."""
    if sum(one.count for one in numbers) > _MOST_IN_ORDER:
        return numbers
    return map(PassNumbers, sorted({n for one in numbers for n in one.numbers}))


def _merged(a: PassNumbers, b: PassNumbers) -> PassNumbers | None:
    """Both as one, if b continues a in the same steps."""
    step = b.first - a.last
    if any(part.count > 1 and part.step != step for part in (a, b)):
        return None
    return PassNumbers(a.first, step, a.count + b.count)


def _part_text(numbers: PassNumbers) -> str:
    if numbers.count > 1 and numbers.step == 1:
        return f"{numbers.first}–{numbers.last}"
    few = [numbers.first + numbers.step * n for n in range(min(numbers.count, 3))]
    rest = ["… " + str(numbers.last)] if numbers.count > len(few) else []
    return ", ".join([*map(str, few), *rest])
