"""Recorded dispatches of compute shaders: what they bind, set and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.runtime.gl.core import GlContext
from gpgpu_legacy.runtime.gl.shader import Shader, Uniforms

GlBuffer = Any
"""moderngl has no type annotations."""

Bind = Callable[[int], object]
"""Binds something to the binding, or the unit, of a number."""

_BLOCK_ALIGNMENT = 256
"""The alignment of uniform blocks, in bytes; no device needs more."""

_ALL_BARRIERS = 0xFFFFFFFF


@frozen
class Block:
    """A dispatch's part of UniformBlocks: a row for each iteration, or one row for all.

    offset: of the first row; stride: from row to row; size: of one; all in bytes.
    """

    blocks: UniformBlocks
    offset: int
    rows: int
    stride: int
    size: int

    def bind(self, iteration: int) -> None:
        """Bind the block of an iteration."""
        row = iteration if self.rows > 1 else 0
        self.blocks.bind(0, self.offset + row * self.stride, self.size)


class UniformBlocks:
    """The uniform blocks of all dispatches of a plan, in one buffer."""

    def __init__(self) -> None:
        """Empty."""
        self._parts: list[bytes] = []
        self._size = 0
        self.bind: Any = None
        """moderngl's function that binds part of the buffer: binding, offset, size."""

    def add(self, rows: NDArray[np.uint8]) -> Block:
        """Blocks, (n, bytes): one for each of n iterations, or one for all."""
        count, size = rows.shape
        stride = -(-size // _BLOCK_ALIGNMENT) * _BLOCK_ALIGNMENT
        padded = np.zeros((count, stride), np.uint8)
        padded[:, :size] = rows
        block = Block(self, self._size, count, stride, size)
        self._parts.append(padded.tobytes())
        self._size += padded.size
        return block

    def settle(self, context: GlContext) -> GlBuffer | None:
        """Allocate the buffer when all blocks are known. The caller owns it; None if empty."""
        if not self._parts:
            return None
        buffer = context.handle.buffer(b"".join(self._parts))
        self.bind = buffer.mglo.bind_to_uniform_block
        self._parts.clear()
        return buffer


class Dispatch:
    """A recorded dispatch: shader, uniforms, storage buffers from binding 0 on, groups.

    It calls moderngl's inner objects, since their wrappers take as long as the driver.
    """

    __slots__ = (
        "_barrier",
        "_bind",
        "_bind_block",
        "_buffers",
        "_groups",
        "_run",
        "_set",
        "_textures",
        "pieces",
        "shader",
    )

    def __init__(
        self,
        context: GlContext,
        shader: Shader,
        uniforms: Uniforms,
        buffers: Sequence[GlBuffer | None],
        groups: tuple[int, int],
        *,
        textures: Sequence[tuple[Bind, int]] = (),
        block: Block | None = None,
        pieces: int = 1,
        waits: bool = True,
    ) -> None:
        """buffers: None leaves a binding as it is. waits: for earlier stores to be visible.

        textures: the binding functions and units of buffer textures.
        pieces: the number of calls, one after another, for all of the work.
        """
        self.shader, self.pieces = shader, pieces
        self._set, self._run, self._groups = uniforms.set, shader.program.mglo.run, groups
        self._bind_block = block.bind if block is not None else None
        self._barrier = context.handle.mglo.memory_barrier if waits else None
        self._bind, self._textures = context.bound.bind, tuple(textures)
        self._buffers = tuple(
            (number, buffer.mglo) for number, buffer in enumerate(buffers) if buffer is not None
        )

    def __call__(self, iteration: int) -> None:
        """Dispatch that iteration."""
        if self._barrier is not None:
            self._barrier(_ALL_BARRIERS, False)
        self._set(iteration)
        for number, buffer in self._buffers:
            self._bind(number, buffer)
        for bind, unit in self._textures:
            bind(unit)
        if self._bind_block is not None:
            self._bind_block(iteration)
        self._run(*self._groups, 1)

    def warm_up(self) -> None:
        """Dispatch one group if its shader has not run yet: drivers compile it only then."""
        if self.shader.is_warm:
            return
        self.shader.is_warm = True
        groups, self._groups = self._groups, (1, 1)
        try:
            self(0)
        finally:
            self._groups = groups
