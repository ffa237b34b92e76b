"""The `gl-arbfp` executor: plans on the driver's own ARB_fragment_program.

Nothing is translated. The driver gets the text of each program, and a pass is what it was in 2003:
a quad with texture coordinates at its corners, drawn into a framebuffer. Textures are of the very
targets that the program names, and state vectors are OpenGL's own materials, lights and matrices.
So it says independently of this package what a program means, and how fast it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import Array, byref, c_float, c_int, c_uint
from dataclasses import dataclass, replace
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpgpu_legacy.asm.printer import disassemble
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import decode, encode, pack
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, ParameterSpace, Program, Vec4
from gpgpu_legacy.plan.expand import at_iteration, passes
from gpgpu_legacy.plan.formats import R16F, R32F, RGBA8, RGBA16F, RGBA32F, UNORM8, Format
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    Filter,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Rect,
    Sampler,
    StateValue,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
    constant_vector,
)
from gpgpu_legacy.runtime.egl import GL, Context, context
from gpgpu_legacy.runtime.executor import (
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
from gpgpu_legacy.runtime.gl_state import reset, tell
from gpgpu_legacy.runtime.sessions import OneByOne
from gpgpu_legacy.runtime.transfers import read_back, zero_results

_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))  # a plan's corner order
_NO_PARAMETER = (0.0, 0.0, 0.0, 0.0)

# Which generic vertex attribute carries which attribute of the fragment. The numbers are those of
# the conventional attributes where a driver has one set for both, so that none is in the way.
_PLACE = 0
_CARRIED_BY = {
    AttributeKind.COLOR: 3,
    AttributeKind.SECONDARY_COLOR: 4,
    AttributeKind.FOGCOORD: 5,
    AttributeKind.TEXCOORD: 8,  # set 0, then the others
}
_TEXCOORD_SETS = 8

# Vertices pass through unchanged. Fixed-function vertices would go through the matrices, which are
# a fragment program's to read, and would leave the secondary colour without an alpha.
_VERTEX_PROGRAM = "\n".join(
    [
        "!!ARBvp1.0",
        f"MOV result.position, vertex.attrib[{_PLACE}];",
        f"MOV result.color, vertex.attrib[{_CARRIED_BY[AttributeKind.COLOR]}];",
        f"MOV result.color.secondary, vertex.attrib[{_CARRIED_BY[AttributeKind.SECONDARY_COLOR]}];",
        f"MOV result.fogcoord, vertex.attrib[{_CARRIED_BY[AttributeKind.FOGCOORD]}];",
        *(
            f"MOV result.texcoord[{n}], vertex.attrib[{_CARRIED_BY[AttributeKind.TEXCOORD] + n}];"
            for n in range(_TEXCOORD_SETS)
        ),
        "END",
    ]
)


@dataclass(frozen=True, slots=True)
class _Texels:
    """A texel format in GL's words: how a texture stores it, and how it is transferred."""

    internal: int
    layout: int
    component: int
    dtype: np.dtype[Any]


_FLOAT32, _UINT8 = np.dtype(np.float32), np.dtype(np.uint8)

# Half-precision numbers travel as float32, which holds each of them.
_TEXELS: Mapping[Format, _Texels] = {
    R16F: _Texels(GL.R16F, GL.RED, GL.FLOAT, _FLOAT32),
    RGBA16F: _Texels(GL.RGBA16F, GL.RGBA, GL.FLOAT, _FLOAT32),
    R32F: _Texels(GL.R32F, GL.RED, GL.FLOAT, _FLOAT32),
    RGBA32F: _Texels(GL.RGBA32F, GL.RGBA, GL.FLOAT, _FLOAT32),
    UNORM8: _Texels(GL.R8, GL.RED, GL.UNSIGNED_BYTE, _UINT8),
    RGBA8: _Texels(GL.RGBA8, GL.RGBA, GL.UNSIGNED_BYTE, _UINT8),
}


