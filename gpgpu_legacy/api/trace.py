"""One texel traced through the passes of a plan.

An executor runs the plan, and the texel is read after each pass that writes it. The reference
machine then executes the texel's fragment on the textures as the executor left them, to show its
lookups and instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.run import How, Request
from gpgpu_legacy.api.steps import (
    Steps,
    TracedInstruction,
    TracedTexel,
    Value,
    as_value,
    trace_fragment,
)
from gpgpu_legacy.errors import InputError, as_integer, counted, described, listed
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import COMPONENTS
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import (
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    kind_of_pass,
    name_of_pass,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import Texture, constant_rect
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, Result
from gpgpu_legacy.runtime.observed import (
    chosen_textures,
    covers,
    drawn_textures,
    initial_storage,
    places,
    stored,
    textures_behind,
)
from gpgpu_legacy.serial import Record, as_record

MOST_VISITS = 100
"""The most passes in a short table."""


class Fate(Enum):
    """The effect of a pass on the texel.

    WRITTEN: the pass writes the texel; a dispatch may write it. OUTSIDE: it draws or copies only to
    other texels. DISCARDED: a KIL discards the texel's fragment. FAILED: the alpha test does.
    """

    WRITTEN = "written"
    OUTSIDE = "outside"
    DISCARDED = "discarded"
    FAILED = "failed"


class TracedRead(Record):
    """A texel that the fragment looked up, or that a copy reads.

    texture: its name. value: its channels; for a filtered lookup, the filter's result. line: of the
    lookup in the program's text. coordinates: its operand. Both are None for a copy.
    """

    texture: str
    texel: TracedTexel
    value: Value
    line: int | None = None
    coordinates: Value | None = None

    def __str__(self) -> str:
        around = "around " if self.texel.linear else ""
        line = f", line {self.line}" if self.line else ""
        return f"reads {around}{self.texture} {self.texel}{line}"


class Written(Record):
    """The texel in a texture that a pass writes, before the pass and after it."""

    texture: str
    before: Value
    after: Value


class Visit(Record, rename={"pass_": "pass"}):
    """A pass that writes one of the textures.

    pass_: its number, from 1. iteration: of its Repeat, from 0, of `iterations`; None outside of
    Repeats. kind: draw, copy, clear or dispatch. program: the file name of its program or kernel.
    line: the last line that wrote the colour; None if no instruction did. blend: how the colour is
    combined with the texel; `none` if it replaces the texel. fog: the OPTION that mixes fog into
    the colour. sources: the textures that a dispatch may read. steps: the fragment's instructions;
    None unless requested.
    """

    pass_: int
    iteration: int | None
    iterations: int | None
    kind: str
    program: str | None
    line: int | None
    fate: Fate
    blend: str
    fog: str | None
    sources: tuple[str, ...]
    reads: tuple[TracedRead, ...]
    written: tuple[Written, ...]
    steps: Steps | None


class Trace(Result):
    """A texel, from pass to pass.

    texel: its column and row. textures: those whose texel is traced, of `size` columns and rows.
    passes: how many the plan has. writing: how many write one of the textures; `outside` and
    `discarded` of these leave this texel as it was. unchanged: how many have no visit, since the
    value after them is the same as after the pass before.
    """

    plan: str
    executor: str
    arithmetic: str
    texel: tuple[int, int]
    textures: tuple[str, ...]
    size: tuple[int, int]
    passes: int
    writing: int
    outside: int
    discarded: int
    unchanged: int
    visits: tuple[Visit, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Each pass with what it read and executed, and the texel before it and after it.

        whole: all passes; else the first and the last MOST_VISITS / 2.
        """
        rows = list(self._rows(whole))
        most = max((len(values) for _, _, values in rows), default=0)
        letters = COMPONENTS if any(v.steps for v in self.visits) else "rgba"
        (x, y), (width, height) = self.texel, self.size
        caption = f"texel {x},{y} of {listed(self.textures)} in {self.plan}, {width}×{height}"
        table: tuple[tuple[Entry, ...], ...] = tuple(
            (Numeral(number), what, *map(Numeral, [*map(_text, values), *[""] * most][:most]))
            for number, what, values in rows
        )
        heads = ("pass", "what", *letters[:most])
        return [Grid("trace", caption, heads, table, (self._summary(),))]

    def _rows(self, whole: bool) -> Iterator[tuple[str, str, Sequence[float | None]]]:
        """Rows of a pass's number (at its first row), an event, and its values."""
        half, count = MOST_VISITS // 2, len(self.visits)
        left_out = range(0) if whole else range(half, count - half)
        for place, visit in enumerate(self.visits):
            if place in left_out:
                if place == half:
                    yield (
                        "…",
                        f"{counted(len(left_out), 'pass', 'passes')} left out; --all shows them",
                        (),
                    )
                continue
            yield str(visit.pass_), _title(visit), ()
            for what, values in _events(visit):
                yield "", what, values

    def _summary(self) -> str:
        """The number of passes that write the textures, and the effects of those not shown."""
        rest = {
            "outside of it": self.outside,
            "with its fragment discarded": self.discarded,
            "without a change, not shown": self.unchanged,
        }
        write = "writes" if self.writing == 1 else "write"
        passes = counted(self.passes, "pass", "passes")
        written = f"{self.writing} of {passes} {write} {listed(self.textures, 'or')}"
        return ", ".join([written, *(f"{n} {what}" for what, n in rest.items() if n)]) + "."


