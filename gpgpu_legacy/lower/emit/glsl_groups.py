"""Fused passes and temporal tiling as GLSL compute shaders: a tile of fragments per work group.

lower/groups/tiling.py and lower/temporal/tiling.py make the statements. Textures are arrays in
storage buffers: a vec4 or a float per texel. Read-only textures can instead be buffer textures of
the same buffers, which some devices read faster. The differences between passes of one Content are
in a uniform block; `uniform_blocks` makes its bytes from their Arguments.

A chain is one shader for several passes of few fragments, one after another in one work group. Each
pass is a function around its statements. The preprocessor tells apart names that passes share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from gpgpu_legacy.isa.expressions import Array, Element, Fetch, Given, Variable
from gpgpu_legacy.isa.statements import Call, Statement
from gpgpu_legacy.isa.types import INT, VEC4
from gpgpu_legacy.lower.emit.glsl import GlslEmitter, shader_text
from gpgpu_legacy.lower.emit.glsl_fragment import COMPUTE, buffer, declared
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import Content, live_segments, refuse_unsupported
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    FIRST,
    INVOCATION,
    LAST,
    THREAD,
    GroupCode,
    block_variables,
    quad_array,
    surface_fetch,
    texture_array,
)
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.groups.staging import choose_staging
from gpgpu_legacy.lower.groups.tiling import GroupTiling
from gpgpu_legacy.lower.temporal.content import TemporalContent, TemporalShape
from gpgpu_legacy.lower.temporal.tiling import (
    COMPLETE,
    TemporalTiling,
    shared_array,
    stored_array,
)

BLOCK = "Run"
"""The name of the uniform block, at binding 0 of uniform buffers."""

ITERATIONS = "iterations"
"""The name of the uniform with the first iteration and the one after the last: an ivec2, or in
temporal tiling an ivec3."""

CHAIN = GroupShape((1024, 1), columns=1, rows=1, k_depth=0)
"""The only work group of a chain; every device allows as many invocations."""

AGAIN = "again"
"""The name of the uniform with the least value of a condition for which a chain runs."""

_BLOCK_HEAD = f"layout(std140, binding = 0) uniform {BLOCK} {{"


@lru_cache(maxsize=256)
def emit_groups(
    content: Content, shape: GroupShape, shared_bytes: int, *, exact: bool, fetches: bool = False
) -> GroupCode:
    """The Content of fused passes as a compute shader, emitted once for equal arguments.

    shape: the wanted shape; the code has no K-depth if nothing can be staged in `shared_bytes`.
    fetches: read read-only surfaces as buffer textures, each at the texture unit of its number.
    Raises UnsupportedError for fog and bent attributes.

    Run the shader on a work group for each tile of the Arguments' rectangle, with each surface's
    buffer at the binding of its number, the uniform ITERATIONS and the uniform block BLOCK (std140,
    at binding 0): the vec4s of `vectors`, then `block_variables`. `uniform_blocks` gives its bytes.
    """
    refuse_unsupported(content)
    body = fused_body(content)
    staging = choose_staging(content, body, shape, shared_bytes, in_quads=not fetches)
    fetched = [n for n, surface in enumerate(content.surfaces) if fetches and not surface.owned]
    buffers = []
    for number, surface in enumerate(content.surfaces):
        array = texture_array(content, number)
        access = "restrict " if surface.owned else "readonly restrict "
        buffers.append(
            f"layout(binding = {number}) uniform samplerBuffer {array.name};"
            if number in fetched
            else buffer(number, access, array)
        )
    for number in sorted(staging.surfaces_in_quads):
        buffers.append(buffer(number, "readonly restrict ", quad_array(number)))
    width, height = staging.shape.tile
    known = {
        THREAD: "ivec2(gl_LocalInvocationID.xy)",
        INVOCATION: "int(gl_LocalInvocationIndex)",
        CORNER: f"ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height})",
    }
    statements = GroupTiling(content, body, staging).all_statements()
    emitter = _GroupEmitter(content, exact=exact, fetched=fetched)
    return emitter.code(
        staging.shape, buffers, staging.arrays, known, statements, iterations="ivec2"
    )


class _GroupEmitter(GlslEmitter):
    """Texels are elements of buffers; the passes' values are in the uniform block.

    fetched: the numbers of the surfaces that are buffer textures.
    """

    def __init__(self, content: Content, *, exact: bool, fetched: Collection[int] = ()) -> None:
        super().__init__(COMPUTE, exact=exact)
        self.content, self.fetched = content, tuple(fetched)
        self.arrays = {texture_array(content, number).name for number in fetched}

    def element(self, value: Element) -> str:
        if value.array.name not in self.arrays:
            return super().element(value)
        (index,) = value.operands
        texel = f"texelFetch({value.array.name}, {self.expression(index)})"
        return texel + self.suffix(tuple(range(value.type.width)), 4)

    def source(self, given: Given) -> str:
        """The name of a vector of the block; each draw has its own vectors."""
        return f"{super().source(given)}_of_{given.draw}"

    def fetch(self, fetch: Fetch) -> str:
        return self.expression(Call(fetch.operands, surface_fetch(self.content, fetch.texture)))

    def members(self) -> list[str]:
        """The declarations of a pass's values in the block."""
        vectors = [Variable(self.source(given), VEC4) for given in self.given.values()]
        return [f"{declared(v)};" for v in (*vectors, *block_variables(self.content))]

    def code(
        self,
        shape: GroupShape,
        buffers: Iterable[str],
        shared: Iterable[Array],
        known: Mapping[Variable, str],
        statements: Sequence[Statement],
        *,
        iterations: str,
    ) -> GroupCode:
        """The shader around the statements of main.

        known: the variables that main begins with, and the texts of their values. iterations: the
        type of the uniform ITERATIONS.
        """
        lines = self.block(statements)
        (uniforms, functions), (across, up) = self.head(), shape.threads
        head = [*COMPUTE.header, *uniforms]
        head += [f"layout(local_size_x = {across}, local_size_y = {up}) in;", *buffers]
        head += [f"uniform {iterations} {ITERATIONS};", _BLOCK_HEAD]
        head += [*(f"    {member}" for member in self.members()), "};"]
        for array in shared:
            lengths = "".join(f"[{length}]" for length in array.extents)
            head.append(f"shared {array.element.word} {array.name}{lengths};")
        known = {FIRST: f"{ITERATIONS}.x", LAST: f"{ITERATIONS}.y", **known}
        text = shader_text([*head, *functions], [*_initialised(known), *lines])
        trips = sum(s.trips for draw in self.content.draws for s in live_segments(draw))
        return GroupCode(text, shape, tuple(self.given.values()), trips, self.fetched)


