"""Prepared plans of `jit`: native code on the CPU, fragment programs and kernels by LLVM.

Fused passes (lower/analysis/fusion.py) run all of their iterations on a tile of fragments before
the next tile. The reference machine runs passes that native code does not support, or cannot
compute exactly in an exact run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, groupby

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.interp.numeric import Storage, Stored, slices, views_of
from gpgpu_legacy.isa.kernel import outside
from gpgpu_legacy.lower.analysis.fusion import (
    FusedPasses,
    Steps,
    UnfusedRepeat,
    all_fused,
    fused_steps,
    moved_alone,
)
from gpgpu_legacy.lower.analysis.neighbourhood import neighbourhood, with_neighbours
from gpgpu_legacy.lower.emit.llvm_schedule import BASE, COPY_WORDS, LOW, MATRIX, PLANE
from gpgpu_legacy.lower.fused.content import (
    Arguments,
    Content,
    UnsupportedError,
    gathered_textures,
    live_segments,
    loosened,
    native_content,
)
from gpgpu_legacy.lower.kernels.bounds import unproven
from gpgpu_legacy.lower.machine_code import Words, compile_kernel, words_of
from gpgpu_legacy.plan.expand import at_iteration, number_at
from gpgpu_legacy.plan.plan import ComputePass, CopyPass, FragmentPass, Pass, Plan, constant_groups
from gpgpu_legacy.plan.textures import Matrix, Rect, Texture, Transfer
from gpgpu_legacy.runtime.devices import thread_count
from gpgpu_legacy.runtime.host import HostPrepared, Textures, run_on_reference
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.native import native_code, roomy, schedule_code
from gpgpu_legacy.runtime.prepared import F32, Parts
from gpgpu_legacy.runtime.schedule import (
    NativePass,
    RepeatRun,
    Staging,
    cut,
    native_passes,
    rectangles,
    shape_of,
)
from gpgpu_legacy.runtime.workers import share_out

# Moves -------------------------------------------------------------------------------------------
#
# Matrices to texels and back by all threads, for plans in the host's memory.
#
# Native threads copy numbers to and from float32 textures; NumPy moves all others.


_ELEMENTS = 1 << 14  # in a piece: waking a thread for less costs more, and a cache holds them


def moves(
    transfers: Sequence[Transfer],
    matrices: Sequence[Matrix],
    textures: Mapping[str, Storage],
    cleared: Sequence[str] = (),
    *,
    unpacks: bool = False,
) -> Callable[[Mapping[str, F32]], None]:
    """A function that clears textures, and then moves matrices to texels or, if it unpacks, back.

    matrices: the plan's. textures: from `roomy`. cleared: the names of those to clear.
    """
    shapes = {matrix.name: (matrix.rows, matrix.columns) for matrix in matrices}
    copied, firsts = list[NativePass](), list[tuple[str, int]]()  # where in a matrix each begins
    others, padding = list[Transfer](), list[Stored]()
    for transfer in transfers:
        planes = textures[transfer.texture].planes
        if planes[0].dtype != np.float32:
            others.append(transfer)
            continue
        matrix = np.empty(shapes[transfer.matrix], np.float32)  # for its addresses alone
        views = views_of(matrix, transfer.region, transfer.rect, transfer.packing)
        for plane, view in zip(planes, views, strict=False):
            part, (rows, columns) = plane[slices(transfer.rect)], view.shape
            if not unpacks:
                padding += [p for p in (part[rows:], part[:rows, columns:]) if p.size]
            if view.size:
                firsts.append((transfer.matrix, view.ctypes.data - matrix.ctypes.data))
                copied.append(_copy(part[:rows, :columns], view, unpacks=unpacks))
    copies = RepeatRun(copied) if copied else None
    if copies is not None:  # no copy waits for another
        items = copies.items
        items[:, BASE] = 0
        # The channels of the same texels follow one another, while a cache has them.
        items[:] = items[np.argsort(items[:, LOW], kind="stable")]

    def move(arrays: Mapping[str, F32]) -> None:
        for name in cleared:
            textures[name].reset()
        if copies is not None:
            for (name, first), words in zip(firsts, copies.words, strict=True):
                words[:, MATRIX] = arrays[name].ctypes.data + first
            copies.run()
        for part in padding:
            part[...] = 0
        for transfer in others:
            storage = textures[transfer.texture]
            one = storage.unload if unpacks else storage.load
            one(arrays[transfer.matrix], transfer.region, transfer.rect, transfer.packing)

    return move


def _copy(plane: Stored, matrix: F32, *, unpacks: bool) -> NativePass:
    """A copy to a plane, or from it. matrix: a view of its numbers, for its strides."""
    words = np.zeros(COPY_WORDS, np.int64)
    rows, columns = plane.shape
    steps = np.stack([matrix.strides, plane.strides], axis=1).ravel()
    words[PLANE:] = plane.ctypes.data, *steps, columns, unpacks
    pieces = rectangles([(0, columns)], cut(rows, plane.size // _ELEMENTS, 1))
    return NativePass(schedule_code().copy, words, pieces, plane.size, ())


# Prepared plans ----------------------------------------------------------------------------------


_CHUNKS = 8  # for each thread, so that others can take the work of one that is late

MOST_ANALYSES = 256
"""The most dispatches of a plan that are analysed; so many take a second. Others check every access
of their kernels at run time. Products of 20 000² matrices have 100.
"""

MOST_VERSIONS = 4
"""The most pieces of code that differ in nothing but the offsets of lookups. Passes that would need
more share one piece, to which the offsets are arguments.
"""

Run = Callable[[int, int], object]
"""Runs a range of iterations: from the first up to, but without, the last."""


@frozen
class _Step:
    """Code that runs in turn, `count` times. passes: the plan's, which an observer is shown."""

    count: int
    runs: tuple[Run, ...]
    passes: tuple[Pass, ...] = ()


