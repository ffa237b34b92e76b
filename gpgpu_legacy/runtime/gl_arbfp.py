"""The `gl-arbfp` executor: plans on the driver's own ARB_fragment_program.

Nothing is translated. The driver gets the text of each program, and a pass is what it was in 2003:
a quad with texture coordinates at its corners, drawn over rectangle textures into a framebuffer.
So it says independently of this package what a program means, and how fast it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import Array, byref, c_float, c_uint
from dataclasses import dataclass, replace
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpgpu_legacy.asm.printer import disassemble
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import decode, encode, pack
from gpgpu_legacy.isa.ir import ParameterSpace, Program, Vec4
from gpgpu_legacy.plan.expand import at_iteration, passes
from gpgpu_legacy.plan.formats import R32F, RGBA32F, UNORM8, Format
from gpgpu_legacy.plan.plan import (
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Rect,
    Texture,
)
from gpgpu_legacy.runtime.egl import GL, Context, context
from gpgpu_legacy.runtime.executor import F32, FRAGMENT_PASSES, Machine, Observer, Result, Timings
from gpgpu_legacy.runtime.transfers import read_back, zero_results

_QUAD = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))  # a plan's corner order
_NO_TEXCOORDS = ((0.0, 0.0, 0.0, 1.0),) * 4
_NO_PARAMETER = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Texels:
    """A texel format in GL's words: how a texture stores it, and how it is transferred."""

    internal: int
    layout: int
    component: int
    dtype: np.dtype[Any]


_TEXELS: dict[Format, _Texels] = {
    R32F: _Texels(GL.R32F, GL.RED, GL.FLOAT, np.dtype(np.float32)),
    RGBA32F: _Texels(GL.RGBA32F, GL.RGBA, GL.FLOAT, np.dtype(np.float32)),
    UNORM8: _Texels(GL.R8, GL.RED, GL.UNSIGNED_BYTE, np.dtype(np.uint8)),
}


class GlArbfpExecutor:
    """Runs where the driver offers GL_ARB_fragment_program to a compatibility context.

    Arithmetic is the driver's: llvmpipe rounds a multiply-add twice, as the numpy executor does,
    a GPU may round it once, and no program can ask for the one or the other. So `machine` changes
    nothing here. How a colour becomes 8 bits is the driver's too: llvmpipe gives the nearest of
    the 256 values, an H100 now and then the one below it.
    """

    name = "gl-arbfp"
    summary = "the driver's own ARB_fragment_program, through EGL"
    passes = FRAGMENT_PASSES

    def device(self) -> str:
        """The renderer and the version of its driver; see Executor."""
        made = context()
        return f"{made.renderer}, OpenGL {made.version}"

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU; see Executor."""
        return context().is_hardware

    def run(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine = Machine(),  # noqa: B008 - frozen
        observer: Observer | None = None,
    ) -> Result:
        """Carry out a plan; see Executor.

        Raises PlanError where the driver refuses a program, a texture's size or its format.
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
    """A program as the driver has it: its GL name, and what it reads besides textures."""

    name: int
    texcoord_sets: tuple[int, ...]
    locals: tuple[int, ...]
    env: tuple[int, ...]


