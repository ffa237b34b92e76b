"""A headless OpenGL context made with EGL, and OpenGL's own functions: through ctypes alone.

The context is a compatibility one, because only there do drivers still offer
GL_ARB_fragment_program. It is made when it is first asked for; importing this file loads nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_ssize_t,
    c_ubyte,
    c_uint,
    c_void_p,
    create_string_buffer,
)
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.memory import DRIVER_ADDRESSES, require_addresses
from gpgpu_legacy.runtime.advice import Need, advice_here
from gpgpu_legacy.runtime.devices import is_gpu
from gpgpu_legacy.runtime.driver_cache import quiet_driver_cache
from gpgpu_legacy.runtime.gl_sharing import PROBE, OnePerProcess, SharedContext


class GL:
    """The constants of OpenGL's headers that are used here, by their names without `GL_`."""

    NO_ERROR = 0
    ONE = 1
    TRIANGLE_FAN = 0x0006
    FRONT = 0x0404
    BACK = 0x0405
    OUT_OF_MEMORY = 0x0505
    LIGHT_MODEL_AMBIENT = 0x0B53
    FOG_DENSITY = 0x0B62
    FOG_START = 0x0B63
    FOG_END = 0x0B64
    FOG_COLOR = 0x0B66
    DITHER = 0x0BD0
    BLEND = 0x0BE2
    UNPACK_ALIGNMENT = 0x0CF5
    PACK_ALIGNMENT = 0x0D05
    MAX_TEXTURE_SIZE = 0x0D33
    TEXTURE_1D = 0x0DE0
    TEXTURE_2D = 0x0DE1
    AMBIENT = 0x1200
    DIFFUSE = 0x1201
    SPECULAR = 0x1202
    POSITION = 0x1203
    SPOT_DIRECTION = 0x1204
    SPOT_EXPONENT = 0x1205
    SPOT_CUTOFF = 0x1206
    CONSTANT_ATTENUATION = 0x1207
    LINEAR_ATTENUATION = 0x1208
    QUADRATIC_ATTENUATION = 0x1209
    UNSIGNED_BYTE = 0x1401
    FLOAT = 0x1406
    EMISSION = 0x1600
    SHININESS = 0x1601
    MODELVIEW = 0x1700
    PROJECTION = 0x1701
    TEXTURE = 0x1702
    RED = 0x1903
    RGBA = 0x1908
    RENDERER = 0x1F01
    VERSION = 0x1F02
    EXTENSIONS = 0x1F03
    TEXTURE_ENV_COLOR = 0x2201
    TEXTURE_ENV = 0x2300
    NEAREST = 0x2600
    LINEAR = 0x2601
    TEXTURE_MAG_FILTER = 0x2800
    TEXTURE_MIN_FILTER = 0x2801
    TEXTURE_WRAP_S = 0x2802
    TEXTURE_WRAP_T = 0x2803
    CLAMP = 0x2900
    REPEAT = 0x2901
    LIGHT0 = 0x4000
    RGBA8 = 0x8058
    TEXTURE_3D = 0x806F
    TEXTURE_WRAP_R = 0x8072
    MAX_3D_TEXTURE_SIZE = 0x8073
    CLAMP_TO_EDGE = 0x812F
    R8 = 0x8229
    R16F = 0x822D
    R32F = 0x822E
    TEXTURE0 = 0x84C0
    TEXTURE_RECTANGLE = 0x84F5
    MAX_RECTANGLE_TEXTURE_SIZE = 0x84F8
    TEXTURE_CUBE_MAP = 0x8513
    TEXTURE_CUBE_MAP_POSITIVE_X = 0x8515
    MAX_CUBE_MAP_TEXTURE_SIZE = 0x851C
    VERTEX_PROGRAM = 0x8620
    CURRENT_MATRIX = 0x8641
    PROGRAM_ERROR_POSITION = 0x864B
    FRAGMENT_PROGRAM = 0x8804
    PROGRAM_ALU_INSTRUCTIONS = 0x8805
    PROGRAM_TEX_INSTRUCTIONS = 0x8806
    PROGRAM_TEX_INDIRECTIONS = 0x8807
    PROGRAM_NATIVE_ALU_INSTRUCTIONS = 0x8808
    PROGRAM_NATIVE_TEX_INSTRUCTIONS = 0x8809
    PROGRAM_NATIVE_TEX_INDIRECTIONS = 0x880A
    RGBA32F = 0x8814
    RGBA16F = 0x881A
    MAX_DRAW_BUFFERS = 0x8824
    TEXTURE_CUBE_MAP_SEAMLESS = 0x884F
    PROGRAM_ERROR_STRING = 0x8874
    PROGRAM_FORMAT_ASCII = 0x8875
    ARRAY_BUFFER = 0x8892
    PROGRAM_INSTRUCTIONS = 0x88A0
    PROGRAM_NATIVE_INSTRUCTIONS = 0x88A2
    PROGRAM_TEMPORARIES = 0x88A4
    PROGRAM_NATIVE_TEMPORARIES = 0x88A6
    PROGRAM_PARAMETERS = 0x88A8
    PROGRAM_NATIVE_PARAMETERS = 0x88AA
    PROGRAM_ATTRIBS = 0x88AC
    PROGRAM_NATIVE_ATTRIBS = 0x88AE
    PROGRAM_UNDER_NATIVE_LIMITS = 0x88B6
    MATRIX0 = 0x88C0
    STREAM_READ = 0x88E1
    CLAMP_VERTEX_COLOR = 0x891A
    CLAMP_FRAGMENT_COLOR = 0x891B
    CLAMP_READ_COLOR = 0x891C
    FRAMEBUFFER_COMPLETE = 0x8CD5
    COLOR_ATTACHMENT0 = 0x8CE0
    FRAMEBUFFER = 0x8D40
    FRAMEBUFFER_SRGB = 0x8DB9
    # Bits of glClear and glPushAttrib
    LIGHTING_BIT = 0x0040
    FOG_BIT = 0x0080
    VIEWPORT_BIT = 0x0800
    COLOR_BUFFER_BIT = 0x4000
    TEXTURE_BIT = 0x40000


