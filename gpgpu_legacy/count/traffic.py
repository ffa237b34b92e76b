"""The cost of a plan: passes, dispatches, instructions and bytes, summed over all its passes.

The rules. A lookup requests one texel of the bound texture's format. A fragment writes one texel to
each of its targets; a blended write reads that texel as well, and the blend is one arithmetic
operation for each target. A copy reads and writes each texel, and a clear writes the texels of all
layers. None of it depends on a cache: these are the bytes that instructions request (Hall, Carr &
Hart 2003, Sections 5.1 and 5.2). Dispatches are counted by the operations of their invocations;
they have no geometry.

In a Repeat, the counts depend on the sizes of rectangles, on the numbers of work groups and on the
uniforms that control flow depends on. Other numbers may change without changing a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from gpgpu_legacy.count.instructions import count_instructions, lookups_by_unit
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.interp.kernel import CountingMachine
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import check_data_independent, control_uniforms
from gpgpu_legacy.isa.types import Type
from gpgpu_legacy.plan.expand import at_iteration, drawn_areas, total_area, values_of
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    numbered_passes,
    varies,
)
from gpgpu_legacy.plan.textures import MovingRect, Rect, Transfer

VERTEX_BYTES = 12
"""Bytes of a vertex sent to the GPU: a position of three floats, and nothing else."""

_VERTICES = 4  # of a rectangle


class Additive:
    """A base of dataclasses of counts, which are added field by field."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        """The sum of both."""
        names = self.__match_args__
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def times(self, count: int) -> Self:
        """The counts of that many repetitions."""
        return type(self)(*(getattr(self, name) * count for name in self.__match_args__))


@dataclass(frozen=True, slots=True, repr=False)
class Counts(Additive):
    """The total cost of a plan or a pass. Names that end in _bytes are in bytes.

    passes: of the plan: draws, copies, clears and dispatches.
    draws: those that draw fragments, which are all that the paper's tables count.
    fragments: fragments shaded.
    arithmetic: arithmetic instructions and blends, and kernels' operations on floats and doubles
    (an operation on a vec4 counts as four).
    blend: the blends among them, one for each target.
    lookup, kill: texture lookups and KIL instructions, over all fragments.
    bytes_requested: texels that lookups read and fragments write (and read, if they blend), and
    elements that kernels load from and store to buffers.
    copy_bytes: read and written by copies, which the paper's Table 1 leaves out.
    clear_bytes: written by clears and by the initial values of textures, in all layers.
    geometry_bytes: the vertices of the rectangles drawn.
    upload_bytes, readback_bytes: texels that inputs and outputs transfer.
    dispatches, invocations: of kernels; invocations that exit at a guard are included.
    global_loads, global_stores, shared_loads, shared_stores: elements of storage buffers and of
    shared arrays, over all invocations.
    barriers: waits of single invocations, over all invocations.
    vertex_bytes: the assumed size of a vertex; not a count.
    vertices: geometry_bytes / vertex_bytes.
    """

    passes: int = 0
    draws: int = 0
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
    vertex_bytes: int = field(init=False, compare=False, default=VERTEX_BYTES)
    vertices: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", self.geometry_bytes // self.vertex_bytes)

    @property
    def accesses(self) -> int:
        """The loads and stores of kernels, of both kinds."""
        stores = self.global_stores + self.shared_stores
        return self.global_loads + self.shared_loads + stores

    def __repr__(self) -> str:
        """The counts that are not 0, as the call that makes them."""
        values = ((f.name, getattr(self, f.name), f.default) for f in fields(self) if f.init)
        shown = (f"{name}={value}" for name, value, default in values if value != default)
        return f"Counts({', '.join(shown)})"


ADDITIVE = Counts.__match_args__


@lru_cache(maxsize=64)
def count_plan(plan: Plan) -> Counts:
    """Count a whole plan.

    A Repeat is counted once and multiplied, which gives the same as counting its expansion. Raises
    PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    totals = Counts(
        clear_bytes=sum(t.size_bytes for t in plan.textures if t.initial is not None),
        upload_bytes=_transfer_bytes(plan, plan.inputs),
        readback_bytes=_transfer_bytes(plan, plan.outputs),
    )
    for times, pass_ in plan.weighted_passes():
        totals += count_pass(plan, pass_, times)
    return totals


def count_pass(plan: Plan, pass_: Pass, times: int = 1) -> Counts:
    """Count a pass of a plan, in all `times` iterations of its Repeat."""
    match pass_:
        case CopyPass():
            texel = plan.texture(pass_.source).format.texel_bytes
            moved = 2 * texel * total_area(pass_.source_rect, times)
            return Counts(passes=times, copy_bytes=moved)
        case ClearPass():
            cleared = times * plan.texture(pass_.target).size_bytes
            return Counts(passes=times, clear_bytes=cleared)
        case ComputePass():
            controlling = control_uniforms(pass_.kernel, indices=False)
            dispatches = distinct_dispatches(pass_, times, controlling)
            return sum((count_compute_pass(plan, d).times(n) for n, d in dispatches), Counts())
    fragments = sum(often * area for often, area in drawn_areas(pass_, times))
    return replace(
        _fragment_counts(plan, pass_).times(fragments),
        passes=times,
        draws=times,
        geometry_bytes=times * _VERTICES * VERTEX_BYTES,
    )