@dataclass(frozen=True, slots=True)
class _Target:
    """A texture target in GL's words.

    dimensions: the digit in the names of its functions. limit: the state variable of the largest
    size. faces: the target of the first of six images, where it has those.
    """

    name: int
    dimensions: int
    limit: int
    noun: str
    faces: int | None = None

    def images(self, depth: int) -> Sequence[int]:
        """The targets of its images: that of each face, or the one."""
        return (self.name,) if self.faces is None else range(self.faces, self.faces + depth)

    def image(self, layer: int) -> int:
        """The target of the image that has this layer."""
        return self.name if self.faces is None else self.faces + layer

    def place(self, x: int, y: int, layer: int) -> tuple[int, ...]:
        """As many of three offsets or sizes as its functions take."""
        return (x, y, layer)[: self.dimensions]


_TARGETS = {
    TextureKind.RECT: _Target(
        GL.TEXTURE_RECTANGLE, 2, GL.MAX_RECTANGLE_TEXTURE_SIZE, "rectangle texture"
    ),
    TextureKind.T1D: _Target(GL.TEXTURE_1D, 1, GL.MAX_TEXTURE_SIZE, "1D texture"),
    TextureKind.T2D: _Target(GL.TEXTURE_2D, 2, GL.MAX_TEXTURE_SIZE, "2D texture"),
    TextureKind.T3D: _Target(GL.TEXTURE_3D, 3, GL.MAX_3D_TEXTURE_SIZE, "3D texture"),
    TextureKind.CUBE: _Target(
        *(GL.TEXTURE_CUBE_MAP, 2, GL.MAX_CUBE_MAP_TEXTURE_SIZE, "cube map"),
        faces=GL.TEXTURE_CUBE_MAP_POSITIVE_X,
    ),
}

_FILTERS = {Filter.NEAREST: GL.NEAREST, Filter.LINEAR: GL.LINEAR}
_WRAPS = {
    Wrap.CLAMP_TO_EDGE: GL.CLAMP_TO_EDGE,
    Wrap.CLAMP: GL.CLAMP,
    Wrap.REPEAT: GL.REPEAT,
}

_Surface = tuple[str, int]  # a texture by name, and one of its layers


class GlArbfpExecutor(Executor):
    """Runs where the driver offers GL_ARB_fragment_program to a compatibility context.

    Arithmetic is the driver's: llvmpipe rounds a multiply-add twice, as the numpy executor does,
    a GPU may round it once, and no program can ask for the one or the other. So `machine.exact`
    changes nothing here. How a colour becomes 8 bits is the driver's too: llvmpipe gives the
    nearest of the 256 values, an H100 now and then the one below it.
    """

    name = "gl-arbfp"
    summary = "the driver's own ARB_fragment_program, through EGL"
    capabilities = Capabilities(FRAGMENT_PASSES, exact=False, runs_driver_programs=True)

    def device(self) -> str:
        """The renderer and the version of its driver; see Executor."""
        made = context()
        return f"{made.renderer}, OpenGL {made.version}"

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU; see Executor."""
        return context().is_hardware

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
        """Carry out a plan; see Executor.

        Raises PlanError where another arithmetic than fp32 is asked for, where the driver refuses a
        program, a texture's size or its format, and where a pass gives a value to state that OpenGL
        derives from other state.
        """
        if not plan.textures:
            return Result(zero_results(plan), Timings(0.0, 0.0, 0.0))
        made = context()
        with made.current():
            session = _Session(made, plan)
            try:
                return session.run(operands, observer)
            finally:
                session.release()


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A program as the driver has it: its GL name, and what it reads besides textures.

    attributes: those that a vertex has to carry.
    """

    name: int
    attributes: tuple[Attribute, ...]
    locals: tuple[int, ...]
    env: tuple[int, ...]