class _EGL:
    """The same for EGL."""

    SUCCESS = 0x3000
    NONE = 0x3038
    SURFACE_TYPE = 0x3033
    PBUFFER_BIT = 0x0001
    RENDERABLE_TYPE = 0x3040
    OPENGL_BIT = 0x0008
    DRAW = 0x3059
    READ = 0x305A
    OPENGL_API = 0x30A2
    PLATFORM_DEVICE = 0x313F
    PLATFORM_SURFACELESS = 0x31DD


_Signatures = Mapping[str, tuple[Any, ...]]
"""Functions by name: the type of the result, then those of the arguments."""

_EGL_FUNCTIONS: _Signatures = {
    "eglBindAPI": (c_uint, c_uint),
    "eglChooseConfig": (c_uint, c_void_p, POINTER(c_int), POINTER(c_void_p), c_int, POINTER(c_int)),
    "eglCreateContext": (c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_int)),
    "eglDestroyContext": (c_uint, c_void_p, c_void_p),
    "eglGetCurrentContext": (c_void_p,),
    "eglGetCurrentDisplay": (c_void_p,),
    "eglGetCurrentSurface": (c_void_p, c_int),
    "eglGetDisplay": (c_void_p, c_void_p),
    "eglGetError": (c_int,),
    "eglGetProcAddress": (c_void_p, c_char_p),
    "eglInitialize": (c_uint, c_void_p, POINTER(c_int), POINTER(c_int)),
    "eglMakeCurrent": (c_uint, c_void_p, c_void_p, c_void_p, c_void_p),
    "eglQueryAPI": (c_uint,),
}

_EGL_EXTENSION_FUNCTIONS: _Signatures = {
    "eglGetPlatformDisplayEXT": (c_void_p, c_uint, c_void_p, POINTER(c_int)),
    "eglQueryDevicesEXT": (c_uint, c_int, POINTER(c_void_p), POINTER(c_int)),
}

