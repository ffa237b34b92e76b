"""GLSL's words: those of kernels, and those of fragment shaders."""

from __future__ import annotations

from gpgpu_legacy.isa.program import TextureTarget
from gpgpu_legacy.languages.c.tokens import KINDS, Words, token_pattern

_OF_C = "if else for while do break continue discard return const uniform shared"
_KINDS = {
    word: kind for word, kind in KINDS.items() if word in _OF_C.split() or not word[0].isalpha()
}
_KINDS |= {
    "layout": "LAYOUT",
    "buffer": "STRUCT",
    "readonly": "QUALIFIER",
    "writeonly": "QUALIFIER",
}
# `layout(local_size_x = 8) in;` is read as a declaration of no name, with the type `in`.
_TYPES = {"bool", "int", "uint", "float", "double", "vec4", "void", "in"}

GLSL = Words(_KINDS, _TYPES, (), token_pattern("[A-Za-z_][A-Za-z0-9_]*+", "[uUfF]|lf|LF"))

_OF_SHADERS = "in out inout varying struct switch case default"
_QUALIFIERS = "attribute centroid flat smooth noperspective invariant highp mediump lowp"
SAMPLERS = {
    f"sampler{name}": TextureTarget(target)
    for name, target in [
        ("1D", "1D"), ("2D", "2D"), ("3D", "3D"), ("Cube", "CUBE"), ("2DRect", "RECT"),
        ("1DShadow", "SHADOW1D"), ("2DShadow", "SHADOW2D"), ("2DRectShadow", "SHADOWRECT"),
    ]
}  # fmt: skip
"""The targets of samplers by their names."""

_VECTORS = {f"{kind}vec{n}" for kind in ("", "b", "i", "u") for n in (2, 3, 4)}
MATRICES = {f"mat{n}": (n, n) for n in (2, 3, 4)}
MATRICES |= {f"mat{n}x{m}": (n, m) for n in (2, 3, 4) for m in (2, 3, 4)}
"""The columns and rows of each matrix type."""

_SKIPPED = r"(?P<SKIPPED>precision\s+\w+\s+\w+\s*;|invariant\s+gl_\w+\s*;)"

FRAGMENTS = Words(
    {word: kind for word, kind in _KINDS.items() if word not in {"buffer", "shared"}}
    | {word: KINDS[word] for word in _OF_SHADERS.split()}
    | dict.fromkeys(_QUALIFIERS.split(), "QUALIFIER"),
    {"void", "bool", "int", "uint", "float", *SAMPLERS, *_VECTORS, *MATRICES},
    (),
    token_pattern("[A-Za-z_][A-Za-z0-9_]*+", "[uUfF]", rf"{_SKIPPED}|(?P<OPERATOR>\^\^)|"),
)
