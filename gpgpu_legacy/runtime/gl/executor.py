"""The common part of the executors on OpenGL."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.plan.memory import SURELY_THERE
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.gl.sharing import SharedContext


class GlExecutor(Executor):
    """An executor that runs plans on an OpenGL context."""

    @abstractmethod
    def context(self) -> SharedContext[Any]:
        """The process's context; ExecutorUnavailableError, with the reason, if it has none."""

    def device(self) -> str:
        """The renderer and the version of its driver; see Executor."""
        return self.context().device_name

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU; see Executor."""
        return self.context().is_hardware

    def memory_bytes(self, plan: Plan) -> int:
        """Packed texels and results; textures, too, if a software renderer computes.

        Small textures count in any case, so that OpenGL is not asked for its renderer.
        """
        from gpgpu_legacy.runtime.transfers import packing_bytes, results_bytes

        stored = self.stored_bytes(plan)
        if stored > SURELY_THERE and self.is_hardware():
            stored = 0
        return stored + packing_bytes(plan) + results_bytes(plan)

    def stored_bytes(self, plan: Plan) -> int:
        """The memory of a plan's textures in OpenGL."""
        return plan.texture_bytes
