"""The verb `figure`: a plan's passes as pictures, side by side or one after another.

It runs the plan, and keeps the output of its passes. The sheet and the animation show the same
numbers in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path, PurePath
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.figures.options import (
    LEAST_PASSES,
    AnimationOptions,
    FigureOptions,
    TexelsShown,
)
from gpgpu_legacy.api.figures.sheet_plot import Panel, ShownPanel, sheet
from gpgpu_legacy.api.run import How, Request
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError, counted
from gpgpu_legacy.files import Write, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Pass, Plan, kind_of_pass, name_of_pass, read_by, written_by
from gpgpu_legacy.plan.textures import Numeric, Rect, Texture, full_rect
from gpgpu_legacy.present.animation import animation_writer, check_size, enlarged, texel_picture
from gpgpu_legacy.present.colours import RGB, Colour, ScaleKind, scale_for
from gpgpu_legacy.present.plot import check_figure, figure_of
from gpgpu_legacy.runtime.observed import (
    chosen_textures,
    exchanged,
    initial_storage,
    places,
    rect_of,
)

_LEAST_SIDE = 256  # pixels along the longer side of a picture whose scale is not given
_GROUND: Colour = (252, 252, 249)  # around textures smaller than the largest
_MARK: Colour = (179, 38, 30)
_GAP = 4  # pixels between channels
_LEAST_MARKED = 4  # pixels along a texel, so that a mark hides no texel


Caption = tuple[str, str, str]


def _pictures(
    shown: Sequence[ShownPanel], captions: Sequence[Caption], options: AnimationOptions
) -> Iterator[RGB]:
    """The pictures of an animation; see AnimationOptions. captions: three lines for each."""
    from gpgpu_legacy.present.pixel_text import captioned, width_of

    bars = [
        # A scale of two numbers needs no bar.
        one.scale if one.channels and one.scale.kind is not ScaleKind.TWO else None
        for one in shown
    ]
    widest = width_of(line for lines in captions for line in lines)
    sizes = [one.panel.stretched for one in shown]
    side = options.scale or -(-_LEAST_SIDE // max(map(max, sizes)))
    layouts = zip(*(one.layout for one in shown), strict=True)
    width, height = (
        side * max(lengths) * count + (count - 1) * _GAP
        for lengths, count in zip(zip(*sizes, strict=True), map(max, layouts), strict=True)
    )
    check_size(width, height, len(shown))
    for one, caption, bar in zip(shown, captions, bars, strict=True):
        picture = _picture(one, (height, width), marked=options.captions)
        if options.captions:
            picture = captioned(picture, caption, bar, has_bar=any(bars), least_width=widest)
        yield picture


def _picture(shown: ShownPanel, size: tuple[int, int], *, marked: bool) -> RGB:
    """A texture as large as possible, centred in a picture of this height and width."""
    panel, channels, _, scale = shown
    thin = panel.texels.repeat(panel.stretch[1], axis=0).repeat(panel.stretch[0], axis=1)
    pictures = [scale.colours(thin[::-1, :, c]) for c in channels] or [texel_picture(thin)]
    (columns, rows), (height, width), (across, up) = shown.layout, size, panel.stretched
    side = min(
        (width - (columns - 1) * _GAP) // (columns * across),
        (height - (rows - 1) * _GAP) // (rows * up),
    )
    picture = np.full((height, width, 3), _GROUND, np.uint8)
    wide, high = across * side, up * side
    left = (width - columns * wide - (columns - 1) * _GAP) // 2
    top = (height - rows * high - (rows - 1) * _GAP) // 2
    for number, texels in enumerate(pictures):
        row, column = divmod(number, columns)
        x, y = left + column * (wide + _GAP), top + row * (high + _GAP)
        part = enlarged(texels, side)
        if marked and panel.rect is not None and side >= _LEAST_MARKED:
            _mark(part, panel.rect, [side * times for times in panel.stretch])
        picture[y : y + high, x : x + wide] = part
    return picture


def _mark(picture: RGB, rect: Rect, texel: Sequence[int]) -> None:
    """Draw a line along the inner edge of a rectangle of texels; row 0 is at the bottom."""
    (wide, high), height = texel, picture.shape[0]
    left, right = rect.x * wide, (rect.x + rect.width) * wide
    top, bottom = height - (rect.y + rect.height) * high, height - rect.y * high
    picture[top : top + 1, left:right] = picture[bottom - 1 : bottom, left:right] = _MARK
    picture[top:bottom, left : left + 1] = picture[top:bottom, right - 1 : right] = _MARK


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """The output of a plan's passes, for a sheet or an animation.

    passes: how many the plan has. inputs: the textures with inputs that these passes read.
    panels: the output of the passes, in order. on_sheet: the numbers of the passes that a sheet
    shows. turns: for each texture that passes write, itself and those with which it alternates.
    """

    plan: str
    executor: str
    passes: int
    options: FigureOptions
    inputs: tuple[Panel, ...]
    panels: tuple[Panel, ...]
    on_sheet: frozenset[int]
    turns: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        passes = counted(self.passes, "pass", "passes")
        return f"<Figure of {self.plan}: {len(self.on_sheet)} of {passes}, run by {self.executor}>"

    def _repr_png_(self) -> bytes:
        """The sheet, for a notebook."""
        buffer = BytesIO()
        self._sheet(".png")(buffer)
        return buffer.getvalue()

    @public
    def plot(self, path: Path | str) -> None:
        """Write the sheet.

        path: a .png, .svg or .pdf. Raises InputError for another, or one that cannot be written.
        """
        check_figure(path)
        path = Path(path)
        write_whole(path, self._sheet(path.suffix.lower()))

    def _sheet(self, suffix: str) -> Write:
        shown = len(self.on_sheet)
        passes = counted(self.passes, "pass", "passes")
        passes += f", {shown} of them shown" if shown < self.passes else ""
        words = passes, f"run by {self.executor}"
        return figure_of(sheet(self.shown(self.sheet), self.plan, words), suffix)

    @public
    def animate(self, path: Path | str, options: AnimationOptions | None = None) -> None:
        """Write the passes one after another, as a .gif, or as an APNG in .png or .apng.

        path: the file. options: AnimationOptions. Raises InputError for another suffix, a file that
        cannot be written, and too many pixels.
        """
        how = options or AnimationOptions()
        write = animation_writer(Path(path), how.frame_ms, max(how.frame_ms, how.last_ms))
        film = self.film
        write(_pictures(self.shown(film), [*map(self._caption, film)], how))

    def _caption(self, panel: Panel) -> Caption:
        place, plan = panel.place, f"{self.plan}, row 0 at the bottom"
        if place is None:
            return f"input {panel.what}", panel.texture.name, plan
        iteration = f", iteration {place.iteration} of {place.iterations}" if place.is_mixed else ""
        what = f"{panel.what} → {panel.texture.name}{iteration}"
        return f"pass {place.number} of {self.passes}", what, plan

    @property
    def sheet(self) -> tuple[Panel, ...]:
        """The panels of a sheet: inputs, and the output of the chosen passes."""
        return (*self.inputs, *(p for p in self.panels if p.number in self.on_sheet))

    @property
    def film(self) -> tuple[Panel, ...]:
        """The panels of an animation: the first texture that each pass wrote.

        Inputs in textures that alternate with these come first. If several panels have the size and
        format of the last, and no textures are named, only these panels are shown.
        """
        after = list({panel.number: panel for panel in reversed(self.panels)}.values())[::-1]
        firsts = {name for panel in after for name in self.turns[panel.texture.name]}
        before = [panel for panel in self.inputs if panel.texture.name in firsts]
        alike = [p for p in (*before, *after) if p.kind == after[-1].kind]
        return tuple(alike if len(alike) > 1 and not self.options.textures else (*before, *after))

    @public
    def channels(self, texture: Texture) -> tuple[int, ...]:
        """The channels of a texture that are shown; none if it is shown as a picture.

        texture: one of the plan's.
        """
        count = texture.format.channels
        if count == 1:
            return (0,)
        shown = self.options.shown
        is_fixed = texture.format.numeric is Numeric.UNORM
        if shown is TexelsShown.PICTURE or (shown is TexelsShown.AUTO and is_fixed):
            return ()
        if shown is TexelsShown.CHANNELS:
            return tuple(range(count))
        return self._varying[self.turns.get(texture.name, (texture.name,))]

    @cached_property
    def _varying(self) -> Mapping[tuple[str, ...], tuple[int, ...]]:
        """For each group of textures that alternate, the channels in which texels differ."""
        texels: dict[tuple[str, ...], list[F32]] = {}
        for panel in (*self.inputs, *self.panels):
            if panel.texture.format.channels > 1:
                name = panel.texture.name
                texels.setdefault(self.turns.get(name, (name,)), []).append(panel.texels)
        return {names: _varying_channels(arrays) for names, arrays in texels.items()}

    def shown(self, panels: Sequence[Panel]) -> list[ShownPanel]:
        """The panels with their channels and scales, as they are shown together.

        panels: of the figure. Written textures that alternate share a scale; inputs have their own.
        """
        written = {panel.texture.name for panel in self.panels}
        parts = [(p, self.channels(p.texture), self._scale_name(p, written)) for p in panels]
        values: dict[str, list[F32]] = {key: [] for *_, key in parts}
        for panel, channels, key in parts:
            values[key] += [panel.texels[..., c] for c in channels]
        scales = {key: scale_for(arrays, self.options.limits) for key, arrays in values.items()}
        return [ShownPanel(*part, scales[part[-1]]) for part in parts]

    def _scale_name(self, panel: Panel, written: Collection[str]) -> str:
        if panel.texture.name not in written:
            return f"input {panel.what}"
        group = [name for name in self.turns[panel.texture.name] if name in written]
        return "value of a texel" if len(group) == len(written) else ", ".join(group)


def _varying_channels(arrays: Sequence[F32]) -> tuple[int, ...]:
    """The channels in which any two texels differ; r where none do."""
    first = arrays[0][0, 0]
    same = [(texels == first) | (np.isnan(texels) & np.isnan(first)) for texels in arrays]
    varies = ~np.all([one.all(axis=(0, 1)) for one in same], axis=0)
    return tuple(np.flatnonzero(varies).tolist()) or (0,)


# The verb ---------------------------------------------------------------------------------------

MOST_BYTES = 256 << 20
"""The most bytes of texels that a figure keeps; it shows fewer passes if they have more."""


def figure(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: FigureOptions | None = None,
    **how: Unpack[How],
) -> Figure:
    """Run a plan, and keep the output of its passes for pictures.

    inputs, how: as for `run`. A figure keeps at most MOST_BYTES of texels, and therefore fewer
    passes of large textures.

    Raises InputError for a texture that no pass writes, for an unknown `after`, if no pass writes a
    texture, and if two passes are too large to keep.
    """
    options = options or FigureOptions()
    request = Request.of(p, inputs, **how).settled()
    plan, names = request.plan, chosen_textures(request.plan, options.textures)
    largest, targets = 0, 0
    looked_up: set[str] = set()
    for pass_ in plan.as_written:
        written = [plan.texture(name) for name in written_by(pass_) if name in names]
        texels = (t.extent.width * t.extent.rows * t.format.channels for t in written)
        largest = max(largest, 4 * sum(texels))  # as float32
        targets = max(targets, len(written))
        looked_up |= set(read_by(pass_)) if written else set()
    if largest * LEAST_PASSES > MOST_BYTES:
        raise InputError(
            f"a pass of plan {plan.name} writes {largest >> 20} MiB, and a figure keeps "
            f"{MOST_BYTES >> 20} MiB of several passes; show a smaller size"
        )
    filled = looked_up.intersection(input_.texture for input_ in plan.inputs)
    starts = tuple(_input_panel(request, t) for t in plan.textures if t.name in filled)
    numbers = _shown(plan, names, options.after)
    on_sheet, film = (
        {numbers[n] for n in chosen(len(numbers), min(count, MOST_BYTES // largest))}
        for count in (
            max((options.panels - len(starts)) // targets, LEAST_PASSES),
            options.frames,
        )
    )
    panels, walk = list[Panel](), places(plan)

    def keep(_number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        place, _ = next(walk)
        if place.number not in on_sheet | film:
            return
        for name in filter(names.__contains__, written_by(pass_)):
            texture, rect = plan.texture(name), rect_of(pass_)
            part = None if rect == full_rect(texture) else rect
            panels.append(Panel(place, _what(pass_), texture, part, read(name)))

    by, _ = request.run(observer=keep)
    return Figure(
        plan=plan.name,
        executor=by.name,
        passes=plan.pass_count,
        options=options,
        inputs=starts,
        panels=tuple(panels),
        on_sheet=frozenset(on_sheet),
        turns=exchanged(plan),
    )


def _what(pass_: Pass) -> str:
    return name_of_pass(pass_) or kind_of_pass(pass_)


def _shown(plan: Plan, names: Collection[str], after: str) -> list[int]:
    """The numbers of the passes that write one of the textures and may be shown."""
    passes = [(p, _what(pass_)) for p, pass_ in places(plan) if {*names} & {*written_by(pass_)}]
    called = {what for _, what in passes}
    is_any = after in ("pass", "iteration")
    wanted = (called - {"clear"} or called) if is_any else {after}
    shown = [place for place, what in passes if {what, PurePath(what).stem} & wanted]
    if not shown:
        known = ", ".join(("pass", "iteration", *sorted(called)))
        raise InputError(f"no pass of plan {plan.name} is called {after!r}; choose from {known}")
    if after == "iteration":
        return [*{place.first: place.number for place in shown}.values()]
    return [place.number for place in shown]


def _input_panel(request: Request, texture: Texture) -> Panel:
    """A texture with its inputs, before the first pass."""
    names = dict.fromkeys(i.matrix for i in request.plan.inputs if i.texture == texture.name)
    texels = initial_storage(request.plan, request.operands, texture.name).texels()
    return Panel(None, ", ".join(names), texture, None, texels)


def chosen(count: int, most: int) -> list[int]:
    """At most `most` of the numbers from 0 to count - 1: the first, the last, and some between."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
