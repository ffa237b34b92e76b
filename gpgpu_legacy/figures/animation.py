"""A plan's passes as an animation: a picture for each, texel by texel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gpgpu_legacy.figures.options import AnimationOptions
from gpgpu_legacy.figures.panel import Panel, ShownPanel
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.present.animation import animation_writer, check_size, enlarged, texel_picture
from gpgpu_legacy.present.colours import RGB, Colour

_LEAST_SIDE = 256  # pixels along the longer side of a picture whose scale is not given
_GROUND: Colour = (252, 252, 249)  # around what is smaller than the largest texture
_MARK: Colour = (179, 38, 30)
_GAP = 4  # pixels between channels
_LEAST_MARKED = 4  # pixels along a texel, so that a mark hides no texel


Caption = tuple[str, str, str]


def draw_animation(
    shown: Sequence[ShownPanel], captions: Sequence[Caption], path: Path, options: AnimationOptions
) -> None:
    """Write panels as an animation; see AnimationOptions. captions: three lines for each."""
    write = animation_writer(path, options.frame_ms, max(options.frame_ms, options.last_ms))
    write(_pictures(shown, captions, options))


def _pictures(
    shown: Sequence[ShownPanel], captions: Sequence[Caption], options: AnimationOptions
) -> Iterator[RGB]:
    from gpgpu_legacy.present.captions import captioned, needs_bar, width_of

    bars = [one.scale if one.channels else None for one in shown]
    has_bar = any(map(needs_bar, bars))
    widest = width_of(line for lines in captions for line in lines)
    sizes = [_size(one.panel) for one in shown]
    side = options.scale or -(-_LEAST_SIDE // max(map(max, sizes)))
    layouts = [max(len(one.channels), 1) for one in shown]
    columns, rows = min(max(layouts), 2), -(-max(layouts) // 2)
    width, height = (
        side * max(size[axis] for size in sizes) * count + (count - 1) * _GAP
        for axis, count in enumerate((columns, rows))
    )
    check_size(width, height, len(shown))
    for one, caption, bar in zip(shown, captions, bars, strict=True):
        picture = _picture(one, (height, width), marked=options.captions)
        if options.captions:
            picture = captioned(picture, caption, bar, has_bar=has_bar, least_width=widest)
        yield picture


def _picture(shown: ShownPanel, size: tuple[int, int], *, marked: bool) -> RGB:
    """A texture in the middle of a picture of that height and width, as large as possible.

    Several channels are beside and below one another: r and g above b and a.
    """
    panel, channels, _, scale = shown
    thin = panel.texels.repeat(panel.stretch[1], axis=0).repeat(panel.stretch[0], axis=1)
    pictures = [scale.colours(thin[::-1, :, c]) for c in channels] or [texel_picture(thin)]
    columns, rows = min(len(pictures), 2), -(-len(pictures) // 2)
    (height, width), (across, up) = size, _size(panel)
    side = min(
        (width - (columns - 1) * _GAP) // (columns * across),
        (height - (rows - 1) * _GAP) // (rows * up),
    )
    picture = np.full((height, width, 3), _GROUND, np.uint8)
    left = (width - columns * across * side - (columns - 1) * _GAP) // 2
    top = (height - rows * up * side - (rows - 1) * _GAP) // 2
    for number, texels in enumerate(pictures):
        row, column = divmod(number, columns)
        x, y = left + column * (across * side + _GAP), top + row * (up * side + _GAP)
        part = enlarged(texels, side)
        if marked and panel.rect is not None and side >= _LEAST_MARKED:
            _mark(part, panel.rect, [side * times for times in panel.stretch])
        picture[y : y + up * side, x : x + across * side] = part
    return picture


def _size(panel: Panel) -> tuple[int, int]:
    """Columns and rows of a panel, with the repeated ones of a very long texture."""
    (across, up), (wide, high) = panel.size, panel.stretch
    return across * wide, up * high


def _mark(picture: RGB, rect: Rect, texel: Sequence[int]) -> None:
    """A line along the inner edge of a rectangle of texels; row 0 is at the bottom."""
    (wide, high), height = texel, picture.shape[0]
    left, right = rect.x * wide, (rect.x + rect.width) * wide
    top, bottom = height - (rect.y + rect.height) * high, height - rect.y * high
    picture[top : top + 1, left:right] = picture[bottom - 1 : bottom, left:right] = _MARK
    picture[top:bottom, left : left + 1] = picture[top:bottom, right - 1 : right] = _MARK
