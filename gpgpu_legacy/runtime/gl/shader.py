"""Compiled programs of moderngl, the values of their uniforms, and dispatches of them.

A uniform that is the same in all passes of a plan is set once per run, because another plan may
have used the shader in between. A uniform that differs is set by each pass, from bytes that
preparing the plan computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.lower.emit.glsl_fragment import vertex_shader
from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext, inner
from gpgpu_legacy.runtime.gl.sharing import Releasable
from gpgpu_legacy.runtime.gl.values import of_iteration

Values = NDArray[np.generic]
Write = Callable[[Any], None]

_TRIANGLE_STRIP = 0x0005


class Shader:
    """A compiled program with its active uniforms.

    Once nothing refers to it, the next use of the context releases it.
    """

    def __init__(self, context: GlContext, program: Any, *others: Releasable) -> None:
        """Own a program, and objects that are released before it."""
        self.program = program
        self.is_warm = False  # whether it has run, and so is completely compiled
        members = {name: program[name] for name in program}
        self._uniforms = {n: m for n, m in members.items() if hasattr(m, "array_length")}
        context.release_with(self, [program, *others])

    def has(self, name: str) -> bool:
        """Whether the program has an active uniform of that name."""
        return name in self._uniforms

    def set(self, name: str, values: Values) -> None:
        """Set a uniform for good, if it is active."""
        if name in self._uniforms:
            self.writer(name)(self.fitted(name, values[None]).tobytes())

    def writer(self, name: str) -> Write:
        """The function that sets a uniform to bytes."""
        write: Write = self._uniforms[name].write
        return write

    def fitted(self, name: str, values: Values) -> Values:
        """The values (n, …) of a uniform as (n, numbers), with as many numbers as it holds."""
        uniform = self._uniforms[name]
        rows = values.reshape(len(values), -1)
        return np.ascontiguousarray(rows[:, : uniform.array_length * uniform.dimension])


class DrawingShader(Shader):
    """A shader that draws the rectangle of the viewport."""

    def __init__(self, context: GlContext, program: Any) -> None:
        """Own a program whose vertex shader comes from vertex_shader."""
        vertices = context.handle.vertex_array(program, [])
        super().__init__(context, program, vertices)
        self.render = partial(inner(vertices).render, _TRIANGLE_STRIP, 4, 0, 1)


def drawing_shader(
    context: GlContext, name: str, fragment_text: str, varyings: int = 0
) -> DrawingShader:
    """The shader of a text, compiled if there is none yet; the context is current.

    name: whose shader it is, for messages. varyings: as for vertex_shader. The sampler `textureN`
    reads unit N. Raises PlanError if the driver refuses the text.
    """

    def make() -> DrawingShader:
        program = context.compile(
            name, vertex_shader=vertex_shader(varyings), fragment_shader=fragment_text
        )
        shader = DrawingShader(context, program)
        for unit in range(int(context.info["GL_MAX_TEXTURE_IMAGE_UNITS"])):
            shader.set(f"texture{unit}", np.array(unit, np.int32))
        return shader

    return context.program((fragment_text, varyings), make)


def computing_shader(context: GlContext, name: str, text: str) -> Shader:
    """The compute shader of a text; see drawing_shader."""
    return context.program(
        text, lambda: Shader(context, context.compile(name, compute_shader=text))
    )


class Uniforms:
    """The uniforms that a pass sets before it runs; UniformTable.begin fills them in."""

    def __init__(self) -> None:
        """Empty."""
        self.writes: list[tuple[Write, list[bytes]]] = []

    def set(self, iteration: int) -> None:
        """Set the uniforms whose values another pass of the shader may have changed."""
        for write, rows in self.writes:
            write(of_iteration(rows, iteration))


class UniformTable:
    """The uniforms of all passes of a plan."""

    def __init__(self) -> None:
        """Empty."""
        self._uses: dict[tuple[Shader, str], list[tuple[Uniforms, list[bytes]]]] = {}
        self._once: list[tuple[Write, bytes]] = []

    def add(self, shader: Shader, values: Mapping[str, Values]) -> Uniforms:
        """A pass's values (n, …) by name; n is its iterations, or 1 where they are the same in all.

        Values that the shader does not use are ignored. The next `begin` fills in the result.
        """
        uniforms = Uniforms()
        for name, of_iterations in values.items():
            if shader.has(name):
                rows = [row.tobytes() for row in shader.fitted(name, of_iterations)]
                self._uses.setdefault((shader, name), []).append((uniforms, rows))
        return uniforms

    def begin(self) -> None:
        """Start a run, once all passes are known: set the uniforms that all of them share."""
        for (shader, name), uses in self._uses.items():
            write, (_, first) = shader.writer(name), uses[0]
            if len(first) == 1 and all(rows == first for _, rows in uses):
                self._once.append((write, first[0]))
                continue
            for uniforms, rows in uses:
                uniforms.writes.append((write, rows))
        self._uses.clear()
        for write, data in self._once:
            write(data)


# Dispatches --------------------------------------------------------------------------------------

Bind = Callable[[int], object]
"""Binds something, given the number of its unit, or of an iteration."""

_BLOCK_ALIGNMENT = 256
"""The alignment of uniform blocks, in bytes; no device needs more."""


class UniformBlocks:
    """The uniform blocks of all dispatches of a plan, in one buffer."""

    def __init__(self) -> None:
        """Empty."""
        self._parts: list[bytes] = []
        self._size = 0
        self._bind: Any = None  # moderngl's function that binds a part: binding, offset, size

    def add(self, rows: NDArray[np.uint8]) -> Bind:
        """Blocks, (n, bytes): one for each of n iterations, or one for all.

        Returns the function that binds the block of an iteration.
        """
        count, size = rows.shape
        stride = -(-size // _BLOCK_ALIGNMENT) * _BLOCK_ALIGNMENT
        padded, first = np.zeros((count, stride), np.uint8), self._size
        padded[:, :size] = rows
        self._parts.append(padded.tobytes())
        self._size += padded.size

        def bind(iteration: int) -> None:
            self._bind(0, first + (iteration if count > 1 else 0) * stride, size)

        return bind

    def settle(self, context: GlContext) -> GlBuffer | None:
        """Allocate the buffer when all blocks are known. The caller owns it; None if empty."""
        if not self._parts:
            return None
        buffer = context.handle.buffer(b"".join(self._parts))
        self._bind = inner(buffer).bind_to_uniform_block
        self._parts.clear()
        return buffer


SIDE = 16
"""The side of the square work groups of `texel_dispatch`, in invocations."""


def texel_dispatch(
    context: GlContext,
    shader: Shader,
    uniforms: tuple[UniformTable, Mapping[str, Any]],
    buffers: Sequence[GlBuffer],
    size: tuple[int, int],
) -> Dispatch:
    """A dispatch with an invocation for each texel, or element, of a rectangle.

    uniforms: their table, and by name a row of integers for each iteration, or one for all.
    """
    table, rows = uniforms
    values: dict[str, Values] = {n: np.array(of_name, np.int32) for n, of_name in rows.items()}
    groups = (-(-size[0] // SIDE), -(-size[1] // SIDE))
    return Dispatch(context, shader, table.add(shader, values), buffers, groups)


class Dispatch:
    """A recorded dispatch: shader, uniforms, storage buffers from binding 0 on, groups."""

    def __init__(
        self,
        context: GlContext,
        shader: Shader,
        uniforms: Uniforms,
        buffers: Sequence[GlBuffer | None],
        groups: tuple[int, int],
        *,
        textures: Sequence[tuple[Bind, int]] = (),
        block: Bind | None = None,
        pieces: int = 1,
        waits: bool = True,
    ) -> None:
        """buffers: by binding; None leaves one as it is. groups: work groups across and up.

        textures: the binding functions and units of buffer textures. block: binds the uniform block
        of an iteration. pieces: the number of calls, one after another, for all of the work. waits:
        whether earlier stores must be visible.
        """
        self.shader, self.pieces = shader, pieces
        self._set, self._run, self._groups = uniforms.set, inner(shader.program).run, groups
        self._bind_block = block
        self._barrier = context.barrier if waits else None
        self._bind, self._textures = context.bind, tuple(textures)
        self._buffers = tuple(binding for binding in enumerate(buffers) if binding[1] is not None)

    def __call__(self, iteration: int) -> None:
        """Dispatch that iteration."""
        if self._barrier is not None:
            self._barrier()
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
