"""GLSL's words, as far as kernels use them or cannot take them for names."""

from __future__ import annotations

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
# `layout(local_size_x = 8) in;` declares nothing, of the type `in`.
_TYPES = {"bool", "int", "uint", "float", "double", "vec4", "void", "in"}

GLSL = Words(_KINDS, _TYPES, (), token_pattern("[A-Za-z_][A-Za-z0-9_]*+", "[uUfF]|lf|LF"))