def _initialised(known: Mapping[Variable, str]) -> list[str]:
    """The declarations of variables with their values."""
    return [f"    {declared(variable)} = {text};" for variable, text in known.items()]


@lru_cache(maxsize=256)
def emit_temporal(content: TemporalContent, shape: TemporalShape, *, exact: bool) -> GroupCode:
    """Iterations of passes that read neighbours, as a compute shader: temporal tiling.

    It is emitted once for equal arguments. Raises UnsupportedError for fog and bent attributes.

    Run the shader on a work group for each tile of `shape.stored` in the rectangle. Each surface's
    buffer is at the binding of its number. The buffers that live surfaces are stored in follow, in
    the order of `content.live`. Around the rectangle, both buffers of a live surface must be equal.
    The uniforms are the block BLOCK, and ITERATIONS: the first, one past the last, and whether
    these are the last of all. There are at most `shape.iterations` of them.
    """
    refuse_unsupported(content.content)
    body = fused_body(content.content)
    buffers, surfaces = [], content.content.surfaces
    for number, surface in enumerate(surfaces):
        writes = surface.written and number not in content.live
        access = "restrict " if writes else "readonly restrict "
        buffers.append(buffer(number, access, texture_array(content.content, number)))
    for place, number in enumerate(content.live):
        array = stored_array(content, number)
        buffers.append(buffer(len(surfaces) + place, "writeonly restrict ", array))
    shared = [shared_array(content, shape, number) for number in content.near]
    (left, _), (down, _) = shape.margins(content.reach)
    width, height = shape.stored(content.reach)
    known = {
        COMPLETE: f"{ITERATIONS}.z != 0",
        THREAD: "ivec2(gl_LocalInvocationID.xy)",
        CORNER: f"ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height}) - ivec2({left}, {down})",
    }
    group = GroupShape(shape.threads, shape.columns, shape.rows, k_depth=0)
    statements = TemporalTiling(content, body, shape).all_statements()
    emitter = _GroupEmitter(content.content, exact=exact)
    return emitter.code(group, buffers, shared, known, statements, iterations="ivec3")