_GL_FUNCTIONS: _Signatures = {
    "glActiveTexture": (None, c_uint),
    "glBegin": (None, c_uint),
    "glBindBuffer": (None, c_uint, c_uint),
    "glBindFramebuffer": (None, c_uint, c_uint),
    "glBindProgramARB": (None, c_uint, c_uint),
    "glBindSampler": (None, c_uint, c_uint),
    "glBindTexture": (None, c_uint, c_uint),
    "glBlendFunc": (None, c_uint, c_uint),
    "glBufferData": (None, c_uint, c_ssize_t, c_void_p, c_uint),
    "glCheckFramebufferStatus": (c_uint, c_uint),
    "glClampColor": (None, c_uint, c_uint),
    "glClear": (None, c_uint),
    "glClearColor": (None, c_float, c_float, c_float, c_float),
    "glCopyTexSubImage2D": (None, c_uint, *(c_int,) * 7),
    "glDeleteBuffers": (None, c_int, POINTER(c_uint)),
    "glDeleteFramebuffers": (None, c_int, POINTER(c_uint)),
    "glDeleteProgramsARB": (None, c_int, POINTER(c_uint)),
    "glDeleteSamplers": (None, c_int, POINTER(c_uint)),
    "glDeleteTextures": (None, c_int, POINTER(c_uint)),
    "glDepthRange": (None, c_double, c_double),
    "glDisable": (None, c_uint),
    "glDrawBuffers": (None, c_int, POINTER(c_uint)),
    "glEnable": (None, c_uint),
    "glEnd": (None,),
    "glFinish": (None,),
    "glFogf": (None, c_uint, c_float),
    "glFogfv": (None, c_uint, POINTER(c_float)),
    "glFramebufferTexture1D": (None, c_uint, c_uint, c_uint, c_uint, c_int),
    "glFramebufferTexture2D": (None, c_uint, c_uint, c_uint, c_uint, c_int),
    "glFramebufferTexture3D": (None, c_uint, c_uint, c_uint, c_uint, c_int, c_int),
    "glGenBuffers": (None, c_int, POINTER(c_uint)),
    "glGenFramebuffers": (None, c_int, POINTER(c_uint)),
    "glGenProgramsARB": (None, c_int, POINTER(c_uint)),
    "glGenSamplers": (None, c_int, POINTER(c_uint)),
    "glGenTextures": (None, c_int, POINTER(c_uint)),
    "glGetBufferSubData": (None, c_uint, c_ssize_t, c_ssize_t, c_void_p),
    "glGetError": (c_uint,),
    "glGetFloatv": (None, c_uint, POINTER(c_float)),
    "glGetIntegerv": (None, c_uint, POINTER(c_int)),
    "glGetProgramivARB": (None, c_uint, c_uint, POINTER(c_int)),
    "glGetString": (c_char_p, c_uint),
    "glIsFramebuffer": (c_ubyte, c_uint),
    "glIsProgramARB": (c_ubyte, c_uint),
    "glIsSampler": (c_ubyte, c_uint),
    "glIsTexture": (c_ubyte, c_uint),
    "glLightModelfv": (None, c_uint, POINTER(c_float)),
    "glLightf": (None, c_uint, c_uint, c_float),
    "glLightfv": (None, c_uint, c_uint, POINTER(c_float)),
    "glLoadIdentity": (None,),
    "glLoadMatrixf": (None, POINTER(c_float)),
    "glMaterialf": (None, c_uint, c_uint, c_float),
    "glMaterialfv": (None, c_uint, c_uint, POINTER(c_float)),
    "glMatrixMode": (None, c_uint),
    "glPixelStorei": (None, c_uint, c_int),
    "glPopAttrib": (None,),
    "glProgramEnvParameter4fvARB": (None, c_uint, c_uint, c_void_p),
    "glProgramLocalParameter4fvARB": (None, c_uint, c_uint, c_void_p),
    "glProgramStringARB": (None, c_uint, c_uint, c_int, c_char_p),
    "glPushAttrib": (None, c_uint),
    "glReadPixels": (None, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p),
    "glSamplerParameteri": (None, c_uint, c_uint, c_int),
    "glTexEnvfv": (None, c_uint, c_uint, POINTER(c_float)),
    "glTexImage1D": (None, c_uint, *(c_int,) * 4, c_uint, c_uint, c_void_p),
    "glTexImage2D": (None, c_uint, *(c_int,) * 5, c_uint, c_uint, c_void_p),
    "glTexImage3D": (None, c_uint, *(c_int,) * 6, c_uint, c_uint, c_void_p),
    "glTexParameteri": (None, c_uint, c_uint, c_int),
    "glTexSubImage1D": (None, c_uint, *(c_int,) * 3, c_uint, c_uint, c_void_p),
    "glTexSubImage2D": (None, c_uint, *(c_int,) * 5, c_uint, c_uint, c_void_p),
    "glTexSubImage3D": (None, c_uint, *(c_int,) * 7, c_uint, c_uint, c_void_p),
    "glVertexAttrib4fv": (None, c_uint, c_void_p),
    "glViewport": (None, c_int, c_int, c_int, c_int),
}

