"""Fused passes as a GLSL compute shader: a tile of fragments a work group (lower/tiling.py).

Textures are arrays in storage buffers: a vec4 a texel, or a float. What differs between passes of
one Content stands in a uniform block, whose bytes `uniform_blocks` makes of their Arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.isa.ir import Attribute, Parameter
from gpgpu_legacy.lower.analysis.rerolling import live_segments
from gpgpu_legacy.lower.analysis.staging import Staging, choose_staging
from gpgpu_legacy.lower.content import Arguments, Content, refuse_unsupported
from gpgpu_legacy.lower.emit.glsl import GlslEmitter, type_name
from gpgpu_legacy.lower.emit.glsl_compute import COMPUTE
from gpgpu_legacy.lower.fused_body import fused_body
from gpgpu_legacy.lower.invocation import read, size_variable, texture_array
from gpgpu_legacy.lower.ir import (
    INT,
    Call,
    Element,
    Fetch,
    Function,
    Given,
    Plane,
    Variable,
    compose,
)
from gpgpu_legacy.lower.tiling import Tiling
from gpgpu_legacy.lower.values import parameter_values, plane_values
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.plan.expand import varies


@dataclass(frozen=True, slots=True)
class Uniform:
    """A vec4 of the uniform block, and where its value comes from.

    draw: the number of the pass, as Arguments has it. source: a parameter or a vector of state, or
    an attribute, of whose plane it is the part: 0 the base, 1 dx, 2 dy.
    """

    name: str
    draw: int
    source: Parameter | Attribute
    part: int = 0


@dataclass(frozen=True, slots=True)
class GroupCode:
    """A shader, and what its buffers and its uniform block hold.

    surfaces, bases: how many the Content has; the buffer of surface n is at binding n. vectors: the
    block's, in order. trips: of all loops of an invocation in one iteration, at most.
    """

    text: str
    shape: GroupShape
    surfaces: int
    bases: int
    vectors: tuple[Uniform, ...]
    trips: int

    @property
    def block_bytes(self) -> int:
        """The size of the uniform block."""
        pairs = 2 + 2 * self.surfaces + self.bases
        return 16 * (len(self.vectors) + -(-pairs // 2))


BLOCK = "Run"
"""The name of the uniform block, at binding 0 of uniform buffers."""

ITERATIONS = "iterations"
"""The name of the uniform, an ivec2, that has the first iteration and the one after the last."""


@lru_cache(maxsize=256)
def emit_groups(
    content: Content, shape: GroupShape, shared_bytes: int, *, exact: bool
) -> GroupCode:
    """The Content of fused passes as a compute shader, emitted once for equal ones.

    Raises UnsupportedError for fog and bent attributes.

    shape: what is wanted; where nothing can be staged in `shared_bytes`, it has no K-depth.
    Run it on the Arguments' width over the tile's × height over the tile's groups, rounded up, with
    the surfaces' buffers at their numbers as bindings, the uniform ITERATIONS and the uniform block
    BLOCK (std140, at binding 0): in this order the vec4s of `vectors`; `ivec2 extent`, the width
    and height; `ivec2 size_N` and `ivec2 origin_N` of each surface N, rows counted over all layers;
    `ivec2 base_B` of each base B; and `int batch`, the shape's K-depth. `uniform_blocks` gives its
    bytes.
    """
    refuse_unsupported(content)
    body = fused_body(content, as_level=False)
    staging = choose_staging(content, body, shape, shared_bytes)
    emitter = _GroupEmitter(content, exact=exact)
    lines = emitter.block(Tiling(content, body, staging).statements())
    text = _shader(content, staging, emitter, lines)
    trips = sum(s.trips for draw in content.draws for s in live_segments(draw))
    vectors = tuple(emitter.vectors.values())
    return GroupCode(text, staging.shape, len(content.surfaces), content.bases, vectors, trips)


def _shader(content: Content, staging: Staging, emitter: _GroupEmitter, lines: list[str]) -> str:
    """The text around the statements of main."""
    (uniforms, functions), (across, up) = emitter.head(), staging.shape.threads
    head = [*COMPUTE.header, *uniforms]
    head.append(f"layout(local_size_x = {across}, local_size_y = {up}) in;")
    for number, surface in enumerate(content.surfaces):
        kind = type_name(texture_array(content, number).element)
        access = "" if surface.owned else "readonly "
        head.append(
            f"layout(std430, binding = {number}) {access}restrict buffer Texture{number} "
            f"{{ {kind} texture{number}[]; }};"
        )
    head += [f"uniform ivec2 {ITERATIONS};", f"layout(std140, binding = 0) uniform {BLOCK} {{"]
    head += [f"    vec4 {name};" for name in emitter.vectors]
    head.append("    ivec2 extent;")
    head += [f"    ivec2 size_{n}, origin_{n};" for n in range(len(content.surfaces))]
    head += [f"    ivec2 base_{n};" for n in range(content.bases)]
    head += ["    int batch;", "};"]
    for array in staging.arrays().values():
        lengths = "".join(f"[{length}]" for length in array.extents)
        head.append(f"shared {type_name(array.element)} {array.name}{lengths};")
    width, height = staging.shape.tile
    start = [
        f"    int first = {ITERATIONS}.x, last = {ITERATIONS}.y;",
        "    ivec2 thread = ivec2(gl_LocalInvocationID.xy);",
        "    int invocation = int(gl_LocalInvocationIndex);",
        f"    ivec2 corner = ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height});",
    ]
    return "\n".join([*head, *functions, "", "void main() {", *start, *lines, "}", ""])


class _GroupEmitter(GlslEmitter):
    """Texels are elements of buffers; what passes give is in the uniform block."""

    def __init__(self, content: Content, *, exact: bool) -> None:
        super().__init__(COMPUTE, exact=exact)
        self.content = content
        self.vectors: dict[str, Uniform] = {}

    def source(self, given: Given) -> str:
        """A vector of the block; each draw has its own."""
        name, source = f"{super().source(given)}_of_{given.draw}", given.source
        if isinstance(source, Plane):
            uniform = Uniform(name, given.draw, source.attribute, source.part)
        else:
            assert isinstance(source, Parameter)
            uniform = Uniform(name, given.draw, source)
        self.vectors.setdefault(name, uniform)
        return name

    def fetch(self, fetch: Fetch) -> str:
        """By a function that gives all four channels; those that the format lacks are 0, 0, 1."""
        column, row = Variable("column", INT), Variable("row", INT)
        array = texture_array(self.content, fetch.texture)
        place = read(row) * read(size_variable(fetch.texture), 0) + read(column)
        texel, missing = Element((place,), array), (0.0, 0.0, 0.0, 1.0)[array.element.width :]
        result = compose([texel, *missing]) if missing else texel
        function = Function(f"fetch{fetch.texture}", (column, row), (), result)
        return self.expression(Call(fetch.operands, function))


def uniform_blocks(code: GroupCode, arguments: Arguments) -> NDArray[np.uint8]:
    """The bytes of the uniform block: (iterations, code.block_bytes), or (1, …) for all alike.

    Several rows mean that a parameter, state or an attribute differs between iterations: they
    can then be run one at a time, with the row of that number, but not in one go.
    """
    count = arguments.count if any(map(varies, arguments.passes)) else 1
    vectors = np.empty((count, len(code.vectors), 4), "<f4")
    for number, uniform in enumerate(code.vectors):
        pass_, source = arguments.passes[uniform.draw], uniform.source
        with np.errstate(over="ignore"):
            vectors[:, number] = (
                parameter_values(pass_, source, count)
                if isinstance(source, Parameter)
                else plane_values(pass_, source, count)[:, uniform.part]
            )
    if (vectors.view("<u4") == vectors[:1].view("<u4")).all():
        vectors = vectors[:1]
    whole = [(arguments.width, arguments.height)]
    for extent, origin in zip(arguments.extents, arguments.origins, strict=True):
        whole += [(extent.width, extent.rows), origin]
    whole += [*arguments.bases, (code.shape.k_depth, 0)]
    rows, first = len(vectors), 16 * len(code.vectors)
    blocks = np.zeros((rows, code.block_bytes), np.uint8)
    blocks[:, :first] = vectors.reshape(rows, -1).view(np.uint8)
    blocks[:, first : first + 8 * len(whole)] = np.array(whole, "<i4").reshape(-1).view(np.uint8)
    return blocks