def _text(value: float | None) -> str:
    """The shortest text for the same float32; a point if nothing was written."""
    return "." if value is None else str(np.float32(value)).removesuffix(".0")


def _title(visit: Visit) -> str:
    what = f"{visit.kind} {visit.program or ''}".rstrip()
    to = {"none": "to", "add": "added to"}.get(visit.blend, f"blended by {visit.blend} with")
    targets = listed([written.texture for written in visit.written])
    iteration = f"; iteration {visit.iteration} of {visit.iterations}" if visit.iterations else ""
    return f"{what}, {to} {targets}{iteration}"


def _events(visit: Visit) -> Iterator[tuple[str, Sequence[float | None]]]:
    """The events of a pass at the texel, with their values."""
    if visit.fate is Fate.OUTSIDE:
        yield "its rectangle does not cover the texel", ()
        return
    state = ""
    for step in visit.steps or ():
        if step.state not in ("", state):
            yield f"{step.state}  # line {step.line}", ()
        state = step.state
        yield from _step_events(step)
    for read in visit.reads if not visit.steps else ():
        yield str(read), read.value
    if visit.sources:
        yield f"may read {', '.join(visit.sources)}", ()
    if visit.fate is Fate.DISCARDED:
        yield "a KIL discards the fragment", ()
    elif visit.fate is Fate.FAILED:
        yield "the alpha test discards the fragment", ()
    elif visit.steps and visit.fog:
        yield f"OPTION {visit.fog} then mixes the colour with state.fog.color", ()
    by = f", by line {visit.line}" if visit.line and visit.fate is Fate.WRITTEN else ""
    for written in visit.written:
        yield f"{written.texture} before", written.before
        yield f"→ {written.texture} after{by}", written.after


def _step_events(step: TracedInstruction) -> Iterator[tuple[str, Sequence[float | None]]]:
    """An instruction, its operands and its result."""
    line = f"  # line {step.line}" if step.line and not step.state else ""
    yield f"{step.number}  {step.instruction}{line}", ()
    for operand in step.operands:
        yield operand.text, operand.value
    if step.texel is not None:
        how = "a mix of the texels around" if step.texel.linear else "the texel"
        unit, target = step.texel.unit, step.texel.target.value
        yield f"reads {how} {step.texel} of texture[{unit}], {target}", ()
    if step.discards:
        yield "a component is negative", ()
    elif step.result:
        yield f"→ {step.destination}", step.result


# The function ----------------------------------------------------------------------------------