class _Session:
    """One run and the GL objects that it makes.

    Each pass sets all the state that it depends on and takes none over from the pass before.
    """

    def __init__(self, made: Context, plan: Plan) -> None:
        self.context, self.plan = made, plan
        self.gl: SimpleNamespace = made.gl
        self.formats = {texture.name: texture.format for texture in plan.textures}
        self.textures: dict[str, int] = {}
        self.framebuffers: dict[str, int] = {}
        self.programs: dict[int, _Loaded] = {}

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
            self.context.make_current()
            extent = self.plan.texture(name).extent
            return self.read(name, Rect(0, 0, extent.width, extent.height))

        observer(number, each, read)
        self.context.make_current()

    def release(self) -> None:
        """Delete all that this run has made; the context is made current for it."""
        self.context.make_current()
        programs = [loaded.name for loaded in self.programs.values()]
        self.delete(self.gl.glDeleteProgramsARB, programs)
        self.delete(self.gl.glDeleteFramebuffers, self.framebuffers.values())
        self.delete(self.gl.glDeleteTextures, self.textures.values())

    # GL objects ------------------------------------------------------------------------------

    def generate(self, generator: Any) -> int:
        name = c_uint()
        generator(1, byref(name))
        return name.value

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
        for capability in (GL.DITHER, GL.FRAMEBUFFER_SRGB):
            gl.glDisable(capability)
        for stage in (GL.CLAMP_VERTEX_COLOR, GL.CLAMP_FRAGMENT_COLOR, GL.CLAMP_READ_COLOR):
            gl.glClampColor(stage, 0)
        for direction in (GL.PACK_ALIGNMENT, GL.UNPACK_ALIGNMENT):
            gl.glPixelStorei(direction, 1)
        gl.glBlendFunc(GL.ONE, GL.ONE)
        gl.glEnable(GL.FRAGMENT_PROGRAM)
        largest = self.context.integer(GL.MAX_RECTANGLE_TEXTURE_SIZE)
        for texture in self.plan.textures:
            self.make_texture(texture, largest)
        written = [p for _, p in self.plan.weighted_passes() if isinstance(p, FragmentPass)]
        for each in written:
            if id(each.program) not in self.programs:
                self.load(each.program)
        self.warm_up(written)
        gl.glFinish()
        self.check("what this plan draws with")

    def make_texture(self, texture: Texture, largest: int) -> None:
        gl, width, height = self.gl, texture.extent.width, texture.extent.height
        if max(width, height) > largest:
            raise PlanError(
                f"texture {texture.name} is {width} by {height}, but the largest rectangle of "
                f"{self.context.renderer} is {largest}; plan with largest_texture {largest} or less"
            )
        if texture.format not in _TEXELS:
            known = ", ".join(known.name for known in _TEXELS)
            raise PlanError(
                f"texture {texture.name} is {texture.format.name}; gl-arbfp has {known}"
            )
        texels = _TEXELS[texture.format]
        self.textures[texture.name] = self.generate(gl.glGenTextures)
        self.bind(0, texture.name)
        # The only sampler that a plan can ask for yet, so it is set with the texture.
        for parameter, value in (
            (GL.TEXTURE_MIN_FILTER, GL.NEAREST),
            (GL.TEXTURE_MAG_FILTER, GL.NEAREST),
            (GL.TEXTURE_WRAP_S, GL.CLAMP_TO_EDGE),
            (GL.TEXTURE_WRAP_T, GL.CLAMP_TO_EDGE),
        ):
            gl.glTexParameteri(GL.TEXTURE_RECTANGLE, parameter, value)
        gl.glTexImage2D(
            *(GL.TEXTURE_RECTANGLE, 0, texels.internal, width, height, 0),
            *(texels.layout, texels.component, None),
        )
        self.check(f"texture {texture.name} of {width} by {height} texels")
        self.make_framebuffer(texture)

    def make_framebuffer(self, texture: Texture) -> None:
        gl = self.gl
        self.framebuffers[texture.name] = self.generate(gl.glGenFramebuffers)
        self.aim(texture.name)
        gl.glFramebufferTexture2D(
            *(GL.FRAMEBUFFER, GL.COLOR_ATTACHMENT0, GL.TEXTURE_RECTANGLE),
            *(self.textures[texture.name], 0),
        )
        if gl.glCheckFramebufferStatus(GL.FRAMEBUFFER) != GL.FRAMEBUFFER_COMPLETE:
            raise PlanError(
                f"{self.context.renderer} cannot draw to {texture.name}, "
                f"a rectangle texture of {texture.format.name}"
            )

    def load(self, program: Program) -> None:
        """Give the driver a program's text."""
        gl, text = self.gl, disassemble(program).encode("ascii")
        loaded = _Loaded(
            self.generate(gl.glGenProgramsARB),
            program.texcoord_sets,
            program.parameter_indices(ParameterSpace.LOCAL),
            program.parameter_indices(ParameterSpace.ENV),
        )
        self.programs[id(program)] = loaded
        gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, loaded.name)
        gl.glProgramStringARB(GL.FRAGMENT_PROGRAM, GL.PROGRAM_FORMAT_ASCII, len(text), text)
        position = self.context.integer(GL.PROGRAM_ERROR_POSITION)
        if position == -1:
            return
        gl.glGetError()
        message = gl.glGetString(GL.PROGRAM_ERROR_STRING).decode("ascii", "replace")
        raise PlanError(
            f"{self.context.renderer} refuses program {program.name or 'without a name'} "
            f"at position {position}: {' '.join(message.split())}"
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
        """Store values (height, width, channels) in a rectangle of a texture."""
        texels = _TEXELS[self.formats[name]]
        stored = np.ascontiguousarray(encode(values, self.formats[name]))
        self.bind(0, name)
        self.gl.glTexSubImage2D(
            *(GL.TEXTURE_RECTANGLE, 0, rect.x, rect.y, rect.width, rect.height),
            *(texels.layout, texels.component, stored.ctypes.data),
        )

    def read(self, name: str, rect: Rect) -> F32:
        """A rectangle of a texture: (height, width, channels)."""
        texels = _TEXELS[self.formats[name]]
        shape = (rect.height, rect.width, self.formats[name].channels)
        stored = np.empty(shape, texels.dtype)
        self.aim(name)
        self.gl.glReadPixels(
            *(rect.x, rect.y, rect.width, rect.height),
            *(texels.layout, texels.component, stored.ctypes.data),
        )
        return decode(stored, self.formats[name])

    # Passes ----------------------------------------------------------------------------------

    def carry_out(self, each: Pass) -> None:
        if isinstance(each, FragmentPass):
            self.draw(each)
        elif isinstance(each, CopyPass):
            self.copy(each)
        elif isinstance(each, ClearPass):
            self.clear(each.target, each.value)

    def bind(self, unit: int, name: str) -> None:
        """Bind a texture to a unit, which becomes the active one."""
        self.gl.glActiveTexture(GL.TEXTURE0 + unit)
        self.gl.glBindTexture(GL.TEXTURE_RECTANGLE, self.textures[name])

    def aim(self, name: str) -> None:
        """Let what is drawn, cleared or read next be this texture."""
        self.gl.glBindFramebuffer(GL.FRAMEBUFFER, self.framebuffers[name])

    def clear(self, name: str, value: Vec4) -> None:
        """Set all texels; the value is rounded to the format first, so that no driver has to."""
        texel = decode(encode(np.array(value, np.float32), self.formats[name]), self.formats[name])
        self.aim(name)
        self.gl.glClearColor(*texel.tolist())
        self.gl.glClear(GL.COLOR_BUFFER_BIT)

    def copy(self, each: CopyPass) -> None:
        """The framebuffer into the texture, as Hall, Carr & Hart's Section 3 has it."""
        there, here = each.source_rect, each.target_rect
        self.aim(each.source)
        self.bind(0, each.target)
        self.gl.glCopyTexSubImage2D(
            *(GL.TEXTURE_RECTANGLE, 0, here.x, here.y),
            *(there.x, there.y, there.width, there.height),
        )

    def draw(self, each: FragmentPass) -> None:
        gl, program, rect = self.gl, self.programs[id(each.program)], each.rect
        gl.glBindProgramARB(GL.FRAGMENT_PROGRAM, program.name)
        for index, vector in _parameters(program.locals, each.locals):
            gl.glProgramLocalParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)
        for index, vector in _parameters(program.env, each.env):
            gl.glProgramEnvParameter4fvARB(GL.FRAGMENT_PROGRAM, index, vector)
        for binding in each.bindings:
            self.bind(binding.unit, binding.texture)
        self.aim(each.target)
        (gl.glEnable if each.blend is Blend.ADD else gl.glDisable)(GL.BLEND)
        gl.glViewport(rect.x, rect.y, rect.width, rect.height)
        self.quad(program, each)

    def quad(self, program: _Loaded, each: FragmentPass) -> None:
        gl, given = self.gl, {t.set: t.corners for t in each.texcoords}
        sets = [(GL.TEXTURE0 + s, given.get(s, _NO_TEXCOORDS)) for s in program.texcoord_sets]
        gl.glBegin(GL.QUADS)
        for corner, (x, y) in enumerate(_QUAD):
            for unit, values in sets:
                gl.glMultiTexCoord4f(unit, *values[corner])
            gl.glVertex2f(x, y)
        gl.glEnd()


def _parameters(
    indices: Iterable[int], given: Iterable[ParameterValue]
) -> Iterable[tuple[int, Array[c_float]]]:
    """The parameters that a program reads, with what an expanded pass gives for them, else 0."""
    values: dict[int, Any] = {parameter.index: parameter.value for parameter in given}
    for index in indices:
        yield index, (c_float * 4)(*values.get(index, _NO_PARAMETER))


EXECUTOR = GlArbfpExecutor()
