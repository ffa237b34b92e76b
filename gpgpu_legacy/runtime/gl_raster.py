"""The `gl-raster` executor: plans as they were meant, rectangles drawn into framebuffers.

Every fragment program becomes a GLSL fragment shader (lower/glsl.py). A pass is a draw into the
viewport of its rectangle. Coordinates that only choose texels are interpolated by the rasteriser
from their corner values, as they always were; texture coordinates that a program computes with are
evaluated at the fragment's centre with the arithmetic that interp/machine.py defines, so that no
rasteriser's own interpolation stands between two executors.

A texture of any kind is a 2D texture with its layers one above the other: texels are fetched by
integer, so the driver's own addressing and filters, and its kinds of texture, are not needed. That
asks for as many rows as all layers have together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import decode, encode, pack, slices
from gpgpu_legacy.isa.ir import ParameterSpace, Vec4
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.body import PARAMETERS, attribute_name, state_name
from gpgpu_legacy.lower.glsl import (
    COPY_FRAGMENT_SHADER,
    FOG_COLOR,
    FOG_COORDINATE,
    FOG_PARAMS,
    fragment_shader,
    shader_key,
    vertex_shader,
)
from gpgpu_legacy.lower.lookups import decide
from gpgpu_legacy.lower.values import given_corners
from gpgpu_legacy.plan.expand import at_iteration, carried_out
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Affine,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    NumberVec4,
    Pass,
    Plan,
    Rect,
    Texture,
    constant_rect,
    constant_vector,
    state_values,
    triangle_planes,
    written_by,
)
from gpgpu_legacy.runtime import gl
from gpgpu_legacy.runtime.executor import (
    EVERY_ARITHMETIC,
    F32,
    FRAGMENT_PASSES,
    Capabilities,
    Executor,
    Machine,
    Observer,
    Prepared,
    Result,
    Timings,
)
from gpgpu_legacy.runtime.sessions import OneByOne
from gpgpu_legacy.runtime.transfers import read_back

_NO_PARAMETER = (0.0, 0.0, 0.0, 0.0)  # what a program reads where a pass gives nothing


def _dtype(texel_format: Format) -> str:
    """The format's components in moderngl's words."""
    return f"f{texel_format.bits_per_channel // 8}"


def _stored_dtype(texel_format: Format) -> np.dtype[Any]:
    """The format's components as they are transferred."""
    kind = "u" if texel_format.numeric is Numeric.UNORM else "f"
    return np.dtype(f"{kind}{texel_format.bits_per_channel // 8}")


