"""One texel traced through the passes of a plan.

An executor runs the plan, and after each pass that writes the texel its value is read. What the
fragment looked up and executed there is found on the reference machine, from the textures as the
executor left them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.keywords import MachineKeywords, as_machine
from gpgpu_legacy.api.passes import (
    PassPlace,
    covers,
    drawn_textures,
    initial_storage,
    places,
    rect_of,
    stored,
    texels_of,
    textures_behind,
)
from gpgpu_legacy.api.plan_run import run_plan
from gpgpu_legacy.api.trace import Step, Texel, trace_fragment
from gpgpu_legacy.arguments import described
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.arithmetic import F32, Arithmetic
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.pipeline.inputs import as_operands
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass
from gpgpu_legacy.plan.plan import (
    Blend,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import Texture, constant_rect
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import AUTO

MOST_VISITS = 100
"""Passes that a trace describes unless every pass is asked for."""

Value = tuple[float, ...]
"""The channels of a texel."""


class Fate(Enum):
    """What a pass does to the texel.

    WRITTEN: it writes it; a dispatch may. OUTSIDE: it draws or copies to other texels alone.
    DISCARDED: a KIL discards the fragment there.
    """

    WRITTEN = "written"
    OUTSIDE = "outside"
    DISCARDED = "discarded"


@dataclass(frozen=True)
class Read:
    """A texel that the fragment looked up, or that a copy takes.

    texture: its name. value: its channels; of a filtered lookup, what the filter gave. line: of the
    lookup in the program's text. coordinates: its operand. Both are None for a copy.
    """

    texture: str
    texel: Texel
    value: Value
    line: int | None = None
    coordinates: Vec4 | None = None


@dataclass(frozen=True)
class Written:
    """The texel in a texture that a pass writes, before the pass and after it."""

    texture: str
    before: Value
    after: Value


@dataclass(frozen=True)
class Visit:
    """A pass that writes one of the textures.

    place: which one of the passes it is. kind: draw, copy, clear or dispatch. program: the file
    name of its program or kernel. line: of the instruction that wrote the colour last, None for
    other kinds. blends: whether what is drawn is added to the texel. sources: the textures that a
    dispatch may read. steps: what the fragment executed; empty unless asked for.
    """

    place: PassPlace
    kind: str
    program: str
    line: int | None
    fate: Fate
    blends: bool
    sources: tuple[str, ...]
    reads: tuple[Read, ...]
    written: tuple[Written, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, repr=False)
class PlanTrace:
    """A texel, from pass to pass.

    x, y: its column and row. textures: those whose texel is traced, of `size` columns and rows.
    passes: of the plan. writing: those that write one of the textures; `outside` and `discarded`
    of them leave this texel as it was. unchanged: passes without a visit because the value after
    them is the one that the pass before wrote. left_out: further passes without one, between the
    first and the last visits, because there are more than MOST_VISITS.
    """

    plan: str
    executor: str
    arithmetic: str
    x: int
    y: int
    textures: tuple[str, ...]
    size: tuple[int, int]
    passes: int
    writing: int
    outside: int
    discarded: int
    unchanged: int
    left_out: int
    visits: tuple[Visit, ...]

    def __repr__(self) -> str:
        return (
            f"<PlanTrace of texel {self.x},{self.y} of {', '.join(self.textures)} in {self.plan}: "
            f"{self.writing} of {self.passes} passes write there>"
        )

    def _repr_html_(self) -> str:
        """Each pass with what it read and wrote, for a notebook."""
        from gpgpu_legacy.api.plan_trace_table import plan_trace_text
        from gpgpu_legacy.present.html import lines_html

        return lines_html(plan_trace_text(self))


def trace_plan(
    plan: Plan,
    inputs: Mapping[str, ArrayLike] | None,
    x: int,
    y: int,
    texture: str | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    instructions: bool = False,
    every_pass: bool = False,
    **keywords: Unpack[MachineKeywords],
) -> PlanTrace:
    """Trace the texel of column x and row y through the passes that write it. Row 0 is the bottom.

    inputs: arrays by name, as `run_plan` takes them. texture: the name of the texture; by default,
    all textures of the first output's size that its values pass through, so that textures which
    take turns are one trace. executor, machine, keywords: as for `run_plan`. instructions: whether
    to keep what the fragment executes in each pass. every_pass: whether to describe every pass, and
    not only the first, the last, and those after which the value is another than before them.

    Raises InputError where there is no such texel or texture, and where no pass writes it.
    """
    given = as_operands(plan, inputs or {})
    textures = _textures(plan, texture)
    size = _size_with(textures[0], x, y)
    how = as_machine(machine, keywords)
    chosen = _Chosen(x, y, how.arithmetic, instructions, every_pass)
    watcher = _Watcher(plan, given, textures, chosen)
    run = run_plan(plan, given, executor=executor, machine=how, observer=watcher)
    visits = (*watcher.first, *watcher.last)
    return PlanTrace(
        plan=plan.name,
        executor=run.executor,
        arithmetic=run.arithmetic,
        x=x,
        y=y,
        textures=tuple(t.name for t in textures),
        size=size,
        passes=plan.pass_count,
        writing=watcher.seen,
        outside=watcher.fates[Fate.OUTSIDE],
        discarded=watcher.fates[Fate.DISCARDED],
        unchanged=watcher.seen - len(visits) - watcher.left_out,
        left_out=watcher.left_out,
        visits=visits,
    )


# What is traced ------------------------------------------------------------------------------


def _textures(plan: Plan, name: str | None) -> tuple[Texture, ...]:
    """The textures to trace, in the plan's order."""
    drawn = drawn_textures(plan)
    written = ", ".join(t.name for t in plan.textures if t.name in drawn)
    if not written:
        raise InputError(f"plan {plan.name} has no pass that writes a texture; nothing to trace")
    if name is not None:
        if name not in drawn:
            known = {t.name for t in plan.textures}
            has = "is not written by any pass" if name in known else "is not in it"
            raise InputError(f"texture {name} of plan {plan.name} {has}; choose from {written}")
        return (plan.texture(name),)
    results = [output.texture for output in plan.outputs if output.texture in drawn]
    if not results:
        raise InputError(
            f"no output of plan {plan.name} comes from a pass; name a texture: {written}"
        )
    shown = plan.texture(results[0])
    behind = textures_behind(plan, results[:1])
    alike = (t for t in plan.textures if t.name in behind and t.extent == shown.extent)
    return (shown, *(texture for texture in alike if texture != shown))


