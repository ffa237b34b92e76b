"""Devices that flush denormals, and compilers that fold: the fragments that they may change.

`flushing` makes this thread flush denormals as well.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np

from gpgpu_legacy.interp import machine
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa import execute, program
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.plan.framebuffer import ADD, Writes

IS_KNOWN = platform.system() == "Linux" and platform.machine() == "x86_64"
"""Whether fenv_t is that of glibc on x86-64: eight words, of which the last is MXCSR."""

_FTZ_AND_DAZ = 0x8040


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libm.so.6")


@contextmanager
def flushing() -> Iterator[None]:
    """Put this thread into the state that a library built with -ffast-math leaves: FTZ and DAZ."""
    before = (ctypes.c_uint32 * 8)()
    _library().fegetenv(before)
    changed = (ctypes.c_uint32 * 8)(*before)
    changed[7] |= _FTZ_AND_DAZ
    _library().fesetenv(changed)
    try:
        yield
    finally:
        _library().fesetenv(before)


class Touched:
    """The fragments that a device or a compiler may compute otherwise than the numpy machine.

    A device that flushes may differ where an operation, but for moves, had a denormal operand, or
    has another result if denormals are flushed. A compiler may differ where it folds. mask: (H, W),
    or a scalar. in_quads: with levels of detail a fragment depends on all of its quad; the mask
    then has an element for each quad.
    """

    def __init__(self, *, in_quads: bool) -> None:
        self.in_quads, self.mask = in_quads, np.zeros((1, 1) if in_quads else (), bool)

    def note(self, *arrays: Any) -> None:
        """Add the fragments where any array is true; arrays broadcast to the fragments."""
        for array in arrays:
            self.mask = self.mask | (_any_of_quads(array) if self.in_quads else array)

    def of(self, width: int, height: int) -> Any:
        """The mask of a rectangle that begins with a quad."""
        if not self.in_quads:
            return np.broadcast_to(self.mask, (height, width))
        quads = np.broadcast_to(self.mask, ((height + 1) // 2, (width + 1) // 2))
        return quads.repeat(2, 0).repeat(2, 1)[:height, :width]


def _any_of_quads(array: Any) -> Any:
    quads = np.atleast_2d(array)
    for axis in range(2):
        starts = np.arange(0, quads.shape[axis], 2)
        quads = np.logical_or.reduceat(quads, starts, axis) if len(starts) > 1 else quads
        quads = quads.any(axis, keepdims=True) if len(starts) == 1 else quads
    return quads


@contextmanager
def touched_by_denormals(*, in_quads: bool = False) -> Iterator[Touched]:
    """Watch the numpy machine for denormals; its results stay as they are.

    It has to run in one band of rows.
    """
    touched = Touched(in_quads=in_quads)

    def note(name: str, function: Callable[..., Any], usual: Any, args: Any) -> None:
        with flushing():
            flushed = function(*args)
        pairs = zip(_floats(usual), _floats(flushed), strict=True)
        touched.note(*(_bits(one) != _bits(other) for one, other in pairs))
        if name not in _MOVES:
            touched.note(*map(_is_denormal, _floats(args)))

    def draw(storage: Storage, where: Any, colour: Any, writes: Writes, alive: Any) -> None:
        channels = writes.channels(storage.texture.format) if writes.blend == ADD else ()
        for channel in channels:
            touched.note(*map(_is_denormal, (colour[channel], storage.planes[channel][where])))
        drawn(storage, where, colour, writes, alive)
        for channel in channels:
            touched.note(_is_denormal(storage.planes[channel][where]))

    drawn = Storage.draw
    with _watched(note), patch.object(Storage, "draw", draw):
        yield touched


@contextmanager
def touched_by_folding(*, in_quads: bool = False) -> Iterator[Touched]:
    """Watch for results that a compiler may fold to others: NaN, where a factor is known as 0.

    A factor is known if it is 0 in all fragments, or 1, from which LRP makes 0. The weights of a
    lookup at a known place are known, too. RCP of a 0 also counts: GLSL leaves the sign open, and a
    folded result may have the other one.
    """
    touched = Touched(in_quads=in_quads)

    def note(name: str, _: Callable[..., Any], usual: Any, args: Any) -> None:
        given = _floats(args)
        if name == "sample":
            known = any(place.size == 1 for place in given[:3])
        else:
            known = any({*each[~np.isnan(each)].flat} in ({0.0}, {1.0}, set()) for each in given)
        if known:
            touched.note(*map(np.isnan, _floats(usual)))
        if name == "RCP":
            touched.note(*(each == 0 for each in given))

    with _watched(note):
        yield touched


@contextmanager
def _watched(note: Callable[[str, Callable[..., Any], Any, Any], None]) -> Iterator[None]:
    """Note each call of the numpy machine for a program: its name, result and arguments."""

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            usual = function(*args, **named)
            note(name, partial(function, **named), usual, args)
            return usual

        return call

    rows = {
        name: replace(row, evaluate=watched(name, row.evaluate)) for name, row in OPCODES.items()
    }
    parts = {
        name: watched(name, getattr(machine, name)) for name in ("_plane", "sample", "saturated")
    }
    relations = {name: watched(name, choose) for name, choose in execute.RELATIONS.items()}
    opcodes = patch.object(program, "OPCODES", rows)
    tests = patch.object(execute, "RELATIONS", relations)
    with opcodes, tests, patch.multiple(machine, **parts):
        yield


_MOVES = ("ABS", "MOV", "SWZ", "TEX", "TXB", "TXD", "TXL", "_plane", "sample")


def _floats(values: Any) -> list[Any]:
    """The float32 arrays and numbers in nested lists and tuples."""
    if isinstance(values, list | tuple):
        return [each for value in values for each in _floats(value)]
    return [np.asarray(values)] if getattr(values, "dtype", None) == np.float32 else []


def _bits(values: Any) -> Any:
    bits = values.view(np.uint32)
    return np.where(bits & 0x7FFFFFFF > 0x7F800000, np.uint32(0x7FC00000), bits)


def _is_denormal(values: Any) -> Any:
    bits = values.view(np.uint32) & 0x7FFFFFFF
    return (bits > 0) & (bits < 0x00800000)