class _Session:
    """One run and the GL objects that it makes.

    Each pass sets all the state that it depends on and takes none over from the pass before.
    """

    def __init__(self, made: Context, plan: Plan) -> None:
        self.context, self.plan = made, plan
        self.gl: SimpleNamespace = made.gl
        self.described = {texture.name: texture for texture in plan.textures}
        self.textures: dict[str, int] = {}
        self.framebuffers: dict[tuple[_Surface, ...], int] = {}
        self.samplers: dict[Sampler, int] = {}
        self.programs: dict[int, _Loaded] = {}
        self.vertex_program = 0

    def run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        self.prepare()
        started = perf_counter()
        self.upload(operands)
        self.gl.glFinish()
        uploaded = perf_counter()
        for number, each in enumerate(passes(self.plan)):
            self.carry_out(each)
            if observer is not None:
                self.show(observer, number, each)
        self.gl.glFinish()
        computed = perf_counter()
        outputs = read_back(self.plan, self.read)
        finished = perf_counter()
        self.check("this run")
        timings = Timings(uploaded - started, computed - uploaded, finished - computed)
        return Result(outputs, timings)

    def show(self, observer: Observer, number: int, each: Pass) -> None:
        """Call the observer, which may make other contexts current as it likes."""

        def read(name: str) -> F32:
            with self.context.current():
                extent = self.described[name].extent
                return self.read(name, Rect(0, 0, extent.width, extent.rows))

        with self.context.released():
            observer(number, each, read)

    def release(self) -> None:
        """Delete all that this run has made."""
        programs = [loaded.name for loaded in self.programs.values()]
        self.delete(self.gl.glDeleteProgramsARB, [*programs, self.vertex_program])
        self.delete(self.gl.glDeleteFramebuffers, self.framebuffers.values())
        self.delete(self.gl.glDeleteSamplers, self.samplers.values())
        self.delete(self.gl.glDeleteTextures, self.textures.values())

    # GL objects ------------------------------------------------------------------------------

    def delete(self, deleter: Any, names: Iterable[int]) -> None:
        for name in names:
            deleter(1, byref(c_uint(name)))

    def check(self, what: str) -> None:
        """Raise PlanError if GL has found a fault since the last check."""
        error = self.gl.glGetError()
        if error == GL.NO_ERROR:
            return
        advice = "; plan with a smaller largest texture" if error == GL.OUT_OF_MEMORY else ""
        raise PlanError(
            f"plan {self.plan.name}: {self.context.renderer} refuses {what} "
            f"(GL error {error:#x}){advice}"
        )

    def prepare(self) -> None:
        """Make textures, framebuffers and programs, and have the driver finish compiling."""
        gl = self.gl
        for capability in (GL.DITHER, GL.FRAMEBUFFER_SRGB, GL.TEXTURE_CUBE_MAP_SEAMLESS):
            gl.glDisable(capability)
        for stage in (GL.CLAMP_VERTEX_COLOR, GL.CLAMP_FRAGMENT_COLOR, GL.CLAMP_READ_COLOR):
            gl.glClampColor(stage, 0)
        for direction in (GL.PACK_ALIGNMENT, GL.UNPACK_ALIGNMENT):
            gl.glPixelStorei(direction, 1)
        gl.glBlendFunc(GL.ONE, GL.ONE)
        self.load_vertex_program()
        gl.glEnable(GL.FRAGMENT_PROGRAM)
        for texture in self.plan.textures:
            self.make_texture(texture)
        written = [p for _, p in self.plan.weighted_passes() if isinstance(p, FragmentPass)]
        for each in written:
            for binding in each.bindings:
                self.make_sampler(self.sampler(binding))
            if id(each.program) not in self.programs:
                self.load(each.program)
        self.warm_up(written)
        gl.glFinish()
        self.check("what this plan draws with")

    def make_texture(self, texture: Texture) -> None:
        gl, extent, target = self.gl, texture.extent, _TARGETS[texture.kind]
        largest = self.context.integer(target.limit)
        size = f"{extent.width} by {extent.height}"
        size += f" by {extent.depth}" if texture.kind is TextureKind.T3D else ""
        if max(target.place(extent.width, extent.height, extent.depth)) > largest:
            raise PlanError(
                f"texture {texture.name} is {size}, but the largest {target.noun} of "
                f"{self.context.renderer} is {largest}; plan with largest_texture {largest} or less"
            )
        texels = _TEXELS.get(texture.format)
        if texels is None:
            known = ", ".join(each.name for each in _TEXELS)
            raise PlanError(
                f"texture {texture.name} is {texture.format.name}; gl-arbfp has {known}"
            )
        self.textures[texture.name] = _generate(gl.glGenTextures)
        self.bind(0, texture.name)
        allocate = getattr(gl, f"glTexImage{target.dimensions}D")
        sizes = target.place(extent.width, extent.height, extent.depth)
        for image in target.images(extent.depth):
            allocate(image, 0, texels.internal, *sizes, 0, texels.layout, texels.component, None)
        self.check(f"texture {texture.name} of {size} texels")
        self.aim((texture.name, 0))

    def make_framebuffer(self, surfaces: tuple[_Surface, ...]) -> None:
        """A framebuffer that draws its colour n to the layer of a texture that surface n is."""
        gl, most = self.gl, self.context.integer(GL.MAX_DRAW_BUFFERS)
        if len(surfaces) > most:
            raise PlanError(
                f"plan {self.plan.name}: a pass draws to {len(surfaces)} textures, but "
                f"{self.context.renderer} can draw to {most} at once; use more passes"
            )
        self.framebuffers[surfaces] = _generate(gl.glGenFramebuffers)
        gl.glBindFramebuffer(GL.FRAMEBUFFER, self.framebuffers[surfaces])
        attachments = [GL.COLOR_ATTACHMENT0 + n for n in range(len(surfaces))]
        for attachment, (name, layer) in zip(attachments, surfaces, strict=True):
            target = _TARGETS[self.described[name].kind]
            attach = getattr(gl, f"glFramebufferTexture{target.dimensions}D")
            slices = (layer,) if target.dimensions == 3 else ()
            attach(
                *(GL.FRAMEBUFFER, attachment, target.image(layer)),
                *(self.textures[name], 0, *slices),
            )
        gl.glDrawBuffers(len(surfaces), (c_uint * len(surfaces))(*attachments))
        if gl.glCheckFramebufferStatus(GL.FRAMEBUFFER) != GL.FRAMEBUFFER_COMPLETE:
            textures = [self.described[name] for name, _ in surfaces]
            described = (f"a {_TARGETS[t.kind].noun} of {t.format.name}" for t in textures)
            raise PlanError(
                f"{self.context.renderer} cannot draw to {' and '.join(t.name for t in textures)}, "
                f"{' and '.join(described)}"
            )

    def sampler(self, binding: Binding) -> Sampler:
        """The sampler of a binding; cube maps clamp to the edge, whatever it says."""
        if self.described[binding.texture].kind is TextureKind.CUBE:
            return Sampler(binding.sampler.filter)
        return binding.sampler

    def make_sampler(self, sampler: Sampler) -> None:
        if sampler in self.samplers:
            return
        self.samplers[sampler] = _generate(self.gl.glGenSamplers)
        for parameter, value in (
            (GL.TEXTURE_MIN_FILTER, _FILTERS[sampler.filter]),
            (GL.TEXTURE_MAG_FILTER, _FILTERS[sampler.filter]),
            (GL.TEXTURE_WRAP_S, _WRAPS[sampler.wrap_s]),
            (GL.TEXTURE_WRAP_T, _WRAPS[sampler.wrap_t]),
            (GL.TEXTURE_WRAP_R, _WRAPS[sampler.wrap_r]),
        ):
            self.gl.glSamplerParameteri(self.samplers[sampler], parameter, value)

    def load_vertex_program(self) -> None:
        self.vertex_program = _generate(self.gl.glGenProgramsARB)
        refusal = _give_text(self.context, GL.VERTEX_PROGRAM, self.vertex_program, _VERTEX_PROGRAM)
        if refusal:
            raise PlanError(f"{self.context.renderer} refuses the vertex program {refusal}")
        self.gl.glEnable(GL.VERTEX_PROGRAM)

    def load(self, program: Program) -> None:
        """Give the driver a program's text."""
        attributes = [a for a in program.attributes_read if a.kind is not AttributeKind.POSITION]
        if program.fog is not None:
            attributes.append(Attribute(AttributeKind.FOGCOORD))
        loaded = _Loaded(
            _generate(self.gl.glGenProgramsARB),
            tuple(dict.fromkeys(attributes)),
            program.parameter_indices(ParameterSpace.LOCAL),
            program.parameter_indices(ParameterSpace.ENV),
        )
        self.programs[id(program)] = loaded
        text = disassemble(program)
        refusal = _give_text(self.context, GL.FRAGMENT_PROGRAM, loaded.name, text)
        if refusal:
            raise PlanError(
                f"{self.context.renderer} refuses program {program.name or 'without a name'} "
                f"{refusal}"
            )

    def warm_up(self, written: Iterable[FragmentPass]) -> None:
        """Draw one fragment of each pass that the plan writes out.

        Drivers compile a program for the textures and the target of its first draw, and compiling
        is no part of a run's time. Nothing is in the textures yet that this could spoil.
        """
        for each in written:
            first = at_iteration(each, 0)
            assert isinstance(first, FragmentPass)
            self.draw(replace(first, rect=replace(first.rect, width=1, height=1)))

    # Transfers -------------------------------------------------------------------------------

    def upload(self, operands: Mapping[str, F32]) -> None:
        """Fill the textures: initial values, then the operands."""
        for texture in self.plan.textures:
            if texture.initial is not None:
                self.clear(texture.name, texture.initial)
        for each in self.plan.inputs:
            texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
            self.write(each.texture, each.rect, texels)

    def write(self, name: str, rect: Rect, values: F32) -> None:
        """Store values (height, width, channels) in a rectangle of a texture's rows."""
        texture = self.described[name]
        target, texels = _TARGETS[texture.kind], _TEXELS[texture.format]
        stored = np.ascontiguousarray(encode(values, texture.format), texels.dtype)
        store = getattr(self.gl, f"glTexSubImage{target.dimensions}D")
        self.bind(0, name)
        for layer, part, rows in _layers(rect, texture.extent.height):
            store(
                *(target.image(layer), 0, *target.place(part.x, part.y, layer)),
                *target.place(part.width, part.height, 1),
                *(texels.layout, texels.component, stored[rows].ctypes.data),
            )

    def read(self, name: str, rect: Rect) -> F32:
        """A rectangle of a texture's rows: (height, width, channels)."""
        texture = self.described[name]
        texels = _TEXELS[texture.format]
        stored = np.empty((rect.height, rect.width, texture.format.channels), texels.dtype)
        for layer, part, rows in _layers(rect, texture.extent.height):
            self.aim((name, layer))
            self.gl.glReadPixels(
                *(part.x, part.y, part.width, part.height),
                *(texels.layout, texels.component, stored[rows].ctypes.data),
            )
        return decode(stored, texture.format)

    # Passes ----------------------------------------------------------------------------------

    def carry_out(self, each: Pass) -> None:
        if isinstance(each, FragmentPass):
            self.draw(each)
        elif isinstance(each, CopyPass):
            self.copy(each)
        elif isinstance(each, ClearPass):
            self.clear(each.target, constant_vector(each.value))

    def bind(self, unit: int, name: str) -> None:
        """Bind a texture to a unit, which becomes the active one."""
        self.gl.glActiveTexture(GL.TEXTURE0 + unit)
        self.gl.glBindTexture(_TARGETS[self.described[name].kind].name, self.textures[name])

    def aim(self, *surfaces: _Surface) -> None:
        """Let what is drawn, cleared or read next be these layers of textures."""
        if surfaces not in self.framebuffers:
            self.make_framebuffer(surfaces)
        self.gl.glBindFramebuffer(GL.FRAMEBUFFER, self.framebuffers[surfaces])

    def clear(self, name: str, value: Vec4) -> None:
        """Set all texels; the value is rounded to the format first, so that no driver has to."""
        texture = self.described[name]
        texel = decode(encode(np.array(value, np.float32), texture.format), texture.format)
        self.gl.glClearColor(*texel.tolist())
        for layer in range(texture.extent.depth):
            self.aim((name, layer))
            self.gl.glClear(GL.COLOR_BUFFER_BIT)

    def copy(self, each: CopyPass) -> None:
        """The framebuffer into the texture, as Hall, Carr & Hart's Section 3 has it."""
        there, here = constant_rect(each.source_rect), constant_rect(each.target_rect)
        self.aim((each.source, 0))
        self.bind(0, each.target)
        self.gl.glCopyTexSubImage2D(
            *(_TARGETS[self.described[each.target].kind].name, 0, here.x, here.y),
            *(there.x, there.y, there.width, there.height),
        )

    def draw(self, each: FragmentPass) -> None:
        gl, program, rect = self.gl, self.programs[id(each.program)], constant_rect(each.rect)
        gl.glBindProgramARB(GL.VERTEX_PROGRAM, self.vertex_program)
        gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, program.name)
        for index, vector in _parameters(program.locals, each.locals):
            gl.glProgramLocalParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)
        for index, vector in _parameters(program.env, each.env):
            gl.glProgramEnvParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)
        for binding in each.bindings:
            self.bind(binding.unit, binding.texture)
            gl.glBindSampler(binding.unit, self.samplers[self.sampler(binding)])
        self.aim(*((name, 0) for name in each.targets))
        (gl.glEnable if each.blend is Blend.ADD else gl.glDisable)(GL.BLEND)
        gl.glViewport(rect.x, rect.y, rect.width, rect.height)
        with self.state(each.state):
            self.quad(program, each)

    def quad(self, program: _Loaded, each: FragmentPass) -> None:
        """Two triangles, split as the plan says: from corner (0, 0) to (W, H)."""
        gl, carried = self.gl, _carried(program, each)
        gl.glBegin(GL.TRIANGLE_FAN)
        for corner, (x, y) in enumerate(_CORNERS):
            for number, values in carried:
                gl.glVertexAttrib4f(number, *values[corner])
            gl.glVertexAttrib4f(_PLACE, x, y, 0.0, 1.0)
        gl.glEnd()

    # State -----------------------------------------------------------------------------------

    @contextmanager
    def state(self, given: Sequence[StateValue]) -> Iterator[None]:
        """Inside the block OpenGL's state has these values, else its initial ones."""
        if not given:
            yield
            return
        gl = self.gl
        gl.glPushAttrib(GL.LIGHTING_BIT | GL.FOG_BIT | GL.TEXTURE_BIT | GL.VIEWPORT_BIT)
        try:
            # Lights are transformed by the modelview matrix of the time when they are set.
            for value in sorted(given, key=lambda each: each.binding.startswith("state.matrix.")):
                self.set(value)
            yield
        finally:
            for value in given:
                reset(gl, value.binding)
            gl.glPopAttrib()

    def set(self, value: StateValue) -> None:
        """Give a vector of OpenGL's state its value, as far as OpenGL can be told it."""
        if tell(self.gl, value):
            self.check(f"{value.binding} = {value.value}")
            return
        raise PlanError(
            f"plan {self.plan.name}: gl-arbfp cannot set {value.binding}, which OpenGL derives "
            "from other state or does not have; give the state that it derives from"
        )