def _fragment_counts(plan: Plan, pass_: FragmentPass) -> Counts:
    """The cost of one fragment of a pass."""
    instructions = count_instructions(pass_.program)
    bound = {binding.unit: plan.texture(binding.texture) for binding in pass_.bindings}
    looked_up = sum(
        lookups * bound[unit].format.texel_bytes for unit, lookups in lookups_by_unit(pass_.program)
    )
    blends = len(pass_.targets) if pass_.blend else 0
    texels = sum(plan.texture(target).format.texel_bytes for target in pass_.targets)
    return Counts(
        fragments=1,
        arithmetic=instructions.arithmetic + blends,
        blend=blends,
        lookup=instructions.lookup,
        kill=instructions.kill,
        bytes_requested=looked_up + texels * (2 if blends else 1),
    )


def _transfer_bytes(plan: Plan, transfers: Iterable[Transfer]) -> int:
    return sum(t.rect.area * plan.texture(t.texture).format.texel_bytes for t in transfers)


def fragments_per_pass(plan: Plan) -> int | None:
    """The number of fragments of each fragment pass; None if passes differ, or there are none."""
    areas = {
        area
        for times, pass_ in plan.weighted_passes()
        if isinstance(pass_, FragmentPass)
        for _, area in drawn_areas(pass_, times)
    }
    return areas.pop() if len(areas) == 1 else None


# Dispatches --------------------------------------------------------------------------------------
#
# The operations of a dispatch are counted exactly by running its control flow without any data.
#
# The control flow of countable kernels depends only on integers and uniforms, which is checked
# first. So the counter loads nothing, computes no address, and computes values that all invocations
# share only once. If the iterations of a loop differ only in data and addresses, its body runs once
# and its counts are multiplied; only its condition and its step run in every iteration.


def distinct_dispatches(
    pass_: ComputePass, count: int, uniforms: Collection[str]
) -> Iterator[tuple[int, ComputePass]]:
    """The dispatches of a Repeat that differ in work groups or in the named uniforms.

    Yields one dispatch of each kind with the number of dispatches like it.
    """
    if not varies(pass_):
        yield count, pass_
        return
    controlling = [uniform.value for uniform in pass_.uniforms if uniform.name in uniforms]
    rows = list(zip(*(values_of(n, count) for n in (*controlling, *pass_.groups)), strict=True))
    first = {row: count - 1 - i for i, row in enumerate(reversed(rows))}
    for row, times in Counter(rows).items():
        yield times, at_iteration(pass_, first[row])


def count_compute_pass(plan: Plan, pass_: ComputePass) -> Counts:
    """Count one dispatch of a plan, in which no number changes from iteration to iteration.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    check_data_independent(pass_.kernel)
    bound = {b.binding: plan.texture(b.texture).format.texel_bytes for b in pass_.buffers}
    tally = _Tally(pass_, {b.name: bound[b.binding] for b in pass_.kernel.buffers})
    tally.run()
    return Counts(passes=1, dispatches=1, invocations=pass_.invocations, **tally.totals)


class _Tally(CountingMachine):
    """A machine that counts the operations of active invocations."""

    def __init__(self, pass_: ComputePass, element_bytes: dict[str, int]) -> None:
        super().__init__(pass_)
        self.invocations, self.element_bytes = pass_.invocations, element_bytes
        self.totals: Counter[str] = Counter()

    def active(self) -> int:
        """The active invocations of the whole grid, times the weight."""
        mask = self.mask
        if mask is None:
            return self.invocations * self.weight
        return int(np.count_nonzero(mask)) * (self.invocations // mask.size) * self.weight

    def access(self, element: Element, *, store: bool) -> None:
        active = self.active()
        space = "shared" if element.array.is_shared else "global"
        self.totals[f"{space}_{'stores' if store else 'loads'}"] += active
        if not element.array.is_shared:
            self.totals["bytes_requested"] += active * self.element_bytes[element.array.name]

    def arithmetic(self, type_: Type) -> None:
        self.totals["arithmetic"] += self.active() * type_.width

    def barrier(self) -> None:
        self.totals["barriers"] += self.active()


# Passes that do the same work, together ----------------------------------------------------------


@frozen
class PassCounts:
    """The cost of the passes of a plan that do the same work, all together.

    pass_: the first of them, as the plan writes it. numbers: of all of them. counts: their total
    cost.
    """

    pass_: Pass
    numbers: tuple[range, ...]
    counts: Counts

    @property
    def runs(self) -> int:
        """The number of the passes."""
        return sum(map(len, self.numbers))


def count_by_pass(plan: Plan) -> tuple[PassCounts, ...]:
    """The cost of each pass of a plan, in the order in which they first run.

    Passes do the same work if they draw rectangles of one size with the same program and textures;
    positions, parameters and coordinates make no difference. Together with transfers and initial
    values, the counts add up to those of the plan. Raises PlanError as count_plan does.
    """
    groups: dict[Hashable, list[tuple[range, Pass]]] = {}
    for numbers, pass_ in numbered_passes(plan):
        groups.setdefault(work_of_pass(pass_), []).append((numbers, pass_))
    return tuple(
        PassCounts(
            group[0][1],
            tuple(numbers for numbers, _ in group),
            sum((count_pass(plan, pass_, len(n)) for n, pass_ in group), Counts()),
        )
        for group in groups.values()
    )


def work_of_pass(pass_: Pass) -> Hashable:
    """The properties that decide the cost of a pass, with the textures that it reads and writes.

    Passes with equal properties do the same work.
    """
    match pass_:
        case FragmentPass():
            textures = (pass_.bindings, pass_.targets, pass_.writes)
            drawn = _size(pass_.rect) if pass_.scissor is None else (pass_.rect, pass_.scissor)
            return (pass_.program, *textures, drawn)
        case CopyPass():
            return (pass_.source, pass_.target, _size(pass_.source_rect))
        case ClearPass():
            return (pass_.target,)
        case ComputePass():
            return replace(pass_, independent=False)


def _size(rect: Rect | MovingRect) -> Hashable:
    return (rect.width, rect.height)
