"""Prepared plans of `gl-raster`: rectangles drawn into framebuffers, as plans were meant.

Every fragment program becomes a GLSL fragment shader (lower/emit/glsl_fragment.py). A pass is drawn
into the viewport of its rectangle. The rasteriser interpolates coordinates that only choose texels.
Texture coordinates that a program computes with are evaluated at the fragment's centre by the
arithmetic that interp/machine.py defines, so that executors do not differ by a rasteriser's
interpolation.

A texture of any kind is a 2D texture with its layers one above the other, and has as many rows as
all layers together: shaders fetch texels by integers, and need no addressing, filters or kinds of
texture of the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import decode
from gpgpu_legacy.lower.analysis.folding import decide
from gpgpu_legacy.lower.emit.glsl_fragment import COPY_FRAGMENT_SHADER, fragment_shader
from gpgpu_legacy.lower.fragments import shader_key
from gpgpu_legacy.lower.values import over_iterations
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import Blend, ClearPass, CopyPass, FragmentPass, Pass, Plan, written_by
from gpgpu_legacy.plan.textures import Texture, Transfer, constant_rect
from gpgpu_legacy.runtime.gl import GlContext
from gpgpu_legacy.runtime.gl_draws import Bound, Clear, Draw, Target, copy_offset
from gpgpu_legacy.runtime.gl_prepared import GlPrepared, record_steps
from gpgpu_legacy.runtime.gl_shader import UniformTable, Values, drawing_shader
from gpgpu_legacy.runtime.gl_transfers import DeviceTransfers, Drawable
from gpgpu_legacy.runtime.gl_values import clear_values, pass_values, single, viewport
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, zero_results
from gpgpu_legacy.runtime.transfers import HostInput, HostOutput, cleared_first


def _dtype(texel_format: Format) -> str:
    """The format's components by moderngl's names."""
    return f"f{texel_format.bits_per_channel // 8}"


def _stored_dtype(texel_format: Format) -> np.dtype[Any]:
    """The format's components as they are transferred."""
    kind = "u" if texel_format.numeric is Numeric.UNORM else "f"
    return np.dtype(f"{kind}{texel_format.bits_per_channel // 8}")