def trace(
    p: PlanBuilder,
    texel: tuple[int, int],
    inputs: Mapping[str, ArrayLike] | None = None,
    textures: Sequence[str] | str = (),
    *,
    instructions: bool = False,
    every_pass: bool = False,
    **how: Unpack[How],
) -> Trace:
    """Trace a texel through the passes that write it.

    texel: its column and its row, from 0; row 0 is the bottom. textures: names; by default, all
    textures of the first output's size that its values pass through, so that ping-pong textures
    make one trace. inputs, how: as for `run`. instructions: whether to keep what the fragment
    executes in each pass. every_pass: whether to describe every pass, not only the first, the last,
    and those that change the value.

    Raises InputError for an unknown texel or texture, or one that no pass writes.
    """
    request = Request.of(p, inputs, **how).settled()
    plan = request.plan
    traced = _textures(plan, (textures,) if isinstance(textures, str) else textures)
    place = _texel(texel)
    size = _size_with(traced, *place)
    watcher = _TexelObserver(request, traced, place, instructions, every_pass)
    by, result = request.run(observer=watcher)
    request.warn_of_undefined(result)
    return Trace(
        plan=plan.name,
        executor=by.name,
        arithmetic=request.machine.arithmetic.name,
        texel=place,
        textures=tuple(t.name for t in traced),
        size=size,
        passes=plan.pass_count,
        writing=watcher.fates.total(),
        outside=watcher.fates[Fate.OUTSIDE],
        discarded=watcher.fates[Fate.DISCARDED] + watcher.fates[Fate.FAILED],
        unchanged=watcher.fates.total() - len(watcher.visits),
        visits=tuple(watcher.visits),
    )


def _texel(given: Sequence[int]) -> tuple[int, int]:
    if not hasattr(given, "__len__") or len(given) != 2:
        raise InputError(f"texel is {described(given)}; give its column and its row, as in (3, 4)")
    return as_integer("the column of texel", given[0]), as_integer("the row of texel", given[1])


def _textures(plan: Plan, names: Sequence[str]) -> tuple[Texture, ...]:
    """The textures to trace: those of these names, or those behind the first output."""
    drawn = chosen_textures(plan, names)
    if names:
        return tuple(plan.texture(name) for name in names)
    result = next((o.texture for o in plan.outputs if o.texture in drawn), None)
    if result is None:
        raise InputError(
            f"no output of plan {plan.name} comes from a pass; name one of its textures: "
            f"{', '.join(sorted(drawn))}"
        )
    shown, behind = plan.texture(result), textures_behind(plan, [result])
    alike = (t for t in plan.textures if t.name in behind and t.extent == shown.extent)
    return (shown, *(texture for texture in alike if texture != shown))


def _size_with(textures: Sequence[Texture], x: int, y: int) -> tuple[int, int]:
    """The columns and rows of the first texture; InputError if one of them lacks the texel."""
    for texture in textures:
        width, rows = texture.extent.width, texture.extent.rows
        if not (0 <= x < width and 0 <= y < rows):
            raise InputError(
                f"there is no texel {described(x)},{described(y)} in {texture.name}, which is "
                f"{width}×{rows}; x and y count from 0 at the lower left"
            )
    return textures[0].extent.width, textures[0].extent.rows


