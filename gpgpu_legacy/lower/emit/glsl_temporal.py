"""Temporal tiling as a GLSL compute shader: several iterations on a tile of fragments.

lower/temporal_tiling.py makes the statements. Textures and the uniform block are as in
emit/glsl_workgroups.py.
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.lower.analysis.rerolling import live_segments
from gpgpu_legacy.lower.content import refuse_unsupported
from gpgpu_legacy.lower.emit.glsl_compute import buffer
from gpgpu_legacy.lower.emit.glsl_workgroups import ITERATIONS, GroupEmitter
from gpgpu_legacy.lower.fused_body import fused_body
from gpgpu_legacy.lower.group_code import GroupCode
from gpgpu_legacy.lower.invocation import CORNER, FIRST, THREAD, texture_array
from gpgpu_legacy.lower.ir import Given
from gpgpu_legacy.lower.temporal import TemporalContent
from gpgpu_legacy.lower.temporal_shape import TemporalShape
from gpgpu_legacy.lower.temporal_tiling import (
    COMPLETE,
    ITERATION,
    TemporalTiling,
    shared_array,
    stored_array,
)
from gpgpu_legacy.lower.workgroups import GroupShape


@lru_cache(maxsize=256)
def emit_temporal(content: TemporalContent, shape: TemporalShape, *, exact: bool) -> GroupCode:
    """The iterations of passes that read neighbours as a compute shader, once for equal ones.

    Raises UnsupportedError for fog and bent attributes.

    Run it on as many groups as the rectangle has tiles of `shape.stored`, with the surfaces'
    buffers at their numbers as bindings, those that live surfaces are stored in at the bindings
    after them, in the order of `content.live`, the uniform block BLOCK, and the uniform ITERATIONS:
    the first, one past the last, of which there are at most `shape.iterations`, and whether these
    are the last of all. Where numbers vary, each vector of the block is an array of so many. What a
    live surface has around the rectangle, its other buffer has, too.
    """
    refuse_unsupported(content.content)
    body = fused_body(content.content, as_level=False)
    emitter = _TemporalEmitter(content, shape, exact=exact)
    lines = emitter.block(TemporalTiling(content, body, shape).statements())
    text = _shader(content, shape, emitter, lines)
    trips = sum(s.trips for draw in content.content.draws for s in live_segments(draw))
    group = GroupShape(shape.threads, shape.columns, shape.rows, k_depth=0)
    return GroupCode(text, group, tuple(emitter.given.values()), trips)


def _shader(
    content: TemporalContent, shape: TemporalShape, emitter: _TemporalEmitter, lines: list[str]
) -> str:
    """The text around the statements of main."""
    buffers, surfaces = [], content.content.surfaces
    for number, surface in enumerate(surfaces):
        writes = surface.written and number not in content.live
        access = "restrict " if writes else "readonly restrict "
        buffers.append(buffer(number, access, texture_array(content.content, number)))
    for place, number in enumerate(content.live):
        array = stored_array(content, number)
        buffers.append(buffer(len(surfaces) + place, "writeonly restrict ", array))
    shared = [shared_array(content, shape, number) for number in content.near]
    (left, _), (down, _) = shape.margins(content.reach)
    width, height = shape.stored(content.reach)
    corner = f"ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height}) - ivec2({left}, {down})"
    known = {
        COMPLETE: f"{ITERATIONS}.z != 0",
        THREAD: "ivec2(gl_LocalInvocationID.xy)",
        CORNER: corner,
    }
    return emitter.shader(shape.threads, buffers, shared, known, lines)


class _TemporalEmitter(GroupEmitter):
    """What passes give is of the iteration, where it varies."""

    iterations = "ivec3"

    def __init__(self, content: TemporalContent, shape: TemporalShape, *, exact: bool) -> None:
        super().__init__(content.content, (), exact=exact)
        self.lengths = f"[{shape.iterations}]" if content.varies else ""

    def source(self, given: Given) -> str:
        index = f"[{ITERATION.name} - {FIRST.name}]" if self.lengths else ""
        return self.named(given) + index
