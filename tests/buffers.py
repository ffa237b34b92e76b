"""Storage buffers in plans made by hand: their textures, bindings, uniforms and read-back."""

from __future__ import annotations

from gpgpu_legacy.plan.numbers import Number
from gpgpu_legacy.plan.plan import BufferBinding, UniformValue
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    Extent,
    Matrix,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)


def buffer(name: str, rows: int, columns: int, *, zero: bool = False) -> Texture:
    """A storage buffer for a matrix, row after row. zero: it is filled with 0 before a run."""
    initial = (0.0, 0.0, 0.0, 0.0) if zero else None
    return Texture(name, TextureKind.BUFFER, Extent(columns, rows), R32F, initial)


def uniforms(**values: Number) -> tuple[UniformValue, ...]:
    """The uniforms of a pass, by name."""
    return tuple(UniformValue(name, value) for name, value in values.items())


def bindings(*textures: str) -> tuple[BufferBinding, ...]:
    """The bindings of these buffers to the binding points 0, 1, 2, …"""
    return tuple(BufferBinding(i, name) for i, name in enumerate(textures))


def read_from(matrix: Matrix, texture: Texture) -> Transfer:
    """The transfer that reads a whole matrix back from a buffer and drops the padding."""
    region = Region(0, 0, matrix.rows, matrix.columns)
    rect = Rect(0, 0, matrix.columns, matrix.rows)
    return Transfer(matrix.name, region, texture.name, rect, ONE_PER_TEXEL)
