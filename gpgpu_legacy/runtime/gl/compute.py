"""Prepared plans of `gl-compute`: everything on storage buffers and compute shaders.

A texture of any kind is a storage buffer (runtime/gl/storage.py). A pass that draws becomes a
compute shader. A dispatch runs its kernel, whose text the driver gets unchanged;
runtime/gl/limits.py describes the risks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.types import DTYPES, Kind
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps, undecided
from gpgpu_legacy.lower.analysis.neighbourhood import neighbourhood
from gpgpu_legacy.lower.emit.glsl_fragment import GROUP, compute_shader
from gpgpu_legacy.lower.emit.glsl_groups import (
    AGAIN,
    ITERATIONS,
    emit_chain,
    emit_groups,
    emit_temporal,
)
from gpgpu_legacy.lower.fragments import shader_key
from gpgpu_legacy.lower.fused.content import Arguments, UnsupportedError, group_content
from gpgpu_legacy.lower.groups.invocation import GroupCode, uniform_blocks
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors, group_shape
from gpgpu_legacy.lower.groups.staging import AT_ONCE
from gpgpu_legacy.lower.temporal.content import (
    GroupRoom,
    TemporalContent,
    TemporalShape,
    temporal_content,
    usual_shape,
)
from gpgpu_legacy.lower.values import over_iterations
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Until,
    constant_groups,
)
from gpgpu_legacy.plan.textures import Transfer, constant_rect
from gpgpu_legacy.runtime.gl.chains import FusedStep, Link, Question, across, chains, link_of
from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.limits import LLVMPIPE_ITERATIONS, check_limits, is_llvmpipe, limit
from gpgpu_legacy.runtime.gl.prepared import Call, GlPrepared, RecordedSteps, joined
from gpgpu_legacy.runtime.gl.shader import (
    Dispatch,
    UniformBlocks,
    UniformTable,
    Values,
    computing_shader,
)
from gpgpu_legacy.runtime.gl.storage import TextureBuffers
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers, Spot, movable
from gpgpu_legacy.runtime.gl.values import pass_values
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.prepared import Parts

# Recording ---------------------------------------------------------------------------------------
#
# The steps of a plan as dispatches of compute shaders on storage buffers.
#
# Fused passes (lower/analysis/fusion.py) are one dispatch over their tiles
# (lower/groups/tiling.py). A pass that work groups do not support has one invocation for each
# fragment (lower/emit/glsl_fragment.py).
#
# Temporal tiling runs several iterations of passes that read neighbours in one dispatch. While
# tiles are stored, others still read the old texels. So a texture that an iteration reads from the
# one before has a second buffer, its twin, and dispatches go from one to the other. The last one
# ends in the plan's own buffer.


_DTYPES = {**DTYPES, Kind.BOOL: "int32"}
"""NumPy's type for a uniform of each kind of number."""


@frozen
class DeviceLimits:
    """The limits of the device that shape the code of fused passes.

    shared_bytes: of a work group. storage_blocks: of a shader. multiprocessors: they decide the
    usual shape of work groups. most_iterations: of all loops of an invocation together, after which
    a driver silently ends them; None without such a limit. shape: of work groups, if it is tuned.
    fetches: whether it reads buffer textures faster than storage buffers. temporal: the shape of
    work groups that run several iterations of passes that read neighbours, if it is tuned.
    shares_fast: whether shared memory is faster than textures. chains: whether passes of few
    fragments are faster if one work group runs several.
    """

    shared_bytes: int
    storage_blocks: int
    multiprocessors: Multiprocessors
    most_iterations: int | None = None
    shape: GroupShape | None = None
    fetches: bool = False
    temporal: TemporalShape | None = None
    shares_fast: bool = False
    chains: bool = False