class JitPrepared(HostPrepared):
    """A plan with its code, its tables and the arguments of every pass."""

    def __init__(self, plan: Plan, machine: Machine) -> None:
        """plan: validated, without Tables."""
        parts = Parts(plan)
        fused = {id(part): tuple(fused_steps(part)) for part in parts.leaves}
        together = tuple(all_fused(tuple(chain.from_iterable(fused.values()))))
        self._interleaved = gathered_textures(together, plan)
        # The first column of a rectangle that is drawn to each texture.
        columns = {
            name: pass_.rect.x
            for pass_ in plan.only(FragmentPass)
            if isinstance(pass_.rect, Rect)
            for name in pass_.targets
        }
        planes = accumulate((t.format.channels for t in plan.textures), initial=0)
        numbers = dict(zip((t.name for t in plan.textures), planes, strict=False))

        def storage(texture: Texture) -> Storage:
            name = texture.name
            return roomy(texture, self._interleaved, columns.get(name, 0), numbers[name])

        super().__init__(plan, machine, storage)
        self.parts = parts
        self._plan_textures = {texture.name: texture for texture in plan.textures}
        self._extents = {texture.name: texture.extent for texture in plan.textures}
        self._staging = Staging()
        self._loose = self._with_many_offsets(together)
        self._analysed: set[ComputePass] = set()
        self._steps = {part: self._prepared_steps(steps) for part, steps in fused.items()}
        self._observed: dict[int, tuple[_Step, ...]] = {}
        self._load = moves(plan.inputs, plan.operands, self.textures, self._reset)
        self._unload = moves(plan.outputs, plan.results, self.textures, unpacks=True)

    def _make_ready(self, *, observed: bool) -> None:
        """Compile the passes one by one, unfused, for the first observed run."""
        if observed and not self._observed:
            self._observed = {
                id(part): self._prepared_steps(tuple(fused_steps(part, apart=True)), apart=True)
                for part in self.parts.leaves
            }

    def _work(self, part: Plan) -> None:
        for step in self._steps[id(part)]:
            if len(step.runs) == 1:
                step.runs[0](0, step.count)
                continue
            for iteration in range(step.count):
                for run in step.runs:
                    run(iteration, iteration + 1)

    def _observed_work(self, part: Plan) -> Iterator[Pass]:
        for step in self._observed[id(part)]:
            for iteration in range(step.count):
                for run, pass_ in zip(step.runs, step.passes, strict=True):
                    run(iteration, iteration + 1)
                    yield at_iteration(pass_, iteration)

    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        if resume:
            super()._upload(operands, resume=resume)
        else:
            self._load(operands)

    def _read_back(self) -> dict[str, F32]:
        results = self._new_results()
        self._unload(results)
        return results

    def _release(self) -> None:
        super()._release()
        self._steps, self._observed = {}, {}
        del self._staging, self._load, self._unload

    # Preparing -----------------------------------------------------------------------------

    def _prepared_steps(self, steps: Steps, *, apart: bool = False) -> tuple[_Step, ...]:
        """Steps, ready to run. apart: each pass runs by itself, and not in a row with others."""
        prepared: list[_Step] = []
        natively = [(step, [] if apart else self._members(step)) for step in steps]
        for is_alone, some in groupby(natively, key=lambda one: not one[1]):
            if is_alone:
                prepared += [self._step(step, apart=apart) for step, _ in some]
            else:
                row = [member for _, members in some for member in members]
                prepared.append(_Step(1, (RepeatRun(row, staging=self._staging).run,)))
        return tuple(prepared)

    def _step(self, step: FusedPasses | UnfusedRepeat | Pass, *, apart: bool) -> _Step:
        if (
            isinstance(step, UnfusedRepeat)
            and step.body
            and not apart
            and (scheduled := self._scheduled(step))
        ):
            return scheduled
        members = step.body if isinstance(step, UnfusedRepeat) else (step,)
        count = step.count if isinstance(step, UnfusedRepeat | FusedPasses) else 1
        runs = tuple(self._runner(member, count) for member in members)
        passes = (m.passes[0] if isinstance(m, FusedPasses) else m for m in members)
        return _Step(count, runs, tuple(passes))

    def _scheduled(self, repeat: UnfusedRepeat) -> _Step | None:
        """A Repeat that native threads run as a whole; None if a pass has no native code."""
        around = neighbourhood(repeat, self.plan)
        members: list[NativePass] = []
        for number, step in enumerate(repeat.body):
            fused = step
            if around is not None and isinstance(step, FusedPasses):
                fused = with_neighbours(step, around, number, self._extents)
            natively = self._members(fused, repeat.count)
            if not natively:
                return None
            members += natively
        stage = None
        if around is not None and len(members) == len(repeat.body):  # nothing is staged
            stage = shape_of(around, members, self.textures)
        run = RepeatRun(members, stage, repeat.count, self._staging)
        return _Step(repeat.count, (run.run,))

    def _members(
        self, step: FusedPasses | UnfusedRepeat | Pass, count: int = 1
    ) -> list[NativePass]:
        """A step as passes that native threads run among others; empty if they cannot.

        count: how often it runs.
        """
        fused = moved_alone(step, count) if isinstance(step, CopyPass) else step
        members = self._native_passes(fused) if isinstance(fused, FusedPasses) else []
        return [] if members and members[0].rounds > 1 else members

    def _native_passes(self, fused: FusedPasses) -> list[NativePass]:
        """Fused passes as native code; empty if there can be none."""
        content, arguments = self._content(fused)
        loose = loosened(content, arguments)
        if loose[0] in self._loose:
            content, arguments = loose
        tile = self.machine.tuning.tile if self.machine.tuning else None
        try:
            code = native_code(content, exact=self.machine.exact, tile=tile)
        except UnsupportedError:
            return []
        together = 1 if fused.alternates else fused.count
        return native_passes(code, arguments, self.textures, self._staging, together)

    def _with_many_offsets(self, together: Iterable[FusedPasses]) -> frozenset[Content]:
        """The loosened Contents that stand for more than MOST_VERSIONS others.

        Those with a rerolled loop are left out, because such a loop consists of its offsets.
        """
        versions = defaultdict[Content, set[Content]](set)
        for content, arguments in map(self._content, together):
            versions[loosened(content, arguments)[0]].add(content)
        return frozenset(
            loose
            for loose, one in versions.items()
            if len(one) > MOST_VERSIONS
            and all(
                part.trips == 1 for draw in next(iter(one)).draws for part in live_segments(draw)
            )
        )

    def _content(self, fused: FusedPasses) -> tuple[Content, Arguments]:
        return native_content(fused, self._plan_textures, self._interleaved)

    def _runner(self, step: FusedPasses | Pass, count: int) -> Run:
        """The function that runs fused passes or a pass, by native code if there can be some.

        count: how often it runs.
        """
        if isinstance(step, FusedPasses):
            if members := self._native_passes(step):
                return RepeatRun(members, count=step.count, staging=self._staging).run
            return partial(_run_on_reference, step.passes, self.textures)
        if isinstance(step, ComputePass):
            if is_analysed := step in self._analysed or len(self._analysed) < MOST_ANALYSES:
                self._analysed.add(step)
            return _dispatch(step, self.textures, count if is_analysed else None)
        return partial(_run_on_reference, (step,), self.textures)