_CORE_LIMITS = {"GL_MAX_COMPUTE_SHARED_MEMORY_SIZE": 0x8262}

REQUIRED_EXTENSIONS = (
    "GL_ARB_fragment_program",
    "GL_ARB_vertex_program",
    "GL_ARB_draw_buffers",
    "GL_ARB_sampler_objects",
    "GL_ARB_texture_rectangle",
    "GL_ARB_texture_float",
    "GL_ARB_texture_rg",
    "GL_ARB_framebuffer_object",
    "GL_ARB_color_buffer_float",
)

_MOST_DEVICES = 32


@dataclass(frozen=True, slots=True)
class Saved:
    """What was current on a thread: the interface, and a context with its display and surfaces."""

    interface: int
    context: int | None
    display: int | None = None
    draw: int | None = None
    read: int | None = None


class Surroundings:
    """Which of the process's EGL contexts, ours and others', is current on a thread."""

    def __init__(self, functions: SimpleNamespace) -> None:
        """functions: those of EGL."""
        self._egl = functions

    def current(self) -> int | None:
        """The OpenGL context that is current on this thread."""
        self._egl.eglBindAPI(_EGL.OPENGL_API)
        found: int | None = self._egl.eglGetCurrentContext()
        return found

    def save(self) -> Saved:
        """What is current on this thread; from here on OpenGL is the interface."""
        egl = self._egl
        interface, context = egl.eglQueryAPI(), self.current()
        if not context:
            return Saved(interface, None)
        draw, read = egl.eglGetCurrentSurface(_EGL.DRAW), egl.eglGetCurrentSurface(_EGL.READ)
        return Saved(interface, context, egl.eglGetCurrentDisplay(), draw, read)

    def restore(self, before: Saved) -> None:
        """Make it so again."""
        egl = self._egl
        egl.eglBindAPI(_EGL.OPENGL_API)
        if before.context:
            egl.eglMakeCurrent(before.display, before.draw, before.read, before.context)
        elif display := egl.eglGetCurrentDisplay():
            egl.eglMakeCurrent(display, None, None, None)
        if before.interface != _EGL.OPENGL_API:
            egl.eglBindAPI(before.interface)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is current before the block is so again after it."""
        before = self.save()
        try:
            yield
        finally:
            self.restore(before)


def surroundings() -> Surroundings | None:
    """Those of this process; None where there is no EGL."""
    try:
        return Surroundings(_load_egl())
    except ExecutorUnavailableError:
        return None


def core_limits() -> dict[str, int]:
    """Limits that moderngl does not ask for, by OpenGL's names, of the context that is current.

    None where it is no EGL context, or where its version does not have the limit.
    """
    egl = _load_egl()
    gl = {
        name: _function(egl, name, _GL_FUNCTIONS[name]) for name in ("glGetIntegerv", "glGetError")
    }
    limits = {}
    for name, number in _CORE_LIMITS.items():
        value = c_int()
        gl["glGetIntegerv"](number, byref(value))
        if gl["glGetError"]() == GL.NO_ERROR:
            limits[name] = value.value
    return limits


_KINDS = ("Buffer", "Framebuffer", "Program", "ProgramARB", "Sampler", "Texture", "VertexArray")


def objects_alive(numbers: Iterable[int]) -> dict[str, int]:
    """How many of these numbers name objects of each kind, in the context that is current."""
    egl, counts = _load_egl(), {}
    for kind in _KINDS:
        is_one = _function(egl, f"glIs{kind}", (c_ubyte, c_uint))
        counts[kind] = sum(bool(is_one(number)) for number in numbers)
    return counts


class Context(SharedContext[SimpleNamespace]):
    """A compatibility context of OpenGL, with its functions in `gl` under their own names.

    Its state is nobody else's: what a fresh context has (identity matrices, no tests) still holds.
    """

    def __init__(self, egl: SimpleNamespace, display: int, context: int) -> None:
        """Take over an EGL context, which must be current."""
        super().__init__()
        self._egl, self._display, self._context = egl, display, context
        self._surroundings = Surroundings(egl)
        self.gl = SimpleNamespace(
            **{name: _function(egl, name, signature) for name, signature in _GL_FUNCTIONS.items()}
        )
        self.renderer = self._string(GL.RENDERER)
        self.version = self._string(GL.VERSION)
        self.extensions = frozenset(self._string(GL.EXTENSIONS).split())

    def _string(self, name: int) -> str:
        value = self.gl.glGetString(name)
        return value.decode("ascii", "replace") if value else ""

    @property
    def handle(self) -> SimpleNamespace:
        """OpenGL's functions."""
        return self.gl

    @property
    def is_hardware(self) -> bool:
        """Whether a GPU renders."""
        return is_gpu(self.renderer)

    def integer(self, name: int) -> int:
        """The value of a state variable or limit of one integer; the context is current."""
        value = c_int()
        self.gl.glGetIntegerv(name, byref(value))
        return value.value

    def finish(self) -> None:
        """Wait until all that was asked for is done; the context is current."""
        self.gl.glFinish()

    def _answers(self) -> bool:
        gl, name, answer = self.gl, c_uint(), create_string_buffer(len(PROBE))
        gl.glGenBuffers(1, byref(name))
        gl.glBindBuffer(GL.ARRAY_BUFFER, name.value)
        gl.glBufferData(GL.ARRAY_BUFFER, len(PROBE), PROBE, GL.STREAM_READ)
        gl.glGetBufferSubData(GL.ARRAY_BUFFER, 0, len(PROBE), answer)
        gl.glBindBuffer(GL.ARRAY_BUFFER, 0)
        gl.glDeleteBuffers(1, byref(name))
        return answer.raw == PROBE

    def _is_current(self) -> bool:
        return self._surroundings.current() == self._context

    def _make_current(self) -> None:
        if not self._egl.eglMakeCurrent(self._display, None, None, self._context):
            raise ExecutorUnavailableError(
                f"the OpenGL context cannot be made current (EGL error {self._error()}); "
                "end what else uses it in another thread"
            )

    def _save(self) -> Saved:
        return self._surroundings.save()

    def _restore(self, before: object) -> None:
        assert isinstance(before, Saved)
        self._surroundings.restore(before)

    def destroy(self) -> None:
        """Delete the context, when it is no longer current.

        Its display stays initialised: EGL hands the same one to everybody in the process.
        """
        self._egl.eglDestroyContext(self._display, self._context)

    def _error(self) -> str:
        return hex(self._egl.eglGetError())


