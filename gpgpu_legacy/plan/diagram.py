"""A plan as a diagram: a box for each of its passes, with the textures that it reads and writes.

The diagram is SVG, in the order in which the passes run. A Repeat is one frame around its passes,
with the number of its iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import NamedTuple

from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.numbers import numbers_text
from gpgpu_legacy.plan.textures import Matrix

BOXES_SHOWN = 24
"""The most passes that a diagram shows, as the plan writes them; a line counts the others."""

_WIDTH, _LEFT, _HEIGHT, _GAP, _INDENT = 680, 180, 44, 12, 14
_BOX = _WIDTH - 2 * _LEFT
_LINE, _CHARACTERS = 18, 22
_ARROW = 22


class Box(NamedTuple):
    """A pass: its numbers, its kind and file name, and the names of textures."""

    numbers: range
    what: str
    blend: Blend | None
    read: tuple[str, ...]
    written: tuple[str, ...]


def plan_svg(
    name: str,
    operands: Iterable[Matrix],
    results: Iterable[Matrix],
    steps: Iterable[tuple[int | None, Iterable[Box]]],
    count: int,
) -> str:
    """The diagram, as an SVG element for a page; all names are escaped.

    steps: the iterations of each step, None if it is no Repeat, and its passes. count: of passes.
    """
    frames: list[str] = []
    boxes: list[str] = []
    shown, y = 0, 3 * _LINE
    for iterations, passes in steps:
        if shown == BOXES_SHOWN:
            break
        top = y
        y += 0 if iterations is None else 2 * _LINE
        for box in islice(passes, BOXES_SHOWN - shown):
            boxes += _box(box, y)
            shown, y = shown + 1, y + _HEIGHT + _GAP
        if iterations is not None:
            frames += _frame(top, y - _GAP + _GAP // 2, iterations)
            y += _GAP
    left_out, height = count - shown, y + 2 * _LINE
    given, computed = (
        ", ".join(f"{m.name} {m.rows}×{m.columns}" for m in matrices) or "nothing"
        for matrices in (operands, results)
    )
    parts = [
        _text(_WIDTH / 2, _LINE, name, "middle", 70),
        _text(_WIDTH / 2, 2 * _LINE, f"in: {given}", "middle", 70),
        _text(_WIDTH / 2, height - _LINE / 2, f"out: {computed}", "middle", 70),
        *(*frames, *boxes),
    ]
    if left_out:
        parts.append(_text(_WIDTH / 2, height - 1.5 * _LINE, f"… {left_out} more", "middle"))
    label = escape(f"The passes of {name}", quote=True)
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


def _box(box: Box, y: int) -> Iterator[str]:
    middle, right, edge = y + _HEIGHT / 2, _LEFT + _BOX, _INDENT + _ARROW
    yield f'<rect x="{_LEFT}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="4"/>'
    how = {None: "", ADD: ", added to what is there"}.get(box.blend, ", blended with what is there")
    numbers = numbers_text((box.numbers,))
    word = "pass" if numbers.isdecimal() else "passes"
    text = f"{word} {numbers}{how}"
    yield _text(_WIDTH / 2, y + _LINE, box.what, "middle", 44)
    yield _text(_WIDTH / 2, y + 2 * _LINE, text, "middle", 44, opacity=0.75)
    read, written = (", ".join(dict.fromkeys(names)) for names in (box.read, box.written))
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
