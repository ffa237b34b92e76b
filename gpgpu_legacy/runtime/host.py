"""Plans prepared in the host's memory, for any machine that runs their programs and kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import Storage, slices
from gpgpu_legacy.isa.execute import Tally
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, Pass, Plan
from gpgpu_legacy.plan.textures import Texture, constant_rect, full_rect
from gpgpu_legacy.runtime.exactness import thread_keeps_denormals
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, Observer, Prepared, zero_results
from gpgpu_legacy.runtime.transfers import cleared_first

Textures = Mapping[str, Storage]
RunPass = Callable[[Pass, Textures, Tally | None], None]


class HostPrepared(Prepared):
    """A plan with its textures in memory; a subclass runs its passes on them."""

    def __init__(
        self, plan: Plan, machine: Machine, make: Callable[[Texture], Storage] = Storage
    ) -> None:
        """plan: validated, without Tables. make: allocates a texture's storage."""
        super().__init__(plan, machine)
        self.textures = {texture.name: make(texture) for texture in plan.textures}
        filled = {
            input_.texture
            for input_ in plan.inputs
            if input_.rect == full_rect(plan.texture(input_.texture))
        }
        self._reset = tuple(cleared_first(plan).keys() - filled)

    def _require_fit(self) -> None:
        """See Prepared. A thread that flushes denormals refuses an exact run."""
        if self.machine.exact and self.machine.denormals and not thread_keeps_denormals():
            raise PlanError(
                f"plan {self.plan.name} cannot run exactly in this thread, where denormals are "
                "flushed; run it in a thread that was started before a library changed that"
            )

    @abstractmethod
    def _work(self, part: Plan) -> Iterator[Pass]:
        """Run a part of the plan, and yield each pass when it is done."""

    def _work_unobserved(self, part: Plan) -> None:
        """Run a part without an observer."""
        for _ in self._work(part):
            pass

    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        for name in () if resume else self._reset:
            self.textures[name].reset()
        for input_ in self.plan.inputs:
            if input_.matrix in operands:
                storage, matrix = self.textures[input_.texture], operands[input_.matrix]
                storage.load(matrix, input_.region, input_.rect, input_.packing)

    def _run_part(self, part: Plan, observer: Observer | None, number: int) -> int:
        if observer is None:
            self._work_unobserved(part)
            return number
        for done in self._work(part):
            observer(number, done, self._read)
            number += 1
        return number

    def _texel(self, name: str) -> float:
        return float(self._read(name)[0, 0, 0])

    def _read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        return self.textures[name].texels()

    def _read_back(self) -> dict[str, F32]:
        results = zero_results(self.plan)
        for output in self.plan.outputs:
            storage, matrix = self.textures[output.texture], results[output.matrix]
            storage.unload(matrix, output.region, output.rect, output.packing)
        return results

    def _release(self) -> None:
        self.textures = {}


class PassByPassPrepared(HostPrepared):
    """A plan that runs the passes of its expansion one after another."""

    def __init__(self, plan: Plan, machine: Machine, run_pass: RunPass) -> None:
        """run_pass: called with every pass that is neither a copy nor a clear."""
        super().__init__(plan, machine)
        self._run_pass = run_pass

    def _make_ready(self, *, observed: bool) -> None:
        self.tally = Tally()

    def _work(self, part: Plan) -> Iterator[Pass]:
        for pass_ in passes(part):
            if not copied_or_cleared(pass_, self.textures):
                self._run_pass(pass_, self.textures, self.tally)
            yield pass_


def copied_or_cleared(pass_: Pass, textures: Textures) -> bool:
    """Run a pass if it is a copy or a clear; false if it is neither."""
    if isinstance(pass_, CopyPass):
        source, target = textures[pass_.source], textures[pass_.target]
        here, there = constant_rect(pass_.target_rect), constant_rect(pass_.source_rect)
        target.copy(slices(here), source, slices(there))
        return True
    if isinstance(pass_, ClearPass):
        textures[pass_.target].clear(constant_vector(pass_.value))
        return True
    return False
