"""OpenGL and EGL from C's headers: constants, and the types of functions for ctypes."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import (
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_ssize_t,
    c_ubyte,
    c_uint,
    c_uint64,
    c_void_p,
)
from typing import Any

import numpy as np


class GL:
    """The constants of OpenGL's headers that are used here, by their names without `GL_`."""

    NO_ERROR = 0
    ZERO = 0
    ONE = 1
    TRIANGLE_FAN = 0x0006
    ADD = 0x0104
    LESS = 0x0201
    EQUAL = 0x0202
    LEQUAL = 0x0203
    GREATER = 0x0204
    NOTEQUAL = 0x0205
    GEQUAL = 0x0206
    SRC_COLOR = 0x0300
    ONE_MINUS_SRC_COLOR = 0x0301
    SRC_ALPHA = 0x0302
    ONE_MINUS_SRC_ALPHA = 0x0303
    DST_ALPHA = 0x0304
    ONE_MINUS_DST_ALPHA = 0x0305
    DST_COLOR = 0x0306
    ONE_MINUS_DST_COLOR = 0x0307
    SRC_ALPHA_SATURATE = 0x0308
    FRONT = 0x0404
    BACK = 0x0405
    OUT_OF_MEMORY = 0x0505
    LIGHT_MODEL_AMBIENT = 0x0B53
    FOG_DENSITY = 0x0B62
    FOG_START = 0x0B63
    FOG_END = 0x0B64
    FOG_COLOR = 0x0B66
    ALPHA_TEST = 0x0BC0
    DITHER = 0x0BD0
    BLEND = 0x0BE2
    SCISSOR_TEST = 0x0C11
    UNPACK_ROW_LENGTH = 0x0CF2
    UNPACK_ALIGNMENT = 0x0CF5
    PACK_ROW_LENGTH = 0x0D02
    PACK_ALIGNMENT = 0x0D05
    ALPHA_SCALE = 0x0D1C
    MAX_TEXTURE_SIZE = 0x0D33
    TEXTURE_1D = 0x0DE0
    TEXTURE_2D = 0x0DE1
    TEXTURE_BORDER_COLOR = 0x1004
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
    UNSIGNED_SHORT = 0x1403
    FLOAT = 0x1406
    HALF_FLOAT = 0x140B
    EMISSION = 0x1600
    SHININESS = 0x1601
    MODELVIEW = 0x1700
    PROJECTION = 0x1701
    TEXTURE = 0x1702
    RED = 0x1903
    RGBA = 0x1908
    REPLACE = 0x1E01
    RENDERER = 0x1F01
    VERSION = 0x1F02
    EXTENSIONS = 0x1F03
    MODULATE = 0x2100
    DECAL = 0x2101
    TEXTURE_ENV_MODE = 0x2200
    TEXTURE_ENV_COLOR = 0x2201
    TEXTURE_ENV = 0x2300
    NEAREST = 0x2600
    LINEAR = 0x2601
    NEAREST_MIPMAP_NEAREST = 0x2700
    LINEAR_MIPMAP_NEAREST = 0x2701
    NEAREST_MIPMAP_LINEAR = 0x2702
    LINEAR_MIPMAP_LINEAR = 0x2703
    TEXTURE_MAG_FILTER = 0x2800
    TEXTURE_MIN_FILTER = 0x2801
    TEXTURE_WRAP_S = 0x2802
    TEXTURE_WRAP_T = 0x2803
    CLAMP = 0x2900
    REPEAT = 0x2901
    LIGHT0 = 0x4000
    CONSTANT_COLOR = 0x8001
    ONE_MINUS_CONSTANT_COLOR = 0x8002
    CONSTANT_ALPHA = 0x8003
    ONE_MINUS_CONSTANT_ALPHA = 0x8004
    FUNC_ADD = 0x8006
    MIN = 0x8007
    MAX = 0x8008
    FUNC_SUBTRACT = 0x800A
    FUNC_REVERSE_SUBTRACT = 0x800B
    RGBA8 = 0x8058
    RGBA16 = 0x805B
    TEXTURE_3D = 0x806F
    TEXTURE_WRAP_R = 0x8072
    MAX_3D_TEXTURE_SIZE = 0x8073
    CLAMP_TO_BORDER = 0x812D
    CLAMP_TO_EDGE = 0x812F
    RG = 0x8227
    TEXTURE_MIN_LOD = 0x813A
    TEXTURE_MAX_LOD = 0x813B
    TEXTURE_BASE_LEVEL = 0x813C
    TEXTURE_MAX_LEVEL = 0x813D
    R8 = 0x8229
    R16 = 0x822A
    RG8 = 0x822B
    RG16 = 0x822C
    R16F = 0x822D
    R32F = 0x822E
    RG16F = 0x822F
    RG32F = 0x8230
    MIRRORED_REPEAT = 0x8370
    DEPTH_COMPONENT = 0x1902
    DEPTH_COMPONENT16 = 0x81A5
    DEPTH_COMPONENT32F = 0x8CAC
    TEXTURE_COMPARE_MODE = 0x884C
    TEXTURE_COMPARE_FUNC = 0x884D
    COMPARE_R_TO_TEXTURE = 0x884E
    NEVER = 0x0200
    ALWAYS = 0x0207
    TEXTURE0 = 0x84C0
    MAX_TEXTURE_UNITS = 0x84E2
    SUBTRACT = 0x84E7
    TEXTURE_RECTANGLE = 0x84F5
    MAX_RECTANGLE_TEXTURE_SIZE = 0x84F8
    TEXTURE_LOD_BIAS = 0x8501
    TEXTURE_CUBE_MAP = 0x8513
    TEXTURE_CUBE_MAP_POSITIVE_X = 0x8515
    MAX_CUBE_MAP_TEXTURE_SIZE = 0x851C
    COMBINE = 0x8570
    COMBINE_RGB = 0x8571
    COMBINE_ALPHA = 0x8572
    RGB_SCALE = 0x8573
    ADD_SIGNED = 0x8574
    INTERPOLATE = 0x8575
    CONSTANT = 0x8576
    PRIMARY_COLOR = 0x8577
    PREVIOUS = 0x8578
    SOURCE0_RGB = 0x8580
    SOURCE0_ALPHA = 0x8588
    OPERAND0_RGB = 0x8590
    OPERAND0_ALPHA = 0x8598
    VERTEX_PROGRAM = 0x8620
    CURRENT_MATRIX = 0x8641
    PROGRAM_ERROR_POSITION = 0x864B
    DOT3_RGB = 0x86AE
    DOT3_RGBA = 0x86AF
    FRAGMENT_PROGRAM = 0x8804
    RGBA32F = 0x8814
    RGBA16F = 0x881A
    MAX_DRAW_BUFFERS = 0x8824
    TEXTURE_BUFFER = 0x8C2A
    TEXTURE_CUBE_MAP_SEAMLESS = 0x884F
    PROGRAM_ERROR_STRING = 0x8874
    PROGRAM_FORMAT_ASCII = 0x8875
    ARRAY_BUFFER = 0x8892
    MATRIX0 = 0x88C0
    PIXEL_PACK_BUFFER = 0x88EB
    PIXEL_UNPACK_BUFFER = 0x88EC
    STREAM_READ = 0x88E1
    CLAMP_VERTEX_COLOR = 0x891A
    CLAMP_FRAGMENT_COLOR = 0x891B
    CLAMP_READ_COLOR = 0x891C
    FIXED_ONLY = 0x891D
    FRAMEBUFFER_COMPLETE = 0x8CD5
    TEXTURE_SWIZZLE_RGBA = 0x8E46
    COLOR_ATTACHMENT0 = 0x8CE0
    FRAMEBUFFER = 0x8D40
    FRAMEBUFFER_SRGB = 0x8DB9
    COPY_READ_BUFFER = 0x8F36
    COPY_WRITE_BUFFER = 0x8F37
    SYNC_GPU_COMMANDS_COMPLETE = 0x9117
    TIME_ELAPSED = 0x88BF
    QUERY_RESULT = 0x8866
    TIMEOUT_EXPIRED = 0x911B
    WAIT_FAILED = 0x911D
    # Bits of glMapBufferRange, glBufferStorage and glClientWaitSync
    MAP_READ = 0x0001
    MAP_WRITE = 0x0002
    MAP_PERSISTENT = 0x0040
    MAP_COHERENT = 0x0080
    CLIENT_STORAGE = 0x0200
    SYNC_FLUSH_COMMANDS = 0x0001
    # Bits of glClear and glPushAttrib
    LIGHTING_BIT = 0x0040
    FOG_BIT = 0x0080
    VIEWPORT_BIT = 0x0800
    ENABLE_BIT = 0x2000
    COLOR_BUFFER_BIT = 0x4000
    TEXTURE_BIT = 0x40000