@dataclass(eq=False)
class _TexelObserver:
    """An observer that describes the passes that write a texel of some textures; see Trace.

    instructions, every_pass: as for `trace`. value: the texel after the last pass that wrote one of
    the textures.
    """

    request: Request
    textures: tuple[Texture, ...]
    texel: tuple[int, int]
    instructions: bool
    every_pass: bool
    value: Value | None = None

    def __post_init__(self) -> None:
        self.plan = self.request.plan
        self.drawn, self.places = drawn_textures(self.plan), places(self.plan)
        # of textures that no pass writes
        self.unwritten = cache(partial(initial_storage, self.plan, self.request.operands))
        self.fates = Counter[Fate]()
        self.visits: list[Visit] = []
        self.latest = {
            t.name: self.value_in(
                initial_storage(self.plan, self.request.operands, t.name).texels()
            )
            for t in self.textures
        }
        self.writing = sum(
            count for count, pass_ in self.plan.weighted_passes() if self.traced(pass_)
        )

    def value_in(self, texels: F32) -> Value:
        x, y = self.texel
        return as_value(texels[y, x])

    def traced(self, pass_: Pass) -> list[str]:
        """The traced textures that a pass writes."""
        return [name for name in written_by(pass_) if name in self.latest]

    def __call__(self, number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        """Look at the texel after a pass; see Observer."""
        place, _ = next(self.places)
        if not (names := self.traced(pass_)):
            return
        before = self.latest
        draw = pass_ if isinstance(pass_, FragmentPass) else None
        steps: Steps = ()
        fate = Fate.OUTSIDE
        if covers(pass_, *self.texel):
            self.latest = before | {name: self.value_in(read(name)) for name in names}
            fate = Fate.WRITTEN
            if draw and (draw.program.kills or draw.alpha_test):
                steps, passes = self._steps(draw, read)
                fate = Fate.WRITTEN if passes else Fate.FAILED
                fate = Fate.DISCARDED if steps[-1].discards else fate
        self.fates[fate] += 1
        value = self.latest[names[0]]
        # A NaN is equal to a NaN.
        is_new = self.value is None or not np.array_equal(value, self.value, equal_nan=True)
        self.value = value
        if not (self.every_pass or is_new or self.fates.total() == self.writing):
            return
        if draw and not steps and fate is Fate.WRITTEN:
            steps, _ = self._steps(draw, read)
        colours = (s.line for s in steps[::-1] if (s.destination or "").startswith("result.color"))
        self.visits.append(
            as_record(
                Visit,
                place,
                pass_=place.number,
                kind=kind_of_pass(pass_),
                program=name_of_pass(pass_) or None,
                line=next(colours, None),
                fate=fate,
                blend=draw.blend.text if draw and draw.blend else "none",
                fog=draw.program.fog.value if draw and draw.program.fog else None,
                sources=read_by(pass_) if isinstance(pass_, ComputePass) else (),
                reads=tuple(self._reads(pass_, steps, fate, read)),
                written=tuple(
                    Written(texture=name, before=before[name], after=self.latest[name])
                    for name in names
                ),
                steps=steps if draw and steps and self.instructions else None,
            )
        )

    def _steps(self, pass_: FragmentPass, read: Callable[[str], F32]) -> tuple[Steps, bool]:
        """Trace the fragment after its pass, which changes no texture that it looks up."""
        rect = constant_rect(pass_.rect)
        fragment = self.texel[0] - rect.x, self.texel[1] - rect.y
        textures = {
            name: stored(self.plan.texture(name), read(name))
            if name in self.drawn
            else self.unwritten(name)
            for name in set(read_by(pass_))
        }
        target = self.plan.texture(pass_.target).format
        return trace_fragment(pass_, textures, fragment, self.request.machine.arithmetic, target)

    def _reads(
        self,
        pass_: Pass,
        steps: Steps,
        fate: Fate,
        read: Callable[[str], F32],
    ) -> Iterator[TracedRead]:
        if isinstance(pass_, FragmentPass):
            names = {binding.unit: binding.texture for binding in pass_.bindings}
            for step in steps:
                if step.texel is not None:
                    name = names[step.texel.unit or 0]
                    texel_format = self.plan.texture(name).format
                    sampled = zip(step.sampled or (), texel_format.reads, strict=False)
                    yield TracedRead(
                        texture=name,
                        texel=step.texel,
                        # without the components that are 0 or 1 in every texel
                        value=tuple(v for v, source in sampled if source not in "01"),
                        line=step.line,
                        coordinates=step.operands[0].value,
                    )
        elif isinstance(pass_, CopyPass) and fate is Fate.WRITTEN:
            there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
            x, y = self.texel[0] - here.x + there.x, self.texel[1] - here.y + there.y
            source = self.plan.texture(pass_.source)
            level = sum(source.extent.first_row(n) <= y for n in range(1, source.extent.levels))
            row = y - source.extent.first_row(level)
            yield TracedRead(
                texture=pass_.source,
                texel=TracedTexel(
                    unit=None, target=source.kind, x=x, y=row, layer=0, level=level, linear=False
                ),
                value=as_value(read(pass_.source)[y, x]),
            )
