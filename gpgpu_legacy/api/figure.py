"""A plan's passes as pictures: the textures that they write, kept from an observed run.

The sheet (figure_plot.py) shows some passes side by side, the animation (animation.py) one after
another. Both show the same numbers in the same colours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.figure_options import (
    LEAST_PASSES,
    AnimationOptions,
    FigureOptions,
    Sharing,
    Shown,
)
from gpgpu_legacy.api.passes import (
    PassPlace,
    chosen_textures,
    exchanged,
    initial_storage,
    places,
    rect_of,
    texels_of,
)
from gpgpu_legacy.api.run import execute
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import slices
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import operands_of
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass
from gpgpu_legacy.plan.plan import Pass, Plan, read_by, written_by
from gpgpu_legacy.plan.textures import Extent, Rect, Texture
from gpgpu_legacy.present.colours import ColourScale, scale_for
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine
from gpgpu_legacy.runtime.registry import AUTO

MOST_BYTES = 256 << 20
"""The most bytes of texels that a figure keeps; of more, it shows fewer passes."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A texture after a pass, or with an input before the first one.

    place: of the pass; None for an input. what: the file name of the program or kernel, or `copy`
    or `clear`; for an input, its name. rect: what was drawn or copied, where that is a part of the
    texels. texels: (rows, W, channels) float32, row 0 first, of the texture or of a part of it.
    """

    place: PassPlace | None
    what: str
    texture: Texture
    rect: Rect | None
    texels: F32

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the texels."""
        rows, columns, _ = self.texels.shape
        return columns, rows

    @property
    def number(self) -> int:
        """The number of its pass; 0 for an input."""
        return self.place.number if self.place else 0

    @property
    def kind(self) -> tuple[Extent, Format]:
        """What textures that are alike have in common: size and format."""
        return self.texture.extent, self.texture.format


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """What the passes of a plan wrote, to be drawn as a sheet or as an animation.

    passes: how many the plan has. inputs: the textures with inputs that these passes read. panels:
    what the passes wrote, in order. on_sheet: the numbers of the passes that a sheet shows. turns:
    for each texture that passes write, those with which it takes turns, itself among them.
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
        shown = len(self.on_sheet)
        return f"<Figure of {self.plan}: {shown} of {self.passes} passes, run by {self.executor}>"

    def plot(self, path: Path | str) -> None:
        """Write the sheet as a .png, .svg or .pdf; InputError where that cannot be done."""
        from gpgpu_legacy.api.figure_plot import draw_sheet

        draw_sheet(self, Path(path))

    def animate(self, path: Path | str, options: AnimationOptions | None = None) -> None:
        """Write the passes one after another, as a .gif, or as an APNG in .png or .apng.

        Raises InputError where that cannot be done.
        """
        from gpgpu_legacy.api.animation import draw_animation

        draw_animation(self, Path(path), (options or AnimationOptions()).checked())

    @property
    def sheet(self) -> tuple[Panel, ...]:
        """The panels of a sheet: inputs, and all that the chosen passes wrote."""
        return (*self.inputs, *(p for p in self.panels if p.number in self.on_sheet))

    @property
    def film(self) -> tuple[Panel, ...]:
        """The panels of an animation: of each pass, the first texture that it wrote.

        It begins with inputs in textures that take turns with those. Where several passes write
        textures of the size and format that the last one has, and none is asked for by name, it
        shows those.
        """
        after = list({panel.number: panel for panel in reversed(self.panels)}.values())[::-1]
        firsts = {name for panel in after for name in self.turns[panel.texture.name]}
        before = [panel for panel in self.inputs if panel.texture.name in firsts]
        alike = [p for p in (*before, *after) if p.kind == after[-1].kind]
        return tuple(alike if len(alike) > 1 and not self.options.textures else (*before, *after))

    def channels(self, texture: Texture) -> tuple[int, ...]:
        """The channels of a texture that are shown; none where it is shown as a picture."""
        count = texture.format.channels
        if count == 1:
            return (0,)
        shown = self.options.shown
        is_fixed = texture.format.numeric is Numeric.UNORM
        if shown is Shown.PICTURE or (shown is Shown.AUTO and is_fixed):
            return ()
        if shown is Shown.CHANNELS:
            return tuple(range(count))
        return self._varying[self.turns.get(texture.name, (texture.name,))]

    @cached_property
    def _varying(self) -> Mapping[tuple[str, ...], tuple[int, ...]]:
        """Of textures of several channels that take turns, the channels in which texels differ."""
        texels: dict[tuple[str, ...], list[F32]] = {}
        for panel in (*self.inputs, *self.panels):
            if panel.texture.format.channels > 1:
                name = panel.texture.name
                texels.setdefault(self.turns.get(name, (name,)), []).append(panel.texels)
        return {names: _varying_channels(arrays) for names, arrays in texels.items()}

    @property
    def shares_scales(self) -> bool:
        """Whether panels may have one value scale."""
        return self.options.sharing is not Sharing.PANEL

    def scales(self, panels: Sequence[Panel]) -> list[tuple[str, ColourScale]]:
        """The value scale of each of some panels that are shown together, and a name for it.

        Textures that passes write may share a scale; those of inputs alone have their own.
        """
        written = {panel.texture.name for panel in self.panels}
        keys = [self._scale_name(p, n, written) for n, p in enumerate(panels)]
        values: dict[str, list[F32]] = {key: [] for key in keys}
        for key, panel in zip(keys, panels, strict=True):
            values[key] += [panel.texels[..., c] for c in self.channels(panel.texture)]
        scales = {key: scale_for(arrays, self.options.limits) for key, arrays in values.items()}
        return [(key, scales[key]) for key in keys]

    def _scale_name(self, panel: Panel, number: int, written: Collection[str]) -> str:
        if not self.shares_scales:
            return f"panel {number + 1}"
        if panel.texture.name not in written:
            return f"input {panel.what}"
        if self.options.sharing is Sharing.TEXTURE:
            return panel.texture.name
        group = [name for name in self.turns[panel.texture.name] if name in written]
        if self.options.sharing is Sharing.SHEET or len(group) == len(written):
            return "value of a texel"
        return ", ".join(group)


def _varying_channels(arrays: Sequence[F32]) -> tuple[int, ...]:
    """The channels in which any two texels differ; r where none do."""
    first = arrays[0][0, 0]
    varying = (
        channel
        for channel, value in enumerate(first)
        if not all(_is_everywhere(texels[..., channel], value) for texels in arrays)
    )
    return tuple(varying) or (0,)


def _is_everywhere(values: F32, value: float) -> bool:
    return np.array_equal(values, np.broadcast_to(value, values.shape), equal_nan=True)


# The function ----------------------------------------------------------------------------------


def figure(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: FigureOptions | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    seed: int = 0,
) -> Figure:
    """Run a plan, and keep what its passes write, for pictures.

    inputs, executor, machine, seed: as for `run`. A figure keeps MOST_BYTES of texels, and
    therefore fewer passes of large textures.

    Raises InputError for a texture that no pass writes, and where no pass writes any.
    """
    how, plan = (options or FigureOptions()).checked(), p.plan()
    given = operands_of(p, plan, inputs, seed)
    watcher = _Watcher(plan, how)
    by, _ = execute(plan, given, executor, machine or DEFAULT_MACHINE, observer=watcher)
    return Figure(
        plan=plan.name,
        executor=by.name,
        passes=plan.pass_count,
        options=how,
        inputs=tuple(_input_panel(plan, given, texture) for texture in watcher.inputs),
        panels=tuple(_cropped(watcher.panels)),
        on_sheet=frozenset(watcher.on_sheet),
        turns=exchanged(plan),
    )


class _Watcher:
    """An observer that keeps what the chosen passes write.

    inputs: the textures with inputs that passes read. panels, on_sheet: see Figure.
    """

    def __init__(self, plan: Plan, options: FigureOptions) -> None:
        names = chosen_textures(plan, options.textures)
        self._plan, self._names, self._places = plan, names, places(plan)
        writing, largest, targets = 0, 0, 0
        read: set[str] = set()
        for count, pass_ in plan.weighted_passes():
            written = [plan.texture(name) for name in written_by(pass_) if name in names]
            writing += count * bool(written)
            texels = (t.extent.width * t.extent.rows * t.format.channels for t in written)
            largest = max(largest, 4 * sum(texels))  # as float32
            targets = max(targets, len(written))
            read |= set(read_by(pass_)) if written else set()
        if largest * LEAST_PASSES > MOST_BYTES:
            raise InputError(
                f"a pass of plan {plan.name} writes {largest >> 20} MiB, and a figure keeps "
                f"{MOST_BYTES >> 20} MiB of several passes; show a smaller size"
            )
        filled = read.intersection(input_.texture for input_ in plan.inputs)
        self.inputs = tuple(texture for texture in plan.textures if texture.name in filled)
        on_sheet = max((options.panels - len(self.inputs)) // targets, LEAST_PASSES)
        most = MOST_BYTES // largest
        self._sheet, self._film = (
            frozenset(chosen(writing, min(count, most))) for count in (on_sheet, options.frames)
        )
        self._seen = 0
        self.on_sheet: set[int] = set()
        self.panels: list[Panel] = []

    def __call__(self, number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        """Keep what a pass wrote; see Observer."""
        place, _ = next(self._places)
        names = [name for name in written_by(pass_) if name in self._names]
        if not names:
            return
        ordinal, self._seen = self._seen, self._seen + 1
        if ordinal not in self._sheet | self._film:
            return
        if ordinal in self._sheet:
            self.on_sheet.add(place.number)
        for name in names:
            texture, rect = self._plan.texture(name), rect_of(pass_)
            what = name_of_pass(pass_) or kind_of_pass(pass_)
            if rect == Rect(0, 0, texture.extent.width, texture.extent.rows):
                rect = None
            self.panels.append(Panel(place, what, texture, rect, read(name)))


def _cropped(panels: Sequence[Panel]) -> Iterator[Panel]:
    """The panels: where parts of textures that are alike differ in size, they alone are shown."""
    sizes: dict[tuple[object, ...], set[tuple[int, int]]] = {}
    for panel in panels:
        rect = panel.rect
        size = (rect.width, rect.height) if rect else panel.size
        sizes.setdefault(panel.kind, set()).add(size)
    for panel in panels:
        if panel.rect is None or len(sizes[panel.kind]) == 1:
            yield panel
        else:
            yield replace(panel, rect=None, texels=panel.texels[slices(panel.rect)])


def _input_panel(plan: Plan, operands: Mapping[str, F32], texture: Texture) -> Panel:
    """A texture with its inputs, before the first pass."""
    names = dict.fromkeys(i.matrix for i in plan.inputs if i.texture == texture.name)
    texels = texels_of(initial_storage(plan, operands, texture.name))
    return Panel(None, ", ".join(names), texture, None, texels)


def chosen(count: int, most: int) -> list[int]:
    """At most so many of the numbers from 0 to count - 1: the first, the last, and some between."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