class EGL:
    """The constants of EGL's headers that are used here, by their names without `EGL_`."""

    DRAW = 0x3059
    READ = 0x305A
    OPENGL_API = 0x30A2


class _Numbers:
    """The type of an argument that points to numbers.

    The argument is an array of NumPy's, into which the function may write; a tuple or list, of
    which it gets a copy; or anything that ctypes takes.
    """

    def __init__(self, element: Any) -> None:
        self._element = element

    def from_param(self, values: Any) -> Any:
        """The value that ctypes passes."""
        if isinstance(values, np.ndarray):
            return c_void_p(values.ctypes.data)
        if isinstance(values, tuple | list):
            return (self._element * len(values))(*values)
        return values


_INTEGERS, _FLOATS = _Numbers(c_uint), _Numbers(c_float)

Signatures = Mapping[str, tuple[Any, ...]]
"""Functions by name: the type of the result, then those of the arguments."""

EGL_FUNCTIONS: Signatures = {
    "eglBindAPI": (c_uint, c_uint),
    "eglGetCurrentContext": (c_void_p,),
    "eglGetCurrentDisplay": (c_void_p,),
    "eglGetCurrentSurface": (c_void_p, c_int),
    "eglMakeCurrent": (c_uint, c_void_p, c_void_p, c_void_p, c_void_p),
    "eglQueryAPI": (c_uint,),
}

