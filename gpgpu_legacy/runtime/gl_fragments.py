"""Fragment passes as compute shaders on storage buffers.

Fused passes (lower/analysis/fusion.py) are one dispatch over their tiles
(lower/groups/tiling.py). A pass that work groups do not support has one invocation for each
fragment (lower/emit/glsl_fragment.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.lower.analysis.folding import undecided
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.emit.glsl_fragment import GROUP, compute_shader
from gpgpu_legacy.lower.emit.glsl_groups import (
    ITERATIONS,
    emit_groups,
)
from gpgpu_legacy.lower.fragments import shader_key
from gpgpu_legacy.lower.fused.content import Content, UnsupportedError, group_content
from gpgpu_legacy.lower.groups.code import GroupCode, uniform_blocks
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors, group_shape
from gpgpu_legacy.lower.groups.staging import AT_ONCE
from gpgpu_legacy.lower.temporal.content import GroupRoom, TemporalShape
from gpgpu_legacy.plan.plan import FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.runtime.gl import GlContext
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, UniformBlocks
from gpgpu_legacy.runtime.gl_prepared import Call, Record, RecordedSteps, joined
from gpgpu_legacy.runtime.gl_shader import GroupShader, Shader, UniformTable, Values
from gpgpu_legacy.runtime.gl_storage import TextureBuffers
from gpgpu_legacy.runtime.gl_temporal import TemporalRecorder, Twins
from gpgpu_legacy.runtime.gl_values import pass_values
from gpgpu_legacy.runtime.machine import Machine


@dataclass(frozen=True, slots=True)
class Device:
    """The limits of the device that shape the code of fused passes.

    shared_bytes: of a work group. storage_blocks: of a shader. multiprocessors: what the usual
    shape of work groups depends on. most_iterations: of all loops of an
    invocation together, after which a driver silently ends them; None where there is no such
    limit. shape: of work groups, if it is tuned. fetches: whether it reads buffer textures faster
    than storage buffers. temporal: the shape where work groups run several iterations of passes
    that read neighbours, if it is tuned. shares_fast: whether shared memory is faster than the
    textures.
    """

    shared_bytes: int
    storage_blocks: int
    multiprocessors: Multiprocessors
    most_iterations: int | None = None
    shape: GroupShape | None = None
    fetches: bool = False
    temporal: TemporalShape | None = None
    shares_fast: bool = False


class FragmentRecorder:
    """Records a plan's fragment passes; the caller records the other passes."""

    def __init__(
        self,
        context: GlContext,
        plan: Plan,
        machine: Machine,
        device: Device,
        storage: TextureBuffers,
    ) -> None:
        """storage: of the plan's textures."""
        self.context, self.plan, self.machine, self.device = context, plan, machine, device
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers, self.storage = storage.buffers, storage
        self.uniforms, self.blocks = UniformTable(), UniformBlocks()
        self.twins = Twins(context, self.buffers)
        self._temporal = TemporalRecorder(
            context,
            plan,
            GroupRoom(device.shared_bytes, device.storage_blocks, device.shares_fast),
            self.buffers,
            self.twins,
            self.uniforms,
            self.blocks,
            machine.exact,
            device.temporal,
        )

    def steps(self, record: Record, *, apart: bool) -> list[RecordedSteps]:
        """The plan's steps in order. The caller settles the uniforms and blocks next.

        record: for passes that draw no fragments. apart: fuse no passes, for an observer.
        """
        fuses = not apart and not self.machine.arithmetic.rounds
        groups: list[RecordedSteps] = []
        for step in fused_steps(self.plan, apart=not fuses):
            if isinstance(step, UnfusedRepeat):
                tiled = self._temporal.steps(step) if fuses else []
                groups += tiled or [self._one_by_one(step, record)]
            elif isinstance(step, FusedPasses):
                groups.append(self._fused(step, record))
            else:
                groups.append(RecordedSteps(1, (step,), (record(step, 1),)))
        return list(joined(groups))

    def _one_by_one(self, repeat: UnfusedRepeat, record: Record) -> RecordedSteps:
        calls = tuple(self._member(member, repeat.count, record) for member in repeat.body)
        passes = tuple(m.passes[0] if isinstance(m, FusedPasses) else m for m in repeat.body)
        return RecordedSteps(repeat.count, passes, calls)

    def _member(self, member: FusedPasses | Pass, count: int, record: Record) -> Call:
        """A pass of a Repeat whose iterations run one at a time."""
        if not isinstance(member, FusedPasses):
            return record(member, count)
        return self._groups(member) or self._pass(member.passes[0], count, record)

    def _fused(self, fused: FusedPasses, record: Record) -> RecordedSteps:
        """Fused passes, or pass by pass where work groups do not support them."""
        dispatch = self._groups(fused)
        if dispatch is None:
            calls = tuple(self._pass(pass_, fused.count, record) for pass_ in fused.passes)
            return RecordedSteps(fused.count, fused.passes, calls)
        alone = fused.passes if fused.count == len(fused.passes) == 1 else ()
        return RecordedSteps(dispatch.pieces, alone, (dispatch,))

    def _pass(self, pass_: Pass, count: int, record: Record) -> Call:
        if isinstance(pass_, FragmentPass):
            return self._fragments(pass_, count)
        return record(pass_, count)

    # Work groups ---------------------------------------------------------------------------

    def _groups(self, fused: FusedPasses) -> Dispatch | None:
        """Fused passes on work groups; None where work groups do not support them."""
        if self.machine.arithmetic.rounds:
            return None
        content, arguments = group_content(fused, self.textures)
        try:
            shader = self._group_shader(content, (arguments.width, arguments.height), fused.passes)
        except UnsupportedError:
            return None
        code = shader.code
        rows = uniform_blocks(code, arguments)
        if len(rows) > 1 and not fused.alternates:
            return None
        iterations = self._iteration_ranges(fused, code)
        across, up = code.shape.tile
        names = dict(enumerate(arguments.textures))
        textures = [(self.storage.texture_binder(names.pop(n)), n) for n in code.fetched]
        return Dispatch(
            self.context,
            shader,
            self.uniforms.add(shader, {ITERATIONS: iterations}),
            [self.buffers[names[n]] if n in names else None for n in range(max(names) + 1)],
            (-(-arguments.width // across), -(-arguments.height // up)),
            textures=textures,
            block=self.blocks.add(rows),
            pieces=len(iterations),
        )

    def _iteration_ranges(self, fused: FusedPasses, code: GroupCode) -> NDArray[np.int32]:
        """The range of iterations of each dispatch, (n, 2): the first, and one past the last."""
        most = self.device.most_iterations
        if fused.alternates:
            together = 1
        else:
            together = fused.count if most is None else max(1, most // (code.trips + 2))
            together -= together % AT_ONCE if together > AT_ONCE else 0
        first = np.arange(0, fused.count, together)
        return np.stack([first, np.minimum(first + together, fused.count)], axis=1).astype(np.int32)

    def _group_shader(
        self, content: Content, size: tuple[int, int], passes: tuple[Pass, ...]
    ) -> GroupShader:
        """size: of the rectangle, across and up."""
        device, exact = self.device, self.machine.exact
        shape = device.shape or group_shape(content, size, device.multiprocessors)
        self._require_blocks(len(content.surfaces), passes)

        def make() -> GroupShader:
            code = emit_groups(
                content, shape, device.shared_bytes, exact=exact, fetches=device.fetches
            )
            name = content.draws[0].program.name
            program = self.context.compile(name, compute_shader=code.text)
            return GroupShader(self.context, program, code)

        return self.context.program((content, shape, device, exact), make)

    # One invocation for each fragment ------------------------------------------------------

    def _fragments(self, pass_: FragmentPass, count: int) -> Dispatch:
        """A pass with one invocation for each fragment."""
        key = shader_key(
            self.plan,
            pass_,
            undecided(pass_.program),
            exact=self.machine.exact,
            arithmetic=self.machine.arithmetic,
        )
        used = pass_.program.texture_units
        names = [b.texture if b.unit in used else None for b in pass_.bindings]
        bound = [None if n is None else self.buffers[n] for n in (*names, *pass_.targets)]
        self._require_blocks(sum(buffer is not None for buffer in bound), (pass_,))

        def make() -> Shader:
            text = compute_shader(key, pass_.blend)
            program = self.context.compile(pass_.program.name, compute_shader=text)
            return Shader(self.context, program)

        shader = self.context.program((key, pass_.blend), make)
        rect, target = constant_rect(pass_.rect), self.textures[pass_.target]
        values: dict[str, Values] = dict(pass_values(pass_, count, shader.has))
        values["origin"] = np.array([[rect.x, rect.y]], np.float32)
        values["size"] = np.array([[rect.width, rect.height]], np.float32)
        values["target_width"] = np.array([[target.extent.width]], np.int32)
        groups = (-(-rect.width // GROUP[0]), -(-rect.height // GROUP[1]))
        uniforms = self.uniforms.add(shader, values)
        return Dispatch(self.context, shader, uniforms, bound, groups)

    def _require_blocks(self, needed: int, passes: tuple[Pass, ...]) -> None:
        """Raise PlanError if a shader needs more storage buffers than the device allows."""
        most = self.device.storage_blocks
        if needed > most:
            programs = {p.program.name for p in passes if isinstance(p, FragmentPass)}
            raise PlanError(
                f"plan {self.plan.name}: {' and '.join(sorted(programs))} uses {needed} textures "
                f"at once, and a compute shader has {most} storage buffers here; choose "
                "another executor"
            )
