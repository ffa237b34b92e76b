"""Prepared plans of `gl-raster`: rectangles drawn into framebuffers, as plans were meant.

Every fragment program becomes a GLSL fragment shader (lower/emit/glsl_fragment.py). A pass is drawn
into the viewport of its rectangle. The rasteriser interpolates coordinates that only choose texels.
Texture coordinates that a program computes with are evaluated at the fragment's centre with the
arithmetic of interp/machine.py, so that executors do not differ by a rasteriser's interpolation.

A texture of any kind is a 2D texture with its layers one above the other, and has as many rows as
all layers together. Shaders fetch texels by integers, and need none of the driver's addressing,
filters or kinds of texture.
"""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.lower.analysis.fusion import decide
from gpgpu_legacy.lower.emit.glsl_fragment import fragment_shader
from gpgpu_legacy.lower.fragments import shader_key
from gpgpu_legacy.lower.values import over_iterations
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import Rect, Transfer, constant_rect
from gpgpu_legacy.runtime.gl.core import COMPUTE_VERSION, GlContext
from gpgpu_legacy.runtime.gl.drawn import Bound, DrawnPrepared, Paint
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.shader import UniformTable, Values, drawing_shader
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers, Move, Spot, movable
from gpgpu_legacy.runtime.gl.values import pass_values, single
from gpgpu_legacy.runtime.machine import Machine


class GlRasterPrepared(DrawnPrepared[GlContext]):
    """A plan's textures, framebuffers, shaders and draws."""

    flat = True

    def __init__(
        self, context: GlContext, plan: Plan, machine: Machine, *, on_device: bool
    ) -> None:
        """on_device: textures are in the memory of a device, which packs operands and results."""
        self._on_device = on_device
        self._uniforms = UniformTable()
        super().__init__(context, Bound(context.gl), plan, machine)

    def _device_transfers(self) -> DeviceTransfers | None:
        """Texels pass through a storage buffer; the driver copies between it and the textures."""
        context, plan, surfaces = self.context, self.plan, self._surfaces
        if not self._on_device or context.version_code < COMPUTE_VERSION:
            return None

        def size_bytes(transfer: Transfer) -> int:
            return transfer.rect.area * plan.texture(transfer.texture).format.texel_bytes

        inputs, outputs = movable(plan, context)
        if not (inputs or outputs):
            return None
        buffer = self.keep(context.buffer(max(map(size_bytes, (*inputs, *outputs)))))

        def mover(binding: int, move: Callable[[str, Rect, int], None]) -> Move:
            def run(transfer: Transfer) -> None:
                context.barrier()
                context.gl.glBindBuffer(binding, buffer.glo)
                move(transfer.texture, transfer.rect, 0)
                context.gl.glBindBuffer(binding, 0)

            return run

        return self.keep(
            DeviceTransfers(
                *(context, plan, inputs, outputs),
                lambda transfer: Spot(buffer, transfer.rect.width),
                store=mover(GL.PIXEL_UNPACK_BUFFER, surfaces.write),
                load=mover(GL.PIXEL_PACK_BUFFER, surfaces.read),
            )
        )

    def _record_draw(self, pass_: FragmentPass, count: int) -> Paint:
        exact, arithmetic = self.machine.exact, self.machine.arithmetic
        decisions = decide(self.plan, pass_, folding=not arithmetic.rounds)
        key = shader_key(self.plan, pass_, decisions, exact=exact, arithmetic=arithmetic)
        shader = drawing_shader(
            self.context, pass_.program.name, fragment_shader(key), key.varyings
        )
        values: dict[str, Values] = dict(pass_values(pass_, count, shader.has))
        for number, varying in enumerate(decisions.varyings):
            corners = over_iterations(varying.corners(constant_rect(pass_.rect)), count)
            values[f"varying{number}_corners"] = single(corners)
        uniforms = self._uniforms.add(shader, values)

        def paint(iteration: int) -> None:
            uniforms.set(iteration)
            shader.render()  # this reference keeps the shader alive

        return paint

    def _begin(self, *, observed: bool) -> None:
        self._bound.forget()
        self._uniforms.begin()

    def _forget(self) -> None:
        super()._forget()
        self._uniforms = UniformTable()