_NAMES: Mapping[tuple[Any, ...], str] = {
    (None, c_uint): (
        "glActiveTexture glBegin glBlendEquation glClear glDisable glEnable glEndQuery "
        "glMatrixMode glPushAttrib"
    ),
    (None, c_uint, c_uint): (
        "glBeginQuery glBindBuffer glBindFramebuffer glBindProgramARB glBindSampler glBindTexture "
        "glBlendFunc glClampColor"
    ),
    (None, c_uint, c_ssize_t, c_void_p, c_uint): "glBufferData glBufferStorage",
    (c_uint, c_uint): "glCheckFramebufferStatus",
    (None, c_uint, c_uint, c_uint, c_uint, c_void_p): "glClearBufferData",
    (None, c_float, c_float, c_float, c_float): "glBlendColor glClearColor",
    (c_uint, c_void_p, c_uint, c_uint64): "glClientWaitSync",
    (None, c_uint, c_uint, *(c_ssize_t,) * 3): "glCopyBufferSubData",
    (None, c_uint, *(c_int,) * 7): "glCopyTexSubImage2D",
    (None, c_int, _INTEGERS): (
        "glDeleteBuffers glDeleteFramebuffers glDeleteProgramsARB glDeleteQueries "
        "glDeleteSamplers glDeleteTextures glDrawBuffers glGenBuffers glGenFramebuffers "
        "glGenProgramsARB glGenQueries glGenSamplers glGenTextures"
    ),
    (None, c_void_p): "glDeleteSync",
    (None, c_double, c_double): "glDepthRange",
    (None,): "glEnd glFinish glFlush glLoadIdentity glPopAttrib",
    (c_void_p, c_uint, c_uint): "glFenceSync",
    (None, c_uint, c_float): "glAlphaFunc glFogf",
    (None, *(c_ubyte,) * 4): "glColorMask",
    (None, c_uint, _FLOATS): "glFogfv glGetFloatv glLightModelfv",
    (None, c_uint, c_uint, c_uint, c_uint, c_int): "glFramebufferTexture1D glFramebufferTexture2D",
    (None, c_uint, c_uint, c_uint, c_uint, c_int, c_int): "glFramebufferTexture3D",
    (None, c_uint, c_ssize_t, c_ssize_t, c_void_p): "glGetBufferSubData",
    (c_uint,): "glGetError",
    (None, c_uint, _INTEGERS): "glGetIntegerv",
    (None, c_uint, c_uint, _INTEGERS): "glGetProgramivARB glGetQueryObjectui64v glTexParameteriv",
    (c_char_p, c_uint): "glGetString",
    (None, c_uint, c_uint, c_float): "glLightf glSamplerParameterf glTexEnvf",
    (None, c_uint, c_uint, _FLOATS): "glLightfv glMaterialfv glSamplerParameterfv glTexEnvfv",
    (None, _FLOATS): "glLoadMatrixf",
    (c_void_p, c_uint, c_ssize_t, c_ssize_t, c_uint): "glMapBufferRange",
    (None, c_uint, c_int): "glPixelStorei",
    (None, c_uint, c_uint, c_void_p): "glProgramEnvParameter4fvARB glProgramLocalParameter4fvARB",
    (None, c_uint, c_uint, c_int, c_char_p): "glProgramStringARB",
    (None, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p): "glReadPixels",
    (None, c_uint, c_uint, c_int): "glSamplerParameteri glTexEnvi glTexParameteri",
    (None, c_uint, c_uint, c_uint): "glTexBuffer",
    (None, c_uint, *(c_int,) * 4, c_uint, c_uint, c_void_p): "glTexImage1D",
    (None, c_uint, *(c_int,) * 5, c_uint, c_uint, c_void_p): "glTexImage2D glTexSubImage2D",
    (None, c_uint, *(c_int,) * 6, c_uint, c_uint, c_void_p): "glTexImage3D",
    (None, c_uint, *(c_int,) * 3, c_uint, c_uint, c_void_p): "glTexSubImage1D",
    (None, c_uint, *(c_int,) * 7, c_uint, c_uint, c_void_p): "glTexSubImage3D",
    (None, c_uint, c_void_p): "glVertexAttrib4fv",
    (None, c_int, c_int, c_int, c_int): "glScissor glViewport",
}
"""The names of the functions of each signature."""

GL_FUNCTIONS: Signatures = {
    name: signature for signature, names in _NAMES.items() for name in names.split()
}