def _parameters(
    indices: Iterable[int], given: Iterable[ParameterValue]
) -> Iterable[tuple[int, Array[c_float]]]:
    """The parameters that a program reads, with what an expanded pass gives for them, else 0."""
    values: dict[int, Any] = {parameter.index: parameter.value for parameter in given}
    for index in indices:
        yield index, (c_float * 4)(*values.get(index, _NO_PARAMETER))


def _carried(program: _Loaded, each: FragmentPass) -> list[tuple[int, Sequence[Sequence[Any]]]]:
    """The vertex attributes that an expanded pass needs, by number, with their corner values."""
    given: dict[Attribute, Sequence[Sequence[Any]]] = {
        Attribute(AttributeKind.TEXCOORD, texcoords.set): texcoords.corners
        for texcoords in each.texcoords
    }
    given |= {Attribute(values.kind): values.corners for values in each.attributes}
    return [
        (
            _CARRIED_BY[attribute.kind] + attribute.index,
            given.get(attribute, (ATTRIBUTE_DEFAULTS[attribute.kind],) * len(_CORNERS)),
        )
        for attribute in program.attributes
    ]


def _layers(rect: Rect, height: int) -> Iterator[tuple[int, Rect, slice]]:
    """A rectangle of a texture's rows, layer by layer of `height` rows.

    Each time the layer, the rectangle's part in it, and which of the rectangle's rows those are.
    """
    for layer in range(rect.y // height, (rect.y + rect.height - 1) // height + 1):
        first = max(rect.y, layer * height)
        last = min(rect.y + rect.height, (layer + 1) * height)
        part = Rect(rect.x, first - layer * height, rect.width, last - first)
        yield layer, part, slice(first - rect.y, last - rect.y)


def _generate(generator: Any) -> int:
    name = c_uint()
    generator(1, byref(name))
    return name.value


def _give_text(made: Context, stage: int, name: int, text: str) -> str:
    """Give the driver a program's text; returns where and why it refuses it, or nothing."""
    encoded = text.encode("ascii")
    made.gl.glBindProgramARB(stage, name)
    made.gl.glProgramStringARB(stage, GL.PROGRAM_FORMAT_ASCII, len(encoded), encoded)
    position = made.integer(GL.PROGRAM_ERROR_POSITION)
    if position == -1:
        return ""
    made.gl.glGetError()
    message = made.gl.glGetString(GL.PROGRAM_ERROR_STRING).decode("ascii", "replace")
    return f"at position {position}: {' '.join(message.split())}"


# What the driver says of a program ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resources:
    """What a program uses, as a driver counts it."""

    instructions: int
    alu_instructions: int
    tex_instructions: int
    tex_indirections: int
    temporaries: int
    parameters: int
    attributes: int


@dataclass(frozen=True, slots=True)
class ProgramResources:
    """A driver's counts of a program: of its text, and of what the driver has made of it."""

    text: Resources
    native: Resources
    under_native_limits: bool


_TEXT_COUNTS = (
    *(GL.PROGRAM_INSTRUCTIONS, GL.PROGRAM_ALU_INSTRUCTIONS, GL.PROGRAM_TEX_INSTRUCTIONS),
    *(GL.PROGRAM_TEX_INDIRECTIONS, GL.PROGRAM_TEMPORARIES, GL.PROGRAM_PARAMETERS),
    GL.PROGRAM_ATTRIBS,
)
_NATIVE_COUNTS = (
    *(GL.PROGRAM_NATIVE_INSTRUCTIONS, GL.PROGRAM_NATIVE_ALU_INSTRUCTIONS),
    *(GL.PROGRAM_NATIVE_TEX_INSTRUCTIONS, GL.PROGRAM_NATIVE_TEX_INDIRECTIONS),
    *(GL.PROGRAM_NATIVE_TEMPORARIES, GL.PROGRAM_NATIVE_PARAMETERS, GL.PROGRAM_NATIVE_ATTRIBS),
)


def program_resources(text: str) -> ProgramResources:
    """What the driver says that a program uses (ARB_fragment_program, section 6.1.12).

    NVIDIA's driver counts texture indirections; Mesa gives 0 and counts END as an instruction.
    Raises PlanError, with the driver's own words, where it refuses the program, and
    ExecutorUnavailableError where there is no driver.
    """
    made = context()
    with made.current() as gl:
        name = _generate(gl.glGenProgramsARB)
        try:
            refusal = _give_text(made, GL.FRAGMENT_PROGRAM, name, text)
            if refusal:
                raise PlanError(f"{made.renderer} refuses the program {refusal}")

            def ask(what: int) -> int:
                count = c_int()
                gl.glGetProgramivARB(GL.FRAGMENT_PROGRAM, what, byref(count))
                return count.value

            return ProgramResources(
                Resources(*map(ask, _TEXT_COUNTS)),
                Resources(*map(ask, _NATIVE_COUNTS)),
                bool(ask(GL.PROGRAM_UNDER_NATIVE_LIMITS)),
            )
        finally:
            gl.glDeleteProgramsARB(1, byref(c_uint(name)))


EXECUTOR = GlArbfpExecutor()
