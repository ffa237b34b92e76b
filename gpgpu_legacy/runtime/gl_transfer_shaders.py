"""Shaders that move a matrix's elements to where a plan's packing has them, and back.

One pair draws, from and to a sheet (runtime/gl_transfers.py); the other one computes, from buffer
to buffer. All of them keep all bits.
"""

from __future__ import annotations

import numpy as np

from gpgpu_legacy.plan.textures import Matrix, Transfer
from gpgpu_legacy.runtime.gl_shader import Values

_MOST_CHANNELS = 4

# All shaders have these uniforms. `region` is part of a matrix of `columns` columns: its first
# row and column, then its rows and columns. `corner` and `size` are its rectangle's, x first.
_PACKING = """
uniform ivec4 region;
uniform ivec2 offsets[4], steps, corner, size;
uniform int channels, columns, transposed;
"""

# The element that channel c of a texel of the rectangle holds; false where that is padding.
_SOURCE = """
bool source(ivec2 texel, int c, out int index) {
    ivec2 element = offsets[c] + steps * texel.yx;
    if (transposed != 0) element = element.yx;
    index = (region.x + element.x) * columns + region.y + element.y;
    return all(greaterThanEqual(element, ivec2(0))) && all(lessThan(element, region.zw));
}
"""

# The texel of the rectangle, and its channel, that holds an element of the region: the last one, if
# several do; false if none does.
_HOLDER = """
bool holder(ivec2 element, out ivec2 texel, out int c) {
    if (transposed != 0) element = element.yx;
    bool is_held = false;
    for (int n = 0; n < channels; n++) {
        ivec2 away = element - offsets[n], there = (away / steps).yx;
        bool held = all(greaterThanEqual(away, ivec2(0))) && there.yx * steps == away;
        if (held && all(lessThan(there, size))) {
            is_held = true;
            texel = there;
            c = n;
        }
    }
    return is_held;
}
"""

PACK_FRAGMENT_SHADER = f"""#version 400 core
uniform sampler2D sheet;
uniform int shift;
{_PACKING}{_SOURCE}
out vec4 color;
float element(ivec2 texel, int c) {{
    int index;
    if (c >= channels || !source(texel, c, index)) return 0.0;
    return texelFetch(sheet, ivec2(index & ((1 << shift) - 1), index >> shift), 0).r;
}}
void main() {{
    ivec2 texel = ivec2(gl_FragCoord.xy) - corner;
    color = vec4(element(texel, 0), element(texel, 1), element(texel, 2), element(texel, 3));
}}
"""

UNPACK_FRAGMENT_SHADER = f"""#version 400 core
uniform sampler2D texels;
uniform int shift;
{_PACKING}{_HOLDER}
out float element_value;
void main() {{
    ivec2 place = ivec2(gl_FragCoord.xy), texel;
    int index = (place.y << shift) + place.x, c;
    ivec2 element = ivec2(index / columns, index % columns) - region.xy;
    bool inside = all(greaterThanEqual(element, ivec2(0))) && all(lessThan(element, region.zw));
    if (!inside || !holder(element, texel, c)) discard;
    vec4 held = texelFetch(texels, corner + texel, 0);
    element_value = c == 0 ? held.r : c == 1 ? held.g : c == 2 ? held.b : held.a;
}}
"""

COMPUTE_GROUP = (16, 16)

_COMPUTE_BUFFERS = f"""#version 430 core
layout(local_size_x = {COMPUTE_GROUP[0]}, local_size_y = {COMPUTE_GROUP[1]}) in;
layout(std430, binding = 0) buffer Matrix {{ uint elements[]; }};
layout(std430, binding = 1) buffer Texture {{ uint texels[]; }};
uniform int width;
{_PACKING}"""

PACK_COMPUTE_SHADER = f"""{_COMPUTE_BUFFERS}{_SOURCE}
void main() {{
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(texel, size))) return;
    int first = ((corner.y + texel.y) * width + corner.x + texel.x) * channels, index;
    for (int c = 0; c < channels; c++) {{
        texels[first + c] = source(texel, c, index) ? elements[index] : 0u;
    }}
}}
"""
"""One invocation a texel of input's rectangle, from the matrix (binding 0, float32 elements row
after row) to the texture (binding 1, float32 channels, texel after texel, row after row). Uniforms:
packing_uniforms, and `width`, the texture's."""

UNPACK_COMPUTE_SHADER = f"""{_COMPUTE_BUFFERS}{_HOLDER}
void main() {{
    ivec2 element = ivec2(gl_GlobalInvocationID.yx), texel;
    int c;
    if (any(greaterThanEqual(element, region.zw)) || !holder(element, texel, c)) return;
    int first = ((corner.y + texel.y) * width + corner.x + texel.x) * channels;
    elements[(region.x + element.x) * columns + region.y + element.y] = texels[first + c];
}}
"""
"""One invocation an element of output's region, its column first: the way back. Elements that no
texel holds are left as they are."""


def packing_uniforms(matrix: Matrix, transfer: Transfer) -> dict[str, Values]:
    """The uniforms of a transfer for the shaders of this file, by name, for UniformTable."""
    region, rect, packing = transfer.region, transfer.rect, transfer.packing
    missing = [(0, 0)] * (_MOST_CHANNELS - len(packing.offsets))
    numbers: dict[str, object] = {
        "region": (region.row, region.column, region.rows, region.columns),
        "offsets": (*packing.offsets, *missing),
        "steps": (packing.row_step, packing.column_step),
        "corner": (rect.x, rect.y),
        "size": (rect.width, rect.height),
        "channels": len(packing.offsets),
        "columns": matrix.columns,
        "transposed": int(packing.transposed),
    }
    return {name: np.array([value], np.int32) for name, value in numbers.items()}
