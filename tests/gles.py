"""A context of OpenGL ES 3, headless, for tests: it compiles, links and draws."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_float,
    c_int,
    c_uint,
    c_void_p,
    create_string_buffer,
)
from types import SimpleNamespace
from typing import Any

import numpy as np
from drawing import F32

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl.egl import CurrentContext, load_egl, load_function
from gpgpu_legacy.runtime.gl.headers import EGL

_OPENGL_ES_API, _OPENGL_ES3_BIT = 0x30A0, 0x0040
_CONTEXT_MAJOR_VERSION, _CONTEXT_MINOR_VERSION = 0x3098, 0x30FB

_FRAGMENT_SHADER, _VERTEX_SHADER = 0x8B30, 0x8B31
_COMPILE_STATUS, _LINK_STATUS = 0x8B81, 0x8B82
_TEXTURE_2D, _TEXTURE0, _FRAMEBUFFER, _ATTACHMENT0 = 0x0DE1, 0x84C0, 0x8D40, 0x8CE0
_COMPLETE, _FLOAT, _RGBA, _RED, _RGBA32F, _R32F = 0x8CD5, 0x1406, 0x1908, 0x1903, 0x8814, 0x822E
_MIN_FILTER, _MAG_FILTER, _WRAP_S, _WRAP_T, _NEAREST, _EDGE = (
    0x2801, 0x2800, 0x2802, 0x2803, 0x2600, 0x812F,
)  # fmt: skip

_FUNCTIONS: Mapping[str, tuple[Any, ...]] = {
    "glActiveTexture": (None, c_uint),
    "glAttachShader": (None, c_uint, c_uint),
    "glBindFramebuffer": (None, c_uint, c_uint),
    "glBindTexture": (None, c_uint, c_uint),
    "glCheckFramebufferStatus": (c_uint, c_uint),
    "glCompileShader": (None, c_uint),
    "glCreateProgram": (c_uint,),
    "glCreateShader": (c_uint, c_uint),
    "glDeleteFramebuffers": (None, c_int, POINTER(c_uint)),
    "glDeleteProgram": (None, c_uint),
    "glDeleteShader": (None, c_uint),
    "glDeleteTextures": (None, c_int, POINTER(c_uint)),
    "glDrawArrays": (None, c_uint, c_int, c_int),
    "glDrawBuffers": (None, c_int, POINTER(c_uint)),
    "glFramebufferTexture2D": (None, c_uint, c_uint, c_uint, c_uint, c_int),
    "glGenFramebuffers": (None, c_int, POINTER(c_uint)),
    "glGenTextures": (None, c_int, POINTER(c_uint)),
    "glGetError": (c_uint,),
    "glGetProgramInfoLog": (None, c_uint, c_int, POINTER(c_int), POINTER(c_char)),
    "glGetProgramiv": (None, c_uint, c_uint, POINTER(c_int)),
    "glGetShaderInfoLog": (None, c_uint, c_int, POINTER(c_int), POINTER(c_char)),
    "glGetShaderiv": (None, c_uint, c_uint, POINTER(c_int)),
    "glGetString": (c_char_p, c_uint),
    "glGetUniformLocation": (c_int, c_uint, c_char_p),
    "glLinkProgram": (None, c_uint),
    "glReadBuffer": (None, c_uint),
    "glReadPixels": (None, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p),
    "glShaderSource": (None, c_uint, c_int, POINTER(c_char_p), POINTER(c_int)),
    "glTexImage2D": (None, c_uint, *(c_int,) * 5, c_uint, c_uint, c_void_p),
    "glTexParameteri": (None, c_uint, c_uint, c_int),
    "glUniform1i": (None, c_int, c_int),
    "glUniform2fv": (None, c_int, c_int, POINTER(c_float)),
    "glUniform4fv": (None, c_int, c_int, POINTER(c_float)),
    "glUseProgram": (None, c_uint),
    "glViewport": (None, c_int, c_int, c_int, c_int),
}


class CompileError(Exception):
    """What the compiler says of a text, and the text."""


class Gles:
    """A context; what the class does needs it current."""

    def __init__(self) -> None:
        """Raises ExecutorUnavailableError where there is no such context."""
        self._egl = load_egl()
        self._current = CurrentContext(self._egl)
        with self._current.preserved():
            self._display, self._context = self._made()
            functions = {n: load_function(self._egl, n, s) for n, s in _FUNCTIONS.items()}
            self.gl = SimpleNamespace(**functions)
            self.device = self.gl.glGetString(0x1F01).decode()
            self.extensions = self.gl.glGetString(0x1F03).decode().split()

    def _made(self) -> tuple[int, int]:
        egl = self._egl
        display = egl.eglGetPlatformDisplayEXT and egl.eglGetPlatformDisplayEXT(
            EGL.PLATFORM_SURFACELESS, None, None
        )
        if not display or not egl.eglInitialize(display, None, None):
            raise ExecutorUnavailableError("EGL has no surfaceless display")
        egl.eglBindAPI(_OPENGL_ES_API)
        wanted = (EGL.SURFACE_TYPE, EGL.PBUFFER_BIT, EGL.RENDERABLE_TYPE, _OPENGL_ES3_BIT)
        config, count = c_void_p(), c_int()
        egl.eglChooseConfig(display, _integers(*wanted), byref(config), 1, byref(count))
        version = _integers(_CONTEXT_MAJOR_VERSION, 3, _CONTEXT_MINOR_VERSION, 0)
        context = count.value and egl.eglCreateContext(display, config, None, version)
        if not context or not egl.eglMakeCurrent(display, None, None, context):
            raise ExecutorUnavailableError("EGL makes no context of OpenGL ES 3")
        return display, context

    @contextmanager
    def current(self) -> Iterator[Gles]:
        """The context is current in the block; afterwards what was so before."""
        with self._current.preserved():
            self._egl.eglBindAPI(_OPENGL_ES_API)
            assert self._egl.eglMakeCurrent(self._display, None, None, self._context)
            yield self
            assert self.gl.glGetError() == 0
            self._egl.eglMakeCurrent(self._display, None, None, None)

    def program(self, vertex: str, fragment: str) -> int:
        """A program, compiled and linked; CompileError says why not."""
        gl, program = self.gl, self.gl.glCreateProgram()
        for kind, text in ((_VERTEX_SHADER, vertex), (_FRAGMENT_SHADER, fragment)):
            shader = gl.glCreateShader(kind)
            source = c_char_p(text.encode("ascii"))
            gl.glShaderSource(shader, 1, byref(source), None)
            gl.glCompileShader(shader)
            self._check(gl.glGetShaderiv, gl.glGetShaderInfoLog, shader, _COMPILE_STATUS, text)
            gl.glAttachShader(program, shader)
            gl.glDeleteShader(shader)
        gl.glLinkProgram(program)
        self._check(gl.glGetProgramiv, gl.glGetProgramInfoLog, program, _LINK_STATUS, fragment)
        return int(program)

    def _check(self, ask: Any, tell: Any, name: int, status: int, text: str) -> None:
        done, log = c_int(), create_string_buffer(4096)
        ask(name, status, byref(done))
        if not done.value:
            tell(name, len(log), None, log)
            raise CompileError(f"{log.value.decode()}\n{text}")

    def texture(self, texels: F32) -> int:
        """A texture of floats with one channel or four, of one level."""
        gl, name = self.gl, c_uint()
        height, width, channels = texels.shape
        inside, format_ = (_R32F, _RED) if channels == 1 else (_RGBA32F, _RGBA)
        gl.glGenTextures(1, byref(name))
        gl.glBindTexture(_TEXTURE_2D, name.value)
        data = np.ascontiguousarray(texels, np.float32)
        gl.glTexImage2D(_TEXTURE_2D, 0, inside, width, height, 0, format_, _FLOAT, data.ctypes.data)
        for parameter, value in (
            (_MIN_FILTER, _NEAREST), (_MAG_FILTER, _NEAREST), (_WRAP_S, _EDGE), (_WRAP_T, _EDGE),
        ):  # fmt: skip
            gl.glTexParameteri(_TEXTURE_2D, parameter, value)
        return int(name.value)

    def draw(
        self,
        shaders: tuple[str, str],
        viewport: tuple[int, int, int, int],
        targets: Sequence[F32],
        textures: Mapping[int, F32],
        uniforms: Mapping[str, F32],
    ) -> list[F32]:
        """The targets, of four channels, after a strip of 4 vertices has been drawn.

        uniforms: rows of two numbers or of four, as many as the array has elements. `textureN` is
        what `textures` has of N.
        """
        gl, program, framebuffer = self.gl, self.program(*shaders), c_uint()
        gl.glGenFramebuffers(1, byref(framebuffer))
        gl.glBindFramebuffer(_FRAMEBUFFER, framebuffer.value)
        names = [self.texture(texels) for texels in targets]
        buffers = [_ATTACHMENT0 + n for n in range(len(names))]
        for buffer, name in zip(buffers, names, strict=True):
            gl.glFramebufferTexture2D(_FRAMEBUFFER, buffer, _TEXTURE_2D, name, 0)
        gl.glDrawBuffers(len(buffers), (c_uint * len(buffers))(*buffers))
        assert gl.glCheckFramebufferStatus(_FRAMEBUFFER) == _COMPLETE
        gl.glUseProgram(program)
        for unit, texels in textures.items():
            gl.glActiveTexture(_TEXTURE0 + unit)
            names.append(self.texture(texels))
            gl.glUniform1i(gl.glGetUniformLocation(program, b"texture%d" % unit), unit)
        for name_, rows in uniforms.items():
            data = np.ascontiguousarray(rows, np.float32)
            setter = {2: gl.glUniform2fv, 4: gl.glUniform4fv}[data.shape[1]]
            location = gl.glGetUniformLocation(program, name_.encode())
            setter(location, len(data), data.ctypes.data_as(POINTER(c_float)))
        gl.glViewport(*viewport)
        gl.glDrawArrays(0x0005, 0, 4)
        found = []
        for buffer, start in zip(buffers, targets, strict=True):
            gl.glReadBuffer(buffer)
            texels = np.empty_like(start)
            height, width, _ = texels.shape
            gl.glReadPixels(0, 0, width, height, _RGBA, _FLOAT, texels.ctypes.data)
            found.append(texels)
        gl.glDeleteTextures(len(names), (c_uint * len(names))(*names))
        gl.glDeleteFramebuffers(1, byref(framebuffer))
        gl.glDeleteProgram(program)
        return found


def _integers(*values: int) -> Any:
    return (ctypes.c_int * (len(values) + 1))(*values, EGL.NONE)
