"""The accesses of passes whose lookups depend on data, as they are in a run.

The reference machine executes the program of such a pass again, on the textures that the run had.
Each lookup that any fragment executes is a slot, on each side of a branch and in each trip of a
loop; fragments that do not execute it make no access there. A filter's texels are slots of their
own, in the levels that each fragment reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpgpu_legacy.cache.access import I64, NO_ACCESS, PassTrace, one_by_one
from gpgpu_legacy.cache.texel_accesses import AddressSpace
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.interp.machine import (
    FragmentMachine,
    band_of,
    inputs_of,
)
from gpgpu_legacy.interp.numeric import Lookup, Storage, encode, looked_up
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.execute import Components, execute
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.isa.program import TextureSource
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import FragmentPass, Pass
from gpgpu_legacy.plan.textures import constant_rect

Read = Callable[[str], F32]
Replay = Callable[[Callable[[int, Pass, Read], None]], object]
"""Runs the plan with all iterations of its loops. After each pass it calls a function with the
pass's number, the pass, and a function that reads a texture.
"""


class Recording:
    """The accesses of some passes of a plan, which runs when the first are asked for.

    wanted: the passes, by the numbers of their step and of their place in it.
    """

    def __init__(self, space: AddressSpace, replay: Replay) -> None:
        self.space, self.replay = space, replay
        self.wanted = set[tuple[int, int]]()

    @cached_property
    def traces(self) -> dict[tuple[int, int, int], PassTrace]:
        """The passes that are wanted, in each iteration: by step, place and iteration."""
        traces: dict[tuple[int, int, int], PassTrace] = {}
        order = (
            (number, place, iteration)
            for number, step in enumerate(self.space.plan.repeats())
            for iteration in range(step.count)
            for place in range(len(step.body))
        )

        def observe(_: int, pass_: Pass, read: Read) -> None:
            at = next(order)
            if at[:2] in self.wanted and isinstance(pass_, FragmentPass):
                traces[at] = self._recorded(pass_, read)

        self.replay(observe)
        return traces

    def _recorded(self, pass_: FragmentPass, read: Read) -> PassTrace:
        """The trace of a pass that has just run; no texture that it looks up has changed since."""
        rect, drawn = constant_rect(pass_.rect), pass_.drawn
        bound = {}
        for binding in pass_.bindings:
            texture = self.space.plan.texture(binding.texture)
            storage, texels = Storage(texture), read(texture.name)
            storage.planes = [encode(plane, texture.format) for plane in np.moveaxis(texels, -1, 0)]
            bound[binding.unit] = storage, binding.sampler
        area = band_of(pass_, 0, rect.height)
        corner = drawn.y - rect.y - area.start, drawn.x - rect.x - area.left
        inside = tuple(
            slice(first, first + size)
            for first, size in zip(corner, (drawn.height, drawn.width), strict=True)
        )
        space, addresses, kinds = self.space, list[I64](), list[int]()

        def add(name: str, *where: Any, writes: bool = False) -> None:
            """The accesses to a texture: rows, columns, and the mask of where it is accessed."""
            rows, columns, mask = (np.broadcast_to(one, area.shape)[inside] for one in where)
            if not mask.any():
                return
            number, x_bytes, y_bytes = space.places[name]
            require_memory(
                8 * mask.size * (2 * len(addresses) + 4),
                f"the lookups of {mask.size} fragments that depend on data",
                "simulate a smaller plan",
            )
            addresses.append(np.where(mask, x_bytes[columns] + y_bytes[rows], NO_ACCESS))
            kinds.append(2 * number + writes)

        for side in area.sides:
            own = True if side is None else area.is_above == side
            machine = _Recorder(*inputs_of(pass_, area, side), bound)
            with np.errstate(all="ignore"):
                execute(pass_.program, machine)
            for unit, rows, columns, mask in machine.lookups:
                add(bound[unit][0].texture.name, rows, columns, own & mask)
        y, x = np.indices(area.shape)
        for target in pass_.targets:
            for writes in (False, True) if pass_.blend else (True,):
                place = y + area.start + rect.y, x + area.left + rect.x
                add(target, *place, np.True_, writes=writes)
        accessed = np.stack(addresses, -1)
        access = space.access.of_area(drawn.area)
        size = drawn.width, drawn.height
        return PassTrace(
            int(np.count_nonzero(accessed != NO_ACCESS)),
            lambda: access.chunks(
                size, kinds, space.line_bytes, lambda x, y: one_by_one(accessed[y, x])
            ),
            size,
        )


@frozen
class RecordedPass:
    """A pass of a step whose accesses are recorded."""

    recording: Recording
    step: int
    place: int

    def trace(self, iteration: int) -> PassTrace:
        """One iteration of it."""
        return self.recording.traces[self.step, self.place, iteration]

    def moves(self, _: int) -> None:
        """None, since no shift is proven."""


# Executing ---------------------------------------------------------------------------------------


class _Recorder(FragmentMachine):
    """A fragment machine that also keeps each lookup: unit, rows, columns and a mask."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.lookups: list[tuple[int, Any, Any, Any]] = []

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, F32]:
        unit = source.unit
        lookup = _PlaceLookup(*self._textures[unit])
        touched = looked_up(lookup, *coordinates)
        for number, mask in sorted(touched.masks.items()):
            self.lookups.append((unit, *lookup.fetches[number], mask & self.active))
        return super().look_up(source, coordinates, components)


class _Touched(Symbol):
    """The fetches that a value is made of: by their number, a mask of the fragments."""

    __slots__ = ("masks",)

    def __init__(self, masks: dict[int, Any]) -> None:
        self.masks = masks

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Touched:
        holds: tuple[Any, ...] = (True,) * len(operands)
        if name == "where" and not isinstance(operands[0], Symbol):
            holds = True, operands[0], ~operands[0]
        masks: dict[int, Any] = {}
        for operand, where in zip(operands, holds, strict=True):
            for number, mask in operand.masks.items() if isinstance(operand, _Touched) else ():
                masks[number] = masks.get(number, False) | (mask & where)
        return _Touched(masks)


class _PlaceLookup(Lookup):
    """A lookup that notes the places of texels and reads none."""

    def __init__(self, *bound: Any) -> None:
        super().__init__(*bound)
        self.fetches: list[tuple[Any, Any]] = []

    def border(self) -> Any:
        return 0.0

    def fetched(self, name: str, column: Any, row: Any, first_row: Any) -> Any:
        self.fetches.append((row + first_row, column))
        return _Touched({len(self.fetches) - 1: np.True_})
