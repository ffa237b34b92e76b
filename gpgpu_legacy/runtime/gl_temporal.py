"""Temporal tiling on OpenGL: several iterations of passes that read neighbours in one dispatch.

While tiles are stored, others still read what lay there before. So what an iteration reads of the
one before it has a second buffer, its twin, and dispatches go from one to the other. The last one
ends in the plan's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import NoDeviceRoomError
from gpgpu_legacy.lower.analysis.fusion import UnfusedRepeat
from gpgpu_legacy.lower.analysis.neighbourhood import neighbourhood
from gpgpu_legacy.lower.emit.glsl_groups import ITERATIONS, emit_temporal
from gpgpu_legacy.lower.fused.content import Arguments, UnsupportedError
from gpgpu_legacy.lower.groups.code import uniform_blocks, uniform_blocks_together
from gpgpu_legacy.lower.temporal.content import (
    GroupRoom,
    TemporalContent,
    TemporalShape,
    temporal_content,
    usual_shape,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.gl import GlContext
from gpgpu_legacy.runtime.gl_dispatch import Dispatch, GlBuffer, UniformBlocks
from gpgpu_legacy.runtime.gl_prepared import Call, RecordedSteps
from gpgpu_legacy.runtime.gl_shader import GroupShader, UniformTable


class Twins:
    """Second buffers of a plan's textures, allocated when they are first wanted."""

    def __init__(self, context: GlContext, buffers: Mapping[str, GlBuffer]) -> None:
        """buffers: the first, by name."""
        self._context, self._buffers = context, buffers
        self._twins: dict[str, GlBuffer] = {}

    def of(self, name: str) -> GlBuffer:
        """The twin of a texture's buffer. Raises UnsupportedError where there is no room."""
        if name not in self._twins:
            try:
                self._twins[name] = self._context.buffer(self._buffers[name].size)
            except NoDeviceRoomError as error:
                raise UnsupportedError("no room for a second buffer") from error
        return self._twins[name]

    def release(self) -> None:
        """Release all of them."""
        for twin in self._twins.values():
            twin.release()


@dataclass(frozen=True, slots=True)
class TemporalRecorder:
    """Records Repeats of a plan whose passes read neighbours.

    room: what the device has for them. buffers: of the plan's textures, by name. exact: whether
    multiply-adds are rounded twice. shape: of the code, if it is tuned.
    """

    context: GlContext
    plan: Plan
    room: GroupRoom
    buffers: Mapping[str, GlBuffer]
    twins: Twins
    uniforms: UniformTable
    blocks: UniformBlocks
    exact: bool
    shape: TemporalShape | None

    def steps(self, repeat: UnfusedRepeat) -> list[RecordedSteps]:
        """A Repeat in few dispatches; empty where its passes had better run one at a time."""
        found = neighbourhood(repeat, self.plan)
        if found is None:
            return []
        try:
            textures = {texture.name: texture for texture in self.plan.textures}
            content, arguments = temporal_content(found, textures)
            fragments = found.width * found.height
            shape = self.shape or usual_shape(content, fragments, found.count, self.room)
            if shape is None or not self.room.takes(content, shape):
                return []
            return self._recorded(content, arguments, shape)
        except UnsupportedError:
            return []

    def _recorded(
        self, content: TemporalContent, arguments: Arguments, shape: TemporalShape
    ) -> list[RecordedSteps]:
        shader = self._shader(content, shape, arguments)
        live = [arguments.textures[n] for n in content.live]
        twins = {name: self.twins.of(name) for name in live}
        across, up = shape.stored(content.reach)
        groups = (-(-arguments.width // across), -(-arguments.height // up))

        def dispatch(ranges: NDArray[np.int32], *, back: bool) -> Dispatch:
            """From a texture's own buffer to its twin, or back; ranges: of each call."""
            first = [self.buffers[name] for name in arguments.textures]
            second = [twins[name] for name in live]
            if back:
                second = [self.buffers[name] for name in live]
                first = [twins.get(name, self.buffers[name]) for name in arguments.textures]
            uniforms = self.uniforms.add(shader, {ITERATIONS: ranges})
            if content.varies:
                rows = uniform_blocks_together(shader.code, arguments, ranges, shape.iterations)
            else:
                rows = uniform_blocks(shader.code, arguments)
            block = self.blocks.add(rows)
            return Dispatch(self.context, shader, uniforms, [*first, *second], groups, block=block)

        ranges = _ranges(arguments.count, shape.iterations)
        odd = len(ranges) % 2
        steps: list[RecordedSteps] = []
        if odd or any(map(any, content.keeps)):
            copies = tuple(self._copy(self.buffers[name], twins[name]) for name in live)
            last = (dispatch(ranges[:1], back=True),) if odd else ()
            steps.append(RecordedSteps(1, (), (*copies, *last)))
        if len(ranges) > 1:
            there = dispatch(ranges[odd::2], back=False)
            back = dispatch(ranges[odd + 1 :: 2], back=True)
            steps.append(RecordedSteps(len(ranges) // 2, (), (there, back)))
        return steps

    def _shader(
        self, content: TemporalContent, shape: TemporalShape, arguments: Arguments
    ) -> GroupShader:
        if len(arguments.textures) + len(content.live) > self.room.storage_blocks:
            raise UnsupportedError("more buffers than a shader may have")

        def make() -> GroupShader:
            code = emit_temporal(content, shape, exact=self.exact)
            program = self.context.compile(self.plan.name, compute_shader=code.text)
            return GroupShader(self.context, program, code)

        return self.context.program((content, shape, self.exact), make)

    def _copy(self, source: GlBuffer, target: GlBuffer) -> Call:
        gl = self.context.handle

        def call(_: int) -> None:
            gl.memory_barrier()
            gl.copy_buffer(target, source)

        return call


def _ranges(count: int, together: int) -> NDArray[np.int32]:
    """The iterations of each dispatch, (n, 3): the first, one past the last, whether all are done.

    As many in each as they can be alike.
    """
    pieces = -(-count // together)
    ends = np.arange(pieces + 1) * count // pieces
    return np.stack([ends[:-1], ends[1:], ends[1:] == count], axis=1).astype(np.int32)
