"""A chain as a GLSL compute shader: passes of few fragments, one after another in one work group.

Each pass is a function around the statements of lower/groups/tiling.py. Names that several passes
have are told apart by the preprocessor.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpgpu_legacy.isa.expressions import Array, Given, Variable
from gpgpu_legacy.isa.types import INT, VEC4
from gpgpu_legacy.lower.emit.glsl_fragment import COMPUTE, buffer, declared
from gpgpu_legacy.lower.emit.glsl_groups import BLOCK, GroupEmitter
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import Content
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    FIRST,
    LAST,
    THREAD,
    GroupCode,
    block_variables,
    texture_array,
)
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.groups.staging import choose_staging
from gpgpu_legacy.lower.groups.tiling import GroupTiling

CHAIN = GroupShape((1024, 1), columns=1, rows=1, k_depth=0)
"""The only work group of a chain; no device has fewer invocations."""

AGAIN = "again"
"""The uniform of the least value of a condition with which a chain runs."""


@lru_cache(maxsize=64)
def emit_chain(
    links: tuple[tuple[Content, int, tuple[int, ...]], ...],
    asked: tuple[int, int] | None = None,
    *,
    exact: bool,
) -> tuple[GroupCode, ...]:
    """The codes of Contents of one pass each, in one text.

    links: of each Content, the number of fragments across that are computed at once, a power of
    two, and the bindings of its surfaces' buffers. The uniform block has the blocks of all Contents
    in order. asked: the binding of a buffer whose first number must be AGAIN or more, or nothing
    runs; and the binding of an integer that counts how often the chain has run.
    """
    threads, _ = CHAIN.threads
    head = [*COMPUTE.header, f"layout(local_size_x = {threads}) in;"]
    block, buffers, functions = list[str](), dict[int, str](), list[str]()
    main = ["    ivec2 corner;"]
    vectors: list[tuple[Given, ...]] = []
    for n, (content, across, places) in enumerate(links):
        emitter = GroupEmitter(content, (), exact=exact)
        body = fused_body(content, as_level=False)
        staging = choose_staging(content, body, CHAIN, 0)
        lines = emitter.block(GroupTiling(content, body, staging).all_statements())
        uniforms, own = emitter.head()
        vectors.append(tuple(emitter.given.values()))
        members = [Variable(emitter.source(given), VEC4) for given in vectors[-1]]
        members += block_variables(content)
        head.append(f"struct Values{n} {{ {' '.join(f'{declared(m)};' for m in members)} }};")
        block.append(f"    Values{n} run{n};")
        renamed = {member.name: f"run{n}.{member.name}" for member in members}
        renamed |= {name: f"{name}_{n}" for name in emitter.function_names()}
        for number, place in enumerate(places):
            array = texture_array(content, number)
            renamed[array.name] = f"buffer{place}"
            buffers[place] = buffer(place, "coherent ", replace(array, name=f"buffer{place}"))
        here = "int(gl_LocalInvocationIndex)"
        known = {THREAD: f"ivec2({here} % {across}, {here} / {across})", FIRST: "0", LAST: "1"}
        functions += [f"#define {name} {other}" for name, other in renamed.items()]
        functions += [*uniforms, *own, f"void pass{n}({declared(CORNER)}) {{"]
        functions += [f"    {declared(variable)} = {text};" for variable, text in known.items()]
        functions += [*lines, "}", *(f"#undef {name}" for name in renamed)]
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
    head += [f"layout(std140, binding = 0) uniform {BLOCK} {{", *block, "};", *buffers.values()]
    text = "\n".join([*head, *functions, "", "void main() {", *main, "}", ""])
    return tuple(GroupCode(text, CHAIN, own, 0) for own in vectors)