def _make() -> Context:
    """A context: a GPU's where there is one."""
    require_addresses(DRIVER_ADDRESSES, "OpenGL")
    egl = _load_egl()
    software: Context | None = None
    problems: list[str] = []
    for platform, display in _displays(egl):
        try:
            made = _make_context(egl, display)
        except ExecutorUnavailableError as error:
            problems.append(f"{platform}: {error}")
            continue
        if made.is_hardware:
            return made
        if software is None:
            software = made
        else:
            made.destroy()
    if software is not None:
        return software
    found = "; ".join(dict.fromkeys(problems)) or "EGL has no display"
    raise ExecutorUnavailableError(
        f"no OpenGL context with GL_ARB_fragment_program ({found}); "
        f"{advice_here(Need.FRAGMENT_PROGRAMS)}"
    )


_CONTEXT = OnePerProcess(_make)


def context() -> Context:
    """The one context of its kind in the process, made when first asked for.

    Raises ExecutorUnavailableError, which says what to install, where there is none with
    GL_ARB_fragment_program, and in a process that was forked from one that has used OpenGL.
    """
    return _CONTEXT()


def _load_egl() -> SimpleNamespace:
    quiet_driver_cache()
    try:
        library = ctypes.CDLL("libEGL.so.1")
    except OSError as error:
        raise ExecutorUnavailableError(
            f"libEGL cannot be loaded ({error}); {advice_here(Need.FRAGMENT_PROGRAMS)}"
        ) from None
    egl = SimpleNamespace()
    for name, (result, *arguments) in _EGL_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        setattr(egl, name, function)
    for name, signature in _EGL_EXTENSION_FUNCTIONS.items():
        setattr(egl, name, _function(egl, name, signature))
    return egl


