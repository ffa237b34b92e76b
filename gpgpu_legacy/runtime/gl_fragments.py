"""Fragment passes as compute shaders on storage buffers.

A Loop (lower/analysis/fusion.py), whose passes are fused, is one dispatch over its tiles
(lower/workgroups.py). A pass that work groups do not support has one invocation a fragment
(lower/compute.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.content import Content, UnsupportedError, group_content
from gpgpu_legacy.lower.emit.glsl_compute import GROUP, compute_shader
from gpgpu_legacy.lower.lookups import undecided
from gpgpu_legacy.lower.shader_key import shader_key
from gpgpu_legacy.lower.workgroups import (
    ITERATIONS,
    GroupCode,
    GroupShape,
    emit_groups,
    group_shape,
    uniform_blocks,
)
from gpgpu_legacy.plan.plan import FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.runtime.gl import GlContext
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, GlBuffer, UniformBlocks
from gpgpu_legacy.runtime.gl_prepared import Call, Record, RecordedSteps, joined
from gpgpu_legacy.runtime.gl_shader import Shader, UniformTable, Values
from gpgpu_legacy.runtime.gl_values import pass_values
from gpgpu_legacy.runtime.machine import Machine


@dataclass(frozen=True, slots=True)
class Device:
    """What of the device decides how Loops become code.

    shared_bytes: of a work group. storage_blocks: that a shader may have. most_iterations: of all
    loops of an invocation together, where a driver ends them in silence; None where there is no
    such end. shape: of work groups, where one is wanted.
    """

    shared_bytes: int
    storage_blocks: int
    most_iterations: int | None = None
    shape: GroupShape | None = None


class GroupShader(Shader):
    """A compiled shader of work groups, and what it was emitted as."""

    def __init__(self, context: GlContext, program: Any, code: GroupCode) -> None:
        """Take over a program."""
        super().__init__(context, program)
        self.code = code


class FragmentRecorder:
    """Makes a plan's steps ready: those that draw by itself, others by who knows them."""

    def __init__(
        self,
        context: GlContext,
        plan: Plan,
        machine: Machine,
        device: Device,
        buffers: Mapping[str, GlBuffer],
    ) -> None:
        """buffers: of the plan's textures, by name."""
        self.context, self.plan, self.machine, self.device = context, plan, machine, device
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers = buffers
        self.uniforms, self.blocks = UniformTable(), UniformBlocks()

    def steps(self, record: Record, *, apart: bool) -> list[RecordedSteps]:
        """The plan's steps in order; uniforms and blocks are to be settled next.

        record: for passes that draw no fragments. apart: every pass by itself, as an observer wants
        them.
        """
        fuses = not apart and not self.machine.arithmetic.rounds
        groups: list[RecordedSteps] = []
        for step in fused_steps(self.plan, apart=not fuses):
            if isinstance(step, UnfusedRepeat):
                calls = tuple(self._member(member, step.count, record) for member in step.body)
                passes = tuple(m.passes[0] if isinstance(m, FusedPasses) else m for m in step.body)
                groups.append(RecordedSteps(step.count, passes, calls))
            elif isinstance(step, FusedPasses):
                groups.append(self._loop(step, record))
            else:
                groups.append(RecordedSteps(1, (step,), (record(step, 1),)))
        return list(joined(groups))

    def _member(self, member: FusedPasses | Pass, count: int, record: Record) -> Call:
        """A pass of a Repeat whose iterations run one at a time."""
        if not isinstance(member, FusedPasses):
            return record(member, count)
        return self._groups(member) or self._pass(member.passes[0], count, record)

    def _loop(self, loop: FusedPasses, record: Record) -> RecordedSteps:
        """A Loop whose iterations run in one go; pass by pass where work groups are not for it."""
        dispatch = self._groups(loop)
        if dispatch is None:
            calls = tuple(self._pass(pass_, loop.count, record) for pass_ in loop.passes)
            return RecordedSteps(loop.count, loop.passes, calls)
        alone = loop.passes if loop.count == len(loop.passes) == 1 else ()
        return RecordedSteps(dispatch.pieces, alone, (dispatch,))

    def _pass(self, pass_: Pass, count: int, record: Record) -> Call:
        if isinstance(pass_, FragmentPass):
            return self._fragments(pass_, count)
        return record(pass_, count)

    # Work groups ---------------------------------------------------------------------------

    def _groups(self, loop: FusedPasses) -> Dispatch | None:
        """A Loop on work groups; None where they are not for it."""
        if self.machine.arithmetic.rounds:
            return None
        content, arguments = group_content(loop, self.textures)
        try:
            shader = self._group_shader(content, loop.passes)
        except UnsupportedError:
            return None
        code = shader.code
        rows = uniform_blocks(code, arguments)
        if len(rows) > 1 and not loop.alternates:
            return None
        iterations = self._stretches(loop, code)
        across, up = code.shape.tile
        return Dispatch(
            self.context,
            shader,
            self.uniforms.add(shader, {ITERATIONS: iterations}),
            [self.buffers[name] for name in arguments.textures],
            (-(-arguments.width // across), -(-arguments.height // up)),
            block=self.blocks.add(rows),
            pieces=len(iterations),
        )

    def _stretches(self, loop: FusedPasses, code: GroupCode) -> NDArray[np.int32]:
        """The iterations of each dispatch, (n, 2): the first, and the one after the last."""
        most = self.device.most_iterations
        if loop.alternates:
            together = 1
        else:
            together = loop.count if most is None else max(1, most // (code.trips + 2))
        first = np.arange(0, loop.count, together)
        return np.stack([first, np.minimum(first + together, loop.count)], axis=1).astype(np.int32)

    def _group_shader(self, content: Content, passes: tuple[Pass, ...]) -> GroupShader:
        device, exact = self.device, self.machine.exact
        shape = device.shape or group_shape(content)
        self._require_blocks(len(content.surfaces), passes)

        def make() -> GroupShader:
            code = emit_groups(content, shape, device.shared_bytes, exact=exact)
            name = content.draws[0].program.name
            program = self.context.compile(name, compute_shader=code.text)
            return GroupShader(self.context, program, code)

        return self.context.program((content, shape, device.shared_bytes, exact), make)

    # An invocation a fragment --------------------------------------------------------------

    def _fragments(self, pass_: FragmentPass, count: int) -> Dispatch:
        """A pass, one invocation a fragment."""
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
        """Raise PlanError where a shader would have more storage buffers than it may."""
        most = self.device.storage_blocks
        if needed > most:
            programs = {p.program.name for p in passes if isinstance(p, FragmentPass)}
            raise PlanError(
                f"plan {self.plan.name}: {' and '.join(sorted(programs))} has to do with {needed} "
                f"textures at once, and a compute shader has {most} storage buffers here; choose "
                "another executor"
            )