class GlRasterExecutor(Executor):
    """Runs on any OpenGL 4.0 driver, GPU or software, with no window."""

    name = "gl-raster"
    summary = "framebuffers and fragment shaders, through OpenGL"
    capabilities = Capabilities(FRAGMENT_PASSES, EVERY_ARITHMETIC, gpu_rank=2, cpu_rank=2)

    def device(self) -> str:
        """The GL renderer and version; ExecutorUnavailableError where there is none."""
        return gl.context().device_name

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU."""
        return gl.context().is_hardware

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        def session(operands: Mapping[str, F32], observer: Observer | None) -> Result:
            return self._carry_out(plan, operands, machine, observer)

        return OneByOne(plan, machine, session)

    def _carry_out(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine,
        observer: Observer | None,
    ) -> Result:
        """Carry out a plan; see Executor. Raises PlanError where a texture is too large here."""
        with gl.context().current() as ctx, _SHADERS.in_use():
            session = _Session(ctx, plan, machine)
            try:
                return session.run(operands, observer)
            finally:
                session.release()


class _Session:
    """The GL objects of one run."""

    def __init__(self, ctx: Any, plan: Plan, machine: Machine) -> None:
        self.ctx, self.plan, self.machine = ctx, plan, machine
        self.objects: list[Any] = []
        self.textures: dict[str, Any] = {}
        self.framebuffers: dict[tuple[str, ...], Any] = {}

    def keep(self, made: Any) -> Any:
        """Remember an object, to be released when the run ends."""
        self.objects.append(made)
        return made

    def release(self) -> None:
        for made in reversed(self.objects):
            made.release()

    def run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        for texture in self.plan.textures:
            self.make_texture(texture)
        for _, each in self.plan.weighted_passes():
            self.make_framebuffer(written_by(each))
        jobs = {id(each): self.job(each) for _, each in self.plan.weighted_passes()}
        self.warm_up(jobs)
        started = perf_counter()
        self.upload(operands)
        self.ctx.finish()
        uploaded = perf_counter()
        for number, (written, each, iteration) in enumerate(carried_out(self.plan)):
            self.carry_out(each, jobs[id(written)], iteration)
            if observer is not None:
                with gl.context().released():
                    observer(number, each, self.read_for_observer)
        self.ctx.finish()
        computed = perf_counter()
        outputs = read_back(self.plan, lambda name, rect: self.read(name)[slices(rect)])
        finished = perf_counter()
        timings = Timings(uploaded - started, computed - uploaded, finished - computed)
        return Result(outputs, timings)

    # Textures -----------------------------------------------------------------------------

    def make_texture(self, texture: Texture) -> None:
        size = (texture.extent.width, texture.extent.rows)
        largest = self.ctx.info["GL_MAX_TEXTURE_SIZE"]
        if max(size) > largest:
            raise PlanError(
                f"texture {texture.name} is {size[0]} by {size[1]} and this driver's largest is "
                f"{largest}; plan with --largest-texture {largest}"
            )
        channels, dtype = texture.format.channels, _dtype(texture.format)
        made = self.keep(self.ctx.texture(size, channels, dtype=dtype, alignment=1))
        made.filter = (self.ctx.NEAREST, self.ctx.NEAREST)
        made.repeat_x = made.repeat_y = False
        self.textures[texture.name] = made
        self.make_framebuffer((texture.name,))

    def make_framebuffer(self, targets: tuple[str, ...]) -> None:
        """What a pass with these targets draws into, made once."""
        most = self.ctx.info["GL_MAX_DRAW_BUFFERS"]
        if len(targets) > most:
            raise PlanError(
                f"a pass draws to {len(targets)} textures and this driver to at most {most} at "
                "once; draw them in several passes"
            )
        if targets not in self.framebuffers:
            attached = [self.textures[name] for name in targets]
            self.framebuffers[targets] = self.keep(self.ctx.framebuffer(attached))

    def upload(self, operands: Mapping[str, F32]) -> None:
        """Fill the textures: initial values, then the operands."""
        for texture in self.plan.textures:
            if texture.initial is not None:
                self.clear(texture.name, texture.initial)
        for each in self.plan.inputs:
            texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
            stored = encode(texels, self.plan.texture(each.texture).format)
            rect = each.rect
            viewport = (rect.x, rect.y, rect.width, rect.height)
            self.textures[each.texture].write(np.ascontiguousarray(stored), viewport=viewport)

    def clear(self, name: str, value: Vec4) -> None:
        """Set all texels; the value is rounded to the format first, so that no driver has to."""
        texel_format = self.plan.texture(name).format
        rounded = decode(encode(np.array(value, np.float32), texel_format), texel_format)
        self.framebuffers[name,].clear(*rounded.tolist())

    def read_for_observer(self, name: str) -> F32:
        with gl.context().current():
            return self.read(name)

    def read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        texture = self.plan.texture(name)
        shape = (texture.extent.rows, texture.extent.width, texture.format.channels)
        texels = self.textures[name].read(alignment=1)
        stored = np.frombuffer(texels, _stored_dtype(texture.format)).reshape(shape)
        return decode(stored, texture.format)

    # Passes -------------------------------------------------------------------------------

    def job(self, each: Pass) -> _Job | None:
        """How to carry out a pass as the plan writes it; a clear needs nothing."""
        if isinstance(each, ClearPass):
            return None
        if isinstance(each, CopyPass):
            return _Job(_SHADERS.find(self.ctx, vertex_shader(), COPY_FRAGMENT_SHADER), ())
        assert isinstance(each, FragmentPass)
        exact, arithmetic = self.machine.exact, self.machine.arithmetic
        decisions = decide(self.plan, each, folding=not arithmetic.rounds)
        key = shader_key(self.plan, each, decisions, exact=exact, arithmetic=arithmetic)
        shader = _SHADERS.find(self.ctx, vertex_shader(key.places), fragment_shader(key))
        return _Job(
            shader, tuple(place.corners(constant_rect(each.rect)) for place in decisions.places)
        )

    def warm_up(self, jobs: Mapping[int, _Job | None]) -> None:
        """Draw one fragment with every shader.

        Drivers finish compiling at a shader's first draw, and that is no part of a run's time.
        Nothing has been uploaded yet, so what is drawn here is overwritten or undefined anyway.
        """
        for _, written in self.plan.weighted_passes():
            each = at_iteration(written, 0)
            if isinstance(each, FragmentPass):
                rect = replace(constant_rect(each.rect), width=1, height=1)
                self.carry_out(replace(each, rect=rect), jobs[id(written)], 0)
        self.ctx.finish()

    def carry_out(self, each: Pass, job: _Job | None, iteration: int) -> None:
        if isinstance(each, ClearPass):
            self.clear(each.target, constant_vector(each.value))
            return
        assert job is not None
        if isinstance(each, CopyPass):
            self.copy(each, job.shader)
        elif isinstance(each, FragmentPass):
            for number, corners in enumerate(job.places):
                values = [corner.at(iteration) for corner in corners]
                job.shader.set(f"place{number}_corners", "8f", *values)
            self.draw(each, job.shader)

    def copy(self, each: CopyPass, shader: _Shader) -> None:
        """A copy is drawn: it is exact for floats, and takes any two rectangles."""
        there, here = constant_rect(each.source_rect), constant_rect(each.target_rect)
        self.textures[each.source].use(0)
        shader.set("source", "i", 0)
        shader.set("offset", "2i", there.x - here.x, there.y - here.y)
        self.draw_rectangle((each.target,), here, Blend.NONE, shader)

    def draw(self, each: FragmentPass, shader: _Shader) -> None:
        for binding in each.bindings:
            self.textures[binding.texture].use(binding.unit)
            shader.set(f"texture{binding.unit}", "i", binding.unit)
        self.set_attributes(each, shader)
        self.set_parameters(each, shader)
        shader.set("origin", "2f", constant_rect(each.rect).x, constant_rect(each.rect).y)
        shader.set("size", "2f", constant_rect(each.rect).width, constant_rect(each.rect).height)
        self.draw_rectangle(each.targets, constant_rect(each.rect), each.blend, shader)

    def set_attributes(self, each: FragmentPass, shader: _Shader) -> None:
        """The planes of the attributes; a shader that does not bend one reads its first plane."""
        given = given_corners(each)
        read = each.program.attributes_read + (FOG_COORDINATE,) * (each.program.fog is not None)
        for attribute in read:
            name = attribute_name(attribute)
            if not shader.has(f"{name}_base"):
                continue
            corners = given.get(attribute) or (ATTRIBUTE_DEFAULTS[attribute.kind],) * 4
            planes = triangle_planes(corners, constant_rect(each.rect))
            shader.set_vectors(f"{name}_base", *(p.base for p in planes))
            shader.set_vectors(f"{name}_dx", *(p.dx for p in planes))
            shader.set_vectors(f"{name}_dy", *(p.dy for p in planes))

    def set_parameters(self, each: FragmentPass, shader: _Shader) -> None:
        for space, values in ((ParameterSpace.LOCAL, each.locals), (ParameterSpace.ENV, each.env)):
            vectors = {parameter.index: parameter.value for parameter in values}
            for n in each.program.parameter_indices(space):
                shader.set_vectors(f"{PARAMETERS[space]}{n}", vectors.get(n, _NO_PARAMETER))
        state = state_values(each)
        fog = (FOG_COLOR, FOG_PARAMS) if each.program.fog is not None else ()
        for binding in (*each.program.state_bindings, *fog):
            shader.set_vectors(state_name(binding), state_vector(binding, state))

    def draw_rectangle(
        self, targets: tuple[str, ...], rect: Rect, blend: Blend, shader: _Shader
    ) -> None:
        framebuffer = self.framebuffers[targets]
        framebuffer.use()
        framebuffer.viewport = (rect.x, rect.y, rect.width, rect.height)
        if blend is Blend.ADD:
            self.ctx.blend_func = self.ctx.ONE, self.ctx.ONE
            self.ctx.enable_only(self.ctx.BLEND)
        else:
            self.ctx.enable_only(self.ctx.NOTHING)
        shader.vertices.render(self.ctx.TRIANGLE_STRIP, vertices=4)


@dataclass(frozen=True, slots=True)
class _Job:
    """A pass made ready: its shader, and the corner values of the places that it interpolates."""

    shader: _Shader
    places: tuple[tuple[Affine, ...], ...]


class _Shader:
    """A compiled program with its uniforms, as far as the driver has kept them."""

    def __init__(self, program: Any, vertices: Any) -> None:
        self.program, self.vertices = program, vertices
        self._uniforms = {name: program[name] for name in program}

    def release(self) -> None:
        self.vertices.release()
        self.program.release()

    def has(self, name: str) -> bool:
        """Whether the program has a uniform of that name in use."""
        return name in self._uniforms

    def set(self, name: str, layout: str, *values: float) -> None:
        """Set a uniform; `layout` is struct's. One that the driver dropped is passed over."""
        uniform = self._uniforms.get(name)
        if uniform is not None:
            uniform.write(struct.pack(layout, *values))

    def set_vectors(self, name: str, *vectors: NumberVec4) -> None:
        """Set a vec4 uniform, or an array of them; what is more than it holds is passed over."""
        uniform = self._uniforms.get(name)
        if uniform is not None:
            values = np.array(vectors[: uniform.array_length], np.float64)
            with np.errstate(over="ignore"):
                uniform.write(values.astype(np.float32).tobytes())


class _Shaders:
    """The context's compiled shaders: a text is compiled once, and the last used ones are kept."""

    _KEPT = 256

    def __init__(self) -> None:
        self._by_text: dict[tuple[str, str], _Shader] = {}
        self.compiled = 0
        self._users = 0

    def find(self, ctx: Any, vertex_text: str, fragment_text: str) -> _Shader:
        """The shader of these texts, which becomes the one used last."""
        texts = (vertex_text, fragment_text)
        shader = self._by_text.pop(texts, None)
        if shader is None:
            program = ctx.program(vertex_shader=vertex_text, fragment_shader=fragment_text)
            shader = _Shader(program, ctx.vertex_array(program, []))
            self.compiled += 1
        self._by_text[texts] = shader
        return shader

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep all that are found, until no run is under way (an observer may start another)."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._trim()

    def _trim(self) -> None:
        """Release those that were used longest ago."""
        while len(self._by_text) > self._KEPT:
            self._by_text.pop(next(iter(self._by_text))).release()


_SHADERS = _Shaders()
EXECUTOR = GlRasterExecutor()
