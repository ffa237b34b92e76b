"""Prepared plans of `gl-arbfp`: plans on the driver's own ARB_fragment_program.

Nothing is translated. The driver gets the text of each program, and a pass is what it was in 2003:
a quad with texture coordinates at its corners, drawn into a framebuffer. Textures have the targets
that the program names, and state vectors are OpenGL's own materials, lights and matrices. So the
driver shows independently of this package what a program means, and how fast it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import Stored, decode
from gpgpu_legacy.lower.values import F64, NO_PARAMETER, given_corners, over_iterations
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    StateValue,
    written_by,
)
from gpgpu_legacy.plan.textures import Rect, constant_rect, full_rect
from gpgpu_legacy.runtime.gl_arbfp_context import Context
from gpgpu_legacy.runtime.gl_arbfp_draws import Bound, Clear, Draw, Numbers, Rows, State, Target
from gpgpu_legacy.runtime.gl_arbfp_objects import (
    TARGETS,
    TEXELS,
    Objects,
    layers_of,
)
from gpgpu_legacy.runtime.gl_arbfp_programs import (
    LoadedProgram,
    load,
    load_vertex_program,
    vertex_attribute,
)
from gpgpu_legacy.runtime.gl_headers import GL
from gpgpu_legacy.runtime.gl_prepared import GlPrepared, record_steps
from gpgpu_legacy.runtime.gl_state import setter
from gpgpu_legacy.runtime.gl_values import clear_values, single, viewport
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, Observer, Prepared, zero_results
from gpgpu_legacy.runtime.transfers import HostInput, HostOutput, cleared_first


class NothingToDo(Prepared):
    """A plan without textures: its results are zero, and it needs no OpenGL."""

    def _upload(self, operands: Mapping[str, F32]) -> None:
        pass

    def _compute(self, observer: Observer | None) -> None:
        pass

    def _read_back(self) -> dict[str, F32]:
        return zero_results(self.plan)

    def _release(self) -> None:
        pass


class GlArbfpPrepared(GlPrepared[Context]):
    """A plan's textures, framebuffers, samplers, programs and draws."""

    def __init__(self, context: Context, plan: Plan, machine: Machine) -> None:
        """See GlPrepared."""
        self._first: list[Clear] = []
        self._interned: dict[tuple[int, bytes], Rows] = {}
        super().__init__(context, plan, machine)

    # Preparing ----------------------------------------------------------------------------

    def _build(self) -> None:
        self._gl: SimpleNamespace = self.context.handle
        self._bound = Bound(self._gl)
        self._gl_objects = objects = Objects(self.context, self.plan, self._objects)
        for texture in self.plan.textures:
            objects.require_room(texture)
        for _, pass_ in self.plan.weighted_passes():
            objects.require_draw_buffers(written_by(pass_))
        for texture in self.plan.textures:
            objects.make_texture(texture)
        self._vertex_program: LoadedProgram | None = load_vertex_program(self.context)
        self._make_transfers()
        self._recorded = record_steps(self.plan, self._record)
        self._warm_up()

    def _make_transfers(self) -> None:
        plan = self.plan
        self._first = [self._clear(name, value) for name, value in cleared_first(plan).items()]
        self._host_inputs = [HostInput(plan, input_) for input_ in plan.inputs]
        self._host_outputs = [
            HostOutput(plan, output, TEXELS[plan.texture(output.texture).format].dtype)
            for output in plan.outputs
        ]

    def _record(self, pass_: Pass, count: int) -> Callable[[int], object]:
        match pass_:
            case FragmentPass():
                return self._record_draw(pass_, count)
            case CopyPass():
                return self._record_copy(pass_)
            case ClearPass():
                return self._clear(pass_.target, pass_.value, count)
        raise AssertionError(pass_)  # the executor has no other passes

    def _clear(self, name: str, value: NumberVec4, count: int = 1) -> Clear:
        texture = self.plan.texture(name)
        layers = range(texture.extent.depth)
        framebuffers = tuple(self._gl_objects.framebuffer((name, layer)) for layer in layers)
        return Clear(self._bound, framebuffers, clear_values(value, texture.format, count))

    def _record_copy(self, pass_: CopyPass) -> Callable[[int], object]:
        """From the framebuffer to the texture, as in Section 3 of Hall, Carr & Hart."""
        there, here = constant_rect(pass_.source_rect), constant_rect(pass_.target_rect)
        framebuffer = self._gl_objects.framebuffer((pass_.source, 0))
        target, number = self._gl_objects.texture(pass_.target)
        copy = partial(
            self._gl.glCopyTexSubImage2D,
            *(target, 0, here.x, here.y, there.x, there.y, there.width, there.height),
        )

        bound = self._bound

        def run(_: int) -> None:
            bound.aim(framebuffer)
            bound.texture(0, target, number)
            copy()

        return run

    def _record_draw(self, pass_: FragmentPass, count: int) -> Draw:
        objects, program = self._gl_objects, load(self.context, pass_.program)
        framebuffer = objects.framebuffer(*((name, 0) for name in pass_.targets))
        rect = constant_rect(pass_.rect)
        return Draw(
            self._bound,
            program,
            tuple(
                (b.unit, *objects.texture(b.texture), objects.sampler(b.texture, b.sampler))
                for b in pass_.bindings
            ),
            Target(framebuffer, viewport(rect), pass_.blend is Blend.ADD),
            Numbers(
                self._parameters(program.locals, pass_.locals, count),
                self._parameters(program.env, pass_.env, count),
                self._attributes(program, pass_, count),
                tuple(self._state(state, count) for state in pass_.state),
            ),
        )

    def _rows(self, values: F64) -> Rows:
        """Values (n, …) as OpenGL reads them, the same object for the same bits."""
        rounded = single(values)
        key = (len(rounded), rounded.tobytes())
        return self._interned.setdefault(key, Rows(rounded))

    def _parameters(
        self, indices: Iterable[int], parameters: Iterable[ParameterValue], count: int
    ) -> tuple[tuple[int, Rows], ...]:
        """The parameters that a program reads, with a pass's values for them, else 0."""
        values: dict[int, NumberVec4] = {
            parameter.index: parameter.value for parameter in parameters
        }
        return tuple(
            (index, self._rows(over_iterations(values.get(index, NO_PARAMETER), count)))
            for index in indices
        )

    def _attributes(
        self, program: LoadedProgram, pass_: FragmentPass, count: int
    ) -> tuple[tuple[int, Rows], ...]:
        """The vertex attributes that a pass needs, by number, with their corner values."""
        corner_values = given_corners(pass_)
        attributes = []
        for attribute in program.attributes:
            corners = corner_values.get(attribute) or (ATTRIBUTE_DEFAULTS[attribute.kind],) * 4
            numbers = [number for corner in corners for number in corner]
            rows = self._rows(over_iterations(numbers, count))
            attributes.append((vertex_attribute(attribute), rows))
        return tuple(attributes)

    def _state(self, state: StateValue, count: int) -> State:
        set_value = setter(state.binding)
        if set_value is None:
            raise PlanError(
                f"plan {self.plan.name}: gl-arbfp cannot set {state.binding}, which OpenGL derives "
                "from other state or does not have; give the state that it derives from"
            )
        return State(state.binding, set_value, over_iterations(state.value, count))

    def _warm_up(self) -> None:
        """Draw one fragment of each recorded pass.

        Drivers compile a program for the textures and the target of its first draw, and a run's
        time excludes compiling. The textures hold nothing yet that this could overwrite.
        """
        self._begin(observed=False)
        for group in self._recorded:
            for call in group.calls:
                if isinstance(call, Draw):
                    call.warm_up(self._gl_objects.check)
        self.context.finish()
        self._gl_objects.check("what this plan draws with")

    # Running ------------------------------------------------------------------------------

    def _begin(self, *, observed: bool) -> None:
        gl = self._gl
        self._bound.forget()
        for capability in (GL.DITHER, GL.FRAMEBUFFER_SRGB, GL.TEXTURE_CUBE_MAP_SEAMLESS):
            gl.glDisable(capability)
        for stage in (GL.CLAMP_VERTEX_COLOR, GL.CLAMP_FRAGMENT_COLOR, GL.CLAMP_READ_COLOR):
            gl.glClampColor(stage, 0)
        for direction in (GL.PACK_ALIGNMENT, GL.UNPACK_ALIGNMENT):
            gl.glPixelStorei(direction, 1)
        gl.glBlendFunc(GL.ONE, GL.ONE)
        gl.glEnable(GL.VERTEX_PROGRAM)
        gl.glEnable(GL.FRAGMENT_PROGRAM)
        assert self._vertex_program is not None
        gl.glBindProgramARB(GL.VERTEX_PROGRAM, self._vertex_program.number)

    def _send(self, operands: Mapping[str, F32]) -> None:
        """Fill the textures: initial values, then the operands."""
        self._begin(observed=False)
        for clear in self._first:
            clear(0)
        for host_input in self._host_inputs:
            texture = self.plan.texture(host_input.input.texture)
            target, texels = TARGETS[texture.kind], TEXELS[texture.format]
            packed = host_input.stored(operands[host_input.input.matrix])
            stored = np.ascontiguousarray(packed, texels.dtype)
            store = getattr(self._gl, f"glTexSubImage{target.dimensions}D")
            self._bound.texture(0, *self._gl_objects.texture(texture.name))
            for layer, part, rows in layers_of(host_input.input.rect, texture.extent.height):
                store(
                    *(target.image(layer), 0, *target.leading(part.x, part.y, layer)),
                    *target.leading(part.width, part.height, 1),
                    *(texels.layout, texels.component, stored[rows].ctypes.data),
                )

    def _read_back(self) -> dict[str, F32]:
        results = zero_results(self.plan)
        for host_output in self._host_outputs:
            destination = host_output.destination(results)
            self._read(host_output.output.texture, host_output.output.rect, destination)
            host_output.put(results)
        self._gl_objects.check("this run")
        return results

    def _texels(self, name: str) -> F32:
        self._bound.forget()  # others may have run since the observer was called
        texture = self.plan.texture(name)
        extent = texture.extent
        shape = (extent.rows, extent.width, texture.format.channels)
        stored = np.empty(shape, TEXELS[texture.format].dtype)
        self._read(name, full_rect(texture), stored)
        return decode(stored, texture.format)

    def _read(self, name: str, rect: Rect, stored: Stored) -> None:
        """Read a rectangle of a texture's rows into an array (height, width, channels)."""
        texture = self.plan.texture(name)
        texels = TEXELS[texture.format]
        for layer, part, rows in layers_of(rect, texture.extent.height):
            self._bound.aim(self._gl_objects.framebuffer((name, layer)))
            self._gl.glReadPixels(
                *(part.x, part.y, part.width, part.height),
                *(texels.layout, texels.component, stored[rows].ctypes.data),
            )

    def _forget(self) -> None:
        self._recorded, self._first, self._vertex_program = [], [], None
