"""What a plan costs: passes, dispatches, instructions and bytes, summed over all its passes.

The rules. A lookup asks for one texel of the bound texture's format. A fragment writes one texel of
the format of each of its targets; a blended write reads it too, and the blend is one arithmetic
operation a target. A copy reads and writes each texel, a clear writes those of all layers. Nothing
here depends on a cache: these are the bytes that instructions ask for (Hall, Carr & Hart 2003,
Sections 5.1 and 5.2). Dispatches are counted by what their invocations do (count/kernels.py); they
have no geometry.

In a Repeat, counts depend on the sizes of rectangles, on work groups, and on the uniforms that
decide what a kernel does; all other numbers may vary at no cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace

from gpgpu_legacy.arguments import as_instance
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.kernels import count_compute_pass, distinct_dispatches
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.kernel.dependence import control_uniforms
from gpgpu_legacy.plan.expand import areas_of
from gpgpu_legacy.plan.plan import (
    Blend,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Input,
    Output,
    Pass,
    Plan,
    Rect,
    Texture,
)


@dataclass(frozen=True, slots=True)
class Accounting:
    """What is assumed of a plan where its text does not decide.

    vertex_bytes: of a vertex as it is sent. The default is a position alone, three floats; with
    each texture coordinate set that a program reads it grows by that set's components.
    """

    vertex_bytes: int = 12

    def __post_init__(self) -> None:
        if self.vertex_bytes < 1:
            raise InputError(f"a vertex of {self.vertex_bytes} bytes; the least is 1")


POSITIONS_ALONE = Accounting()


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a plan or of a pass. Bytes are bytes; the rest are numbers of things.

    passes: fragment passes, the paper's; copies and clears are not among them.
    arithmetic: arithmetic instructions, blends included, and kernels' operators on floats and
    doubles (four for one on a vec4). blend: those of them that are blends, one a target.
    bytes_requested: lookups and framebuffer writes (and reads, where they blend), and kernels'
    loads and stores of buffers.
    copy_bytes: framebuffer-to-texture copies, which the paper's Table 1 leaves out.
    clear_bytes: written by clears and by textures' initial values, to all layers.
    geometry_bytes: of the vertices that rectangles are drawn by. upload_bytes, readback_bytes:
    texels over the bus.
    dispatches, invocations: of kernels; guarded-out invocations are among them.
    global_loads, global_stores, shared_loads, shared_stores: elements of buffers and of shared
    arrays, over all invocations. barriers: waits of one invocation, summed over the invocations.
    vertex_bytes: the accounting's, no count: what geometry_bytes has for a vertex. vertices:
    follows from the two.
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
    vertex_bytes: int = POSITIONS_ALONE.vertex_bytes
    vertices: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", self.geometry_bytes // self.vertex_bytes)

    def __add__(self, other: Counts) -> Counts:
        """Both together; ValueError where their vertices differ in bytes."""
        if self.vertex_bytes != other.vertex_bytes:
            raise ValueError(
                f"counts with vertices of {self.vertex_bytes} and of {other.vertex_bytes} bytes do "
                "not add up; count both with one Accounting"
            )
        return replace(
            self, **{name: getattr(self, name) + getattr(other, name) for name in _ADDITIVE}
        )

    def times(self, count: int) -> Counts:
        """The same, `count` times over."""
        return replace(self, **{name: getattr(self, name) * count for name in _ADDITIVE})


_ADDITIVE = tuple(f.name for f in fields(Counts) if f.name not in {"vertex_bytes", "vertices"})


def count_plan(plan: Plan, accounting: Accounting = POSITIONS_ALONE) -> Counts:
    """Count a whole plan. A Repeat is counted by multiplication; the result is its expansion's.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    as_instance("plan", plan, Plan)
    as_instance("accounting", accounting, Accounting)
    totals = Counts(
        clear_bytes=sum(_bytes(t) for t in plan.textures if t.initial is not None),
        upload_bytes=_transfer_bytes(plan, plan.inputs),
        readback_bytes=_transfer_bytes(plan, plan.outputs),
        vertex_bytes=accounting.vertex_bytes,
    )
    for times, pass_ in plan.weighted_passes():
        totals += count_repeated(plan, pass_, times, accounting)
    return totals


def count_pass(plan: Plan, pass_: Pass, accounting: Accounting = POSITIONS_ALONE) -> Counts:
    """Count one pass of a plan, in which no number varies."""
    return count_repeated(plan, pass_, 1, accounting)


def count_repeated(
    plan: Plan, pass_: Pass, times: int, accounting: Accounting = POSITIONS_ALONE
) -> Counts:
    """Count a pass of a Repeat, in all of its iterations."""
    none = Counts(vertex_bytes=accounting.vertex_bytes)
    match pass_:
        case CopyPass():
            texel = plan.texture(pass_.source).format.texel_bytes
            return replace(none, copy_bytes=2 * texel * sum(areas_of(pass_.source_rect, times)))
        case ClearPass():
            return replace(none, clear_bytes=times * _bytes(plan.texture(pass_.target)))
        case ComputePass():
            controlling = control_uniforms(pass_.kernel, indices=False)
            dispatches = distinct_dispatches(pass_, times, controlling)
            return sum((_dispatch(plan, one, none).times(n) for n, one in dispatches), none)
    rect = pass_.rect if isinstance(pass_.rect, Rect) else pass_.rect.at(0)
    vertices = times * len(rect.corners)
    return replace(
        _fragment_counts(plan, pass_, none).times(sum(areas_of(pass_.rect, times))),
        passes=times,
        geometry_bytes=vertices * accounting.vertex_bytes,
    )


def _dispatch(plan: Plan, pass_: ComputePass, none: Counts) -> Counts:
    return replace(none, dispatches=1, **asdict(count_compute_pass(plan, pass_)))


def _fragment_counts(plan: Plan, pass_: FragmentPass, none: Counts) -> Counts:
    """What one fragment of a pass costs."""
    instructions = count_instructions(pass_.program)
    bound = {binding.unit: plan.texture(binding.texture) for binding in pass_.bindings}
    looked_up = sum(
        bound[i.texture.unit].format.texel_bytes
        for i in pass_.program.instructions
        if i.texture is not None
    )
    blends = 0 if pass_.blend is Blend.NONE else len(pass_.targets)
    texels = sum(plan.texture(target).format.texel_bytes for target in pass_.targets)
    return replace(
        none,
        fragments=1,
        arithmetic=instructions.arithmetic + blends,
        blend=blends,
        lookup=instructions.lookup,
        kill=instructions.kill,
        bytes_requested=looked_up + texels * (2 if blends else 1),
    )


def _bytes(texture: Texture) -> int:
    """Of all layers."""
    return texture.extent.width * texture.extent.rows * texture.format.texel_bytes


def _transfer_bytes(plan: Plan, transfers: Iterable[Input | Output]) -> int:
    return sum(t.rect.area * plan.texture(t.texture).format.texel_bytes for t in transfers)


def fragments_per_pass(plan: Plan) -> int | None:
    """Fragments of each fragment pass; None where passes differ or there are none."""
    areas = {
        area
        for times, pass_ in plan.weighted_passes()
        if isinstance(pass_, FragmentPass)
        for area in set(areas_of(pass_.rect, times))
    }
    return areas.pop() if len(areas) == 1 else None
