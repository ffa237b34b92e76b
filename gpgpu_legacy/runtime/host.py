"""Plans prepared in the host's own memory, whatever carries out their drawing and their kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, slices
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    Extent,
    Pass,
    Plan,
    Rect,
    Texture,
    constant_rect,
    constant_vector,
)
from gpgpu_legacy.runtime.executor import F32, Machine, Observer, Prepared
from gpgpu_legacy.runtime.transfers import undefined_textures, zero_results

Textures = Mapping[str, Storage]
CarryOut = Callable[[Pass, Textures], None]


class HostPrepared(Prepared):
    """A plan with its textures in memory; a subclass does the work on them."""

    def __init__(
        self, plan: Plan, machine: Machine, make: Callable[[Texture], Storage] = Storage
    ) -> None:
        """plan: validated, without Tables. make: makes a texture's storage."""
        super().__init__(plan, machine)
        self.textures = {texture.name: make(texture) for texture in plan.textures}
        filled = {
            each.texture
            for each in plan.inputs
            if each.rect == _whole(plan.texture(each.texture).extent)
        }
        defined = [texture.name for texture in plan.textures if texture.initial is not None]
        self._reset = tuple({*defined, *undefined_textures(plan)} - filled)

    @abstractmethod
    def _work(self) -> Iterator[Pass]:
        """Carry out the plan and yield its passes, one after another, as they are done."""

    def _work_unobserved(self) -> None:
        """Carry out the plan where nobody is to be told of its passes."""
        for _ in self._work():
            pass

    def _upload(self, operands: Mapping[str, F32]) -> None:
        for name in self._reset:
            self.textures[name].reset()
        for each in self.plan.inputs:
            storage = self.textures[each.texture]
            storage.load(operands[each.matrix], each.region, each.rect, each.packing)

    def _compute(self, observer: Observer | None) -> None:
        if observer is None:
            self._work_unobserved()
            return
        for number, done in enumerate(self._work()):
            observer(number, done, self._read)

    def _read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        storage = self.textures[name]
        return np.stack([storage.decoded(c) for c in range(len(storage.planes))], axis=-1)

    def _read_back(self) -> dict[str, F32]:
        results = zero_results(self.plan)
        for each in self.plan.outputs:
            storage = self.textures[each.texture]
            storage.unload(results[each.matrix], each.region, each.rect, each.packing)
        return results

    def _release(self) -> None:
        self.textures = {}


class PassByPass(HostPrepared):
    """A plan that is carried out as its expansion has it, one pass after another."""

    def __init__(self, plan: Plan, machine: Machine, carry_out: CarryOut) -> None:
        """carry_out: called with each pass that is neither a copy nor a clear."""
        super().__init__(plan, machine)
        self._carry_out = carry_out

    def _work(self) -> Iterator[Pass]:
        for pass_ in passes(self.plan):
            if not copied_or_cleared(pass_, self.textures):
                self._carry_out(pass_, self.textures)
            yield pass_


def _whole(extent: Extent) -> Rect:
    return Rect(0, 0, extent.width, extent.rows)


def copied_or_cleared(each: Pass, textures: Textures) -> bool:
    """Carry out a pass that is a copy or a clear; false where it is neither."""
    if isinstance(each, CopyPass):
        source, target = textures[each.source], textures[each.target]
        target.copy(
            slices(constant_rect(each.target_rect)), source, slices(constant_rect(each.source_rect))
        )
        return True
    if isinstance(each, ClearPass):
        textures[each.target].clear(constant_vector(each.value))
        return True
    return False