def _function(egl: SimpleNamespace, name: str, signature: tuple[Any, ...]) -> Any:
    """A function of GL, or of an EGL extension; None where the library has none of that name."""
    address = egl.eglGetProcAddress(name.encode("ascii"))
    return ctypes.CFUNCTYPE(*signature)(address) if address else None


def _displays(egl: SimpleNamespace) -> Iterator[tuple[str, int]]:
    """The displays that need no window system, GPUs first, then EGL's own choice."""
    if egl.eglGetPlatformDisplayEXT:
        for number, device in enumerate(_devices(egl)):
            display = egl.eglGetPlatformDisplayEXT(_EGL.PLATFORM_DEVICE, device, None)
            if display:
                yield f"device {number}", display
        display = egl.eglGetPlatformDisplayEXT(_EGL.PLATFORM_SURFACELESS, None, None)
        if display:
            yield "surfaceless", display
    display = egl.eglGetDisplay(None)
    if display:
        yield "default display", display


def _devices(egl: SimpleNamespace) -> list[int]:
    if not egl.eglQueryDevicesEXT:
        return []
    found, count = (c_void_p * _MOST_DEVICES)(), c_int()
    if not egl.eglQueryDevicesEXT(_MOST_DEVICES, found, byref(count)):
        return []
    return [device for device in found[: count.value] if device]


def _make_context(egl: SimpleNamespace, display: int) -> Context:
    """A context on a display; ExecutorUnavailableError, with the reason alone, where it fails."""
    if not egl.eglInitialize(display, None, None):
        raise _refused(egl, "cannot be initialised")
    attributes = _integers(
        *(_EGL.SURFACE_TYPE, _EGL.PBUFFER_BIT),
        *(_EGL.RENDERABLE_TYPE, _EGL.OPENGL_BIT),
    )
    config, count = c_void_p(), c_int()
    with Surroundings(egl).kept():
        if not egl.eglBindAPI(_EGL.OPENGL_API):
            raise _refused(egl, "has no OpenGL")
        egl.eglChooseConfig(display, attributes, byref(config), 1, byref(count))
        if count.value < 1:
            raise _refused(egl, "has no configuration for OpenGL")
        # No attribute asks for a version or a profile: that is what makes it a compatibility one.
        created = egl.eglCreateContext(display, config, None, _integers())
        if not created:
            raise _refused(egl, "makes no context")
        if not egl.eglMakeCurrent(display, None, None, created):
            problem = _refused(egl, "makes no context without a surface")
            egl.eglDestroyContext(display, created)
            raise problem
        made = Context(egl, display, created)
    missing = [name for name in REQUIRED_EXTENSIONS if name not in made.extensions]
    if missing:
        made.destroy()
        raise ExecutorUnavailableError(f"{made.renderer} lacks {', '.join(missing)}")
    return made


def _integers(*values: int) -> Any:
    """An attribute list, ended as EGL wants it."""
    return (c_int * (len(values) + 1))(*values, _EGL.NONE)


def _refused(egl: SimpleNamespace, problem: str) -> ExecutorUnavailableError:
    error = egl.eglGetError()
    reason = "" if error == _EGL.SUCCESS else f" (EGL error {error:#x})"
    return ExecutorUnavailableError(problem + reason)
