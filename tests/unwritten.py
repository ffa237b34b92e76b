"""Memory that nobody wrote holds a pattern in tests, so that results show where it was read.

Drivers and allocators often hand out zeros, or values that happen to be right. Here every texture,
every buffer and each of NumPy's `empty` arrays begins with NOT_WRITTEN, and in shaders so does
every variable and every shared array: a NaN with a payload as float32 and float16, and 0xCD in
fixed point.
"""

from __future__ import annotations

import ctypes
import importlib
import pkgutil
import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy import interp, runtime
from gpgpu_legacy.runtime import native
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl import drawn as surfaces
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.host import HostPrepared

_FLOAT, _HALF, _FIXED = b"\xcd\xcd\xcd\x7f", b"\xcd\x7e", b"\xcd"
NOT_WRITTEN = np.frombuffer(_FLOAT, "<f4")[0]


def _fill(array: Any) -> Any:
    pattern = {"float32": _FLOAT, "float16": _HALF}.get(array.dtype.name, _FIXED * 8)
    if array.dtype.kind in "fiu":
        array[...] = np.frombuffer(pattern, array.dtype, 1)
    return array


class _Numpy:
    """NumPy as the executors see it: its empty arrays hold the pattern."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def empty(*args: Any, **kwargs: Any) -> Any:
        return _fill(np.empty(*args, **kwargs))


def _modules() -> list[Any]:
    """The modules of the executors and of the reference machine that use NumPy."""
    named = (
        module.name
        for room in (interp, runtime)
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    )
    return [m for m in map(importlib.import_module, named) if getattr(m, "np", None) is np]


# Shaders -----------------------------------------------------------------------------------------

_BITS = f"{int.from_bytes(_FLOAT, 'little'):#x}"
_VALUES = {"float": f"uintBitsToFloat({_BITS}u)", "int": _BITS, "uint": f"{_BITS}u"}
_VALUES |= {f"vec{n}": f"vec{n}({_VALUES['float']})" for n in (2, 3, 4)}
_TYPES = "|".join(_VALUES)
_VARIABLE = re.compile(rf"^( +(?:precise )?({_TYPES}) \w+);", re.MULTILINE)
_BLOCK = re.compile(r"^(?!void |.*\) \{)[^\n]*\{\n(?:    .*\n)*?\};", re.MULTILINE)
_SHARED = re.compile(rf"^\s*shared ({_TYPES}) (\w+)((?:\[\w+\])+);", re.MULTILINE)
_MAIN = re.compile(r"void main\s*\(\s*(?:void)?\s*\)\s*\{")


def shader_with_pattern(text: str) -> str:
    """The same shader, with the pattern in its variables without values and its shared arrays."""
    parts, end = [], 0
    for block in _BLOCK.finditer(text):  # whose members look like variables
        parts += [_with_values(text[end : block.start()]), block[0]]
        end = block.end()
    text = "".join([*parts, _with_values(text[end:])])
    fills = "".join(_filling(*match.groups()) for match in _SHARED.finditer(text))
    return _MAIN.sub(lambda main: main[0] + fills + "barrier();" * bool(fills), text, count=1)


def _with_values(text: str) -> str:
    return _VARIABLE.sub(lambda match: f"{match[1]} = {_VALUES[match[2]]};", text)


def _filling(element: str, name: str, lengths: str) -> str:
    """Statements with which the invocations of a work group fill a shared array."""
    sizes = re.findall(r"\w+", lengths)
    index, place = "unwritten", name
    for number, size in enumerate(sizes):
        behind = " * ".join(f"uint({later})" for later in sizes[number + 1 :]) or "1u"
        place += f"[{index} / ({behind}) % uint({size})]"
    step = "gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z"
    whole = " * ".join(f"uint({size})" for size in sizes)
    return (
        f" for (uint {index} = gl_LocalInvocationIndex; {index} < {whole}; {index} += {step}) "
        f"{place} = {_VALUES[element]};"
    )


# Drivers' memory ---------------------------------------------------------------------------------


class _Allocating:
    """OpenGL's functions; those that allocate a texture also fill it."""

    def __init__(self, gl: Any) -> None:
        self._gl = gl

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._gl, name)
        return _filling_images(function) if name.startswith("glTexImage") else function


def _filling_images(allocate: Callable[..., None]) -> Callable[..., None]:
    def filled(target: int, level: int, internal: int, *rest: Any) -> None:
        *sizes, border, layout, component, data = rest
        assert data is None
        pattern = {GL.FLOAT: _FLOAT, GL.HALF_FLOAT: _HALF}.get(component, _FIXED)
        memory = pattern * ((16 * prod(sizes) + 64 * max(sizes)) // len(pattern))  # rows are padded
        held = ctypes.create_string_buffer(memory, len(memory))
        allocate(target, level, internal, *sizes, border, layout, component, ctypes.addressof(held))

    return filled


def patch_memory(patch: pytest.MonkeyPatch) -> None:
    """Let all memory that an executor or the reference machine allocates begin with the pattern."""
    for module in _modules():
        patch.setattr(module, "np", _Numpy())

    aligned, make = native.aligned, HostPrepared.__init__
    patch.setattr(native, "aligned", lambda *given: _fill(aligned(*given)))

    def prepared(self: HostPrepared, *given: Any) -> None:
        make(self, *given)
        for storage in self.textures.values():
            for plane in storage.planes:
                _fill(plane)

    patch.setattr(HostPrepared, "__init__", prepared)

    buffer, compile_, allocate = (
        core.GlContext.buffer,
        core.GlContext.compile,
        surfaces.Surfaces._allocate,
    )

    def buffers(self: core.GlContext, size_bytes: int) -> Any:
        made = buffer(self, size_bytes)
        made.clear(chunk=_FLOAT if size_bytes % len(_FLOAT) == 0 else _FIXED)
        return made

    def compiled(self: core.GlContext, name: str, **stages: str) -> Any:
        texts = {stage: shader_with_pattern(text) for stage, text in stages.items()}
        return compile_(self, name, **texts)

    def allocated(self: surfaces.Surfaces, image: surfaces.Image) -> None:
        self._gl, gl = _Allocating(self._gl), self._gl
        try:
            allocate(self, image)
        finally:
            self._gl = gl

    patch.setattr(core.GlContext, "buffer", buffers)
    patch.setattr(core.GlContext, "compile", compiled)
    patch.setattr(surfaces.Surfaces, "_allocate", allocated)
