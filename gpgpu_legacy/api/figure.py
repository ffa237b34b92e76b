"""The verb `figure`: runs a plan, and keeps the output of its passes for pictures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import PurePath
from typing import Unpack

from numpy.typing import ArrayLike

from gpgpu_legacy.api.figures.figure import Figure
from gpgpu_legacy.api.figures.options import LEAST_PASSES, FigureOptions
from gpgpu_legacy.api.figures.sheet_plot import Panel
from gpgpu_legacy.api.run import How, Task
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Pass, Plan, kind_of_pass, name_of_pass, read_by, written_by
from gpgpu_legacy.plan.textures import Rect, Texture
from gpgpu_legacy.runtime.observed import (
    chosen_textures,
    exchanged,
    initial_storage,
    places,
    rect_of,
)

MOST_BYTES = 256 << 20
"""The most bytes of texels that a figure keeps; of more, it shows fewer passes."""


def figure(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: FigureOptions | None = None,
    **how: Unpack[How],
) -> Figure:
    """Run a plan, and keep the output of its passes for pictures.

    inputs, how: as for `run`. A figure keeps MOST_BYTES of texels, and therefore fewer passes of
    large textures.

    Raises InputError for a texture that no pass writes, and if no pass writes any.
    """
    options = options or FigureOptions()
    task = Task.of(p, inputs, **how).settled()
    plan, watcher = task.plan, _Keeper(task.plan, options)
    by, _ = task.run(observer=watcher)
    return Figure(
        plan=plan.name,
        executor=by.name,
        passes=plan.pass_count,
        options=options,
        inputs=tuple(_input_panel(task, texture) for texture in watcher.inputs),
        panels=tuple(watcher.panels),
        on_sheet=frozenset(watcher.on_sheet),
        turns=exchanged(plan),
    )


class _Keeper:
    """An observer that keeps the output of the chosen passes.

    inputs: the textures with inputs that passes read. panels, on_sheet: see Figure.
    """

    def __init__(self, plan: Plan, options: FigureOptions) -> None:
        names = chosen_textures(plan, options.textures)
        self._plan, self._names, self._places = plan, names, places(plan)
        largest, targets = 0, 0
        read: set[str] = set()
        for pass_ in plan.as_written:
            written = [plan.texture(name) for name in written_by(pass_) if name in names]
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
        numbers = _shown(plan, names, options.after)
        self.on_sheet, self._film = (
            {numbers[n] for n in chosen(len(numbers), min(count, MOST_BYTES // largest))}
            for count in (on_sheet, options.frames)
        )
        self.panels: list[Panel] = []

    def __call__(self, number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        """Keep the output of a pass; see Observer."""
        place, _ = next(self._places)
        if place.number not in self.on_sheet | self._film:
            return
        for name in filter(self._names.__contains__, written_by(pass_)):
            texture, rect = self._plan.texture(name), rect_of(pass_)
            everything = Rect(0, 0, texture.extent.width, texture.extent.rows)
            rect = None if rect == everything else rect
            self.panels.append(Panel(place, _what(pass_), texture, rect, read(name)))


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


def _input_panel(task: Task, texture: Texture) -> Panel:
    """A texture with its inputs, before the first pass."""
    names = dict.fromkeys(i.matrix for i in task.plan.inputs if i.texture == texture.name)
    texels = initial_storage(task.plan, task.operands, texture.name).texels()
    return Panel(None, ", ".join(names), texture, None, texels)


def chosen(count: int, most: int) -> list[int]:
    """At most `most` of the numbers from 0 to count - 1: the first, the last, and some between."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
