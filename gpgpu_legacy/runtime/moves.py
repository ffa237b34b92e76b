"""Matrices to texels and back by all threads, for plans in the host's memory.

Native threads copy numbers that are float32 in both; NumPy moves all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getrefcount

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, Stored, slices, views_of
from gpgpu_legacy.lower.emit.llvm_schedule import BASE, COPY_WORDS, LOW, MATRIX, PLANE
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix, Transfer
from gpgpu_legacy.runtime.native import schedule_code
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.schedule import Member, RepeatRun, cut, rectangles

_MOST_SPARE = 2  # results of a name: a caller may hold one until the next one is there
_UNHELD = 2  # references: the list's, and the one that getrefcount has
_ELEMENTS = 1 << 14  # in a piece: waking a thread for less costs more, and a cache holds them


class Moves:
    """Inputs of a plan, and the textures that are cleared before them; or its outputs."""

    def __init__(
        self,
        transfers: Sequence[Transfer],
        matrices: Sequence[Matrix],
        textures: Mapping[str, Storage],
        cleared: Sequence[str] = (),
        *,
        unpacks: bool = False,
    ) -> None:
        """matrices: the plan's. textures: from `roomy`."""
        self._textures, self._unpacks = textures, unpacks
        self._shapes = {matrix.name: (matrix.rows, matrix.columns) for matrix in matrices}
        self._members: list[Member] = []
        self._firsts: list[tuple[str, int]] = []  # of each member, what it copies of a matrix
        self._padding: list[Stored] = []
        self._rows: list[F32] = []  # that textures are cleared to
        self._cleared = [name for name in cleared if not self._clears(textures[name])]
        self._others = [transfer for transfer in transfers if not self._copies(transfer)]
        self._run = RepeatRun(self._members) if self._members else None
        if self._run is not None:  # copies wait for clears, and for nothing else
            items = self._run.items
            clears = sum(len(member.pieces) for member in self._members[: len(self._rows)])
            items[:, BASE] = np.where(np.arange(len(items)) < clears, 0, clears)
            # The channels of the same texels follow one another, while a cache has them.
            items[clears:] = items[clears:][np.argsort(items[clears:, LOW], kind="stable")]

    def run(self, arrays: Mapping[str, F32]) -> None:
        """Clear, and move all."""
        for name in self._cleared:
            self._textures[name].reset()
        if self._run is not None:
            copies = zip(self._firsts, self._run.words[len(self._rows) :], strict=True)
            for (name, first), words in copies:
                words[:, MATRIX] = arrays[name].ctypes.data + first
            self._run.run()
        for part in self._padding:
            part[...] = 0
        for transfer in self._others:
            storage = self._textures[transfer.texture]
            move = storage.unload if self._unpacks else storage.load
            move(arrays[transfer.matrix], transfer.region, transfer.rect, transfer.packing)

    def _clears(self, storage: Storage) -> bool:
        """Whether native threads clear a texture: they copy one row to all."""
        value = storage.texture.initial or (0.0,) * 4
        for plane, component in zip(storage.planes, value, strict=False):
            if plane.dtype != np.float32:
                return False
            self._rows.append(np.full(plane.shape[1], component, np.float32))
            row = np.broadcast_to(self._rows[-1], plane.shape)
            self._add(plane, row).words[MATRIX] = row.ctypes.data
        return True

    def _copies(self, transfer: Transfer) -> bool:
        """Whether native threads do a transfer."""
        planes = self._textures[transfer.texture].planes
        if planes[0].dtype != np.float32:
            return False
        matrix = np.empty(self._shapes[transfer.matrix], np.float32)  # for its addresses alone
        views = views_of(matrix, transfer.region, transfer.rect, transfer.packing)
        for plane, view in zip(planes, views, strict=False):
            part, (rows, columns) = plane[slices(transfer.rect)], view.shape
            if not self._unpacks:
                self._padding += [p for p in (part[rows:], part[:rows, columns:]) if p.size]
            if view.size:
                self._firsts.append((transfer.matrix, view.ctypes.data - matrix.ctypes.data))
                self._add(part[:rows, :columns], view)
        return True

    def _add(self, plane: Stored, matrix: F32) -> Member:
        """A copy to a plane, or from it. matrix: a view of its numbers, for its strides."""
        words = np.zeros(COPY_WORDS, np.int64)
        rows, columns = plane.shape
        steps = np.stack([matrix.strides, plane.strides], axis=1).ravel()
        words[PLANE:] = plane.ctypes.data, *steps, columns, self._unpacks
        pieces = rectangles([(0, columns)], cut(rows, plane.size // _ELEMENTS, 1))
        self._members.append(Member(schedule_code().copy, words, pieces, plane.size, ()))
        return self._members[-1]


class Results:
    """New arrays for the matrices that a plan computes, in memory that nobody holds any more."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._spare = plan, {matrix.name: list[F32]() for matrix in plan.results}
        covered = {m.name: np.zeros((m.rows, m.columns), np.bool_) for m in plan.results}
        for out in plan.outputs:
            for view in views_of(covered[out.matrix], out.region, out.rect, out.packing):
                view[...] = True
        self._partial = {name for name, seen in covered.items() if not seen.all()}

    def new(self) -> dict[str, F32]:
        """The matrices by name; what no output writes is 0."""
        return {matrix.name: self._new(matrix) for matrix in self._plan.results}

    def _new(self, matrix: Matrix) -> F32:
        # What a caller has is a view, as all views of it are: each holds a reference to the memory.
        spare = self._spare[matrix.name]
        free = [number for number in range(len(spare)) if getrefcount(spare[number]) == _UNHELD]
        shape = (matrix.rows, matrix.columns)
        memory = spare.pop(free[0]) if free else np.empty(shape, np.float32)
        self._spare[matrix.name] = [*spare, memory][-_MOST_SPARE:]
        if matrix.name in self._partial:
            memory[...] = 0
        return memory[...]
