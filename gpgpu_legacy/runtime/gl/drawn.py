"""Prepared plans whose passes are draws: the common part of gl-raster and gl-arbfp."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar, TypeVar

from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.runtime.gl.bound import Bound, Operations, Target
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.prepared import Call, GlPrepared, record_steps
from gpgpu_legacy.runtime.gl.sharing import SharedContext
from gpgpu_legacy.runtime.gl.surfaces import Surfaces
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers
from gpgpu_legacy.runtime.gl.values import clear_values, in_iteration, viewport
from gpgpu_legacy.runtime.machine import Machine

_Shared = TypeVar("_Shared", bound=SharedContext[Any])

Paint = Callable[[int], object]
"""Draws the rectangle of the viewport, as a program of an iteration colours it."""


class Draw:
    """A recorded draw of a rectangle, and all that it sets; call it with the iteration."""

    def __init__(self, bound: Bound, surfaces: Surfaces, pass_: FragmentPass, paint: Paint) -> None:
        """paint: sets the pass's program, and draws."""
        self._bound, self._paint = bound, paint
        self._textures = [surfaces.sampled(binding) for binding in pass_.bindings]
        framebuffer = surfaces.framebuffer(*((name, 0) for name in pass_.targets))
        self._target = Target(framebuffer, viewport(constant_rect(pass_.rect)))
        scissor = viewport(constant_rect(pass_.scissor)) if pass_.scissor else None
        self._operations = Operations(pass_.blend, pass_.mask, scissor)

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        bound = self._bound
        for sampled in self._textures:
            bound.look_up(sampled)
        bound.draw_to(self._target, self._operations)
        self._paint(iteration)

    def warm_up(self) -> None:
        """Draw one fragment.

        Drivers compile a program for the textures and the target of its first draw, and a run's
        time excludes compiling.
        """
        whole = self._target
        self._target = Target(whole.framebuffer, (*whole.viewport[:2], 1, 1))
        self(0)
        self._target = whole


class DrawnPrepared(GlPrepared[_Shared]):
    """A plan's textures, framebuffers, samplers, programs and draws."""

    flat: ClassVar[bool]
    """As of Surfaces."""

    def __init__(self, context: _Shared, bound: Bound, plan: Plan, machine: Machine) -> None:
        """See GlPrepared."""
        self._bound = bound
        super().__init__(context, plan, machine)

    def _build(self) -> None:
        self._store = self._surfaces = Surfaces(
            self.context, self._bound, self.plan, self._owned, flat=self.flat
        )
        self._make_transfers(self._device_transfers())
        self._recorded = {id(p): record_steps(p, self._record) for p in self.parts.leaves}
        self._begin(observed=False)
        for group in chain.from_iterable(self._recorded.values()):
            for call in group.calls:
                if isinstance(call, Draw):  # the textures hold nothing yet that it could overwrite
                    call.warm_up()
        self.context.finish()
        self._surfaces.check("what this plan draws with")

    def _device_transfers(self) -> DeviceTransfers | None:
        """The transfers that the device packs and unpacks, if any."""
        return None

    def _record(self, pass_: Pass, count: int) -> Call:
        match pass_:
            case FragmentPass():
                paint = self._record_draw(pass_, count)
                return Draw(self._bound, self._surfaces, pass_, paint)
            case CopyPass():
                return self._record_copy(pass_)
            case ClearPass():
                return self._clear(pass_.target, pass_.value, count)
        raise AssertionError(pass_)  # the executor has no other passes

    @abstractmethod
    def _record_draw(self, pass_: FragmentPass, count: int) -> Paint:
        """What sets the program of a pass, and draws."""

    def _clear(self, name: str, value: NumberVec4, count: int = 1) -> Call:
        bound, framebuffers = self._bound, tuple(self._surfaces.layers(name))
        values = clear_values(value, self.plan.texture(name).format, count)

        def clear(iteration: int) -> None:
            bound.operate(Operations())
            bound.gl.glClearColor(*in_iteration(values, iteration))
            for framebuffer in framebuffers:
                bound.aim(framebuffer)
                bound.gl.glClear(GL.COLOR_BUFFER_BIT)

        return clear

    def _record_copy(self, pass_: CopyPass) -> Call:
        """From the framebuffer to the texture, as in Section 3 of Hall, Carr & Hart."""
        there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
        copy = self._surfaces.copy(pass_.source, there, pass_.target, here)
        return lambda _: copy()