def _run_on_reference(passes: tuple[Pass, ...], textures: Textures, first: int, last: int) -> None:
    """Run a range of iterations of passes on the reference machine."""
    for iteration in range(first, last):
        for pass_ in passes:
            run_on_reference(at_iteration(pass_, iteration), textures)


def _dispatch(pass_: ComputePass, textures: Textures, count: int | None) -> Run:
    """The function that dispatches a compiled kernel; its work groups run in chunks.

    count: how often it runs; None if its accesses are not analysed.
    """
    kernel, (across, up), threads = pass_.kernel, constant_groups(pass_.groups), thread_count()
    names = {b.binding: b.texture for b in pass_.buffers}
    buffers = [textures[names[b.binding]].planes[0].reshape(-1) for b in kernel.buffers]
    lengths = {b.name: buffer.size for b, buffer in zip(kernel.buffers, buffers, strict=True)}
    code = compile_kernel(kernel, None if count is None else unproven(pass_, lengths, count))
    groups, uniforms = across * up, pass_.uniform_values
    size = max(1, -(-groups // (threads * _CHUNKS)))
    states = [code.state() for _ in range(threads)]

    def run(first: int, last: int) -> None:
        arrays = [(buffer.ctypes.data, buffer.size) for buffer in buffers]
        for iteration in range(first, last):
            values = {name: number_at(value, iteration) for name, value in uniforms.items()}
            words = words_of(kernel, [across], arrays, values)

            def run_chunk(worker: int, chunk: int, words: Words = words) -> None:
                start, state = chunk * size, states[worker]
                if failed := -code(words, start, min(start + size, groups), state):
                    raise outside(kernel, lengths, failed, int(state[0]))

            share_out(run_chunk, -(-groups // size))

    return run