class GlRasterPrepared(GlPrepared[GlContext]):
    """A plan's textures, framebuffers, shaders and draws.

    A software renderer packs more slowly by drawing than NumPy does.
    """

    def __init__(
        self, context: GlContext, plan: Plan, machine: Machine, *, packs_on_device: bool
    ) -> None:
        """packs_on_device: whether draws pack operands and results, where they can."""
        self._packs_on_device = packs_on_device
        self._described = {texture.name: texture for texture in plan.textures}
        self._textures: dict[str, Drawable] = {}
        self._framebuffers: dict[tuple[str, ...], Any] = {}
        self._uniforms = UniformTable()
        self._bound = Bound(context.handle)
        self._first: list[Clear] = []
        self._device: DeviceTransfers | None = None
        super().__init__(context, plan, machine)

    # Preparing ----------------------------------------------------------------------------

    def _build(self) -> None:
        for texture in self.plan.textures:
            self._require_room(texture)
        targets = {written_by(pass_): None for _, pass_ in self.plan.weighted_passes()}
        for names in targets:
            self._require_draw_buffers(names)
        for texture in self.plan.textures:
            self._make_texture(texture)
        self._make_transfers()
        self._recorded = record_steps(self.plan, self._record)
        self._uniforms.settle()
        self._warm_up()

    def _make_transfers(self) -> None:
        plan = self.plan
        self._first = [self._clear(name, value) for name, value in cleared_first(plan).items()]
        inputs, outputs = frozenset[Transfer](), frozenset[Transfer]()
        if self._packs_on_device:
            device = self._device = DeviceTransfers(self.context, self._bound, plan, self._textures)
            inputs, outputs = frozenset(device.inputs), frozenset(device.outputs)
            if sheet := device.make():
                self.keep(sheet)
        self._host_inputs = [HostInput(plan, i) for i in plan.inputs if i not in inputs]
        self._host_outputs = [HostOutput(plan, o) for o in plan.outputs if o not in outputs]

    def _require_room(self, texture: Texture) -> None:
        size = (texture.extent.width, texture.extent.rows)
        largest = self.context.info["GL_MAX_TEXTURE_SIZE"]
        if max(size) > largest:
            raise PlanError(
                f"texture {texture.name} is {size[0]} by {size[1]} and this driver's largest is "
                f"{largest}; plan with --largest-texture {largest}"
            )

    def _require_draw_buffers(self, targets: tuple[str, ...]) -> None:
        most = self.context.info["GL_MAX_DRAW_BUFFERS"]
        if len(targets) > most:
            raise PlanError(
                f"a pass draws to {len(targets)} textures and this driver to at most {most} at "
                "once; draw them in several passes"
            )

    def _make_texture(self, texture: Texture) -> None:
        ctx, size = self.context.handle, (texture.extent.width, texture.extent.rows)
        channels, dtype = texture.format.channels, _dtype(texture.format)
        gl_texture = self.keep(ctx.texture(size, channels, dtype=dtype, alignment=1))
        gl_texture.filter = (ctx.NEAREST, ctx.NEAREST)
        gl_texture.repeat_x = gl_texture.repeat_y = False
        framebuffer = self.keep(ctx.framebuffer([gl_texture]))
        self._textures[texture.name] = Drawable(gl_texture, framebuffer, texture.format)

    def _framebuffer(self, targets: tuple[str, ...]) -> Any:
        """The framebuffer of a pass with these targets, allocated once."""
        if len(targets) == 1:
            return self._textures[targets[0]].framebuffer
        if targets not in self._framebuffers:
            attached = [self._textures[name].texture for name in targets]
            self._framebuffers[targets] = self.keep(self.context.handle.framebuffer(attached))
        return self._framebuffers[targets]

    def _record(self, pass_: Pass, count: int) -> Draw | Clear:
        """A recorded pass, for `count` iterations."""
        match pass_:
            case FragmentPass():
                return self._record_draw(pass_, count)
            case CopyPass():
                return self._record_copy(pass_)
            case ClearPass():
                return self._clear(pass_.target, pass_.value, count)
        raise AssertionError(pass_)  # the executor has no other passes

    def _record_draw(self, pass_: FragmentPass, count: int) -> Draw:
        exact, arithmetic = self.machine.exact, self.machine.arithmetic
        decisions = decide(self.plan, pass_, folding=not arithmetic.rounds)
        key = shader_key(self.plan, pass_, decisions, exact=exact, arithmetic=arithmetic)
        shader = drawing_shader(
            self.context, key, pass_.program.name, lambda: fragment_shader(key), key.varyings
        )
        rect = constant_rect(pass_.rect)
        values: dict[str, Values] = dict(pass_values(pass_, count, shader.has))
        values["origin"] = np.array([(rect.x, rect.y)], np.float32)
        values["size"] = np.array([(rect.width, rect.height)], np.float32)
        for number, varying in enumerate(decisions.varyings):
            corners = over_iterations(varying.corners(rect), count)
            values[f"varying{number}_corners"] = single(corners)
        return Draw(
            self._bound,
            shader,
            self._uniforms.add(shader, values),
            [(b.unit, self._textures[b.texture].texture) for b in pass_.bindings],
            Target(self._framebuffer(pass_.targets), viewport(rect), pass_.blend is Blend.ADD),
        )

    def _clear(self, name: str, value: NumberVec4, count: int = 1) -> Clear:
        target = self._textures[name]
        values = clear_values(value, target.format, count)
        return Clear(self._bound, target.framebuffer, values)

    def _record_copy(self, pass_: CopyPass) -> Draw:
        """A draw: it copies floats exactly, between any two rectangles."""
        there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
        shader = drawing_shader(
            self.context, COPY_FRAGMENT_SHADER, "a copy", lambda: COPY_FRAGMENT_SHADER
        )
        return Draw(
            self._bound,
            shader,
            self._uniforms.add(shader, {"offset": copy_offset(there, here)}),
            [(0, self._textures[pass_.source].texture)],
            Target(self._framebuffer((pass_.target,)), viewport(here)),
        )

    def _warm_up(self) -> None:
        """Compile by drawing. Nothing that is uploaded yet is overwritten, and each run clears."""
        self._begin(observed=False)
        for group in self._recorded:
            for call in group.calls:
                if isinstance(call, Draw):
                    call.warm_up()
        self.context.finish()

    # Running ------------------------------------------------------------------------------

    def _send(self, operands: Mapping[str, F32]) -> None:
        """Fill the textures: initial values, then the operands."""
        self._bound.forget()
        for clear in self._first:
            clear(0)
        for host_input in self._host_inputs:
            texture = self._textures[host_input.input.texture].texture
            stored = host_input.stored(operands[host_input.input.matrix])
            texture.write(stored, viewport=viewport(host_input.input.rect), alignment=1)
        if self._device is not None:
            self._device.send(operands)

    def _begin(self, *, observed: bool) -> None:
        self._bound.forget()
        self._uniforms.begin()

    def _texels(self, name: str) -> F32:
        texture = self.plan.texture(name)
        shape = (texture.extent.rows, texture.extent.width, texture.format.channels)
        texels = self._textures[name].texture.read(alignment=1)
        stored = np.frombuffer(texels, _stored_dtype(texture.format)).reshape(shape)
        return decode(stored, texture.format)

    def _read_back(self) -> dict[str, F32]:
        there = self._device.fetch() if self._device is not None else {}
        results = zero_results(self.plan, but=there)
        for host_output in self._host_outputs:
            source = self._textures[host_output.output.texture]
            source.framebuffer.read_into(
                host_output.destination(results),
                viewport=viewport(host_output.output.rect),
                components=source.format.channels,
                dtype=_dtype(source.format),
            )
            host_output.put(results)
        return results

    def _forget(self) -> None:
        self._recorded, self._first, self._device = [], [], None
        self._uniforms = UniformTable()
