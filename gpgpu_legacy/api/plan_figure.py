"""A plan's passes as pictures: the textures that they write, kept from an observed run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from numpy.typing import ArrayLike

from gpgpu_legacy.api.keywords import MachineKeywords, as_machine
from gpgpu_legacy.api.passes import (
    drawn_textures,
    exchanged,
    initial_storage,
    places,
    rect_of,
    texels_of,
)
from gpgpu_legacy.api.plan_animation import draw_animation
from gpgpu_legacy.api.plan_figure_plot import draw_sheet
from gpgpu_legacy.api.plan_panels import (
    LEAST_PASSES,
    AnimationOptions,
    Crop,
    FigureOptions,
    Panel,
    PlanPanels,
    Spacing,
)
from gpgpu_legacy.api.plan_run import run_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import slices
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.inputs import as_operands
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass
from gpgpu_legacy.plan.plan import Pass, Plan, read_by, written_by
from gpgpu_legacy.plan.textures import Rect, Texture
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import AUTO

MOST_BYTES = 256 << 20
"""The most bytes of texels that a figure keeps; of more, it shows fewer passes."""


class PlanFigure(PlanPanels):
    """The passes of a plan, to be drawn: as a sheet, or as an animation."""

    def write(self, path: Path | str) -> None:
        """Write the sheet as a .png, .svg or .pdf; InputError where that cannot be done."""
        draw_sheet(self, Path(path))

    def write_animation(self, path: Path | str, options: AnimationOptions | None = None) -> None:
        """Write the passes one after another, as a .gif, or as an APNG in .png or .apng.

        Raises InputError where that cannot be done.
        """
        draw_animation(self, Path(path), (options or AnimationOptions()).checked())


def plan_figure(
    plan: Plan,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: FigureOptions | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    **keywords: Unpack[MachineKeywords],
) -> PlanFigure:
    """Run a plan, and keep what its passes write, for pictures.

    inputs, executor, machine, keywords: as for `run_plan`. A figure keeps MOST_BYTES of texels, and
    therefore fewer passes of large textures.

    Raises InputError for a texture that no pass writes, and where no pass writes any.
    """
    how = (options or FigureOptions()).checked()
    given = as_operands(plan, inputs or {})
    watcher = _Watcher(plan, how)
    run = run_plan(
        plan, given, executor=executor, machine=as_machine(machine, keywords), observer=watcher
    )
    return PlanFigure(
        plan=plan.name,
        executor=run.executor,
        passes=plan.pass_count,
        options=how,
        inputs=tuple(_input_panel(plan, given, texture) for texture in watcher.inputs),
        panels=tuple(_cropped(watcher.panels, how.crop)),
        on_sheet=frozenset(watcher.on_sheet),
        turns=exchanged(plan),
    )


class _Watcher:
    """An observer that keeps what the chosen passes write.

    inputs: the textures with inputs that passes read. panels, on_sheet: see PlanFigure.
    """

    def __init__(self, plan: Plan, options: FigureOptions) -> None:
        names = _textures(plan, options.textures)
        self._plan, self._names, self._places = plan, names, places(plan)
        writing, largest, targets = 0, 0, 0
        read: set[str] = set()
        for count, pass_ in plan.weighted_passes():
            written = [plan.texture(name) for name in written_by(pass_) if name in names]
            writing += count * bool(written)
            largest = max(largest, sum(_size_bytes(texture) for texture in written))
            targets = max(targets, len(written))
            read |= set(read_by(pass_)) if written else set()
        if largest * LEAST_PASSES > MOST_BYTES:
            raise InputError(
                f"a pass of plan {plan.name} writes {largest >> 20} MiB, and a figure keeps "
                f"{MOST_BYTES >> 20} MiB of several passes; show a smaller size"
            )
        self.inputs = tuple(t for t in plan.textures if t.name in read and _has_input(plan, t))
        on_sheet = max((options.panels - len(self.inputs)) // targets, LEAST_PASSES)
        most = MOST_BYTES // largest
        self._sheet, self._film = (
            frozenset(chosen(writing, min(count, most), options.spacing))
            for count in (on_sheet, options.frames)
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
            texture = self._plan.texture(name)
            what = name_of_pass(pass_) or kind_of_pass(pass_)
            rect = _part(rect_of(pass_), texture)
            self.panels.append(Panel(place, what, texture, rect, read(name)))


def _textures(plan: Plan, asked: Sequence[str]) -> frozenset[str]:
    drawn = drawn_textures(plan)
    written = ", ".join(texture.name for texture in plan.textures if texture.name in drawn)
    if not drawn:
        raise InputError(f"plan {plan.name} has no pass that writes a texture; nothing to draw")
    for name in asked:
        if name not in drawn:
            raise InputError(f"no pass of plan {plan.name} writes {name!r}; choose from {written}")
    return frozenset(asked) or drawn


def _size_bytes(texture: Texture) -> int:
    """Of its texels in float32."""
    return texture.extent.width * texture.extent.rows * texture.format.channels * 4


def _part(rect: Rect | None, texture: Texture) -> Rect | None:
    """The rectangle, where it is not all of the texture."""
    whole = Rect(0, 0, texture.extent.width, texture.extent.rows)
    return None if rect == whole else rect


def _cropped(panels: Sequence[Panel], crop: Crop) -> Iterator[Panel]:
    """The panels, those that are to be shown by what was drawn cut to that."""
    sizes: dict[tuple[object, ...], set[tuple[int, int]]] = {}
    for panel in panels:
        rect = panel.rect
        size = (rect.width, rect.height) if rect else panel.size
        sizes.setdefault(panel.kind, set()).add(size)
    for panel in panels:
        differ = len(sizes[panel.kind]) > 1
        rect = panel.rect
        if rect is None or crop is Crop.NO or (crop is Crop.AUTO and not differ):
            yield panel
            continue
        rows, columns = slices(rect)
        yield replace(panel, rect=None, texels=panel.texels[rows, columns])


def _has_input(plan: Plan, texture: Texture) -> bool:
    return any(input_.texture == texture.name for input_ in plan.inputs)


def _input_panel(plan: Plan, operands: Mapping[str, F32], texture: Texture) -> Panel:
    """A texture with its inputs, before the first pass."""
    names = dict.fromkeys(i.matrix for i in plan.inputs if i.texture == texture.name)
    texels = texels_of(initial_storage(plan, operands, texture.name))
    return Panel(None, ", ".join(names), texture, None, texels)


def chosen(count: int, most: int, spacing: Spacing = Spacing.EVEN) -> list[int]:
    """At most so many of the numbers from 0 to count - 1: the first, the last, and some between.

    EVEN: at equal distances, as nearly as whole numbers allow. LOG: at distances that grow by one
    factor, as nearly.
    """
    if count <= most:
        return list(range(count))
    if spacing is Spacing.EVEN:
        return [round(i * (count - 1) / (most - 1)) for i in range(most)]
    found = [1]
    for left in range(most - 1, 0, -1):
        found.append(max(found[-1] + 1, round(found[-1] * (count / found[-1]) ** (1 / left))))
    return [number - 1 for number in found]
