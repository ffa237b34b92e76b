"""A plan as a diagram: a box for each of its passes, with what it reads and what it writes.

The diagram is SVG, in the order in which the passes run. A Repeat is one frame around its passes,
with the number of its iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass, numbered_steps, numbers_text
from gpgpu_legacy.plan.plan import Blend, FragmentPass, Pass, Plan, Repeat, read_by, written_by

BOXES_SHOWN = 24
"""The most passes that a diagram shows, as the plan writes them; a line counts the others."""

_WIDTH, _LEFT, _HEIGHT, _GAP, _INDENT = 680, 180, 44, 12, 14
_BOX = _WIDTH - 2 * _LEFT
_LINE, _CHARACTERS = 18, 22
_ARROW = 22


@dataclass(frozen=True, slots=True)
class _Box:
    numbers: str
    pass_: Pass
    y: int


def plan_svg(plan: Plan) -> str:
    """The diagram, as an SVG element for a page; all names are escaped."""
    boxes, frames, height = _placed(plan)
    left_out = sum(1 for _ in plan.weighted_passes()) - len(boxes)
    parts = [
        *_ends(plan, height),
        *(part for frame in frames for part in _frame(*frame)),
        *(part for box in boxes for part in _box(box)),
    ]
    if left_out:
        parts.append(_text(_WIDTH / 2, height - 1.5 * _LINE, f"… {left_out} more", "middle"))
    label = escape(f"The passes of {plan.name}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'style="max-width: 100%; height: auto" '
        'fill="none" stroke="currentColor" font-family="sans-serif" font-size="13">'
        f"{''.join(parts)}</svg>"
    )


def _placed(plan: Plan) -> tuple[list[_Box], list[tuple[int, int, int]], int]:
    """The boxes; the Repeats as their tops, bottoms and counts; and the height of all."""
    boxes: list[_Box] = []
    frames: list[tuple[int, int, int]] = []
    y = 3 * _LINE
    for numbers, step in numbered_steps(plan):
        if len(boxes) == BOXES_SHOWN:
            break
        body = step.body if isinstance(step, Repeat) else (step,)
        top = y
        y += 2 * _LINE if isinstance(step, Repeat) else 0
        for number, pass_ in list(zip(numbers, body, strict=True))[: BOXES_SHOWN - len(boxes)]:
            boxes.append(_Box(numbers_text((number,)), pass_, y))
            y += _HEIGHT + _GAP
        if isinstance(step, Repeat):
            frames.append((top, y - _GAP + _GAP // 2, step.count))
            y += _GAP
    return boxes, frames, y + 2 * _LINE


def _ends(plan: Plan, height: int) -> Iterator[str]:
    """The inputs at the top and the outputs at the bottom."""
    given = ", ".join(f"{m.name} {m.rows}×{m.columns}" for m in plan.operands)
    results = ", ".join(f"{m.name} {m.rows}×{m.columns}" for m in plan.results)
    yield _text(_WIDTH / 2, _LINE, plan.name, "middle", 70)
    yield _text(_WIDTH / 2, 2 * _LINE, f"in: {given or 'nothing'}", "middle", 70)
    yield _text(_WIDTH / 2, height - _LINE / 2, f"out: {results or 'nothing'}", "middle", 70)


def _frame(top: int, bottom: int, count: int) -> Iterator[str]:
    x, width = _LEFT - _INDENT, _BOX + 2 * _INDENT
    yield (
        f'<rect x="{x}" y="{top}" width="{width}" height="{bottom - top}" rx="6" '
        'stroke-dasharray="5 4"/>'
    )
    yield _text(_LEFT, top + 1.3 * _LINE, f"repeat {count} times", "start")


def _box(box: _Box) -> Iterator[str]:
    pass_ = box.pass_
    middle = box.y + _HEIGHT / 2
    yield f'<rect x="{_LEFT}" y="{box.y}" width="{_BOX}" height="{_HEIGHT}" rx="4"/>'
    what = f"{kind_of_pass(pass_)} {name_of_pass(pass_)}".rstrip()
    adds = isinstance(pass_, FragmentPass) and pass_.blend is Blend.ADD
    word = "pass" if box.numbers.isdecimal() else "passes"
    numbers = f"{word} {box.numbers}{', added to what is there' if adds else ''}"
    yield _text(_WIDTH / 2, box.y + _LINE, what, "middle", 44)
    yield _text(_WIDTH / 2, box.y + 2 * _LINE, numbers, "middle", 44, opacity=0.75)
    read, written = _listed(read_by(pass_)), _listed(written_by(pass_))
    right = _LEFT + _BOX
    edge = _LEFT - _INDENT
    if read:
        yield _arrow(edge - _ARROW, _LEFT, middle)
        yield _text(edge - _ARROW - 4, middle + 4, read, "end", _CHARACTERS)
    if written:
        yield _arrow(right, right + _INDENT + _ARROW, middle)
        yield _text(right + _INDENT + _ARROW + 4, middle + 4, written, "start", _CHARACTERS)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _arrow(start: float, end: float, y: float) -> str:
    return f'<path d="M {start} {y} H {end} m -6 -4 l 6 4 l -6 4"/>'


def _text(
    x: float, y: float, text: str, anchor: str, most: int = 60, *, opacity: float = 1.0
) -> str:
    """A line of text, cut to `most` characters, with the full text as its title."""
    shown = text if len(text) <= most else f"{text[: most - 1]}…"
    title = "" if shown == text else f"<title>{escape(text)}</title>"
    faded = "" if opacity == 1.0 else f' opacity="{opacity}"'
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor" '
        f'stroke="none"{faded}>{title}{escape(shown)}</text>'
    )
