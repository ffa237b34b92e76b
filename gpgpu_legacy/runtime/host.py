"""Plans prepared in the host's memory, for any machine that runs their programs and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import Storage, slices
from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.execute import Tally
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import Texture, constant_rect, full_rect
from gpgpu_legacy.runtime.exactness import thread_keeps_denormals
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, Prepared
from gpgpu_legacy.runtime.transfers import cleared_first, new_results

Textures = Mapping[str, Storage]


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
        self._new_results = new_results(plan)

    def _require_fit(self) -> None:
        """See Prepared. Raises PlanError for an exact run in a thread that flushes denormals."""
        if self.machine.exact and self.machine.denormals and not thread_keeps_denormals():
            raise PlanError(
                f"plan {self.plan.name} cannot run exactly in this thread, where denormals are "
                "flushed; run it in a thread that was started before a library changed that"
            )

    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        for name in () if resume else self._reset:
            self.textures[name].reset()
        for input_ in self.plan.inputs:
            if input_.matrix in operands:
                storage, matrix = self.textures[input_.texture], operands[input_.matrix]
                storage.load(matrix, input_.region, input_.rect, input_.packing)

    def _texels(self, name: str) -> F32:
        return self.textures[name].texels()

    def _read_back(self) -> dict[str, F32]:
        results = self._new_results()
        for output in self.plan.outputs:
            storage, matrix = self.textures[output.texture], results[output.matrix]
            storage.unload(matrix, output.region, output.rect, output.packing)
        return results

    def _release(self) -> None:
        self.textures, self._new_results = {}, dict


class PassByPassPrepared(HostPrepared):
    """A plan that runs the passes of its expansion one after another on the reference machine."""

    def _make_ready(self, *, observed: bool) -> None:
        self.tally = Tally()

    def _work(self, part: Plan) -> None:
        for _ in self._observed_work(part):
            pass

    def _observed_work(self, part: Plan) -> Iterator[Pass]:
        for pass_ in passes(part):
            run_on_reference(pass_, self.textures, self.machine.arithmetic, self.tally)
            yield pass_


def run_on_reference(
    pass_: Pass, textures: Textures, arithmetic: Arithmetic = FP32, tally: Tally | None = None
) -> None:
    """Run a pass of an expanded plan on the reference machine. tally: receives its counts."""
    from gpgpu_legacy.interp.kernel import run_compute_pass
    from gpgpu_legacy.interp.machine import run_fragment_pass

    match pass_:
        case FragmentPass():
            run_fragment_pass(pass_, textures, arithmetic, tally)
        case ComputePass():
            run_compute_pass(pass_, textures)
        case ClearPass():
            textures[pass_.target].clear(constant_vector(pass_.value))
        case CopyPass():
            source, target = textures[pass_.source], textures[pass_.target]
            here, there = constant_rect(pass_.target_rect), constant_rect(pass_.source_rect)
            target.copy(slices(here), source, slices(there))
