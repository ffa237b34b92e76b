"""A plan as a diagram: a box for each of its passes, with what it reads and what it writes.

The diagram is SVG, in the order in which the passes run. A Repeat is one frame around its passes,
with the number of its iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    kind_of_pass,
    name_of_pass,
    numbered_steps,
    numbers_text,
    passes_of,
    read_by,
    written_by,
)

BOXES_SHOWN = 24
"""The most passes that a diagram shows, as the plan writes them; a line counts the others."""

_WIDTH, _LEFT, _HEIGHT, _GAP, _INDENT = 680, 180, 44, 12, 14
_BOX = _WIDTH - 2 * _LEFT
_LINE, _CHARACTERS = 18, 22
_ARROW = 22


def plan_svg(plan: Plan) -> str:
    """The diagram, as an SVG element for a page; all names are escaped."""
    frames: list[str] = []
    boxes: list[str] = []
    shown, y = 0, 3 * _LINE
    for numbers, step in numbered_steps(plan):
        if shown == BOXES_SHOWN:
            break
        top = y
        y += 2 * _LINE if isinstance(step, Repeat) else 0
        for number, pass_ in list(zip(numbers, passes_of(step), strict=True))[
            : BOXES_SHOWN - shown
        ]:
            boxes += _box(numbers_text((number,)), pass_, y)
            shown, y = shown + 1, y + _HEIGHT + _GAP
        if isinstance(step, Repeat):
            frames += _frame(top, y - _GAP + _GAP // 2, step.count)
            y += _GAP
    left_out, height = sum(1 for _ in plan.weighted_passes()) - shown, y + 2 * _LINE
    given, results = (
        ", ".join(f"{m.name} {m.rows}×{m.columns}" for m in matrices) or "nothing"
        for matrices in (plan.operands, plan.results)
    )
    parts = [
        _text(_WIDTH / 2, _LINE, plan.name, "middle", 70),
        _text(_WIDTH / 2, 2 * _LINE, f"in: {given}", "middle", 70),
        _text(_WIDTH / 2, height - _LINE / 2, f"out: {results}", "middle", 70),
        *(*frames, *boxes),
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


def _frame(top: int, bottom: int, count: int) -> Iterator[str]:
    x, width = _LEFT - _INDENT, _BOX + 2 * _INDENT
    yield (
        f'<rect x="{x}" y="{top}" width="{width}" height="{bottom - top}" rx="6" '
        'stroke-dasharray="5 4"/>'
    )
    yield _text(_LEFT, top + 1.3 * _LINE, f"repeat {count} times", "start")


def _box(numbers: str, pass_: Pass, y: int) -> Iterator[str]:
    middle, right, edge = y + _HEIGHT / 2, _LEFT + _BOX, _INDENT + _ARROW
    yield f'<rect x="{_LEFT}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="4"/>'
    what = f"{kind_of_pass(pass_)} {name_of_pass(pass_)}".rstrip()
    blend = pass_.blend if isinstance(pass_, FragmentPass) else None
    how = {None: "", ADD: ", added to what is there"}.get(blend, ", blended with what is there")
    word = "pass" if numbers.isdecimal() else "passes"
    text = f"{word} {numbers}{how}"
    yield _text(_WIDTH / 2, y + _LINE, what, "middle", 44)
    yield _text(_WIDTH / 2, y + 2 * _LINE, text, "middle", 44, opacity=0.75)
    read, written = (", ".join(dict.fromkeys(of(pass_))) for of in (read_by, written_by))
    if read:
        yield _arrow(_LEFT - edge, _LEFT, middle)
        yield _text(_LEFT - edge - 4, middle + 4, read, "end", _CHARACTERS)
    if written:
        yield _arrow(right, right + edge, middle)
        yield _text(right + edge + 4, middle + 4, written, "start", _CHARACTERS)


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
