"""A fragment program as GLSL ES 3.00, the language of WebGL2: a dialect of GLSL's shaders.

It has no `precise`, so a compiler may contract and reorder what it likes, and no `fma`. Constants
are hidden all the same where a shader is exact; a uniform that nobody sets is 0.
"""

from __future__ import annotations

from gpgpu_legacy.lower.emit.glsl import Dialect
from gpgpu_legacy.lower.emit.glsl_fragment import fragment_shader, vertex_shader
from gpgpu_legacy.lower.shader_key import ShaderKey

GLSL_ES = Dialect(
    (
        "#version 300 es",
        "precision highp float;",
        "precision highp int;",
        "precision highp sampler2D;",
    ),
    precise="",
    fma=False,
    initialises=False,
    doubles=False,
)


def fragment_shader_es(key: ShaderKey) -> str:
    """The text of fragment_shader in GLSL ES. A uniform `zero`, if there is one, stays 0."""
    return fragment_shader(key, GLSL_ES)


def vertex_shader_es(varyings: int = 0) -> str:
    """The text of vertex_shader in GLSL ES."""
    return vertex_shader(varyings, GLSL_ES)
