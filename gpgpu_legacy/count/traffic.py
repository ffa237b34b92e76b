"""What a plan costs: passes, dispatches, instructions and bytes, summed over all its passes.

The rules. A lookup asks for one texel of the bound texture's format. A fragment writes one texel of
its target's format; a blended write reads it too, and the blend is one arithmetic operation. A copy
reads and writes each texel. Nothing here depends on a cache: these are the bytes that instructions
ask for (Hall, Carr & Hart 2003, Sections 5.1 and 5.2). Dispatches are counted by what their
invocations do (count/kernels.py); they have no geometry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.kernels import count_compute_pass
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import (
    Affine,
    Blend,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Input,
    Output,
    Pass,
    Plan,
    constant_rect,
)

VERTEX_BYTES = 12  # three floats a position
RECTANGLE_VERTICES = 4  # together the "about 48 bytes per pass" of Section 5.1


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a plan or of a pass. Bytes are bytes; the rest are numbers of things.

    passes: fragment passes, the paper's; copies and clears are not among them.
    arithmetic: arithmetic instructions, blends included, and kernels' operators on floats and
    doubles (four for one on a vec4). blend: those of them that are blends.
    bytes_requested: lookups and framebuffer writes (and reads, where they blend), and kernels'
    loads and stores of buffers.
    copy_bytes: framebuffer-to-texture copies, which the paper's Table 1 leaves out.
    clear_bytes: written by clears and by textures' initial values.
    geometry_bytes: vertices. upload_bytes, readback_bytes: texels over the bus.
    dispatches, invocations: of kernels; guarded-out invocations are among them.
    global_loads, global_stores, shared_loads, shared_stores: elements of buffers and of shared
    arrays, over all invocations. barriers: waits of one invocation, summed over the invocations.
    """

    passes: int = 0
    fragments: int = 0
    arithmetic: int = 0
    blend: int = 0
    lookup: int = 0
    kill: int = 0
    bytes_requested: int = 0
    copy_bytes: int = 0
    clear_bytes: int = 0
    geometry_bytes: int = 0
    upload_bytes: int = 0
    readback_bytes: int = 0
    dispatches: int = 0
    invocations: int = 0
    global_loads: int = 0
    global_stores: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    barriers: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def times(self, count: int) -> Counts:
        """The same, `count` times over."""
        return Counts(*(getattr(self, f.name) * count for f in fields(self)))


def count_plan(plan: Plan) -> Counts:
    """Count a whole plan. A Repeat is counted by multiplication; the result is its expansion's.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    totals = Counts(
        clear_bytes=sum(
            t.extent.width * t.extent.height * t.format.texel_bytes
            for t in plan.textures
            if t.initial is not None
        ),
        upload_bytes=_transfer_bytes(plan, plan.inputs),
        readback_bytes=_transfer_bytes(plan, plan.outputs),
    )
    for times, each in plan.weighted_passes():
        totals += _count_repeated(plan, each, times)
    return totals


def _count_repeated(plan: Plan, each: Pass, times: int) -> Counts:
    """A pass carried out `times` times; what a kernel does may depend on its uniforms' values."""
    if isinstance(each, ComputePass) and any(isinstance(u.value, Affine) for u in each.uniforms):
        turns = (count_pass(plan, at_iteration(each, turn)) for turn in range(times))
        return sum(turns, Counts())
    return count_pass(plan, each).times(times)


def count_pass(plan: Plan, each: Pass) -> Counts:
    """Count one pass of a plan."""
    if isinstance(each, CopyPass):
        texel = plan.texture(each.source).format.texel_bytes
        return Counts(copy_bytes=2 * texel * constant_rect(each.source_rect).area)
    if isinstance(each, ClearPass):
        target = plan.texture(each.target)
        texels = target.extent.width * target.extent.height
        return Counts(clear_bytes=texels * target.format.texel_bytes)
    if isinstance(each, ComputePass):
        return Counts(dispatches=1, **asdict(count_compute_pass(plan, each)))
    return _fragment_counts(plan, each).times(constant_rect(each.rect).area) + Counts(
        passes=1, geometry_bytes=RECTANGLE_VERTICES * VERTEX_BYTES
    )


def _fragment_counts(plan: Plan, each: FragmentPass) -> Counts:
    """What one fragment of a pass costs."""
    instructions = count_instructions(each.program)
    bound = {binding.unit: plan.texture(binding.texture) for binding in each.bindings}
    looked_up = sum(
        bound[i.texture.unit].format.texel_bytes
        for i in each.program.instructions
        if i.texture is not None
    )
    blends = 0 if each.blend is Blend.NONE else 1
    written = plan.texture(each.target).format.texel_bytes * (1 + blends)
    return Counts(
        fragments=1,
        arithmetic=instructions.arithmetic + blends,
        blend=blends,
        lookup=instructions.lookup,
        kill=instructions.kill,
        bytes_requested=looked_up + written,
    )


def _transfer_bytes(plan: Plan, transfers: Iterable[Input | Output]) -> int:
    return sum(t.rect.area * plan.texture(t.texture).format.texel_bytes for t in transfers)


def fragments_per_pass(plan: Plan) -> int | None:
    """Fragments of each fragment pass; None where passes differ or there are none."""
    areas = {
        constant_rect(p.rect).area for _, p in plan.weighted_passes() if isinstance(p, FragmentPass)
    }
    return areas.pop() if len(areas) == 1 else None