# Chains ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def emit_chain(
    links: tuple[tuple[Content, int, tuple[int, ...]], ...],
    asked: tuple[int, int] | None = None,
    *,
    exact: bool,
) -> tuple[GroupCode, ...]:
    """The codes of several Contents, each of one pass, with one common text.

    links: for each pass its Content, the number of fragments across that are computed at once (a
    power of two), and the bindings of its surfaces' buffers. asked: the binding of a buffer, and
    that of an integer. Nothing runs unless the buffer's first number is AGAIN or more; the integer
    counts how often the chain has run. The uniform block has the blocks of all Contents in order.
    """
    threads, _ = CHAIN.threads
    head = [*COMPUTE.header, f"layout(local_size_x = {threads}) in;"]
    block, buffers, functions = list[str](), dict[int, str](), list[str]()
    main = ["    ivec2 corner;"]
    vectors: list[tuple[Given, ...]] = []
    for n, (content, across, places) in enumerate(links):
        emitter = _GroupEmitter(content, exact=exact)
        body = fused_body(content)
        staging = choose_staging(content, body, CHAIN, 0)
        lines = emitter.block(GroupTiling(content, body, staging).all_statements())
        uniforms, own = emitter.head()
        vectors.append(tuple(emitter.given.values()))
        head.append(f"struct Values{n} {{ {' '.join(emitter.members())} }};")
        block.append(f"    Values{n} run{n};")
        members = [*map(emitter.source, vectors[-1]), *(v.name for v in block_variables(content))]
        renamed = {name: f"run{n}.{name}" for name in members}
        renamed |= {name: f"{name}_{n}" for name in emitter.function_names()}
        for number, place in enumerate(places):
            array = texture_array(content, number)
            renamed[array.name] = f"buffer{place}"
            buffers[place] = buffer(place, "coherent ", replace(array, name=f"buffer{place}"))
        here = "int(gl_LocalInvocationIndex)"
        known = {THREAD: f"ivec2({here} % {across}, {here} / {across})", FIRST: "0", LAST: "1"}
        functions += [f"#define {name} {other}" for name, other in renamed.items()]
        functions += [*uniforms, *own, f"void pass{n}({declared(CORNER)}) {{"]
        functions += [*_initialised(known), *lines, "}", *(f"#undef {name}" for name in renamed)]
        main += [
            f"    for (corner.y = 0; corner.y < run{n}.extent.y; corner.y += {threads // across})",
            f"        for (corner.x = 0; corner.x < run{n}.extent.x; corner.x += {across})",
            f"            pass{n}(corner);",
            "    memoryBarrierBuffer();",
            "    barrier();",
        ]
    if asked is not None:
        condition, counter = asked
        head += [f"uniform float {AGAIN};", buffer(counter, "", Array("runs", INT))]
        main[1:1] = [
            f"    if (!(buffer{condition}[0] >= {AGAIN})) return;",
            "    if (gl_LocalInvocationIndex == 0) runs[0]++;",
            "    barrier();",
        ]
    text = shader_text([*head, _BLOCK_HEAD, *block, "};", *buffers.values(), *functions], main)
    return tuple(GroupCode(text, CHAIN, own, 0) for own in vectors)
