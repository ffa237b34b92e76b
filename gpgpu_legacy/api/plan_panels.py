"""The panels of a figure: textures after passes, and how their texels become colours.

The sheet (plan_figure_plot.py) shows some passes side by side, the animation
(plan_animation.py) one after another. Both show the same numbers in the same colours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import isfinite

import numpy as np

from gpgpu_legacy.api.passes import PassPlace
from gpgpu_legacy.arguments import as_member, as_positive
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.textures import Extent, Rect, Texture
from gpgpu_legacy.present.animation import Timing
from gpgpu_legacy.present.colours import ColourScale, scale_for

LEAST_PASSES = 2
"""The first and the last."""


LAST_MS = 1000
"""How long an animation shows its last pass, in milliseconds, where nobody says."""


class Sharing(Enum):
    """Which pictures have one value scale: all, those of a texture, or none.

    AUTO: those of textures that take turns, as x and y do where each is drawn from the other.
    """

    AUTO = "auto"
    SHEET = "sheet"
    TEXTURE = "texture"
    PANEL = "panel"


class Shown(Enum):
    """How a texture of four channels is shown: each by itself, or r, g and b as a picture.

    AUTO: as a picture where the format is fixed-point; otherwise the channels in which any two
    texels differ, of all textures with which it takes turns.
    """

    AUTO = "auto"
    CHANNELS = "channels"
    PICTURE = "picture"


class Crop(Enum):
    """Whether a pass that draws a part of a texture is shown by that part alone, or marked in it.

    AUTO: by the part, where parts of textures of one size and format differ in size.
    """

    AUTO = "auto"
    YES = "yes"
    NO = "no"


class Spacing(Enum):
    """How far apart the passes are that are shown: evenly, or ever farther."""

    EVEN = "even"
    LOG = "log"


@dataclass(frozen=True)
class FigureOptions:
    """What a figure shows.

    panels: of a sheet, inputs among them. frames: the most passes in an animation. Of more passes,
    the first, the last and some between are shown, as `spacing` says. textures: the names of those
    whose passes are shown; all by default. limits: the lowest and the highest value of the scales,
    by default those that occur. The others are said where they are defined.
    """

    panels: int = 12
    frames: int = 240
    spacing: Spacing = Spacing.EVEN
    textures: tuple[str, ...] = ()
    sharing: Sharing = Sharing.AUTO
    shown: Shown = Shown.AUTO
    crop: Crop = Crop.AUTO
    limits: tuple[float, float] | None = None

    def checked(self) -> FigureOptions:
        """The options, with members for words; InputError names a field that no figure can have."""
        for name, count in (("panels", self.panels), ("frames", self.frames)):
            if count < LEAST_PASSES:
                raise InputError(f"{name} is {count}; it must be at least {LEAST_PASSES}")
        if self.limits is not None:
            low, high = self.limits
            if not (isfinite(low) and isfinite(high) and low < high):
                raise InputError(
                    f"limits are {low:g} and {high:g}; give a lower and a higher number"
                )
        return replace(
            self,
            spacing=as_member("spacing", self.spacing, Spacing),
            sharing=as_member("sharing", self.sharing, Sharing),
            shown=as_member("shown", self.shown, Shown),
            crop=as_member("crop", self.crop, Crop),
        )


@dataclass(frozen=True)
class AnimationOptions:
    """How an animation looks.

    scale: pixels along each side of a texel; by default, so many that the longer side of the
    largest texture has 256 or more. captions: whether the pass and the value scale are below the
    texture. timing: how long each pass is shown.
    """

    scale: int | None = None
    captions: bool = True
    timing: Timing = Timing(last_ms=LAST_MS)  # noqa: RUF009 - frozen

    def checked(self) -> AnimationOptions:
        """The options; InputError, naming the field, for one that no animation has."""
        if self.scale is not None:
            as_positive("scale", self.scale)
        self.timing.checked()
        return self


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


@dataclass(frozen=True, eq=False)
class PlanPanels:
    """What the passes of a plan wrote, and how it is shown.

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
        found: dict[tuple[str, ...], list[F32]] = {}
        for panel in (*self.inputs, *self.panels):
            if panel.texture.format.channels > 1:
                name = panel.texture.name
                found.setdefault(self.turns.get(name, (name,)), []).append(panel.texels)
        return {names: _varying_channels(arrays) for names, arrays in found.items()}

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
        if self.options.sharing is Sharing.PANEL:
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
    varies = [
        any(not _all_equal(texels[..., c], first[c]) for texels in arrays)
        for c in range(first.size)
    ]
    return tuple(c for c, does in enumerate(varies) if does) or (0,)


def _all_equal(values: F32, value: float) -> bool:
    return np.array_equal(values, np.broadcast_to(value, values.shape), equal_nan=True)