class Recorder:
    """Records the parts of a plan, fused or pass by pass: `steps`, by the part's id."""

    def __init__(
        self,
        context: GlContext,
        parts: Parts,
        machine: Machine,
        device: DeviceLimits,
        storage: TextureBuffers,
        *,
        apart: bool,
    ) -> None:
        """storage: of the plan's textures. apart: fuse no passes, for an observer.

        The caller owns `block_buffer`, if there is one.
        """
        plan = parts.plan
        self._context, self._plan, self._machine, self._device = context, plan, machine, device
        self._buffers, self._storage = storage.buffers, storage
        self._textures = {texture.name: texture for texture in plan.textures}
        self._room = GroupRoom(device.shared_bytes, device.storage_blocks, device.shares_fast)
        self.uniforms, self._blocks = UniformTable(), UniformBlocks()
        self._fuses = not apart and not machine.arithmetic.rounds
        self._questions = {
            id(body): Question(round_.condition, until.below)
            for until in parts.untils
            for round_ in until.rounds
            if (body := parts.only(round_))
        }
        self.asking: dict[int, tuple[Question, Call]] = {}
        """The parts that run only while the answer to a question is yes, by their id."""
        self.steps = {id(part): list(joined(self._steps(part))) for part in parts.leaves}
        self.block_buffer: GlBuffer | None = self._blocks.settle(context)

    @property
    def has_fused_passes(self) -> bool:
        """Whether an observer cannot be shown every pass."""
        return any(
            len(group.passes) != len(group.calls)
            for group in chain.from_iterable(self.steps.values())
        )

    def warm_up(self) -> None:
        """Run one group of every shader that has not run yet.

        Nothing has been uploaded yet: whatever this writes is overwritten, or undefined anyway.
        """
        self.uniforms.begin()
        for group in chain.from_iterable(self.steps.values()):
            for call in group.calls if group.count else ():
                if isinstance(call, Dispatch):
                    call.warm_up()

    def _steps(self, part: Plan) -> Iterator[RecordedSteps]:
        steps = fused_steps(part, apart=not self._fuses)
        chained = list(chains(steps, self._link, self._device.storage_blocks - 1))
        question = self._questions.get(id(part)) if len(chained) == 1 else None
        for together in chained:
            links = [link for _, link in together if link]
            if len(links) > 1:
                if question and all(question.condition not in a.textures for _, a in links):
                    question = None
                call = self._chain(links, question)
                if question:
                    self.asking[id(part)] = question, call
                yield RecordedSteps(1, (), (call,))
                continue
            ((step, _),) = together
            if isinstance(step, UnfusedRepeat):
                tiled = self._tiled(step) if self._fuses else []
                yield from tiled or [self._one_by_one(step)]
            elif isinstance(step, FusedPasses):
                yield self._fused(step)
            else:
                yield RecordedSteps(1, (step,), (self._record(step, 1),))

    def _one_by_one(self, repeat: UnfusedRepeat) -> RecordedSteps:
        """A Repeat whose iterations run one at a time."""
        passes: list[Pass] = []
        calls: list[Call] = []
        for member in repeat.body:
            dispatch: Dispatch | None = None
            if isinstance(member, FusedPasses):
                passes.append(member.passes[0])
                dispatch = self._groups(member)
            else:
                passes.append(member)
            calls.append(dispatch or self._record(passes[-1], repeat.count))
        return RecordedSteps(repeat.count, tuple(passes), tuple(calls))

    def _fused(self, fused: FusedPasses) -> RecordedSteps:
        """Fused passes in one dispatch, or pass by pass where work groups do not support them."""
        dispatch = self._groups(fused)
        if dispatch is None:
            calls = tuple(self._record(pass_, fused.count) for pass_ in fused.passes)
            return RecordedSteps(fused.count, fused.passes, calls)
        alone = fused.passes if fused.count == len(fused.passes) == 1 else ()
        return RecordedSteps(dispatch.pieces, alone, (dispatch,))

    def _record(self, pass_: Pass, count: int) -> Call:
        match pass_:
            case FragmentPass():
                return self._fragments(pass_, count)
            case ClearPass():
                return self._storage.clear(pass_.target, pass_.value, count)
            case CopyPass():
                return self._storage.copy(pass_, self.uniforms)
            case ComputePass():
                return self._kernel(pass_, count)

    def _kernel(self, pass_: ComputePass, count: int) -> Dispatch:
        """A dispatch of a kernel. It waits for earlier stores unless its pass is independent."""
        kernel = pass_.kernel
        shader = computing_shader(self._context, kernel.name, kernel.text)
        types = {uniform.name: uniform.type.kind for uniform in kernel.uniforms}
        values: dict[str, Values] = {
            u.name: over_iterations([u.value], count).astype(_DTYPES[types[u.name]])
            for u in pass_.uniforms
        }
        bound = {b.binding: self._buffers[b.texture] for b in pass_.buffers}
        return Dispatch(
            self._context,
            shader,
            self.uniforms.add(shader, values),
            [bound.get(binding) for binding in range(max(bound, default=-1) + 1)],
            constant_groups(pass_.groups),
            waits=not pass_.independent,
        )

    # Work groups ---------------------------------------------------------------------------

    def _groups(self, fused: FusedPasses) -> Dispatch | None:
        """Fused passes on work groups; None if work groups do not support them."""
        if self._machine.arithmetic.rounds:
            return None
        content, arguments = group_content(fused, self._textures)
        device, size = self._device, (arguments.width, arguments.height)
        shape = device.shape or group_shape(content, size, device.multiprocessors)
        self._require_blocks(len(content.surfaces), fused.passes)
        exact = self._machine.exact
        try:
            code = emit_groups(
                content, shape, device.shared_bytes, exact=exact, fetches=device.fetches
            )
        except UnsupportedError:
            return None
        shader = computing_shader(self._context, content.draws[0].program.name, code.text)
        rows = uniform_blocks(code, arguments)
        if len(rows) > 1 and not fused.alternates:
            return None
        iterations = self._iteration_ranges(fused, code)
        across, up = code.shape.tile
        names = dict(enumerate(arguments.textures))
        textures = [(self._storage.texture_binder(names.pop(n)), n) for n in code.fetched]
        return Dispatch(
            self._context,
            shader,
            self.uniforms.add(shader, {ITERATIONS: iterations}),
            [self._buffers[names[n]] if n in names else None for n in range(max(names) + 1)],
            (-(-arguments.width // across), -(-arguments.height // up)),
            textures=textures,
            block=self._blocks.add(rows),
            pieces=len(iterations),
        )

    def _iteration_ranges(self, fused: FusedPasses, code: GroupCode) -> NDArray[np.int32]:
        """The range of iterations of each dispatch, (n, 2): the first, and one past the last."""
        most = self._device.most_iterations
        if fused.alternates:
            together = 1
        else:
            together = fused.count if most is None else max(1, most // (code.trips + 2))
            together -= together % AT_ONCE if together > AT_ONCE else 0
        first = np.arange(0, fused.count, together)
        return np.stack([first, np.minimum(first + together, fused.count)], axis=1).astype(np.int32)

    # One invocation for each fragment ------------------------------------------------------

    def _fragments(self, pass_: FragmentPass, count: int) -> Dispatch:
        """A pass with one invocation for each fragment."""
        key = shader_key(
            self._plan,
            pass_,
            undecided(pass_.program),
            exact=self._machine.exact,
            arithmetic=self._machine.arithmetic,
            drawn=False,
        )
        used = pass_.program.texture_units
        names = [b.texture if b.unit in used else None for b in pass_.bindings]
        bound = [None if n is None else self._buffers[n] for n in (*names, *pass_.targets)]
        self._require_blocks(sum(buffer is not None for buffer in bound), (pass_,))

        text = compute_shader(key, scissored=pass_.scissor is not None)
        shader = computing_shader(self._context, pass_.program.name, text)
        rect, target = constant_rect(pass_.rect), self._textures[pass_.target]
        values: dict[str, Values] = dict(pass_values(pass_, count, shader.has))
        if pass_.scissor is not None:
            sides = np.subtract(pass_.drawn.corners[::2], (rect.x, rect.y))
            values["scissor"] = sides.reshape(1, 4).astype(np.float32)
        values["target_width"] = np.array([[target.extent.width]], np.int32)
        groups = (-(-rect.width // GROUP[0]), -(-rect.height // GROUP[1]))
        uniforms = self.uniforms.add(shader, values)
        return Dispatch(self._context, shader, uniforms, bound, groups)

    def _require_blocks(self, needed: int, passes: tuple[Pass, ...]) -> None:
        """Raise PlanError if a shader needs more storage buffers than the device allows."""
        most = self._device.storage_blocks
        if needed > most:
            programs = {p.program.name for p in passes if isinstance(p, FragmentPass)}
            raise PlanError(
                f"plan {self._plan.name}: {' and '.join(sorted(programs))} uses {needed} textures "
                f"at once, and a compute shader has {most} storage buffers here; choose "
                "another executor"
            )

    # Chains --------------------------------------------------------------------------------

    def _link(self, step: FusedStep) -> Link | None:
        chains = self._fuses and self._device.chains
        return link_of(step, self._textures) if chains else None

    def _chain(self, links: Sequence[Link], question: Question | None) -> Dispatch:
        """Passes that one work group runs. question: if its answer is no, they do nothing."""
        textures = (name for _, arguments in links for name in arguments.textures)
        numbers = {name: number for number, name in enumerate(dict.fromkeys(textures))}
        buffers, values = [self._buffers[name] for name in numbers], dict[str, Values]()
        asked = None
        if question:
            asked = numbers[question.condition], len(buffers)
            buffers.append(self._storage.counter)
            values[AGAIN] = np.array([question.again], np.float32)
        codes = emit_chain(
            tuple(
                (
                    content,
                    across(arguments.width, arguments.height),
                    tuple(numbers[n] for n in arguments.textures),
                )
                for content, arguments in links
            ),
            asked,
            exact=self._machine.exact,
        )
        shader = computing_shader(self._context, self._plan.name, codes[0].text)
        rows = [uniform_blocks(code, link[1]) for code, link in zip(codes, links, strict=True)]
        block = self._blocks.add(np.hstack(rows))
        uniforms = self.uniforms.add(shader, values)
        return Dispatch(self._context, shader, uniforms, buffers, (1, 1), block=block)

    # Temporal tiling -----------------------------------------------------------------------

    def _tiled(self, repeat: UnfusedRepeat) -> list[RecordedSteps]:
        """A Repeat in few dispatches; empty if its passes run faster one at a time."""
        around = neighbourhood(repeat, self._plan)
        if around is None:
            return []
        try:
            content, arguments = temporal_content(around, self._textures)
            fragments = around.width * around.height
            shape = self._device.temporal or usual_shape(
                content, fragments, around.count, self._room
            )
            if shape is None or not self._room.takes(content, shape):
                return []
            return self._recorded_tiles(content, arguments, shape)
        except UnsupportedError:
            return []

    def _recorded_tiles(
        self, content: TemporalContent, arguments: Arguments, shape: TemporalShape
    ) -> list[RecordedSteps]:
        code = emit_temporal(content, shape, exact=self._machine.exact)
        shader = computing_shader(self._context, self._plan.name, code.text)
        live = [arguments.textures[n] for n in content.live]
        twins = {name: self._storage.twin(name) for name in live}
        across, up = shape.stored(content.reach)
        groups = (-(-arguments.width // across), -(-arguments.height // up))

        def dispatch(ranges: NDArray[np.int32], *, back: bool) -> Dispatch:
            """From a texture's own buffer to its twin, or back; ranges: of each call."""
            first = [self._buffers[name] for name in arguments.textures]
            second = [twins[name] for name in live]
            if back:
                second = [self._buffers[name] for name in live]
                first = [twins.get(name, self._buffers[name]) for name in arguments.textures]
            uniforms = self.uniforms.add(shader, {ITERATIONS: ranges})
            block = self._blocks.add(uniform_blocks(code, arguments))
            return Dispatch(self._context, shader, uniforms, [*first, *second], groups, block=block)

        ranges = _ranges(arguments.count, shape.iterations)
        odd = len(ranges) % 2
        steps: list[RecordedSteps] = []
        if odd or any(map(any, content.keeps)):
            copies = tuple(
                self._storage.copy_all(name, (self._buffers[name], twin), self.uniforms)
                for name, twin in twins.items()
            )
            last = (dispatch(ranges[:1], back=True),) if odd else ()
            steps.append(RecordedSteps(1, (), (*copies, *last)))
        if len(ranges) > 1:
            there = dispatch(ranges[odd::2], back=False)
            back = dispatch(ranges[odd + 1 :: 2], back=True)
            steps.append(RecordedSteps(len(ranges) // 2, (), (there, back)))
        return steps


def _ranges(count: int, together: int) -> NDArray[np.int32]:
    """The iterations of each dispatch, (n, 3): the first, one past the last, whether all are done.

    No two dispatches differ by more than one iteration.
    """
    pieces = -(-count // together)
    ends = np.arange(pieces + 1) * count // pieces
    return np.stack([ends[:-1], ends[1:], ends[1:] == count], axis=1).astype(np.int32)


# Prepared plans ----------------------------------------------------------------------------------


AHEAD = 16
"""Rounds of a loop that are dispatched before the host learns whether it has ended."""


class GlComputePrepared(GlPrepared[GlContext]):
    """A plan's buffers and shaders, and its steps recorded as dispatches."""

    def __init__(
        self, context: GlContext, plan: Plan, machine: Machine, *, on_device: bool
    ) -> None:
        """on_device: buffers are in the memory of a device, which packs operands and results."""
        self._on_device = on_device
        self._recordings: dict[bool, Recorder] = {}  # by whether the run is observed
        super().__init__(context, plan, machine)

    def _build(self) -> None:
        check_limits(self.plan, self.context.info)
        on_device = self._on_device
        self._storage = self.keep(TextureBuffers(self.context, self.plan, on_device=on_device))
        self._store = self._storage
        self._make_transfers(self._device_transfers() if on_device else None)
        self._recordings[False] = self._make_recording(apart=False)

    def _device_transfers(self) -> DeviceTransfers:
        plan, storage = self.plan, self._storage

        def spot(transfer: Transfer) -> Spot:
            width = storage.textures[transfer.texture].extent.width
            return Spot(storage.buffers[transfer.texture], width, transfer.rect.x, transfer.rect.y)

        taken = movable(plan, self.context, only_in=True)  # all texels are stored as float32
        return self.keep(DeviceTransfers(self.context, plan, *taken, spot))

    def _clear(self, name: str, value: NumberVec4) -> Call:
        return self._storage.clear(name, value)

    def _make_recording(self, *, apart: bool) -> Recorder:
        """The steps, recorded and compiled."""
        device = _device(self.context, self.machine.tuning)
        most = self.context.info["GL_MAX_TEXTURE_BUFFER_SIZE"]
        if any(t.extent.rows * t.extent.width > most for t in self.plan.textures):
            device = replace(device, fetches=False)
        recording = Recorder(
            self.context, self.parts, self.machine, device, self._storage, apart=apart
        )
        if recording.block_buffer is not None:
            self.keep(recording.block_buffer)
        recording.warm_up()
        self.context.finish()
        return recording

    def _make_ready(self, *, observed: bool) -> None:
        if observed and observed not in self._recordings:
            fused = self._recordings[False]
            recording = self._make_recording(apart=True) if fused.has_fused_passes else fused
            self._recordings[observed] = recording

    def _begin(self, *, observed: bool) -> None:
        self._recordings[observed].uniforms.begin()

    def _steps(self, part: Plan, *, observed: bool) -> Sequence[RecordedSteps]:
        return self._recordings[observed].steps[id(part)]

    def _ahead(self, until: Until, done: int) -> int:
        """See Prepared: the device counts the rounds that it runs without asking the host."""
        asking, calls = self._recordings[False].asking, []
        for number in range(done, min(done + AHEAD, until.count)):
            round_ = until.rounds[number % len(until.rounds)]
            question, call = asking.get(id(self.parts.only(round_)), (None, None))
            if call is None or question != Question(round_.condition, until.below):
                return 0
            calls.append(call)
        counter = self._storage.counter
        counter.clear()
        for call in calls:
            call(0)
        self.context.barrier()
        return int(np.frombuffer(counter.read(), np.int32)[0])

    def _forget(self) -> None:
        super()._forget()
        self._recordings.clear()


_MULTIPROCESSORS = 64
"""The multiprocessors of a GPU that does not report them."""


def _device(context: GlContext, tuning: Tuning | None) -> DeviceLimits:
    """The properties of the device that decide the code.

    llvmpipe loads from a storage buffer invocation by invocation, each with a test of its own, and
    gathers from a texture for a vector of invocations at once. It takes long to compile long
    shaders.
    """
    info, chosen = context.info, tuning or Tuning()
    software = is_llvmpipe(info)
    processors = Multiprocessors()
    if context.is_hardware:
        count = info.get("GL_SM_COUNT_NV", _MULTIPROCESSORS)
        processors = Multiprocessors.of_gpu(count)
    return DeviceLimits(
        limit(info, "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE"),
        limit(info, "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS"),
        processors,
        LLVMPIPE_ITERATIONS if software else None,
        chosen.group,
        fetches=software,
        temporal=chosen.temporal,
        shares_fast=context.is_hardware,
        chains=context.is_hardware,
    )