def _size_with(texture: Texture, x: int, y: int) -> tuple[int, int]:
    """Columns and rows of a texture that has the texel."""
    width, rows = texture.extent.width, texture.extent.rows
    if not (0 <= x < width and 0 <= y < rows):
        raise InputError(
            f"there is no texel {described(x)},{described(y)} in {texture.name}, which is "
            f"{width}×{rows}; x and y count from 0 at the lower left"
        )
    return width, rows


@dataclass(frozen=True)
class _Chosen:
    """The texel, and how much of it is kept."""

    x: int
    y: int
    arithmetic: Arithmetic
    instructions: bool
    every_pass: bool

    def value(self, texels: F32) -> Value:
        return tuple(float(channel) for channel in texels[self.y, self.x])


# The run -------------------------------------------------------------------------------------


class _Watcher:
    """An observer that describes the passes that write the texel; see PlanTrace."""

    def __init__(
        self, plan: Plan, inputs: Mapping[str, F32], textures: tuple[Texture, ...], chosen: _Chosen
    ) -> None:
        self._plan, self._inputs, self._chosen = plan, inputs, chosen
        self._drawn = drawn_textures(plan)
        self._unwritten: dict[str, Storage] = {}
        self._places = places(plan)
        self._latest = {
            t.name: chosen.value(texels_of(initial_storage(plan, inputs, t.name))) for t in textures
        }
        self._value: Value | None = None  # after the pass before, in whichever texture
        self._writing = sum(
            count
            for count, pass_ in plan.weighted_passes()
            if not self._latest.keys().isdisjoint(written_by(pass_))
        )
        self.seen = self.left_out = 0
        self.fates = dict.fromkeys(Fate, 0)
        self.first: list[Visit] = []
        self.last: deque[Visit] = deque()

    def __call__(self, number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        """Look at the texel after a pass; see Observer."""
        place, _ = next(self._places)
        names = [name for name in written_by(pass_) if name in self._latest]
        if not names:
            return
        self.seen += 1
        written = tuple(self._written(pass_, name, read) for name in names)
        steps: tuple[Step, ...] | None = None
        fate = Fate.WRITTEN
        if not covers(pass_, self._chosen.x, self._chosen.y):
            fate = Fate.OUTSIDE
        elif isinstance(pass_, FragmentPass) and pass_.program.kills:
            steps = self._steps(pass_, read)
            fate = Fate.DISCARDED if steps[-1].discards else Fate.WRITTEN
        self.fates[fate] += 1
        is_new = self._value is None or not _same(written[0].after, self._value)
        self._value = written[0].after
        if not (self._chosen.every_pass or is_new or self.seen == self._writing):
            return
        if steps is None and isinstance(pass_, FragmentPass) and fate is Fate.WRITTEN:
            steps = self._steps(pass_, read)
        self._keep(
            Visit(
                place=place,
                kind=kind_of_pass(pass_),
                program=name_of_pass(pass_),
                line=_line(steps or ()),
                fate=fate,
                blends=isinstance(pass_, FragmentPass) and pass_.blend is not Blend.NONE,
                sources=read_by(pass_) if isinstance(pass_, ComputePass) else (),
                reads=self._reads(pass_, steps or (), fate, read),
                written=written,
                steps=(steps or ()) if self._chosen.instructions else (),
            )
        )

    def _written(self, pass_: Pass, name: str, read: Callable[[str], F32]) -> Written:
        before = self._latest[name]
        if covers(pass_, self._chosen.x, self._chosen.y):
            self._latest[name] = self._chosen.value(read(name))
        return Written(name, before, self._latest[name])

    def _steps(self, pass_: FragmentPass, read: Callable[[str], F32]) -> tuple[Step, ...]:
        """What the fragment executed: a pass leaves the textures that it looks up as they were."""
        rect = constant_rect(pass_.rect)
        fragment = self._chosen.x - rect.x, self._chosen.y - rect.y
        textures = {name: self._storage(name, read) for name in set(read_by(pass_))}
        return trace_fragment(pass_, textures, fragment, self._chosen.arithmetic)

    def _storage(self, name: str, read: Callable[[str], F32]) -> Storage:
        """The texels of a texture; those of one that no pass writes are kept for other passes."""
        if name in self._unwritten:
            return self._unwritten[name]
        if name in self._drawn:
            return stored(self._plan.texture(name), read(name))
        self._unwritten[name] = initial_storage(self._plan, self._inputs, name)
        return self._unwritten[name]

    def _reads(
        self, pass_: Pass, steps: tuple[Step, ...], fate: Fate, read: Callable[[str], F32]
    ) -> tuple[Read, ...]:
        if isinstance(pass_, FragmentPass):
            names = {binding.unit: binding.texture for binding in pass_.bindings}
            return tuple(self._looked_up(step, names) for step in steps if step.texel is not None)
        if isinstance(pass_, CopyPass) and fate is Fate.WRITTEN:
            return (self._copied(pass_, read),)
        return ()

    def _looked_up(self, step: Step, names: Mapping[int, str]) -> Read:
        assert step.texel is not None
        assert step.texel.unit is not None
        assert step.sampled is not None
        name = names[step.texel.unit]
        value = step.sampled[: self._plan.texture(name).format.channels]
        return Read(name, step.texel, value, step.line, step.operands[0].value)

    def _copied(self, pass_: CopyPass, read: Callable[[str], F32]) -> Read:
        there, here = constant_rect(pass_.source_rect), rect_of(pass_)
        assert here is not None
        x, y = self._chosen.x - here.x + there.x, self._chosen.y - here.y + there.y
        texel = Texel(None, self._plan.texture(pass_.source).kind, x, y, 0, linear=False)
        value = tuple(float(channel) for channel in read(pass_.source)[y, x])
        return Read(pass_.source, texel, value)

    def _keep(self, visit: Visit) -> None:
        """Keep the first and the last visits, half of them each, or all."""
        if self._chosen.every_pass or len(self.first) < MOST_VISITS // 2:
            self.first.append(visit)
            return
        self.last.append(visit)
        if len(self.last) > MOST_VISITS - MOST_VISITS // 2:
            self.last.popleft()
            self.left_out += 1


def _same(one: Value, other: Value) -> bool:
    """Whether two texels are equal; a NaN is equal to a NaN."""
    return np.array_equal(one, other, equal_nan=True)


def _line(steps: tuple[Step, ...]) -> int | None:
    lines = [step.line for step in steps if step.destination.startswith("result.color")]
    return lines[-1] if lines else None
